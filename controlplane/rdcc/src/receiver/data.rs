//! Data that arrives, and what becomes of a message: completion, reclamation, removal.

use core::net::IpAddr;

use wire::rdcc::{Flags, Message as RdccMessage, MessageId, MsgDone};
use wire::units::{Nanos, Octets};

use super::bindings::Lane;
use super::rate::FULL;
use super::{DataArrival, OpaqueArrival, Receiver, ReceiverEvent, Timer};

impl Receiver {
    //= RDCC, Transport Bindings: 482988db
    /// Takes note of data that arrived. Each octet is to be counted once, however often the transport saw it.
    pub fn handle_data(&mut self, arrival: DataArrival, now: Nanos) {
        let DataArrival { from, qp, msn, octets, ce, source_port } = arrival;
        self.arrive((from, source_port), Lane::QueuePair(qp), msn, octets, ce, now);
    }

    //= RDCC, Transport Bindings: d0340a15
    /// As [`Receiver::handle_data`], for data of a transport that carries Binding Values of kind 2 itself.
    pub fn handle_opaque_data(&mut self, arrival: OpaqueArrival, now: Nanos) {
        let OpaqueArrival { from, binding_value, octets, ce, source_port } = arrival;
        self.arrive((from, source_port), Lane::Opaque(binding_value), 0, octets, ce, now);
    }

    fn arrive(
        &mut self,
        (from, source_port): (IpAddr, u16),
        lane: Lane,
        msn: u32,
        octets: u32,
        ce: bool,
        now: Nanos,
    ) {
        if let Some(slot) = self.bindings.find(from, lane, msn) {
            if let Some(index) = self.inbound(slot).map(|message| message.association)
                && let Some(association) = self.association_mut(index)
            {
                association.flows.seen(source_port);
            }
            self.receive(slot, u64::from(octets), ce, now);
        } else if self.bindings.is_given_up(from, lane, msn) {
            self.stats.unmatched_octets += u64::from(octets);
        } else if self.by_address.contains_key(&from) {
            let gone = self.bindings.keep_early(from, lane, msn, octets, now);
            self.stats.unmatched_octets += u64::from(gone);
        } else {
            self.stats.unmatched_octets += u64::from(octets);
        }
        self.allocate(now);
    }

    //= RDCC, Error Handling and Recovery: f15e4b7f
    /// Counts octets of a message.
    pub(super) fn receive(&mut self, slot: u32, octets: u64, ce: bool, now: Nanos) {
        let pool = self.pool_of_member(slot);
        let Some(message) = self.inbound_mut(slot) else { return };
        let (index, id) = (message.association, message.id);
        let allowed = message.issued.max(message.announced).max(message.tolerated);
        let before = message.base();
        let total = message.received.saturating_add(octets);
        message.heard_at = now;
        message.received = total.min(message.length);
        let mut excess = total.saturating_sub(allowed);
        if let Some(pool) = pool {
            // Beyond what was announced, the pool's credit covers it; beyond its length, nothing does.
            message.asked_in_vain = 0;
            let (credited, length) = (message.base() - before, message.length);
            excess = self.pool_received(pool, credited) + total.saturating_sub(length);
        } else {
            let beyond_length = total.saturating_sub(message.length).min(excess);
            let within = total - beyond_length;
            excess = self.covered_by_pool(slot, within, excess - beyond_length, now) + beyond_length;
        }
        let excess = self.tolerate(slot, total, excess);
        let Some(message) = self.inbound_mut(slot) else { return };
        let newly_barred = excess > 0 && !core::mem::replace(&mut message.barred, true);
        let complete = message.received == message.length;
        // Round trips are measured on what is granted: the pool, or the message.
        let granted = pool.unwrap_or(slot);
        let rtt = self.take_probe(granted);
        let refresh_after = Nanos(self.config.grant_lifetime.nanos().0 / 2);
        if excess > 0 {
            // RDCC, Error Handling and Recovery: no further credit for this message.
            self.stats.excess_octets += excess.min(octets);
        }
        self.observe(index, octets, ce, rtt.map(|(_, since, pace)| (now - since).saturating_sub(pace)), now);
        if newly_barred && let Some(from) = self.association_mut(index).map(|association| association.from) {
            self.events.push_back(ReceiverEvent::BeyondCredit {
                from,
                message: MessageId(id),
                octets: excess,
            });
        }
        let reserved = self.inbound(slot).map_or(0, |message| message.unscheduled);
        self.recount(slot);
        let arrived = reserved - self.inbound(slot).map_or(0, |message| message.unscheduled);
        if arrived > 0 {
            self.breaker.arrived(arrived, now);
            self.watch_breaker();
        }
        if complete {
            self.complete(slot, now);
            self.settle_pool(index, now);
            return;
        }
        // A sender slowed down may need longer than a Lifetime for the credit it holds: as long as its data comes,
        // the grant is renewed before it runs out.
        if let Some(message) = self.inbound(granted)
            && message.live
            && !message.cancelled
            && !message.barred
            && now >= message.granted_at + refresh_after
        {
            self.refresh_in_place(granted, now);
        }
        if newly_barred {
            self.settle_pool(index, now);
        }
        self.settle(granted, now);
    }

