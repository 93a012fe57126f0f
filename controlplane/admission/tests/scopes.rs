//! How far failures reach: stalls, completion queues, ports, devices, hand-over, and handles that aren't open.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use admission::classify::Signal;
use admission::state::{Event, State};
use admission::{AvoidReason, DeviceSpec, Mode, Notice, OpenError, Subject, Target, TargetError, What};
use common::{CQ_ERR, DEVICE_FATAL, MIN, PORT_ACTIVE, PORT_ERR, QP_FATAL, TIMEOUT, World, avoids, spec};
use wire::units::{Nanos, Octets};

/// The slot of a handle.
fn slot(raw: u64) -> u64 {
    raw & 0xffff_ffff
}

fn notices(world: &World) -> Vec<What> {
    std::iter::from_fn(|| world.controller.poll_notice()).map(|notice| notice.what).collect()
}

#[test]
fn deadlines_of_an_epoch_in_which_the_poller_stalled_do_not_count() {
    //~ ADMISSION, Path State Machine: cebb04b5
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: 1b6ed535 8ba39499
    let world = World::new(Mode::Enforce);
    for _ in 0..3 {
        world.signal(Signal::Deadline);
    }
    world.signal(Signal::DeadlineWhileStalled);
    world.tick();
    let state = world.state();
    assert_eq!((state.state, state.errors, state.suppressed), (State::Healthy, 0, 4));
    world.signal(Signal::Deadline);
    assert_eq!(world.state().state, State::Healthy, "judged at the end of the epoch");
    world.tick();
    assert_eq!((world.state().state, world.state().errors), (State::Suspect, 1));
    world.signal(Signal::Deadline);
    world.controller.poller_stalled(world.device).unwrap();
    world.tick();
    assert_eq!(world.state().errors, 1);
    for _ in 0..100 {
        world.signal(Signal::Deadline);
    }
    world.tick();
    assert_eq!(world.state().state, State::Quarantined);
}

#[test]
fn a_poller_that_stops_reporting_is_seen_to_stall() {
    //~ ADMISSION, Path State Machine: cebb04b5
    let world = World::new(Mode::Enforce);
    world.controller.polled(world.device);
    world.tick();
    world.signal(Signal::Deadline);
    world.tick();
    assert_eq!((world.state().errors, world.state().suppressed), (0, 1));
    world.signal(Signal::Deadline);
    world.controller.polled(world.device);
    world.tick();
    assert_eq!(world.state().errors, 1);
    world.signal(Signal::Deadline);
    world.acquire(1).permit().unwrap().cancel();
    world.tick();
    assert_eq!(world.state().errors, 2, "a completion is progress");
}

#[test]
fn a_cq_error_quarantines_its_route_at_once() {
    //~ ADMISSION, Async Event Handling Matrix: ac7e9924
    let world = World::new(Mode::Enforce);
    let (other, _) = world.open(world.device, 1, 2);
    world.controller.async_event(CQ_ERR, world.target(), world.now()).unwrap();
    assert_eq!(world.state().state, State::Quarantined);
    assert_eq!(world.controller.route_snapshot(other).unwrap().state, State::Healthy);
    assert_eq!(world.device_state().state, State::Healthy);
}

#[test]
fn a_dead_port_takes_its_routes_until_it_is_active_and_a_probe_came_back() {
    //~ ADMISSION, Async Event Handling Matrix: e4c3d8f4 f6a62e94
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: 67317a22
    let world = World::new(Mode::Enforce);
    let (second_port, generation) = world.open(world.device, 2, 1);
    let port = Target::Port(world.device, 1);
    world.controller.async_event(PORT_ERR, port, world.now()).unwrap();
    assert_eq!(world.state().state, State::Quarantined);
    assert_eq!(world.device_state().state, State::Healthy);
    assert!(world.controller.try_acquire(second_port, generation, Octets(1)).permit().is_some());
    let (late, _) = world.open(world.device, 1, 3);
    assert_eq!(world.controller.route_snapshot(late).unwrap().state, State::Quarantined, "opened on it");
    world.cool_down();
    assert_eq!(world.state().state, State::Quarantined, "the cooldown alone isn't enough");
    world.controller.async_event(PORT_ACTIVE, port, world.now()).unwrap();
    assert_eq!(world.state().state, State::Quarantined, "nor the event");
    world.tick();
    assert_eq!(world.state().state, State::Probing);
    assert!(avoids(&world.acquire(1)).is_some(), "an active port proves no path");
    world.renew();
    world.acquire(1).permit().unwrap().succeed();
    assert_eq!(world.state().state, State::Healthy);
}

