//! Signals that are no completions: verdicts, deadlines, failures of the control plane and of the connection manager.

use super::{Action, Class, Evidence, Object, Scope};
use crate::evidence::Reason;

/// What was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Signal {
    /// The verdict was defer.
    Deferred = 0,
    /// The verdict was avoid.
    Avoided = 1,
    /// The generation changed after the reservation.
    GenerationChanged = 2,
    /// The post was refused before the hardware had it.
    PostRejected = 3,
    /// A slice missed its deadline while the poller made progress.
    Deadline = 4,
    /// A slice missed its deadline while the poller stood still.
    DeadlineWhileStalled = 5,
    /// The read-only look-up of a segment failed.
    SegmentQueryFailed = 6,
    /// A call that changes something failed.
    MutatingCallFailed = 7,
    /// Address, key or permission out of date.
    StaleMetadata = 8,
    /// Cancellation, teardown or reclamation of an old endpoint.
    Teardown = 9,
    /// Every rail is unavailable, with evidence of a quarantine or of no path.
    AllRailsUnavailable = 10,
    /// Every rail is unavailable, without such evidence.
    AllRailsUnavailableUnexplained = 11,
    /// The connection manager reports a lost or unreachable connection.
    ConnectionLost = 12,
    /// The connection manager reports that the device is gone.
    DeviceRemoved = 13,
}

/// What becomes of the permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PermitFate {
    /// There is none: the first reservation was rolled back, or none was made.
    RolledBack = 0,
    /// What wasn't posted is released at once.
    ReleaseUnposted = 1,
    /// Every permit in flight is settled once.
    SettleOnce = 2,
    /// It follows its own completion.
    Untouched = 3,
}

/// One row of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalRow {
    /// What was observed.
    pub signal: Signal,
    /// What it is.
    pub class: Class,
    /// How far it reaches.
    pub scope: Scope,
    /// What becomes of the permit.
    pub permit: PermitFate,
    /// What the transport does.
    pub object: Object,
    /// What the controller does.
    pub action: Action,
    /// How often the owner may try again by itself.
    pub retries: u8,
    /// What the task's evidence records.
    pub evidence: Evidence,
}

#[expect(clippy::too_many_arguments, reason = "the matrix's columns, in their order")]
const fn row(
    signal: Signal,
    class: Class,
    scope: Scope,
    permit: PermitFate,
    object: Object,
    action: Action,
    retries: u8,
    evidence: Evidence,
) -> SignalRow {
    SignalRow { signal, class, scope, permit, object, action, retries, evidence }
}

