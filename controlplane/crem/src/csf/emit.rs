//! Repair messages as they leave, symbol by symbol, within the rate limits.

use wire::crem::{Bitmap, Flags, Header, Message, Repair, Scheme};
use wire::roce::Psn;
use wire::units::Nanos;

use super::block::{Job, Work};
use super::flow::{Context, Flow};
use crate::code::{self, MAX_SOURCES};
use crate::sink::Transmit;

/// Symbols computed in one pass.
const GROUP: u8 = 4;

/// The symbols computed last: indices from `first` on, of one block over one set.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    symbols: Vec<u8>,
    of: Option<(Psn, Bitmap)>,
    first: u8,
    count: u8,
}

/// Why a symbol did not leave.
enum Held {
    /// The rate limits: ask again then, or with the next source packet.
    Limited(Nanos),
    /// The block's sources are gone.
    Gone,
}

impl Flow {
    /// Sends of all jobs what the rate limits allow.
    pub(super) fn pump<T: Transmit>(&mut self, ctx: &mut Context<'_, T>) {
        self.pump_at = None;
        while let Some(mut job) = self.jobs.pop_front() {
            match self.emit(&mut job, ctx) {
                Ok(true) => self.jobs.push_front(job),
                Ok(false) => {}
                Err(Held::Gone) => ctx.stats.suppressed += left(&job),
                Err(Held::Limited(_)) if ctx.now >= job.expires => ctx.stats.suppressed += left(&job),
                Err(Held::Limited(at)) => {
                    self.pump_at = Some(at.min(job.expires));
                    self.jobs.push_front(job);
                    return;
                }
            }
        }
    }

    /// With each source packet goes one symbol of the block before.
    pub(super) fn emit_spread<T: Transmit>(&mut self, ctx: &mut Context<'_, T>) {
        let Some(mut job) = self.spreading.take() else { return };
        match self.emit(&mut job, ctx) {
            Ok(true) | Err(Held::Limited(_)) => self.spreading = Some(job),
            Ok(false) => {}
            Err(Held::Gone) => ctx.stats.suppressed += left(&job),
        }
    }

    //= CREM, Redundancy Policy: fe351ce6
    /// Sends the next message of a job; says whether there are more.
    fn emit<T: Transmit>(&mut self, job: &mut Job, ctx: &mut Context<'_, T>) -> Result<bool, Held> {
        let octets = if job.work == Work::Info { 0 } else { job.configuration.octets };
        let bitmaps = 2 * Bitmap::octets(job.covered);
        let length = wire::crem::REPAIR_FIXED_OCTETS + bitmaps + usize::from(octets);
        let paced = !job.is_ordinary();
        self.budget.spend(length as u64, paced, ctx.now, self.rtt.smoothed()).map_err(Held::Limited)?;
        match job.work {
            Work::Coded { next, left } => {
                let symbol = self.symbol(job, next, left, ctx)?;
                let place = symbol * usize::from(octets)..(symbol + 1) * usize::from(octets);
                let symbol = self.scratch.symbols.get(place).unwrap_or_default();
                let lost = (!job.is_ordinary()).then_some(job.over);
                let repair = Repair { index: next, lost, symbol, ..described(job) };
                self.send(&repair, left == 1, ctx);
                let sent =
                    if job.is_ordinary() { &mut ctx.stats.ordinary } else { &mut ctx.stats.retransmissions };
                *sent += 1;
                job.work = Work::Coded { next: next.wrapping_add(1), left: left - 1 };
                Ok(left > 1)
            }
            Work::Copies => {
                let Some(position) = job.over.iter().next() else { return Ok(false) };
                let symbol =
                    self.ring.get(job.start.plus(position.into()), octets.into()).ok_or(Held::Gone)?;
                job.over.remove(position);
                let more = !job.over.is_empty();
                let repair =
                    Repair { scheme: Scheme::SOURCE_COPY, index: position, symbol, ..described(job) };
                self.send(&repair, !more, ctx);
                ctx.stats.copies += 1;
                Ok(more)
            }
            Work::Info => {
                self.send(&described(job), false, ctx);
                ctx.stats.infos += 1;
                Ok(false)
            }
        }
    }

    //= CREM, Message Formats: 9dc03915 9f2dd885
    //= CREM, Configuration Changes: c3c03329
    //= CREM, Flow Establishment: a0d48d54
    fn send<T: Transmit>(&self, repair: &Repair<'_>, last: bool, ctx: &mut Context<'_, T>) {
        ctx.message.clear();
        let header = Header { flags: Flags::NONE.set(Flags::LAST, last), flow_id: self.id };
        Message::Repair(*repair).encode(&header, ctx.message);
        ctx.stats.repair_octets += ctx.message.len() as u64;
        ctx.out.transmit(&self.key, self.peer, ctx.message);
    }

    //= CREM, Cauchy Code: 78fb80b7 84631fc2
    /// Where in the scratch buffer symbol `index` stands; computes it, and the next ones, if it isn't there.
    fn symbol<T>(&mut self, job: &Job, index: u8, left: u8, ctx: &Context<'_, T>) -> Result<usize, Held> {
        let octets = usize::from(job.configuration.octets);
        let scratch = &mut self.scratch;
        let there = scratch.of == Some((job.start, job.over))
            && (scratch.first..scratch.first.saturating_add(scratch.count)).contains(&index);
        if !there {
            scratch.of = None;
            let (mut positions, mut sources) = ([0; MAX_SOURCES], [&[][..]; MAX_SOURCES]);
            let mut count = 0;
            for position in job.over.iter() {
                let psn = job.start.plus(position.into());
                sources[count] = self.ring.get(psn, octets).ok_or(Held::Gone)?;
                positions[count] = position;
                count += 1;
            }
            let symbols = left.min(GROUP);
            scratch.symbols.resize(usize::from(symbols) * octets, 0);
            let mut outputs: [&mut [u8]; GROUP as usize] = [&mut [], &mut [], &mut [], &mut []];
            let buffers = scratch.symbols.chunks_exact_mut(octets);
            outputs.iter_mut().zip(buffers).for_each(|(output, buffer)| *output = buffer);
            code::encode(
                ctx.config.kernel,
                job.configuration.code,
                index,
                &positions[..count],
                &sources[..count],
                &mut outputs[..usize::from(symbols)],
            );
            (scratch.of, scratch.first, scratch.count) = (Some((job.start, job.over)), index, symbols);
        }
        Ok(usize::from(index - scratch.first))
    }
}

/// The fields that all repair messages of a job share; without a symbol, it is the INFO message.
fn described(job: &Job) -> Repair<'static> {
    Repair {
        config_id: job.configuration.id,
        scheme: job.configuration.code.scheme(),
        k: job.covered,
        index: 0,
        block_start: job.start,
        session_id: job.session,
        present: job.present,
        lost: None,
        symbol: &[],
    }
}

fn left(job: &Job) -> u64 {
    match job.work {
        Work::Coded { left, .. } => left.into(),
        Work::Copies => job.over.len() as u64,
        Work::Info => 1,
    }
}
