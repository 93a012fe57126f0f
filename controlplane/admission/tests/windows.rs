//! Permits, windows and their hysteresis.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use admission::feedback::Feedback;
use admission::state::State;
use admission::{AvoidReason, DeferReason, MAX_SLICE, Mode, Verdict};
use common::{EPOCH, MAX, MIN, RNR, World, config};
use wire::units::{MbitPerSec, Nanos, Octets};

fn defers(verdict: &Verdict<'_>) -> Option<DeferReason> {
    if let Verdict::Defer(reason) = verdict { Some(*reason) } else { None }
}

#[test]
fn a_permit_reserves_the_whole_slice_in_both_domains_and_is_given_back_once() {
    //~ ADMISSION, Controller and Transport Responsibilities: 6e9f3994 45116f8d
    //~ ADMISSION, Proposal: bfef1cb1
    //~ ADMISSION, Relationship to Existing Work: 181ddafb
    //~ ADMISSION, Controller and Transport Responsibilities: c4f73287
    let world = World::new(Mode::Enforce);
    let both = || (world.state().in_flight.0, world.device_state().in_flight.0);
    let permit = world.acquire(700).permit().unwrap();
    assert_eq!(both(), (700, 700));
    let second = world.acquire(300).permit().unwrap();
    assert_eq!(both(), (1000, 1000));
    drop(second);
    assert_eq!(both(), (700, 700), "dropped: given back");
    let ticket = permit.detach();
    assert_eq!(both(), (700, 700), "detached: still reserved");
    world.controller.attach(ticket).succeed();
    assert_eq!(both(), (0, 0));
    assert_eq!((world.state().completed.0, world.device_state().completed.0), (700, 700));
}

#[test]
fn the_second_refusal_rolls_back_the_first_reservation() {
    //~ ADMISSION, Controller and Transport Responsibilities: 45116f8d
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: 3bb02f16
    let world = World::new(Mode::Enforce);
    let (other, generation) = world.open(world.device, 1, 2);
    let _held = world.acquire(MAX - 10).permit().unwrap();
    let verdict = world.controller.try_acquire(other, generation, Octets(11));
    assert_eq!(defers(&verdict), Some(DeferReason::DeviceWindow));
    assert_eq!(world.controller.route_snapshot(other).unwrap().in_flight.0, 0);
    assert_eq!(world.device_state().in_flight.0, MAX - 10);
    assert!(world.controller.try_acquire(other, generation, Octets(10)).permit().is_some());
    assert_eq!(defers(&world.acquire(11)), Some(DeferReason::RouteWindow));
    assert_eq!((world.state().deferred, world.device_state().deferred), (1, 1));
}

#[test]
fn a_partial_post_gives_only_the_rest_back() {
    //~ ADMISSION, Controller and Transport Responsibilities: 0a5287b0
    let world = World::new(Mode::Enforce);
    let mut permit = world.acquire(1000).permit().unwrap();
    let error = permit.post_partially(Octets(1001)).unwrap_err();
    assert_eq!((error.posted, error.permitted), (Octets(1001), Octets(1000)));
    assert_eq!(world.state().in_flight.0, 1000, "a wrong call changes nothing");
    permit.post_partially(Octets(400)).unwrap();
    assert_eq!((world.state().in_flight.0, world.device_state().in_flight.0), (400, 400));
    assert_eq!(world.state().completed.0, 0, "what wasn't posted didn't complete");
    permit.succeed();
    assert_eq!((world.state().in_flight.0, world.state().completed.0), (0, 400));
    let mut permit = world.acquire(1000).permit().unwrap();
    permit.post_partially(Octets(0)).unwrap();
    drop(permit);
    assert_eq!((world.state().in_flight.0, world.state().completed.0), (0, 400));
}

#[test]
fn a_refused_post_gives_its_permit_back_and_is_no_completion() {
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: a6193e92
    let world = World::new(Mode::Enforce);
    world.acquire(500).permit().unwrap().cancel();
    let state = world.state();
    assert_eq!((state.in_flight.0, state.completed.0, state.errors, state.state), (0, 0, 0, State::Healthy));
}

#[test]
fn absurd_slices_are_refused_and_nothing_overflows() {
    let world = World::new(Mode::Enforce);
    for octets in [MAX_SLICE.0 + 1, u64::MAX] {
        let verdict = world.acquire(octets);
        assert!(matches!(verdict, Verdict::Avoid(AvoidReason::SliceTooLarge)), "{octets}");
    }
    let permit = world.acquire(MAX_SLICE.0).permit().unwrap();
    assert_eq!(defers(&world.acquire(1)), Some(DeferReason::RouteWindow));
    permit.succeed();
    assert!(world.acquire(0).permit().is_some(), "an operation without payload");
    let observer = World::new(Mode::Observe);
    let permits: Vec<_> = (0..3).map(|_| observer.acquire(u64::MAX).permit().unwrap()).collect();
    assert_eq!(observer.state().in_flight.0, 0, "not counted, and admitted all the same");
    drop(permits);
}

