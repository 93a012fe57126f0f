//! How many repair symbols a block gets (CREM, Redundancy Policy).

use wire::crem::LossReport;

/// Estimates the loss rate of the path from reports, and chooses m.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// Packets lost and expected, older ones counting less.
    lost: f64,
    expected: f64,
    /// After so many packets an observation counts 1/e.
    memory: f64,
    epsilon: f64,
}

impl Policy {
    /// `prior` is the loss rate to start from; it counts as much as an eighth of the memory.
    pub(crate) fn new(prior: f64, memory: u32, epsilon: f64) -> Self {
        let expected = f64::from(memory) / 8.0;
        Self { lost: prior * expected, expected, memory: f64::from(memory.max(1)), epsilon }
    }

    //= CREM, Loss Reports: efd8d6b5
    /// Takes a report into account. An interval with congestion teaches nothing about transmission loss: m must not
    /// rise for it.
    pub(crate) fn report(&mut self, report: &LossReport, congested: bool) {
        if congested || report.expected == 0 {
            return;
        }
        let expected = f64::from(report.expected);
        let keep = (-expected / self.memory).exp();
        // Late packets of the interval before can make the difference negative; over intervals it evens out.
        let lost = expected - f64::from(report.received);
        self.lost = (self.lost * keep + lost).max(0.0);
        self.expected = self.expected * keep + expected;
    }

    /// p: the estimated packet loss rate.
    pub(crate) fn loss_rate(&self) -> f64 {
        if self.expected > 0.0 { (self.lost / self.expected).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// m for blocks of `k` source packets, at most `max_m`.
    pub(crate) fn repairs(&self, k: u8, max_m: u8) -> u8 {
        smallest_m(k, self.loss_rate(), self.epsilon, max_m)
    }
}

//= CREM, Redundancy Policy: c4a03a10
/// The smallest m for which a block of k + m packets loses more than m of them with a probability below `epsilon`, losses
/// being independent with rate `p`; `max_m` when none is small enough.
pub fn smallest_m(k: u8, p: f64, epsilon: f64, max_m: u8) -> u8 {
    (0..max_m).find(|&m| exceeds(u32::from(k) + u32::from(m), m, p) < epsilon).unwrap_or(max_m)
}

/// The probability that more than `m` of `n` packets are lost.
fn exceeds(n: u32, m: u8, p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return if n > u32::from(m) { 1.0 } else { 0.0 };
    }
    // Summed from the first term beyond m on, which loses no digits where the sum is small.
    let mut term = (1.0 - p).powf(f64::from(n));
    let mut sum = 0.0;
    for lost in 0..=n {
        if lost > u32::from(m) {
            sum += term;
        }
        term *= f64::from(n - lost) / f64::from(lost + 1) * p / (1.0 - p);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(expected: u32, lost: u32) -> LossReport {
        LossReport { expected, received: expected - lost, ..LossReport::default() }
    }

    //~ CREM, Redundancy Policy: c4a03a10
    #[test]
    fn m_is_the_smallest_that_meets_the_target() {
        // Computed with exact rational arithmetic for k = 32, target 10^-4.
        let bounds = [(3.1e-6, 0), (3.2e-6, 1), (4.3e-4, 1), (4.4e-4, 2), (1e-3, 2), (1e-2, 4)];
        for (p, m) in bounds {
            assert_eq!(smallest_m(32, p, 1e-4, 16), m, "p = {p}");
        }
        assert_eq!(smallest_m(32, 0.0, 1e-4, 16), 0);
        assert_eq!(smallest_m(32, 0.5, 1e-4, 8), 8, "the limit holds");
        assert_eq!(smallest_m(255, 1.0, 1e-4, 3), 3);
    }

    //~ CREM, Redundancy Policy: c4a03a10
    #[test]
    fn both_sides_of_the_target() {
        let (at, below) = (exceeds(34, 2, 1e-3), exceeds(33, 1, 1e-3));
        assert!(at < 1e-4 && below > 1e-4);
        assert_eq!(smallest_m(32, 1e-3, at * 1.001, 16), 2);
        assert_eq!(smallest_m(32, 1e-3, at * 0.999, 16), 3);
    }

    //~ CREM, Loss Reports: efd8d6b5
    #[test]
    fn the_estimate_follows_reports_and_forgets() {
        let mut policy = Policy::new(0.0, 1000, 1e-4);
        assert_eq!(policy.repairs(32, 8), 0);
        for _ in 0..100 {
            policy.report(&report(1000, 10), false);
        }
        assert!((policy.loss_rate() - 0.01).abs() < 1e-4, "{}", policy.loss_rate());
        for _ in 0..20 {
            policy.report(&report(1000, 0), false);
        }
        assert!(policy.loss_rate() < 1e-6, "{}", policy.loss_rate());
    }

    #[test]
    fn a_prior_holds_until_there_are_reports() {
        let mut policy = Policy::new(0.01, 8000, 1e-4);
        assert_eq!(policy.repairs(32, 8), 4);
        policy.report(&report(100_000, 0), false);
        assert!(policy.loss_rate() < 1e-6);
    }

    /// Ours, as decided: an interval with congestion leaves the estimate alone, whatever it lost.
    #[test]
    fn congestion_never_raises_m() {
        let mut policy = Policy::new(0.0, 1000, 1e-4);
        for _ in 0..50 {
            policy.report(&report(1000, 200), true);
            assert_eq!(policy.repairs(32, 8), 0);
        }
    }
}
