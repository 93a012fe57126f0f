//! Rate limits of an interface for source addresses, kept by the kernel and set by `tc`.
//!
//! A class of an HTB qdisc for each address; what matches none goes out as if there were no qdisc. `tc` takes milliseconds, so
//! a thread runs it, with the latest bound of each address. When the shaper is dropped the qdisc is taken away, and the kernel
//! puts back the one that it had given the interface by itself. An interface whose qdisc somebody chose is refused:
//! it couldn't be put back.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use wire::units::BitPerSec;

/// Our qdisc's handle, by which one that a killed agent left behind is known.
const HANDLE: &str = "5c0e:";

/// What HTB lends a class at a time; it would else derive one from the rate and complain.
const QUANTUM: &str = "60000";

/// Why an interface can't be shaped.
#[derive(Debug, thiserror::Error)]
pub enum ShaperError {
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
    /// `tc` says what isn't understood.
    #[error("tc says nothing of a root qdisc of {0}")]
    NoRoot(String),
}

/// Limits on an interface, until it is dropped.
#[derive(Debug)]
pub struct Shaper {
    bounds: Option<Sender<(IpAddr, Option<BitPerSec>)>>,
    thread: Option<JoinHandle<()>>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Shaper {
    /// Puts the qdisc onto `interface`, which limits nothing yet. Needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// [`ShaperError`].
    pub fn start(interface: &str) -> Result<Self, ShaperError> {
        let tc = Tc { interface: interface.to_owned(), classes: BTreeMap::new() };
        tc.take_over()?;
        let failure = Arc::new(Mutex::new(None));
        let (bounds, queue) = channel();
        let thread = std::thread::spawn({
            let failure = Arc::clone(&failure);
            move || keep(tc, &queue, &failure)
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

    /// What `tc` refused since the last call.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Shaper {
    /// Waits until the interface is as it was.
    fn drop(&mut self) {
        self.bounds = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Sets the latest bounds until there are no more, then restores.
fn keep(mut tc: Tc, queue: &Receiver<(IpAddr, Option<BitPerSec>)>, failure: &Mutex<Option<String>>) {
    let note = |result: Result<(), ShaperError>| {
        if let Err(error) = result {
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
        }
    };
    while let Ok((source, bound)) = queue.recv() {
        let mut latest = BTreeMap::from([(source, bound)]);
        latest.extend(queue.try_iter());
        for (source, bound) in latest {
            note(tc.set(source, bound));
        }
    }
    note(tc.run(&["qdisc", "del", "dev", "", "root"]));
}

/// `tc` for one interface.
#[derive(Debug)]
struct Tc {
    interface: String,
    /// Minor numbers of the classes, one for each address that ever had a bound, and whether it has one now.
    classes: BTreeMap<IpAddr, (u16, bool)>,
}

impl Tc {
    fn take_over(&self) -> Result<(), ShaperError> {
        let shown = self.ask(&["-j", "qdisc", "show", "dev", ""])?;
        let qdiscs: Vec<serde_json::Value> = serde_json::from_str(&shown).unwrap_or_default();
        let root = qdiscs.iter().find(|qdisc| qdisc["root"] == true);
        let root = root.ok_or_else(|| ShaperError::NoRoot(self.interface.clone()))?;
        let text = |key: &str| root[key].as_str().unwrap_or_default().to_owned();
        match text("handle").as_str() {
            // Those that the kernel gives by itself have none.
            "0:" => {}
            HANDLE => self.run(&["qdisc", "del", "dev", "", "root"])?,
            handle => {
                return Err(ShaperError::InUse {
                    interface: self.interface.clone(),
                    kind: text("kind"),
                    handle: handle.to_owned(),
                });
            }
        }
        // HTB's default class 0: what no filter matches isn't limited.
        self.run(&["qdisc", "add", "dev", "", "root", "handle", HANDLE, "htb", "default", "0"])
    }

    fn set(&mut self, source: IpAddr, bound: Option<BitPerSec>) -> Result<(), ShaperError> {
        let next = u16::try_from(self.classes.len() + 1).unwrap_or(u16::MAX);
        let (number, limited) = *self.classes.entry(source).or_insert((next, false));
        let class = format!("{HANDLE}{number:x}");
        let preference = number.to_string();
        let Some(bound) = bound else {
            if limited {
                self.classes.insert(source, (number, false));
                self.run(&["filter", "del", "dev", "", "parent", HANDLE, "pref", &preference])?;
                self.run(&["class", "del", "dev", "", "classid", &class])?;
            }
            return Ok(());
        };
        let rate = format!("{}bit", bound.0);
        self.run(&[
            "class", "replace", "dev", "", "parent", HANDLE, "classid", &class, "htb", "rate", &rate,
            "quantum", QUANTUM,
        ])?;
        if !limited {
            let (protocol, field, length) =
                if source.is_ipv4() { ("ip", "ip", 32) } else { ("ipv6", "ip6", 128) };
            let prefix = format!("{source}/{length}");
            self.run(&[
                "filter",
                "add",
                "dev",
                "",
                "parent",
                HANDLE,
                "protocol",
                protocol,
                "pref",
                &preference,
                "u32",
                "match",
                field,
                "src",
                &prefix,
                "flowid",
                &class,
            ])?;
            self.classes.insert(source, (number, true));
        }
        Ok(())
    }

    fn run(&self, arguments: &[&str]) -> Result<(), ShaperError> {
        self.ask(arguments).map(|_| ())
    }

    /// Runs `tc`; an empty argument stands for the interface.
    fn ask(&self, arguments: &[&str]) -> Result<String, ShaperError> {
        let arguments: Vec<&str> = arguments
            .iter()
            .map(|&argument| if argument.is_empty() { self.interface.as_str() } else { argument })
            .collect();
        let output =
            Command::new("tc").args(&arguments).stdin(Stdio::null()).output().map_err(ShaperError::NoTc)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(ShaperError::Refused { arguments: arguments.join(" "), said });
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
