//! Answers to requests (CREM, Coded Retransmission and Fallback).

use wire::crem::{Bitmap, BlockRequest, PsnRange, RangeRequest};
use wire::roce::Psn;

use super::block::{Block, Work};
use super::breaker::Verdict;
use super::config::FallbackAnswer;
use super::flow::{Context, Flow, HALF};
use crate::sink::Transmit;

/// Ranges of one request that are looked at. The rest is asked for again.
const MAX_RANGES: usize = 512;
/// Stretches of absent positions between blocks that one request has described.
const MAX_GAPS: usize = 8;

/// What a request asks for in one block.
struct Wish {
    lost: Bitmap,
    repairs_held: u8,
    suggested: u8,
    session: u16,
    copies: bool,
}

impl Flow {
    //= CREM, Coded Retransmission: badaeeec
    /// The block form; false when it contradicts what was sent.
    pub(super) fn block_request<T: Transmit>(
        &mut self,
        request: &BlockRequest,
        copies: bool,
        ctx: &mut Context<'_, T>,
    ) -> bool {
        let Some(index) = self.block_of(request.block_start) else {
            ctx.stats.unanswerable += 1;
            return true;
        };
        let block = &self.closed[index];
        let same = block.start == request.block_start
            && block.covered == request.k
            && block.configuration.id == request.config_id
            && block.configuration.code.scheme() == request.scheme;
        if !same
            || request.lost.is_empty()
            || !request.lost.is_subset(&block.present)
            || request.request_id == 0
        {
            return false;
        }
        let wish = Wish {
            lost: request.lost,
            repairs_held: request.repairs_held,
            suggested: request.suggested,
            session: request.request_id,
            copies,
        };
        self.answer(index, &wish, ctx);
        self.pump(ctx);
        true
    }

    //= CREM, Requests: 20449aef
    //= CREM, Source Blocks: 98c3ca0a
    /// The range form; false when it has no identifier.
    pub(super) fn range_request<T: Transmit>(
        &mut self,
        request: &RangeRequest,
        copies: bool,
        ctx: &mut Context<'_, T>,
    ) -> bool {
        if request.request_id == 0 {
            return false;
        }
        let ranges = || request.ranges.iter().take(MAX_RANGES);
        if self.open.as_ref().is_some_and(|open| ranges().any(|range| overlaps(open, *range))) {
            // What is asked for has left; the block needn't wait for more.
            self.close_block(true, ctx);
        }
        let mut wanted: Vec<(usize, Bitmap)> = Vec::new();
        let mut gaps: Vec<(Psn, u8)> = Vec::new();
        for range in ranges() {
            self.locate(*range, &mut wanted, &mut gaps);
        }
        wanted.sort_by_key(|(index, _)| *index);
        wanted.dedup_by(|(later, more), (index, lost)| {
            let same = later == index;
            if same {
                *lost = lost.iter().chain(more.iter()).collect();
            }
            same
        });
        for (index, named) in wanted {
            let lost = named.and(&self.closed[index].present);
            let wish = Wish { lost, repairs_held: 0, suggested: 0, session: request.request_id, copies };
            self.answer(index, &wish, ctx);
        }
        for (start, count) in gaps {
            self.describe_gap(start, count, ctx);
        }
        self.pump(ctx);
        true
    }

