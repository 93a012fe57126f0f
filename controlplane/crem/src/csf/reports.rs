//! What reports of the receiver and of nodes on the path change (CREM, Loss Reports and Path Reports).

use wire::crem::{Cause, CloseReason, HopEntry, LossReport, PathReport};
use wire::roce::Psn;
use wire::units::Nanos;

use super::block::Work;
use super::breaker::Verdict;
use super::flow::{Context, Flow};
use crate::sink::Transmit;

impl Flow {
    //= CREM, Loss Reports: efd8d6b5
    //= CREM, Congestion: 598880b9 d6cb2c28 42f46571 324628c5
    /// The receiver's counts of an interval.
    pub(super) fn loss_report<T: Transmit>(&mut self, report: &LossReport, ctx: &mut Context<'_, T>) {
        self.unreported_since = None;
        let congested = report.ce_marked > 0 || ctx.now < self.congested_until;
        self.policy.report(report, congested);
        self.budget.marks(report.repairs_ce_marked > 0);
        self.breaker.report(report, ctx.now);
        match self.breaker.verdict(ctx.now) {
            Verdict::Persistent => self.close(CloseReason::PERSISTENT_LOSS, ctx),
            Verdict::Open => {
                self.jobs.retain(|job| job.work == Work::Info);
                self.spreading = None;
                self.update_parameters(ctx);
            }
            Verdict::Closed => self.update_parameters(ctx),
        }
    }

    //= CREM, Path Reports: 4d1ea308 c2b504b6 8dcd5f63
    //= CREM, Cauchy Code: b42b2c0c
    /// A node on the path says what it saw of this flow.
    pub(super) fn path_report<T: Transmit>(&mut self, report: &PathReport, ctx: &mut Context<'_, T>) {
        if report.entries.iter().any(|entry| tells_congestion(entry, ctx.config.congestion_delay)) {
            // The receiver's reports about the same time come up to two round trips later.
            self.congested_until = ctx.now + Nanos(self.rtt.smoothed().0 * 2);
        }
        for psn in report.entries.iter().flat_map(|entry| &entry.psns) {
            self.dropped(*psn, ctx);
        }
        self.pump(ctx);
    }

    /// A packet was dropped: an ordinary symbol more for its block, unless its redundancy covers the drop.
    fn dropped<T: Transmit>(&mut self, psn: Psn, ctx: &mut Context<'_, T>) {
        if let Some(open) = &mut self.open
            && let Some(position) = open.position(psn)
        {
            open.dropped.insert(position);
            return;
        }
        let allowed = self.breaker.verdict(ctx.now) == Verdict::Closed;
        let Some(index) = self.block_of(psn) else { return };
        let block = &mut self.closed[index];
        let Some(position) = block.position(psn).filter(|&position| block.present.contains(position)) else {
            return;
        };
        if block.dropped.contains(position) || !allowed {
            return;
        }
        block.dropped.insert(position);
        if block.dropped.len() <= block.ordinary.into() || block.indices_left() == 0 {
            return;
        }
        let next = u8::try_from(block.next_index).unwrap_or(u8::MAX);
        block.next_index += 1;
        block.ordinary += 1;
        let block = block.clone();
        let job = self.job(&block, block.present, 0, Work::Coded { next, left: 1 }, ctx.now);
        self.jobs.push_back(job);
    }
}

/// Ours: a hop lost packets for want of room if it says so, or if it doesn't know why and its queueing delay rose.
fn tells_congestion(entry: &HopEntry, delay: i32) -> bool {
    match entry.cause {
        Cause::CONGESTION => true,
        Cause::CORRUPTION | Cause::POLICY => false,
        _ => entry.lost > 0 && entry.delay_change > delay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_and_delay_decide_what_is_congestion() {
        let tells = |cause, lost, delay_change| {
            let entry = HopEntry { node_id: 1, period: 1, lost, delay_change, cause, psns: Vec::new() };
            tells_congestion(&entry, 100)
        };
        assert!(tells(Cause::CONGESTION, 0, 0));
        assert!(!tells(Cause::CORRUPTION, 5, 1000) && !tells(Cause::POLICY, 5, 1000));
        assert!(tells(Cause::UNKNOWN, 1, 101) && !tells(Cause::UNKNOWN, 1, 100));
        assert!(!tells(Cause::UNKNOWN, 0, 101));
        assert!(tells(Cause(200), 1, 101), "causes that are not known here");
    }
}
