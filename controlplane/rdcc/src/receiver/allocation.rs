//! RDCC, Credit Allocation: which message gets credit, how much of it, and at what rate.

use wire::rdcc::{CreditGrant, Flags, Message as RdccMessage, MessageId};
use wire::units::{MbitPerSec, Micros, Nanos, Octets};

use super::bindings::Lane;
use super::message::{Inbound, Turn};
use super::shares::Held;
use super::totals::WORTH_LOWERING;
use super::{Receiver, Timer};

/// Ours: a grant gives up to this part of `G_s` at a time, at least one and at most [`LARGEST_QUANTUM`] Credit Units,
/// which keeps the number of grants down without holding much back.
const QUANTUM_DIVISOR: u64 = 16;
const LARGEST_QUANTUM: u64 = 4;
/// Ours: the credit clock lets this many Credit Units follow at once.
const CLOCK_BURST_UNITS: u64 = 4;
/// Ours: first grants may go ahead of the credit clock by this part of `G_s`, ...
const NEWCOMERS_DIVISOR: u64 = 4;
/// ... which is given back at this part of the link's rate.
const NEWCOMERS_REFILL: u64 = 4;
/// A message starts with all but 1/8 of its share: with half of it, the last of a few short messages lags behind.
const WORTH_WAITING: u64 = 8;
/// Ours: a message gets credit again when a quarter of its window is free; with half of it, a window of a few Credit
/// Units is too often too empty to keep the link busy.
const REFILL_DIVISOR: u64 = 4;

impl Receiver {
    fn unit(&self) -> u64 {
        self.config.credit_unit.0
    }

    fn quantum(&self) -> u64 {
        (self.budget.scheduled_limit() / self.unit() / QUANTUM_DIVISOR).clamp(1, LARGEST_QUANTUM)
    }

    /// How long the link is busy with `octets` of payload.
    pub(super) fn link_time(&self, octets: u64) -> Nanos {
        let capacity = u32::try_from(self.shares.capacity()).unwrap_or(u32::MAX);
        MbitPerSec(capacity).transmission_time(Octets(octets)).unwrap_or(Nanos(0))
    }

    /// Unscheduled octets were announced: they take their time on the link too, so credit leaves room for them.
    pub(super) fn charge_link(&mut self, slot: u32, octets: u64, now: Nanos) {
        let most = now + self.link_time(self.config.budget.0);
        self.credit_clock = (self.credit_clock.max(now) + self.link_time(octets)).min(most);
        let until = self.credit_clock;
        if let Some(message) = self.inbound_mut(slot) {
            message.charged_until = until;
        }
    }

    /// Such octets don't come: what of their time on the link hasn't passed is free again.
    pub(super) fn discharge_link(&mut self, slot: u32, octets: u64, now: Nanos) {
        let time = self.link_time(octets);
        let Some(message) = self.inbound_mut(slot) else { return };
        let back = time.min(message.charged_until - now);
        message.charged_until = message.charged_until - back;
        self.credit_clock = self.credit_clock - back;
    }

    /// Gives credit as long as somebody wants it and budget, link and rates allow.
    pub(super) fn allocate(&mut self, now: Nanos) {
        self.clock_blocks_until = None;
        if self.quiet {
            return;
        }
        while let Some(&first) = self.ready.first() {
            let burst = self.link_time(CLOCK_BURST_UNITS * self.unit());
            let opens = self.credit_clock.saturating_sub(burst);
            let waits = opens > now;
            let newcomer = self.newcomer_beside(&first).filter(|_| waits && self.newcomers_open(now));
            let Some(turn) = newcomer.or((!waits).then_some(first)) else {
                self.clock_blocks_until = Some(opens);
                return;
            };
            let Some(message) = self.inbound(turn.slot) else {
                self.ready.remove(&turn);
                self.newcomers.remove(&turn);
                continue;
            };
            // What a reclaimed grant gave revives with any new one, so all of it is charged again.
            let revived = if message.live { 0 } else { message.granted() };
            let held = message.scheduled + revived;
            let rest = message.rest();
            let room = self.window(turn.slot, now).saturating_sub(held);
            let step = self.quantum() * self.unit();
            // A message without any credit always gets one unit; a revived grant may be all there is to give.
            let fresh = rest.min(step.min(whole_units(room, self.unit())));
            let fresh = if held == 0 { fresh.max(rest.min(self.unit())) } else { fresh };
            if fresh == 0 && revived == 0 {
                self.unready(turn.slot);
                continue;
            }
            let Some(fresh) = self.within_cap(turn.slot, revived, fresh) else { continue };
            let free = self.budget.free_scheduled();
            if revived > free {
                return;
            }
            // What revives may be all that fits; fresh credit waits until a worthwhile grant of it does.
            let fresh = if revived > 0 { fresh.min(whole_units(free - revived, self.unit())) } else { fresh };
            if revived + fresh > free {
                return;
            }
            self.lower_siblings(turn.slot, 1, 1, now);
            if self.room_beside_siblings(turn.slot, now) == 0 {
                // Its sender's cap isn't even 1 Mbit/s for each of its messages.
                self.wait_for_siblings(turn.slot);
                continue;
            }
            let Some(held) = self.rate_for(turn.slot, now) else { return };
            let limit = self.limit_after(turn.slot, fresh);
            self.grant(turn.slot, limit, held, newcomer.is_some(), now);
        }
    }