#[test]
fn a_dead_device_takes_all_its_routes_and_no_other_device() {
    //~ ADMISSION, Async Event Handling Matrix: 2d919185
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: e7279ea1
    for removed in [false, true] {
        let world = World::new(Mode::Enforce);
        let second = world.controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
        let (rail, rail_generation) = world.open(second, 1, 1);
        let target = Target::Device(world.device);
        let late = world.acquire(1).permit().unwrap();
        if removed {
            world.controller.signal(Signal::DeviceRemoved, target, world.now()).unwrap();
        } else {
            world.controller.async_event(DEVICE_FATAL, target, world.now()).unwrap();
        }
        assert_eq!(avoids(&world.acquire(1)), Some(AvoidReason::DeviceQuarantined));
        assert_eq!(world.state().state, State::Healthy, "the route itself has no evidence against it");
        assert!(world.controller.try_acquire(rail, rail_generation, Octets(1)).permit().is_some());
        world.cool_down();
        assert_eq!(world.device_state().state, State::Quarantined, "until it is opened anew");
        world.controller.renew_device(world.device).unwrap();
        late.succeed();
        world.tick();
        assert_eq!((world.device_state().state, world.device_state().window.0), (State::Probing, 400));
        world.fail(TIMEOUT);
        assert_eq!(world.device_state().state, State::Quarantined, "the probe failed");
        world.controller.renew_device(world.device).unwrap();
        world.cool_down();
        world.acquire(1).permit().unwrap().succeed();
        assert_eq!((world.device_state().state, world.device_state().window.0), (State::Healthy, MIN));
    }
}

#[test]
fn the_ladder_ends_with_notices_and_the_owner_isolates_the_device() {
    //~ ADMISSION, Recovery Escalation: d7d01a32 de6c33a3 cbbb7284 d65f12ed
    //~ ADMISSION, Proposal: 4fc6f78c
    let world = World::new(Mode::Enforce);
    let (other, other_generation) = world.open(world.device, 1, 1);
    world.quarantine();
    let told = notices(&world);
    assert_eq!(told.len(), 2, "suspect, quarantined: {told:?}");
    let target = Target::Route(other, other_generation);
    world.controller.async_event(CQ_ERR, target, world.now()).unwrap();
    let told = notices(&world);
    assert!(told.contains(&What::NoUsableRoute { device: world.device, port: 1 }));
    assert!(told.contains(&What::PeerUnreachable { peer: admission::PeerId(1) }));
    assert_eq!(world.device_state().state, State::Healthy, "told, not done");
    world.controller.isolate_device(world.device, world.now()).unwrap();
    assert_eq!(world.device_state().state, State::Quarantined);
    let changed = What::Changed {
        subject: Subject::Device(world.device),
        from: State::Healthy,
        on: Event::FatalEvent,
        to: State::Quarantined,
    };
    assert_eq!(notices(&world), [changed]);
}

#[test]
fn notices_that_nobody_fetches_are_bounded_and_counted() {
    let world = World::new(Mode::Enforce);
    for _ in 0..2000 {
        world.fail(TIMEOUT);
        world.tick();
        world.good_epoch(1);
    }
    let kept = std::iter::from_fn(|| world.controller.poll_notice()).count();
    assert_eq!((kept, world.controller.lost_notices()), (1024, 4000 - 1024));
    assert_eq!(world.controller.poll_notice(), None::<Notice>);
}

#[test]
fn a_hand_over_binds_the_route_anew_and_old_permits_settle_where_they_were_given() {
    //~ ADMISSION, Controller and Transport Responsibilities: 7477e88f
    let world = World::new(Mode::Enforce);
    let second = world.controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
    let old = world.acquire(500).permit().unwrap();
    let posted = world.acquire(300).permit().unwrap();
    let generation = world.controller.hand_over(world.route, second, 1, world.now()).unwrap();
    assert!(!old.is_current());
    assert!(generation.is_after(world.generation.get()));
    world.generation.set(generation);
    let new = world.acquire(200).permit().unwrap();
    let second_state = || world.controller.device_snapshot(second).unwrap();
    assert_eq!((world.device_state().in_flight.0, second_state().in_flight.0), (800, 200));
    assert_eq!(world.state().in_flight.0, 1000);
    drop(old);
    posted.succeed();
    assert_eq!((world.device_state().in_flight.0, second_state().in_flight.0), (0, 200));
    assert_eq!(world.device_state().completed.0, 300, "the device did complete it");
    assert_eq!(world.state().completed.0, 0, "the new path didn't");
    new.succeed();
    assert_eq!((second_state().in_flight.0, second_state().completed.0), (0, 200));
    // A quarantined route starts with a probe on its new path, without the rest of the cooldown.
    world.quarantine();
    world.generation.set(world.controller.hand_over(world.route, world.device, 1, world.now()).unwrap());
    assert_eq!((world.state().state, world.state().window.0), (State::Probing, 400));
    world.acquire(1).permit().unwrap().succeed();
    assert_eq!(world.state().state, State::Healthy);
    // Errors of the old path aren't held against the new one.
    world.fail(TIMEOUT);
    world.generation.set(world.controller.hand_over(world.route, second, 1, world.now()).unwrap());
    assert_eq!((world.state().state, world.state().errors), (State::Healthy, 0));
    // Nor does a dead port's new route pass for a good one.
    world.controller.async_event(PORT_ERR, Target::Port(world.device, 3), world.now()).unwrap();
    world.generation.set(world.controller.hand_over(world.route, world.device, 3, world.now()).unwrap());
    assert_eq!(world.state().state, State::Quarantined);
}

