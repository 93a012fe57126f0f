//! Random calls of a transport that does everything wrong it can: old handles, wrong targets, clocks that jump, absurd
//! sizes, permits kept for ever. What is in flight is always what is held, and nothing panics.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeMap;

use admission::feedback::Feedback;
use admission::state::State;
use admission::{
    Capacity, Controller, DeviceId, DeviceSpec, Generation, MAX_SLICE, Mode, RouteId, Target, Ticket, Verdict,
};
use common::{config, spec};
use proptest::prelude::*;
use wire::units::{MbitPerSec, Nanos, Octets};

#[derive(Clone, Debug)]
enum Act {
    OpenDevice,
    CloseDevice(usize),
    OpenRoute { device: usize, port: u8 },
    CloseRoute(usize),
    RenewRoute(usize),
    RenewDevice(usize),
    HandOver { route: usize, device: usize, port: u8 },
    Acquire { route: usize, octets: u64, old: bool },
    Settle { permit: usize, how: u8, status: u32 },
    Partial { permit: usize, posted: u64 },
    Event { code: u32, route: usize, device: usize, port: u8, kind: u8 },
    Report { route: usize, device: usize, rate: Option<u32>, receiver: bool },
    Tick { now: u64 },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let size = prop_oneof![0..20_000_u64, Just(u64::MAX), Just(MAX_SLICE.0), Just(MAX_SLICE.0 + 1)];
    let time = prop_oneof![0..100_000_000_u64, Just(u64::MAX)];
    let act = prop_oneof![
        1 => Just(Act::OpenDevice),
        1 => (0..6_usize).prop_map(Act::CloseDevice),
        2 => (0..6_usize, 0..3_u8).prop_map(|(device, port)| Act::OpenRoute { device, port }),
        1 => (0..9_usize).prop_map(Act::CloseRoute),
        3 => (0..9_usize).prop_map(Act::RenewRoute),
        1 => (0..6_usize).prop_map(Act::RenewDevice),
        1 => (0..9_usize, 0..6_usize, 0..3_u8)
            .prop_map(|(route, device, port)| Act::HandOver { route, device, port }),
        12 => (0..9_usize, size.clone(), any::<bool>())
            .prop_map(|(route, octets, old)| Act::Acquire { route, octets, old }),
        9 => (0..20_usize, 0..3_u8, 0..26_u32)
            .prop_map(|(permit, how, status)| Act::Settle { permit, how, status }),
        1 => (0..20_usize, size).prop_map(|(permit, posted)| Act::Partial { permit, posted }),
        2 => (0..22_u32, 0..9_usize, 0..6_usize, 0..70_u8, 0..3_u8)
            .prop_map(|(code, route, device, port, kind)| Act::Event { code, route, device, port, kind }),
        2 => (0..9_usize, 0..6_usize, any::<Option<u32>>(), any::<bool>())
            .prop_map(|(route, device, rate, receiver)| Act::Report { route, device, rate, receiver }),
        3 => time.prop_map(|now| Act::Tick { now }),
    ];
    proptest::collection::vec(act, 1..120)
}

struct Held {
    ticket: Ticket,
    route: RouteId,
    octets: u64,
}

struct World {
    controller: Controller,
    devices: Vec<DeviceId>,
    /// Every handle ever given out, with its last known generation.
    routes: Vec<(RouteId, Generation)>,
    held: Vec<Held>,
    now: Nanos,
}

impl World {
    fn act(&mut self, act: &Act) {
        let device = |index: usize| self.devices[index % self.devices.len()];
        let route_at = |index: usize| index % self.routes.len();
        match *act {
            Act::OpenDevice => {
                if let Ok(id) = self.controller.open_device(DeviceSpec::default(), self.now) {
                    self.devices.push(id);
                }
            }
            Act::CloseDevice(index) => {
                let _ = self.controller.close_device(device(index));
            }
            Act::OpenRoute { device: index, port } => {
                if let Ok(opened) = self.controller.open_route(spec(device(index), port, 1), self.now) {
                    self.routes.push(opened);
                }
            }
            Act::CloseRoute(index) => {
                let _ = self.controller.close_route(self.routes[route_at(index)].0);
            }
            Act::RenewRoute(index) => {
                let index = route_at(index);
                if let Ok(generation) = self.controller.renew_route(self.routes[index].0) {
                    self.routes[index].1 = generation;
                }
            }
            Act::RenewDevice(index) => {
                let _ = self.controller.renew_device(device(index));
            }
            Act::HandOver { route, device: to, port } => {
                let index = route_at(route);
                let id = self.routes[index].0;
                if let Ok(generation) = self.controller.hand_over(id, device(to), port, self.now) {
                    self.routes[index].1 = generation;
                }
            }
            Act::Acquire { route, octets, old } => self.acquire(route_at(route), octets, old),
            Act::Settle { permit, how, status } => self.settle(permit, how, status),
            Act::Partial { permit, posted } => self.partial(permit, posted),
            Act::Event { code, route, device: index, port, kind } => {
                let (id, generation) = self.routes[route_at(route)];
                let target = match kind {
                    0 => Target::Route(id, generation),
                    1 => Target::Port(device(index), port),
                    _ => Target::Device(device(index)),
                };
                let _ = self.controller.async_event(code, target, self.now);
            }
            Act::Report { route, device: index, rate, receiver } => {
                let rate = rate.map(MbitPerSec);
                let feedback = if receiver {
                    Feedback::ReceiverPressure { rate }
                } else {
                    Feedback::Congestion { rate }
                };
                let _ = self.controller.route_feedback(self.routes[route_at(route)].0, feedback);
                let _ = self.controller.device_feedback(device(index), feedback);
            }
            Act::Tick { now } => {
                self.now = Nanos(now);
                self.controller.tick(self.now);
            }
        }
    }

