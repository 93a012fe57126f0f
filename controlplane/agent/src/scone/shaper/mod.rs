//! Rate limits of an interface for source addresses, kept by the kernel and set by `tc`.
//!
//! A class of an HTB qdisc for each address; what matches none goes out as if there were no qdisc. `tc` takes milliseconds, so
//! a thread runs it, with the latest bound of each address. When the shaper ends the qdisc is taken away, and the kernel
//! puts back the one that it had given the interface by itself. An interface whose qdisc somebody chose is refused:
//! it couldn't be put back. So is one that another shaper has. A qdisc that somebody takes away meanwhile is set up
//! again with all its limits.

mod claim;
mod tc;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use wire::units::BitPerSec;

use claim::Claim;
use tc::Tc;

/// While limits are in force and none changes, whether they are still there is looked at so often.
const LOOK: Duration = Duration::from_secs(1);

/// Why an interface can't be shaped.
#[derive(Debug, thiserror::Error)]
pub enum ShaperError {
    /// There is no such interface.
    #[error("there is no interface {0} (`ip link` lists them)")]
    NoInterface(String),
    /// Another shaper has it.
    #[error(
        "{interface} is limited by process {process} already; end that, or give it these addresses, too (--source): two would \
         take each other's limits away"
    )]
    Held {
        /// The interface.
        interface: String,
        /// The process, as it said itself.
        process: String,
    },
    /// The lock file can't be had.
    #[error("can't lock {path}, by which only one process limits {interface}: {reason}")]
    Lock {
        /// The file.
        path: String,
        /// The interface.
        interface: String,
        /// Why not.
        reason: std::io::Error,
    },
    /// There is no `tc`.
    #[error("can't run tc: {0}; it is part of iproute2")]
    NoTc(std::io::Error),
    /// `tc` refused.
    #[error("tc {arguments}: {said}")]
    Refused {
        /// What it was asked.
        arguments: String,
        /// What it said.
        said: String,
    },
    /// Somebody chose the interface's qdisc.
    #[error(
        "{interface} has the qdisc {kind} {handle}; it should have the kernel's own (`tc qdisc del dev {interface} root` puts it \
         back), for another couldn't be restored"
    )]
    InUse {
        /// The interface.
        interface: String,
        /// Kind of the qdisc.
        kind: String,
        /// Its handle.
        handle: String,
    },
    /// `tc` says what isn't understood, or the interface is down.
    #[error("tc shows no root qdisc of {0}; the interface should be up (`ip link set {0} up`)")]
    NoRoot(String),
}

/// Limits on an interface, until it ends or is dropped.
#[derive(Debug)]
pub struct Shaper {
    bounds: Option<Sender<(IpAddr, Option<BitPerSec>)>>,
    thread: Option<JoinHandle<()>>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Shaper {
    /// Puts the qdisc onto `interface`, which limits nothing yet. Needs `CAP_NET_ADMIN`, and to write to `/run`.
    ///
    /// # Errors
    /// [`ShaperError`].
    pub fn start(interface: &str) -> Result<Self, ShaperError> {
        let claim = Claim::take(interface)?;
        let tc = Tc::new(interface);
        tc.take_over()?;
        let failure = Arc::new(Mutex::new(None));
        let (bounds, queue) = channel();
        let thread = std::thread::spawn({
            let failure = Arc::clone(&failure);
            move || {
                keep(tc, &queue, &failure);
                // Not before the interface is as it was.
                drop(claim);
            }
        });
        Ok(Self { bounds: Some(bounds), thread: Some(thread), failure })
    }

    /// Limits what `source` sends to `bound`, soon; `None` for no limit.
    pub fn set(&self, source: IpAddr, bound: Option<BitPerSec>) {
        if let Some(bounds) = &self.bounds {
            // The thread ends after this sender.
            let _ = bounds.send((source, bound));
        }
    }

    /// What `tc` refused since the last call, if it is something new.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes all limits away and waits until the interface is as it was; gives what `tc` refused, if it did.
    pub fn end(mut self) -> Option<String> {
        self.restore();
        self.failure()
    }

    fn restore(&mut self) {
        self.bounds = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Shaper {
    /// Waits until the interface is as it was.
    fn drop(&mut self) {
        self.restore();
    }
}

/// Sets the latest bounds until there are no more, then restores.
fn keep(mut tc: Tc, queue: &Receiver<(IpAddr, Option<BitPerSec>)>, failure: &Mutex<Option<String>>) {
    let mut last = None;
    let mut note = |result: Result<(), ShaperError>| {
        let now = result.err().map(|error| error.to_string());
        // One that lasts is told of once.
        if now.is_some() && now != last {
            failure.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&now);
        }
        last = now;
    };
    loop {
        match queue.recv_timeout(LOOK) {
            Ok((source, bound)) => {
                let mut latest = BTreeMap::from([(source, bound)]);
                latest.extend(queue.try_iter());
                // All of them, whatever becomes of one.
                let mut all = Ok(());
                for (source, bound) in latest {
                    all = all.and(tc.set(source, bound));
                }
                note(all);
            }
            Err(RecvTimeoutError::Timeout) => note(tc.look()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    note(tc.restore());
}