/// The matrix of ADMISSION, Non-WC and Control-Plane Handling Matrix.
//= ADMISSION, Non-WC and Control-Plane Handling Matrix: 3bb02f16 f560e7cd eaab2820 a6193e92 8ba39499 1b6ed535 7d7f8901
//= ADMISSION, Non-WC and Control-Plane Handling Matrix: b30cb42f cf5bc335 340a97e8 95541913 c46f5753 e7279ea1
pub const SIGNALS: [SignalRow; 14] = {
    use Action::{CountDeadline, CountPathError, ExcuseDeadlines, Nothing, QuarantineDevice};
    use PermitFate::{ReleaseUnposted, RolledBack, SettleOnce, Untouched};
    use Signal::{
        AllRailsUnavailable, AllRailsUnavailableUnexplained, Avoided, ConnectionLost, Deadline,
        DeadlineWhileStalled, Deferred, DeviceRemoved, GenerationChanged, MutatingCallFailed, PostRejected,
        SegmentQueryFailed, StaleMetadata, Teardown,
    };
    [
        row(
            Deferred,
            Class::Congestion,
            Scope::Route,
            RolledBack,
            Object::KeepQueued,
            Nothing,
            0,
            Some(Reason::ByteWindow),
        ),
        row(
            Avoided,
            Class::NoFailure,
            Scope::Route,
            RolledBack,
            Object::LeavePath,
            Nothing,
            0,
            Some(Reason::PathQuarantined),
        ),
        row(
            GenerationChanged,
            Class::NoFailure,
            Scope::None,
            RolledBack,
            Object::ResolveAgain,
            Nothing,
            0,
            None,
        ),
        row(
            PostRejected,
            Class::NoFailure,
            Scope::Operation,
            ReleaseUnposted,
            Object::HandleError,
            Nothing,
            0,
            None,
        ),
        row(
            Deadline,
            Class::RouteTimeout,
            Scope::Qp,
            Untouched,
            Object::RebuildQp,
            CountDeadline,
            0,
            Some(Reason::RouteTimeout),
        ),
        row(
            DeadlineWhileStalled,
            Class::NoFailure,
            Scope::None,
            Untouched,
            Object::Keep,
            ExcuseDeadlines,
            0,
            None,
        ),
        row(
            SegmentQueryFailed,
            Class::NoFailure,
            Scope::None,
            Untouched,
            Object::RetryOnce,
            Nothing,
            1,
            None,
        ),
        row(
            MutatingCallFailed,
            Class::NoFailure,
            Scope::None,
            Untouched,
            Object::ReportError,
            Nothing,
            0,
            None,
        ),
        row(
            StaleMetadata,
            Class::RemoteMetadata,
            Scope::Operation,
            Untouched,
            Object::RefreshMetadata,
            Nothing,
            0,
            Some(Reason::RemoteMetadata),
        ),
        row(
            Teardown,
            Class::DerivedFlush,
            Scope::Qp,
            SettleOnce,
            Object::FinishTeardown,
            Nothing,
            0,
            Some(Reason::DerivedFlush),
        ),
        row(
            AllRailsUnavailable,
            Class::NoFailure,
            Scope::None,
            Untouched,
            Object::FailOver,
            Nothing,
            0,
            Some(Reason::NoUsablePath),
        ),
        row(
            AllRailsUnavailableUnexplained,
            Class::NoFailure,
            Scope::None,
            Untouched,
            Object::FailOver,
            Nothing,
            0,
            None,
        ),
        row(
            ConnectionLost,
            Class::Fatal,
            Scope::Route,
            Untouched,
            Object::RebuildQp,
            CountPathError,
            0,
            Some(Reason::Fatal),
        ),
        row(
            DeviceRemoved,
            Class::Fatal,
            Scope::Device,
            Untouched,
            Object::LeaveDevice,
            QuarantineDevice,
            0,
            Some(Reason::PathQuarantined),
        ),
    ]
};

impl Signal {
    /// The signal with this number, in the order of [`SIGNALS`].
    pub fn from_code(code: u8) -> Option<Self> {
        SIGNALS.get(usize::from(code)).map(|row| row.signal)
    }

    /// The row of this signal.
    pub fn row(self) -> &'static SignalRow {
        &SIGNALS[self as usize]
    }
}

/// Events of `rdma_event_channel` that mean something here, where the transport uses librdmacm anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CmEvent {
    /// `RDMA_CM_EVENT_UNREACHABLE`, 7.
    Unreachable,
    /// `RDMA_CM_EVENT_DISCONNECTED`, 10.
    Disconnected,
    /// `RDMA_CM_EVENT_DEVICE_REMOVAL`, 11.
    DeviceRemoval,
}

impl CmEvent {
    /// The event with this value of `rdma_cm_event_type`, or `None` when it means nothing to the controller.
    pub const fn from_code(code: u32) -> Option<Self> {
        match code {
            7 => Some(Self::Unreachable),
            10 => Some(Self::Disconnected),
            11 => Some(Self::DeviceRemoval),
            _ => None,
        }
    }

    /// The signal it stands for.
    pub const fn signal(self) -> Signal {
        match self {
            Self::Unreachable | Self::Disconnected => Signal::ConnectionLost,
            Self::DeviceRemoval => Signal::DeviceRemoved,
        }
    }
}