    fn acquire(&mut self, index: usize, octets: u64, old: bool) {
        let (route, generation) = self.routes[index];
        let generation = if old { Generation(generation.0.wrapping_sub(1)) } else { generation };
        let before = self.controller.route_snapshot(route);
        match self.controller.try_acquire(route, generation, Octets(octets)) {
            Verdict::Admit(permit) => {
                let reserved = permit.octets().0;
                let ticket = permit.detach();
                if self.controller.mode() == Mode::Enforce {
                    let before = before.unwrap();
                    assert!(!old && octets <= MAX_SLICE.0 && before.state != State::Quarantined);
                    let in_flight = before.in_flight.0;
                    assert!(in_flight == 0 || in_flight + octets <= before.window.0);
                }
                let counted = self.controller.mode() != Mode::Off && octets <= MAX_SLICE.0 && before.is_ok();
                let after = self.controller.route_snapshot(route);
                let reserves = counted && after.unwrap().in_flight.0 != before.unwrap().in_flight.0;
                assert!(!reserves || reserved == octets);
                self.held.push(Held { ticket, route, octets: if reserves { octets } else { 0 } });
            }
            Verdict::Defer(_) | Verdict::Avoid(_) => {
                assert_eq!(self.controller.mode(), Mode::Enforce);
                let after = self.controller.route_snapshot(route);
                assert_eq!(after.map(|s| s.in_flight), before.map(|s| s.in_flight), "rolled back");
            }
        }
    }

    fn settle(&mut self, permit: usize, how: u8, status: u32) {
        if self.held.is_empty() {
            return;
        }
        let held = self.held.swap_remove(permit % self.held.len());
        let permit = self.controller.attach(held.ticket);
        match how {
            0 => permit.succeed(),
            1 => permit.cancel(),
            _ => {
                let _ = permit.complete(status, status, self.now);
            }
        }
    }

    fn partial(&mut self, permit: usize, posted: u64) {
        if self.held.is_empty() {
            return;
        }
        let mut held = self.held.swap_remove(permit % self.held.len());
        let mut permit = self.controller.attach(held.ticket);
        let _ = permit.is_current();
        if permit.post_partially(Octets(posted)).is_ok() && held.octets > 0 {
            held.octets = posted;
        }
        held.ticket = permit.detach();
        self.held.push(held);
    }

    fn check(&self) {
        let mut wanted: BTreeMap<RouteId, u64> = BTreeMap::new();
        for held in &self.held {
            *wanted.entry(held.route).or_default() += held.octets;
        }
        for (route, _) in &self.routes {
            if let Ok(snapshot) = self.controller.route_snapshot(*route) {
                assert_eq!(snapshot.in_flight.0, wanted.get(route).copied().unwrap_or(0), "{route:?}");
                let (min, max) = (config(Mode::Off).probe_window().0, common::MAX);
                assert!((min..=max).contains(&snapshot.window.0), "{snapshot:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 20_000 }))]

    #[test]
    fn in_flight_is_what_is_held(acts in acts(), mode in 0..3_u8) {
        let mode = [Mode::Off, Mode::Observe, Mode::Enforce][usize::from(mode)];
        let controller = Controller::new(config(mode), Capacity { devices: 3, routes: 5 }).unwrap();
        let device = controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
        let route = controller.open_route(spec(device, 1, 1), Nanos(0)).unwrap();
        let mut world =
            World { controller, devices: vec![device], routes: vec![route], held: Vec::new(), now: Nanos(0) };
        for act in &acts {
            world.act(act);
            world.check();
        }
        while let Some(held) = world.held.pop() {
            world.controller.attach(held.ticket).cancel();
        }
        world.check();
    }
}
