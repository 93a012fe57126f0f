//! The path's states: errors, quarantine, cooldown, probe, generations.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use admission::classify::Signal;
use admission::state::{Event, State, TRANSITIONS, diagram, next};
use admission::{AvoidReason, DeferReason, Mode, Verdict};
use common::{CQ_ERR, EPOCH, FLUSH, MAX, MIN, QP_FATAL, RNR, TIMEOUT, World, avoids, config};
use wire::units::{Nanos, Octets};

#[test]
fn the_table_has_each_pair_once_and_every_state_is_reached_and_left() {
    use Event::{
        CooldownExpired, FatalEvent, HandOver, HealthyEpochs, PathError, ProbeFailed, ProbeSucceeded,
        Success, SuccessUnderPressure, SustainedPressure, ThresholdReached,
    };
    use State::{Congested, Healthy, Probing, Quarantined, Suspect};
    for (index, row) in TRANSITIONS.iter().enumerate() {
        let again = TRANSITIONS[..index].iter().any(|other| (other.from, other.on) == (row.from, row.on));
        assert!(!again, "{row:?}");
        assert_eq!(next(row.from, row.on), Some(row.to));
    }
    for state in State::ALL {
        assert!(TRANSITIONS.iter().any(|row| row.to == state && row.from != state), "{state}");
        assert!(TRANSITIONS.iter().any(|row| row.from == state && row.to != state), "{state}");
    }
    for event in Event::ALL {
        assert!(TRANSITIONS.iter().any(|row| row.on == event), "{event:?}");
    }
    // The arrows that the document draws.
    //~ ADMISSION, Path State Machine: 41ebe573 cf579d6f 0cc1c174 b46c4d8c 5b39e866 f13bbe97
    let drawn = [
        (Healthy, SustainedPressure, Congested),
        (Congested, HealthyEpochs, Healthy),
        (Healthy, PathError, Suspect),
        (Congested, PathError, Suspect),
        (Suspect, Success, Healthy),
        (Suspect, SuccessUnderPressure, Congested),
        (Suspect, ThresholdReached, Quarantined),
        (Quarantined, CooldownExpired, Probing),
        (Probing, ProbeSucceeded, Healthy),
        (Probing, ProbeFailed, Quarantined),
    ];
    for (from, on, to) in drawn {
        assert_eq!(next(from, on), Some(to));
    }
    // No way out of a quarantine but the cooldown or another path; no way into it but by evidence.
    for event in Event::ALL {
        let out = next(Quarantined, event).filter(|to| *to != Quarantined);
        assert_eq!(out.is_some(), matches!(event, CooldownExpired | HandOver), "{event:?}");
        let into = State::ALL.iter().any(|state| next(*state, event) == Some(Quarantined));
        assert_eq!(into, matches!(event, ThresholdReached | FatalEvent | ProbeFailed), "{event:?}");
    }
    assert!(diagram().contains("QUARANTINED --> PROBING: cooldown expired"));
}

#[test]
fn errors_below_the_threshold_make_a_route_suspect_and_at_it_quarantine_it() {
    //~ ADMISSION, Path State Machine: dd3c3cc2 6d24a07b
    //~ ADMISSION, Completion/WC Handling Matrix: 24b811df c6013908
    //~ ADMISSION, Failure Model, State Machine, and Recovery: 184aa766 d709c7ae
    let world = World::new(Mode::Enforce);
    let (other, other_generation) = world.open(world.device, 1, 2);
    for errors in 1..=2 {
        world.fail(TIMEOUT);
        assert_eq!((world.state().state, world.state().errors), (State::Suspect, errors));
        assert!(world.acquire(1).permit().is_some(), "suspect still posts");
    }
    world.fail(19);
    assert_eq!(world.state().state, State::Quarantined);
    assert_eq!(avoids(&world.acquire(1)), Some(AvoidReason::RouteQuarantined));
    assert_eq!(world.state().avoided, 1);
    assert_eq!(world.state().errors, 0, "avoidance is no new failure");
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: f560e7cd
    assert_eq!(world.device_state().state, State::Healthy, "the scope doesn't grow");
    assert_eq!(world.controller.route_snapshot(other).unwrap().state, State::Healthy);
    assert!(world.controller.try_acquire(other, other_generation, Octets(1)).permit().is_some());
}

