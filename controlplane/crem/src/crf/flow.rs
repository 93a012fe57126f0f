//! A protected flow as it arrives: positions, gaps, order.

use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};

use wire::crem::{FlowId, Hello};
use wire::frame::Ecn;
use wire::roce::Psn;
use wire::units::Nanos;

use super::config::{CrfConfig, CrfStats, Order};
use super::report::Interval;
use super::slot::{Block, Missing, Slot, SlotState, Store};
use crate::code::Decoder;
use crate::configuration::Configuration;
use crate::packet::{FlowKey, IpFields, PREFIX_OCTETS, Packet, Source, rate_of, read_symbol, set_rate};
use crate::ring::Ring;
use crate::rtt::Rtt;
use crate::sink::Deliver;
use crate::timers::Armed;

/// Half of the number space.
const HALF: u32 = 1 << 23;
/// Positions start here, so that there is room behind the first one.
const ORIGIN: u64 = 1 << 32;

/// Requests whose time is kept.
pub(super) const ASKED: usize = 64;

/// What a flow's functions need from around it.
pub(super) struct Context<'a, T> {
    pub config: &'a CrfConfig,
    pub stats: &'a mut CrfStats,
    pub out: &'a mut T,
    /// A buffer for messages and packets.
    pub buffer: &'a mut Vec<u8>,
    pub now: Nanos,
}

/// What becomes of a packet that was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The caller forwards it.
    Pass,
    /// It was kept, or has been delivered already; the caller drops its copy.
    Taken,
}

#[derive(Debug)]
pub(super) struct Flow {
    pub key: FlowKey,
    pub id: FlowId,
    /// Where `HELLO` came from.
    pub peer: SocketAddr,
    pub hello: Hello,
    /// Those that were acknowledged, and the positions of their Effective PSNs.
    pub configurations: Vec<(Configuration, u64)>,
    pub ring: Ring,
    pub slots: Vec<Slot>,
    /// The first position that is tracked at all; `None` before the first configuration.
    pub first: Option<u64>,
    /// The position behind the newest.
    pub next: u64,
    /// In order: the position that the RDMA receiver waits for.
    pub deliver: u64,
    pub missing: BTreeMap<u64, Missing>,
    /// Gaps that wait for repair messages to tell their block, oldest first, with the count of packets that had come when
    /// they were noticed; some may be filled by now.
    pub watched: VecDeque<(u64, u64)>,
    /// Packets that came with a new PSN.
    pub arrivals: u64,
    pub blocks: BTreeMap<u64, Block>,
    pub store: Store,
    pub decoder: Decoder,
    pub rtt: Rtt,
    pub interval: Interval,
    /// No range is due before.
    pub ranges_due: Nanos,
    /// No block is due before.
    pub blocks_due: Nanos,
    pub next_request_id: u16,
    /// The last requests that were not answered yet, by Request ID, and when they were sent; 0 is none.
    pub asked: [(u16, Nanos); ASKED],
    /// The last packet that came; without one, nothing can be verified, and so not be restored either.
    pub last: Option<LastPacket>,
    /// When `HELLO_ACK` was sent first: the first `PARAM_UPDATE` answers it. If that was lost, the round-trip time is taken for longer than
    /// it is, until a request is answered.
    pub acknowledged_at: Option<Nanos>,
    pub last_heard: Nanos,
    pub armed: Armed,
}

/// Headers, number and time of the last source packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastPacket {
    pub ip: IpFields,
    pub psn: Psn,
    pub at: Nanos,
}

impl Flow {
    pub(super) fn new(id: FlowId, peer: SocketAddr, hello: Hello, now: Nanos, config: &CrfConfig) -> Self {
        Self {
            key: FlowKey { addresses: hello.flow, label: hello.flow_label },
            id,
            peer,
            hello,
            configurations: Vec::new(),
            ring: Ring::new(1, 0),
            slots: Vec::new(),
            first: None,
            next: ORIGIN,
            deliver: ORIGIN,
            missing: BTreeMap::new(),
            watched: VecDeque::new(),
            arrivals: 0,
            blocks: BTreeMap::new(),
            store: Store::default(),
            decoder: Decoder::default(),
            rtt: Rtt::new(config.initial_rtt),
            interval: Interval::default(),
            ranges_due: Nanos::MAX,
            blocks_due: Nanos::MAX,
            next_request_id: 1,
            asked: [(0, Nanos(0)); ASKED],
            last: None,
            acknowledged_at: Some(now),
            last_heard: now,
            armed: Armed::default(),
        }
    }

