//! The AIMD controller of one sender's rate (RDCC, Credit Allocation).

use wire::units::Nanos;

/// A congestion signal of full strength: s = 1.
pub(super) const FULL: u32 = 65_535;

/// Ours: a report whose Congestion Degree is 0 still says that the queue is above `B_th`, so it counts with the
/// smallest step of the degree.
pub(super) const LEAST_SIGNAL: u32 = FULL / 255;

/// What the controller needs of the configuration; rates are payload rates in Mbit/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct AimdParameters {
    pub(super) minimum: u64,
    pub(super) alpha: u64,
    pub(super) beta_permille: u64,
    /// `T_upd`.
    pub(super) interval: Nanos,
    /// After a signal no rate is raised for this long: a report interval, and at least `T_upd` (our decision).
    pub(super) hold: Nanos,
}

/// The rate of one sender. It has a cap only between a signal and full recovery: a sender whose path never showed
/// congestion takes whatever share the allocation gives it, at once (our decision; a share that a finished message
/// leaves must not wait for alpha).
#[derive(Debug, Default)]
pub(super) struct Aimd {
    /// The capped rate, as of `raised_at`.
    cap: Option<u64>,
    raised_at: Nanos,
    cut_at: Option<Nanos>,
    signalled_at: Nanos,
    /// Signals since the last decrease.
    strength: u32,
    suggested: Option<u64>,
}

impl Aimd {
    /// Takes a signal of strength `s`, with the rate that its source suggests.
    pub(super) fn signal(&mut self, strength: u32, suggested: Option<u64>, now: Nanos) {
        self.strength = self.strength.max(strength);
        // The newest suggestion counts: it can't raise anything, whatever it says.
        self.suggested = suggested.or(self.suggested);
        self.signalled_at = now;
    }

    //= RDCC, Credit Allocation: 91349aea 5242f214
    /// Decreases once per `T_upd` if there was a signal; `current` is the rate in force for this sender where no cap is.
    /// Gives true when the cap fell.
    pub(super) fn update(&mut self, current: u64, parameters: &AimdParameters, now: Nanos) -> bool {
        let waiting = self.cut_at.is_some_and(|cut| now < cut + parameters.interval);
        if self.strength == 0 || waiting {
            return false;
        }
        let before =
            self.cap(u64::MAX, parameters, now).unwrap_or(current).min(current.max(parameters.minimum));
        let strength = u64::from(core::mem::take(&mut self.strength));
        let suggested = self.suggested.take();
        let drop = u128::from(before) * u128::from(parameters.beta_permille) * u128::from(strength)
            / (1000 * u128::from(FULL));
        let mut after = before - u64::try_from(drop).unwrap_or(before);
        if let Some(suggested) = suggested {
            // Ours: an overfull queue drains while every flow stays below its fair share, so decreases that repeat
            // because the queue is still draining stop at (1 - beta) of the suggestion ...
            let floor = suggested - suggested.saturating_mul(parameters.beta_permille) / 1000;
            after = after.max(floor.min(before));
            // ... and nobody stays above the suggestion itself.
            after = after.min(suggested);
        }
        let after = after.max(parameters.minimum).min(before.max(parameters.minimum));
        self.cap = Some(after);
        self.cut_at = Some(now);
        self.raised_at = now;
        true
    }

