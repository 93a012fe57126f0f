//! The gateway on real interfaces.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use wire::units::Nanos;

use super::shim::{Shim, ShimConfig, Side};
use super::summary::{Passed, Summary};
use crate::clock::Clock;
use crate::entropy;
use crate::link::{BATCH, Buffers, Link, LinkError};

/// Batches taken from one side before the other has its turn.
const BATCHES_PER_TURN: usize = 4;
/// How often the figures are brought up to date for others.
const SHARE_INTERVAL: Nanos = Nanos(200_000_000);

/// A gateway that can't start, or can't go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An interface can't be had.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The two sides are one.
    #[error("{0} can't be both sides; --inside and --outside are two interfaces")]
    SameLink(String),
    /// The system fails.
    #[error("the gateway can't go on: {0}")]
    System(#[from] io::Error),
}

/// The figures, brought up to date while the gateway runs.
pub type Shared = Arc<Mutex<Option<Summary>>>;

/// Ends a gateway from another thread.
#[derive(Debug)]
pub struct Stop(UnixStream);

impl Stop {
    /// Tells it to end. What can't be told has ended already.
    pub fn stop(&mut self) {
        let _ = self.0.write_all(&[0]);
    }

    /// The pair: one end for whoever ends the gateway, one for [`run`].
    ///
    /// # Errors
    /// The system's.
    pub fn pair() -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        theirs.set_nonblocking(true)?;
        Ok((Self(ours), theirs))
    }
}

/// Moves frames between the interfaces `inside` and `outside` until `stopped` gets an octet or is closed; `started` is called
/// when frames are taken from now on. Blocks its thread.
///
/// # Errors
/// [`RunError`].
pub fn run(
    config: ShimConfig,
    [inside, outside]: [&str; 2],
    started: impl FnOnce(),
    shared: &Shared,
    mut stopped: UnixStream,
) -> Result<Summary, RunError> {
    if inside == outside {
        return Err(RunError::SameLink(inside.to_owned()));
    }
    let clock = Clock::start();
    let seeds = [entropy::seed()?, entropy::seed()?];
    let mut sides = [Open::new(Side::Inside, inside)?, Open::new(Side::Outside, outside)?];
    let mut shim = Shim::new(config, seeds);
    let mut buffers = Buffers::new();
    let mut share_at = Nanos(0);
    started();
    loop {
        let now = clock.now();
        if shim.next_timeout().is_some_and(|at| at <= now) {
            shim.timeout(now);
        }
        for side in &mut sides {
            side.send(&mut shim, &mut buffers);
        }
        if now >= share_at {
            share_at = now + SHARE_INTERVAL;
            share(shared, &shim, &sides, now);
        }
        let due = shim.next_timeout().map_or(share_at, |at| at.min(share_at));
        let (ready, stop) = wait(&sides, &stopped, due.saturating_sub(clock.now()))?;
        if stop && stopped.read(&mut [0; 8]).is_ok() {
            break;
        }
        for (side, ready) in sides.iter_mut().zip(ready) {
            if ready {
                side.receive(&mut shim, &mut buffers, &clock)?;
            }
        }
    }
    let now = clock.now();
    shim.end(now);
    for side in &mut sides {
        side.send(&mut shim, &mut buffers);
    }
    Ok(share(shared, &shim, &sides, now))
}

fn share(shared: &Shared, shim: &Shim, sides: &[Open; 2], now: Nanos) -> Summary {
    let summary = Summary::of(shim, sides.each_ref().map(|side| side.passed), now);
    *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(summary.clone());
    summary
}

/// A side with its interface.
struct Open {
    side: Side,
    link: Link,
    passed: Passed,
    frames: Vec<Vec<u8>>,
}

impl Open {
    fn new(side: Side, name: &str) -> Result<Self, LinkError> {
        Ok(Self { side, link: Link::open(name)?, passed: Passed::default(), frames: Vec::new() })
    }

    /// Takes what waits at the interface, up to some batches.
    fn receive(&mut self, shim: &mut Shim, buffers: &mut Buffers, clock: &Clock) -> io::Result<()> {
        for _ in 0..BATCHES_PER_TURN {
            let frames = &mut self.frames;
            let mut spare: Vec<Vec<u8>> = (0..BATCH).map(|_| shim.spare()).collect();
            let result =
                self.link.receive(buffers, || spare.pop().unwrap_or_default(), |frame| frames.push(frame));
            for frame in spare {
                shim.recycle(frame);
            }
            let now = clock.now();
            for frame in frames.drain(..) {
                shim.frame(self.side, frame, now);
            }
            match result {
                Ok(BATCH) => {}
                // Of an interface that is down nothing comes until it is up again; that is no reason to end.
                Ok(_) | Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Sends what the gateway has for this side.
    fn send(&mut self, shim: &mut Shim, buffers: &mut Buffers) {
        while let Some(frame) = shim.poll_frame(self.side) {
            self.frames.push(frame);
            if self.frames.len() == BATCH {
                self.flush(shim, buffers);
            }
        }
        if !self.frames.is_empty() {
            self.flush(shim, buffers);
        }
    }

    fn flush(&mut self, shim: &mut Shim, buffers: &mut Buffers) {
        let sent = self.link.send(buffers, &self.frames);
        self.passed.frames += sent.frames;
        self.passed.octets += sent.octets;
        self.passed.refused += sent.failed;
        for frame in self.frames.drain(..) {
            shim.recycle(frame);
        }
    }
}

/// Waits for frames or an end for at most `timeout`; says of both sides whether something is there, and whether it is to end.
fn wait(sides: &[Open; 2], stopped: &UnixStream, timeout: Nanos) -> io::Result<([bool; 2], bool)> {
    let [inside, outside] = sides.each_ref().map(|side| PollFd::new(side.link.as_fd(), PollFlags::POLLIN));
    let mut fds = [inside, outside, PollFd::new(stopped.as_fd(), PollFlags::POLLIN)];
    let timeout = TimeSpec::from_duration(Duration::from_nanos(timeout.0));
    match ppoll(&mut fds, Some(timeout), None) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    let [inside, outside, stop] = fds.map(|fd| fd.revents().is_some_and(|events| !events.is_empty()));
    Ok(([inside, outside], stop))
}
