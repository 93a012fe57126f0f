//! Completions: `ibv_wc_status` to class, scope and handling.

use super::{Action, Class, Evidence, Object, Scope};
use crate::evidence::Reason;

/// One status of a work completion, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The value of `ibv_wc_status`; `None` for the row of unknown values.
    pub status: Option<u32>,
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
    /// What the task's evidence records.
    pub evidence: Evidence,
}

/// A group of statuses that the document treats alike.
#[derive(Clone, Copy)]
struct Group(Class, Scope, Object, Action, Evidence);

const fn row(status: u32, name: &'static str, group: Group) -> Completion {
    let Group(class, scope, object, action, evidence) = group;
    Completion { status: Some(status), name, class, scope, object, action, evidence }
}

//= ADMISSION, Completion/WC Handling Matrix: e65ff976
const SUCCESS: Group = Group(Class::Success, Scope::Operation, Object::Keep, Action::RecordSuccess, None);
//= ADMISSION, Completion/WC Handling Matrix: 0e68a7e0
const RECEIVER: Group = Group(
    Class::ReceiverPressure,
    Scope::Qp,
    Object::RebuildQp,
    Action::CountRoutePressure,
    Some(Reason::ReceiverPressure),
);
//= ADMISSION, Completion/WC Handling Matrix: 24b811df
const TIMEOUT: Group = Group(
    Class::RouteTimeout,
    Scope::Qp,
    Object::RebuildQp,
    Action::CountPathError,
    Some(Reason::RouteTimeout),
);
//= ADMISSION, Completion/WC Handling Matrix: ea69da3b
const LOCAL_OPERATION: Group = Group(
    Class::LocalConfiguration,
    Scope::Operation,
    Object::FailOperation,
    Action::Nothing,
    Some(Reason::LocalConfiguration),
);
//= ADMISSION, Completion/WC Handling Matrix: 40fd246f
const LOCAL_QP: Group = Group(
    Class::LocalConfiguration,
    Scope::Qp,
    Object::RebuildQp,
    Action::Nothing,
    Some(Reason::LocalConfiguration),
);
//= ADMISSION, Completion/WC Handling Matrix: ce1b139b
const REMOTE: Group = Group(
    Class::RemoteMetadata,
    Scope::Operation,
    Object::RefreshMetadata,
    Action::Nothing,
    Some(Reason::RemoteMetadata),
);
//= ADMISSION, Completion/WC Handling Matrix: 8951dd41
const FLUSH: Group = Group(
    Class::DerivedFlush,
    Scope::Qp,
    Object::FinishTeardown,
    Action::Nothing,
    Some(Reason::DerivedFlush),
);
//= ADMISSION, Completion/WC Handling Matrix: c6013908 9ee71688
const FATAL: Group =
    Group(Class::Fatal, Scope::Qp, Object::RebuildQp, Action::CountPathError, Some(Reason::Fatal));

/// Every status that verbs define, in their order.
//= ADMISSION, Completion/WC Handling Matrix: 6f1d5e19
pub const COMPLETIONS: [Completion; 24] = [
    row(0, "IBV_WC_SUCCESS", SUCCESS),
    row(1, "IBV_WC_LOC_LEN_ERR", LOCAL_OPERATION),
    row(2, "IBV_WC_LOC_QP_OP_ERR", LOCAL_QP),
    row(3, "IBV_WC_LOC_EEC_OP_ERR", LOCAL_QP),
    row(4, "IBV_WC_LOC_PROT_ERR", LOCAL_OPERATION),
    row(5, "IBV_WC_WR_FLUSH_ERR", FLUSH),
    row(6, "IBV_WC_MW_BIND_ERR", LOCAL_OPERATION),
    row(7, "IBV_WC_BAD_RESP_ERR", REMOTE),
    row(8, "IBV_WC_LOC_ACCESS_ERR", LOCAL_OPERATION),
    row(9, "IBV_WC_REM_INV_REQ_ERR", REMOTE),
    row(10, "IBV_WC_REM_ACCESS_ERR", REMOTE),
    row(11, "IBV_WC_REM_OP_ERR", REMOTE),
    row(12, "IBV_WC_RETRY_EXC_ERR", TIMEOUT),
    row(13, "IBV_WC_RNR_RETRY_EXC_ERR", RECEIVER),
    row(14, "IBV_WC_LOC_RDD_VIOL_ERR", LOCAL_QP),
    row(15, "IBV_WC_REM_INV_RD_REQ_ERR", REMOTE),
    row(16, "IBV_WC_REM_ABORT_ERR", REMOTE),
    row(17, "IBV_WC_INV_EECN_ERR", LOCAL_QP),
    row(18, "IBV_WC_INV_EEC_STATE_ERR", LOCAL_QP),
    row(19, "IBV_WC_FATAL_ERR", FATAL),
    row(20, "IBV_WC_RESP_TIMEOUT_ERR", TIMEOUT),
    row(21, "IBV_WC_GENERAL_ERR", FATAL),
    row(22, "IBV_WC_TM_ERR", FATAL),
    row(23, "IBV_WC_TM_RNDV_INCOMPLETE", FATAL),
];

/// Any other status: fails closed, at the least scope.
pub const UNKNOWN_COMPLETION: Completion = Completion { status: None, ..row(0, "unknown status", FATAL) };

/// Success while drain time or backlog keeps rising; not a status, found by measuring at the end of an epoch.
//= ADMISSION, Completion/WC Handling Matrix: addb35b9
pub const PRESSURED_SUCCESS: Completion = Completion {
    status: None,
    name: "success under pressure",
    class: Class::Congestion,
    scope: Scope::Route,
    object: Object::Keep,
    action: Action::CountPressure,
    evidence: Some(Reason::CongestionFeedback),
};

/// What `status` means.
pub fn completion(status: u32) -> &'static Completion {
    COMPLETIONS.get(status as usize).unwrap_or(&UNKNOWN_COMPLETION)
}
