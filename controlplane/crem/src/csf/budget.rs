//! How much repair traffic a flow may send, and how fast (CREM, Congestion).
//!
//! Ours, as decided, where the document lost its list: repair octets are at most a share of the source octets (a quarter by
//! default), paced over the smoothed round-trip time. What a flow earned stays usable for three round-trip times, because a
//! request for the first packets of a burst comes one round trip after them. A small allowance, which every round trip fills up
//! again, lets a flow of few packets be protected at all, and one whose source has to wait for a repair get it. Ordinary
//! symbols go at the pace of the source packets and leave a quarter of the account to answers, which are paced. While repair messages arrive with CE the share is halved, interval by interval.

use wire::units::Nanos;

/// How many symbols may leave back to back.
const BURST: u64 = 16;
/// Least share left by CE: 1/16.
const LEAST_FACTOR: u64 = 16;
const FULL_FACTOR: u64 = 256;

/// The account of a flow.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    share_permille: u64,
    /// Octets that are there whatever the source sent.
    allowance: u64,
    /// Of 256: what CE on repair messages left of the share.
    factor: u64,
    /// Thousandths of octets.
    tokens: u64,
    /// Source octets of the current interval and the two before.
    intervals: [u64; 3],
    interval_end: Nanos,
    /// When the pace is even; ahead of now, nothing leaves.
    paced_until: Nanos,
}

impl Budget {
    pub(super) fn new(share_permille: u32, allowance: u64, now: Nanos) -> Self {
        Self {
            share_permille: share_permille.into(),
            allowance,
            factor: FULL_FACTOR,
            tokens: allowance * 1000,
            intervals: [0; 3],
            interval_end: now,
            paced_until: Nanos(0),
        }
    }

    fn roll(&mut self, now: Nanos, srtt: Nanos) {
        while now >= self.interval_end {
            self.intervals.rotate_right(1);
            self.intervals[0] = 0;
            // Idle for long: all three intervals are over.
            let behind = now.saturating_sub(self.interval_end).0 > srtt.0.saturating_mul(3);
            self.interval_end = if behind { now } else { self.interval_end } + Nanos(srtt.0.max(1));
            self.tokens = self.tokens.max(self.allowance * 1000);
            if behind {
                self.intervals = [0; 3];
            }
        }
    }

    /// Octets that three intervals allow.
    fn cap(&self) -> u64 {
        self.allowance.max(self.intervals.iter().sum::<u64>() * self.share_permille / 1000)
    }

    /// A source packet left.
    pub(super) fn earn(&mut self, octets: u64, now: Nanos, srtt: Nanos) {
        self.roll(now, srtt);
        self.intervals[0] += octets;
        self.tokens += octets * self.share_permille * self.factor / FULL_FACTOR;
        self.tokens = self.tokens.min(self.cap() * 1000);
    }

    /// Asks to send `octets` of repair, at an even pace or at once: yes, or when to ask again at the latest.
    pub(super) fn spend(&mut self, octets: u64, paced: bool, now: Nanos, srtt: Nanos) -> Result<(), Nanos> {
        self.roll(now, srtt);
        self.tokens = self.tokens.min(self.cap() * 1000);
        // An answer repairs what is lost for certain, an ordinary symbol what may be: a quarter is kept for answers.
        let kept = if paced { 0 } else { self.cap() * 1000 / 4 };
        if self.tokens < octets * 1000 + kept {
            return Err(self.interval_end);
        }
        if !paced {
            self.tokens -= octets * 1000;
            return Ok(());
        }
        // What the busiest interval earned, over one round-trip time.
        let busiest = self.intervals.iter().max().map_or(0, |source| source * self.share_permille / 1000);
        let pace = busiest.max(self.allowance).max(1);
        let step = octets.saturating_mul(srtt.0) / pace;
        let start = self.paced_until.max(now.saturating_sub(Nanos(step * BURST)));
        if start > now {
            return Err(start);
        }
        self.paced_until = start + Nanos(step);
        self.tokens -= octets * 1000;
        Ok(())
    }

    /// An interval ended, with or without CE on repair messages.
    pub(super) fn marks(&mut self, seen: bool) {
        self.factor = if seen {
            (self.factor / 2).max(FULL_FACTOR / LEAST_FACTOR)
        } else {
            (self.factor * 2).min(FULL_FACTOR)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Nanos = Nanos(1_000_000);

    /// Sends as much as is granted between `from` and `to`; octets.
    fn drain(budget: &mut Budget, from: u64, to: u64) -> u64 {
        let (mut now, mut sent) = (Nanos(from), 0);
        while now.0 < to {
            match budget.spend(1000, true, now, SRTT) {
                Ok(()) => sent += 1000,
                Err(at) => now = at,
            }
        }
        sent
    }

    //~ CREM, Congestion: dd0a4b7d
    #[test]
    fn repair_is_a_quarter_of_the_source_at_most() {
        let mut budget = Budget::new(250, 0, Nanos(0));
        for packet in 0..1000 {
            budget.earn(1000, Nanos(packet * 1000), SRTT);
        }
        let mut at_once = budget.clone();
        let sent = drain(&mut budget, SRTT.0, 10 * SRTT.0);
        assert_eq!(sent, 250_000);
        assert!(budget.spend(1, false, Nanos(10 * SRTT.0), SRTT).is_err());
        let now = Nanos(SRTT.0);
        let sent = core::iter::from_fn(|| at_once.spend(1000, false, now, SRTT).ok()).count();
        assert_eq!(sent, 187, "ordinary symbols have no pace of their own, and leave a quarter");
    }

    #[test]
    fn what_was_earned_expires_after_three_round_trips() {
        let mut budget = Budget::new(250, 2000, Nanos(0));
        budget.earn(1_000_000, Nanos(0), SRTT);
        let mut later = budget.clone();
        // Twice filled up to the allowance meanwhile.
        assert_eq!(drain(&mut budget, SRTT.0, 3 * SRTT.0 - 1), 252_000);
        assert_eq!(drain(&mut later, 4 * SRTT.0, 5 * SRTT.0), 2000, "the allowance is left");
        assert_eq!(drain(&mut later, 6 * SRTT.0, 8 * SRTT.0), 4000, "and filled up every round trip");
    }

    #[test]
    fn symbols_are_paced_over_the_round_trip() {
        let mut budget = Budget::new(250, 0, Nanos(0));
        budget.earn(1_200_000, Nanos(SRTT.0 - 1), SRTT);
        // 300,000 octets in a round trip, 16 symbols of them at once.
        let at_once = drain(&mut budget, SRTT.0, SRTT.0 + 1);
        assert_eq!(at_once, 17_000);
        let in_half = at_once + drain(&mut budget, SRTT.0 + 1, 3 * SRTT.0 / 2);
        assert!((166_000..=168_000).contains(&in_half), "{in_half}");
    }

    #[test]
    fn marked_repairs_halve_the_share_and_clean_intervals_restore_it() {
        let mut budget = Budget::new(250, 0, Nanos(0));
        budget.marks(true);
        budget.earn(100_000, Nanos(0), SRTT);
        assert_eq!(drain(&mut budget, 1, 3 * SRTT.0 - 1), 12_000);
        for _ in 0..20 {
            budget.marks(true);
        }
        assert_eq!(budget.factor, 16);
        for _ in 0..20 {
            budget.marks(false);
        }
        assert_eq!(budget.factor, 256);
    }
}
