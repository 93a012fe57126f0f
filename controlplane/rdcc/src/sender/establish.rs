//! RDCC, Association Establishment: the request and its repetitions, acceptance, refusal, loss of the receiver's state.

use rand_chacha::rand_core::Rng;
use wire::rdcc::{
    AssocAccept, AssocRequest, AssociationId, Capabilities, Epoch, Flags, Header, Message as RdccMessage,
    MessageId, Reason,
};
use wire::units::{Nanos, Octets};

use super::association::{Parameters, Phase};
use super::message::{Message, State};
use super::{Sender, SenderEvent, Timer};

/// The first repetition comes after 1 ms, each later one after twice the time before.
const FIRST_BACKOFF: Nanos = Nanos(1_000_000);
/// Requests at most.
const MAXIMUM_ATTEMPTS: u32 = 8;
/// Everything that the document defines.
const CAPABILITIES: Capabilities = Capabilities::POOL.with(Capabilities::STATUS).with(Capabilities::CRN);

impl Sender {
    pub(super) fn request_association(&mut self, index: u32, now: Nanos) {
        let line_rate = self.config.line_rate;
        let association = self.association(index);
        let (attempts, first_at) = match association.phase {
            Phase::Requesting { attempts, first_at } => (attempts + 1, first_at),
            _ => (1, now),
        };
        association.phase = Phase::Requesting { attempts, first_at };
        let request = AssocRequest { sender_nonce: association.nonce, capabilities: CAPABILITIES, line_rate };
        self.send(index, Flags::NONE, &RdccMessage::AssocRequest(request));
        let backoff = Nanos(FIRST_BACKOFF.0 << (attempts - 1));
        self.timers.set(Timer::Establish(index), now + backoff);
    }

    //= RDCC, Association Establishment: 6e317d80
    pub(super) fn repeat_establishment(&mut self, index: u32, now: Nanos) {
        let Phase::Requesting { attempts, .. } = self.association(index).phase else { return };
        if attempts < MAXIMUM_ATTEMPTS {
            self.request_association(index, now);
            return;
        }
        // Nobody answers: the receiver does not support RDCC, the application sends without it.
        let association = self.association(index);
        association.phase = Phase::Unanswered;
        let peer = association.peer;
        self.events.push_back(SenderEvent::AssociationUnanswered { peer });
        self.count_threshold(index, None);
        for id in self.message_ids(index) {
            if let Some(message) = self.remove((index, id)) {
                let tag = message.spec.tag;
                self.events.push_back(SenderEvent::WithoutRdcc { peer, message: MessageId(id), tag });
            }
        }
    }

    pub(super) fn refused(&mut self, index: u32, now: Nanos) {
        let association = self.association(index);
        association.phase = Phase::Refused;
        let peer = association.peer;
        self.timers.clear(Timer::Establish(index));
        self.events.push_back(SenderEvent::AssociationRefused { peer });
        for id in self.message_ids(index) {
            self.abort((index, id), Reason::ASSOC_REFUSED, now);
        }
        self.count_threshold(index, None);
        self.drop_pool(index, now);
    }

    //= RDCC, Association Establishment: 65456b12
    //= RDCC, Sender Message State Machine: 6b3a5d58
    pub(super) fn accepted(&mut self, index: u32, header: Header, accept: &AssocAccept, now: Nanos) {
        let association = self.association(index);
        // A new Epoch, and anything else in ASSOC_ACCEPT, counts only with the current nonce.
        if accept.sender_nonce != association.nonce || header.association_id == AssociationId(0) {
            self.stats.datagrams_ignored += 1;
            return;
        }
        let same = association.id == header.association_id && association.epoch == header.epoch;
        match association.phase {
            Phase::Requesting { attempts, first_at } => {
                association.rtt.answered(now - first_at, attempts > 1);
                self.up(index, header, accept, now);
            }
            // The receiver restarted and answered a request of before: all credit is void. Ours: it is asked once more,
            // with the same nonce, so with the same answer; meanwhile the transport can begin anew.
            Phase::Up if !same => self.establish_again(index, now),
            Phase::Up if header.flags.contains(Flags::PARAMETER_UPDATE) => {
                self.update_parameters(index, header, accept, now);
            }
            Phase::Up | Phase::Unanswered | Phase::Refused => self.stats.datagrams_ignored += 1,
        }
    }

    fn up(&mut self, index: u32, header: Header, accept: &AssocAccept, now: Nanos) {
        let parameters = Parameters::of(accept);
        let association = self.association(index);
        association.phase = Phase::Up;
        association.id = header.association_id;
        association.epoch = header.epoch;
        association.parameters = parameters;
        self.count_threshold(index, Some(parameters.backlog_threshold));
        let association = self.association(index);
        // RDCC, Common Header: a sender that accepts a new Epoch resets the newest processed Sequence Number.
        association.newest = Some(header.sequence_number);
        let peer = association.peer;
        self.timers.clear(Timer::Establish(index));
        self.events.push_back(SenderEvent::AssociationUp {
            peer,
            unscheduled_limit: Octets(parameters.unscheduled_limit),
            credit_unit: Octets(parameters.credit_unit),
        });
        self.restart_messages(index, now);
        for id in self.message_ids(index) {
            if self.state((index, id)) == Some(State::New) {
                self.begin((index, id), now);
            }
        }
        self.check_backlog(now);
    }