    /// Which positions of which blocks a range names, and which of its PSNs lie between blocks.
    fn locate(&self, range: PsnRange, wanted: &mut Vec<(usize, Bitmap)>, gaps: &mut Vec<(Psn, u8)>) {
        let (Some(first), Some(next)) = (self.closed.front(), self.next) else { return };
        let mut psn = range.start;
        let mut left = u32::from(range.count);
        while left > 0 {
            // Only what lies between the oldest block and the newest PSN.
            if psn.ahead_of(first.start) >= HALF || next.ahead_of(psn) >= HALF || psn == next {
                (psn, left) = (psn.plus(1), left - 1);
                continue;
            }
            let index = self.first_block_behind(psn);
            let steps = match self.closed.get(index) {
                Some(block) if block.position(psn).is_some() => {
                    let steps = block.end().ahead_of(psn).min(left);
                    let named = (0..steps).filter_map(|step| block.position(psn.plus(step))).collect();
                    wanted.push((index, named));
                    steps
                }
                following => {
                    let end = following.or(self.open.as_ref()).map_or(next, |block| block.start);
                    let steps = end.ahead_of(psn).min(left).max(1);
                    if gaps.len() < MAX_GAPS {
                        gaps.push((psn, u8::try_from(steps).unwrap_or(u8::MAX)));
                    }
                    steps
                }
            };
            (psn, left) = (psn.plus(steps), left - steps);
        }
    }

    /// The index of the first closed block that ends behind `psn`.
    fn first_block_behind(&self, psn: Psn) -> usize {
        self.closed.partition_point(|block| {
            let distance = psn.ahead_of(block.end());
            distance < HALF
        })
    }

    pub(super) fn block_of(&self, psn: Psn) -> Option<usize> {
        let index = self.first_block_behind(psn);
        self.closed.get(index).and_then(|block| block.position(psn)).map(|_| index)
    }

    //= CREM, Coded Retransmission: 92b27ad9
    //= CREM, Cauchy Code: f0a922de 84631fc2
    //= CREM, Fallback: f39c397e
    //= CREM, Message Formats: cb9435c6
    /// Answers for one block, at most once per smoothed round-trip time. Ours, as decided: M = min(X, max(suggested, X - r)) symbols
    /// with indices never used before; copies when those run out or the scheme has no coded retransmission.
    fn answer<T: Transmit>(&mut self, index: usize, wish: &Wish, ctx: &mut Context<'_, T>) {
        if self.breaker.verdict(ctx.now) != Verdict::Closed {
            ctx.stats.unanswerable += 1;
            return;
        }
        let srtt = self.rtt.smoothed();
        let Some(block) = self.closed.get_mut(index) else { return };
        if block.answered_at.is_some_and(|at| ctx.now.saturating_sub(at) < srtt) {
            ctx.stats.too_soon += 1;
            return;
        }
        let x = u8::try_from(wish.lost.len()).unwrap_or(u8::MAX);
        let m = wish.suggested.max(x.saturating_sub(wish.repairs_held)).min(x);
        let coded = block.configuration.code.has_retransmission() && block.indices_left() >= m.into();
        let work = if x == 0 {
            Work::Info
        } else if wish.copies {
            if ctx.config.fallback == FallbackAnswer::Transport {
                ctx.stats.unanswerable += 1;
                return;
            }
            Work::Copies
        } else if coded {
            let next = u8::try_from(block.next_index).unwrap_or(u8::MAX);
            block.next_index += u16::from(m);
            Work::Coded { next, left: m }
        } else {
            Work::Copies
        };
        if m == 0 && work != Work::Info && work != Work::Copies {
            return;
        }
        block.answered_at = Some(ctx.now);
        ctx.stats.answered += 1;
        let block = block.clone();
        let job = self.job(&block, wish.lost, wish.session, work, ctx.now);
        self.jobs.push_back(job);
    }

    /// Says that positions between blocks are absent: a block without a present position.
    fn describe_gap<T>(&mut self, start: Psn, count: u8, ctx: &Context<'_, T>) {
        let Some(configuration) = self.current else { return };
        let block = Block { covered: count, ..Block::new(start, configuration) };
        let job = self.job(&block, Bitmap::EMPTY, 0, Work::Info, ctx.now);
        self.jobs.push_back(job);
    }
}

fn overlaps(block: &Block, range: PsnRange) -> bool {
    range.start.ahead_of(block.start) < block.covered.into()
        || block.start.ahead_of(range.start) < range.count.into()
}
