//! Repair messages: what they say about blocks, and decoding.

use wire::crem::{Bitmap, Flags, Repair, Scheme};
use wire::frame::Ecn;
use wire::units::Nanos;

use super::flow::{ASKED, Context, Flow, psn_of};
use super::slot::{Block, Kept, SlotState};
use crate::code::RepairSymbol;
use crate::configuration::Configuration;
use crate::sink::Deliver;

/// What a repair message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// A symbol over a set.
    Coded(Bitmap),
    /// A source symbol.
    Copy,
    /// Nothing but the block's description.
    Info,
}

impl Flow {
    //= CREM, Configuration Changes: ea1c9932 c3c03329
    /// A repair message; false when it contradicts what is known.
    pub(super) fn repair<T: Deliver>(
        &mut self,
        flags: Flags,
        repair: &Repair<'_>,
        ecn: Ecn,
        ctx: &mut Context<'_, T>,
    ) -> bool {
        self.last_heard = ctx.now;
        let Some(configuration) = self.configuration_of(repair) else { return false };
        let Some(content) = Self::content(repair, configuration) else { return false };
        let start = self.position(repair.block_start);
        let end = start + u64::from(repair.k);
        if end > self.next + u64::from(self.ring.window()) / 2 {
            return false;
        }
        self.interval.begin(ctx.now, self.rtt.smoothed());
        self.interval.repairs_received += 1;
        self.interval.repairs_ce_marked += u32::from(ecn == Ecn::Ce);
        ctx.stats.repairs += 1;
        self.learn_round_trip(repair.session_id, ctx.now);
        if start < self.tail() {
            ctx.stats.needless += 1;
            return true;
        }
        if repair.session_id != 0 && !self.asked_for(start, repair) {
            // Of a block that is complete by now, or never asked for.
            ctx.stats.needless += 1;
            return true;
        }
        if !self.fits_in(start, end, repair, configuration) {
            return false;
        }
        self.learn_positions(start, end, repair, ctx);
        if content == Content::Copy {
            let position = start + u64::from(repair.index);
            if self.slot(position).state == SlotState::Missing {
                self.restore(position, repair.symbol, ctx);
            }
        }
        let unknown = self.unknown_of(start, repair.present);
        if unknown.is_empty() {
            ctx.stats.needless += u64::from(content != Content::Copy);
            self.finish(start);
            self.release(ctx);
            return true;
        }
        self.open_block(start, repair, configuration, &unknown);
        self.settle_due(start, flags, content, repair.session_id, ctx);
        if let Content::Coded(over) = content {
            self.keep(start, repair, over, ctx);
            self.try_decode(start, ctx);
        }
        self.release(ctx);
        true
    }

    /// The first answer to a request is a sample of the round-trip time, its pace included.
    fn learn_round_trip(&mut self, session: u16, now: Nanos) {
        let asked = &mut self.asked[usize::from(session) % ASKED];
        if session != 0 && asked.0 == session {
            self.rtt.sample(now.saturating_sub(asked.1));
            *asked = (0, Nanos(0));
        }
    }

    /// Whether a request that is not complete yet has this message for an answer.
    fn asked_for(&self, start: u64, repair: &Repair<'_>) -> bool {
        let by_block =
            self.blocks.get(&start).is_some_and(|block| block.request_ids.contains(&repair.session_id));
        by_block
            || repair.present.iter().any(|j| {
                let missing = self.missing.get(&(start + u64::from(j)));
                missing.is_some_and(|missing| missing.request_ids.contains(&repair.session_id))
            })
    }

    //= CREM, Configuration Changes: c3c03329
    fn configuration_of(&self, repair: &Repair<'_>) -> Option<Configuration> {
        let (configuration, _) =
            *self.configurations.iter().find(|(known, _)| known.id == repair.config_id)?;
        let scheme = repair.scheme == configuration.code.scheme() || repair.scheme == Scheme::SOURCE_COPY;
        let octets = repair.symbol.is_empty() || repair.symbol.len() == usize::from(configuration.octets);
        (scheme && octets && repair.k <= configuration.k).then_some(configuration)
    }

