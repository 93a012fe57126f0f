//! Proofs by exhaustion: loom runs each model under every order of its threads' atomic operations that the memory model
//! allows, with at most three switches of a thread that could go on (more orders than that take hours). `make loom`.

#![allow(clippy::unwrap_used, reason = "tests")]

use core::sync::atomic::{AtomicU64, Ordering};

use loom::sync::Arc;
use loom::thread;
use wire::units::{Nanos, Octets};

use crate::config::{Config, Mode};
use crate::controller::{Capacity, Controller, DeviceSpec, PeerId, RouteSpec, Verdict};
use crate::domain::{Domain, Generation};
use crate::ids::{DeviceId, RouteId};
use crate::table::PermitTable;

const WINDOW: u64 = 10;

fn domain() -> Arc<Domain> {
    let domain = Domain::new();
    domain.set_window(WINDOW);
    Arc::new(domain)
}

/// What is in flight in truth: loom runs one thread at a time and switches only at its own atomics, so this count, which is
/// none of them, changes together with the reservation before it. (A count read from the domain may be too large.)
#[derive(Default)]
struct Truth(AtomicU64);

impl Truth {
    fn reserve(&self, domain: &Domain, octets: u64) -> bool {
        let reserved = domain.try_reserve(octets);
        if reserved {
            let before = self.0.fetch_add(octets, Ordering::Relaxed);
            let alone = before == 0;
            assert!(alone || before + octets <= WINDOW, "{before} in flight, {octets} more admitted");
        }
        reserved
    }

    fn release(&self, octets: u64) {
        self.0.fetch_sub(octets, Ordering::Relaxed);
    }
}