    /// A message that never had a grant and is as urgent as the first in line.
    fn newcomer_beside(&self, first: &Turn) -> Option<Turn> {
        self.newcomers.first().filter(|turn| turn.is_as_urgent_as(first)).copied()
    }

    /// How long the link takes for what newcomers may get ahead of the credit clock.
    fn newcomers_lead(&self) -> Nanos {
        Nanos(self.link_time(self.budget.scheduled_limit() / NEWCOMERS_DIVISOR).0 * NEWCOMERS_REFILL)
    }

    fn newcomers_open(&self, now: Nanos) -> bool {
        self.newcomer_clock.saturating_sub(self.newcomers_lead()) <= now
    }

    //= RDCC, Credit Requests and Grants: 02255bbe
    /// The Grant Limit that gives `fresh` more octets: a whole number of Credit Units, or the message's end.
    fn limit_after(&self, slot: u32, fresh: u64) -> u64 {
        let Some(message) = self.inbound(slot) else { return 0 };
        let from = message.issued.max(message.base());
        if fresh == 0 {
            return message.issued;
        }
        let limit = (from + fresh).min(message.length);
        if limit == message.length { limit } else { (limit / self.unit() * self.unit()).max(message.issued) }
    }

    /// How much credit a message may hold: its rate's share of `G_s`, in whole units, rounded up.
    fn window(&mut self, slot: u32, now: Nanos) -> u64 {
        let target = u128::from(self.target(slot, now).rate);
        let share =
            u128::from(self.budget.scheduled_limit()) * target / u128::from(self.shares.capacity().max(1));
        let units = u64::try_from(share).unwrap_or(u64::MAX).div_ceil(self.unit());
        // Less than a unit of a pool's credit may be left over that no message can use.
        let spare = u64::from(self.inbound(slot).is_some_and(|message| message.pool));
        (units + spare) * self.unit()
    }

    /// The rate that a message should have now, and what its sender's cap leaves of its fair share.
    pub(super) fn target(&mut self, slot: u32, now: Nanos) -> Held {
        let Some(message) = self.inbound(slot) else { return Held::default() };
        let (weight, index, own_slack) = (message.weight, message.association, message.slack);
        let fair = self.shares.fair(weight).max(self.aimd.minimum.min(self.shares.capacity()));
        let active = self.association_mut(index).map_or(1, |association| association.active.max(1));
        let cap = self.sender_total(index, now) / active;
        if cap < fair {
            return Held { rate: cap.max(1), slack: fair - cap };
        }
        // Its own slack of before is no gift to itself.
        let extra = self.shares.extra(weight).saturating_sub(own_slack);
        Held { rate: (fair + extra).min(cap), slack: 0 }
    }

    //= RDCC, Credit Allocation: 3b6e70aa
    /// A rate for a message, with the sum of all within the link; `None` when it has to wait for its turn.
    fn rate_for(&mut self, slot: u32, now: Nanos) -> Option<Held> {
        let target = self.target(slot, now);
        let own = self.inbound(slot)?.rate;
        let least = target.rate.min(self.aimd.minimum);
        // Most of the share is enough to begin with: the rest follows as the others' next grants carry their lower rates.
        let wanted = (target.rate - target.rate / WORTH_WAITING).max(least);
        self.lower_siblings(slot, wanted, least, now);
        while self.shares.room(own) < wanted {
            let (rate, other) = self.shares.largest_beside(slot)?;
            let share = self.target(other, now);
            if share.rate + share.rate / WORTH_LOWERING >= rate {
                break;
            }
            self.refresh(other, share, now);
        }
        let rate = target.rate.min(self.shares.room(own)).min(self.room_beside_siblings(slot, now));
        (rate >= least).then_some(Held { rate, slack: target.slack })
    }

