//! Which message may post next, and when.

use std::collections::BTreeSet;

use wire::rdcc::MessageId;
use wire::units::{Nanos, Octets};

use super::message::State;
use super::pool::POOL_ID;
use super::{Key, MSN_MASK, SendPermit, Sender, Timer};

/// Messages that may post, by time, and those whose time has come, by Traffic Class.
#[derive(Debug, Default)]
pub(super) struct SendQueue {
    paced: BTreeSet<(Nanos, Key)>,
    due: BTreeSet<(u8, Nanos, Key)>,
}

impl SendQueue {
    /// When the next post may be made; 0 for one that is due already.
    pub(super) fn next(&self) -> Option<Nanos> {
        let due = self.due.iter().map(|&(_, at, _)| at).next();
        due.or_else(|| self.paced.first().map(|&(at, _)| at))
    }

    pub(super) fn insert(&mut self, at: Nanos, key: Key) {
        self.paced.insert((at, key));
    }

    /// Removes a key whose class isn't known any more.
    pub(super) fn remove_any(&mut self, at: Nanos, key: Key) {
        for class in 0..8 {
            self.remove(at, class, key);
        }
    }

    fn remove(&mut self, at: Nanos, class: u8, key: Key) {
        if !self.paced.remove(&(at, key)) {
            self.due.remove(&(class, at, key));
        }
    }
}

impl Sender {
    /// The next permit to post data, if one is due at `now`: the transport posts exactly these octets now. Lower
    /// classes go first; each message keeps its Pacing Rate, all together the rate of the link.
    pub fn poll_send(&mut self, now: Nanos) -> Option<SendPermit> {
        if now < self.link_free_at {
            return None;
        }
        while let Some(&(at, key)) = self.queue.paced.first() {
            if at > now {
                break;
            }
            self.queue.paced.pop_first();
            if key.1 == POOL_ID {
                let class = self.pool_class(key.0, now);
                self.queue.due.insert((class, at, key));
            } else if let Some(message) = self.message(key) {
                let class = message.spec.class;
                self.queue.due.insert((class, at, key));
            }
        }
        while let Some((_, _, key)) = self.queue.due.pop_first() {
            if key.1 == POOL_ID {
                match self.post_from_pool(key.0, now) {
                    None => continue,
                    permit => return permit,
                }
            }
            if let Some(message) = self.message(key) {
                message.queued_at = None;
                // A caller that is late may find the Lifetime elapsed before the timer said so.
                if message.state == State::Scheduled && message.usable_until <= now {
                    self.lifetime_elapsed(key, now);
                    continue;
                }
                return self.post(key, false, now);
            }
        }
        None
    }

    //= RDCC, Unscheduled Transmission: 24170a25
    //= RDCC, Credit Requests and Grants: 308be8c7
    //= RDCC, Traffic Classes and Pool Credit: 07476ba2
    //= RDCC, Transport Bindings: 8fd1f8de
    pub(super) fn post(&mut self, key: Key, from_pool: bool, now: Nanos) -> Option<SendPermit> {
        let association = &mut self.associations[key.0 as usize];
        let unit = association.parameters.credit_unit;
        let peer = association.peer;
        let message = association.messages.get_mut(&key.1)?;
        let octets = message.next_post(unit);
        let scheduled = message.state == State::Scheduled;
        // Rule 2 of Credit Requests and Grants, checked once more where the octets leave.
        let unscheduled = message.state == State::Unsched && message.unscheduled && message.start_at <= now;
        if !(scheduled && (from_pool || message.covers_next_post(unit)) || unscheduled) {
            self.stats.invariant_violations += 1;
            return None;
        }
        let offset = message.transmitted;
        let msn = message.first_msn.wrapping_add(u32::try_from(message.posted(unit)).unwrap_or_default());
        message.transmitted += octets;
        if scheduled {
            if !from_pool {
                message.pacer.sent(octets, now);
            }
            self.stats.scheduled_octets += octets;
        } else {
            message.unscheduled_sent = message.transmitted;
            self.stats.unscheduled_octets += octets;
        }
        let permit = SendPermit {
            peer,
            message: MessageId(key.1),
            tag: message.spec.tag,
            offset,
            octets: u32::try_from(octets).unwrap_or(u32::MAX),
            length: message.spec.length.0,
            binding: message.spec.binding,
            msn: msn & MSN_MASK,
            scheduled,
            class: message.spec.class,
            last: message.transmitted == message.spec.length.0,
        };
        let on_link = Octets(octets + self.config.unit_overhead.0);
        let busy = self.config.line_rate.transmission_time(on_link).unwrap_or(Nanos(0));
        self.link_free_at = now + busy;
        if from_pool {
            self.pool_sent(key, octets, now);
        }
        self.posted(key, from_pool, now);
        self.settle_pool(key.0, now);
        Some(permit)
    }