#[test]
fn a_threshold_of_one_quarantines_at_once() {
    let world = World::with(admission::Config { hard_error_threshold: 1, ..config(Mode::Enforce) });
    world.fail(TIMEOUT);
    assert_eq!(world.state().state, State::Quarantined);
}

#[test]
fn a_suspect_window_does_not_grow_and_a_good_epoch_clears_it() {
    //~ ADMISSION, Path State Machine: dd3c3cc2
    let world = World::new(Mode::Enforce);
    for _ in 0..4 {
        world.fail(RNR);
        world.tick();
    }
    let window = world.state().window;
    assert_eq!(window.0, MAX / 4);
    for _ in 0..3 {
        world.good_epoch(10);
    }
    assert_eq!(world.state().state, State::Healthy);
    world.fail(TIMEOUT);
    world.acquire(10).permit().unwrap().succeed();
    world.tick();
    assert_eq!((world.state().state, world.state().window), (State::Suspect, window), "an error in it");
    world.tick();
    assert_eq!(world.state().state, State::Suspect, "idle proves nothing");
    world.good_epoch(10);
    assert_eq!(
        (world.state().state, world.state().window, world.state().errors),
        (State::Healthy, window, 0)
    );
    world.fail(TIMEOUT);
    world.tick();
    world.fail(RNR);
    world.good_epoch(10);
    assert_eq!(world.state().state, State::Congested, "success under pressure");
}

#[test]
fn recovery_takes_the_cooldown_and_a_probe_on_a_new_generation() {
    //~ ADMISSION, Path State Machine: 81465143 6d24a07b
    //~ ADMISSION, Recovery Escalation: 9c4a1a69 9ab6379b c00a07dc 8a1f5af6 e256ce8c c994b486 7335f415
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: 73115475
    let world = World::new(Mode::Enforce);
    world.quarantine();
    assert_eq!(world.state().cooldown, Some(Nanos(10 * EPOCH)));
    world.wait(10 * EPOCH - 1);
    world.controller.tick(world.now());
    assert_eq!(world.state().state, State::Quarantined, "one nanosecond early");
    world.wait(1);
    world.controller.tick(world.now());
    assert_eq!((world.state().state, world.state().cooldown), (State::Probing, None));
    assert_eq!(avoids(&world.acquire(1)), Some(AvoidReason::RouteQuarantined), "not on the old generation");
    world.renew();
    assert_eq!(world.state().window.0, 400);
    let probe = world.acquire(400).permit().unwrap();
    assert!(matches!(world.acquire(1), Verdict::Defer(DeferReason::RouteWindow)), "the probe is bounded");
    probe.succeed();
    assert_eq!((world.state().state, world.state().window.0), (State::Healthy, MIN));
}

#[test]
fn an_oversize_slice_may_probe_alone() {
    //~ ADMISSION, Caller Observability: 7b768986 3ae12ef7 67651ac4
    let world = World::new(Mode::Enforce);
    world.quarantine();
    world.cool_down();
    world.renew();
    let probe = world.acquire(MAX * 2).permit().unwrap();
    assert!(matches!(world.acquire(1), Verdict::Defer(_)));
    probe.succeed();
    assert_eq!(world.state().state, State::Healthy);
}

