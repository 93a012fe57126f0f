//! How advice becomes a bound (SCONE, Sender-Side Rate Coordination, which the document leaves open).
//!
//! ```text
//!          advice                      expiry
//! rate ------.                                         .---- gone at the line rate
//!            '--.  a fraction of the             .-----'
//!               '----. gap a step          .-----'  a percentage a step
//!                    '---- advised --------'
//! ```
//!
//! The first step is taken when advice comes, so that a sender reacts within the time that the datagram takes: the first advice,
//! and any that comes to a bound that has arrived or is released. One that is still on its way takes newer advice at its next
//! step, so that many datagrams make it no faster.

use wire::units::{BitPerSec, Nanos};

/// How a bound follows advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approach {
    /// Between two steps.
    pub step_interval: Nanos,
    /// How much of the gap to the advised rate a step closes, in percent, 1 to 100.
    pub step_percent: u8,
    /// How long advice holds.
    pub expiry: Nanos,
    /// By how much of itself an expired bound rises a step, in percent, until it is gone at the line rate. `None`: it is gone
    /// at once.
    pub release_percent: Option<u8>,
}

impl Default for Approach {
    /// Half of the gap every 50 us; 1 ms; then 10 % a step.
    fn default() -> Self {
        Self {
            step_interval: Nanos(50_000),
            step_percent: 50,
            expiry: Nanos(1_000_000),
            release_percent: Some(10),
        }
    }
}

/// A parameter that can't be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApproachError {
    /// An interval of zero would never end.
    #[error("{0} of 0 ns; it should be at least 1 ns")]
    Zero(&'static str),
    /// A step that does nothing, or overshoots.
    #[error("step of {0} %; it should be 1 to 100 %")]
    Step(u8),
    /// A bound that moves at steps only would outlive its advice.
    #[error("step interval of {step_interval}; it should be at most the expiry, {expiry}")]
    Interval {
        /// The interval given.
        step_interval: Nanos,
        /// The expiry given.
        expiry: Nanos,
    },
    /// A release that never ends.
    #[error("release of 0 % a step; it should be at least 1 %, or none for a release at once")]
    Release,
}

impl Approach {
    /// Whether the parameters can be.
    ///
    /// # Errors
    /// [`ApproachError`] names the first that can't.
    pub fn check(&self) -> Result<(), ApproachError> {
        if self.step_interval == Nanos(0) {
            return Err(ApproachError::Zero("step interval"));
        }
        if self.expiry == Nanos(0) {
            return Err(ApproachError::Zero("expiry"));
        }
        let Self { step_interval, expiry, .. } = *self;
        if step_interval > expiry {
            return Err(ApproachError::Interval { step_interval, expiry });
        }
        if !(1..=100).contains(&self.step_percent) {
            return Err(ApproachError::Step(self.step_percent));
        }
        if self.release_percent == Some(0) {
            return Err(ApproachError::Release);
        }
        Ok(())
    }

    /// How long after the last advice a bound can last at most, from `floor` to `line_rate`.
    pub fn longest(&self, floor: BitPerSec, line_rate: BitPerSec) -> Nanos {
        let mut after = self.expiry;
        if let Some(percent) = self.release_percent {
            let mut rate = floor.0.max(1);
            after += self.step_interval;
            while rate < line_rate.0 {
                rate = risen(rate, percent);
                after += self.step_interval;
            }
        }
        after
    }
}

//= SCONE, Deployment within Intelligent Computing Data Centers: 92548bab
/// The bound that advice for one subject, an address or a queue pair, puts in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    value: u64,
    advised: u64,
    line_rate: u64,
    expires: Nanos,
    stepped: Nanos,
}

impl Bound {
    /// Puts advice in force over `bound`, if there is one. Where there is none it starts from `from`, what the subject would send
    /// now, or the line rate if that is less, and takes its first step at once. A bound that is above the advice and above
    /// what is sent comes down to the higher of the two first: nobody has to slow down for that.
    pub fn advise(
        bound: &mut Option<Self>,
        approach: &Approach,
        advised: BitPerSec,
        (from, line_rate): (BitPerSec, BitPerSec),
        now: Nanos,
    ) {
        let bound = match Self::advance(bound, approach, now) {
            Some(bound) => {
                let resting = bound.value == bound.target() || bound.expires <= now;
                bound.advised = advised.0;
                bound.value = bound.value.min(from.0.max(bound.target()));
                if resting && bound.value != bound.target() {
                    bound.approach(approach);
                    bound.stepped = now;
                }
                bound
            }
            None => bound.insert({
                let value = from.0.min(line_rate.0);
                let mut bound =
                    Self { value, advised: advised.0, line_rate: line_rate.0, expires: now, stepped: now };
                bound.approach(approach);
                bound
            }),
        };
        bound.expires = now + approach.expiry;
    }

