//! The circuit breaker (CREM, Congestion).

use wire::crem::LossReport;
use wire::units::Nanos;

const SECOND: u64 = 1_000_000_000;
/// What is looked at.
const WINDOW: Nanos = Nanos(SECOND);
/// How long the condition must be absent.
const RECOVERY: Nanos = Nanos(10 * SECOND);
/// How long it may persist.
const PATIENCE: Nanos = Nanos(60 * SECOND);
/// The window is kept in so many parts.
const PARTS: usize = 10;
const PART: u64 = WINDOW.0 / PARTS as u64;

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Which part of time, since the origin.
    part: u64,
    expected: u64,
    lost: i64,
    marked: u64,
    received: u64,
}

/// What the breaker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Redundancy and coded retransmission may be used.
    Closed,
    /// They may not.
    Open,
    /// The condition persisted: the flow is to be closed.
    Persistent,
}

/// Watches loss and marking of a flow over a second.
#[derive(Clone, Debug, Default)]
pub(super) struct Breaker {
    counts: [Counts; PARTS],
    /// When the first report came.
    started: Option<Nanos>,
    /// Since when the condition holds without a clean recovery.
    since: Option<Nanos>,
    last_seen: Nanos,
}

impl Breaker {
    //= CREM, Congestion: 598880b9
    /// A report came. Nothing is judged before there has been a second to look at: a loss among the first few packets is no
    /// rate.
    pub(super) fn report(&mut self, report: &LossReport, now: Nanos) {
        let part = now.0 / PART;
        let slot = &mut self.counts[usize::try_from(part % PARTS as u64).unwrap_or(0)];
        if slot.part != part {
            *slot = Counts { part, ..Counts::default() };
        }
        slot.expected += u64::from(report.expected);
        slot.lost += i64::from(report.expected) - i64::from(report.received);
        slot.received += u64::from(report.received);
        slot.marked += u64::from(report.ce_marked);
        let started = *self.started.get_or_insert(now);
        if now.saturating_sub(started) >= WINDOW && self.exceeded(part) {
            self.since.get_or_insert(now);
            self.last_seen = now;
        }
    }

    fn exceeded(&self, part: u64) -> bool {
        let recent = self.counts.iter().filter(|counts| counts.part + PARTS as u64 > part);
        let (mut expected, mut lost, mut marked, mut received) = (0, 0i64, 0, 0);
        for counts in recent {
            expected += counts.expected;
            lost += counts.lost;
            marked += counts.marked;
            received += counts.received;
        }
        // Above ten percent, above fifty percent.
        lost.max(0).unsigned_abs() * 10 > expected || marked * 2 > received
    }

    /// The state at `now`.
    pub(super) fn verdict(&mut self, now: Nanos) -> Verdict {
        let Some(since) = self.since else { return Verdict::Closed };
        if now.saturating_sub(self.last_seen) >= RECOVERY {
            self.since = None;
            return Verdict::Closed;
        }
        if self.last_seen.saturating_sub(since) > PATIENCE { Verdict::Persistent } else { Verdict::Open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(expected: u32, received: u32, ce_marked: u32) -> LossReport {
        LossReport { expected, received, ce_marked, ..LossReport::default() }
    }

    fn tripped(report: LossReport) -> bool {
        let mut breaker = Breaker::default();
        breaker.report(&LossReport::default(), Nanos(4 * SECOND));
        breaker.report(&report, Nanos(5 * SECOND - 1));
        assert_eq!(breaker.verdict(Nanos(5 * SECOND - 1)), Verdict::Closed, "less than a second");
        breaker.report(&LossReport::default(), Nanos(5 * SECOND));
        breaker.verdict(Nanos(5 * SECOND)) == Verdict::Open
    }

    //~ CREM, Congestion: 598880b9
    #[test]
    fn both_sides_of_ten_percent_loss_and_fifty_percent_marks() {
        assert!(!tripped(report(1000, 900, 0)));
        assert!(tripped(report(1000, 899, 0)));
        assert!(!tripped(report(1000, 1000, 500)));
        assert!(tripped(report(1000, 1000, 501)));
        assert!(!tripped(report(0, 0, 0)));
        assert!(!tripped(report(10, 20, 0)), "late packets");
    }

    //~ CREM, Congestion: 598880b9
    #[test]
    fn a_second_is_looked_at() {
        let mut breaker = Breaker::default();
        breaker.report(&LossReport::default(), Nanos(0));
        for tenth in 10..19 {
            breaker.report(&report(1000, 1000, 0), Nanos(tenth * PART));
        }
        breaker.report(&report(1000, 1, 0), Nanos(19 * PART));
        assert_eq!(breaker.verdict(Nanos(19 * PART)), Verdict::Closed, "999 of 10,000");
        breaker.report(&report(1000, 998, 0), Nanos(20 * PART));
        assert_eq!(
            breaker.verdict(Nanos(20 * PART)),
            Verdict::Open,
            "1,001 of 10,000, the oldest part is out"
        );
    }

    //~ CREM, Congestion: d6cb2c28 42f46571
    #[test]
    fn ten_clean_seconds_close_it_and_a_minute_of_trouble_ends_the_flow() {
        let mut breaker = Breaker::default();
        let bad = report(100, 50, 0);
        breaker.report(&LossReport::default(), Nanos(0));
        breaker.report(&bad, Nanos(SECOND));
        let last = Nanos(SECOND);
        assert_eq!(breaker.verdict(Nanos(last.0 + 10 * SECOND - 1)), Verdict::Open);
        assert_eq!(breaker.verdict(Nanos(last.0 + 10 * SECOND)), Verdict::Closed);
        for second in 20..=80 {
            breaker.report(&bad, Nanos(second * SECOND));
            assert_eq!(breaker.verdict(Nanos(second * SECOND)), Verdict::Open, "{second}");
        }
        breaker.report(&bad, Nanos(81 * SECOND));
        assert_eq!(breaker.verdict(Nanos(81 * SECOND)), Verdict::Persistent);
    }
}
