//! An agent from its socket to its end.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::Clock;
use crate::driver::{self, Machine, Traffic};
use crate::socket::{Socket, SocketError};

/// An agent that can't start, or can't go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The socket can't be had.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The system fails.
    #[error("the agent can't go on: {0}")]
    System(#[from] io::Error),
}

/// What is in force and what was counted, for others to read while an agent runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The rate of each address, in bit/s: a host's bound, or a gateway's advice.
    pub rates: Vec<(IpAddr, u64)>,
    /// Counters by name.
    pub counters: Vec<(&'static str, u64)>,
}

/// A snapshot that is brought up to date with every change.
pub type Shared = Arc<Mutex<Snapshot>>;

pub(super) fn share(shared: &Shared, snapshot: Snapshot) {
    *shared.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
}

/// Binds `address` (port 0 takes one that is free), tells `bound` what it got, and drives the machine until `stop` comes.
/// Gives what the loop counted.
///
/// Needs a tokio runtime with I/O enabled.
///
/// # Errors
/// [`RunError`].
pub async fn run(
    address: SocketAddr,
    machine: &mut impl Machine,
    bound: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<Traffic, RunError> {
    let clock = Clock::start();
    let sockets = [Socket::bind(address)?];
    let [socket] = &sockets;
    bound(socket.local());
    Ok(driver::drive(machine, &sockets, clock, stop).await?)
}