    /// The bound in force at `now`; takes it away once it is over.
    pub fn at(bound: &mut Option<Self>, approach: &Approach, now: Nanos) -> Option<BitPerSec> {
        Self::advance(bound, approach, now).map(|bound| BitPerSec(bound.value))
    }

    /// The rate that was advised last.
    pub const fn advised(&self) -> BitPerSec {
        BitPerSec(self.advised)
    }

    /// When the advice expires, or expired.
    pub const fn expires(&self) -> Nanos {
        self.expires
    }

    /// When the bound changes next, as of the last call.
    pub fn next_change(&self, approach: &Approach) -> Nanos {
        let step = self.stepped + approach.step_interval;
        let settled = self.value == self.target();
        match approach.release_percent {
            None if settled => self.expires,
            None => step.min(self.expires),
            Some(_) if settled && step < self.expires => {
                let steps = self.expires.saturating_sub(self.stepped).0.div_ceil(approach.step_interval.0);
                self.stepped + Nanos(steps.saturating_mul(approach.step_interval.0))
            }
            Some(_) => step,
        }
    }

    /// Takes all steps that were due until `now`.
    fn advance<'a>(bound: &'a mut Option<Self>, approach: &Approach, now: Nanos) -> Option<&'a mut Self> {
        let state = bound.as_mut()?;
        let over = !state.steps(approach, now);
        if over {
            *bound = None;
        }
        bound.as_mut()
    }

    /// Gives false when the bound is over.
    fn steps(&mut self, approach: &Approach, now: Nanos) -> bool {
        if approach.release_percent.is_none() && now >= self.expires {
            return false;
        }
        while self.stepped + approach.step_interval <= now {
            let step = self.stepped + approach.step_interval;
            if step < self.expires {
                if self.value == self.target() {
                    // Nothing changes until the expiry: all those steps at once.
                    let last = now.min(self.expires.saturating_sub(Nanos(1)));
                    let steps = last.saturating_sub(self.stepped).0 / approach.step_interval.0;
                    self.stepped += Nanos(steps * approach.step_interval.0);
                    continue;
                }
                self.approach(approach);
            } else {
                self.value = risen(self.value, approach.release_percent.unwrap_or(100));
                if self.value >= self.line_rate {
                    return false;
                }
            }
            self.stepped = step;
        }
        true
    }

    fn approach(&mut self, approach: &Approach) {
        let target = self.target();
        let gap = self.value.abs_diff(target);
        // Rounded up, or the last bit per second would never be reached.
        let step = (u128::from(gap) * u128::from(approach.step_percent)).div_ceil(100);
        let step = u64::try_from(step).unwrap_or(gap);
        self.value = if self.value > target { self.value - step } else { self.value.saturating_add(step) };
    }

    /// Where the bound goes: no bound is above the line rate, whatever is advised.
    fn target(&self) -> u64 {
        self.advised.min(self.line_rate)
    }
}