    pub(super) fn start_at(&mut self, psn: Psn) {
        let position = ORIGIN + u64::from(psn.value());
        (self.first, self.next, self.deliver) = (Some(position), position, position);
    }

    /// The position of a PSN: the one nearest to the newest.
    pub(super) fn position(&self, psn: Psn) -> u64 {
        let ahead = psn.ahead_of(psn_of(self.next));
        if ahead < HALF {
            self.next + u64::from(ahead)
        } else {
            self.next - u64::from(Psn::new(0).plus((1 << 24) - ahead).value())
        }
    }

    /// The oldest position that is tracked.
    pub(super) fn tail(&self) -> u64 {
        self.first.unwrap_or(self.next).max(self.next.saturating_sub(self.ring.window().into()))
    }

    pub(super) fn slot(&self, position: u64) -> &Slot {
        &self.slots[self.ring.slot(psn_of(position))]
    }

    pub(super) fn slot_mut(&mut self, position: u64) -> &mut Slot {
        let slot = self.ring.slot(psn_of(position));
        &mut self.slots[slot]
    }

    pub(super) fn is_tracked(&self, position: u64) -> bool {
        position >= self.tail() && position < self.next
    }

    /// The configuration that blocks which start at `position` use.
    pub(super) fn configuration_at(&self, position: u64) -> Option<&Configuration> {
        let mut newest_first = self.configurations.iter().rev();
        newest_first.find(|(_, effective)| *effective <= position).map(|(configuration, _)| configuration)
    }

    //= CREM, Receiver Rules: 2662a776
    //= CREM, Architecture: e4b58831
    /// A packet of the flow arrives.
    pub(super) fn source<T: Deliver>(
        &mut self,
        source: &Source,
        packet: &Packet<'_>,
        ctx: &mut Context<'_, T>,
    ) -> Verdict {
        self.last_heard = ctx.now;
        self.last = Some(LastPacket { ip: packet.ip, psn: source.bth.psn, at: ctx.now });
        if self.first.is_none() {
            return Verdict::Pass;
        }
        ctx.stats.sources += 1;
        let position = self.position(source.bth.psn);
        let known = position < self.next;
        if known && !(self.is_tracked(position) && self.slot(position).state == SlotState::Missing) {
            ctx.stats.duplicates += 1;
            return Verdict::Pass;
        }
        self.interval.begin(ctx.now, self.rtt.smoothed());
        self.interval.received += 1;
        self.interval.ce_marked += u32::from(packet.ip.ecn == Ecn::Ce);
        if known {
            ctx.stats.late += 1;
            self.missing.remove(&position);
        } else {
            self.interval.expected += 1;
            self.arrivals += 1;
            if position - self.next >= self.ring.window().into() {
                self.jump(position, ctx);
            }
            self.advance(position, |_| true, ctx);
            self.make_room(position + 1, ctx);
            self.next = position + 1;
        }
        let fits = packet.payload.len() + PREFIX_OCTETS <= self.ring.symbol_octets();
        self.ring.put(psn_of(position), packet.payload);
        *self.slot_mut(position) = Slot {
            state: SlotState::Received,
            delivered: true,
            late: known,
            ip: packet.ip,
            rate: rate_of(packet.payload),
        };
        self.skip(position + 1, u64::from(source.positions) - 1, ctx);
        // A packet that no symbol holds can't be held either.
        let verdict = if fits { self.in_order(position, ctx) } else { Verdict::Pass };
        if known {
            self.filled(position, ctx);
        } else {
            self.watch_gaps(ctx);
        }
        verdict
    }

    /// Whether the packet at `position` may go on at once.
    fn in_order<T: Deliver>(&mut self, position: u64, ctx: &mut Context<'_, T>) -> Verdict {
        if ctx.config.order == Order::Pass || position < self.deliver {
            return Verdict::Pass;
        }
        if position == self.deliver && position + 1 == self.next {
            self.deliver += 1;
            return Verdict::Pass;
        }
        self.slot_mut(position).delivered = false;
        ctx.stats.held += u64::from(position != self.deliver);
        self.release(ctx);
        Verdict::Taken
    }

