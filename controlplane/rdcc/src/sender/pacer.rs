//! The pace of one message.

use std::collections::VecDeque;

use wire::units::{MbitPerSec, Nanos, Octets};

/// RDCC, Credit Requests and Grants, rule 4: the rate is averaged over the time of ten Credit Units.
const WINDOW_UNITS: u64 = 10;
/// Ours: after a pause at most this many Credit Units follow each other without spacing.
const BURST_UNITS: u64 = 2;

/// When the next Credit Unit of a message may go. It spaces units evenly, lets a late caller catch up by
/// [`BURST_UNITS`], and never lets more than ten units into any window of ten units' time.
#[derive(Debug, Default)]
pub(super) struct Pacer {
    rate: MbitPerSec,
    /// When the units sent so far would have ended at exactly the rate.
    due: Nanos,
    /// The latest sends under the present rate, ten at most.
    recent: VecDeque<(Nanos, u64)>,
}

impl Pacer {
    /// Takes the rate of a new grant. What the old rate hadn't paid for yet is paid at the new one, and what it would have paid
    /// for, but wasn't used, is lost: a rate that changes with each grant leaves no bursts.
    pub(super) fn set_rate(&mut self, rate: MbitPerSec, now: Nanos) {
        if rate == self.rate {
            return;
        }
        let owed = octets(self.rate, self.due.saturating_sub(now));
        self.rate = rate;
        self.recent.clear();
        self.due = now + time(rate, owed);
    }

    //= RDCC, Credit Requests and Grants: 23844cc8
    /// The earliest time for `octets` more, at most one unit.
    pub(super) fn next(&self, octets: u64, unit: u64) -> Nanos {
        let mut at = self.due.saturating_sub(time(self.rate, unit * (BURST_UNITS - 1)));
        let window = time(self.rate, unit * WINDOW_UNITS);
        let mut inside: u64 = self.recent.iter().map(|&(_, sent)| sent).sum();
        for &(when, sent) in &self.recent {
            if inside + octets <= unit * WINDOW_UNITS {
                break;
            }
            at = at.max(when + window);
            inside -= sent;
        }
        at
    }

    /// Notes that `octets` went at `now`.
    pub(super) fn sent(&mut self, octets: u64, now: Nanos) {
        self.due = self.due.max(now) + time(self.rate, octets);
        if self.recent.len() as u64 == WINDOW_UNITS {
            self.recent.pop_front();
        }
        self.recent.push_back((now, octets));
    }
}

/// What goes at `rate` in a time.
fn octets(rate: MbitPerSec, time: Nanos) -> u64 {
    u64::try_from(u128::from(rate.0) * u128::from(time.0) / 8000).unwrap_or(u64::MAX)
}

fn time(rate: MbitPerSec, octets: u64) -> Nanos {
    rate.transmission_time(Octets(octets)).unwrap_or(Nanos::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: u64 = 4096;

    fn run(pacer: &mut Pacer, from: Nanos, count: usize, lag: u64) -> Vec<Nanos> {
        let mut now = from;
        (0..count)
            .map(|_| {
                now = Nanos(now.0.max(pacer.next(UNIT, UNIT).0) + lag);
                pacer.sent(UNIT, now);
                now
            })
            .collect()
    }

    //~ RDCC, Credit Requests and Grants: 23844cc8
    /// RDCC, Credit Requests and Grants, rule 4.
    #[test]
    fn no_window_of_ten_units_time_holds_more_than_ten_units() {
        for lag in [0, 300, 1500] {
            let mut pacer = Pacer::default();
            pacer.set_rate(MbitPerSec(10_000), Nanos(0));
            let window = time(MbitPerSec(10_000), UNIT * WINDOW_UNITS).0;
            let mut sent = run(&mut pacer, Nanos(0), 100, lag);
            // A long silence, then a burst as large as it gets.
            sent.extend(run(&mut pacer, Nanos(1_000_000_000), 100, 0));
            for (first, eleventh) in sent.iter().zip(&sent[10..]) {
                assert!(eleventh.0 >= first.0 + window, "{first} {eleventh} {window}");
            }
        }
    }

    #[test]
    fn the_rate_is_reached_even_by_a_caller_that_is_late() {
        let mut pacer = Pacer::default();
        pacer.set_rate(MbitPerSec(10_000), Nanos(0));
        let sent = run(&mut pacer, Nanos(0), 101, 1000);
        let ideal = 100 * time(MbitPerSec(10_000), UNIT).0;
        assert!(sent[100].0 <= ideal + ideal / 20, "{} {ideal}", sent[100]);
    }

    #[test]
    fn a_changed_rate_starts_without_a_burst() {
        let mut pacer = Pacer::default();
        pacer.set_rate(MbitPerSec(100_000), Nanos(0));
        pacer.sent(UNIT, Nanos(0));
        pacer.set_rate(MbitPerSec(10_000), Nanos(1_000_000));
        pacer.sent(UNIT, Nanos(1_000_000));
        pacer.set_rate(MbitPerSec(9_000), Nanos(1_000_001));
        pacer.sent(UNIT, Nanos(1_000_001));
        assert!(pacer.next(UNIT, UNIT).0 > 1_000_001 + 3000);
    }

    /// However often the rate changes, no more goes than the rates allow and the burst once.
    #[test]
    fn many_changes_allow_no_more_than_the_rates_together() {
        for rates in [[10_000, 9_000], [100_000, 1_000], [400_000, 399_999]] {
            let (mut pacer, mut sent, mut allowed) = (Pacer::default(), 0, 0);
            let mut now = Nanos(0);
            for turn in 0..10_000 {
                let rate = MbitPerSec(rates[turn % 2]);
                pacer.set_rate(rate, now);
                let end = now + Nanos(700);
                while pacer.next(UNIT, UNIT) < end {
                    now = now.max(pacer.next(UNIT, UNIT));
                    pacer.sent(UNIT, now);
                    sent += UNIT;
                }
                now = end;
                // A nanosecond for what conversions round off.
                allowed += octets(rate, Nanos(701));
                assert!(sent <= allowed + BURST_UNITS * UNIT, "{rates:?}, change {turn}: {sent} {allowed}");
            }
            assert!(sent > allowed * 95 / 100, "{rates:?}: {sent} of {allowed}");
        }
    }
}
