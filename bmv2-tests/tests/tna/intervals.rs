//! `CongestionGate`, `RateAdviceGate` and `PathGate`: intervals by a clock of 32 bits that counts 1,024 ns.

use proptest::prelude::*;

/// `judge` of `tofino/congestion_report.p4`: whether the slot is due; then it is armed.
fn judge(last: &mut u32, now: u32, interval: u32) -> bool {
    let due_before = now.saturating_sub(interval);
    let due = *last < due_before || *last > now;
    if due {
        *last = now;
    }
    due
}

/// `judge` of `tofino/path_report.p4`: the drops since the last report, 0 if none is due.
fn judge_path(slot: &mut (u32, u32), now: u32, interval: u32) -> u32 {
    let (last, lost) = slot;
    if judge(last, now, interval) {
        std::mem::replace(lost, 1)
    } else {
        *lost = lost.wrapping_add(1);
        0
    }
}

/// As `clocks::an_interval_is_over_after_it_and_not_with_it` has it for v1model: after an interval, not with it.
#[test]
fn an_interval_is_over_after_it_and_not_with_it() {
    for interval in [1, 50, 49, 1_000_000] {
        let start = 5_000_000;
        let mut last = 0;
        assert!(judge(&mut last, start, interval), "nothing was said yet");
        assert!(!judge(&mut last, start + interval - 1, interval));
        assert!(!judge(&mut last, start + interval, interval));
        assert!(judge(&mut last, start + interval + 1, interval));
        assert_eq!(last, start + interval + 1);
    }
}

/// An interval of 0 is none, but no two reports in one unit of the clock.
#[test]
fn without_an_interval_one_report_in_a_unit() {
    let mut last = 0;
    assert!(judge(&mut last, 70, 0));
    assert!(!judge(&mut last, 70, 0));
    assert!(judge(&mut last, 71, 0));
}

/// Some 73 minutes after the start the clock begins anew: a slot that was armed before is due at once, one report early at most.
#[test]
fn the_clock_wraps() {
    let mut last = u32::MAX - 10;
    assert!(judge(&mut last, 3, 50));
    assert!(!judge(&mut last, 53, 50));
    assert!(judge(&mut last, 54, 50));
}

/// In the chip's first units nothing is due whose interval isn't over since its start: v1model has 0 for "never".
#[test]
fn the_first_interval_after_a_start_says_nothing() {
    let mut last = 0;
    assert!(!judge(&mut last, 50, 50));
    assert!(judge(&mut last, 51, 50));
}

/// Each drop is in the `lost` of one report: that which is sent for it, or the next one of its flow.
#[test]
fn every_drop_is_in_one_report() {
    let mut slot = (0, 1);
    assert_eq!(judge_path(&mut slot, 1000, 100), 1, "the first one is about itself");
    assert_eq!([1001, 1050, 1100].map(|now| judge_path(&mut slot, now, 100)), [0; 3]);
    assert_eq!(judge_path(&mut slot, 1101, 100), 4, "three that waited, and its own");
    assert_eq!(judge_path(&mut slot, 1202, 100), 1);
}

proptest! {
    /// The limit per flow is never exceeded while the clock doesn't wrap.
    #[test]
    fn reports_are_further_apart_than_the_interval(
        interval in 0_u32..200,
        steps in proptest::collection::vec(0_u32..100, 1..200),
    ) {
        let (mut last, mut now, mut sent) = (0, 1000, Vec::new());
        for step in steps {
            now += step;
            if judge(&mut last, now, interval) {
                sent.push(now);
            }
        }
        prop_assert!(sent.windows(2).all(|pair| pair[1] - pair[0] > interval));
    }

    /// Sum of what the reports say is what was dropped, but for those that wait.
    #[test]
    fn no_drop_is_lost_or_counted_twice(steps in proptest::collection::vec(0_u32..100, 1..200)) {
        let (mut slot, mut now, mut told) = ((0, 1), 1000, 0);
        for step in &steps {
            now += step;
            told += judge_path(&mut slot, now, 120);
        }
        let waiting = slot.1 - 1;
        prop_assert_eq!(told + waiting, u32::try_from(steps.len()).unwrap());
    }
}
