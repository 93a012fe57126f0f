//! What a task can ask about.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use admission::classify::Scope;
use admission::evidence::{Detail, Observation, REMEMBERED, Reason, TaskEvidence, TaskState};
use admission::{Generation, Mode, RouteId};
use common::{TIMEOUT, World};
use wire::units::{Nanos, Octets};

fn seen(reason: Reason, path: u64, at: u64) -> Observation {
    Observation {
        reason,
        scope: Scope::Route,
        path: Some(RouteId::from_raw(path)),
        at: Nanos(at),
        attempt: 0,
        generation: Generation(1),
        window: None,
        in_flight: None,
        cooldown: None,
        vendor_err: None,
        status: None,
    }
}

fn path(raw: u64) -> RouteId {
    RouteId::from_raw(raw)
}

#[test]
fn every_reason_projects_to_its_state() {
    //~ ADMISSION, Caller Observability: 021254a8 9ea5ca70
    //~ ADMISSION, Caller Observability: 9d6e3717 179d2dfa dc197b88 5567e467 0978aaa0 fb346dc1 a2d6311f fd48db26
    use Reason::*;
    for reason in Reason::ALL {
        let wanted = match reason {
            ByteWindow | ReceiverPressure | CongestionFeedback | RouteTimeout => TaskState::Congested,
            PathQuarantined | ProbeFailed | NoUsablePath => TaskState::LongUnavailable,
            LocalConfiguration | RemoteMetadata | DerivedFlush | Fatal => TaskState::Unknown,
        };
        let mut task = TaskEvidence::new(true);
        assert_eq!(task.state(), TaskState::Unknown, "no evidence yet");
        task.record(seen(reason, 1, 1));
        assert_eq!(task.state(), wanted, "{reason:?}");
        task.success(path(1), Generation(1), 0);
        assert_eq!(task.state(), TaskState::Normal);
    }
}

#[test]
fn the_most_severe_unresolved_state_wins() {
    //~ ADMISSION, Caller Observability: d6439f43
    let mut task = TaskEvidence::new(true);
    task.success(path(9), Generation(1), 0);
    assert_eq!(task.state(), TaskState::Normal);
    task.record(seen(Reason::LocalConfiguration, 1, 1));
    assert_eq!(task.state(), TaskState::Unknown, "not normal while something is unresolved");
    task.record(seen(Reason::ByteWindow, 2, 2));
    assert_eq!(task.state(), TaskState::Congested);
    task.record(seen(Reason::PathQuarantined, 3, 3));
    task.record(seen(Reason::ByteWindow, 4, 4));
    assert_eq!(task.state(), TaskState::LongUnavailable);
    assert_eq!(task.detail().observation.unwrap().path, Some(path(3)), "the one that decides, not the last");
    task.recovered(path(3), Generation(1));
    assert_eq!(task.detail().observation.unwrap().path, Some(path(4)), "the most recent of its state");
    task.finished();
    assert_eq!(task.state(), TaskState::Normal);
}

#[test]
fn recovery_of_the_path_resolves_and_the_detail_says_so() {
    //~ ADMISSION, Caller Observability: 32404989 20306036
    //~ ADMISSION, Completion/WC Handling Matrix: e65ff976
    let mut task = TaskEvidence::new(true);
    task.record(seen(Reason::PathQuarantined, 1, 5));
    assert!(!task.detail().resolved);
    task.success(path(2), Generation(1), 0);
    assert_eq!(task.state(), TaskState::LongUnavailable, "another path's success");
    task.success(path(1), Generation(1), 0);
    let detail = task.detail();
    assert_eq!((detail.state, detail.resolved), (TaskState::Normal, true));
    assert_eq!(detail.observation.unwrap().reason, Reason::PathQuarantined);
}

#[test]
fn a_new_attempt_clears_and_late_feedback_does_not_bring_it_back() {
    //~ ADMISSION, Caller Observability: 32404989 7192e85e
    let mut task = TaskEvidence::new(true);
    task.record(seen(Reason::PathQuarantined, 1, 1));
    task.begin_attempt(1);
    assert_eq!(task.state(), TaskState::Unknown, "nothing known of the new attempt");
    task.record(seen(Reason::PathQuarantined, 1, 2));
    task.success(path(1), Generation(1), 0);
    task.begin_attempt(0);
    assert_eq!((task.state(), task.late()), (TaskState::Unknown, 2));
    task.success(path(1), Generation(5), 1);
    let old = Observation { attempt: 1, generation: Generation(4), ..seen(Reason::ProbeFailed, 1, 3) };
    task.record(old);
    assert_eq!((task.state(), task.late()), (TaskState::Normal, 3), "an older generation of that path");
    task.success(path(1), Generation(4), 1);
    assert_eq!(task.late(), 4);
    task.record(Observation { path: Some(path(2)), ..old });
    assert_eq!(task.state(), TaskState::LongUnavailable, "another path's generations are its own");
}

