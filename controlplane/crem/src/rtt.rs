//! Smoothed round-trip time, as TCP computes it (RFC 6298, without the variance).

use wire::units::Nanos;

/// An estimate that starts from a configured value, which the first sample replaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    smoothed: Nanos,
    sampled: bool,
}

impl Rtt {
    pub(crate) const fn new(initial: Nanos) -> Self {
        Self { smoothed: initial, sampled: false }
    }

    pub(crate) fn sample(&mut self, round_trip: Nanos) {
        let sample = round_trip.0.max(1);
        self.smoothed.0 = if self.sampled { (self.smoothed.0 * 7 + sample) / 8 } else { sample };
        self.sampled = true;
    }

    pub(crate) const fn smoothed(&self) -> Nanos {
        self.smoothed
    }

    /// `eighths` eighths of the smoothed time.
    pub(crate) const fn eighths(&self, eighths: u64) -> Nanos {
        Nanos(self.smoothed.0.saturating_mul(eighths) / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_replaces_and_later_ones_count_an_eighth() {
        let mut rtt = Rtt::new(Nanos(100));
        rtt.sample(Nanos(1000));
        assert_eq!(rtt.smoothed(), Nanos(1000));
        rtt.sample(Nanos(1800));
        assert_eq!(rtt.smoothed(), Nanos(1100));
        assert_eq!(rtt.eighths(12), Nanos(1650));
    }
}
