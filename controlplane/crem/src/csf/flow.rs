//! A protected flow: its blocks as packets come, and its deadlines.

use core::net::SocketAddr;
use std::collections::VecDeque;

use wire::crem::{Bitmap, FlowId, Schemes};
use wire::roce::Psn;
use wire::units::Nanos;

use super::block::{Block, Job, Work};
use super::breaker::{Breaker, Verdict};
use super::budget::Budget;
use super::config::{CsfConfig, CsfStats};
use super::emit::Scratch;
use super::establish::{Pending, State};
use crate::code::Code;
use crate::configuration::Configuration;
use crate::packet::{FlowKey, PREFIX_OCTETS, Source};
use crate::policy::Policy;
use crate::ring::Ring;
use crate::rtt::Rtt;
use crate::sink::Transmit;
use crate::timers::Armed;

/// Half of the number space: a PSN further ahead than this lies behind.
pub(super) const HALF: u32 = 1 << 23;

/// What a flow's functions need from around it.
pub(super) struct Context<'a, T> {
    pub config: &'a CsfConfig,
    pub stats: &'a mut CsfStats,
    pub out: &'a mut T,
    /// A buffer for messages.
    pub message: &'a mut Vec<u8>,
    pub now: Nanos,
}

/// What both sides can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub schemes: Schemes,
    pub max_k: u8,
    pub max_m: u8,
    pub max_t: u16,
}

#[derive(Debug)]
pub(super) struct Flow {
    pub key: FlowKey,
    pub state: State,
    /// Where messages go: the configured receiver function, and once it has answered, where the answer came from.
    pub peer: SocketAddr,
    pub id: FlowId,
    pub nonce: u64,
    pub rtt: Rtt,
    /// The code to use where the receiver supports it.
    pub wanted_code: Code,
    pub limits: Limits,
    pub ring: Ring,
    /// The next new PSN.
    pub next: Option<Psn>,
    pub open: Option<Block>,
    /// Closed blocks that are kept, in the order of their PSNs.
    pub closed: VecDeque<Block>,
    pub current: Option<Configuration>,
    /// Acknowledged, to be used from its Effective PSN on.
    pub accepted: Option<(Configuration, Psn)>,
    pub pending: Option<Pending>,
    pub next_config_id: u8,
    /// Ordinary symbols that are spread over source packets.
    pub spreading: Option<Job>,
    /// What leaves as soon as the rate limits allow.
    pub jobs: VecDeque<Job>,
    /// When the rate limits are to be asked again.
    pub pump_at: Option<Nanos>,
    pub scratch: Scratch,
    pub budget: Budget,
    pub policy: Policy,
    pub breaker: Breaker,
    pub last_source: Nanos,
    /// Since when protected packets leave without a report about them.
    pub unreported_since: Option<Nanos>,
    /// Reports until then tell of congestion: a node on the path said so.
    pub congested_until: Nanos,
    /// Whether acknowledgements of this flow have been seen.
    pub acknowledged: bool,
    /// Source packets of this and of the last round-trip time.
    pub activity: [u32; 2],
    pub activity_end: Nanos,
    /// The earliest entry of this flow in the queue of timers.
    pub armed: Armed,
}

impl Flow {
    pub(super) fn new(key: FlowKey, nonce: u64, config: &CsfConfig, now: Nanos) -> Self {
        let allowance = u64::from(config.repair_allowance) * u64::from(config.symbol_octets);
        Self {
            key,
            state: State::Silent,
            peer: config.receiver_of(key.addresses.destination()),
            id: FlowId(0),
            nonce,
            rtt: Rtt::new(config.initial_rtt),
            wanted_code: Code::of(config.scheme).unwrap_or(Code::Cauchy),
            limits: Limits { schemes: Schemes(0), max_k: 0, max_m: 0, max_t: 0 },
            ring: Ring::new(1, 0),
            next: None,
            open: None,
            closed: VecDeque::new(),
            current: None,
            accepted: None,
            pending: None,
            next_config_id: 1,
            spreading: None,
            jobs: VecDeque::new(),
            pump_at: None,
            scratch: Scratch::default(),
            budget: Budget::new(config.repair_permille, allowance, now),
            policy: Policy::new(config.prior_loss, config.loss_memory, config.epsilon),
            breaker: Breaker::default(),
            last_source: now,
            unreported_since: None,
            congested_until: Nanos(0),
            acknowledged: false,
            activity: [0; 2],
            activity_end: now,
            armed: Armed::default(),
        }
    }

