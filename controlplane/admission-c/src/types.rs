//! Structures and codes of the interface.

#![allow(non_camel_case_types, reason = "C names")]

use admission::classify::{Action, AsyncEvent, Class, Completion, Object, Scope, SignalRow};
use admission::evidence::{Observation, Reason};
use admission::{Config, Mode, Snapshot};
use wire::units::{Micros, Nanos, Octets};

/// What a function returns: 0 or more is an answer, less than 0 a failure (`adm_last_error` has its text).
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum adm_code {
    /// Done.
    ADM_OK = 0,
    /// A pointer that must point to something is null.
    ADM_NULL = -1,
    /// A device, route or permit that there is not (any more).
    ADM_HANDLE = -2,
    /// A value out of its range.
    ADM_ARGUMENT = -3,
    /// A configuration that can't be used; the controller stays off.
    ADM_CONFIG = -4,
    /// No room; see `adm_capacity`.
    ADM_FULL = -5,
    /// The event or signal can't be about that target.
    ADM_TARGET = -6,
    /// A fault of the library.
    ADM_PANIC = -7,
}

/// What `adm_try_acquire` returns.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum adm_verdict {
    /// Post the slice.
    ADM_ADMIT = 0,
    /// Leave it in its queue.
    ADM_DEFER = 1,
    /// Take another path.
    ADM_AVOID = 2,
}

/// Why a slice isn't admitted.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum adm_reason {
    /// It is admitted.
    ADM_REASON_NONE = 0,
    /// The route's window has no room.
    ADM_REASON_ROUTE_WINDOW = 1,
    /// The device's window has no room.
    ADM_REASON_DEVICE_WINDOW = 2,
    /// The generation isn't the route's: resolve again.
    ADM_REASON_GENERATION = 3,
    /// The route is quarantined.
    ADM_REASON_ROUTE_QUARANTINED = 4,
    /// The device is quarantined.
    ADM_REASON_DEVICE_QUARANTINED = 5,
    /// There is no such route.
    ADM_REASON_NO_ROUTE = 6,
    /// The slice is too large for any window.
    ADM_REASON_TOO_LARGE = 7,
    /// All permits are in use; see `adm_capacity`.
    ADM_REASON_NO_PERMIT = 8,
}

/// What the controller does with its verdicts.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum adm_mode {
    /// Nothing: every slice is admitted.
    ADM_OFF = 0,
    /// Computes the policy and admits every slice.
    ADM_OBSERVE = 1,
    /// Applies windows and quarantine.
    ADM_ENFORCE = 2,
}

/// The state of a device or route.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum adm_path_state {
    /// Normal.
    ADM_HEALTHY = 0,
    /// The window shrinks.
    ADM_CONGESTED = 1,
    /// Errors below the threshold.
    ADM_SUSPECT = 2,
    /// Nothing is posted.
    ADM_QUARANTINED = 3,
    /// A bounded probe.
    ADM_PROBING = 4,
}

/// What a task's caller sees.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum adm_task_state {
    /// Nothing unresolved.
    ADM_TASK_NORMAL = 0,
    /// No evidence that says more.
    ADM_TASK_UNKNOWN = 1,
    /// Held up.
    ADM_TASK_CONGESTED = 2,
    /// The current path stays unavailable.
    ADM_TASK_LONG_UNAVAILABLE = 3,
}

/// Why a task was held up or failed: `reason` of an `adm_observation`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum adm_evidence_reason {
    /// No evidence.
    ADM_EVIDENCE_NONE = 0,
    /// The window had no room.
    ADM_EVIDENCE_BYTE_WINDOW = 1,
    /// The receiver had no buffers.
    ADM_EVIDENCE_RECEIVER_PRESSURE = 2,
    /// Reports of congestion.
    ADM_EVIDENCE_CONGESTION_FEEDBACK = 3,
    /// The path didn't answer.
    ADM_EVIDENCE_ROUTE_TIMEOUT = 4,
    /// The path is quarantined.
    ADM_EVIDENCE_PATH_QUARANTINED = 5,
    /// The probe failed.
    ADM_EVIDENCE_PROBE_FAILED = 6,
    /// No path is left.
    ADM_EVIDENCE_NO_USABLE_PATH = 7,
    /// The local program is wrong.
    ADM_EVIDENCE_LOCAL_CONFIGURATION = 8,
    /// The peer's metadata is out of date.
    ADM_EVIDENCE_REMOTE_METADATA = 9,
    /// Consequence of an earlier failure.
    ADM_EVIDENCE_DERIVED_FLUSH = 10,
    /// The object failed.
    ADM_EVIDENCE_FATAL = 11,
}

