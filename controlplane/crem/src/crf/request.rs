//! Asking for what is lost (CREM, Requests and Fallback).

use std::collections::BTreeMap;

use wire::crem::{Bitmap, BlockRequest, Flags, Header, Message, PsnRange, RangeRequest, RepairRequest};
use wire::units::Nanos;

use super::config::Fallback;
use super::flow::{ASKED, Context, Flow, psn_of};
use super::slot::{Missing, SlotState};
use crate::sink::Deliver;

/// Coded retransmissions before the fallback.
const ROUNDS: u8 = 2;
/// Ranges of one request: with them it fits into any path's MTU.
const MAX_RANGES: usize = 256;
/// Packets that the end of a block is waited for beyond its k.
const SLACK: u64 = 8;
/// From this loss rate on one symbol more than needed is suggested.
const LOSSY: f64 = 0.01;

impl Flow {
    /// Whether there may be gaps outside of known blocks that wait for repair messages.
    pub(super) fn waits_for_idle(&self) -> bool {
        !self.watched.is_empty()
    }

    /// The burst ended without the repair messages of its blocks.
    pub(super) fn all_gaps_are_due(&mut self, now: Nanos) {
        for missing in self.missing.values_mut().filter(|missing| missing.is_waiting()) {
            missing.due = now;
            self.ranges_due = now;
        }
        self.watched.clear();
    }

    //= CREM, Source Blocks: 70c89bd2
    /// So many packets came after a gap that the repair messages of its block should have come too, or that its block is over
    /// where there are none. Gaps that may lie in the same block are asked for together, because the sender answers once per
    /// block and round-trip time.
    pub(super) fn watch_gaps<T: Deliver>(&mut self, ctx: &mut Context<'_, T>) {
        let is_waiting = |missing: &BTreeMap<u64, Missing>, position| {
            missing.get(&position).is_some_and(Missing::is_waiting)
        };
        while let Some(&(first, noticed_at)) = self.watched.front() {
            if !is_waiting(&self.missing, first) {
                self.watched.pop_front();
                continue;
            }
            let (k, m) = self.configuration_at(first).map_or((1, 0), |known| (u64::from(known.k), known.m));
            let patience = if m > 0 { 2 * k } else { k } + SLACK;
            if self.arrivals < noticed_at + patience {
                break;
            }
            let (mut last, mut count) = ((first, noticed_at), 0);
            for &(position, noticed_at) in &self.watched {
                if is_waiting(&self.missing, position) {
                    if position > last.0 + k {
                        break;
                    }
                    last = (position, noticed_at);
                }
                count += 1;
            }
            if self.arrivals < (last.1 + k).min(noticed_at + 2 * patience) {
                break;
            }
            for (position, _) in self.watched.drain(..count) {
                if let Some(missing) = self.missing.get_mut(&position).filter(|missing| missing.is_waiting())
                {
                    missing.due = ctx.now;
                    self.ranges_due = ctx.now;
                }
            }
        }
        if ctx.now >= self.ranges_due {
            self.request_ranges(ctx);
        }
    }

    fn request_id(&mut self, now: Nanos) -> u16 {
        let id = self.next_request_id;
        self.asked[usize::from(id) % ASKED] = (id, now);
        self.next_request_id = self.next_request_id.wrapping_add(1).max(1);
        id
    }

    //= CREM, Requests: c5cc3717
    /// Asks for the gaps that are due and in no known block.
    pub(super) fn request_ranges<T: Deliver>(&mut self, ctx: &mut Context<'_, T>) {
        self.ranges_due = Nanos::MAX;
        for copies in [false, true] {
            self.request_ranges_as(copies, ctx);
        }
        self.release(ctx);
    }

    fn request_ranges_as<T: Deliver>(&mut self, copies: bool, ctx: &mut Context<'_, T>) {
        let request_id = self.next_request_id;
        let wait = self.rtt.eighths(12) + ctx.config.repair_wait;
        let fallback = ctx.config.fallback == Fallback::Request;
        let mut ranges: Vec<PsnRange> = Vec::new();
        let mut last = None;
        for (&position, missing) in &mut self.missing {
            if missing.in_block || missing.given_up {
                continue;
            }
            let wanted = missing.due <= ctx.now && (missing.rounds >= ROUNDS) == copies;
            if wanted && (missing.rounds > ROUNDS || copies && !fallback) {
                missing.given_up = true;
                ctx.stats.given_up += 1;
            } else if wanted {
                let follows = last.is_some_and(|last| last + 1 == position);
                let room = ranges.len() < MAX_RANGES;
                match ranges.last_mut().filter(|range| follows && range.count < u8::MAX) {
                    Some(range) => range.count += 1,
                    None if room => ranges.push(PsnRange { start: psn_of(position), count: 1 }),
                    // The rest waits for its turn, which comes as soon as this request is out.
                    None => {
                        self.ranges_due = self.ranges_due.min(missing.due.max(Nanos(ctx.now.0 + 1)));
                        continue;
                    }
                }
                last = Some(position);
                missing.requested.get_or_insert(ctx.now);
                missing.rounds += 1;
                missing.request_ids = [request_id, missing.request_ids[0]];
                missing.due = ctx.now + wait;
            }
            if !missing.given_up {
                self.ranges_due = self.ranges_due.min(missing.due);
            }
        }
        if ranges.is_empty() {
            return;
        }
        self.interval.incomplete_blocks += u32::try_from(ranges.len()).unwrap_or(u32::MAX);
        // Used only now that there is something to ask for.
        self.request_id(ctx.now);
        ctx.stats.range_requests += 1;
        let request = RepairRequest::Ranges(RangeRequest { request_id, ranges });
        self.send_request(request, copies, ctx);
    }

