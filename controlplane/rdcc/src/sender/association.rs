//! One association and the queue pairs under it.

use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};

use wire::rdcc::{AssocAccept, AssociationId, Capabilities, Epoch, SequenceNumber};
use wire::units::{Micros, Nanos, Octets, Octets32};

use super::message::Message;
use super::pool::Pool;
use super::rtt::Rtt;

/// RDCC, Association Establishment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// `ASSOC_REQUEST` went out `attempts` times, last at `sent_at`.
    Requesting { attempts: u32, sent_at: Nanos },
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
    /// A message ended with posts missing, and the receiver hasn't shown yet that it knows: no unscheduled data goes here, since
    /// it could be taken for that message's.
    pub(super) gap: bool,
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
    pub(super) queue_pairs: BTreeMap<u32, QueuePair>,
    pub(super) pool: Pool,
    /// Sum of the messages' and the pool's unused credit.
    pub(super) unused: u64,
}

impl Association {
    pub(super) fn new(peer: SocketAddr, nonce: u64, now: Nanos) -> Self {
        Self {
            peer,
            phase: Phase::Requesting { attempts: 0, sent_at: now },
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

    pub(super) fn is_up(&self) -> bool {
        self.phase == Phase::Up
    }
}
