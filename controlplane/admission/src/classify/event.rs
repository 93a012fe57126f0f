//! Asynchronous events: `ibv_event_type` to scope and handling.

use super::{Action, Class, Evidence, Object, Scope};
use crate::evidence::Reason;

/// One asynchronous event, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncEvent {
    /// The value of `ibv_event_type`; `None` for the row of unknown values.
    pub code: Option<u32>,
    /// Its name in the verbs interface.
    pub name: &'static str,
    /// What it is.
    pub class: Class,
    /// How far it reaches.
    pub scope: Scope,
    /// What the transport does with the object.
    pub object: Object,
    /// What the controller does.
    pub action: Action,
    /// What the evidence of tasks on the path records.
    pub evidence: Evidence,
}

#[derive(Clone, Copy)]
struct Group(Class, Scope, Object, Action, Evidence);

const fn row(code: u32, name: &'static str, group: Group) -> AsyncEvent {
    let Group(class, scope, object, action, evidence) = group;
    AsyncEvent { code: Some(code), name, class, scope, object, action, evidence }
}

//= ADMISSION, Async Event Handling Matrix: 26662fd8
const QP: Group =
    Group(Class::Fatal, Scope::Qp, Object::RebuildQp, Action::CountPathError, Some(Reason::Fatal));
/// Reported at the scope of a queue pair, so counted as one.
//= ADMISSION, Async Event Handling Matrix: 0f01ffcd
const DEPENDENTS: Group =
    Group(Class::Fatal, Scope::Qp, Object::StopDependents, Action::CountPathError, Some(Reason::Fatal));
//= ADMISSION, Async Event Handling Matrix: ac7e9924
const CQ: Group =
    Group(Class::Fatal, Scope::Cq, Object::StopCq, Action::QuarantineRoute, Some(Reason::PathQuarantined));
//= ADMISSION, Async Event Handling Matrix: 67a3711b
const MIGRATION: Group =
    Group(Class::Fatal, Scope::Route, Object::LeavePath, Action::CountPathError, Some(Reason::Fatal));
//= ADMISSION, Async Event Handling Matrix: e4c3d8f4
const PORT: Group = Group(
    Class::Fatal,
    Scope::Port,
    Object::LeavePort,
    Action::QuarantinePort,
    Some(Reason::PathQuarantined),
);
//= ADMISSION, Async Event Handling Matrix: 2d919185
const DEVICE: Group = Group(
    Class::Fatal,
    Scope::Device,
    Object::LeaveDevice,
    Action::QuarantineDevice,
    Some(Reason::PathQuarantined),
);
//= ADMISSION, Async Event Handling Matrix: f6a62e94
const RECOVERY: Group = Group(Class::NoFailure, Scope::Port, Object::Keep, Action::PortRecovered, None);
//= ADMISSION, Async Event Handling Matrix: f6a62e94 153a1050
const NOTHING: Group = Group(Class::NoFailure, Scope::None, Object::Keep, Action::Nothing, None);

/// Every event that verbs define, in their order.
pub const EVENTS: [AsyncEvent; 20] = [
    row(0, "IBV_EVENT_CQ_ERR", CQ),
    row(1, "IBV_EVENT_QP_FATAL", QP),
    row(2, "IBV_EVENT_QP_REQ_ERR", QP),
    row(3, "IBV_EVENT_QP_ACCESS_ERR", QP),
    row(4, "IBV_EVENT_COMM_EST", NOTHING),
    row(5, "IBV_EVENT_SQ_DRAINED", NOTHING),
    row(6, "IBV_EVENT_PATH_MIG", NOTHING),
    row(7, "IBV_EVENT_PATH_MIG_ERR", MIGRATION),
    row(8, "IBV_EVENT_DEVICE_FATAL", DEVICE),
    row(9, "IBV_EVENT_PORT_ACTIVE", RECOVERY),
    row(10, "IBV_EVENT_PORT_ERR", PORT),
    row(11, "IBV_EVENT_LID_CHANGE", NOTHING),
    row(12, "IBV_EVENT_PKEY_CHANGE", NOTHING),
    row(13, "IBV_EVENT_SM_CHANGE", NOTHING),
    row(14, "IBV_EVENT_SRQ_ERR", DEPENDENTS),
    row(15, "IBV_EVENT_SRQ_LIMIT_REACHED", NOTHING),
    row(16, "IBV_EVENT_QP_LAST_WQE_REACHED", NOTHING),
    row(17, "IBV_EVENT_CLIENT_REREGISTER", NOTHING),
    row(18, "IBV_EVENT_GID_CHANGE", NOTHING),
    row(19, "IBV_EVENT_WQ_FATAL", DEPENDENTS),
];

/// Any other event: the owner of events handles it, congestion state stays.
pub const UNKNOWN_EVENT: AsyncEvent = AsyncEvent { code: None, ..row(0, "unknown event", NOTHING) };

/// What event `code` means.
pub fn event(code: u32) -> &'static AsyncEvent {
    EVENTS.get(code as usize).unwrap_or(&UNKNOWN_EVENT)
}
