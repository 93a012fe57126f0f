//! The document's matrices as data: what each completion status, asynchronous event and signal of the control plane
//! means, how far it reaches, and what the controller and the owner of the object do.

pub mod completion;
pub mod control;
pub mod event;
pub mod recovery;
pub mod scope;

pub use completion::{COMPLETIONS, Completion, PRESSURED_SUCCESS, UNKNOWN_COMPLETION, completion};
pub use control::{CmEvent, SIGNALS, Signal, SignalRow};
pub use event::{AsyncEvent, EVENTS, UNKNOWN_EVENT, event};
pub use recovery::{ESCALATION, Escalation, Step};
pub use scope::{SCOPES, Scope, ScopeRow};

use crate::evidence::Reason;

/// What a failure is, whatever reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// The operation completed.
    Success = 0,
    /// Transfers succeed and queue up.
    Congestion = 1,
    /// The receiver has no buffers.
    ReceiverPressure = 2,
    /// The path didn't answer in time.
    RouteTimeout = 3,
    /// The local program or its registration is wrong.
    LocalConfiguration = 4,
    /// Address, key, permission or endpoint of the peer are out of date.
    RemoteMetadata = 5,
    /// Consequence of an earlier failure or a teardown.
    DerivedFlush = 6,
    /// The object can't be used any more.
    Fatal = 7,
    /// Nothing failed.
    NoFailure = 8,
}

//= ADMISSION, Failure Model, State Machine, and Recovery: d709c7ae
/// What the controller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Action {
    /// Nothing: neither window nor error count changes.
    Nothing = 0,
    /// Counts completed octets.
    RecordSuccess = 1,
    /// Counts pressure for route and device, each by its own measure.
    CountPressure = 2,
    /// Counts pressure on the receiving route alone.
    CountRoutePressure = 3,
    /// Counts a timeout or hard error of the route.
    CountPathError = 4,
    /// Counts a timeout of the route at the end of the epoch, unless the poller stalled in it.
    CountDeadline = 5,
    /// Excuses the software deadlines of this epoch.
    ExcuseDeadlines = 6,
    /// Quarantines the route at once.
    QuarantineRoute = 7,
    /// Quarantines the routes on the port at once.
    QuarantinePort = 8,
    /// Quarantines the device at once.
    QuarantineDevice = 9,
    /// The port may be probed after the cooldown.
    PortRecovered = 10,
}

/// What the owner of the object does with it: the transport, never the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Object {
    /// Goes on using it.
    Keep = 0,
    /// Reports the operation as failed; the queue pair stays.
    FailOperation = 1,
    /// Retires the queue pair and makes a new one.
    RebuildQp = 2,
    /// Refreshes address, key, permissions and endpoint before retrying.
    RefreshMetadata = 3,
    /// Finishes the teardown.
    FinishTeardown = 4,
    /// Stops the work queue or shared receive queue and its dependent queue pairs.
    StopDependents = 5,
    /// Stops every queue pair on the completion queue.
    StopCq = 6,
    /// Stops using the path; the owner of fail-over selects another.
    LeavePath = 7,
    /// Stops using the port.
    LeavePort = 8,
    /// Stops using the device.
    LeaveDevice = 9,
    /// Keeps the slice in its queue.
    KeepQueued = 10,
    /// Resolves endpoint and path again.
    ResolveAgain = 11,
    /// Handles the returned error as it always did.
    HandleError = 12,
    /// Drops the connection and tries once more.
    RetryOnce = 13,
    /// Reports the error; the call isn't repeated.
    ReportError = 14,
    /// Hands over to the transport's own fail-over.
    FailOver = 15,
}

/// Which evidence a row leaves on the task, if any.
pub type Evidence = Option<Reason>;
