//! What stands in front of the posts: what a build without the controller leaves, or a controller.

use std::collections::VecDeque;

use admission::{
    Capacity, Config, Controller, DeviceId, DeviceSpec, Generation, Mode, PeerId, RouteId, RouteSpec, Ticket,
    Verdict,
};
use wire::units::{Nanos, Octets};

/// What `admission` is without its feature `enabled`, compiled here from the same file: cargo makes one build of a package
/// for a program, and arms of one program meet the same machine, which two programs never do.
#[path = "../../../admission/src/removed.rs"]
#[allow(
    dead_code,
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "not all of it is called, and it is an interface"
)]
mod removed;

/// In front of a transport's posts.
pub trait Gate {
    /// Whether a slice may be posted now.
    fn admit(&mut self, octets: u32) -> bool;
    /// The oldest slice that is posted completed.
    fn complete(&mut self, status: u32, now: Nanos);
    /// When there must be a turn of the loop for the control epoch, if nothing else causes one; `None` for none.
    fn poll_timeout(&self) -> Option<Nanos>;
    /// Ends a control epoch that is over; called at every turn of the loop.
    fn handle_turn(&mut self, now: Nanos);
    /// What it was like.
    fn says(&self) -> String;
}

/// The controller as a build without its feature has it: the same calls on the shells that are left.
pub struct Without {
    controller: removed::Controller,
    route: removed::RouteId,
    generation: removed::Generation,
}

impl Without {
    pub fn new() -> Self {
        let controller = removed::Controller::new(removed::Config, removed::Capacity).unwrap();
        let device = controller.open_device(removed::DeviceSpec, Nanos(0)).unwrap();
        let spec = removed::RouteSpec { device, port: 1, peer: removed::PeerId(1) };
        let (route, generation) = controller.open_route(spec, Nanos(0)).unwrap();
        Self { controller, route, generation }
    }
}

impl Gate for Without {
    #[inline]
    fn admit(&mut self, octets: u32) -> bool {
        let removed::Verdict::Admit(permit) =
            self.controller.try_acquire(self.route, self.generation, Octets(octets.into()));
        // Nothing to keep beside the work request.
        permit.succeed();
        true
    }

    #[inline]
    fn complete(&mut self, _status: u32, _now: Nanos) {}

    fn poll_timeout(&self) -> Option<Nanos> {
        None
    }

    #[inline]
    fn handle_turn(&mut self, _now: Nanos) {}

    fn says(&self) -> String {
        String::new()
    }
}

/// The controller in one of its modes, with its default windows.
pub struct Controlled {
    controller: Controller,
    device: DeviceId,
    route: RouteId,
    generation: Generation,
    posted: VecDeque<Ticket>,
    epoch_end: Nanos,
    ticks: u64,
}

const EPOCH: Nanos = Nanos(1_000_000);

impl Controlled {
    pub fn new(mode: Mode) -> Self {
        let controller = Controller::new(Config { mode, ..Config::default() }, Capacity::default()).unwrap();
        let device = controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
        let spec = RouteSpec { device, port: 1, peer: PeerId(1) };
        let (route, generation) = controller.open_route(spec, Nanos(0)).unwrap();
        let posted = VecDeque::new();
        Self { controller, device, route, generation, posted, epoch_end: EPOCH, ticks: 0 }
    }
}

impl Gate for Controlled {
    #[inline]
    fn admit(&mut self, octets: u32) -> bool {
        match self.controller.try_acquire(self.route, self.generation, Octets(octets.into())) {
            Verdict::Admit(permit) => {
                self.posted.push_back(permit.detach());
                true
            }
            Verdict::Defer(_) | Verdict::Avoid(_) => false,
        }
    }

    #[inline]
    fn complete(&mut self, status: u32, now: Nanos) {
        if let Some(ticket) = self.posted.pop_front() {
            let _ = self.controller.attach(ticket).complete(status, 0, now);
        }
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        // A controller that is off has nothing to compute. As the agent does, an epoch waits for a turn that comes anyway.
        (self.controller.mode() != Mode::Off).then_some(self.epoch_end + Nanos(EPOCH.0 / 2))
    }

    #[inline]
    fn handle_turn(&mut self, now: Nanos) {
        if now < self.epoch_end || self.controller.mode() == Mode::Off {
            return;
        }
        self.controller.polled(self.device);
        self.controller.tick(now);
        self.epoch_end = now + EPOCH;
        self.ticks += 1;
    }

    fn says(&self) -> String {
        let route = self.controller.route_snapshot(self.route).unwrap();
        let window = route.window.0 >> 10;
        format!("{}, window {window} KiB, deferred {}, {} epochs", route.state, route.deferred, self.ticks)
    }
}
