//! A rate in the six reserved bits of an acknowledgement's BTH (SCONE, Feedback Loop; the encoding is ours).
//!
//! 0 is no advice; n = 1..63 is 100 Mbit/s x 10^((n-1)/15): 100 Mbit/s to 1.36 Tbit/s in steps of 16.6 %. The bits are
//! outside the ICRC.

use crate::units::MbitPerSec;

/// The rate of every code in Mbit/s, whole; that of code 0 is never used.
const RATES: [u32; 64] = [
    0, 100, 116, 135, 158, 184, 215, 251, 292, 341, 398, 464, 541, 630, 735, 857, 1000, 1165, 1359, 1584,
    1847, 2154, 2511, 2928, 3414, 3981, 4641, 5411, 6309, 7356, 8576, 10_000, 11_659, 13_593, 15_848, 18_478,
    21_544, 25_118, 29_286, 34_145, 39_810, 46_415, 54_116, 63_095, 73_564, 85_769, 100_000, 116_591,
    135_935, 158_489, 184_784, 215_443, 251_188, 292_864, 341_454, 398_107, 464_158, 541_169, 630_957,
    735_642, 857_695, 1_000_000, 1_165_914, 1_359_356,
];

/// The code of the highest rate that is not above `rate`; 1 for a rate below all of them, 0 for no advice (rate 0).
pub fn encode(rate: MbitPerSec) -> u8 {
    if rate.0 == 0 {
        return 0;
    }
    let above = RATES.partition_point(|&value| value <= rate.0);
    u8::try_from(above.saturating_sub(1)).map_or(1, |code| code.max(1))
}

/// The rate of a code, of which the low six bits count; `None` for no advice.
pub fn decode(code: u8) -> Option<MbitPerSec> {
    RATES.get(usize::from(code & 0x3f)).filter(|&&rate| rate != 0).map(|&rate| MbitPerSec(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_power_series_rounded_down() {
        for (code, &rate) in RATES.iter().enumerate().skip(1) {
            let exact = 100.0 * 10f64.powf((code as f64 - 1.0) / 15.0);
            // A hair more: the powers that are whole numbers, 1000 to 1000000, come out below in floating point.
            let rounded = exact * (1.0 + 1e-12);
            assert!((f64::from(rate)..f64::from(rate) + 1.0).contains(&rounded), "code {code}");
        }
        assert_eq!(RATES[63], 1_359_356);
    }

    #[test]
    fn rates_round_down_but_never_to_no_advice() {
        assert_eq!((encode(MbitPerSec(0)), decode(0)), (0, None));
        for low in [1, 99, 100, 115] {
            assert_eq!(encode(MbitPerSec(low)), 1);
        }
        assert_eq!(encode(MbitPerSec(116)), 2);
        assert_eq!(encode(MbitPerSec(1_359_355)), 62);
        assert_eq!(encode(MbitPerSec(1_359_356)), 63);
        assert_eq!(encode(MbitPerSec(u32::MAX)), 63);
        for code in 1..64 {
            assert_eq!(encode(decode(code).unwrap()), code);
            assert_eq!(decode(code | 0xc0), decode(code), "only six bits count");
            let below = MbitPerSec(decode(code).unwrap().0 - 1);
            assert_eq!(encode(below), (code - 1).max(1));
        }
    }
}