#[test]
fn congestion_needs_its_epochs_and_halves_the_window() {
    //~ ADMISSION, Path State Machine: 4b46dca2
    //~ ADMISSION, Completion/WC Handling Matrix: addb35b9
    let world = World::new(Mode::Enforce);
    // 3,000 in flight and 1,000 completed in an epoch: drains in three epochs of 1 ms, above 2 ms.
    let held = world.acquire(3000).permit().unwrap();
    let pressed = |world: &World| {
        world.acquire(1000).permit().unwrap().succeed();
        world.tick();
    };
    pressed(&world);
    assert_eq!(
        (world.state().state, world.state().window.0),
        (State::Healthy, MAX),
        "one epoch isn't enough"
    );
    pressed(&world);
    assert_eq!((world.state().state, world.state().window.0), (State::Congested, MAX / 2));
    assert_eq!((world.device_state().state, world.device_state().window.0), (State::Congested, MAX / 2));
    pressed(&world);
    assert_eq!(world.state().window.0, MAX / 2);
    pressed(&world);
    assert_eq!(world.state().window.0, MAX / 4, "still pressed: again");
    assert!(world.acquire(1).permit().is_some(), "congestion refuses nothing by itself");
    drop(held);
}

#[test]
fn a_drain_time_at_its_target_is_low_pressure() {
    let world = World::new(Mode::Enforce);
    let held = world.acquire(2000).permit().unwrap();
    for _ in 0..4 {
        world.acquire(1000).permit().unwrap().succeed();
        world.tick();
    }
    assert_eq!((world.state().state, world.state().window.0), (State::Healthy, MAX));
    drop(held);
}

#[test]
fn a_broken_streak_starts_over() {
    let world = World::new(Mode::Enforce);
    for _ in 0..5 {
        world.controller.route_feedback(world.route, Feedback::Congestion { rate: None }).unwrap();
        world.tick();
        world.good_epoch(100);
    }
    assert_eq!((world.state().state, world.state().window.0), (State::Healthy, MAX));
}

/// A route whose window was halved `times` times by reports.
fn shrunk(times: u32) -> World {
    let world = World::new(Mode::Enforce);
    for _ in 0..2 * times {
        world.controller.route_feedback(world.route, Feedback::Congestion { rate: None }).unwrap();
        world.tick();
    }
    world
}

#[test]
fn windows_grow_by_a_step_each_low_epoch_after_the_streak() {
    //~ ADMISSION, Path State Machine: 59c6c0e6
    let world = shrunk(2);
    assert_eq!((world.state().state, world.state().window.0), (State::Congested, MAX / 4));
    world.good_epoch(10);
    world.good_epoch(10);
    assert_eq!(world.state().state, State::Congested);
    world.good_epoch(10);
    assert_eq!((world.state().state, world.state().window.0), (State::Healthy, MAX / 4));
    world.good_epoch(10);
    assert_eq!(world.state().window.0, MAX / 4 + MIN);
    world.tick();
    assert_eq!(world.state().window.0, MAX / 4 + MIN, "an idle epoch isn't a successful one");
    for _ in 0..20 {
        world.good_epoch(10);
    }
    assert_eq!(world.state().window.0, MAX, "and no further");
}

#[test]
fn no_window_shrinks_below_the_smallest() {
    let world = shrunk(20);
    assert_eq!(world.state().window.0, MIN);
}

#[test]
fn a_reported_rate_shrinks_to_what_drains_in_time() {
    let world = World::new(Mode::Enforce);
    // 20 Mbit/s are 2.5 octets a microsecond: 5,000 octets in 2 ms.
    for _ in 0..2 {
        let feedback = Feedback::Congestion { rate: Some(MbitPerSec(20)) };
        world.controller.route_feedback(world.route, feedback).unwrap();
        world
            .controller
            .route_feedback(world.route, Feedback::Congestion { rate: Some(MbitPerSec(900)) })
            .unwrap();
        world.tick();
    }
    assert_eq!((world.state().state, world.state().window.0), (State::Congested, 5000));
    for _ in 0..2 {
        let feedback = Feedback::Congestion { rate: Some(MbitPerSec(u32::MAX)) };
        world.controller.route_feedback(world.route, feedback).unwrap();
        world.tick();
    }
    assert_eq!(world.state().window.0, 5000, "a rate above the window's raises nothing");
}

