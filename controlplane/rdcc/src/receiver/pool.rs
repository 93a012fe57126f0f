//! RDCC, Traffic Classes and Pool Credit: the receiver's side of pool grants.
//!
//! A pool stands among the messages as one more, under Message ID 0: as long as what its members still need, in the
//! class of the most urgent of them, with the sum of their weights. It gets credit as a message does; its members get
//! none of their own. What arrives for a member under credit counts as received by the pool.
//!
//! The sender's count of what it sent and the receiver's of what came part for good when a message is given up with
//! octets on their way. The receiver charges the difference, which is on the safe side, and gives a pool up when credit
//! of it expires: its members get grants of their own from then on (our decision).

use wire::units::Nanos;

use super::Receiver;
use super::bindings::{Carrier, Lane, is_before};
use super::message::Inbound;

/// Stands for the pool where a Message ID is asked for.
pub(super) const POOL_ID: u64 = 0;

/// Ours: so many requests of a member while its pool has credit, and none of its octets between them, are in vain.
const VAIN_REQUESTS: u8 = 3;
/// Ours: numbers of messages that were given up are remembered of so many queue pairs an association.
const REMEMBERED_QUEUE_PAIRS: usize = 64;

impl Receiver {
    /// The pool of an association, if it has one.
    pub(super) fn pool_of(&self, index: u32) -> Option<u32> {
        self.associations.get(index as usize)?.as_ref()?.messages.get(&POOL_ID).copied()
    }

    /// The pool that a message gets its credit from.
    pub(super) fn pool_of_member(&self, slot: u32) -> Option<u32> {
        let message = self.inbound(slot).filter(|message| message.pooled)?;
        self.pool_of(message.association)
    }

    //= RDCC, Credit Requests and Grants: f92f1bc6
    /// Makes a message a member of its association's pool, where pools are used: the receiver is configured so, the
    /// sender has the POOL capability, and no pool of the association had to be given up.
    pub(super) fn join_pool(&mut self, slot: u32, now: Nanos) {
        let Some(index) = self.inbound(slot).map(|message| message.association) else { return };
        let pools = self.config.pool_grants;
        if !pools || !self.association_mut(index).is_some_and(|association| association.takes_pools) {
            return;
        }
        if let Some(message) = self.inbound_mut(slot) {
            message.pooled = true;
        }
        if self.pool_of(index).is_none() {
            let pool = Inbound { pool: true, ..Inbound::new(index, POOL_ID, 0, Carrier::none(), now) };
            let slot = self.place(pool);
            if let Some(association) = self.association_mut(index) {
                association.messages.insert(POOL_ID, slot);
            }
            self.pools += 1;
        }
    }

    /// Notes the numbers of a message that was given up. Ours: of so many queue pairs an association; of one that was
    /// forgotten a message joins the pool, and leaves it when its sender has asked in vain.
    pub(super) fn note_given_up(&mut self, index: u32, carrier: &Carrier) {
        let Some(association) = self.association_mut(index) else { return };
        if !matches!(carrier.lane, Lane::QueuePair(_)) {
            return;
        }
        let end = carrier.end();
        if let Some(known) = association.given_up.get_mut(&carrier.lane) {
            if is_before(*known, end) {
                *known = end;
            }
        } else if association.given_up.len() < REMEMBERED_QUEUE_PAIRS {
            association.given_up.insert(carrier.lane, end);
        }
    }

    /// Whether a message takes over numbers of one that was given up: its sender waits for a grant for it, which shows
    /// that they are known as its own, and doesn't use a pool's credit (our decision).
    pub(super) fn reuses_numbers(&mut self, index: u32, carrier: &Carrier) -> bool {
        let Some(association) = self.association_mut(index) else { return false };
        let Some(&end) = association.given_up.get(&carrier.lane) else { return false };
        let reuses = carrier.begins_before(end);
        if !reuses {
            association.given_up.remove(&carrier.lane);
        }
        reuses
    }

    /// A member's sender asks again and again although the pool has credit: it can't use it, since it knows of a message
    /// on that queue pair that never was announced here. The member gets grants of its own from then on.
    pub(super) fn leave_pool_in_vain(&mut self, slot: u32, now: Nanos) {
        let Some(pool) = self.pool_of_member(slot) else { return };
        let has_credit = self.inbound(pool).is_some_and(|pool| pool.live);
        let Some(message) = self.inbound_mut(slot).filter(|_| has_credit) else { return };
        message.asked_in_vain += 1;
        if message.asked_in_vain < VAIN_REQUESTS {
            return;
        }
        message.pooled = false;
        let index = message.association;
        self.settle_pool(index, now);
        self.settle(slot, now);
    }

