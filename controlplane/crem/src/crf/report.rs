//! Counting for `LOSS_REPORT` (CREM, Loss Reports).

use wire::crem::{Flags, LossReport, Message};
use wire::units::Nanos;

use super::flow::{Context, Flow};
use crate::policy::Policy;
use crate::sink::Deliver;

/// Packets after which a loss counts 1/e in the receiver's own estimate.
const MEMORY: u32 = 1 << 13;

/// The counts since the last report.
#[derive(Debug)]
pub(super) struct Interval {
    start: Nanos,
    /// When the report is due; never while nothing comes.
    pub due: Nanos,
    /// Signed: a position may turn out to be absent after the report that counted it as lost.
    pub expected: i64,
    pub received: u32,
    pub restored: u32,
    pub incomplete_blocks: u32,
    pub ce_marked: u32,
    pub repairs_received: u32,
    pub repairs_ce_marked: u32,
    estimate: Policy,
}

impl Default for Interval {
    fn default() -> Self {
        Self {
            start: Nanos(0),
            due: Nanos::MAX,
            expected: 0,
            received: 0,
            restored: 0,
            incomplete_blocks: 0,
            ce_marked: 0,
            repairs_received: 0,
            repairs_ce_marked: 0,
            estimate: Policy::new(0.0, MEMORY, 1.0),
        }
    }
}

impl Interval {
    /// Something came: a report is due a round-trip time after the first of an interval.
    pub(super) fn begin(&mut self, now: Nanos, round_trip: Nanos) {
        if self.due == Nanos::MAX {
            (self.start, self.due) = (now, now + round_trip);
        }
    }

    /// The receiver's own estimate of the loss rate.
    pub(super) fn loss_rate(&self) -> f64 {
        self.estimate.loss_rate()
    }

    fn is_quiet(&self) -> bool {
        self.expected <= 0 && self.received == 0 && self.repairs_received == 0 && self.restored == 0
    }
}

impl Flow {
    //= CREM, Loss Reports: 24233154 9d8ae561
    //= CREM, Receiver Rules: 39c53332
    /// Sends the report of the interval, unless the flow was quiet.
    pub(super) fn report<T: Deliver>(&mut self, ctx: &mut Context<'_, T>) {
        let interval = &mut self.interval;
        if interval.is_quiet() {
            interval.due = Nanos::MAX;
            return;
        }
        let report = LossReport {
            interval: ctx.now.saturating_sub(interval.start).micros(),
            expected: u32::try_from(interval.expected).unwrap_or(0),
            received: interval.received,
            restored: interval.restored,
            incomplete_blocks: interval.incomplete_blocks,
            ce_marked: interval.ce_marked,
            repairs_received: interval.repairs_received,
            repairs_ce_marked: interval.repairs_ce_marked,
        };
        interval.estimate.report(&report, false);
        let estimate = core::mem::replace(&mut interval.estimate, Policy::new(0.0, MEMORY, 1.0));
        *interval = Interval {
            start: ctx.now,
            due: ctx.now + self.rtt.smoothed(),
            expected: interval.expected.min(0),
            estimate,
            ..Interval::default()
        };
        self.send(&Message::LossReport(report), Flags::NONE, ctx);
    }
}
