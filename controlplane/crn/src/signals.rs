//! Ctrl-C and requests to terminate.

use miette::{IntoDiagnostic as _, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Hears both from its making on; they don't end the process any more.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Begins to listen. Within a runtime.
    pub fn listen() -> Result<Self> {
        let of = |kind| signal(kind).into_diagnostic();
        Ok(Self { interrupt: of(SignalKind::interrupt())?, terminate: of(SignalKind::terminate())? })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
