//! What others may read of a host's admission: domains, counters, and the two queries of a task.

use std::net::{IpAddr, Ipv4Addr};

use admission::Snapshot;
use admission::classify::Scope;
use admission::evidence::{Reason, TaskEvidence, TaskState};
use serde::Serialize;
use wire::rdcc::MessageId;

use super::{Admission, Heard};
use crate::rdcc::summary::{Counter, Counters, micros};

/// The admission of a host at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdmissionView {
    /// Observe or enforce.
    pub mode: &'static str,
    /// The host's device.
    pub device: Option<DomainView>,
    /// The routes to its receivers.
    pub routes: Vec<DomainView>,
    /// Messages under way that have waited or whose posts have ended.
    pub tasks: Vec<TaskView>,
    /// What moved windows, and what waits.
    pub counters: Counters,
}

/// A domain. Octets, and times in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DomainView {
    /// Of a route: the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<IpAddr>,
    /// Its state.
    pub state: &'static str,
    /// Its generation.
    pub generation: u32,
    /// Its window.
    pub window: u64,
    /// In flight.
    pub in_flight: u64,
    /// Completed with success on their generation.
    pub completed: u64,
    /// Timeouts and hard errors that count toward the threshold.
    pub errors: u32,
    /// Posts that had to wait for room; under observe, that would have had to.
    pub deferred: u32,
    /// Posts that a quarantine kept off; under observe, that it would have.
    pub avoided: u32,
    /// What is left of a quarantine's cooldown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<f64>,
}

/// A message as its caller may ask for it. `state` is the answer to the minimal query, all of it that to the detailed one; what
/// wasn't observed is left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskView {
    /// The receiver.
    pub peer: IpAddr,
    /// Message ID.
    pub message: u64,
    /// `NORMAL`, `CONGESTED`, `LONG_UNAVAILABLE` or `UNKNOWN`.
    pub state: &'static str,
    /// What decided, or did last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// How far it reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<&'static str>,
    /// When it was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<f64>,
    /// Whether it is over.
    pub resolved: bool,
    /// The attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The path's generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u32>,
    /// The path's window then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Octets in flight then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u64>,
    /// What was left of the cooldown then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<f64>,
}

impl TaskView {
    pub(super) fn new(peer: Ipv4Addr, message: MessageId, task: &TaskEvidence) -> Self {
        let detail = task.detail();
        let seen = detail.observation;
        Self {
            peer: peer.into(),
            message: message.0,
            state: state(detail.state),
            reason: seen.map(|seen| reason(seen.reason)),
            scope: seen.map(|seen| scope(seen.scope)),
            seen: seen.map(|seen| micros(seen.at)),
            resolved: detail.resolved,
            attempt: seen.map(|seen| seen.attempt),
            generation: seen.map(|seen| seen.generation.0),
            window: seen.and_then(|seen| seen.window).map(|window| window.0),
            in_flight: seen.and_then(|seen| seen.in_flight).map(|octets| octets.0),
            cooldown: seen.and_then(|seen| seen.cooldown).map(micros),
        }
    }
}

impl Admission {
    /// What it is like now. Reads what is recorded, and changes nothing.
    pub fn view(&self) -> AdmissionView {
        let route = |(&peer, way): (&Ipv4Addr, &super::Way)| {
            let snapshot = self.controller.route_snapshot(way.route).ok()?;
            Some(DomainView::new(Some(peer.into()), &snapshot))
        };
        let waiting = self.ways.values().flat_map(|way| way.waiting.values().flatten());
        let (slices, octets) = waiting.fold((0, 0), |(slices, octets), waiting| {
            (slices + 1, octets + u64::from(waiting.permit.octets))
        });
        AdmissionView {
            mode: self.controller.mode().name(),
            device: self.controller.device_snapshot(self.device).ok().map(|it| DomainView::new(None, &it)),
            routes: self.ways.iter().filter_map(route).collect(),
            tasks: self.tasks.iter().map(|(&(peer, id), task)| TaskView::new(peer, id, task)).collect(),
            counters: counters(&self.heard, slices, octets),
        }
    }
}

impl DomainView {
    fn new(peer: Option<IpAddr>, snapshot: &Snapshot) -> Self {
        Self {
            peer,
            state: snapshot.state.name(),
            generation: snapshot.generation.0,
            window: snapshot.window.0,
            in_flight: snapshot.in_flight.0,
            completed: snapshot.completed.0,
            errors: snapshot.errors,
            deferred: snapshot.deferred,
            avoided: snapshot.avoided,
            cooldown: snapshot.cooldown.map(micros),
        }
    }
}

fn counters(heard: &Heard, slices: u64, octets: u64) -> Counters {
    let counter = |name, help, value| Counter { name, help, value, gauge: false };
    let gauge = |name, help, value| Counter { name, help, value, gauge: true };
    Counters(vec![
        counter("congestion_reports", "CONGESTION_REPORTs heard", heard.congestion_reports),
        counter("rate_advice", "Rate Advice heard", heard.rate_advice),
        counter("path_reports", "PATH_REPORTs of congestion heard", heard.path_reports),
        counter("cnps", "CNPs heard", heard.cnps),
        counter("lower_grants", "Grants below the one before", heard.lower_grants),
        counter("ignored", "Reports from elsewhere, or about hosts nothing is sent to", heard.ignored),
        gauge("waiting_slices", "Slices with credit that wait for a window", slices),
        gauge("waiting_octets", "Their octets", octets),
    ])
}

const fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Normal => "NORMAL",
        TaskState::Unknown => "UNKNOWN",
        TaskState::Congested => "CONGESTED",
        TaskState::LongUnavailable => "LONG_UNAVAILABLE",
    }
}

const fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::ByteWindow => "BYTE_WINDOW",
        Reason::ReceiverPressure => "RECEIVER_PRESSURE",
        Reason::CongestionFeedback => "CONGESTION_FEEDBACK",
        Reason::RouteTimeout => "ROUTE_TIMEOUT",
        Reason::PathQuarantined => "PATH_QUARANTINED",
        Reason::ProbeFailed => "PROBE_FAILED",
        Reason::NoUsablePath => "NO_USABLE_PATH",
        Reason::LocalConfiguration => "LOCAL_CONFIGURATION",
        Reason::RemoteMetadata => "REMOTE_METADATA",
        Reason::DerivedFlush => "DERIVED_FLUSH",
        Reason::Fatal => "FATAL",
    }
}

const fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::None => "none",
        Scope::Operation => "operation",
        Scope::Qp => "queue pair",
        Scope::Cq => "completion queue",
        Scope::Route => "route",
        Scope::Port => "port",
        Scope::Device => "device",
    }
}