    /// The round trip that the newest arrival ends, if one was measured.
    fn take_probe(&mut self, slot: u32) -> Option<(u64, Nanos, Nanos)> {
        let message = self.inbound_mut(slot)?;
        let received = message.received;
        message.probe.take_if(|&mut (offset, ..)| received >= offset)
    }

    //= RDCC, Credit Allocation: c2b49b43
    //= RDCC, On-Path Congestion Reporting: e5bde4be
    /// Congestion signals in the data itself: marks, and the delay of a round trip (RDCC, Credit Allocation, rule 2).
    fn observe(&mut self, index: u32, octets: u64, ce: bool, rtt: Option<Nanos>, now: Nanos) {
        let (hear, target, interval) = (self.config.hear, self.config.delay_target, self.aimd.interval);
        let marked = if ce { octets } else { 0 };
        self.stats.ce_octets += marked;
        let Some(association) = self.association_mut(index) else { return };
        association.last_traffic = now;
        association.window.0 += octets;
        association.window.1 += marked;
        let mut strength = 0;
        if now >= association.window_start + interval {
            let (all, ce) = core::mem::take(&mut association.window);
            association.window_start = now;
            if hear.ecn && ce > 0 {
                strength = fraction(ce, all);
            }
        }
        if let Some(rtt) = rtt.filter(|&rtt| hear.delay && rtt > target) {
            // Normalized: an excess as large as the target itself is full strength.
            strength = strength.max(fraction(rtt.0 - target.0, target.0));
        }
        if strength > 0 {
            association.aimd.signal(strength, None, now);
        }
        self.adjust(index, now);
    }

    /// Lets the controller of a sender decrease if it has reason to, and tells the sender at once.
    pub(super) fn adjust(&mut self, index: u32, now: Nanos) {
        let aimd = self.aimd;
        let capacity = self.shares.capacity();
        let Some(association) = self.association_mut(index) else { return };
        let current =
            if association.rate > 0 { association.rate } else { association.line_rate.min(capacity) };
        if association.aimd.update(current, &aimd, now) {
            self.stats.decreases += 1;
            self.lower(index, now);
        }
    }

    /// Tells a sender of the rates that its cap allows, where they are lower than those in force.
    pub(super) fn lower(&mut self, index: u32, now: Nanos) {
        let Some(association) = self.association_mut(index).filter(|association| association.rate > 0) else {
            return;
        };
        let slots: Vec<u32> = association.messages.values().copied().collect();
        for slot in slots {
            let target = self.target(slot, now);
            if self.inbound(slot).is_some_and(|message| message.live && message.rate > target.rate) {
                self.refresh(slot, target, now);
            }
        }
    }