    //= CREM, FEC Schemes: 277d8371
    //= CREM, Cauchy Code: f0a922de b42b2c0c
    /// What the message carries; `None` when its index, sets or session contradict each other.
    fn content(repair: &Repair<'_>, configuration: Configuration) -> Option<Content> {
        let sets = repair.lost.is_none_or(|lost| !lost.is_empty() && lost.is_subset(&repair.present));
        if !sets {
            return None;
        }
        if repair.symbol.is_empty() {
            return Some(Content::Info);
        }
        if repair.scheme == Scheme::SOURCE_COPY {
            let fits = repair.present.contains(repair.index) && repair.session_id != 0;
            return fits.then_some(Content::Copy);
        }
        let index = u16::from(repair.index) < configuration.code.indices(repair.k);
        let session = repair.lost.is_some() == (repair.session_id != 0);
        let retransmission = repair.lost.is_none() || configuration.code.has_retransmission();
        (index && session && retransmission && !repair.present.is_empty())
            .then(|| Content::Coded(repair.lost.unwrap_or(repair.present)))
    }

    //= CREM, Source Blocks: eac4c389
    /// Whether a block agrees with the same block as described before, and overlaps no other.
    fn fits_in(&self, start: u64, end: u64, repair: &Repair<'_>, configuration: Configuration) -> bool {
        if let Some(block) = self.blocks.get(&start) {
            return block.k == repair.k
                && block.present == repair.present
                && block.configuration.id == configuration.id;
        }
        let before = self.blocks.range(..start).next_back();
        let after = self.blocks.range(start..end).next();
        before.is_none_or(|(other, block)| other + u64::from(block.k) <= start) && after.is_none()
    }

    //= CREM, Source Blocks: bffddbe3 761be8dc
    /// The block's positions exist; those that are not present carry no packet.
    fn learn_positions<T: Deliver>(
        &mut self,
        start: u64,
        end: u64,
        repair: &Repair<'_>,
        ctx: &mut Context<'_, T>,
    ) {
        let present = |position: u64| match position.checked_sub(start) {
            Some(offset) => u8::try_from(offset).is_ok_and(|offset| repair.present.contains(offset)),
            // Before the block: nothing is known of them, so they are losses.
            None => true,
        };
        for position in start..end.min(self.next) {
            if self.slot(position).state == SlotState::Missing && !present(position) {
                self.is_absent(position);
            }
        }
        self.advance(end, present, ctx);
    }

    /// The block at `start`, incomplete; its gaps are the block's from now on.
    fn open_block(
        &mut self,
        start: u64,
        repair: &Repair<'_>,
        configuration: Configuration,
        unknown: &Bitmap,
    ) {
        let mut rounds = 0;
        let mut requested = None;
        for position in unknown.iter() {
            if let Some(missing) = self.missing.get_mut(&(start + u64::from(position))) {
                missing.in_block = true;
                rounds = rounds.max(missing.rounds);
                requested = requested.or(missing.requested);
            }
        }
        self.blocks.entry(start).or_insert_with(|| Block {
            k: repair.k,
            present: repair.present,
            configuration,
            symbols: Vec::new(),
            due: Nanos::MAX,
            requested,
            request_ids: [0; 3],
            rounds,
            fallback: false,
            counted: rounds > 0,
        });
    }

    /// When to ask for the block: soon after the last symbol of a round, and never sooner than a round-trip time after
    /// asking before.
    fn settle_due<T>(
        &mut self,
        start: u64,
        flags: Flags,
        content: Content,
        session: u16,
        ctx: &Context<'_, T>,
    ) {
        let round_trip = self.rtt.smoothed();
        let Some(block) = self.blocks.get_mut(&start) else { return };
        let last = flags.contains(Flags::LAST) || content == Content::Info;
        let soonest = ctx.now + if last { ctx.config.reorder } else { ctx.config.repair_wait };
        let first_round = session == 0 && block.requested.is_none();
        if session != 0 || first_round || block.due == Nanos::MAX {
            block.due = block.requested.map_or(soonest, |at| soonest.max(at + round_trip));
        }
        self.blocks_due = self.blocks_due.min(block.due);
    }

    //= CREM, Receiver Rules: 2662a776
    /// Keeps a symbol of an incomplete block; at the bound, those of the oldest other block make room.
    fn keep<T>(&mut self, start: u64, repair: &Repair<'_>, over: Bitmap, ctx: &mut Context<'_, T>) {
        let Some(block) = self.blocks.get(&start) else { return };
        let twice = block.symbols.iter().any(|kept| kept.index == repair.index);
        if twice || block.symbols.len() >= block.present.len() {
            ctx.stats.needless += 1;
            return;
        }
        let place = self.store.keep(repair.symbol).or_else(|| {
            let oldest =
                self.blocks.iter_mut().find(|(other, block)| **other < start && !block.symbols.is_empty());
            ctx.stats.crowded_out += 1;
            let (_, oldest) = oldest?;
            self.store.release(&oldest.symbols);
            oldest.symbols.clear();
            self.store.keep(repair.symbol)
        });
        if let (Some(place), Some(block)) = (place, self.blocks.get_mut(&start)) {
            block.symbols.push(Kept { place, index: repair.index, over });
        }
    }

