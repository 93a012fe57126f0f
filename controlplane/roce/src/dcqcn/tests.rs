//! The machines against the published equations, computed independently in floating point.

use proptest::prelude::*;
use wire::units::{BitPerSec, Nanos, Octets};

use super::{Config, ConfigError, NotificationPoint, Phase, ReactionPoint};

const LINE: f64 = 40e9;
const US: u64 = 1000;

fn config() -> Config {
    Config::new(BitPerSec(40_000_000_000))
}

fn close(rate: BitPerSec, expected: f64) -> bool {
    (rate.0 as f64 - expected).abs() < 100.0
}

#[test]
fn the_defaults_are_the_published_ones() {
    let config = config();
    assert_eq!((config.cnp_interval, config.alpha_interval), (Nanos(50 * US), Nanos(55 * US)));
    assert_eq!((config.increase_interval, config.increase_octets), (Nanos(55 * US), Octets(10_000_000)));
    assert_eq!((config.inverse_gain, config.fast_recovery_steps), (256, 5));
    assert_eq!(config.additive_increase, BitPerSec(40_000_000));
    // Not in the paper: the authors' simulator has them.
    assert_eq!(config.hyper_increase, BitPerSec(200_000_000));
    assert_eq!(config.minimum_rate, BitPerSec(100_000_000));
    assert_eq!(config.check(), Ok(()));
}

#[test]
fn parameters_that_can_not_be_are_refused() {
    let zero = Config { increase_interval: Nanos(0), ..config() };
    assert_eq!(
        zero.check().unwrap_err().to_string(),
        "DCQCN increase interval (T) of 0; it should be at least 1"
    );
    for minimum_rate in [BitPerSec(0), BitPerSec(40_000_000_001)] {
        let refused = Config { minimum_rate, ..config() };
        assert!(matches!(refused.check(), Err(ConfigError::Minimum { .. })));
    }
    assert_eq!(Config { minimum_rate: BitPerSec(40_000_000_000), ..config() }.check(), Ok(()));
    assert_eq!(Config::new(BitPerSec(10)).check(), Ok(()), "a link slower than the usual minimum");
}

#[test]
fn cnps_are_at_least_n_apart() {
    let mut point = NotificationPoint::new();
    let interval = config().cnp_interval;
    let mut at = |now| point.marked(interval, Nanos(now));
    assert!(at(7), "the first mark is answered at once");
    assert!(!at(7));
    assert!(!at(7 + 50 * US - 1));
    assert!(at(7 + 50 * US));
    assert!(!at(7 + 51 * US), "counted from the last CNP");
    assert!(at(7 + 100 * US));
}

#[test]
fn a_sender_starts_at_the_line_rate_and_the_first_cnp_halves_it() {
    let config = config();
    let mut point = ReactionPoint::new(&config);
    assert_eq!(point.rate(&config, Nanos(0)), config.line_rate);
    assert_eq!(point.phase(&config), Phase::Unlimited);
    // However long it went without one: alpha starts with the first CNP.
    point.notified(&config, Nanos(1_000_000_000));
    assert_eq!(point.rate(&config, Nanos(1_000_000_000)), BitPerSec(20_000_000_000));
    assert_eq!(point.target(), config.line_rate);
}

#[test]
fn equation_1_cuts_and_equation_2_decays() {
    let config = config();
    let g = 1.0 / 256.0;
    let mut point = ReactionPoint::new(&config);
    let (mut rate, mut alpha) = (LINE, 1.0);
    let mut now = 0;
    // Two CNPs 50 us apart: no timer fires in between.
    for _ in 0..2 {
        point.notified(&config, Nanos(now));
        rate *= 1.0 - alpha / 2.0;
        alpha = (1.0 - g) * alpha + g;
        assert!(close(point.rate(&config, Nanos(now)), rate));
        assert!((point.alpha() - alpha).abs() < 1e-6);
        now += 50 * US;
    }
    now -= 50 * US;
    // K after the last CNP alpha decays, not a nanosecond before.
    point.rate(&config, Nanos(now + 55 * US - 1));
    assert!((point.alpha() - alpha).abs() < 1e-6);
    for step in 1..=1000 {
        point.rate(&config, Nanos(now + step * 55 * US));
        alpha *= 1.0 - g;
        assert!((point.alpha() - alpha).abs() < 1e-5, "step {step}");
    }
}