    /// A member's sender asked for credit.
    pub(super) fn pool_request(&mut self, index: u32, repeated: bool, now: Nanos) {
        let Some(slot) = self.pool_of(index) else { return };
        if let Some(pool) = self.inbound_mut(slot) {
            pool.wants = true;
        }
        self.settle_pool(index, now);
        if repeated && self.inbound(slot).is_some_and(|pool| pool.live) {
            self.refresh_in_place(slot, now);
        }
    }

    /// Brings length, class, deadline and weight of a pool in line with its members.
    pub(super) fn settle_pool(&mut self, index: u32, now: Nanos) {
        let Some(slot) = self.pool_of(index) else { return };
        let Some(association) = self.associations.get(index as usize).and_then(Option::as_ref) else {
            return;
        };
        let members = association.messages.values().filter_map(|&member| self.inbound(member));
        let (mut needed, mut weight, mut class, mut deadline) = (0u64, 0, 7, Nanos::MAX);
        for member in members.filter(|member| member.pooled && member.pool_need() > 0) {
            needed = needed.saturating_add(member.pool_need());
            weight += member.weight;
            class = class.min(member.class);
            deadline = deadline.min(member.deadline);
        }
        // Its place in line follows from these; its weight counts in the shares.
        self.unready(slot);
        self.reweigh(slot, weight.max(1));
        if let Some(pool) = self.inbound_mut(slot) {
            pool.length = pool.received.saturating_add(needed);
            (pool.class, pool.deadline) = (class, deadline);
        }
        self.settle(slot, now);
    }

    /// Octets of a member arrived under credit; gives how many of them the pool's credit doesn't cover.
    pub(super) fn pool_received(&mut self, slot: u32, octets: u64) -> u64 {
        let Some(pool) = self.inbound_mut(slot) else { return octets };
        let covered = octets.min(pool.issued.saturating_sub(pool.received));
        pool.received += covered;
        self.recount(slot);
        octets - covered
    }

    /// Credit of a pool expired: it is given up. What was sent under it may still come again, late, if the transport lost it.
    pub(super) fn retire_pool(&mut self, slot: u32, now: Nanos) {
        let Some(pool) = self.inbound(slot) else { return };
        let (index, left) = (pool.association, pool.granted());
        self.remove(slot, now);
        let Some(association) = self.association_mut(index) else { return };
        association.takes_pools = false;
        association.pool_left = left;
        let members: Vec<u32> = association.messages.values().copied().collect();
        for &member in &members {
            if let Some(message) = self.inbound_mut(member) {
                message.pooled = false;
            }
        }
        for member in members {
            self.settle(member, now);
        }
    }

    /// Octets of a message that is no member any more, or never was, came beyond its own credit: what its sender may have
    /// let go under the pool's is no offence. Gives the rest.
    pub(super) fn covered_by_pool(&mut self, slot: u32, total: u64, excess: u64, now: Nanos) -> u64 {
        let Some(index) = self.inbound(slot).map(|message| message.association) else { return excess };
        let Some(pool) = self.pool_of(index).filter(|_| excess > 0) else { return excess };
        let rest = self.pool_received(pool, excess);
        if let Some(message) = self.inbound_mut(slot) {
            message.tolerated = message.tolerated.max(total - rest);
        }
        self.settle_pool(index, now);
        rest
    }

    /// `total` octets of a message came, `excess` of them beyond its credit: what a pool that was given up may have
    /// let go is no offence. Gives the rest.
    pub(super) fn tolerate(&mut self, slot: u32, total: u64, excess: u64) -> u64 {
        let Some(index) = self.inbound(slot).map(|message| message.association) else { return excess };
        let Some(association) = self.association_mut(index).filter(|association| association.pool_left > 0)
        else {
            return excess;
        };
        let covered = excess.min(association.pool_left);
        association.pool_left -= covered;
        if let Some(message) = self.inbound_mut(slot).filter(|_| covered > 0) {
            message.tolerated = total - (excess - covered);
        }
        excess - covered
    }

    /// Gives a message another weight.
    fn reweigh(&mut self, slot: u32, weight: u32) {
        let Some(message) = self.inbound(slot).filter(|message| message.weight != weight) else { return };
        let (active, held) = (message.active, message.held());
        self.hold(slot, super::shares::Held::default());
        self.set_active(slot, false);
        if let Some(message) = self.inbound_mut(slot) {
            message.weight = weight;
        }
        self.set_active(slot, active);
        self.hold(slot, held);
    }

    /// Puts a message into a free slot.
    pub(super) fn place(&mut self, message: Inbound) -> u32 {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.messages.push(None);
            u32::try_from(self.messages.len() - 1).unwrap_or(u32::MAX)
        });
        self.messages[slot as usize] = Some(message);
        slot
    }
}
