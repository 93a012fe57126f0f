//! The smoothed round-trip time of an association.

use wire::units::{Micros, Nanos};

/// RDCC, Credit Requests and Grants: the request timeout is at least 100 microseconds ...
const MINIMUM_TIMEOUT: Nanos = Micros(100).nanos();
/// ... and at most 100 milliseconds.
const MAXIMUM_TIMEOUT: Nanos = Micros(100_000).nanos();

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

    /// The request timeout after `repetitions` unanswered requests.
    pub(super) fn request_timeout(&self, repetitions: u32) -> Nanos {
        let first = Nanos(self.smoothed().0.saturating_mul(2)).max(MINIMUM_TIMEOUT);
        Nanos(first.0.saturating_mul(1 << repetitions.min(10))).min(MAXIMUM_TIMEOUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
