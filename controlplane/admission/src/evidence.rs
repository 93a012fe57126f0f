//! What a task saw of its paths, for the caller to ask about. A query reads what was recorded and touches nothing.

use wire::units::{Nanos, Octets};

use crate::classify::Scope;
use crate::domain::Generation;
use crate::ids::RouteId;

/// Why a task was held up or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Reason {
    /// The window had no room.
    ByteWindow = 1,
    /// The receiver had no buffers, or took its grant back.
    ReceiverPressure = 2,
    /// Reports of congestion, or a drain time above its target.
    CongestionFeedback = 3,
    /// The path didn't answer, and isn't quarantined.
    RouteTimeout = 4,
    /// The path is quarantined.
    PathQuarantined = 5,
    /// The probe after a quarantine failed.
    ProbeFailed = 6,
    /// No path is left.
    NoUsablePath = 7,
    /// The local program or its registration is wrong.
    LocalConfiguration = 8,
    /// The peer's metadata is out of date.
    RemoteMetadata = 9,
    /// Consequence of an earlier failure or a teardown.
    DerivedFlush = 10,
    /// The object failed, and nothing says that the path did.
    Fatal = 11,
}

/// What the caller sees (ADMISSION, Caller Observability).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TaskState {
    /// Completed, nothing unresolved: handle normally.
    Normal = 0,
    /// No evidence that says more: inspect the details.
    #[default]
    Unknown = 1,
    /// Held up: keep it, or retry with backoff; the peer isn't down.
    Congested = 2,
    /// The current path stays unavailable: try another; it proves nothing about the hardware or the peer.
    LongUnavailable = 3,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 11] = [
        Self::ByteWindow,
        Self::ReceiverPressure,
        Self::CongestionFeedback,
        Self::RouteTimeout,
        Self::PathQuarantined,
        Self::ProbeFailed,
        Self::NoUsablePath,
        Self::LocalConfiguration,
        Self::RemoteMetadata,
        Self::DerivedFlush,
        Self::Fatal,
    ];

    /// What it projects to.
    //= ADMISSION, Caller Observability: 021254a8 9ea5ca70
    //= ADMISSION, Caller Observability: 9d6e3717 179d2dfa dc197b88 5567e467 0978aaa0 fb346dc1 a2d6311f
    pub const fn state(self) -> TaskState {
        match self {
            Self::ByteWindow | Self::ReceiverPressure | Self::CongestionFeedback | Self::RouteTimeout => {
                TaskState::Congested
            }
            Self::PathQuarantined | Self::ProbeFailed | Self::NoUsablePath => TaskState::LongUnavailable,
            Self::LocalConfiguration | Self::RemoteMetadata | Self::DerivedFlush | Self::Fatal => {
                TaskState::Unknown
            }
        }
    }
}

/// One thing that a task saw. What wasn't observed is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Why.
    pub reason: Reason,
    /// How far the failure reaches.
    pub scope: Scope,
    /// The path, where one was chosen.
    pub path: Option<RouteId>,
    /// When.
    pub at: Nanos,
    /// The attempt of the task.
    pub attempt: u32,
    /// The path's generation.
    pub generation: Generation,
    /// The path's window then.
    pub window: Option<Octets>,
    /// Octets in flight on the path then.
    pub in_flight: Option<Octets>,
    /// What was left of the path's cooldown then.
    pub cooldown: Option<Nanos>,
    /// `ibv_wc::vendor_err`: kept as evidence, never acted upon.
    pub vendor_err: Option<u32>,
    /// The raw status, also an unknown one.
    pub status: Option<u32>,
}

/// The answer to the detailed query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The same as the minimal query's answer.
    pub state: TaskState,
    /// The observation that decides; the last one, resolved, where nothing is unresolved.
    pub observation: Option<Observation>,
    /// Whether it is resolved.
    pub resolved: bool,
}

/// How many unresolved anomalies a task remembers, one for each path and state.
pub const REMEMBERED: usize = 16;

//= ADMISSION, Caller Observability: eac3d757 73ab033e
/// The evidence of one logical task, owned by its batch. Bounded: it holds [`REMEMBERED`] anomalies, and when there are
/// more, forgets the least severe and the oldest.
#[derive(Clone, Debug)]
pub struct TaskEvidence {
    records: bool,
    attempt: u32,
    unresolved: [Option<Observation>; REMEMBERED],
    last_resolved: Option<Observation>,
    /// The latest generation seen of each path, the last that was new at `next_path - 1`.
    paths: [Option<(RouteId, Generation)>; REMEMBERED],
    next_path: usize,
    /// Something completed in the current attempt.
    succeeded: bool,
    /// Observations that came too late to count.
    late: u32,
    /// Anomalies that had no room.
    forgotten: u32,
}

impl TaskEvidence {
    /// Evidence of a task that has seen nothing yet. `records`: whether the controller is on and the transport is RDMA;
    /// without, every query answers [`TaskState::Unknown`].
    //= ADMISSION, Caller Observability: b2e27587 c25ab0c1
    pub const fn new(records: bool) -> Self {
        Self {
            records,
            attempt: 0,
            unresolved: [None; REMEMBERED],
            last_resolved: None,
            paths: [None; REMEMBERED],
            next_path: 0,
            succeeded: false,
            late: 0,
            forgotten: 0,
        }
    }