#[test]
fn receiver_pressure_stays_on_its_route() {
    //~ ADMISSION, Completion/WC Handling Matrix: 0e68a7e0
    let world = World::new(Mode::Enforce);
    let (other, _) = world.open(world.device, 1, 2);
    for _ in 0..2 {
        let settled = world.fail(RNR);
        assert!(!settled.stale);
        world.tick();
    }
    let state = world.state();
    assert_eq!((state.state, state.window.0, state.errors), (State::Congested, MAX / 2, 0));
    assert_eq!(world.device_state().window.0, MAX);
    assert_eq!(world.controller.route_snapshot(other).unwrap().window.0, MAX);
    for _ in 0..2 {
        let pressure = Feedback::ReceiverPressure { rate: None };
        world.controller.device_feedback(world.device, pressure).unwrap();
        world.tick();
    }
    assert_eq!(world.device_state().window.0, MAX, "never the device's");
}

#[test]
fn long_transfers_are_measured_over_several_epochs() {
    let world = World::new(Mode::Enforce);
    let slow = world.acquire(9000).permit().unwrap();
    let _rest = world.acquire(1000).permit().unwrap();
    for _ in 0..9 {
        world.tick();
    }
    assert_eq!(world.state().state, State::Healthy, "nothing completed: nothing is known");
    slow.succeed();
    world.tick();
    // 9,000 in 10 ms; 1,000 in flight drain in 1.1 ms.
    assert_eq!(world.state().state, State::Healthy);
}

#[test]
fn a_clock_that_stands_or_runs_backwards_ends_no_epoch() {
    let world = shrunk(1);
    let before = world.state();
    for now in [world.now(), Nanos(0), Nanos(EPOCH)] {
        world.acquire(10).permit().unwrap().succeed();
        world.controller.tick(now);
        world.controller.tick(now);
    }
    let after = world.state();
    assert_eq!((after.state, after.window), (before.state, before.window));
    world.quarantine();
    world.fail_at_zero();
    world.controller.tick(Nanos::MAX);
    assert_eq!(world.state().state, State::Probing, "the end of time is after the cooldown");
    world.controller.tick(Nanos(5));
    assert_eq!(world.state().state, State::Probing);
}

impl World {
    fn fail_at_zero(&self) {
        let target = admission::Target::Route(self.route, self.generation.get());
        self.controller.async_event(1, target, Nanos(0)).unwrap();
    }
}

#[test]
fn observing_admits_everything_and_computes_the_policy() {
    //~ ADMISSION, Configuration, Compatibility, and Rollback: d594ff87
    let world = World::new(Mode::Observe);
    let permits: Vec<_> = (0..4).map(|_| world.acquire(MAX).permit().unwrap()).collect();
    assert_eq!(world.state().in_flight.0, 4 * MAX);
    assert_eq!(world.state().deferred, 3);
    drop(permits);
    world.quarantine();
    assert_eq!(world.state().state, State::Quarantined);
    assert!(world.acquire(1).permit().is_some());
    assert_eq!(world.state().avoided, 1);
    world.cool_down();
    assert_eq!(world.state().state, State::Probing);
    world.renew();
    world.acquire(1).permit().unwrap().succeed();
    assert_eq!((world.state().state, world.state().window.0), (State::Healthy, MIN));
    assert_eq!(world.acquire(1).permit().unwrap().octets(), Octets(1));
}

#[test]
fn off_bypasses_everything() {
    //~ ADMISSION, Configuration, Compatibility, and Rollback: e375b1d0 6ce55229
    let world = World::new(Mode::Off);
    for octets in [0, 1, u64::MAX] {
        let mut permit = world.acquire(octets).permit().unwrap();
        assert!(permit.is_current());
        permit.post_partially(Octets(3)).unwrap();
        assert_eq!(permit.complete(12, 0, Nanos(1)).observation, None);
    }
    let target = admission::Target::Device(world.device);
    world.controller.async_event(8, target, Nanos(1)).unwrap();
    world.controller.async_event(10, admission::Target::Port(world.device, 1), Nanos(1)).unwrap();
    world.controller.isolate_device(world.device, Nanos(1)).unwrap();
    world.controller.route_feedback(world.route, Feedback::Congestion { rate: None }).unwrap();
    world.tick();
    let (route, device) = (world.state(), world.device_state());
    assert_eq!((route.state, device.state), (State::Healthy, State::Healthy));
    assert_eq!((route.in_flight.0, route.errors, route.window.0), (0, 0, MAX));
    let ticket = world.acquire(5).permit().unwrap().detach();
    world.controller.attach(ticket).succeed();
    assert_eq!(world.controller.poll_notice(), None);
    assert_eq!(world.controller.config(), &config(Mode::Off));
}
