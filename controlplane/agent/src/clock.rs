//! The time that the machines are given.

use std::time::Instant;

use wire::units::Nanos;

/// Counts nanoseconds since it was started; it never goes back.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that is at zero now.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// The time since its start.
    pub fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