fn risen(rate: u64, percent: u8) -> u64 {
    let rise = (u128::from(rate) * u128::from(percent) / 100).max(1);
    rate.saturating_add(u64::try_from(rise).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINE: BitPerSec = BitPerSec(100_000);

    fn approach() -> Approach {
        Approach { step_interval: Nanos(10), step_percent: 50, expiry: Nanos(100), release_percent: Some(10) }
    }

    fn advised(rate: u64, from: u64) -> Option<Bound> {
        let mut bound = None;
        Bound::advise(&mut bound, &approach(), BitPerSec(rate), (BitPerSec(from), LINE), Nanos(0));
        bound
    }

    #[test]
    fn the_first_step_is_taken_at_once_and_the_rest_by_time() {
        let mut bound = advised(20_000, 100_000);
        let mut at = |now| Bound::at(&mut bound, &approach(), Nanos(now)).unwrap().0;
        assert_eq!([at(0), at(9), at(10), at(19), at(20)], [60_000, 60_000, 40_000, 40_000, 30_000]);
        assert_eq!(at(99), 20_078, "ten steps in all");
    }

    #[test]
    fn it_starts_from_what_is_sent_and_rises_to_higher_advice_in_steps_too() {
        let mut bound = advised(20_000, 8000);
        assert_eq!(Bound::at(&mut bound, &approach(), Nanos(0)), Some(BitPerSec(14_000)));
        assert_eq!(Bound::at(&mut bound, &approach(), Nanos(10)), Some(BitPerSec(17_000)));
        assert_eq!(Bound::at(&mut advised(20_000, u64::MAX), &approach(), Nanos(0)), Some(BitPerSec(60_000)));
    }

    #[test]
    fn advice_above_the_line_rate_bounds_at_the_line_rate() {
        let mut bound = advised(u64::MAX, 50_000);
        let mut at = |now| Bound::at(&mut bound, &approach(), Nanos(now)).map(|bound| bound.0);
        assert_eq!([at(0), at(10), at(99)], [Some(75_000), Some(87_500), Some(99_952)]);
        assert_eq!(at(10_000), None, "expired");
        let mut bound = advised(u64::MAX, 100_000);
        assert_eq!(Bound::at(&mut bound, &approach(), Nanos(99)), Some(LINE));
        assert_eq!(bound.map(|bound| bound.advised()), Some(BitPerSec(u64::MAX)));
    }

    #[test]
    fn an_expired_bound_rises_and_is_gone_at_the_line_rate() {
        let mut bound = advised(1000, 1000);
        let mut at = |now| Bound::at(&mut bound, &approach(), Nanos(now)).map(|rate| rate.0);
        assert_eq!([at(99), at(100), at(109), at(110)], [Some(1000), Some(1100), Some(1100), Some(1210)]);
        let last = approach().longest(BitPerSec(1000), LINE).0;
        assert!(at(last - 30).is_some());
        assert_eq!(at(last), None);
    }

    #[test]
    fn released_at_once_it_ends_with_its_expiry() {
        let at_once = Approach { release_percent: None, ..approach() };
        let mut bound = None;
        Bound::advise(&mut bound, &at_once, BitPerSec(1), (LINE, LINE), Nanos(5));
        assert!(Bound::at(&mut bound, &at_once, Nanos(104)).is_some());
        assert_eq!(Bound::at(&mut bound, &at_once, Nanos(105)), None);
        assert_eq!(at_once.longest(BitPerSec(1), LINE), Nanos(100));
    }

    #[test]
    fn renewed_advice_lasts_anew_and_lower_advice_is_stepped_to_at_once() {
        let mut bound = advised(20_000, 20_000);
        let again = (BitPerSec(10_000), (LINE, LINE));
        Bound::advise(&mut bound, &approach(), again.0, again.1, Nanos(95));
        let mut at = |now| Bound::at(&mut bound, &approach(), Nanos(now)).map(|rate| rate.0);
        assert_eq!([at(95), at(104), at(105), at(115)].map(Option::unwrap), [15_000, 15_000, 12_500, 11_250]);
        assert!(at(194).is_some_and(|rate| rate < 10_100));
    }

    #[test]
    fn newer_advice_on_the_way_is_stepped_to_on_the_same_beat_however_often_it_comes() {
        let mut bound = advised(20_000, 100_000);
        for now in 1..10 {
            Bound::advise(&mut bound, &approach(), BitPerSec(10_000), (LINE, LINE), Nanos(now));
            assert_eq!(Bound::at(&mut bound, &approach(), Nanos(now)), Some(BitPerSec(60_000)));
        }
        assert_eq!(Bound::at(&mut bound, &approach(), Nanos(10)), Some(BitPerSec(35_000)));
    }

    #[test]
    fn lower_advice_counts_from_what_is_sent_and_not_from_a_bound_above_it() {
        // Released, it has risen to 40 times what is sent.
        let released = || {
            let mut bound = advised(1000, 1000);
            assert!(Bound::at(&mut bound, &approach(), Nanos(450)).is_some_and(|bound| bound.0 > 25_000));
            bound
        };
        let again = |rate, from| {
            let mut bound = released();
            Bound::advise(&mut bound, &approach(), BitPerSec(rate), (BitPerSec(from), LINE), Nanos(455));
            [455, 464, 465].map(|now| Bound::at(&mut bound, &approach(), Nanos(now)).unwrap().0)
        };
        assert_eq!(again(500, 1000), [750, 750, 625], "half of the gap at once");
        assert_eq!(again(2000, 1000), [2000; 3], "less is sent: no step has to be taken");
        let from_itself = again(1000, 100_000);
        assert!((13_000..25_000).contains(&from_itself[0]), "{from_itself:?}");
        // One that has arrived, and one that is on its way.
        let mut bound = advised(20_000, 20_000);
        Bound::advise(&mut bound, &approach(), BitPerSec(4000), (BitPerSec(8000), LINE), Nanos(5));
        assert_eq!(Bound::at(&mut bound, &approach(), Nanos(5)), Some(BitPerSec(6000)));
        let mut bound = advised(20_000, 100_000);
        Bound::advise(&mut bound, &approach(), BitPerSec(4000), (BitPerSec(8000), LINE), Nanos(5));
        let mut at = |now| Bound::at(&mut bound, &approach(), Nanos(now)).unwrap().0;
        assert_eq!([at(5), at(10)], [8000, 6000]);
    }

    #[test]
    fn parameters_that_can_not_be_are_refused() {
        assert_eq!(Approach::default().check(), Ok(()));
        let refused = [
            (
                Approach { step_interval: Nanos(0), ..approach() },
                "step interval of 0 ns; it should be at least 1 ns",
            ),
            (Approach { expiry: Nanos(0), ..approach() }, "expiry of 0 ns; it should be at least 1 ns"),
            (
                Approach { step_interval: Nanos(101), ..approach() },
                "step interval of 101 ns; it should be at most the expiry, 100 ns",
            ),
            (Approach { step_percent: 0, ..approach() }, "step of 0 %; it should be 1 to 100 %"),
            (Approach { step_percent: 101, ..approach() }, "step of 101 %; it should be 1 to 100 %"),
        ];
        for (refused, text) in refused {
            assert_eq!(refused.check().unwrap_err().to_string(), text);
        }
        assert_eq!(Approach { release_percent: Some(0), ..approach() }.check(), Err(ApproachError::Release));
        assert_eq!(Approach { step_percent: 100, release_percent: None, ..approach() }.check(), Ok(()));
        assert_eq!(Approach { step_interval: Nanos(100), ..approach() }.check(), Ok(()));
    }

    proptest! {
        #[test]
        fn asking_changes_nothing_and_changes_come_no_earlier_than_announced(
            advice in prop::collection::vec((1u64..100_000, 0u64..300), 1..20),
            step_percent in 1u8..=100, release_percent in prop::option::of(1u8..50),
        ) {
            let approach = Approach { step_percent, release_percent, ..approach() };
            let (mut asked, mut silent) = (None, None);
            let mut now = 0;
            for (rate, after) in advice {
                for bound in [&mut asked, &mut silent] {
                    Bound::advise(bound, &approach, BitPerSec(rate), (LINE, LINE), Nanos(now));
                }
                let mut before = Bound::at(&mut asked, &approach, Nanos(now));
                let mut change = asked.map(|bound| bound.next_change(&approach));
                for time in now..now + after {
                    let rate = Bound::at(&mut asked, &approach, Nanos(time));
                    prop_assert!(rate.is_none_or(|rate| rate.0 >= 1 && rate <= LINE));
                    if rate != before {
                        prop_assert!(change.is_some_and(|change| change.0 <= time), "{change:?} {time}");
                    }
                    if let Some(bound) = asked {
                        change = Some(bound.next_change(&approach));
                        prop_assert!(bound.next_change(&approach).0 > time);
                    }
                    before = rate;
                }
                now += after;
                prop_assert_eq!(
                    Bound::at(&mut asked, &approach, Nanos(now)),
                    Bound::at(&mut silent, &approach, Nanos(now))
                );
            }
            let end = Nanos(now) + approach.longest(BitPerSec(1), LINE);
            prop_assert_eq!(Bound::at(&mut asked, &approach, end), None);
        }
    }
}
