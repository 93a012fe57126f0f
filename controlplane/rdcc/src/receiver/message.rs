//! What the receiver knows of one message, and of one association.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};

use wire::rdcc::{AssociationId, SequenceNumber};
use wire::units::Nanos;

use super::bindings::{Carrier, Lane};
use super::ended::Ended;
use super::parameters::{Told, Update};
use super::rate::Aimd;
use super::shares::Held;

/// Place in the order in which messages get credit: Traffic Class, deadline, then weighted fair within a class
/// (RDCC, Credit Allocation). `service` is what the message got, divided by its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    pub(super) class: u8,
    pub(super) deadline: Nanos,
    pub(super) service: u64,
    pub(super) slot: u32,
}

impl Turn {
    /// Whether neither class nor deadline puts the other one first.
    pub(super) fn is_as_urgent_as(&self, other: &Self) -> bool {
        (self.class, self.deadline) <= (other.class, other.deadline)
    }
}

/// A message announced by `CREDIT_REQUEST` and not complete.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent conditions: any combination of them can occur"
)]
pub(super) struct Inbound {
    pub(super) association: u32,
    pub(super) id: u64,
    pub(super) length: u64,
    pub(super) received: u64,
    pub(super) class: u8,
    pub(super) weight: u32,
    pub(super) deadline: Nanos,
    pub(super) carrier: Carrier,
    /// Octets that the sender announced without credit: the first of the message.
    pub(super) announced: u64,
    /// Whether those still count against `G_u`.
    pub(super) reserved: bool,
    /// The part of `G_u` taken now.
    pub(super) unscheduled: u64,
    /// Until when the link is taken to be busy with them.
    pub(super) charged_until: Nanos,
    /// When its sender, or its data, was last heard of it.
    pub(super) heard_at: Nanos,
    /// The largest Grant Limit ever issued. A reclaimed grant keeps it: any later grant, even a smaller one, would
    /// revive what the sender holds (rule 1 of Credit Requests and Grants).
    pub(super) issued: u64,
    /// Whether the grant counts against `G_s`.
    pub(super) live: bool,
    /// The part of `G_s` taken now.
    pub(super) scheduled: u64,
    pub(super) granted_at: Nanos,
    /// The Pacing Rate in force; 0 while nothing is outstanding.
    pub(super) rate: u64,
    /// What the sender's own cap left unused of its fair share when that rate was set.
    pub(super) slack: u64,
    /// Whether a request for credit is open.
    pub(super) wants: bool,
    /// Whether the sender transmitted beyond its credit: it gets no more for this message.
    pub(super) barred: bool,
    /// Whether it was cancelled, and waits for the reclamation of its credit.
    pub(super) cancelled: bool,
    /// Whether it counts among those that share the link.
    pub(super) active: bool,
    /// Whether it is a pool: RDCC, Traffic Classes and Pool Credit.
    pub(super) pool: bool,
    /// Whether it gets its credit from the pool.
    pub(super) pooled: bool,
    /// How often its sender has asked in vain for what the pool's credit should have covered.
    pub(super) asked_in_vain: u8,
    /// Up to where octets were let go by a pool that was given up.
    pub(super) tolerated: u64,
    pub(super) service: u64,
    pub(super) turn: Option<Turn>,
    /// A round trip being measured: the offset whose arrival ends it, since when, and the time the sender's pace takes up of it.
    pub(super) probe: Option<(u64, Nanos, Nanos)>,
}

impl Inbound {
    /// A message of which nothing is granted, announced or received.
    pub(super) fn new(association: u32, id: u64, length: u64, carrier: Carrier, now: Nanos) -> Self {
        Self {
            association,
            id,
            length,
            received: 0,
            class: 7,
            weight: 1,
            deadline: Nanos::MAX,
            carrier,
            announced: 0,
            reserved: false,
            unscheduled: 0,
            charged_until: Nanos(0),
            heard_at: now,
            issued: 0,
            live: false,
            scheduled: 0,
            granted_at: now,
            rate: 0,
            slack: 0,
            wants: false,
            barred: false,
            cancelled: false,
            active: false,
            pool: false,
            pooled: false,
            asked_in_vain: 0,
            tolerated: 0,
            service: 0,
            turn: None,
            probe: None,
        }
    }

    /// The rate in force.
    pub(super) fn held(&self) -> Held {
        Held { rate: self.rate, slack: self.slack }
    }