    //= CREM, Source Blocks: d619a71a eac4c389 b301c120 b3c7295f
    /// A packet of the flow passes.
    pub(super) fn source<T: Transmit>(&mut self, source: &Source, payload: &[u8], ctx: &mut Context<'_, T>) {
        let psn = source.bth.psn;
        ctx.stats.sources += 1;
        ctx.stats.source_octets += payload.len() as u64;
        let next = *self.next.get_or_insert(psn);
        if psn.ahead_of(next) >= HALF {
            // The transport sends it again: its position keeps the symbol that it has.
            ctx.stats.retransmitted += 1;
            return;
        }
        // The flow lives as long as it makes progress; a burst ends when new packets stop.
        self.last_source = ctx.now;
        self.count_activity(ctx.now);
        self.next = Some(psn.plus(source.positions));
        if self.state != State::Open {
            return;
        }
        self.budget.earn(payload.len() as u64, ctx.now, self.rtt.smoothed());
        if self.open.as_ref().is_some_and(|block| psn.ahead_of(block.start) >= block.configuration.k.into()) {
            // The rest of the block's positions was passed over.
            self.close_block(true, ctx);
        }
        if self.open.is_none() {
            self.open = self.configuration_at(psn).map(|configuration| Block::new(psn, configuration));
        }
        if let Some(mut block) = self.open.take() {
            self.take_in(&mut block, source, payload, ctx);
            let full = block.covered >= block.configuration.k;
            self.open = Some(block);
            if full {
                self.close_block(true, ctx);
            }
        }
        self.release_old(ctx);
        self.emit_spread(ctx);
        if !self.jobs.is_empty() {
            self.pump(ctx);
        }
    }

    /// Puts a packet at its position.
    fn take_in<T>(&mut self, block: &mut Block, source: &Source, payload: &[u8], ctx: &mut Context<'_, T>) {
        let psn = source.bth.psn;
        let k = u32::from(block.configuration.k);
        let position = psn.ahead_of(block.start);
        block.covered = u8::try_from((position + source.positions).min(k)).unwrap_or(u8::MAX);
        let fits = payload.len() + PREFIX_OCTETS <= block.configuration.octets.into();
        if fits && self.ring.put(psn, payload) {
            if let Ok(position) = u8::try_from(position) {
                block.present.insert(position);
            }
            ctx.stats.protected += 1;
            self.unreported_since.get_or_insert(ctx.now);
        } else {
            ctx.stats.oversize += 1;
        }
    }

    //= CREM, Configuration Changes: c65c22fb
    /// The configuration for a block that starts at `psn`.
    fn configuration_at(&mut self, psn: Psn) -> Option<Configuration> {
        if let Some((configuration, effective)) = self.accepted
            && psn.ahead_of(effective) < HALF
        {
            self.current = Some(configuration);
            self.accepted = None;
        }
        self.current
    }