/// Parameters of a controller; `adm_config_default` fills it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct adm_config {
    /// An `adm_mode`.
    pub mode: u32,
    /// Time in which octets in flight should drain, microseconds.
    pub target_drain_us: u32,
    /// Smallest window, octets.
    pub min_window: u64,
    /// Largest window, octets.
    pub max_window: u64,
    /// Epochs of high pressure until CONGESTED.
    pub high_pressure_epochs: u32,
    /// Epochs of low pressure until windows grow.
    pub low_pressure_epochs: u32,
    /// Timeouts and hard errors until QUARANTINED.
    pub hard_error_threshold: u32,
    /// Zero.
    pub reserved: u32,
    /// Time in QUARANTINED, nanoseconds.
    pub cooldown_ns: u64,
    /// Window while PROBING, octets; 0 for the default.
    pub probe_window: u64,
}

/// How much a controller holds at a time.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct adm_capacity {
    /// Devices.
    pub devices: u32,
    /// Routes.
    pub routes: u32,
    /// Permits.
    pub permits: u32,
}

/// A row of the matrices: what a completion, event or signal means. The numbers are those of the tables in docs/admission.md.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct adm_handling {
    /// What the failure is.
    pub failure_class: u32,
    /// How far it reaches.
    pub scope: u32,
    /// What the transport does with the object.
    pub object: u32,
    /// What the controller did.
    pub action: u32,
    /// An `adm_evidence_reason` for the task, or 0.
    pub evidence: u32,
    /// 1 when it belonged to an old generation and changed nothing.
    pub stale: u32,
}

/// Which fields of an `adm_observation` were observed.
pub const ADM_HAS_PATH: u32 = 1;
/// `window` was observed.
pub const ADM_HAS_WINDOW: u32 = 2;
/// `in_flight` was observed.
pub const ADM_HAS_IN_FLIGHT: u32 = 4;
/// `cooldown_ns` was observed.
pub const ADM_HAS_COOLDOWN: u32 = 8;
/// `vendor_err` was observed.
pub const ADM_HAS_VENDOR_ERR: u32 = 16;
/// `status` was observed.
pub const ADM_HAS_STATUS: u32 = 32;

/// Something that a task saw.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct adm_observation {
    /// `ADM_HAS_` of what was observed; the other fields are 0 and mean nothing.
    pub has: u32,
    /// An `adm_evidence_reason`; 0: nothing.
    pub reason: u32,
    /// How far the failure reaches.
    pub scope: u32,
    /// The attempt.
    pub attempt: u32,
    /// The path's generation.
    pub generation: u32,
    /// `ibv_wc.vendor_err`.
    pub vendor_err: u32,
    /// `ibv_wc.status`.
    pub status: u32,
    /// Zero.
    pub reserved: u32,
    /// The route.
    pub path: u64,
    /// When, nanoseconds.
    pub at_ns: u64,
    /// The window, octets.
    pub window: u64,
    /// In flight, octets.
    pub in_flight: u64,
    /// What was left of the cooldown, nanoseconds.
    pub cooldown_ns: u64,
}

/// The answer to the detailed query.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct adm_detail {
    /// An `adm_task_state`.
    pub state: u32,
    /// 1 when what decided is resolved.
    pub resolved: u32,
    /// What decides; `reason` 0 when nothing was seen.
    pub observation: adm_observation,
}

/// A device or route at one moment.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct adm_snapshot {
    /// An `adm_path_state`.
    pub state: u32,
    /// Its generation.
    pub generation: u32,
    /// Its window, octets.
    pub window: u64,
    /// In flight, octets.
    pub in_flight: u64,
    /// Completed with success, octets.
    pub completed: u64,
    /// What is left of the cooldown, nanoseconds; 0 when not in quarantine.
    pub cooldown_ns: u64,
    /// Timeouts and hard errors counted.
    pub errors: u32,
    /// Deadlines that a stalled poller excused.
    pub suppressed: u32,
    /// Posts that waited.
    pub deferred: u32,
    /// Posts kept off.
    pub avoided: u32,
}

/// Something for the monitor.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct adm_notice {
    /// 1 a route's state changed, 2 a device's, 3 no usable route through (`device`, `port`), 4 no route to `peer`.
    pub kind: u32,
    /// The state before.
    pub from: u32,
    /// The state after.
    pub to: u32,
    /// The port.
    pub port: u32,
    /// When, nanoseconds.
    pub at_ns: u64,
    /// The route.
    pub route: u64,
    /// The device.
    pub device: u64,
    /// The peer.
    pub peer: u64,
}

impl From<Config> for adm_config {
    fn from(config: Config) -> Self {
        Self {
            mode: config.mode as u32,
            target_drain_us: config.target_drain.0,
            min_window: config.min_window.0,
            max_window: config.max_window.0,
            high_pressure_epochs: config.high_pressure_epochs,
            low_pressure_epochs: config.low_pressure_epochs,
            hard_error_threshold: config.hard_error_threshold,
            reserved: 0,
            cooldown_ns: config.cooldown.0,
            probe_window: config.probe_window.map_or(0, |window| window.0),
        }
    }
}

