//! The document's matrices, row by row: each table here is written from the document's text, not from the code.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use admission::classify::control::PermitFate;
use admission::classify::recovery::Owner;
use admission::classify::{
    Action, COMPLETIONS, Class, CmEvent, ESCALATION, EVENTS, Object, PRESSURED_SUCCESS, SCOPES, SIGNALS,
    Scope, Signal, Step, completion, event,
};
use admission::evidence::{Reason, TaskState};
use admission::state::State;
use admission::{Mode, Target};
use common::World;

/// What a completion of this class does to a healthy route with a threshold of three.
fn effect(world: &World) -> (State, u32) {
    (world.state().state, world.state().errors)
}

#[test]
fn completions_row_by_row() {
    //~ ADMISSION, Completion/WC Handling Matrix: e65ff976 addb35b9 0e68a7e0 24b811df ea69da3b 40fd246f ce1b139b
    //~ ADMISSION, Completion/WC Handling Matrix: 8951dd41 c6013908 9ee71688
    type Row = (&'static [u32], Class, Scope, Object, (State, u32), Option<Reason>);
    let rows: [Row; 8] = [
        (&[0], Class::Success, Scope::Operation, Object::Keep, (State::Healthy, 0), None),
        (
            &[13],
            Class::ReceiverPressure,
            Scope::Qp,
            Object::RebuildQp,
            (State::Healthy, 0),
            Some(Reason::ReceiverPressure),
        ),
        (
            &[12, 20],
            Class::RouteTimeout,
            Scope::Qp,
            Object::RebuildQp,
            (State::Suspect, 1),
            Some(Reason::RouteTimeout),
        ),
        (
            &[1, 4, 6, 8],
            Class::LocalConfiguration,
            Scope::Operation,
            Object::FailOperation,
            (State::Healthy, 0),
            Some(Reason::LocalConfiguration),
        ),
        (
            &[2, 3, 14, 17, 18],
            Class::LocalConfiguration,
            Scope::Qp,
            Object::RebuildQp,
            (State::Healthy, 0),
            Some(Reason::LocalConfiguration),
        ),
        (
            &[7, 9, 10, 11, 15, 16],
            Class::RemoteMetadata,
            Scope::Operation,
            Object::RefreshMetadata,
            (State::Healthy, 0),
            Some(Reason::RemoteMetadata),
        ),
        (
            &[5],
            Class::DerivedFlush,
            Scope::Qp,
            Object::FinishTeardown,
            (State::Healthy, 0),
            Some(Reason::DerivedFlush),
        ),
        (
            &[19, 21, 22, 23, 24, 25, 1000, u32::MAX],
            Class::Fatal,
            Scope::Qp,
            Object::RebuildQp,
            (State::Suspect, 1),
            Some(Reason::Fatal),
        ),
    ];
    let mut seen = 0;
    for (codes, class, scope, object, after, evidence) in rows {
        for &code in codes {
            let row = completion(code);
            assert_eq!(
                (row.class, row.scope, row.object, row.evidence),
                (class, scope, object, evidence),
                "{code}"
            );
            let world = World::new(Mode::Enforce);
            let settled = world.fail(code);
            assert_eq!(settled.row, row);
            assert_eq!(effect(&world), after, "{code}");
            assert_eq!(world.state().in_flight.0, 0, "{code}: the permit is released");
            assert_eq!(world.state().window.0, common::MAX, "{code}: no window shrinks at once");
            assert_eq!(settled.observation.map(|seen| seen.reason), evidence);
            seen += usize::from(code < 24);
        }
    }
    assert_eq!(seen, COMPLETIONS.len(), "every status of verbs");
    assert_eq!((PRESSURED_SUCCESS.class, PRESSURED_SUCCESS.object), (Class::Congestion, Object::Keep));
}

#[test]
fn statuses_and_events_stand_at_their_numbers_with_the_names_of_verbs() {
    for (index, row) in COMPLETIONS.iter().enumerate() {
        assert_eq!(row.status.map(|status| status as usize), Some(index));
        assert!(row.name.starts_with("IBV_WC_"), "{}", row.name);
    }
    for (index, row) in EVENTS.iter().enumerate() {
        assert_eq!(row.code.map(|code| code as usize), Some(index));
        assert!(row.name.starts_with("IBV_EVENT_"), "{}", row.name);
    }
    assert_eq!(completion(24).status, None);
    assert_eq!(event(20).code, None);
}

#[test]
fn the_vendors_error_is_kept_and_changes_nothing() {
    //~ ADMISSION, Completion/WC Handling Matrix: 4aa61c8c dd08c0f7 9ee71688
    for vendor_err in [0, 1, 0xdead, u32::MAX] {
        let world = World::new(Mode::Enforce);
        let permit = world.acquire(1).permit().unwrap();
        let settled = permit.complete(77, vendor_err, world.now());
        let seen = settled.observation.unwrap();
        assert_eq!((seen.vendor_err, seen.status, seen.scope), (Some(vendor_err), Some(77), Scope::Qp));
        assert_eq!(effect(&world), (State::Suspect, 1));
        assert_eq!(world.device_state().state, State::Healthy);
    }
}

#[test]
fn events_row_by_row() {
    //~ ADMISSION, Async Event Handling Matrix: 26662fd8 0f01ffcd ac7e9924 67a3711b e4c3d8f4 2d919185 f6a62e94 153a1050
    type Row = (&'static [u32], Scope, Object, (State, u32), State);
    const QUIET: [u32; 14] = [4, 5, 6, 11, 12, 13, 15, 16, 17, 18, 20, 21, 99, u32::MAX];
    let rows: [Row; 7] = [
        (&[1, 2, 3], Scope::Qp, Object::RebuildQp, (State::Suspect, 1), State::Healthy),
        (&[19, 14], Scope::Qp, Object::StopDependents, (State::Suspect, 1), State::Healthy),
        (&[0], Scope::Cq, Object::StopCq, (State::Quarantined, 0), State::Healthy),
        (&[7], Scope::Route, Object::LeavePath, (State::Suspect, 1), State::Healthy),
        (&[10], Scope::Port, Object::LeavePort, (State::Quarantined, 0), State::Healthy),
        (&[8], Scope::Device, Object::LeaveDevice, (State::Healthy, 0), State::Quarantined),
        (&[9], Scope::Port, Object::Keep, (State::Healthy, 0), State::Healthy),
    ];
    let quiet: Row = (&QUIET, Scope::None, Object::Keep, (State::Healthy, 0), State::Healthy);
    let mut seen = 0;
    for (codes, scope, object, route, device) in rows.into_iter().chain([quiet]) {
        for &code in codes {
            let world = World::new(Mode::Enforce);
            let target = match scope {
                Scope::Port => Target::Port(world.device, 1),
                Scope::Device => Target::Device(world.device),
                _ => Target::Route(world.route, world.generation.get()),
            };
            let row = world.controller.async_event(code, target, world.now()).unwrap();
            assert_eq!((row.scope, row.object), (scope, object), "{code}");
            assert_eq!(effect(&world), route, "{code}");
            assert_eq!(world.device_state().state, device, "{code}");
            seen += usize::from(code < 20);
        }
    }
    assert_eq!(seen, EVENTS.len(), "every event of verbs");
}

#[test]
fn signals_row_by_row() {
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: 3bb02f16 f560e7cd eaab2820 a6193e92 8ba39499 1b6ed535 7d7f8901
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: b30cb42f cf5bc335 340a97e8 95541913 c46f5753 e7279ea1
    //~ ADMISSION, Caller Observability: 0978aaa0 fb346dc1 a2d6311f
    use PermitFate::{ReleaseUnposted, RolledBack, SettleOnce, Untouched};
    use TaskState::{Congested, LongUnavailable, Unknown};
    let quiet = (State::Healthy, 0);
    let rows = [
        (Signal::Deferred, RolledBack, Object::KeepQueued, 0, Congested, quiet),
        (Signal::Avoided, RolledBack, Object::LeavePath, 0, LongUnavailable, quiet),
        (Signal::GenerationChanged, RolledBack, Object::ResolveAgain, 0, Unknown, quiet),
        (Signal::PostRejected, ReleaseUnposted, Object::HandleError, 0, Unknown, quiet),
        (Signal::Deadline, Untouched, Object::RebuildQp, 0, Congested, (State::Suspect, 1)),
        (Signal::DeadlineWhileStalled, Untouched, Object::Keep, 0, Unknown, quiet),
        (Signal::SegmentQueryFailed, Untouched, Object::RetryOnce, 1, Unknown, quiet),
        (Signal::MutatingCallFailed, Untouched, Object::ReportError, 0, Unknown, quiet),
        (Signal::StaleMetadata, Untouched, Object::RefreshMetadata, 0, Unknown, quiet),
        (Signal::Teardown, SettleOnce, Object::FinishTeardown, 0, Unknown, quiet),
        (Signal::AllRailsUnavailable, Untouched, Object::FailOver, 0, LongUnavailable, quiet),
        (Signal::AllRailsUnavailableUnexplained, Untouched, Object::FailOver, 0, Unknown, quiet),
        (Signal::ConnectionLost, Untouched, Object::RebuildQp, 0, Unknown, (State::Suspect, 1)),
        (Signal::DeviceRemoved, Untouched, Object::LeaveDevice, 0, LongUnavailable, quiet),
    ];
    assert_eq!(rows.len(), SIGNALS.len());
    for (index, (signal, permit, object, retries, state, after)) in rows.into_iter().enumerate() {
        let row = signal.row();
        assert_eq!((row.signal, Signal::from_code(u8::try_from(index).unwrap())), (signal, Some(signal)));
        assert_eq!((row.permit, row.object, row.retries), (permit, object, retries), "{signal:?}");
        assert_eq!(row.evidence.map_or(Unknown, Reason::state), state, "{signal:?}");
        let world = World::new(Mode::Enforce);
        let held = world.acquire(10).permit().unwrap();
        let target = match signal {
            Signal::DeviceRemoved => Target::Device(world.device),
            _ => Target::Route(world.route, world.generation.get()),
        };
        world.controller.signal(signal, target, world.now()).unwrap();
        world.tick();
        assert_eq!(effect(&world), after, "{signal:?}");
        assert_eq!(world.state().in_flight.0, 10, "{signal:?}: permits are settled by their owners");
        let device = if signal == Signal::DeviceRemoved { State::Quarantined } else { State::Healthy };
        assert_eq!(world.device_state().state, device, "{signal:?}");
        drop(held);
    }
    assert_eq!(Signal::from_code(14), None);
}

#[test]
fn events_of_the_connection_manager() {
    //~ ADMISSION, Non-WC and Control-Plane Handling Matrix: c46f5753 e7279ea1
    for code in 0..32 {
        let signal = CmEvent::from_code(code).map(CmEvent::signal);
        let wanted = match code {
            7 | 10 => Some(Signal::ConnectionLost),
            11 => Some(Signal::DeviceRemoved),
            _ => None,
        };
        assert_eq!(signal, wanted, "{code}");
    }
}

#[test]
fn no_row_reaches_further_than_its_scope_allows() {
    //~ ADMISSION, Failure Scope: b025be33 87edce8b ece450dc 70c4bce6 710f5207 79b59e56 160cf95e 3ea9e90c
    let quarantines =
        |scope: Scope| SCOPES.iter().find(|row| row.scope == scope).and_then(|row| row.quarantines);
    let wanted = [
        (Scope::Operation, None),
        (Scope::Qp, None),
        (Scope::Cq, Some(Scope::Route)),
        (Scope::Route, Some(Scope::Route)),
        (Scope::Port, Some(Scope::Port)),
        (Scope::Device, Some(Scope::Device)),
    ];
    for (scope, wanted) in wanted {
        assert_eq!(quarantines(scope), wanted, "{scope:?}");
    }
    let completions = COMPLETIONS.iter().map(|row| (row.name, row.scope, row.action));
    let events = EVENTS.iter().map(|row| (row.name, row.scope, row.action));
    let signals = SIGNALS.iter().map(|row| ("signal", row.scope, row.action));
    for (name, scope, action) in completions.chain(events).chain(signals) {
        let reaches = match action {
            Action::QuarantineRoute => Some(Scope::Route),
            Action::QuarantinePort => Some(Scope::Port),
            Action::QuarantineDevice => Some(Scope::Device),
            _ => None,
        };
        if reaches.is_some() {
            assert_eq!(reaches, quarantines(scope), "{name}");
        }
    }
    for row in COMPLETIONS {
        assert!(row.scope <= Scope::Qp, "{}: a completion is about an operation or a queue pair", row.name);
    }
}

#[test]
fn the_ladder_leads_from_the_operation_to_the_control_plane() {
    //~ ADMISSION, Recovery Escalation: 9c4a1a69 9ab6379b c00a07dc 8a1f5af6 e256ce8c c994b486 7335f415 d7d01a32 de6c33a3
    let steps: Vec<_> = ESCALATION.iter().map(|row| row.step).collect();
    let wanted = [
        Step::Settle,
        Step::Suspect,
        Step::Renew,
        Step::Probe,
        Step::Recover,
        Step::Quarantine,
        Step::IsolateDevice,
        Step::NotifyPeer,
    ];
    assert_eq!(steps, wanted);
    for (index, row) in ESCALATION.iter().enumerate() {
        for next in row.then {
            let place = steps.iter().position(|step| step == next).unwrap();
            let back = row.step == Step::Quarantine && *next == Step::Renew;
            assert!(place > index || back, "{:?} leads back to {next:?}", row.step);
        }
        let beyond = matches!(row.step, Step::IsolateDevice | Step::NotifyPeer);
        assert!(!(beyond && row.owner == Owner::Controller), "{:?}: the controller's scope", row.step);
    }
}