    fn update_parameters(&mut self, index: u32, header: Header, accept: &AssocAccept, now: Nanos) {
        let line_rate = self.config.line_rate;
        let association = self.association(index);
        // ASSOC_ACCEPT is exempt from the sequence check; an update delayed behind a newer one is still acknowledged,
        // but not acted on.
        if association.newest.is_none_or(|newest| header.sequence_number.is_newer_than(newest)) {
            association.newest = Some(header.sequence_number);
            // The Credit Unit of messages under way can't change: their posts are counted in it.
            let unit = association.parameters.credit_unit;
            association.parameters = Parameters { credit_unit: unit, ..Parameters::of(accept) };
            let parameters = association.parameters;
            self.count_threshold(index, Some(parameters.backlog_threshold));
            // From the acknowledgment on the receiver counts on the new U alone.
            let association = self.association(index);
            let longer = |id| {
                let message = association.messages.get(id);
                message.is_some_and(|message| message.spec.length.0 > parameters.unscheduled_limit)
            };
            if association.unscheduled.as_ref().is_some_and(longer) {
                self.stop_unscheduled_to(index, now);
            }
            self.check_backlog(now);
        }
        let association = self.association(index);
        let acknowledgment =
            AssocRequest { sender_nonce: association.nonce, capabilities: CAPABILITIES, line_rate };
        self.send(index, Flags::UPDATE_ACKNOWLEDGMENT, &RdccMessage::AssocRequest(acknowledgment));
    }

    //= RDCC, Association Establishment: 583f1679
    //= RDCC, Sender Message State Machine: 6b3a5d58
    /// ERROR with `UNKNOWN_ASSOCIATION`: all credit is void; establish again, then request again.
    pub(super) fn lost(&mut self, index: u32, now: Nanos) {
        // A fresh nonce keeps late answers to the old one out.
        let nonce = self.rng.next_u64();
        let association = self.association(index);
        association.nonce = nonce;
        self.establish_again(index, now);
    }

    fn establish_again(&mut self, index: u32, now: Nanos) {
        let association = self.association(index);
        association.id = AssociationId(0);
        association.epoch = Epoch(0);
        association.phase = Phase::Up;
        let peer = association.peer;
        self.events.push_back(SenderEvent::AssociationLost { peer });
        self.drop_pool(index, now);
        for id in self.message_ids(index) {
            self.suspend((index, id), now);
        }
        self.request_association(index, now);
    }

    /// Stops a message until the association is up again.
    pub(super) fn suspend(&mut self, key: super::Key, now: Nanos) {
        self.unqueue(key);
        self.stoppable.remove(&key);
        self.timers.clear(Timer::Request(key));
        self.timers.clear(Timer::Lifetime(key));
        self.set_unused(key, 0, now);
        if let Some(message) = self.message(key)
            && message.state != State::New
        {
            message.state = State::Waiting;
            message.grant_limit = 0;
        }
    }

    /// A receiver without its old state doesn't know which octets it has: every message under way starts over
    /// (our decision; RDMA writes may be repeated).
    fn restart_messages(&mut self, index: u32, now: Nanos) {
        self.drop_pool(index, now);
        let association = self.association(index);
        (association.unscheduled, association.unscheduled_until) = (None, None);
        let mut restarted = Vec::new();
        for id in self.message_ids(index) {
            let key = (index, id);
            if self.state(key).is_none_or(|state| state == State::New) {
                continue;
            }
            self.suspend(key, now);
            if let Some(message) = self.message(key) {
                let (paused, deadline_at) = (message.paused, message.deadline_at);
                let new = Message::new(message.spec, message.wire_id);
                let spec = message.spec;
                *message = Message { state: State::Waiting, paused, deadline_at, ..new };
                restarted.push((id, spec.tag));
            }
        }
        let association = self.association(index);
        let peer = association.peer;
        for queue_pair in association.queue_pairs.values_mut() {
            queue_pair.order.clear();
            queue_pair.reused_until = None;
        }
        for &(id, tag) in &restarted {
            self.enter_queue_pair((index, id));
            self.events.push_back(SenderEvent::MessageRestarted { peer, message: MessageId(id), tag });
        }
        for (id, _) in restarted {
            if self.message((index, id)).is_some_and(|message| !message.paused) {
                self.request_now((index, id), now);
            }
        }
    }

    pub(super) fn message_ids(&self, index: u32) -> Vec<u64> {
        self.associations[index as usize].messages.keys().copied().collect()
    }
}