    /// All octets are there: `MSG_DONE`, and its credit and its rate go to the others.
    fn complete(&mut self, slot: u32, now: Nanos) {
        let Some(message) = self.inbound(slot) else { return };
        let (index, id, length, cancelled) =
            (message.association, message.id, message.length, message.cancelled);
        self.remove(slot, now);
        let Some(association) = self.association_mut(index) else { return };
        let from = association.from;
        if !cancelled {
            association.ended.complete(id, length);
            self.stats.messages_completed += 1;
            self.send_done(index, id, length);
            let (message, octets) = (MessageId(id), Octets(length));
            self.events.push_back(ReceiverEvent::MessageCompleted { from, message, octets, at: now });
        }
    }

    pub(super) fn send_done(&mut self, index: u32, id: u64, length: u64) {
        let done = MsgDone { message_id: MessageId(id), octets_received: Octets(length) };
        self.send(index, Flags::NONE, &RdccMessage::MsgDone(done));
    }

    /// An expired grant, `Lifetime + 2 * D_max` after it was sent. The message gets credit again when its sender asks.
    pub(super) fn reclaim(&mut self, slot: u32, now: Nanos) {
        let Some(message) = self.inbound_mut(slot).filter(|message| message.live && !message.cancelled)
        else {
            return;
        };
        if message.pool {
            self.stats.credit_reclaimed += message.scheduled;
            self.retire_pool(slot, now);
            return;
        }
        message.live = false;
        message.wants = false;
        message.probe = None;
        self.stats.credit_reclaimed += message.scheduled;
        self.recount(slot);
        self.settle(slot, now);
    }

    //= RDCC, Unscheduled Transmission: c53a0b0d
    /// An unscheduled reservation ran out before its data came.
    pub(super) fn release_reservation(&mut self, slot: u32, now: Nanos) {
        let Some(message) = self.inbound_mut(slot).filter(|message| message.reserved) else { return };
        message.reserved = false;
        let lost = message.unscheduled;
        self.stats.unscheduled_expired += lost;
        self.discharge_link(slot, lost, now);
        self.breaker.lost(lost, now);
        self.watch_breaker();
        self.recount(slot);
        self.settle(slot, now);
    }

    fn watch_breaker(&mut self) {
        if let Some(at) = self.breaker.ends_at() {
            self.timers.set(Timer::Breaker, at);
        }
    }

    /// The circuit breaker's window is over: if it opened or closed, every association gets its U.
    pub(super) fn evaluate_breaker(&mut self, now: Nanos) {
        if self.breaker.evaluate(now) {
            self.stats.breaker_openings += u64::from(self.breaker.is_open());
            self.update_all(now);
        }
        self.watch_breaker();
    }

    /// Takes a message out of everything that knows it, and gives back what it holds.
    pub(super) fn remove(&mut self, slot: u32, now: Nanos) {
        let Some(message) = self.inbound_mut(slot) else { return };
        message.reserved = false;
        message.live = false;
        message.wants = false;
        self.recount(slot);
        self.settle(slot, now);
        for timer in [Timer::Grant(slot), Timer::Reservation(slot), Timer::Cancelled(slot)] {
            self.timers.clear(timer);
        }
        let Some(message) = self.messages[slot as usize].take() else { return };
        debug_assert_eq!((message.rate, message.scheduled, message.unscheduled), (0, 0, 0));
        debug_assert!(message.turn.is_none() && !message.active);
        self.free_slots.push(slot);
        self.pools -= u64::from(message.pool);
        let Some(association) = self.association_mut(message.association) else { return };
        association.messages.remove(&message.id);
        association.capped.remove(&slot);
        let (from, lane) = (association.from.ip(), message.carrier.lane);
        self.bindings.let_go(from, lane, slot);
        self.bindings.unbind(from, lane, slot);
        // The next one of its queue pair may be the first now.
        self.settle_lane(from, lane, now);
    }
}

/// `part / whole` as a strength of a signal, at most [`FULL`] and at least 1.
fn fraction(part: u64, whole: u64) -> u32 {
    let scaled = u128::from(part) * u128::from(FULL) / u128::from(whole.max(1));
    u32::try_from(scaled).unwrap_or(FULL).clamp(1, FULL)
}