#[test]
fn in_flight_is_never_above_the_window_or_one_slice() {
    //~ ADMISSION, Caller Observability: 3ae12ef7
    // Small, large and oversize slices against each other.
    for slices in [[6, 6], [4, 6], [25, 1], [25, 25]] {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let (domain, truth) = (domain(), Arc::new(Truth::default()));
            let threads: Vec<_> = slices
                .into_iter()
                .map(|octets| {
                    let (domain, truth) = (Arc::clone(&domain), Arc::clone(&truth));
                    thread::spawn(move || {
                        if truth.reserve(&domain, octets) {
                            truth.release(octets);
                            domain.complete(octets);
                        }
                        if truth.reserve(&domain, octets) {
                            truth.release(octets);
                            domain.give_back(octets);
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(domain.in_flight(), 0, "nothing lost, nothing released twice");
            assert!(truth.reserve(&domain, 25), "an empty domain admits one slice of any size");
        });
    }
}

#[test]
fn three_posters_stay_within_the_window() {
    //~ ADMISSION, Caller Observability: 3ae12ef7
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let (domain, truth) = (domain(), Arc::new(Truth::default()));
        let threads: Vec<_> = [4, 5, 25]
            .into_iter()
            .map(|octets| {
                let (domain, truth) = (Arc::clone(&domain), Arc::clone(&truth));
                thread::spawn(move || {
                    if truth.reserve(&domain, octets) {
                        truth.release(octets);
                        domain.complete(octets);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(domain.in_flight(), 0);
    });
}

fn controller() -> (Arc<Controller>, DeviceId, RouteId, Generation) {
    let config = Config {
        mode: Mode::Enforce,
        min_window: Octets(WINDOW),
        max_window: Octets(WINDOW),
        hard_error_threshold: 1,
        ..Config::default()
    };
    let controller = Controller::new(config, Capacity { devices: 2, routes: 2 }).unwrap();
    let device = controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
    let (route, generation) =
        controller.open_route(RouteSpec { device, port: 1, peer: PeerId(1) }, Nanos(0)).unwrap();
    (Arc::new(controller), device, route, generation)
}

fn in_flight(controller: &Controller, device: DeviceId, route: RouteId) -> (u64, u64) {
    let route = controller.route_snapshot(route).unwrap().in_flight.0;
    (route, controller.device_snapshot(device).unwrap().in_flight.0)
}

/// A thread that posts one slice and settles it.
fn post(controller: &Controller, route: RouteId, generation: Generation, octets: u64, success: bool) {
    if let Verdict::Admit(permit) = controller.try_acquire(route, generation, Octets(octets)) {
        if success {
            permit.succeed();
        } else {
            permit.cancel();
        }
    }
}

#[test]
fn two_routes_of_one_device_leave_nothing_reserved() {
    //~ ADMISSION, Controller and Transport Responsibilities: 45116f8d
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let (controller, device, route, generation) = controller();
        let spec = RouteSpec { device, port: 1, peer: PeerId(1) };
        let (other, other_generation) = controller.open_route(spec, Nanos(0)).unwrap();
        let threads = [(route, generation, 6, true), (other, other_generation, 7, false)];
        let threads: Vec<_> = threads
            .into_iter()
            .map(|(route, generation, octets, success)| {
                let controller = Arc::clone(&controller);
                thread::spawn(move || post(&controller, route, generation, octets, success))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        // Whoever was refused by the device has given the route's reservation back.
        assert_eq!(in_flight(&controller, device, route), (0, 0));
        assert_eq!(controller.route_snapshot(other).unwrap().in_flight.0, 0);
    });
}

#[test]
fn a_new_generation_and_a_quarantine_beside_a_post_lose_no_reservation() {
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: eaab2820
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let (controller, device, route, generation) = controller();
        let poster = {
            let controller = Arc::clone(&controller);
            thread::spawn(move || post(&controller, route, generation, 6, true))
        };
        controller.renew_route(route).unwrap();
        controller.isolate_device(device, Nanos(1)).unwrap();
        poster.join().unwrap();
        assert_eq!(in_flight(&controller, device, route), (0, 0));
    });
}

#[test]
fn a_hand_over_beside_a_post_settles_with_the_device_of_the_permit() {
    //~ ADMISSION, Controller and Transport Responsibilities: 7477e88f
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let (controller, device, route, generation) = controller();
        let second = controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
        let poster = {
            let controller = Arc::clone(&controller);
            thread::spawn(move || {
                let verdict = controller.try_acquire(route, generation, Octets(6));
                verdict.permit().map(|permit| permit.detach())
            })
        };
        controller.hand_over(route, second, 1, Nanos(1)).unwrap();
        if let Some(ticket) = poster.join().unwrap() {
            assert_eq!(in_flight(&controller, device, route), (6, 6), "reserved at the first device");
            controller.attach(ticket).succeed();
        }
        assert_eq!(in_flight(&controller, device, route), (0, 0));
        assert_eq!(controller.device_snapshot(second).unwrap().in_flight.0, 0);
    });
}

#[test]
fn a_number_is_settled_by_one_of_two_threads() {
    //~ ADMISSION, Controller and Transport Responsibilities: 45116f8d
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let (controller, device, route, generation) = controller();
        let table = Arc::new(PermitTable::new(1));
        let permit = controller.try_acquire(route, generation, Octets(6)).permit().unwrap();
        let number = table.put(permit).unwrap();
        let settle = move |controller: &Controller, table: &PermitTable| {
            table.take(controller, number).map(|permit| permit.succeed()).is_some()
        };
        let other = {
            let (controller, table) = (Arc::clone(&controller), Arc::clone(&table));
            thread::spawn(move || settle(&controller, &table))
        };
        let mine = settle(&controller, &table);
        assert!(mine != other.join().unwrap(), "exactly one");
        assert_eq!(in_flight(&controller, device, route), (0, 0));
    });
}

#[test]
fn the_table_gives_no_cell_to_two() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let (controller, device, route, generation) = controller();
        let table = Arc::new(PermitTable::new(2));
        let turn = move |controller: &Controller, table: &PermitTable, octets| {
            let permit = controller.try_acquire(route, generation, Octets(octets)).permit().unwrap();
            let number = table.put(permit).unwrap();
            let permit = table.take(controller, number).unwrap();
            assert_eq!(permit.octets(), Octets(octets));
            permit.succeed();
        };
        let other = {
            let (controller, table) = (Arc::clone(&controller), Arc::clone(&table));
            thread::spawn(move || turn(&controller, &table, 4))
        };
        turn(&controller, &table, 6);
        other.join().unwrap();
        assert_eq!(in_flight(&controller, device, route), (0, 0));
    });
}