    fn send_request<T: Deliver>(&self, request: RepairRequest, copies: bool, ctx: &mut Context<'_, T>) {
        ctx.stats.fallback_requests += u64::from(copies);
        let flags = Flags::NONE.set(Flags::FALLBACK, copies);
        self.send(&Message::RepairRequest(request), flags, ctx);
    }

    //= CREM, Flow Establishment: a0d48d54
    pub(super) fn send<T: Deliver>(&self, message: &Message<'_>, flags: Flags, ctx: &mut Context<'_, T>) {
        ctx.buffer.clear();
        message.encode(&Header { flags, flow_id: self.id }, ctx.buffer);
        ctx.out.transmit(&self.key, self.peer, ctx.buffer);
    }

    /// The positions of a block that are missing.
    pub(super) fn unknown_of(&self, start: u64, present: Bitmap) -> Bitmap {
        present.iter().filter(|&j| self.slot(start + u64::from(j)).state == SlotState::Missing).collect()
    }

    /// Asks for symbols of the blocks that are due.
    pub(super) fn request_blocks<T: Deliver>(&mut self, ctx: &mut Context<'_, T>) {
        self.blocks_due = Nanos::MAX;
        let mut due = Vec::new();
        for (&start, block) in &self.blocks {
            if block.due <= ctx.now {
                due.push(start);
            } else {
                self.blocks_due = self.blocks_due.min(block.due);
            }
        }
        for start in due {
            self.request_block(start, ctx);
        }
        self.release(ctx);
    }

    //= CREM, Requests: 8c4bbe61 323438d5
    //= CREM, Fallback: f39c397e
    fn request_block<T: Deliver>(&mut self, start: u64, ctx: &mut Context<'_, T>) {
        let Some(present) = self.blocks.get(&start).map(|block| block.present) else { return };
        let lost = self.unknown_of(start, present);
        let request_id = self.request_id(ctx.now);
        let lossy = self.interval.loss_rate() > LOSSY;
        let wait = self.rtt.eighths(12) + ctx.config.repair_wait;
        let Some(block) = self.blocks.get_mut(&start) else { return };
        if !block.counted {
            block.counted = true;
            self.interval.incomplete_blocks += 1;
        }
        let coded = block.rounds < ROUNDS && block.configuration.code.has_retransmission();
        if !coded && (block.fallback || ctx.config.fallback == Fallback::Transport) {
            self.give_up_block(start, lost, ctx);
            return;
        }
        block.rounds += u8::from(coded);
        block.fallback = !coded;
        block.requested = Some(ctx.now);
        block.due = ctx.now + wait;
        block.request_ids.rotate_right(1);
        block.request_ids[0] = request_id;
        let x = u8::try_from(lost.len()).unwrap_or(u8::MAX);
        let held = u8::try_from(block.symbols.len()).unwrap_or(u8::MAX);
        let suggested = x.saturating_sub(held).saturating_add(u8::from(lossy)).clamp(1, x.max(1));
        let request = BlockRequest {
            config_id: block.configuration.id,
            scheme: block.configuration.code.scheme(),
            k: block.k,
            repairs_held: held,
            block_start: psn_of(start),
            suggested,
            request_id,
            lost,
        };
        self.blocks_due = self.blocks_due.min(block.due);
        for position in lost.iter() {
            if let Some(missing) = self.missing.get_mut(&(start + u64::from(position))) {
                missing.requested.get_or_insert(ctx.now);
            }
        }
        ctx.stats.block_requests += 1;
        self.send_request(RepairRequest::Block(request), !coded, ctx);
    }

    //= CREM, Fallback: ccd420e1
    /// Leaves what is missing of a block to the RDMA transport.
    fn give_up_block<T: Deliver>(&mut self, start: u64, lost: Bitmap, ctx: &mut Context<'_, T>) {
        if let Some(block) = self.blocks.remove(&start) {
            self.store.release(&block.symbols);
        }
        for position in lost.iter() {
            if let Some(missing) = self.missing.get_mut(&(start + u64::from(position))) {
                missing.given_up = true;
                ctx.stats.given_up += 1;
            }
        }
    }
}
