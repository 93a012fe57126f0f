//! What a run measures while it runs: the bottleneck's queue over time and the completion of messages.

use wire::units::Nanos;

/// The occupancy of one queue over time.
#[derive(Clone, Debug, Default)]
pub struct QueueTrace {
    /// (time, octets) at each change, in order of time.
    changes: Vec<(Nanos, u64)>,
    peak: u64,
}

impl QueueTrace {
    /// Notes that the queue holds `octets` from `now` on.
    pub fn record(&mut self, now: Nanos, octets: u64) {
        self.peak = self.peak.max(octets);
        match self.changes.last_mut() {
            Some((_, last)) if *last == octets => {}
            Some((at, last)) if *at == now => *last = octets,
            _ => self.changes.push((now, octets)),
        }
    }

    /// The largest occupancy seen, in octets.
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// The time-weighted mean occupancy over the given intervals taken together, in octets.
    pub fn mean(&self, intervals: &[(Nanos, Nanos)]) -> f64 {
        let mut area = 0u128;
        let mut time = 0u128;
        for &(from, to) in intervals {
            area += self.area(from, to);
            time += u128::from((to - from).0);
        }
        if time == 0 { 0.0 } else { area as f64 / time as f64 }
    }

    /// Octets x nanoseconds between two instants.
    fn area(&self, from: Nanos, to: Nanos) -> u128 {
        let first = self.changes.partition_point(|&(at, _)| at <= from).saturating_sub(1);
        let mut area = 0;
        for (i, &(at, octets)) in self.changes.iter().enumerate().skip(first) {
            if at >= to {
                break;
            }
            let end = self.changes.get(i + 1).map_or(to, |&(next, _)| next.min(to));
            area += u128::from((end - at.max(from)).0) * u128::from(octets);
        }
        area
    }

    /// The trace between two instants, thinned to at most `columns` (low, high) pairs for drawing: each column
    /// keeps its extremes, so that no peak disappears. Times are relative to `from`.
    pub fn envelope(&self, from: Nanos, to: Nanos, columns: usize) -> Vec<(Nanos, u64, u64)> {
        let span = (to - from).0;
        let columns = columns.max(1) as u64;
        let mut result = Vec::new();
        let mut next = self.changes.partition_point(|&(at, _)| at < from);
        let mut current = if next == 0 { 0 } else { self.changes[next - 1].1 };
        for column in 0..columns {
            let end = from + Nanos(span * (column + 1) / columns);
            let (mut low, mut high) = (current, current);
            while let Some(&(_, octets)) = self.changes.get(next).filter(|&&(at, _)| at < end) {
                current = octets;
                low = low.min(octets);
                high = high.max(octets);
                next += 1;
            }
            result.push((Nanos(span * column / columns), low, high));
        }
        result
    }
}

/// What each pair's receiver got, over time.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    /// By pair: (time, octets) of each frame delivered in order, in order of time.
    frames: Vec<Vec<(Nanos, u64)>>,
}

impl Deliveries {
    /// Of so many pairs, nothing yet.
    pub fn new(pairs: usize) -> Self {
        Self { frames: vec![Vec::new(); pairs] }
    }

    /// Notes that a frame of `octets` of a pair was delivered.
    pub fn record(&mut self, pair: usize, octets: u64, now: Nanos) {
        if let Some(frames) = self.frames.get_mut(pair) {
            frames.push((now, octets));
        }
    }

    /// What each pair got after the start and until the end of the given intervals, in octets.
    pub fn octets(&self, intervals: &[(Nanos, Nanos)]) -> Vec<u64> {
        let within = |frames: &Vec<(Nanos, u64)>| {
            intervals
                .iter()
                .map(|&(from, to)| {
                    let first = frames.partition_point(|&(at, _)| at <= from);
                    let end = frames.partition_point(|&(at, _)| at <= to);
                    frames.get(first..end).unwrap_or_default().iter().map(|&(_, octets)| octets).sum::<u64>()
                })
                .sum()
        };
        self.frames.iter().map(within).collect()
    }
}