    /// A new attempt: what blocked the old one doesn't block this one. A smaller number than the current one is late and
    /// changes nothing.
    //= ADMISSION, Caller Observability: 32404989
    pub fn begin_attempt(&mut self, attempt: u32) {
        if self.records && attempt > self.attempt {
            self.attempt = attempt;
            self.succeeded = false;
            self.resolve_where(|_| true);
        }
    }

    /// Something was seen. Feedback of an older attempt, or of an older generation of the same path, is counted only.
    //= ADMISSION, Caller Observability: 7192e85e
    pub fn record(&mut self, seen: Observation) {
        if !self.records {
            return;
        }
        if seen.attempt < self.attempt
            || seen.path.is_some_and(|path| !self.is_current(path, seen.generation))
        {
            self.late = self.late.saturating_add(1);
            return;
        }
        if seen.attempt > self.attempt {
            self.begin_attempt(seen.attempt);
        }
        //= ADMISSION, Completion/WC Handling Matrix: 8951dd41
        let is_root = |old: &Observation| old.path == seen.path && old.reason != Reason::DerivedFlush;
        if seen.reason == Reason::DerivedFlush && self.unresolved.iter().flatten().any(is_root) {
            return;
        }
        let same = |old: &Observation| old.path == seen.path && old.reason.state() == seen.reason.state();
        let slot = self
            .unresolved
            .iter()
            .position(|slot| slot.as_ref().is_some_and(same))
            .or_else(|| self.unresolved.iter().position(Option::is_none));
        let slot = slot.or_else(|| self.weakest(seen.reason.state()));
        match slot.and_then(|slot| self.unresolved.get_mut(slot)) {
            Some(slot) => {
                let replaces_other = slot.as_ref().is_some_and(|old| !same(old));
                self.forgotten = self.forgotten.saturating_add(u32::from(replaces_other));
                *slot = Some(seen);
            }
            None => self.forgotten = self.forgotten.saturating_add(1),
        }
    }

    /// A slice completed on this path: it works again for this task.
    //= ADMISSION, Completion/WC Handling Matrix: e65ff976
    pub fn success(&mut self, path: RouteId, generation: Generation, attempt: u32) {
        if !self.records {
            return;
        }
        if attempt < self.attempt || !self.is_current(path, generation) {
            self.late = self.late.saturating_add(1);
            return;
        }
        self.begin_attempt(attempt);
        self.succeeded = true;
        self.recovered(path, generation);
    }

    /// The path recovered by other evidence, for example another task's probe.
    //= ADMISSION, Caller Observability: 32404989
    pub fn recovered(&mut self, path: RouteId, generation: Generation) {
        self.resolve_where(|old| old.path == Some(path) && !old.generation.is_after(generation));
    }

    /// The whole task completed with success: nothing blocks it any more.
    pub fn finished(&mut self) {
        if self.records {
            self.succeeded = true;
            self.resolve_where(|_| true);
        }
    }

    /// The minimal query.
    //= ADMISSION, Caller Observability: d6439f43 fd48db26 46e6f470 20c19864
    pub fn state(&self) -> TaskState {
        let worst = self.unresolved.iter().flatten().map(|seen| seen.reason.state()).max();
        match worst {
            Some(state) => state,
            None if self.succeeded => TaskState::Normal,
            None => TaskState::Unknown,
        }
    }

    /// The detailed query.
    //= ADMISSION, Caller Observability: 20306036 911d1c1b
    pub fn detail(&self) -> Detail {
        let state = self.state();
        let worst = self
            .unresolved
            .iter()
            .flatten()
            .filter(|seen| seen.reason.state() == state)
            .max_by_key(|seen| seen.at);
        match worst {
            Some(seen) => Detail { state, observation: Some(*seen), resolved: false },
            None => Detail { state, observation: self.last_resolved, resolved: self.last_resolved.is_some() },
        }
    }

    /// Observations of old attempts and generations that changed nothing.
    pub const fn late(&self) -> u32 {
        self.late
    }

    /// Anomalies that had no room.
    pub const fn forgotten(&self) -> u32 {
        self.forgotten
    }

    /// Whether `generation` isn't older than what is known of `path`; remembers it.
    fn is_current(&mut self, path: RouteId, generation: Generation) -> bool {
        if let Some((_, known)) = self.paths.iter_mut().flatten().find(|(known, _)| *known == path) {
            let current = !known.is_after(generation);
            if current {
                *known = generation;
            }
            return current;
        }
        if let Some(slot) = self.paths.get_mut(self.next_path) {
            *slot = Some((path, generation));
        }
        self.next_path = (self.next_path + 1) % REMEMBERED;
        true
    }

    fn resolve_where(&mut self, resolves: impl Fn(&Observation) -> bool) {
        for slot in &mut self.unresolved {
            if slot.as_ref().is_some_and(&resolves) {
                let resolved = slot.take();
                if self.last_resolved.map(|old| old.at) <= resolved.map(|new| new.at) {
                    self.last_resolved = resolved;
                }
            }
        }
    }

    /// The least severe and oldest anomaly, if `state` is at least as severe.
    fn weakest(&self, state: TaskState) -> Option<usize> {
        let all = self.unresolved.iter().enumerate();
        let all = all.filter_map(|(index, slot)| slot.map(|seen| (seen.reason.state(), seen.at, index)));
        all.min().filter(|(weakest, _, _)| *weakest <= state).map(|(_, _, index)| index)
    }
}
