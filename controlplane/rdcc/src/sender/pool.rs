//! RDCC, Traffic Classes and Pool Credit: credit that an association's scheduled messages share.
//!
//! A pool grant has no message of its own. In the send queue and among the timers the pool stands under Message ID 0,
//! which no message has. A message uses its own credit first.

use wire::rdcc::{CreditGrant, CreditReturn, Flags, Message as RdccMessage, MessageId};
use wire::units::{Micros, Nanos, Octets};

use super::association::Association;
use super::message::{Message, State};
use super::pacer::Pacer;
use super::{Key, SendPermit, Sender, Timer};

/// Stands for the pool where a Message ID is asked for.
pub(super) const POOL_ID: u64 = 0;

/// The pool of one association.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// The largest Grant Limit of a pool grant: octets over all scheduled messages.
    limit: u64,
    /// Octets posted under pool grants.
    transmitted: u64,
    /// Until when the credit is usable.
    usable_until: Nanos,
    pacer: Pacer,
    queued_at: Option<Nanos>,
    /// The part that counts in the backlog.
    unused: u64,
    /// By class: the service of the message served last, from which a new one starts.
    served: [u64; 8],
}

impl Pool {
    fn left(&self) -> u64 {
        self.limit - self.transmitted
    }
}

impl Association {
    /// Whether the message may post its next unit under pool credit.
    fn pool_covers(&self, message: &Message, now: Nanos) -> bool {
        let unit = self.parameters.credit_unit;
        let scheduled = matches!(message.state, State::Waiting | State::Scheduled) && !message.paused;
        scheduled
            && !message.own_credit_only
            && !message.own_credit(unit, now)
            && message.next_post(unit) <= self.pool.left()
    }

    /// The message that posts next: the lowest class, and in it the one with the least service for its weight.
    fn pool_turn(&self, now: Nanos) -> Option<(u8, u64)> {
        let candidates = self.messages.iter().filter(|&(&id, message)| {
            self.pool_covers(message, now) && message.queue_pair().is_none_or(|qp| self.is_first(qp, id))
        });
        let turn = candidates.map(|(&id, message)| (message.spec.class.min(7), message.service, id)).min();
        turn.map(|(class, _, id)| (class, id))
    }

    /// Whether a message is the one that may post on a queue pair.
    pub(super) fn is_first(&self, qp: u32, id: u64) -> bool {
        self.queue_pairs.get(&qp).and_then(|pair| pair.order.front()) == Some(&id)
    }
}

impl Sender {
    //= RDCC, Credit Requests and Grants: ee9c1c3f
    //= RDCC, CREDIT_GRANT: bfe331a3
    /// A grant with the POOL flag.
    pub(super) fn pool_grant(&mut self, index: u32, grant: &CreditGrant, now: Nanos) {
        let association = &mut self.associations[index as usize];
        if grant.pacing_rate.0 == 0 || grant.message_id != MessageId(POOL_ID) {
            self.stats.datagrams_ignored += 1;
            return;
        }
        self.stats.grants += 1;
        let lifetime = association.parameters.grant_lifetime;
        let lifetime = if grant.lifetime == Micros(0) { lifetime } else { grant.lifetime };
        let pool = &mut association.pool;
        let more = grant.grant_limit.0.saturating_sub(pool.limit);
        self.stats.credit_received = self.stats.credit_received.saturating_add(more);
        pool.limit = pool.limit.max(grant.grant_limit.0);
        pool.usable_until = now + lifetime.nanos();
        pool.pacer.set_rate(grant.pacing_rate, now);
        let until = pool.usable_until;
        self.timers.set(Timer::Lifetime((index, POOL_ID)), until);
        self.settle_pool(index, now);
    }

    /// Brings the states of the messages that live on pool credit, its place in the queue and its part of the backlog in
    /// line with what is left of it.
    pub(super) fn settle_pool(&mut self, index: u32, now: Nanos) {
        let association = self.association(index);
        if association.pool.limit == 0 {
            return;
        }
        let unit = association.parameters.credit_unit;
        let usable = association.pool.usable_until > now;
        let mut exhausted = Vec::new();
        let mut covered = Vec::new();
        let mut needed = 0u64;
        for (&id, message) in &association.messages {
            if matches!(message.state, State::Waiting | State::Scheduled) && !message.own_credit_only {
                needed = needed.saturating_add(message.spec.length.0 - message.transmitted);
            }
            let covers = usable && association.pool_covers(message, now);
            match message.state {
                State::Waiting if covers => covered.push(id),
                State::Scheduled if !covers && !message.own_credit(unit, now) => exhausted.push(id),
                _ => {}
            }
        }
        for id in covered {
            let association = self.association(index);
            let rtt = association.rtt;
            if let Some(message) = association.messages.get_mut(&id) {
                message.state = State::Scheduled;
                message.repetitions = rtt.doublings_beyond(now - message.waiting_since);
            }
            self.timers.clear(Timer::Request((index, id)));
        }
        for id in exhausted {
            if !self.own_lifetime_elapsed((index, id), now) {
                self.await_answer((index, id), now);
            }
        }
        self.return_needless_pool_credit(index);
        // Credit beyond what all messages need can't be used, whatever a receiver says, so it isn't backlog.
        let left = if usable { self.association(index).pool.left() } else { 0 };
        self.account_pool(index, left.min(needed));
        self.schedule_pool(index, now);
        self.check_backlog(now);
    }

