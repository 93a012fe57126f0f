//! Ctrl-C and requests to terminate, which may come at any time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use miette::{Diagnostic, IntoDiagnostic as _, Result};
use tokio::signal::unix::{SignalKind, signal};

/// Whether somebody has asked to end.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    requested: Arc<AtomicBool>,
    /// A command in a host has the terminal: Ctrl-C is for it.
    lent: Arc<AtomicBool>,
}

/// Somebody has asked to end before the run was under way.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted; everything has been removed")
    }
}

impl std::error::Error for Interrupted {}
impl Diagnostic for Interrupted {}

impl Stop {
    /// Listens from now on; the signals don't end the program any more.
    pub fn listen() -> Result<Self> {
        let stop = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().into_diagnostic()?;
        let (mut interrupt, mut terminate, mut hangup) = {
            let _within = runtime.enter();
            let listen = |kind| signal(kind).into_diagnostic();
            (
                listen(SignalKind::interrupt())?,
                listen(SignalKind::terminate())?,
                listen(SignalKind::hangup())?,
            )
        };
        let heard = stop.clone();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    loop {
                        let is_interrupt = tokio::select! {
                            _ = interrupt.recv() => true,
                            _ = terminate.recv() => false,
                            _ = hangup.recv() => false,
                        };
                        if !is_interrupt || !heard.lent.load(Ordering::Acquire) {
                            break;
                        }
                    }
                });
                heard.requested.store(true, Ordering::Release);
            })
            .into_diagnostic()?;
        Ok(stop)
    }

    /// Whether it was asked.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Acquire)
    }

    /// An error, if it was asked.
    pub fn check(&self) -> Result<()> {
        if self.is_requested() { Err(Interrupted.into()) } else { Ok(()) }
    }

    /// Whether Ctrl-C is for somebody else from now on; requests to terminate never are.
    pub fn lend_interrupts(&self, lent: bool) {
        self.lent.store(lent, Ordering::Release);
    }

    /// Waits until it is asked.
    pub async fn requested(&self) {
        while !self.is_requested() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
