//! Starting, requesting, converting and ending messages.

use rand_chacha::rand_core::Rng;
use wire::rdcc::{
    BindingKind, Cancel, CreditRequest, CreditReturn, Flags, Message as RdccMessage, MessageId, Reason,
    RoceBinding, TrafficClass, Weight,
};
use wire::units::{Micros, Nanos, Octets};

use super::config::Binding;
use super::message::{Message, State};
use super::{Key, MSN_MASK, Sender, SenderEvent, Timer};

impl Sender {
    //= RDCC, Transmission Mode Selection: 7d96fb3b 992c3ffc 932edb73 0befa1bc
    //= RDCC, Unscheduled Transmission: dcd81fe4 8b1d1b42 01a18bc4
    //= RDCC, Sender Message State Machine: 07d60f08 7b355fbd
    /// NEW: chooses the mode (RDCC, Transmission Mode Selection).
    pub(super) fn begin(&mut self, key: Key, now: Nanos) {
        let association = &mut self.associations[key.0 as usize];
        let parameters = association.parameters;
        let reuses = association.reuses_numbers(key.1);
        let has_unscheduled = association.has_unscheduled(now);
        let Some(message) = association.messages.get_mut(&key.1) else { return };
        message.own_credit_only = reuses;
        let wish = message.spec.deadline;
        message.deadline_at = (wish != Micros(0)).then(|| now + wish.nanos());
        // The count of RDMA messages has 16 bits (RDCC, Transport Bindings).
        if message.queue_pair().is_some() && message.posts(parameters.credit_unit) > u64::from(u16::MAX) {
            self.abort(key, Reason::MESSAGE_TOO_LARGE, now);
            return;
        }
        // Rule 3 of Unscheduled Transmission: one unscheduled message outstanding at most. Data that goes before the
        // receiver has shown what it knows needs numbers that were never another's.
        let unscheduled = message.spec.allow_unscheduled
            && !reuses
            && message.spec.length.0 <= parameters.unscheduled_limit
            && !has_unscheduled;
        if unscheduled {
            (association.unscheduled, association.unscheduled_until) = (Some(key.1), None);
            self.stoppable.insert(key);
            message.unscheduled = true;
            message.state = State::Unsched;
            let jitter = parameters.start_jitter.nanos();
            let delay = uniform(&mut self.rng, jitter.0);
            message.start_at = now + Nanos(delay);
        } else {
            message.state = State::Waiting;
        }
        message.waiting_since = now;
        self.enter_queue_pair(key);
        // Rule 2: the request goes no later than the first data; here it precedes the start delay.
        self.request(key, now);
        self.schedule(key);
        self.settle_pool(key.0, now);
    }

    /// Sends `CREDIT_REQUEST`, and sets the time of its repetition in the states that repeat it.
    pub(super) fn request(&mut self, key: Key, now: Nanos) {
        let association = &mut self.associations[key.0 as usize];
        let unit = association.parameters.credit_unit;
        let Some(message) = association.messages.get_mut(&key.1) else { return };
        let (binding_kind, binding_value) = match message.spec.binding {
            Binding::RoceV2 { destination_qp } => {
                let binding = RoceBinding {
                    destination_qp,
                    first_msn: message.first_msn,
                    rdma_messages: u16::try_from(message.posts(unit)).unwrap_or(u16::MAX),
                };
                (BindingKind::ROCEV2, binding.to_value())
            }
            Binding::Opaque(value) => (BindingKind::OPAQUE, value),
        };
        let request = CreditRequest {
            message_id: MessageId(message.wire_id),
            message_length: message.spec.length,
            unscheduled_sent: Octets(message.announced_unscheduled()),
            class: TrafficClass(message.spec.class),
            weight: Weight(message.spec.weight),
            service_hint: message.spec.hint,
            binding_kind,
            // RDCC, CREDIT_REQUEST: relative to the transmission of this very request; zero would be none.
            deadline: message.deadline_at.map_or(Micros(0), |at| (at - now).micros().max(Micros(1))),
            binding_value,
        };
        let repeats = matches!(message.state, State::Waiting | State::Drained) && !message.paused;
        message.asked = match message.asked.filter(|_| message.state == State::Waiting) {
            Some((first, _)) => Some((first, true)),
            None => (message.state == State::Waiting).then_some((now, message.repetitions > 0)),
        };
        let timeout = association.rtt.request_timeout(message.repetitions);
        self.stats.requests += 1;
        self.send(key.0, Flags::NONE, &RdccMessage::CreditRequest(request));
        if repeats {
            self.timers.set(Timer::Request(key), now + timeout);
        }
    }