    /// The cap in force, `None` when the rate is free up to `maximum`. Additive increase happens here: one alpha for
    /// each whole `T_upd` without a signal, after the hold.
    pub(super) fn cap(&mut self, maximum: u64, parameters: &AimdParameters, now: Nanos) -> Option<u64> {
        let cap = self.cap?;
        let quiet_from = self.signalled_at + parameters.hold;
        let from = self.raised_at.max(quiet_from);
        let steps = (now - from).0 / parameters.interval.0.max(1);
        if steps > 0 && self.strength == 0 {
            self.cap = Some(cap.saturating_add(steps.saturating_mul(parameters.alpha)));
            self.raised_at = from + Nanos(steps * parameters.interval.0);
        }
        self.cap = self.cap.filter(|&cap| cap < maximum);
        self.cap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: AimdParameters = AimdParameters {
        minimum: 1000,
        alpha: 100,
        beta_permille: 500,
        interval: Nanos(10_000),
        hold: Nanos(50_000),
    };

    fn cut(aimd: &mut Aimd, strength: u32, suggested: Option<u64>, current: u64, now: u64) -> u64 {
        aimd.signal(strength, suggested, Nanos(now));
        assert!(aimd.update(current, &PARAMETERS, Nanos(now)));
        aimd.cap(100_000, &PARAMETERS, Nanos(now)).unwrap()
    }

    //~ RDCC, Credit Allocation: 91349aea 5242f214
    /// RDCC, Credit Allocation: `r = max(R_min, r * (1 - beta * s))`.
    #[test]
    fn a_signal_decreases_in_proportion_to_its_strength_down_to_the_minimum() {
        assert_eq!(cut(&mut Aimd::default(), FULL, None, 20_000, 0), 10_000);
        assert_eq!(cut(&mut Aimd::default(), FULL / 5, None, 20_000, 0), 18_000);
        assert!(cut(&mut Aimd::default(), LEAST_SIGNAL, None, 20_000, 0) < 20_000);
        assert_eq!(cut(&mut Aimd::default(), FULL, None, 1500, 0), 1000);
    }

    #[test]
    fn one_decrease_per_update_interval() {
        let mut aimd = Aimd::default();
        assert_eq!(cut(&mut aimd, FULL, None, 20_000, 0), 10_000);
        aimd.signal(FULL, None, Nanos(9_000));
        assert!(!aimd.update(10_000, &PARAMETERS, Nanos(9_999)));
        assert!(aimd.update(10_000, &PARAMETERS, Nanos(10_000)));
        assert_eq!(aimd.cap(100_000, &PARAMETERS, Nanos(10_000)), Some(5_000));
    }

    /// RDCC start rate (our decision): no rate is raised within one report interval after a signal.
    #[test]
    fn additive_increase_starts_after_the_hold() {
        let mut aimd = Aimd::default();
        cut(&mut aimd, FULL, None, 20_000, 0);
        assert_eq!(aimd.cap(100_000, &PARAMETERS, Nanos(59_999)), Some(10_000));
        assert_eq!(aimd.cap(100_000, &PARAMETERS, Nanos(60_000)), Some(10_100));
        assert_eq!(aimd.cap(100_000, &PARAMETERS, Nanos(69_999)), Some(10_100));
        assert_eq!(aimd.cap(100_000, &PARAMETERS, Nanos(70_000)), Some(10_200));
        aimd.signal(LEAST_SIGNAL, None, Nanos(70_001));
        assert_eq!(aimd.cap(100_000, &PARAMETERS, Nanos(200_000)), Some(10_200));
    }

    #[test]
    fn a_recovered_rate_has_no_cap() {
        let mut aimd = Aimd::default();
        cut(&mut aimd, FULL, None, 20_000, 0);
        assert_eq!(aimd.cap(100_000, &PARAMETERS, Nanos(50_000 + 899 * 10_000)), Some(99_900));
        assert_eq!(aimd.cap(100_000, &PARAMETERS, Nanos(50_000 + 900 * 10_000)), None);
    }

    //~ RDCC, On-Path Congestion Reporting: 34d70df5
    /// RDCC, On-Path Congestion Reporting: nothing is raised in response to a report.
    #[test]
    fn a_suggestion_lowers_and_never_raises() {
        assert_eq!(cut(&mut Aimd::default(), LEAST_SIGNAL, Some(6_000), 90_000, 0), 6_000);
        let mut aimd = Aimd::default();
        assert_eq!(cut(&mut aimd, FULL, None, 8_000, 0), 4_000);
        assert!(cut(&mut aimd, LEAST_SIGNAL, Some(50_000), 4_000, 10_000) <= 4_000);
    }

    #[test]
    fn repeated_decreases_stop_at_half_the_suggestion() {
        let mut aimd = Aimd::default();
        let mut rate = 90_000;
        for round in 0..20 {
            rate = cut(&mut aimd, FULL, Some(6_000), rate, round * 10_000);
        }
        assert_eq!(rate, 3_000);
    }
}