    //= CREM, Redundancy Policy: 4dc773fb 8a3c8b0d
    //= CREM, Source Blocks: b301c120
    /// Closes the open block and lets its repair symbols go. `more` says that packets follow at once, so that symbols may be
    /// spread over them.
    pub(super) fn close_block<T: Transmit>(&mut self, more: bool, ctx: &mut Context<'_, T>) {
        let Some(mut block) = self.open.take() else { return };
        if let Some(unsent) = self.spreading.take() {
            self.jobs.push_back(unsent);
        }
        block.closed_at = ctx.now;
        ctx.stats.blocks += 1;
        let k = block.covered;
        let wanted = if block.present.is_empty() {
            0
        } else if block.covered < block.configuration.k {
            self.policy.repairs(k, block.configuration.m)
        } else {
            block.configuration.m
        };
        // What a node on the path dropped already is repaired along with the block.
        let dropped = u8::try_from(block.dropped.len()).unwrap_or(u8::MAX);
        let open = self.breaker.verdict(ctx.now) != Verdict::Closed;
        let m = if open { 0 } else { wanted.max(dropped) };
        let m = u8::try_from(u16::from(m).min(block.indices_left())).unwrap_or(u8::MAX);
        let work = if m > 0 { Work::Coded { next: 0, left: m } } else { Work::Info };
        if m > 0 || !more && ctx.config.announce_ends {
            let job = self.job(&block, block.present, 0, work, ctx.now);
            if more && ctx.config.spread {
                self.spreading = Some(job);
            } else {
                self.jobs.push_back(job);
            }
        }
        block.next_index = m.into();
        block.ordinary = m.into();
        self.closed.push_back(block);
        self.pump(ctx);
    }

    pub(super) fn job(&self, block: &Block, over: Bitmap, session: u16, work: Work, now: Nanos) -> Job {
        Job {
            start: block.start,
            covered: block.covered,
            present: block.present,
            configuration: block.configuration,
            over,
            session,
            work,
            expires: now + self.rtt.smoothed(),
        }
    }

    //= CREM, Coded Retransmission: edc5a3c8
    /// Gives up blocks whose symbols were overwritten, and where no acknowledgement can be seen, those that are old.
    fn release_old<T>(&mut self, ctx: &mut Context<'_, T>) {
        let Some(next) = self.next else { return };
        let age = Nanos(self.rtt.smoothed().0.saturating_mul(ctx.config.retention_rtts));
        while let Some(block) = self.closed.front() {
            let first = block.present.iter().next().map(|position| block.start.plus(position.into()));
            let overwritten = first.is_none_or(|psn| self.ring.get(psn, 0).is_none())
                || next.ahead_of(block.start) > HALF / 2;
            let old = !self.acknowledged && ctx.now.saturating_sub(block.closed_at) > age;
            if !(overwritten || old) {
                break;
            }
            self.closed.pop_front();
            ctx.stats.given_up += 1;
        }
    }

    fn count_activity(&mut self, now: Nanos) {
        if now >= self.activity_end {
            let srtt = self.rtt.smoothed();
            let missed = now.saturating_sub(self.activity_end) >= srtt;
            self.activity = [0, if missed { 0 } else { self.activity[0] }];
            self.activity_end = now + srtt;
        }
        self.activity[0] = self.activity[0].saturating_add(1);
    }

    /// The next time at which [`Flow::timeout`] has something to do.
    pub(super) fn deadline(&self, config: &CsfConfig) -> Nanos {
        let mut deadline = self.last_source + config.idle_timeout;
        let mut or = |at: Nanos| deadline = deadline.min(at);
        match self.state {
            State::Hello { next, .. } => or(next),
            State::Refused { until } => or(until),
            State::Open | State::Silent => {}
        }
        if self.open.is_some() || self.spreading.is_some() {
            or(self.last_source + config.burst_gap);
        }
        if let Some(pending) = &self.pending {
            or(pending.next);
        }
        if let Some(at) = self.pump_at {
            or(at);
        }
        deadline
    }

    /// Does what is due, but for what concerns establishment.
    pub(super) fn timeout<T: Transmit>(&mut self, ctx: &mut Context<'_, T>) {
        if ctx.now >= self.last_source + ctx.config.burst_gap {
            self.close_block(false, ctx);
            self.jobs.extend(self.spreading.take());
        }
        self.pump(ctx);
    }
}