    /// Requests with a fresh backoff.
    pub(super) fn request_now(&mut self, key: Key, now: Nanos) {
        if let Some(message) = self.message(key) {
            message.repetitions = 0;
            message.waiting_since = now;
            message.asked = None;
        }
        // A deadline only moves later by itself; the repetition of before must not linger.
        self.timers.clear(Timer::Request(key));
        self.request(key, now);
    }

    //= RDCC, Sender Message State Machine: a8757873 41085f65
    //= RDCC, Credit Requests and Grants: 0601b6c8
    /// WAITING and DRAINED: the request timeout.
    pub(super) fn repeat_request(&mut self, key: Key, now: Nanos) {
        let paused = self.message(key).is_some_and(|message| message.paused);
        if matches!(self.state(key), Some(State::Waiting | State::Drained)) && !paused {
            if let Some(message) = self.message(key) {
                message.repetitions = message.repetitions.saturating_add(1);
            }
            self.request(key, now);
        }
    }

    /// Starts the request timer without a request: credit is used up, or everything is sent.
    pub(super) fn await_answer(&mut self, key: Key, now: Nanos) {
        let association = self.association(key.0);
        let Some(message) = association.messages.get_mut(&key.1) else { return };
        if message.state == State::Drained {
            message.repetitions = 0;
        }
        message.waiting_since = now;
        message.asked = None;
        let timeout = association.rtt.request_timeout(message.repetitions);
        self.timers.clear(Timer::Request(key));
        self.timers.set(Timer::Request(key), now + timeout);
    }

    //= RDCC, Credit Requests and Grants: 398e555d 13ed15f9
    //= RDCC, Sender Message State Machine: ca110e02
    /// SCHEDULED: the Lifetime elapsed; the credit must not be used any more, fresh credit is requested (rule 3 of
    /// Credit Requests and Grants).
    pub(super) fn lifetime_elapsed(&mut self, key: Key, now: Nanos) {
        let Some(message) = self.message(key) else { return };
        if message.state != State::Scheduled || message.usable_until > now {
            return;
        }
        message.state = State::Waiting;
        let unused = message.grant_limit.saturating_sub(message.transmitted);
        self.stats.credit_expired = self.stats.credit_expired.saturating_add(unused);
        self.unqueue(key);
        self.set_unused(key, 0, now);
        self.request_now(key, now);
        // The pool's credit may cover it all the same.
        self.settle_pool(key.0, now);
    }

    //= RDCC, Unscheduled Transmission: 5eaf5cf3 a77612f9
    //= RDCC, Sender Message State Machine: 37009f5c
    /// UNSCHED: a link pause, or a report whose flow isn't to one of our receivers, stops the transmission and converts the
    /// remainder (rule 5 of Unscheduled Transmission), on every association.
    pub(super) fn stop_unscheduled(&mut self, now: Nanos) {
        let keys = core::mem::take(&mut self.stoppable);
        self.stop(keys, now);
    }

    /// The same for the messages to one receiver: a report names their flow, or U was lowered.
    pub(super) fn stop_unscheduled_to(&mut self, index: u32, now: Nanos) {
        let keys: Vec<Key> = self.stoppable.range((index, 0)..=(index, u64::MAX)).copied().collect();
        self.stop(keys, now);
    }

