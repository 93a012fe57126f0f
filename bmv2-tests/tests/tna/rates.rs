//! `tofino/rates.p4` and `tofino/report.p4`: shifts and sums where the v1model program multiplies.

use proptest::prelude::*;

/// `CongestedRate` of include/rates.p4, which is exact.
fn exact(share: u32, degree: u8, floor: u32) -> u32 {
    if share == 0 {
        return 0;
    }
    let rate = u64::from(share) * (510 - u64::from(degree)) / 510;
    u32::try_from(rate).unwrap().max(floor).max(1)
}

/// `CongestedShare` of `tofino/rates.p4`, action by action; all ones is no limit.
fn model(share: u32, degree: u8, floor: u32) -> u32 {
    let term = |bit: u8, shift: u32| if degree >> bit & 1 == 1 { share >> shift } else { 0 };
    let coarse = term(7, 2) + term(6, 3);
    let fine = term(5, 4) + term(4, 5);
    let rate = (share - (coarse + fine)).max(floor);
    match (share, rate) {
        (0, _) => u32::MAX,
        (_, 0) => 1,
        (_, rate) => rate,
    }
}

/// The bounds that docs/tofino.md publishes. With k the degree's upper four bits, the model takes at least share x k / 32 - 4 off (four
/// shifts, each rounded down), the exact rate is rounded down once; and degree / 510 - k / 32 is at most 16 / 510.
fn assert_bounds(share: u32, degree: u8, floor: u32) {
    let (exact, model) = (exact(share, degree, floor), model(share, degree, floor));
    if share == 0 {
        assert_eq!((exact, model), (0, u32::MAX), "nothing is known of degree {degree}");
        return;
    }
    let most = u64::from(exact) + u64::from(share) * 16 / 510 + 5;
    assert!(model >= exact, "{share} at degree {degree}: {model} is less than {exact}");
    assert!(u64::from(model) <= most, "{share} at degree {degree}: {model} is more than {most}");
}

/// The shares, degrees and floors of the cases `rate_signal_congested`, `rate_signal_floor` and of Rate Advice, with what the
/// v1model program makes of them.
#[test]
fn the_vectors_of_the_v1model_program() {
    let vectors = [
        (1000, 25, 0, 950),
        (1000, 15, 0, 970),
        (1000, 5, 0, 990),
        (1000, 75, 960, 960),
        (1000, 25, 960, 960),
        (500, 25, 0, 475),
        (500, 15, 0, 485),
    ];
    for (share, degree, floor, wanted) in vectors {
        assert_eq!(exact(share, degree, floor), wanted);
        assert_bounds(share, degree, floor);
    }
}

#[test]
fn every_degree_of_the_rates_that_links_have() {
    for degree in 0..=u8::MAX {
        for share in [0, 1, 2, 31, 32, 1000, 100_000, 400_000, u32::MAX] {
            assert_bounds(share, degree, 0);
        }
    }
}

/// Octets of a cell on Tofino 1 and 2 as the report's shifts make them.
#[test]
fn cells_become_octets() {
    for cells in [0u32, 1, 2, 255, 1000, 200_000, 0x7_ffff] {
        assert_eq!((cells << 6) + (cells << 4), 80 * cells);
        assert_eq!((cells << 7) + (cells << 5) + (cells << 4), 176 * cells);
    }
}

proptest! {
    #[test]
    fn never_too_low_and_at_most_a_thirtieth_too_high(share: u32, degree: u8, floor in 0_u32..1000) {
        assert_bounds(share, degree, floor);
    }

    /// A worse degree never allows more.
    #[test]
    fn a_worse_degree_allows_no_more(share in 1_u32.., one: u8, other: u8) {
        let (better, worse) = (one.min(other), one.max(other));
        prop_assert!(model(share, worse, 0) <= model(share, better, 0).saturating_add(4));
    }
}
