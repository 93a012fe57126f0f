//! Deadlines as the kernel keeps them: pacing needs microseconds, tokio's timers count milliseconds.

use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::net::unix::pipe;
use wire::units::Nanos;

/// A timer of the kernel, made readable at its deadline.
#[derive(Debug)]
pub struct Timer {
    kernel: TimerFd,
    /// The same descriptor again as tokio waits for it: what is read from it comes as from a pipe.
    ready: pipe::Receiver,
    set: Option<Nanos>,
}

impl Timer {
    /// A timer that isn't set. To be called within a tokio runtime.
    ///
    /// # Errors
    /// The system's, when it has no more timers or descriptors to give.
    pub fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let ready = pipe::Receiver::from_owned_fd_unchecked(timer.as_fd().try_clone_to_owned()?)?;
        Ok(Self { kernel: timer, ready, set: None })
    }

    /// Sets it to `deadline`, or to never; `now` is what the clock says that `deadline` is of.
    ///
    /// # Errors
    /// The system's.
    pub fn set(&mut self, deadline: Option<Nanos>, now: Nanos) -> io::Result<()> {
        if deadline == self.set {
            return Ok(());
        }
        match deadline {
            // A timer of zero would be none.
            Some(at) => {
                let left = Duration::from_nanos(at.saturating_sub(now).0.max(1));
                let once = Expiration::OneShot(TimeSpec::from_duration(left));
                self.kernel.set(once, TimerSetTimeFlags::empty())?;
            }
            None => self.kernel.unset()?,
        }
        self.set = deadline;
        Ok(())
    }

    /// Waits for the deadline; for ever, if there is none.
    ///
    /// # Errors
    /// The system's.
    pub async fn expired(&mut self) -> io::Result<()> {
        loop {
            self.ready.readable().await?;
            // The count of expirations.
            let mut count = [0; 8];
            match self.ready.try_read(&mut count) {
                Ok(_) => {
                    self.set = None;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    /// Never before its time; a deadline moves both ways, and one that was taken back doesn't come.
    #[test]
    fn a_deadline_comes_at_its_time() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let clock = Clock::start();
            let mut timer = Timer::new().unwrap();
            for after in [300_000, 50_000, 2_000_000] {
                let now = clock.now();
                timer.set(Some(now + Nanos(3_600_000_000_000)), now).unwrap();
                timer.set(Some(now + Nanos(after)), now).unwrap();
                timer.expired().await.unwrap();
                assert!(clock.now() >= now + Nanos(after));
            }
            let now = clock.now();
            timer.set(Some(now + Nanos(1000)), now).unwrap();
            timer.set(None, now).unwrap();
            let late = tokio::time::timeout(Duration::from_millis(20), timer.expired()).await;
            assert!(late.is_err());
        });
    }
}