    /// Everything up to `position` should have come: `present` says of each whether a packet carries it.
    pub(super) fn advance<T: Deliver>(
        &mut self,
        position: u64,
        present: impl Fn(u64) -> bool,
        ctx: &mut Context<'_, T>,
    ) {
        if position <= self.next {
            return;
        }
        self.make_room(position, ctx);
        for missing in self.next..position {
            if !present(missing) {
                *self.slot_mut(missing) = Slot { state: SlotState::Absent, ..Slot::default() };
                continue;
            }
            *self.slot_mut(missing) = Slot { state: SlotState::Missing, ..Slot::default() };
            self.missing.insert(missing, Missing::default());
            self.watched.push_back((missing, self.arrivals));
            self.interval.expected += 1;
        }
        self.next = position;
    }

    //= CREM, Source Blocks: 761be8dc 89a5aaf6
    /// The `count` positions from `position` on carry no packet.
    pub(super) fn skip<T: Deliver>(&mut self, position: u64, count: u64, ctx: &mut Context<'_, T>) {
        if count == 0 {
            return;
        }
        let end = position + count;
        for absent in position.max(self.tail())..end.min(self.next) {
            if self.slot(absent).state == SlotState::Missing {
                self.is_absent(absent);
            }
        }
        if end > self.next {
            // Only as many slots as there are need to be written.
            let window = u64::from(self.ring.window());
            if end - self.next > window {
                self.make_room(end - window, ctx);
                self.next = end - window;
            }
            self.advance(end, |_| false, ctx);
        }
    }

    /// A position that was taken for a loss carries no packet.
    pub(super) fn is_absent(&mut self, position: u64) {
        self.missing.remove(&position);
        self.slot_mut(position).state = SlotState::Absent;
        self.interval.expected -= 1;
    }

    /// Lets go of what is about to leave the window, when the newest position becomes `next`.
    fn make_room<T: Deliver>(&mut self, next: u64, ctx: &mut Context<'_, T>) {
        let tail = next.saturating_sub(self.ring.window().into());
        if ctx.config.order == Order::Hold {
            while self.deliver < tail.min(self.next) {
                self.deliver_one(ctx);
            }
            self.deliver = self.deliver.max(tail);
        }
        while let Some(entry) = self.missing.first_entry().filter(|entry| *entry.key() < tail) {
            ctx.stats.given_up += u64::from(!entry.get().given_up);
            entry.remove();
        }
        while let Some(entry) = self.blocks.first_entry().filter(|entry| *entry.key() < tail) {
            let (start, block) = entry.remove_entry();
            self.store.release(&block.symbols);
            for (_, missing) in self.missing.range_mut(..start + u64::from(block.k)) {
                ctx.stats.given_up += u64::from(!missing.given_up);
                missing.given_up = true;
            }
        }
    }

    /// The PSN jumps further than what is tracked: everything starts anew there.
    fn jump<T: Deliver>(&mut self, position: u64, ctx: &mut Context<'_, T>) {
        ctx.stats.jumps += 1;
        let window = u64::from(self.ring.window());
        self.make_room(position + window, ctx);
        for slot in &mut self.slots {
            *slot = Slot::default();
        }
        (self.first, self.next, self.deliver) = (Some(position), position, position);
    }

    /// In order: delivers what no gap precedes any more, and what has been held long enough.
    pub(super) fn release<T: Deliver>(&mut self, ctx: &mut Context<'_, T>) {
        if ctx.config.order == Order::Pass {
            return;
        }
        while self.deliver < self.next {
            if self.slot(self.deliver).state == SlotState::Missing
                && (ctx.now < self.held_until(self.deliver) || self.is_left_to_transport(ctx))
            {
                return;
            }
            self.deliver_one(ctx);
        }
    }

    /// Until when packets are held for a missing one. Ours, as decided: one round-trip time from the request, and a quarter for
    /// the pace of the answer; then two for the transport's own retransmission.
    pub(super) fn held_until(&self, position: u64) -> Nanos {
        match self.missing.get(&position) {
            Some(Missing { refused: Some(at), .. }) => *at + self.rtt.eighths(16),
            Some(missing) if !missing.given_up => {
                missing.requested.map_or(Nanos::MAX, |at| at + self.rtt.eighths(10))
            }
            _ => Nanos(0),
        }
    }

