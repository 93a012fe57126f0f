//! A controller with one device and routes, for the tests.

#![allow(dead_code, reason = "each test file uses its part")]

use std::cell::Cell;

use admission::classify::Signal;
use admission::{
    AvoidReason, Capacity, Config, Controller, DeviceId, DeviceSpec, Generation, Mode, PeerId, RouteId,
    RouteSpec, Snapshot, Target, Verdict,
};
use wire::units::{Micros, Nanos, Octets};

/// A control epoch.
pub const EPOCH: u64 = 1_000_000;
/// Octets of a window's step.
pub const MIN: u64 = 1_000;
pub const MAX: u64 = 16_000;

/// Asynchronous events, as `ibv_event_type` numbers them.
pub const CQ_ERR: u32 = 0;
pub const QP_FATAL: u32 = 1;
pub const DEVICE_FATAL: u32 = 8;
pub const PORT_ACTIVE: u32 = 9;
pub const PORT_ERR: u32 = 10;

pub fn avoids(verdict: &Verdict<'_>) -> Option<AvoidReason> {
    if let Verdict::Avoid(reason) = verdict { Some(*reason) } else { None }
}

pub fn config(mode: Mode) -> Config {
    Config {
        mode,
        min_window: Octets(MIN),
        max_window: Octets(MAX),
        target_drain: Micros(2_000),
        high_pressure_epochs: 2,
        low_pressure_epochs: 3,
        hard_error_threshold: 3,
        cooldown: Nanos(10 * EPOCH),
        probe_window: Some(Octets(400)),
    }
}

pub struct World {
    pub controller: Controller,
    pub device: DeviceId,
    pub route: RouteId,
    pub generation: Cell<Generation>,
    pub clock: Cell<Nanos>,
}

impl World {
    pub fn target(&self) -> Target {
        Target::Route(self.route, self.generation.get())
    }

    pub fn signal(&self, signal: Signal) {
        self.controller.signal(signal, self.target(), self.now()).unwrap();
    }

    pub fn new(mode: Mode) -> Self {
        Self::with(config(mode))
    }

    pub fn with(config: Config) -> Self {
        let controller = Controller::new(config, Capacity { devices: 4, routes: 200 }).unwrap();
        let device = controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
        let (route, generation) = controller.open_route(spec(device, 1, 1), Nanos(0)).unwrap();
        Self { controller, device, route, generation: Cell::new(generation), clock: Cell::new(Nanos(0)) }
    }

    pub fn open(&self, device: DeviceId, port: u8, peer: u64) -> (RouteId, Generation) {
        self.controller.open_route(spec(device, port, peer), self.now()).unwrap()
    }

    pub fn now(&self) -> Nanos {
        self.clock.get()
    }

    pub fn wait(&self, nanos: u64) {
        self.clock.set(self.now() + Nanos(nanos));
    }

    pub fn acquire(&self, octets: u64) -> Verdict<'_> {
        self.controller.try_acquire(self.route, self.generation.get(), Octets(octets))
    }

    pub fn renew(&self) {
        self.generation.set(self.controller.renew_route(self.route).unwrap());
    }

    pub fn state(&self) -> Snapshot {
        self.controller.route_snapshot(self.route).unwrap()
    }

    pub fn device_state(&self) -> Snapshot {
        self.controller.device_snapshot(self.device).unwrap()
    }

    pub fn tick(&self) {
        self.wait(EPOCH);
        self.controller.tick(self.now());
    }

    /// An epoch in which `octets` complete and nothing stays in flight: low pressure.
    pub fn good_epoch(&self, octets: u64) {
        self.acquire(octets).permit().unwrap().succeed();
        self.tick();
    }

    /// A completion with this status on the current generation.
    pub fn fail(&self, status: u32) -> admission::Settled {
        self.acquire(1).permit().unwrap().complete(status, 0, self.now())
    }

    /// Drives the route into quarantine by timeouts.
    pub fn quarantine(&self) {
        for _ in 0..self.controller.config().hard_error_threshold {
            self.fail(TIMEOUT);
        }
    }

    /// Lets the cooldown pass.
    pub fn cool_down(&self) {
        self.wait(self.controller.config().cooldown.0);
        self.controller.tick(self.now());
    }
}

pub fn spec(device: DeviceId, port: u8, peer: u64) -> RouteSpec {
    RouteSpec { device, port, peer: PeerId(peer) }
}

/// `IBV_WC_RETRY_EXC_ERR`.
pub const TIMEOUT: u32 = 12;
/// `IBV_WC_RNR_RETRY_EXC_ERR`.
pub const RNR: u32 = 13;
/// `IBV_WC_WR_FLUSH_ERR`.
pub const FLUSH: u32 = 5;
