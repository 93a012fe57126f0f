//! Ctrl-C and requests to terminate, which may come at any time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use miette::{Diagnostic, IntoDiagnostic as _, Result};
use tokio::signal::unix::{SignalKind, signal};

/// Whether somebody has asked to end.
#[derive(Clone, Debug)]
pub struct Stop(Arc<AtomicBool>);

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
        let stop = Self(Arc::default());
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
        let flag = Arc::clone(&stop.0);
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                        _ = hangup.recv() => {}
                    }
                });
                flag.store(true, Ordering::Release);
            })
            .into_diagnostic()?;
        Ok(stop)
    }

    /// Whether it was asked.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// An error, if it was asked.
    pub fn check(&self) -> Result<()> {
        if self.is_requested() { Err(Interrupted.into()) } else { Ok(()) }
    }

    /// Waits until it is asked.
    pub async fn requested(&self) {
        while !self.is_requested() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
