//! One association and the queue pairs under it.

use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};

use wire::rdcc::{AssocAccept, AssociationId, Capabilities, Epoch, SequenceNumber};
use wire::units::{Micros, Nanos, Octets, Octets32};

use super::MSN_MASK;
use super::message::Message;
use super::pool::Pool;
use super::rtt::Rtt;

/// RDCC, Association Establishment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// `ASSOC_REQUEST` went out `attempts` times, first at `first_at`.
    Requesting { attempts: u32, first_at: Nanos },
    /// Accepted.
    Up,
    /// Eight requests went unanswered.
    Unanswered,
    /// Answered with `ASSOC_REFUSED`.
    Refused,
}

/// The operating parameters that `ASSOC_ACCEPT` carries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parameters {
    pub(super) unscheduled_limit: u64,
    pub(super) start_jitter: Micros,
    pub(super) backlog_threshold: u64,
    pub(super) grant_lifetime: Micros,
    pub(super) credit_unit: u64,
    pub(super) capabilities: Capabilities,
}

impl Parameters {
    pub(super) fn of(accept: &AssocAccept) -> Self {
        let octets = |field: Octets32| Octets::from(field).0;
        Self {
            unscheduled_limit: octets(accept.unscheduled_limit),
            start_jitter: accept.start_jitter,
            backlog_threshold: octets(accept.backlog_threshold),
            grant_lifetime: accept.grant_lifetime,
            // A unit of zero would make every post empty; ours: taken as one octet.
            credit_unit: octets(accept.credit_unit).max(1),
            capabilities: accept.capabilities,
        }
    }
}

/// The order of posts on one queue pair.
#[derive(Debug, Default)]
pub(super) struct QueuePair {
    /// Message sequence number of the next post.
    pub(super) next_post: u32,
    /// Messages not yet wholly posted, in the order of their sequence numbers. Only the first may post.
    pub(super) order: VecDeque<u64>,
    /// The number after the last that those messages were announced with.
    pub(super) announced: u32,
    /// A message ended with posts missing: the numbers below this one were announced for what isn't posted any more. A
    /// receiver that hasn't heard of it would take data that it doesn't know for that.
    pub(super) reused_until: Option<u32>,
}

impl QueuePair {
    /// Whether numbers from `first` on may stand for something else at the receiver.
    pub(super) fn reuses(&self, first: u32) -> bool {
        self.reused_until.is_some_and(|end| is_before(first, end))
    }

    /// A message left the queue pair: what was announced up to now no longer holds.
    pub(super) fn note_reuse(&mut self) {
        let end = self.announced;
        if is_before(self.next_post, end) && self.reused_until.is_none_or(|known| is_before(known, end)) {
            self.reused_until = Some(end);
        }
    }

    /// Moves on to the next number.
    pub(super) fn advance(&mut self) {
        self.next_post = (self.next_post + 1) & MSN_MASK;
        if !self.reuses(self.next_post) {
            self.reused_until = None;
        }
    }
}

/// Whether `number` comes before `end` on the circle of 24-bit numbers.
fn is_before(number: u32, end: u32) -> bool {
    (1..=MSN_MASK / 2).contains(&(end.wrapping_sub(number) & MSN_MASK))
}

/// State shared with one receiver.
#[derive(Debug)]
pub(super) struct Association {
    pub(super) peer: SocketAddr,
    pub(super) phase: Phase,
    pub(super) nonce: u64,
    pub(super) id: AssociationId,
    pub(super) epoch: Epoch,
    pub(super) parameters: Parameters,
    /// Sequence number of the next message that goes out.
    pub(super) next_sequence: SequenceNumber,
    /// Newest one processed from the receiver.
    pub(super) newest: Option<SequenceNumber>,
    pub(super) rtt: Rtt,
    pub(super) messages: BTreeMap<u64, Message>,
    pub(super) next_message: u64,
    /// Messages announced anew, by their Message ID on the wire.
    pub(super) announced_anew: BTreeMap<u64, u64>,
    /// The unscheduled message that is outstanding, if any: one at most.
    pub(super) unscheduled: Option<u64>,
    /// If that one was given up: until when its octets may still be under way.
    pub(super) unscheduled_until: Option<Nanos>,
    /// The `N_cu` that counts among the receivers'.
    pub(super) counted_threshold: Option<u64>,
    pub(super) queue_pairs: BTreeMap<u32, QueuePair>,
    pub(super) pool: Pool,
    /// Sum of the messages' and the pool's unused credit.
    pub(super) unused: u128,
}

impl Association {
    pub(super) fn new(peer: SocketAddr, nonce: u64, now: Nanos) -> Self {
        Self {
            peer,
            phase: Phase::Requesting { attempts: 0, first_at: now },
            nonce,
            id: AssociationId(0),
            epoch: Epoch(0),
            parameters: Parameters::default(),
            next_sequence: SequenceNumber(1),
            newest: None,
            rtt: Rtt::default(),
            messages: BTreeMap::new(),
            next_message: 1,
            announced_anew: BTreeMap::new(),
            unscheduled: None,
            unscheduled_until: None,
            counted_threshold: None,
            queue_pairs: BTreeMap::new(),
            pool: Pool::default(),
            unused: 0,
        }
    }

    pub(super) fn take_sequence(&mut self) -> SequenceNumber {
        let sequence = self.next_sequence;
        self.next_sequence = sequence.next();
        sequence
    }

    /// The message that a Message ID on the wire means.
    pub(super) fn resolve(&self, wire_id: u64) -> Option<u64> {
        let id = self.announced_anew.get(&wire_id).copied().unwrap_or(wire_id);
        self.messages.get(&id).is_some_and(|message| message.wire_id == wire_id).then_some(id)
    }

    /// Whether a message that comes last on its queue pair gets numbers that may stand for something else at the
    /// receiver.
    pub(super) fn reuses_numbers(&self, id: u64) -> bool {
        let pair =
            self.messages.get(&id).and_then(Message::queue_pair).and_then(|qp| self.queue_pairs.get(&qp));
        pair.is_some_and(|pair| {
            pair.reuses(if pair.order.is_empty() { pair.next_post } else { pair.announced })
        })
    }

    /// Whether an unscheduled message is outstanding (RDCC, Unscheduled Transmission, rule 3).
    pub(super) fn has_unscheduled(&self, now: Nanos) -> bool {
        self.unscheduled.is_some() && self.unscheduled_until.is_none_or(|until| now < until)
    }

    /// `MSG_DONE` or a `CREDIT_GRANT` came for a message: it isn't outstanding any more.
    pub(super) fn end_unscheduled(&mut self, id: u64) {
        if self.unscheduled == Some(id) {
            (self.unscheduled, self.unscheduled_until) = (None, None);
        }
    }

    /// A message was given up before either came. Ours: it stays outstanding for as long as a receiver with the default
    /// `D_max`, the Grant Lifetime, may keep its reservation: its octets may be under way, and its `CANCEL` may be lost.
    pub(super) fn abandon_unscheduled(&mut self, id: u64, now: Nanos) {
        if self.unscheduled == Some(id) && self.unscheduled_until.is_none() {
            let lifetime = self.parameters.grant_lifetime.nanos();
            let until = now + self.parameters.start_jitter.nanos() + lifetime + lifetime + lifetime;
            self.unscheduled_until = Some(until);
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.phase == Phase::Up
    }
}