    //= RDCC, Credit Requests and Grants: 9cfb8b2f
    /// Without a scheduled message there is nobody to use what is left of the pool.
    fn return_needless_pool_credit(&mut self, index: u32) {
        let association = self.association(index);
        let users = |message: &Message| {
            matches!(message.state, State::Waiting | State::Scheduled | State::New)
                && !message.own_credit_only
        };
        if association.pool.left() == 0 || association.messages.values().any(users) || !association.is_up() {
            return;
        }
        let pool = &mut association.pool;
        let returned = pool.left();
        pool.limit = pool.transmitted;
        let credit = CreditReturn { message_id: MessageId(POOL_ID), new_limit: Octets(pool.transmitted) };
        self.stats.credit_returned = self.stats.credit_returned.saturating_add(returned);
        self.timers.clear(Timer::Lifetime((index, POOL_ID)));
        self.send(index, Flags::NONE, &RdccMessage::CreditReturn(credit));
    }

    //= RDCC, Credit Requests and Grants: 398e555d 13ed15f9
    /// The Lifetime of the newest pool grant is over: its credit must not be used any more.
    pub(super) fn pool_lifetime_elapsed(&mut self, index: u32, now: Nanos) {
        let association = self.association(index);
        if association.pool.usable_until > now {
            return;
        }
        let unit = association.parameters.credit_unit;
        let users = association
            .messages
            .iter()
            .filter(|(_, message)| message.state == State::Scheduled && !message.own_credit(unit, now));
        let users: Vec<u64> = users.map(|(&id, _)| id).collect();
        let left = self.association(index).pool.left();
        self.stats.credit_expired = self.stats.credit_expired.saturating_add(left);
        self.account_pool(index, 0);
        self.schedule_pool(index, now);
        for id in users {
            if !self.own_lifetime_elapsed((index, id), now) {
                self.request_now((index, id), now);
            }
        }
        self.check_backlog(now);
    }

    /// A SCHEDULED message has no credit left: it waits. If it has credit of its own whose Lifetime is over at this very
    /// time, the message is handled as that timer would; then the result is true.
    fn own_lifetime_elapsed(&mut self, key: Key, now: Nanos) -> bool {
        let unit = self.association(key.0).parameters.credit_unit;
        let Some(message) = self.message(key).filter(|message| message.state == State::Scheduled) else {
            return true;
        };
        if message.covers_next_post(unit) {
            self.lifetime_elapsed(key, now);
            return true;
        }
        message.state = State::Waiting;
        false
    }

    /// Forgets the pool: its association ended.
    pub(super) fn drop_pool(&mut self, index: u32, now: Nanos) {
        self.account_pool(index, 0);
        self.unqueue_pool(index);
        self.timers.clear(Timer::Lifetime((index, POOL_ID)));
        self.association(index).pool = Pool::default();
        self.check_backlog(now);
    }

    /// Notes a post under pool credit.
    pub(super) fn pool_sent(&mut self, key: Key, octets: u64, now: Nanos) {
        let association = &mut self.associations[key.0 as usize];
        let pool = &mut association.pool;
        pool.transmitted += octets;
        pool.pacer.sent(octets, now);
        let Some(message) = association.messages.get_mut(&key.1) else { return };
        let class = usize::from(message.spec.class.min(7));
        let start = message.service.max(pool.served[class]);
        pool.served[class] = start;
        // Scaled, so that a heavy message's small posts count.
        message.service = start + (octets << 8) / u64::from(message.spec.weight.max(1));
    }

    //= RDCC, Traffic Classes and Pool Credit: 7d0d3db0
    /// The pool's turn has come: posts of the message whose turn it is.
    pub(super) fn post_from_pool(&mut self, index: u32, now: Nanos) -> Option<SendPermit> {
        let association = self.association(index);
        association.pool.queued_at = None;
        if association.pool.usable_until <= now {
            self.pool_lifetime_elapsed(index, now);
            return None;
        }
        let (_, id) = association.pool_turn(now)?;
        self.post((index, id), true, now)
    }

    /// Puts the pool where its next post belongs in the queue.
    pub(super) fn schedule_pool(&mut self, index: u32, now: Nanos) {
        let association = self.association(index);
        if association.pool.limit == 0 && association.pool.queued_at.is_none() {
            return;
        }
        let unit = association.parameters.credit_unit;
        let turn = if association.pool.unused > 0 { association.pool_turn(now) } else { None };
        self.unqueue_pool(index);
        if turn.is_some() {
            let pool = &mut self.association(index).pool;
            let at = pool.pacer.next(unit, unit);
            pool.queued_at = Some(at);
            self.queue.insert(at, (index, POOL_ID));
        }
    }

    fn unqueue_pool(&mut self, index: u32) {
        if let Some(at) = self.association(index).pool.queued_at.take() {
            self.queue.remove_any(at, (index, POOL_ID));
        }
    }

    /// The class in which a pool whose time has come waits for the link.
    pub(super) fn pool_class(&mut self, index: u32, now: Nanos) -> u8 {
        self.association(index).pool_turn(now).map_or(7, |(class, _)| class)
    }

    fn account_pool(&mut self, index: u32, unused: u64) {
        let association = &mut self.associations[index as usize];
        let before = core::mem::replace(&mut association.pool.unused, unused);
        self.account(index, before, unused);
    }
}