    /// Issues a grant up to `limit`; `ahead` of the credit clock if it is the first one.
    fn grant(&mut self, slot: u32, limit: u64, held: Held, ahead: bool, now: Nanos) {
        let Some(message) = self.inbound_mut(slot) else { return };
        let from = message.issued.max(message.base());
        let fresh = limit.saturating_sub(from);
        if fresh > 0 && message.probe.is_none() {
            // The first of the fresh octets goes when the credit held before is used up at the sender's pace.
            let held_before = message.scheduled.saturating_mul(8000) / held.rate.max(1);
            message.probe = Some((from + 1, now, Nanos(held_before)));
        }
        message.issued = message.issued.max(limit);
        message.live = true;
        let turn = message.turn.take();
        let weight = u64::from(message.weight.max(1));
        let class = usize::from(turn.map_or(message.class, |turn| turn.class).min(7));
        let start = message.service;
        // Scaled, so that small grants to heavy messages count.
        message.service += (fresh << 8) / weight;
        if let Some(turn) = turn {
            self.ready.remove(&turn);
            self.newcomers.remove(&turn);
        }
        self.served[class] = self.served[class].max(start);
        self.stats.credit_granted += fresh;
        let time = self.link_time(fresh);
        if ahead {
            self.newcomer_clock = self.newcomer_clock.max(now) + Nanos(time.0 * NEWCOMERS_REFILL);
        } else {
            self.credit_clock = self.credit_clock.max(now) + time;
        }
        self.recount(slot);
        self.hold(slot, held);
        self.send_grant(slot, now);
        self.settle(slot, now);
        self.pass_on(slot, now);
    }

    /// A message with all the credit it needs lets the next of its queue pair get some.
    fn pass_on(&mut self, slot: u32, now: Nanos) {
        let Some(message) = self.inbound(slot).filter(|message| !message.needs_credit()) else { return };
        let (index, lane) = (message.association, message.carrier.lane);
        if let Some(from) = self.association_mut(index).map(|association| association.from.ip()) {
            self.settle_lane(from, lane, now);
        }
    }

    /// Repeats the limit with a new rate and lifetime; it costs no budget.
    pub(super) fn refresh(&mut self, slot: u32, held: Held, now: Nanos) {
        self.hold(slot, held);
        self.stats.refreshes += 1;
        self.send_grant(slot, now);
    }

    /// Refreshes a message's grant at its present share, as far as there is room.
    pub(super) fn refresh_in_place(&mut self, slot: u32, now: Nanos) {
        let Some(message) = self.inbound(slot) else { return };
        let own = message.rate;
        let target = self.target(slot, now);
        let room = self.shares.room(own).min(self.room_beside_siblings(slot, now));
        let rate = target.rate.min(room).max(1);
        self.refresh(slot, Held { rate, slack: target.slack }, now);
    }

    pub(super) fn hold(&mut self, slot: u32, held: Held) {
        let Some(message) = self.messages.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let before = message.held();
        (message.rate, message.slack) = (held.rate, held.slack);
        self.shares.change(slot, message.weight, before, held);
        let index = message.association;
        if let Some(association) = self.association_mut(index) {
            association.rate = association.rate - before.rate + held.rate;
            association.holders.remove(&(before.rate, slot));
            if held.rate > 0 {
                association.holders.insert((held.rate, slot));
            }
        }
    }

    //= RDCC, Credit Requests and Grants: a099e355 f92f1bc6 6537a5ca
    //= RDCC, Receiver Credit Budget: 6fae2f8d
    fn send_grant(&mut self, slot: u32, now: Nanos) {
        let lifetime = self.config.grant_lifetime;
        // RDCC, Receiver Credit Budget: an expired grant is reclaimed Lifetime + 2 * D_max after it was sent.
        let reclaim = now + lifetime.nanos() + self.config.d_max + self.config.d_max;
        let Some(message) = self.inbound_mut(slot) else { return };
        message.granted_at = now;
        let grant = CreditGrant {
            message_id: MessageId(message.id),
            grant_limit: Octets(message.issued),
            pacing_rate: MbitPerSec(u32::try_from(message.rate.max(1)).unwrap_or(u32::MAX)),
            lifetime: Micros(lifetime.0),
        };
        let (index, pool) = (message.association, message.pool);
        let flags = match message.issued == message.length {
            _ if pool => Flags::POOL,
            true => Flags::FINAL,
            false => Flags::NONE,
        };
        self.stats.pool_grants += u64::from(pool);
        self.stats.grants += 1;
        self.timers.set(Timer::Grant(slot), reclaim);
        self.send(index, flags, &RdccMessage::CreditGrant(grant));
    }