impl adm_config {
    /// The configuration, if its mode is one.
    pub(crate) fn to_config(self) -> Option<Config> {
        let mode =
            [Mode::Off, Mode::Observe, Mode::Enforce].into_iter().find(|mode| *mode as u32 == self.mode)?;
        Some(Config {
            mode,
            min_window: Octets(self.min_window),
            max_window: Octets(self.max_window),
            target_drain: Micros(self.target_drain_us),
            high_pressure_epochs: self.high_pressure_epochs,
            low_pressure_epochs: self.low_pressure_epochs,
            hard_error_threshold: self.hard_error_threshold,
            cooldown: Nanos(self.cooldown_ns),
            probe_window: (self.probe_window != 0).then_some(Octets(self.probe_window)),
        })
    }
}

fn handling(
    class: Class,
    scope: Scope,
    object: Object,
    action: Action,
    evidence: Option<Reason>,
) -> adm_handling {
    adm_handling {
        failure_class: class as u32,
        scope: scope as u32,
        object: object as u32,
        action: action as u32,
        evidence: evidence.map_or(0, |reason| reason as u32),
        stale: 0,
    }
}

impl From<&Completion> for adm_handling {
    fn from(row: &Completion) -> Self {
        handling(row.class, row.scope, row.object, row.action, row.evidence)
    }
}

impl From<&AsyncEvent> for adm_handling {
    fn from(row: &AsyncEvent) -> Self {
        handling(row.class, row.scope, row.object, row.action, row.evidence)
    }
}

impl From<&SignalRow> for adm_handling {
    fn from(row: &SignalRow) -> Self {
        handling(row.class, row.scope, row.object, row.action, row.evidence)
    }
}

impl From<Snapshot> for adm_snapshot {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            state: snapshot.state as u32,
            generation: snapshot.generation.0,
            window: snapshot.window.0,
            in_flight: snapshot.in_flight.0,
            completed: snapshot.completed.0,
            cooldown_ns: snapshot.cooldown.map_or(0, |left| left.0),
            errors: snapshot.errors,
            suppressed: snapshot.suppressed,
            deferred: snapshot.deferred,
            avoided: snapshot.avoided,
        }
    }
}

impl From<Observation> for adm_observation {
    fn from(seen: Observation) -> Self {
        let bit = |observed: bool, bit| if observed { bit } else { 0 };
        Self {
            has: bit(seen.path.is_some(), ADM_HAS_PATH)
                | bit(seen.window.is_some(), ADM_HAS_WINDOW)
                | bit(seen.in_flight.is_some(), ADM_HAS_IN_FLIGHT)
                | bit(seen.cooldown.is_some(), ADM_HAS_COOLDOWN)
                | bit(seen.vendor_err.is_some(), ADM_HAS_VENDOR_ERR)
                | bit(seen.status.is_some(), ADM_HAS_STATUS),
            reason: seen.reason as u32,
            scope: seen.scope as u32,
            attempt: seen.attempt,
            generation: seen.generation.0,
            vendor_err: seen.vendor_err.unwrap_or(0),
            status: seen.status.unwrap_or(0),
            reserved: 0,
            path: seen.path.map_or(0, crate::handle::route_number),
            at_ns: seen.at.0,
            window: seen.window.map_or(0, |octets| octets.0),
            in_flight: seen.in_flight.map_or(0, |octets| octets.0),
            cooldown_ns: seen.cooldown.map_or(0, |left| left.0),
        }
    }
}

impl adm_observation {
    /// The observation, if reason and scope are ones.
    pub(crate) fn to_observation(self) -> Option<Observation> {
        let has = |bit| self.has & bit != 0;
        let scopes =
            [Scope::None, Scope::Operation, Scope::Qp, Scope::Cq, Scope::Route, Scope::Port, Scope::Device];
        Some(Observation {
            reason: reason(self.reason)?,
            scope: scopes.into_iter().find(|scope| *scope as u32 == self.scope)?,
            path: has(ADM_HAS_PATH).then(|| crate::handle::route(self.path)),
            at: Nanos(self.at_ns),
            attempt: self.attempt,
            generation: admission::Generation(self.generation),
            window: has(ADM_HAS_WINDOW).then_some(Octets(self.window)),
            in_flight: has(ADM_HAS_IN_FLIGHT).then_some(Octets(self.in_flight)),
            cooldown: has(ADM_HAS_COOLDOWN).then_some(Nanos(self.cooldown_ns)),
            vendor_err: has(ADM_HAS_VENDOR_ERR).then_some(self.vendor_err),
            status: has(ADM_HAS_STATUS).then_some(self.status),
        })
    }
}

/// The reason of a number.
pub(crate) fn reason(number: u32) -> Option<Reason> {
    Reason::ALL.into_iter().find(|reason| *reason as u32 == number)
}
