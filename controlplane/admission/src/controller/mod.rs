//! The controller: device and route domains, the data path in front of posts, and what moves their policy.
//!
//! | file | what |
//! |---|---|
//! | `acquire` | the data path: permits and verdicts |
//! | `domains` | opening, closing, renewing and handing over devices and routes |
//! | `signals` | completions, events, signals and reports |
//! | `monitor` | the end of a control epoch, notices, snapshots |

mod acquire;
mod domains;
mod monitor;
mod signals;

#[cfg(all(test, not(admission_loom)))]
mod lock_free;

pub use acquire::{AvoidReason, DeferReason, Permit, PostError, Ticket, Verdict};
pub use domains::{DeviceSpec, OpenError, PeerId, RouteSpec};
pub use monitor::{Notice, Snapshot, Subject, What};
pub use signals::{Settled, Target, TargetError};

use core::net::IpAddr;
use std::collections::VecDeque;

use wire::units::{Nanos, Octets};

use crate::config::{Config, ConfigError, MAX_WINDOW, Mode};
use crate::domain::{Domain, Gate, Generation};
use crate::ids::{DeviceId, RouteId};
use crate::policy::{Change, Policy};
use crate::slots::Slots;
use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering, lock};

/// No slice may be larger; the transport's own limits are far below.
pub const MAX_SLICE: Octets = MAX_WINDOW;

/// How many domains a controller may have at a time. Slots are made when needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Device domains: one for each worker's context.
    pub devices: u32,
    /// Route domains: one for each pair of local context and remote NIC.
    pub routes: u32,
}

impl Default for Capacity {
    fn default() -> Self {
        Self { devices: 64, routes: 65_536 }
    }
}

/// The admission controller of one transport. Shared by reference between the threads that post, poll and monitor.
//= ADMISSION, Controller and Transport Responsibilities: c4f73287 ea2c3cba 3e393ab0 13f21311
//= ADMISSION, Proposal: bfef1cb1 4fc6f78c
#[derive(Debug)]
pub struct Controller {
    mode: Mode,
    config: Config,
    devices: Slots<Device>,
    routes: Slots<Route>,
    notices: Mutex<Notices>,
    /// The time of the last tick.
    clock: AtomicU64,
    /// Closed domains whose slots aren't free yet.
    closing: AtomicU32,
}

#[derive(Debug)]
struct Device {
    domain: Domain,
    /// Calls of the completion poller.
    polls: AtomicU64,
    inner: Mutex<DeviceInner>,
}

#[derive(Debug)]
struct DeviceInner {
    policy: Policy,
    addresses: Vec<IpAddr>,
    /// Ports that are down, one bit each.
    ports_down: u64,
    /// `polls` at the last tick.
    polled: u64,
    /// `released` at the last tick.
    released: u64,
    /// Someone saw the poller stall in this epoch.
    stalled: bool,
    closing: bool,
}

#[derive(Debug)]
struct Route {
    domain: Domain,
    /// Slot of the device that it starts at.
    device: AtomicU32,
    /// Posts not made because of a quarantine.
    avoided: AtomicU32,
    inner: Mutex<RouteInner>,
}

#[derive(Debug)]
struct RouteInner {
    policy: Policy,
    device: DeviceId,
    port: u8,
    peer: PeerId,
    closing: bool,
}

/// What waits to be told, at most [`NOTICES`].
#[derive(Debug, Default)]
struct Notices {
    waiting: VecDeque<Notice>,
    lost: u64,
}

/// Notices beyond this are counted and dropped, the oldest first.
const NOTICES: usize = 1024;

impl Device {
    fn new() -> Self {
        Self {
            domain: Domain::new(),
            polls: AtomicU64::new(0),
            inner: Mutex::new(DeviceInner {
                policy: Policy::closed(),
                addresses: Vec::new(),
                ports_down: 0,
                polled: 0,
                released: 0,
                stalled: false,
                closing: false,
            }),
        }
    }
}

impl Route {
    fn new() -> Self {
        Self {
            domain: Domain::new(),
            device: AtomicU32::new(0),
            avoided: AtomicU32::new(0),
            inner: Mutex::new(RouteInner {
                policy: Policy::closed(),
                device: DeviceId { index: 0, incarnation: 0 },
                port: 0,
                peer: PeerId(0),
                closing: false,
            }),
        }
    }
}

impl Controller {
    /// A controller without devices and routes. Its mode stays what it is: to change it, drain and make another one
    /// (ADMISSION, Configuration, Compatibility, and Rollback).
    ///
    /// # Errors
    /// [`ConfigError`] when the configuration can't be used; nothing is made then.
    //= ADMISSION, Configuration, Compatibility, and Rollback: 6ce55229
    pub fn new(config: Config, capacity: Capacity) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            mode: config.mode,
            config,
            devices: Slots::new(capacity.devices, Device::new),
            routes: Slots::new(capacity.routes, Route::new),
            notices: Mutex::new(Notices::default()),
            clock: AtomicU64::new(0),
            closing: AtomicU32::new(0),
        })
    }

    /// The mode it was made with.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The configuration it was made with.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The route behind a handle, if it is open.
    fn route(&self, id: RouteId) -> Option<&Route> {
        self.routes.get(id.index).filter(|route| route.domain.gate().is_open_for(id.incarnation))
    }

    fn device(&self, id: DeviceId) -> Option<&Device> {
        self.devices.get(id.index).filter(|device| device.domain.gate().is_open_for(id.incarnation))
    }

    fn last_tick(&self) -> Nanos {
        Nanos(self.clock.load(Ordering::Relaxed))
    }

    fn notify(&self, notice: Notice) {
        let mut notices = lock(&self.notices);
        if notices.waiting.len() >= NOTICES {
            notices.waiting.pop_front();
            notices.lost += 1;
        }
        notices.waiting.push_back(notice);
    }

    /// Tells of changes of state; a change into the same state is none.
    fn tell(&self, subject: Subject, at: Nanos, changes: impl IntoIterator<Item = Change>) {
        for Change { from, on, to } in changes {
            if from != to {
                self.notify(Notice { at, what: What::Changed { subject, from, on, to } });
            }
        }
    }
}