    /// The gap at `deliver` is the transport's to fill: true the first time, when the packet behind it goes on. Ours: to that
    /// one the receiver answers with its NAK, and it drops whatever else comes. So the rest stays here until the packet that
    /// the transport sends again has come; handed over now, all of it would have to cross the path again, unprotected.
    fn is_left_to_transport<T: Deliver>(&mut self, ctx: &mut Context<'_, T>) -> bool {
        let gap = self.deliver;
        if self.missing.get(&gap).is_none_or(|missing| missing.refused.is_some()) {
            return false;
        }
        let is_packet = |slot: &Slot| matches!(slot.state, SlotState::Received | SlotState::Restored);
        let Some(behind) = (gap + 1..self.next).find(|&position| is_packet(self.slot(position))) else {
            return false;
        };
        if let Some(missing) = self.missing.get_mut(&gap) {
            missing.refused = Some(ctx.now);
        }
        ctx.stats.refusals += 1;
        self.hand_over(behind, ctx);
        // It has to go again, in its turn.
        self.slot_mut(behind).delivered = false;
        true
    }

    /// Delivers what stands at `deliver`, if it is a packet, and goes on to the next.
    fn deliver_one<T: Deliver>(&mut self, ctx: &mut Context<'_, T>) {
        let position = self.deliver;
        self.deliver += 1;
        self.hand_over(position, ctx);
    }

    /// Delivers the packet at `position` unless it has been.
    pub(super) fn hand_over<T: Deliver>(&mut self, position: u64, ctx: &mut Context<'_, T>) {
        let Slot { state, delivered, ip, rate, .. } = *self.slot(position);
        if delivered || !matches!(state, SlotState::Received | SlotState::Restored) {
            return;
        }
        self.slot_mut(position).delivered = true;
        let Some(symbol) = self.ring.get(psn_of(position), usize::MAX) else { return };
        let Some(payload) = read_symbol(symbol) else { return };
        let addresses = self.key.addresses;
        match rate {
            None => ctx.out.deliver(&Packet { addresses, ip, payload }),
            Some(rate) => {
                ctx.buffer.clear();
                ctx.buffer.extend_from_slice(payload);
                set_rate(ctx.buffer, rate);
                ctx.out.deliver(&Packet { addresses, ip, payload: ctx.buffer });
            }
        }
    }

    /// Delivers everything that is held: the flow ends.
    pub(super) fn flush<T: Deliver>(&mut self, ctx: &mut Context<'_, T>) {
        if ctx.config.order == Order::Hold && self.first.is_some() {
            while self.deliver < self.next {
                self.deliver_one(ctx);
            }
        }
    }

    fn last_came(&self) -> Nanos {
        self.last.map_or(Nanos(0), |last| last.at)
    }

    /// The next time at which [`Flow::timeout`] has something to do.
    pub(super) fn deadline(&self, config: &CrfConfig) -> Nanos {
        let mut deadline = self.last_heard + config.idle_timeout;
        let mut or = |at: Nanos| deadline = deadline.min(at);
        or(self.interval.due);
        or(self.ranges_due);
        or(self.blocks_due);
        if self.waits_for_idle() {
            or(self.last_came() + config.idle_wait);
        }
        if config.order == Order::Hold && self.deliver < self.next {
            or(self.held_until(self.deliver));
        }
        deadline
    }

    /// Does what is due.
    pub(super) fn timeout<T: Deliver>(&mut self, ctx: &mut Context<'_, T>) {
        if ctx.now >= self.interval.due {
            self.report(ctx);
        }
        if self.waits_for_idle() && ctx.now >= self.last_came() + ctx.config.idle_wait {
            self.all_gaps_are_due(ctx.now);
        }
        if ctx.now >= self.ranges_due {
            self.request_ranges(ctx);
        }
        if ctx.now >= self.blocks_due {
            self.request_blocks(ctx);
        }
        self.release(ctx);
    }
}

/// The PSN of a position.
#[expect(clippy::cast_possible_truncation, reason = "cut to 24 bits")]
pub(super) const fn psn_of(position: u64) -> Psn {
    Psn::new(position as u32)
}