    fn stop(&mut self, keys: impl IntoIterator<Item = Key>, now: Nanos) {
        for key in keys {
            self.stoppable.remove(&key);
            if self.state(key) != Some(State::Unsched) {
                continue;
            }
            if let Some(message) = self.message(key) {
                message.state = State::Waiting;
                message.unscheduled_sent = message.transmitted;
            }
            self.stats.conversions += 1;
            self.unqueue(key);
            self.request_now(key, now);
            self.settle_pool(key.0, now);
        }
    }

    //= RDCC, Credit Requests and Grants: 9cfb8b2f
    //= RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: dbfbe6a9
    /// What [`Sender::pause`] does.
    pub(super) fn pause_message(&mut self, key: Key, now: Nanos) {
        let association = self.association(key.0);
        let is_up = association.is_up();
        let Some(message) = association.messages.get_mut(&key.1) else { return };
        if !matches!(message.state, State::Waiting | State::Scheduled) || message.paused {
            return;
        }
        message.paused = true;
        message.state = State::Waiting;
        // RDCC, CREDIT_RETURN: New Limit is not smaller than what was transmitted.
        let (limit, wire_id) = (message.transmitted, message.wire_id);
        let returned = message.grant_limit.saturating_sub(limit);
        message.grant_limit = message.grant_limit.min(limit);
        self.unqueue(key);
        self.timers.clear(Timer::Request(key));
        self.timers.clear(Timer::Lifetime(key));
        if returned > 0 && is_up {
            self.return_credit(key.0, wire_id, limit, returned);
        }
        self.set_unused(key, 0, now);
        self.settle_pool(key.0, now);
    }

    pub(super) fn return_credit(&mut self, index: u32, wire_id: u64, limit: u64, returned: u64) {
        let credit = CreditReturn { message_id: MessageId(wire_id), new_limit: Octets(limit) };
        self.stats.credit_returned = self.stats.credit_returned.saturating_add(returned);
        self.send(index, Flags::NONE, &RdccMessage::CreditReturn(credit));
    }

    /// What [`Sender::resume`] does.
    pub(super) fn resume_message(&mut self, key: Key, now: Nanos) {
        let association = self.association(key.0);
        let is_up = association.is_up();
        let Some(message) = association.messages.get_mut(&key.1).filter(|message| message.paused) else {
            return;
        };
        message.paused = false;
        if is_up {
            self.request_now(key, now);
            self.settle_pool(key.0, now);
        }
    }

    //= RDCC, Credit Requests and Grants: d3c17bd0
    //= RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: 8d856703
    /// The application gives a message up.
    pub(super) fn cancel_message(&mut self, key: Key, now: Nanos) {
        let Some(state) = self.state(key) else { return };
        if state != State::New && self.association(key.0).is_up() {
            self.send_cancel(key);
        }
        self.abort(key, Reason::APPLICATION_ABORT, now);
    }

    fn send_cancel(&mut self, key: Key) {
        let Some(wire_id) = self.message(key).map(|message| message.wire_id) else { return };
        let cancel = Cancel { message_id: MessageId(wire_id), reason: Reason::APPLICATION_ABORT };
        self.send(key.0, Flags::NONE, &RdccMessage::Cancel(cancel));
    }

    /// ABORTED: releases the state.
    pub(super) fn abort(&mut self, key: Key, reason: Reason, now: Nanos) {
        let association = self.association(key.0);
        let peer = association.peer;
        association.abandon_unscheduled(key.1, now);
        if let Some(message) = self.remove(key) {
            self.stats.messages_aborted += 1;
            let tag = message.spec.tag;
            self.events.push_back(SenderEvent::MessageAborted {
                peer,
                message: MessageId(key.1),
                tag,
                reason,
            });
        }
        self.leave_queue_pair(key, now);
        self.settle_pool(key.0, now);
        self.check_backlog(now);
    }

    /// Takes a message out of everything that knows it but its queue pair.
    pub(super) fn remove(&mut self, key: Key) -> Option<Message> {
        self.unqueue(key);
        self.stoppable.remove(&key);
        self.timers.clear(Timer::Request(key));
        self.timers.clear(Timer::Lifetime(key));
        self.account_unused(key, 0);
        let association = self.association(key.0);
        let message = association.messages.remove(&key.1)?;
        association.announced_anew.remove(&message.wire_id);
        if association.messages.is_empty() {
            self.release_shares(key.0);
        }
        Some(message)
    }

