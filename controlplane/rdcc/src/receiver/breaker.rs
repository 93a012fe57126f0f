//! The circuit breaker for unscheduled data (RDCC, Congestion Control Considerations).

use wire::units::Nanos;

/// Parts per million.
const MILLION: u128 = 1_000_000;
/// It closes again below this part of the threshold.
const CLOSING_PART: u128 = 10;

/// Watches how much of what was announced as unscheduled doesn't arrive, window by window.
#[derive(Debug)]
pub(super) struct Breaker {
    threshold_ppm: u128,
    window: Nanos,
    arrived: u64,
    lost: u64,
    open: bool,
    ends_at: Option<Nanos>,
}

impl Breaker {
    /// Opens above `threshold_ppm` lost in a `window`.
    pub(super) fn new(threshold_ppm: u32, window: Nanos) -> Self {
        let threshold_ppm = u128::from(threshold_ppm);
        Self {
            threshold_ppm,
            window: Nanos(window.0.max(1)),
            arrived: 0,
            lost: 0,
            open: false,
            ends_at: None,
        }
    }

    /// Whether U is zero for everybody.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Announced octets that arrived in time.
    pub(super) fn arrived(&mut self, octets: u64, now: Nanos) {
        self.arrived += octets;
        self.ends_at.get_or_insert(now + self.window);
    }

    /// Announced octets whose reservation ran out.
    pub(super) fn lost(&mut self, octets: u64, now: Nanos) {
        self.lost += octets;
        self.ends_at.get_or_insert(now + self.window);
    }

    /// When the window ends; `None` while nothing is counted.
    pub(super) fn ends_at(&self) -> Option<Nanos> {
        self.ends_at
    }

    //= RDCC, Congestion Control Considerations: 89a3dcd3
    /// Ends the window if it is over; tells whether the breaker opened or closed.
    pub(super) fn evaluate(&mut self, now: Nanos) -> bool {
        if self.ends_at.is_none_or(|end| now < end) {
            return false;
        }
        let (lost, all) = (u128::from(self.lost), u128::from(self.lost) + u128::from(self.arrived));
        (self.arrived, self.lost, self.ends_at) = (0, 0, None);
        let was_open = self.open;
        self.open = if was_open {
            all > 0 && lost * MILLION * CLOSING_PART >= self.threshold_ppm * all
        } else {
            lost * MILLION > self.threshold_ppm * all
        };
        if self.open {
            // Nothing unscheduled comes while U is zero, and the end of that has to be noticed.
            self.ends_at = Some(now + self.window);
        }
        self.open != was_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn window(breaker: &mut Breaker, lost: u64, arrived: u64, start: u64) -> bool {
        breaker.lost(lost, Nanos(start));
        breaker.arrived(arrived, Nanos(start));
        assert!(!breaker.evaluate(Nanos(start + SECOND - 1)));
        breaker.evaluate(Nanos(start + SECOND))
    }

    //~ RDCC, Congestion Control Considerations: 89a3dcd3
    #[test]
    fn it_opens_above_the_threshold_and_closes_below_a_tenth_of_it() {
        let mut breaker = Breaker::new(10_000, Nanos(SECOND));
        assert!(!window(&mut breaker, 1, 99, 0), "exactly one per cent");
        assert!(window(&mut breaker, 1001, 98_999, SECOND) && breaker.is_open());
        assert!(!window(&mut breaker, 100, 99_900, 2 * SECOND), "exactly a tenth of a per cent");
        assert!(breaker.is_open());
        assert!(window(&mut breaker, 99, 99_901, 3 * SECOND) && !breaker.is_open());
        assert_eq!(breaker.ends_at(), None);
    }

    #[test]
    fn a_window_without_data_closes_it() {
        let mut breaker = Breaker::new(10_000, Nanos(SECOND));
        assert!(window(&mut breaker, 1, 0, 0));
        assert!(breaker.evaluate(Nanos(2 * SECOND)) && !breaker.is_open());
    }
}