#[test]
fn targets_of_the_wrong_kind_are_refused_and_change_nothing() {
    let world = World::new(Mode::Enforce);
    let (route, port, device) = (world.target(), Target::Port(world.device, 1), Target::Device(world.device));
    let kind = |code, target| {
        let error = world.controller.async_event(code, target, Nanos(1)).unwrap_err();
        assert!(matches!(error, TargetError::Kind { .. }), "{error}");
    };
    kind(DEVICE_FATAL, route);
    kind(DEVICE_FATAL, port);
    kind(PORT_ERR, route);
    kind(PORT_ACTIVE, device);
    kind(QP_FATAL, device);
    kind(CQ_ERR, port);
    let unknown = world.controller.async_event(PORT_ERR, Target::Port(world.device, 64), Nanos(1));
    assert_eq!(unknown, Err(TargetError::Unknown(OpenError::Port(64))));
    assert_eq!((world.state().state, world.device_state().state), (State::Healthy, State::Healthy));
    assert_eq!(notices(&world), []);
}

#[test]
fn closed_and_forged_handles_are_refused_and_slots_are_used_again() {
    let world = World::new(Mode::Enforce);
    let held = world.acquire(10).permit().unwrap();
    world.controller.close_route(world.route).unwrap();
    assert_eq!(world.controller.close_route(world.route), Err(OpenError::NoSuchRoute));
    assert_eq!(avoids(&world.acquire(1)), Some(AvoidReason::NoSuchRoute));
    assert!(!held.is_current());
    world.tick();
    let (next, _) = world.open(world.device, 1, 1);
    assert_ne!(slot(next.to_raw()), slot(world.route.to_raw()), "still in flight");
    assert!(world.controller.attach(held.detach()).complete(TIMEOUT, 0, world.now()).stale);
    world.tick();
    let (again, generation) = world.open(world.device, 1, 1);
    assert_eq!(slot(again.to_raw()), slot(world.route.to_raw()), "the slot");
    assert_ne!(again, world.route, "another incarnation");
    assert!(generation.is_after(world.generation.get()));
    assert_eq!(avoids(&world.acquire(1)), Some(AvoidReason::NoSuchRoute), "the old handle");
    for raw in [u64::MAX, 2 << 32, 199, 200, 1 << 40] {
        let forged = admission::RouteId::from_raw(raw);
        let verdict = world.controller.try_acquire(forged, generation, Octets(1));
        assert_eq!(avoids(&verdict), Some(AvoidReason::NoSuchRoute), "{raw:#x}");
        let device = admission::DeviceId::from_raw(raw);
        assert_eq!(world.controller.open_route(spec(device, 1, 1), Nanos(0)), Err(OpenError::NoSuchDevice));
        assert_eq!(world.controller.renew_route(forged), Err(OpenError::NoSuchRoute));
        assert_eq!(world.controller.renew_device(device), Err(OpenError::NoSuchDevice));
    }
    world.controller.close_device(world.device).unwrap();
    let verdict = world.controller.try_acquire(again, generation, Octets(1));
    assert_eq!(avoids(&verdict), Some(AvoidReason::NoSuchRoute), "its device is closed");
    for port in [0, 64, 255] {
        let error = world.controller.open_route(spec(world.device, port, 1), Nanos(0));
        assert_eq!(error, Err(OpenError::Port(port)));
    }
}

#[test]
fn a_device_slot_is_used_again_only_when_no_route_names_it() {
    let world = World::new(Mode::Enforce);
    world.controller.close_device(world.device).unwrap();
    world.tick();
    let fresh: Vec<_> =
        (0..3).map(|_| world.controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap()).collect();
    assert!(fresh.iter().all(|device| slot(device.to_raw()) != slot(world.device.to_raw())));
    let full = world.controller.open_device(DeviceSpec::default(), Nanos(0));
    assert_eq!(full, Err(OpenError::DevicesFull(4)));
    world.controller.close_route(world.route).unwrap();
    world.tick();
    let again = world.controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
    assert_eq!(slot(again.to_raw()), slot(world.device.to_raw()));
    assert_ne!(again, world.device);
}

#[test]
fn devices_are_found_by_their_addresses() {
    let world = World::new(Mode::Enforce);
    let address: core::net::IpAddr = "192.0.2.1".parse().unwrap();
    assert_eq!(world.controller.device_of(address), None);
    let device = world.controller.open_device(DeviceSpec { addresses: vec![address] }, Nanos(0)).unwrap();
    assert_eq!(world.controller.device_of(address), Some(device));
    world.controller.close_device(device).unwrap();
    assert_eq!(world.controller.device_of(address), None);
}
