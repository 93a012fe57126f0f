//! The smoothed round-trip time of an association.

use wire::units::{Micros, Nanos};

/// RDCC, Credit Requests and Grants: the request timeout is at least 100 microseconds ...
const MINIMUM_TIMEOUT: Nanos = Micros(100).nanos();
/// ... and at most 100 milliseconds.
const MAXIMUM_TIMEOUT: Nanos = Micros(100_000).nanos();

/// Enough to get from the one to the other.
const MAXIMUM_DOUBLINGS: u32 = 10;

/// Exponentially smoothed with the usual weight of one eighth (RFC 6298).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rtt {
    smoothed: Option<Nanos>,
}

impl Rtt {
    /// Takes a sample; the caller leaves out what answers a repeated request, since it can't tell which one.
    pub(super) fn sample(&mut self, sample: Nanos) {
        self.smoothed = Some(match self.smoothed {
            None => sample,
            Some(old) => Nanos((old.0 * 7 + sample.0) / 8),
        });
    }

    /// The smoothed value, 0 before the first sample.
    pub(super) fn smoothed(&self) -> Nanos {
        self.smoothed.unwrap_or_default()
    }

    /// Ours: how often the timeout has to double before it is well beyond the last wait for credit. In a long line of
    /// senders each turn takes about as long as the one before, and requests repeated meanwhile tell nothing new.
    pub(super) fn doublings_beyond(&self, waited: Nanos) -> u32 {
        let expected = waited.0.saturating_add(waited.0 / 2);
        (0..MAXIMUM_DOUBLINGS).find(|&n| self.request_timeout(n).0 >= expected).unwrap_or(MAXIMUM_DOUBLINGS)
    }

    /// The request timeout after `repetitions` unanswered requests.
    pub(super) fn request_timeout(&self, repetitions: u32) -> Nanos {
        let first = Nanos(self.smoothed().0.saturating_mul(2)).max(MINIMUM_TIMEOUT);
        Nanos(first.0.saturating_mul(1 << repetitions.min(MAXIMUM_DOUBLINGS))).min(MAXIMUM_TIMEOUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_that_doubled_is_beyond_one_and_a_half_waits() {
        let rtt = Rtt::default();
        let doublings =
            [0, 66_000, 67_000, 350_000, u64::MAX].map(|waited| rtt.doublings_beyond(Nanos(waited)));
        assert_eq!(doublings, [0, 0, 1, 3, 10]);
    }

    //~ RDCC, Credit Requests and Grants: 0601b6c8
    /// RDCC, Credit Requests and Grants: twice the smoothed round trip, at least 100 us, doubling up to 100 ms.
    #[test]
    fn the_request_timeout_has_a_floor_doubles_and_has_a_ceiling() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.request_timeout(0), Nanos(100_000));
        rtt.sample(Nanos(49_000));
        assert_eq!(rtt.request_timeout(0), Nanos(100_000));
        let mut rtt = Rtt::default();
        rtt.sample(Nanos(51_000));
        assert_eq!(rtt.request_timeout(0), Nanos(102_000));
        assert_eq!(rtt.request_timeout(1), Nanos(204_000));
        assert_eq!(rtt.request_timeout(9), Nanos(52_224_000));
        assert_eq!(rtt.request_timeout(10), Nanos(100_000_000));
        assert_eq!(rtt.request_timeout(99), Nanos(100_000_000));
    }
}