#[test]
fn equations_3_and_4_raise_by_the_timer() {
    let config = config();
    let mut point = ReactionPoint::new(&config);
    point.notified(&config, Nanos(0));
    point.notified(&config, Nanos(1));
    let (mut target, mut rate) = (LINE / 2.0, LINE / 4.0);
    for step in 1..=12 {
        let at = 1 + step * 55 * US;
        assert!(close(point.rate(&config, Nanos(at - 1)), rate), "not before T, step {step}");
        // The timer alone: the octet counter stays at 0, so there is no hyper increase.
        let phase = if step <= 5 { Phase::FastRecovery } else { Phase::Additive };
        assert_eq!(point.phase(&config), phase, "step {step}");
        if step > 5 {
            target += 40e6;
        }
        rate = f64::midpoint(rate, target);
        assert!(close(point.rate(&config, Nanos(at)), rate), "step {step}");
    }
}

#[test]
fn the_octet_counter_raises_too_and_both_beyond_f_raise_hyper() {
    let config = config();
    let mut point = ReactionPoint::new(&config);
    point.notified(&config, Nanos(0));
    point.notified(&config, Nanos(0));
    let (mut target, mut rate) = (LINE / 2.0, LINE / 4.0);
    point.sent(&config, Octets(9_999_999), Nanos(0));
    assert!(close(point.rate(&config, Nanos(0)), rate), "not before B");
    point.sent(&config, Octets(1), Nanos(0));
    rate = f64::midpoint(rate, target);
    assert!(close(point.rate(&config, Nanos(0)), rate));
    // Five more by octets, then the timer: each counter has its own count.
    for step in 2..=6 {
        point.sent(&config, Octets(10_000_000), Nanos(0));
        target += if step > 5 { 40e6 } else { 0.0 };
        rate = f64::midpoint(rate, target);
    }
    assert!(close(point.rate(&config, Nanos(0)), rate));
    for step in 1..=8u64 {
        // Before the rise the timer has step - 1 and the octet counter 6: hyper from min(7th, 6) > 5 on.
        let hyper = step - 1 > 5;
        assert_eq!(point.phase(&config) == Phase::Hyper, hyper, "step {step}");
        target += if hyper { 200e6 } else { 40e6 };
        rate = f64::midpoint(rate, target);
        assert!(close(point.rate(&config, Nanos(step * 55 * US)), rate), "step {step}");
    }
    // Two steps beyond F on both sides: twice R_HI.
    point.sent(&config, Octets(10_000_000), Nanos(440 * US));
    target += 200e6;
    rate = f64::midpoint(rate, target);
    point.sent(&config, Octets(10_000_000), Nanos(440 * US));
    target += 400e6;
    rate = f64::midpoint(rate, target);
    assert!(close(point.rate(&config, Nanos(440 * US)), rate));
}

#[test]
fn a_sender_comes_back_to_the_line_rate_and_stops_there() {
    let config = config();
    let mut point = ReactionPoint::new(&config);
    for cnp in 0..100 {
        point.notified(&config, Nanos(cnp * 50 * US));
    }
    assert_eq!(point.rate(&config, Nanos(5_000 * US)), config.minimum_rate);
    let later = point.rate(&config, Nanos(10_000_000 * US));
    assert_eq!((later, point.phase(&config)), (config.line_rate, Phase::Unlimited));
    // What is sent at the line rate counts for nothing: the counters begin with the cut.
    point.sent(&config, Octets(1 << 40), Nanos(10_000_000 * US));
    // Alpha has decayed to nothing by now: the first CNP only raises it, the second cuts.
    for phase in [Phase::Unlimited, Phase::FastRecovery] {
        point.notified(&config, Nanos(10_000_000 * US));
        assert_eq!(point.phase(&config), phase);
    }
}

proptest! {
    #[test]
    fn asking_changes_nothing_and_the_rate_stays_in_bounds(
        steps in prop::collection::vec((0u64..200_000, 0u8..3, 0u64..20_000_000), 1..200),
    ) {
        let config = config();
        let (mut asked, mut silent) = (ReactionPoint::new(&config), ReactionPoint::new(&config));
        let mut now = 0;
        for (after, what, octets) in steps {
            for part in 1..=3 {
                let rate = asked.rate(&config, Nanos(now + after * part / 3));
                prop_assert!(rate >= config.minimum_rate && rate <= config.line_rate);
            }
            now += after;
            for point in [&mut asked, &mut silent] {
                match what {
                    0 => point.notified(&config, Nanos(now)),
                    1 => point.sent(&config, Octets(octets), Nanos(now)),
                    _ => {}
                }
            }
            prop_assert!(asked.target() >= asked.rate(&config, Nanos(now)));
            if what != 2 {
                prop_assert_eq!(asked.rate(&config, Nanos(now)), silent.rate(&config, Nanos(now)));
                prop_assert!((asked.alpha() - silent.alpha()).abs() < f64::EPSILON);
            }
        }
    }
}
