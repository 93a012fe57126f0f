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
    /// Whether that is only known not to be exceeded.
    bound: bool,
}

impl Rtt {
    /// Takes the time from a request's first transmission to its answer. If the request was repeated, the answer may be
    /// to any of them (Karn's algorithm), so the time is no sample. Ours: as long as there is none it counts as an upper
    /// bound all the same, or requests would go on to be repeated before the answer to the first can come.
    pub(super) fn answered(&mut self, after: Nanos, repeated: bool) {
        match self.smoothed {
            Some(_) if repeated && !self.bound => {}
            Some(old) if repeated => self.smoothed = Some(old.min(after)),
            Some(old) if !self.bound => {
                self.smoothed = Some(Nanos((old.0.saturating_mul(7).saturating_add(after.0)) / 8));
            }
            _ => {
                self.smoothed = Some(after);
                self.bound = repeated;
            }
        }
    }

    /// The smoothed value; `None` before the first answer.
    pub(super) fn smoothed(&self) -> Option<Nanos> {
        self.smoothed
    }

    /// Ours: how often the timeout has to double before it is well beyond the last wait for credit. In a long line of
    /// senders each turn takes about as long as the one before, and requests repeated meanwhile tell nothing new.
    pub(super) fn doublings_beyond(&self, waited: Nanos) -> u32 {
        let expected = waited.0.saturating_add(waited.0 / 2);
        (0..MAXIMUM_DOUBLINGS).find(|&n| self.request_timeout(n).0 >= expected).unwrap_or(MAXIMUM_DOUBLINGS)
    }

    /// The request timeout after `repetitions` unanswered requests.
    pub(super) fn request_timeout(&self, repetitions: u32) -> Nanos {
        let first = Nanos(self.smoothed.unwrap_or_default().0.saturating_mul(2)).max(MINIMUM_TIMEOUT);
        Nanos(first.0.saturating_mul(1 << repetitions.min(MAXIMUM_DOUBLINGS))).min(MAXIMUM_TIMEOUT)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_timeout_that_doubled_is_beyond_one_and_a_half_waits() {
        let rtt = Rtt::default();
        let doublings =
            [0, 66_000, 67_000, 350_000, u64::MAX].map(|waited| rtt.doublings_beyond(Nanos(waited)));
        assert_eq!(doublings, [0, 0, 1, 3, 10]);
    }

    #[test]
    fn an_answer_to_a_repeated_request_is_a_bound_until_there_is_a_sample() {
        let mut rtt = Rtt::default();
        let mut smoothed = |after, repeated| {
            rtt.answered(Nanos(after), repeated);
            rtt.smoothed().unwrap().0
        };
        assert_eq!([smoothed(5000, true), smoothed(7000, true), smoothed(4000, true)], [5000, 5000, 4000]);
        assert_eq!([smoothed(800, false), smoothed(100, true), smoothed(1600, false)], [800, 800, 900]);
    }

    //~ RDCC, Credit Requests and Grants: 0601b6c8
    /// RDCC, Credit Requests and Grants: twice the smoothed round trip, at least 100 us, doubling up to 100 ms.
    #[test]
    fn the_request_timeout_has_a_floor_doubles_and_has_a_ceiling() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.request_timeout(0), Nanos(100_000));
        rtt.answered(Nanos(49_000), false);
        assert_eq!(rtt.request_timeout(0), Nanos(100_000));
        let mut rtt = Rtt::default();
        rtt.answered(Nanos(51_000), false);
        assert_eq!(rtt.request_timeout(0), Nanos(102_000));
        assert_eq!(rtt.request_timeout(1), Nanos(204_000));
        assert_eq!(rtt.request_timeout(9), Nanos(52_224_000));
        assert_eq!(rtt.request_timeout(10), Nanos(100_000_000));
        assert_eq!(rtt.request_timeout(99), Nanos(100_000_000));
    }
}