#[test]
fn a_failed_probe_starts_a_new_cooldown() {
    //~ ADMISSION, Path State Machine: 81465143
    for status in [TIMEOUT, 20, 19, 21, 99] {
        let world = World::new(Mode::Enforce);
        world.quarantine();
        world.renew();
        world.cool_down();
        let settled = world.fail(status);
        assert_eq!(settled.observation.unwrap().reason, admission::evidence::Reason::ProbeFailed);
        assert_eq!(
            (world.state().state, world.state().cooldown),
            (State::Quarantined, Some(Nanos(10 * EPOCH)))
        );
        world.cool_down();
        assert_eq!(world.state().state, State::Probing);
        assert!(avoids(&world.acquire(1)).is_some(), "the generation that failed doesn't probe again");
        world.renew();
        world.acquire(1).permit().unwrap().succeed();
        assert_eq!(world.state().state, State::Healthy);
    }
}

#[test]
fn pressure_local_faults_and_stale_metadata_neither_fail_nor_prove_a_probe() {
    //~ ADMISSION, Completion/WC Handling Matrix: 6f1d5e19 ce1b139b ea69da3b
    for status in [RNR, 1, 2, 9, FLUSH] {
        let world = World::new(Mode::Enforce);
        world.quarantine();
        world.renew();
        world.cool_down();
        world.fail(status);
        assert_eq!(world.state().state, State::Probing, "status {status}");
        if status == RNR {
            world.acquire(1).permit().unwrap().succeed();
            assert_eq!((world.state().state, world.state().window.0), (State::Congested, MIN));
        }
    }
}

#[test]
fn a_flush_burst_and_local_faults_count_nothing() {
    //~ ADMISSION, Completion/WC Handling Matrix: 8951dd41 6f1d5e19 40fd246f ea69da3b ce1b139b
    let world = World::new(Mode::Enforce);
    world.fail(TIMEOUT);
    for _ in 0..100 {
        for status in [FLUSH, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 14, 15, 16, 17, 18] {
            world.fail(status);
        }
    }
    let state = world.state();
    assert_eq!((state.state, state.errors, state.window.0, state.in_flight.0), (State::Suspect, 1, MAX, 0));
}

#[test]
fn late_feedback_only_settles_its_account() {
    //~ ADMISSION, Path State Machine: c0091571 10c024df
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: 340a97e8
    let world = World::new(Mode::Enforce);
    let old: Vec<_> = (0..10).map(|_| world.acquire(100).permit().unwrap()).collect();
    let old_target = world.target();
    world.renew();
    assert_eq!(world.state().in_flight.0, 1000);
    for (index, permit) in old.into_iter().enumerate() {
        assert!(!permit.is_current());
        if index < 5 {
            let settled = permit.complete(TIMEOUT, 7, world.now());
            assert!(settled.stale);
            assert_eq!(settled.observation, None);
        } else {
            permit.succeed();
        }
    }
    world.controller.async_event(QP_FATAL, old_target, world.now()).unwrap();
    world.controller.async_event(CQ_ERR, old_target, world.now()).unwrap();
    world.controller.signal(Signal::Deadline, old_target, world.now()).unwrap();
    world.tick();
    let state = world.state();
    assert_eq!((state.state, state.errors, state.in_flight.0, state.completed.0), (State::Healthy, 0, 0, 0));
    // A late success proves no probe.
    let late = world.acquire(1).permit().unwrap();
    world.quarantine();
    world.cool_down();
    world.renew();
    late.succeed();
    assert_eq!(world.state().state, State::Probing);
}

#[test]
fn a_generation_that_changes_after_the_reservation_rolls_it_back() {
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: eaab2820
    let world = World::new(Mode::Enforce);
    let permit = world.acquire(100).permit().unwrap();
    assert!(permit.is_current());
    let before = world.generation.get();
    world.renew();
    assert!(!permit.is_current());
    permit.cancel();
    assert_eq!((world.state().in_flight.0, world.device_state().in_flight.0), (0, 0));
    let verdict = world.controller.try_acquire(world.route, before, Octets(1));
    assert!(matches!(verdict, Verdict::Defer(DeferReason::GenerationChanged)));
    let permit = world.acquire(1).permit().unwrap();
    world.quarantine();
    assert!(!permit.is_current(), "quarantined between reservation and post");
}