    /// Brings a message's parts of the budget in line with what was received and issued.
    pub(super) fn recount(&mut self, slot: u32) {
        let Some(message) = self.messages.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let announced = if message.reserved { message.announced.saturating_sub(message.received) } else { 0 };
        let granted = if message.live { message.granted() } else { 0 };
        self.budget.move_unscheduled(message.unscheduled, announced);
        self.budget.move_scheduled(message.scheduled, granted);
        if let Some(association) =
            self.associations.get_mut(message.association as usize).and_then(Option::as_mut)
        {
            association.scheduled = association.scheduled - message.scheduled + granted;
            association.unscheduled = association.unscheduled - message.unscheduled + announced;
        }
        (message.unscheduled, message.scheduled) = (announced, granted);
        message.reserved = announced > 0;
        message.live = granted > 0;
    }

    /// Brings a message's place among those that share the link, and in the order of those that get credit, in line
    /// with its state.
    pub(super) fn settle(&mut self, slot: u32, now: Nanos) {
        let Some(message) = self.inbound(slot) else { return };
        let needs = message.needs_credit() && !self.is_behind_another(slot);
        let active = needs || message.scheduled > 0;
        if message.scheduled == 0 && message.rate > 0 {
            self.hold(slot, Held::default());
            self.timers.clear(Timer::Grant(slot));
        }
        self.set_active(slot, active);
        if !needs {
            self.unready(slot);
        } else if self.inbound(slot).is_some_and(|message| message.turn.is_none()) {
            self.line_up(slot, now);
        }
        if let Some(index) = self.inbound(slot).map(|message| message.association) {
            self.uncap(index, now);
        }
    }

    pub(super) fn set_active(&mut self, slot: u32, active: bool) {
        let Some(message) = self.messages.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        if message.active == active {
            return;
        }
        message.active = active;
        self.shares.set_active(message.weight, active);
        let index = message.association;
        if let Some(association) = self.association_mut(index) {
            association.active =
                if active { association.active + 1 } else { association.active.saturating_sub(1) };
        }
    }

    //= RDCC, Credit Allocation: 4436d84d cba9fe27
    /// Puts a message in line if a worthwhile grant fits its window; otherwise its next arrival brings it here again.
    fn line_up(&mut self, slot: u32, now: Nanos) {
        let window = self.window(slot, now);
        let step = (self.quantum() * self.unit()).min((window / REFILL_DIVISOR).max(self.unit()));
        let class = self.class_in_line(slot);
        let Some(message) = self.messages.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let rest = message.rest();
        if message.scheduled > 0 && message.scheduled + rest.min(step) > window {
            return;
        }
        message.service = message.service.max(self.served[usize::from(class.min(7))]);
        let turn = Turn { class, deadline: message.deadline, service: message.service, slot };
        message.turn = Some(turn);
        let newcomer = message.issued == 0;
        self.ready.insert(turn);
        if newcomer {
            self.newcomers.insert(turn);
        }
    }

    pub(super) fn unready(&mut self, slot: u32) {
        if let Some(turn) = self.inbound_mut(slot).and_then(|message| message.turn.take()) {
            self.ready.remove(&turn);
            self.newcomers.remove(&turn);
        }
    }

    /// The messages of its queue pair in posting order.
    fn queue_pair_of(&self, slot: u32) -> impl Iterator<Item = (u32, &Inbound)> + '_ {
        let place = self.inbound(slot).and_then(|message| {
            let association = self.associations.get(message.association as usize)?.as_ref()?;
            Some((association.from.ip(), message.carrier.lane))
        });
        let order = place.into_iter().flat_map(|(from, lane)| self.bindings.order(from, lane));
        order.filter_map(|slot| self.inbound(slot).map(|message| (slot, message)))
    }

    /// The class in which a message waits: those behind it on its queue pair wait with it, so the most urgent of
    /// them counts.
    fn class_in_line(&self, slot: u32) -> u8 {
        if let Some(pool) = self.inbound(slot).filter(|message| message.pool) {
            return pool.class;
        }
        let behind = self.queue_pair_of(slot).skip_while(|&(other, _)| other != slot);
        behind.map(|(_, message)| message.class).min().unwrap_or(7)
    }

    /// Whether a message before it on its queue pair still needs credit.
    pub(super) fn is_behind_another(&self, slot: u32) -> bool {
        self.queue_pair_of(slot)
            .take_while(|&(other, _)| other != slot)
            .any(|(_, message)| message.needs_credit())
    }

    /// Settles all messages of a queue pair: their order changed, or the first of them has all the credit it needs.
    pub(super) fn settle_lane(&mut self, from: core::net::IpAddr, lane: Lane, now: Nanos) {
        let slots: Vec<u32> = self.bindings.order(from, lane).collect();
        for slot in slots {
            self.settle(slot, now);
        }
    }
}

/// `octets` rounded down to whole Credit Units.
pub(super) fn whole_units(octets: u64, unit: u64) -> u64 {
    octets / unit * unit
}