/// Reports to a host with less than this between them are of one episode of congestion: four base round trips, the time that a
/// sender may be told of its credit by in between.
pub const fn episode_gap(base_rtt: Nanos) -> Nanos {
    Nanos(4 * base_rtt.0)
}

/// How many episodes of congestion reports that came at these times are about, in order of time: a report that comes `gap` or
/// more after the one before begins another.
pub fn episodes(times: &[Nanos], gap: Nanos) -> u64 {
    let begins = times.windows(2).filter(|pair| pair[1] - pair[0] >= gap).count() as u64;
    begins + u64::from(!times.is_empty())
}

/// Jain's fairness index of shares: 1 when all are equal, 1/n when one of n has everything; not a number for none.
pub fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64).powi(2)).sum();
    sum * sum / (shares.len() as f64 * squares)
}

/// The value below which `percent` per cent of `sorted` lie (nearest rank); not a number for an empty slice.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let rank = (percent / 100.0 * sorted.len() as f64).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank between 1 and the length"
    )]
    let index = (rank as usize).clamp(1, sorted.len()) - 1;
    sorted[index]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> QueueTrace {
        let mut trace = QueueTrace::default();
        for (at, octets) in [(10, 100), (20, 300), (20, 400), (30, 0)] {
            trace.record(Nanos(at), octets);
        }
        trace
    }

    #[test]
    fn the_mean_is_weighted_by_time_and_clipped_to_the_intervals() {
        assert_eq!(trace().peak(), 400);
        assert!((trace().mean(&[(Nanos(10), Nanos(30))]) - 250.0).abs() < 1e-9);
        assert!((trace().mean(&[(Nanos(0), Nanos(15)), (Nanos(25), Nanos(30))]) - 125.0).abs() < 1e-9);
        assert!((trace().mean(&[(Nanos(40), Nanos(50))])).abs() < 1e-9);
        assert!(trace().mean(&[]).abs() < 1e-9);
    }

    #[test]
    fn thinning_keeps_the_peak() {
        let thin = trace().envelope(Nanos(0), Nanos(40), 2);
        assert_eq!(thin, [(Nanos(0), 0, 100), (Nanos(20), 0, 400)]);
    }

    #[test]
    fn deliveries_are_summed_within_intervals() {
        let mut deliveries = Deliveries::new(2);
        for (pair, octets, at) in [(0, 10, 1), (1, 100, 1), (0, 20, 2), (0, 40, 3), (1, 200, 9)] {
            deliveries.record(pair, octets, Nanos(at));
        }
        assert_eq!(deliveries.octets(&[(Nanos(1), Nanos(3))]), [60, 0], "after the start, until the end");
        assert_eq!(deliveries.octets(&[(Nanos(0), Nanos(1)), (Nanos(8), Nanos(9))]), [10, 300]);
        assert_eq!(deliveries.octets(&[]), [0, 0]);
    }

    #[test]
    fn reports_within_the_gap_are_of_one_episode() {
        let at = |times: &[u64]| times.iter().map(|&time| Nanos(time)).collect::<Vec<_>>();
        assert_eq!(episodes(&[], Nanos(10)), 0);
        assert_eq!(episodes(&at(&[5]), Nanos(10)), 1);
        assert_eq!(episodes(&at(&[5, 14, 23]), Nanos(10)), 1);
        assert_eq!(episodes(&at(&[5, 15, 24]), Nanos(10)), 2);
        assert_eq!(episode_gap(Nanos(8)), Nanos(32));
    }

    #[test]
    fn jains_index_is_1_for_equal_shares_and_1_over_n_for_one_that_has_all() {
        assert!((jain(&[7, 7, 7]) - 1.0).abs() < 1e-9);
        assert!((jain(&[9, 0, 0]) - 1.0 / 3.0).abs() < 1e-9);
        assert!((jain(&[1, 3]) - 0.8).abs() < 1e-9);
        assert!(jain(&[]).is_nan());
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert!((percentile(&values, 50.0) - 50.0).abs() < 1e-9);
        assert!((percentile(&values, 99.0) - 99.0).abs() < 1e-9);
        assert!((percentile(&values[..1], 99.0) - 1.0).abs() < 1e-9);
        assert!(percentile(&[], 50.0).is_nan());
    }
}
