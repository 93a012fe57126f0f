//! An agent from its sockets to its figures.

use std::future::Future;
use std::io;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use wire::units::Nanos;

use super::epoch::{self, EpochError};
use super::event::Observer;
use super::host::{Host, HostError};
use super::settings::{Role, Settings};
use super::summary::Summary;
use super::workload::Workload;
use crate::clock::Clock;
use crate::driver::{self, Machine};
use crate::entropy;
use crate::socket::{Arrived, Outbox, Socket, SocketError};

/// An agent that can't start, or can't go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A socket can't be had.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The parameters can't work.
    #[error("the parameters can't work")]
    Parameters(#[from] HostError),
    /// The Epoch of the run before can't be had, or this one's can't be kept.
    #[error(transparent)]
    Epoch(#[from] EpochError),
    /// The system fails.
    #[error("the agent can't go on: {0}")]
    System(#[from] io::Error),
}

/// Counters that others may read while an agent runs; brought up to date about every quarter of a second.
pub type Shared = Arc<Mutex<Option<Summary>>>;

/// How often [`Shared`] is brought up to date.
const SHARE_INTERVAL: Nanos = Nanos(250_000_000);

/// How often it is looked whether more batches may start, where somebody says so.
const LOOK_INTERVAL: Nanos = Nanos(2_000_000);

/// Runs a host until its workload has ended or `stop` comes; a host that receives runs until `stop`. Gives its figures.
///
/// Needs a tokio runtime with I/O enabled. Seeds come from the system; `observe` is told of everything that happens.
///
/// # Errors
/// [`RunError`].
pub async fn run(
    mut settings: Settings,
    role: Role,
    workload: Workload,
    observe: Observer,
    shared: Shared,
    stop: impl Future<Output = ()>,
) -> Result<Summary, RunError> {
    let clock = Clock::start();
    let address = settings.address;
    let bind = |port| Socket::bind(SocketAddrV4::new(address, port));
    let mut sockets = vec![bind(settings.rdcc_port)?, bind(settings.carrier.port())?, bind(0)?, bind(0)?];
    if let Some(admission) = settings.admission.as_ref().filter(|_| role.sends()) {
        for (_, port) in admission.ports.given() {
            sockets.push(bind(port)?);
        }
    }
    let source_ports = [sockets[2].local().port(), sockets[3].local().port()];
    let seeds = [entropy::seed()?, entropy::seed()?];
    let previous = if role.receives() {
        let (previous, epoch) = epoch::next(settings.epoch_file.as_deref())?;
        settings.receiver.epoch = epoch;
        previous
    } else {
        None
    };
    let released = settings.released.take();
    let host = Host::new(settings, role, workload, seeds, source_ports, previous, observe, clock.now())?;
    let mut sharing = Sharing { host, shared, next: Nanos(0), released, look: Nanos(0) };
    sharing.look_for_released(clock.now());
    let traffic = driver::drive(&mut sharing, &sockets, clock, stop).await?;
    let mut summary = sharing.host.summary(clock.now());
    summary.datagrams = traffic.into();
    *sharing.shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(summary.clone());
    Ok(summary)
}

/// A host that lets others see its counters.
struct Sharing {
    host: Host,
    shared: Shared,
    next: Nanos,
    /// Batches that may have started, as somebody else says, and when that is looked at next.
    released: Option<Arc<AtomicU32>>,
    look: Nanos,
}

impl Sharing {
    fn look_for_released(&mut self, now: Nanos) {
        if let Some(released) = &self.released {
            self.host.release(released.load(Ordering::Acquire));
            self.look = now + LOOK_INTERVAL;
        }
    }
}

impl Machine for Sharing {
    fn takes_datagrams(&self) -> bool {
        self.host.takes_datagrams()
    }

    fn handle_datagram(&mut self, arrived: &Arrived<'_>, now: Nanos) {
        self.host.handle_datagram(arrived, now);
    }

    fn handle_timeout(&mut self, now: Nanos) {
        if now >= self.next {
            self.next = now + SHARE_INTERVAL;
            *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.host.summary(now));
        }
        if now >= self.look {
            self.look_for_released(now);
        }
        self.host.handle_timeout(now);
    }

    fn poll_timeout(&mut self) -> Option<Nanos> {
        let look = self.released.as_ref().map_or(self.next, |_| self.look);
        let next = self.next.min(look);
        Some(self.host.poll_timeout().map_or(next, |at| at.min(next)))
    }

    fn poll_transmit(&mut self, outbox: &mut Outbox, now: Nanos) {
        self.host.poll_transmit(outbox, now);
    }

    fn stop(&mut self, now: Nanos) {
        self.host.stop(now);
    }

    fn is_finished(&self) -> bool {
        self.host.is_finished()
    }
}
