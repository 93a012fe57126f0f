//! One message and its state.

use wire::units::Nanos;

use super::config::{Binding, MessageSpec};
use super::pacer::Pacer;

/// RDCC, Sender Message State Machine. DONE and ABORTED have no variant: their action is to release the state.
///
/// ```text
/// NEW --> UNSCHED --> DRAINED --> DONE
///  |        | report     ^
///  v        v            |
///  +----> WAITING <--> SCHEDULED        any --> ABORTED
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The association isn't up yet.
    New,
    /// Sent without credit, or about to be after the start delay.
    Unsched,
    /// No usable credit.
    Waiting,
    /// Credit for at least the next post.
    Scheduled,
    /// Everything was posted; waiting for `MSG_DONE`.
    Drained,
}

/// A message that is neither done nor aborted.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) spec: MessageSpec,
    pub(super) state: State,
    /// Its Message ID on the wire; the one given to the application unless it was announced anew.
    pub(super) wire_id: u64,
    /// Octets posted.
    pub(super) transmitted: u64,
    /// Octets of those that went without credit.
    pub(super) unscheduled_sent: u64,
    /// Whether it went or goes unscheduled, so that its remainder was announced as such.
    pub(super) unscheduled: bool,
    /// The largest Grant Limit held.
    pub(super) grant_limit: u64,
    /// Until when credit is usable: reception of the newest grant plus its Lifetime.
    pub(super) usable_until: Nanos,
    /// Credit that counts as unused in the sender's backlog.
    pub(super) unused: u64,
    pub(super) pacer: Pacer,
    /// End of the start delay.
    pub(super) start_at: Nanos,
    /// Message sequence number of its first post.
    pub(super) first_msn: u32,
    /// When the request that waits for a grant went first, and whether it was repeated.
    pub(super) asked: Option<(Nanos, bool)>,
    /// By when it should be delivered.
    pub(super) deadline_at: Option<Nanos>,
    /// How often the request timeout has doubled.
    pub(super) repetitions: u32,
    /// Since when it has waited for credit.
    pub(super) waiting_since: Nanos,
    /// Its place in the send queue.
    pub(super) queued_at: Option<Nanos>,
    /// The application can't send it now and has given its credit back.
    pub(super) paused: bool,
    /// Whether it goes under credit of its own only: the receiver may know its numbers as another message's, and a grant
    /// for this one is what shows that it doesn't. A pool's says nothing about numbers.
    pub(super) own_credit_only: bool,
    /// Its share of pool credit so far, divided by its weight.
    pub(super) service: u64,
}

impl Message {
    pub(super) fn new(spec: MessageSpec, wire_id: u64) -> Self {
        Self {
            spec,
            wire_id,
            state: State::New,
            transmitted: 0,
            unscheduled_sent: 0,
            unscheduled: false,
            grant_limit: 0,
            usable_until: Nanos(0),
            unused: 0,
            pacer: Pacer::default(),
            start_at: Nanos(0),
            first_msn: 0,
            asked: None,
            deadline_at: None,
            repetitions: 0,
            waiting_since: Nanos(0),
            queued_at: None,
            paused: false,
            own_credit_only: false,
            service: 0,
        }
    }

    /// Octets of the next post: one Credit Unit or the tail (RDCC over RoCEv2: our decision, one RDMA message each).
    pub(super) fn next_post(&self, unit: u64) -> u64 {
        unit.min(self.spec.length.0 - self.transmitted)
    }

    /// How many posts the message takes.
    pub(super) fn posts(&self, unit: u64) -> u64 {
        self.spec.length.0.div_ceil(unit)
    }

    /// How many were made.
    pub(super) fn posted(&self, unit: u64) -> u64 {
        self.transmitted.div_ceil(unit)
    }

    /// Whether the Grant Limit covers the whole next post; an RDMA message can't pause in its middle
    /// (RDCC, Transport Bindings).
    pub(super) fn covers_next_post(&self, unit: u64) -> bool {
        self.transmitted < self.spec.length.0 && self.grant_limit >= self.transmitted + self.next_post(unit)
    }

    /// Whether credit of its own, not the pool's, covers the next post now.
    pub(super) fn own_credit(&self, unit: u64, now: Nanos) -> bool {
        self.covers_next_post(unit) && self.usable_until > now
    }

    /// What `CREDIT_REQUEST` states as Unscheduled Sent: the whole length while it goes unscheduled, and what was
    /// really transmitted after a conversion.
    pub(super) fn announced_unscheduled(&self) -> u64 {
        match (self.unscheduled, self.state) {
            (false, _) => 0,
            (true, State::Unsched) => self.spec.length.0,
            (true, _) => self.unscheduled_sent,
        }
    }

    /// The queue pair that orders its posts.
    pub(super) fn queue_pair(&self) -> Option<u32> {
        match self.spec.binding {
            Binding::RoceV2 { destination_qp } => Some(destination_qp),
            Binding::Opaque(_) => None,
        }
    }
}