    //= RDCC, Sender Message State Machine: c32ce1b3 51b13510 5c5ad919
    /// What a post changes: the queue pair's count, the credit, the state.
    fn posted(&mut self, key: Key, from_pool: bool, now: Nanos) {
        let association = &mut self.associations[key.0 as usize];
        let unit = association.parameters.credit_unit;
        let Some(message) = association.messages.get_mut(&key.1) else { return };
        let complete = message.transmitted == message.spec.length.0;
        let qp = message.queue_pair();
        if let Some(queue_pair) = qp.and_then(|qp| association.queue_pairs.get_mut(&qp)) {
            queue_pair.advance();
            if complete {
                queue_pair.order.pop_front();
            }
        }
        // The pool's messages wait or go on together: `settle_pool`.
        let exhausted = message.state == State::Scheduled && !message.covers_next_post(unit) && !from_pool;
        if complete {
            self.stoppable.remove(&key);
            message.state = State::Drained;
        } else if exhausted {
            message.state = State::Waiting;
        }
        // Less than a post's worth of credit can't be used, so it isn't backlog.
        let unused = match message.state {
            State::Scheduled => message.grant_limit.saturating_sub(message.transmitted),
            _ => 0,
        };
        if complete || exhausted {
            self.timers.clear(Timer::Lifetime(key));
            self.await_answer(key, now);
        } else {
            self.schedule(key);
        }
        self.set_unused(key, unused, now);
        if let (true, Some(qp)) = (complete, qp) {
            self.schedule_head(key.0, qp);
        }
    }

    /// Puts the message where its next post belongs in the queue, or takes it out.
    pub(super) fn schedule(&mut self, key: Key) {
        let at = self.next_post_time(key);
        let Some(message) = self.message(key) else { return };
        if message.queued_at == at {
            return;
        }
        let (before, class) = (message.queued_at, message.spec.class);
        message.queued_at = at;
        if let Some(before) = before {
            self.queue.remove(before, class, key);
        }
        if let Some(at) = at {
            self.queue.insert(at, key);
        }
    }

    pub(super) fn unqueue(&mut self, key: Key) {
        let Some(message) = self.message(key) else { return };
        let class = message.spec.class;
        if let Some(at) = message.queued_at.take() {
            self.queue.remove(at, class, key);
        }
    }

    /// The first message of a queue pair may have become free to post.
    pub(super) fn schedule_head(&mut self, index: u32, qp: u32) {
        let head = self.association(index).queue_pairs.get(&qp).and_then(|pair| pair.order.front().copied());
        if let Some(id) = head {
            self.schedule((index, id));
        }
    }

    fn next_post_time(&mut self, key: Key) -> Option<Nanos> {
        let association = self.association(key.0);
        let unit = association.parameters.credit_unit;
        let message = association.messages.get(&key.1)?;
        if message.queue_pair().is_some_and(|qp| !association.is_first(qp, key.1)) {
            return None;
        }
        match message.state {
            State::Unsched => Some(message.start_at),
            State::Scheduled if message.covers_next_post(unit) => {
                Some(message.pacer.next(message.next_post(unit), unit))
            }
            _ => None,
        }
    }
}