#[test]
fn a_flush_inherits_its_root_cause() {
    //~ ADMISSION, Completion/WC Handling Matrix: 8951dd41
    let mut task = TaskEvidence::new(true);
    task.record(seen(Reason::DerivedFlush, 1, 1));
    assert_eq!(task.detail().observation.unwrap().reason, Reason::DerivedFlush, "no cause is known");
    task.record(seen(Reason::RouteTimeout, 1, 2));
    for at in 3..50 {
        task.record(seen(Reason::DerivedFlush, 1, at));
    }
    let detail = task.detail();
    assert_eq!(
        (detail.state, detail.observation.unwrap().reason),
        (TaskState::Congested, Reason::RouteTimeout)
    );
    task.record(seen(Reason::RemoteMetadata, 2, 50));
    task.record(seen(Reason::DerivedFlush, 2, 51));
    task.recovered(path(1), Generation(1));
    assert_eq!(task.detail().observation.unwrap().reason, Reason::RemoteMetadata);
}

#[test]
fn what_was_seen_has_the_paths_figures_and_the_rest_is_unobserved() {
    //~ ADMISSION, Caller Observability: 20306036 911d1c1b 73ab033e
    let world = World::new(Mode::Enforce);
    let held = world.acquire(100).permit().unwrap();
    let settled = world.fail(TIMEOUT);
    let timeout = settled.observation.unwrap();
    assert_eq!((timeout.reason, timeout.scope), (Reason::RouteTimeout, Scope::Qp));
    assert_eq!((timeout.window, timeout.in_flight), (Some(Octets(common::MAX)), Some(Octets(100))));
    assert_eq!((timeout.cooldown, timeout.vendor_err), (None, Some(0)));
    assert_eq!(timeout.generation, world.generation.get());
    let mut task = TaskEvidence::new(true);
    task.record(timeout);
    assert_eq!(task.state(), TaskState::Congested, "before the quarantine");
    world.fail(TIMEOUT);
    let last = world.fail(TIMEOUT).observation.unwrap();
    assert_eq!(last.reason, Reason::PathQuarantined);
    assert_eq!(last.cooldown, Some(world.controller.config().cooldown));
    task.record(last);
    assert_eq!(task.state(), TaskState::LongUnavailable);
    // Another task of the same path saw nothing: the path's state isn't its state.
    assert_eq!(TaskEvidence::new(true).state(), TaskState::Unknown);
    let deferred = world.controller.observe(world.route, Reason::PathQuarantined, Scope::Route, world.now());
    assert_eq!(deferred.unwrap().vendor_err, None);
    drop(held);
}

#[test]
fn a_query_touches_nothing() {
    //~ ADMISSION, Caller Observability: 46e6f470 20c19864
    let mut task = TaskEvidence::new(true);
    task.record(seen(Reason::ByteWindow, 1, 1));
    let before = format!("{task:?}");
    let answers: Vec<(TaskState, Detail)> = (0..3).map(|_| (task.state(), task.detail())).collect();
    assert_eq!(format!("{task:?}"), before);
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn off_and_other_transports_are_unknown() {
    //~ ADMISSION, Caller Observability: c25ab0c1 b2e27587
    let mut task = TaskEvidence::new(false);
    for reason in Reason::ALL {
        task.record(seen(reason, 1, 1));
    }
    task.success(path(1), Generation(1), 0);
    task.finished();
    task.begin_attempt(4);
    let detail = Detail { state: TaskState::Unknown, observation: None, resolved: false };
    assert_eq!((task.state(), task.detail()), (TaskState::Unknown, detail));
}

#[test]
fn evidence_is_bounded_and_keeps_the_most_severe() {
    //~ ADMISSION, Caller Observability: eac3d757
    let mut task = TaskEvidence::new(true);
    task.record(seen(Reason::PathQuarantined, 1000, 0));
    for at in 1..1000 {
        task.record(seen(Reason::ByteWindow, at, at));
    }
    assert_eq!(task.state(), TaskState::LongUnavailable);
    assert_eq!(task.forgotten(), 1000 - u32::try_from(REMEMBERED).unwrap());
    for at in 2000..2100 {
        task.record(seen(Reason::NoUsablePath, at, at));
        task.record(seen(Reason::LocalConfiguration, at, at));
    }
    assert_eq!(task.state(), TaskState::LongUnavailable);
    assert!(size_of::<TaskEvidence>() < 4096);
}