    /// Gives the message its place and its sequence numbers on its queue pair.
    pub(super) fn enter_queue_pair(&mut self, key: Key) {
        let association = self.association(key.0);
        let Some(qp) = association.messages.get(&key.1).and_then(Message::queue_pair) else { return };
        association.queue_pairs.entry(qp).or_default().order.push_back(key.1);
        self.number_posts(key.0, qp);
    }

    /// A message that ended with posts missing leaves a gap: those behind it move up. The receiver knows them under
    /// their old numbers and may have granted them credit, so each is given up and announced anew under a new Message
    /// ID: a grant for that one shows that the receiver knows the new numbers (our decision).
    pub(super) fn leave_queue_pair(&mut self, key: Key, now: Nanos) {
        let association = self.association(key.0);
        let mut left = None;
        for (&qp, queue_pair) in &mut association.queue_pairs {
            if let Some(place) = queue_pair.order.iter().position(|&id| id == key.1) {
                queue_pair.order.remove(place);
                queue_pair.note_reuse();
                left = Some(qp);
            }
        }
        let Some(qp) = left else { return };
        for id in self.number_posts(key.0, qp) {
            if self.association(key.0).is_up() {
                self.announce_anew((key.0, id), now);
            }
        }
        self.schedule_head(key.0, qp);
    }

    fn announce_anew(&mut self, key: Key, now: Nanos) {
        self.send_cancel(key);
        self.suspend(key, now);
        let association = self.association(key.0);
        association.abandon_unscheduled(key.1, now);
        let wire_id = association.next_message;
        association.next_message += 1;
        let Some(message) = association.messages.get_mut(&key.1) else { return };
        let pair = message.queue_pair().and_then(|qp| association.queue_pairs.get(&qp));
        message.own_credit_only = pair.is_some_and(|pair| pair.reuses(message.first_msn));
        let old = core::mem::replace(&mut message.wire_id, wire_id);
        message.unscheduled = false;
        association.announced_anew.remove(&old);
        association.announced_anew.insert(wire_id, key.1);
        self.request_now(key, now);
    }

    /// Numbers the posts still to be made on a queue pair; gives the messages whose first number changed.
    fn number_posts(&mut self, index: u32, qp: u32) -> Vec<u64> {
        let association = self.association(index);
        let unit = association.parameters.credit_unit;
        let Some(queue_pair) = association.queue_pairs.get(&qp) else { return Vec::new() };
        let mut next = u64::from(queue_pair.next_post);
        let mut changed = Vec::new();
        for &id in &queue_pair.order {
            let Some(message) = association.messages.get_mut(&id) else { continue };
            let first = next.wrapping_sub(message.posted(unit));
            let first = u32::try_from(first & u64::from(MSN_MASK)).unwrap_or_default();
            next = u64::from(first) + message.posts(unit);
            if message.first_msn != first {
                message.first_msn = first;
                changed.push(id);
            }
        }
        if let Some(queue_pair) = association.queue_pairs.get_mut(&qp) {
            queue_pair.announced = u32::try_from(next & u64::from(MSN_MASK)).unwrap_or_default();
        }
        changed
    }
}

/// Uniform over `[0, limit]`, by rejection, so that no value is favoured.
fn uniform(rng: &mut impl Rng, limit: u64) -> u64 {
    if limit == u64::MAX {
        return rng.next_u64();
    }
    let span = limit + 1;
    let fair = u64::MAX - u64::MAX % span;
    loop {
        let value = rng.next_u64();
        if value < fair {
            return value % span;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    //~ RDCC, Unscheduled Transmission: dcd81fe4
    /// RDCC, Unscheduled Transmission, rule 1: uniform over [0, J], both ends included.
    #[test]
    fn the_start_delay_covers_its_range_evenly() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let mut seen = [0u32; 9];
        for _ in 0..9000 {
            seen[usize::try_from(uniform(&mut rng, 8)).unwrap()] += 1;
        }
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
    }
}