    /// What a member of a pool still needs credit for or has it from the pool.
    pub(super) fn pool_need(&self) -> u64 {
        if self.barred || self.cancelled { 0 } else { self.length - self.base().min(self.length) }
    }

    /// Octets beyond `issued` and what came already that credit could be given for.
    pub(super) fn rest(&self) -> u64 {
        self.length.saturating_sub(self.issued.max(self.base()))
    }

    /// Where octets under credit begin.
    pub(super) fn base(&self) -> u64 {
        self.received.max(self.announced)
    }

    /// What the grant amounts to when it counts.
    pub(super) fn granted(&self) -> u64 {
        self.issued.saturating_sub(self.base())
    }

    /// Whether it could use a grant: octets beyond the issued limit, or a limit that was reclaimed.
    pub(super) fn needs_credit(&self) -> bool {
        let open = self.wants && !self.barred && !self.cancelled && !self.reserved && !self.pooled;
        open && (self.issued.max(self.announced) < self.length || (!self.live && self.granted() > 0))
    }
}

/// Source ports that an association's data came from, the newest last: the flows that reports name.
#[derive(Debug, Default)]
pub(super) struct Flows {
    ports: Vec<u16>,
}

/// Ours: so many source ports are remembered an association. A report about a flow that was forgotten counts for all
/// associations of its host.
const REMEMBERED_FLOWS: usize = 64;

impl Flows {
    /// Notes a packet's source port.
    pub(super) fn seen(&mut self, port: u16) {
        if self.ports.last() == Some(&port) {
            return;
        }
        self.ports.retain(|&other| other != port);
        if self.ports.len() == REMEMBERED_FLOWS {
            self.ports.remove(0);
        }
        self.ports.push(port);
    }

    /// Whether data came from it.
    pub(super) fn contain(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }
}

/// An association, as the receiver keeps it.
#[derive(Debug)]
pub(super) struct Association {
    pub(super) id: AssociationId,
    /// Whether its sender takes pool grants, and none of its pools was given up.
    pub(super) takes_pools: bool,
    /// Octets that may have been sent under a pool that was given up, and haven't come.
    pub(super) pool_left: u64,
    /// Where its requests come from; everything goes there and nowhere else.
    pub(super) from: SocketAddr,
    pub(super) nonce: u64,
    /// The sender's line rate in payload, Mbit/s.
    pub(super) line_rate: u64,
    /// `N_cu` in relation to the configured one: the sender's line rate to that of our link.
    pub(super) relative_rate: (u32, u32),
    /// U that counts for this association: while an update is under way, the larger of the old and the new one.
    pub(super) unscheduled_limit: u64,
    /// The largest U that it was ever told: a request that was lost may come again long after U was lowered.
    pub(super) largest_limit: u64,
    /// The part of `G_u` that its messages take, at most `unscheduled_limit`.
    pub(super) unscheduled: u64,
    /// What it was told last.
    pub(super) told: Told,
    pub(super) update: Option<Update>,
    /// Credit charged for all of its messages.
    pub(super) scheduled: u64,
    /// Messages that could have credit if this association had less.
    pub(super) capped: BTreeSet<u32>,
    pub(super) next_sequence: SequenceNumber,
    pub(super) newest: Option<SequenceNumber>,
    pub(super) last_traffic: Nanos,
    pub(super) flows: Flows,
    /// Pending messages: slot by Message ID.
    pub(super) messages: BTreeMap<u64, u32>,
    /// Those that have ended: a repeated request for a completed one is answered with `MSG_DONE` again.
    pub(super) ended: Ended,
    /// Numbers of messages that were given up, by queue pair: up to where messages that come may reuse them.
    pub(super) given_up: BTreeMap<Lane, u32>,
    pub(super) aimd: Aimd,
    /// Sum of the Pacing Rates in force for it.
    pub(super) rate: u64,
    /// Who holds them, the largest last.
    pub(super) holders: BTreeSet<(u64, u32)>,
    /// What that sum was last allowed to be.
    pub(super) allowed_rate: u64,
    /// Its messages among those that share the link.
    pub(super) active: u64,
    /// The newest Suggested Rate of a `SENDER_STATUS`, in payload, and when it came.
    pub(super) suggestion: Option<(u64, Nanos)>,
    /// Octets, and octets with a mark, since `window_start`.
    pub(super) window: (u64, u64),
    pub(super) window_start: Nanos,
}