    /// Forgets a block and its symbols.
    fn finish(&mut self, start: u64) {
        if let Some(block) = self.blocks.remove(&start) {
            self.store.release(&block.symbols);
        }
    }

    /// A missing packet came: its block may be complete now, or have one unknown less.
    pub(super) fn filled<T: Deliver>(&mut self, position: u64, ctx: &mut Context<'_, T>) {
        let block = self.blocks.range(..=position).next_back();
        let Some((&start, _)) = block.filter(|(start, block)| position < *start + u64::from(block.k)) else {
            return;
        };
        self.try_decode(start, ctx);
    }

    //= CREM, Coded Retransmission: d9bb65d4 31fc2512
    //= CREM, Source Blocks: 0420d695
    /// Solves for what is missing of a block, if there are symbols enough. A packet that came late may be the transport's
    /// retransmission, and not identical to the original that was coded (its `AckReq` can differ): where the symbols
    /// suffice, such packets are solved for too rather than trusted.
    fn try_decode<T: Deliver>(&mut self, start: u64, ctx: &mut Context<'_, T>) {
        let Some(block) = self.blocks.get(&start) else { return };
        let unknown = self.unknown_of(start, block.present);
        if unknown.is_empty() {
            self.finish(start);
            return;
        }
        let late: Bitmap = block.present.iter().filter(|&j| self.slot(start + u64::from(j)).late).collect();
        let doubted = unknown.iter().chain(late.iter()).collect();
        // With them unknown, with symbols that they aren't part of, and as a last resort trusting them.
        let mut solved = self.solve(start, unknown, doubted, Bitmap::EMPTY, ctx);
        if !late.is_empty() && solved != Some(true) {
            solved = self.solve(start, unknown, unknown, late, ctx);
        }
        if !late.is_empty() && solved.is_none() {
            solved = self.solve(start, unknown, unknown, Bitmap::EMPTY, ctx);
        }
        match solved {
            Some(true) => self.finish(start),
            // One of the symbols is wrong, and which one can't be known. If it may be a packet that came late instead, more
            // symbols will tell.
            Some(false) if late.is_empty() => {
                if let Some(block) = self.blocks.get_mut(&start) {
                    self.store.release(&block.symbols);
                    block.symbols.clear();
                }
            }
            _ => {}
        }
    }

    /// Solves for the positions `solved`, with symbols over none of `avoided`, and restores those of `unknown`, which are
    /// among them; says whether all are valid packets, and nothing when the symbols don't suffice.
    fn solve<T: Deliver>(
        &mut self,
        start: u64,
        unknown: Bitmap,
        solved: Bitmap,
        avoided: Bitmap,
        ctx: &mut Context<'_, T>,
    ) -> Option<bool> {
        let block = self.blocks.get(&start)?;
        if block.symbols.len() < solved.len() || self.last.is_none() {
            return None;
        }
        let octets = usize::from(block.configuration.octets);
        let mut repairs = [RepairSymbol { index: 0, over: Bitmap::EMPTY, octets: &[] }; u8::MAX as usize];
        let usable = block.symbols.iter().filter(|kept| kept.over.and(&avoided).is_empty());
        let mut count = 0;
        for (repair, kept) in repairs.iter_mut().zip(usable) {
            *repair = RepairSymbol {
                index: kept.index,
                over: kept.over,
                octets: self.store.get(kept.place, octets),
            };
            count += 1;
        }
        let repairs = &repairs[..count];
        let known = block.present.without(&solved);
        let psn = |j: u8| psn_of(start + u64::from(j));
        if known.iter().any(|j| self.ring.get(psn(j), octets).is_none_or(|symbol| symbol.len() != octets)) {
            // A source longer than a symbol stands among them: the block can't have been coded with it.
            return None;
        }
        let source = |j: u8| self.ring.get(psn(j), octets).unwrap_or_default();
        let mut decoder = core::mem::take(&mut self.decoder);
        let code = block.configuration.code;
        let recovered = decoder.decode(ctx.config.kernel, code, (solved, known), source, repairs, octets);
        let valid = recovered.ok().map(|recovered| {
            let wanted = recovered.iter().filter(|(j, _)| unknown.contains(*j));
            wanted.fold(true, |valid, (j, symbol)| self.restore(start + u64::from(j), symbol, ctx) && valid)
        });
        self.decoder = decoder;
        valid
    }
}
