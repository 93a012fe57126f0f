//! A queue's service rate divided by its flows, as ranges of the flow count.

/// Flow counts that share a rate, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareRange {
    /// Fewest flows.
    pub low: u16,
    /// Most flows.
    pub high: u16,
    /// Their rate in Mbit/s.
    pub rate: u32,
}

/// Up to this many flows every count has an entry of its own, so that the quotient is exact.
pub const EXACT_FLOWS: u16 = 256;
/// Above, a range is a sixteenth of its lower bound wide. Its rate is that of its upper bound, so that the
/// advice is at most a sixteenth too low and never too high.
const RANGE_SHARE: u16 = 16;

/// Entries for a queue served at `rate_bps`: the Suggested Rate of RDCC, On-Path Congestion Reporting. Rates
/// are rounded down, but never to 0, which on the wire means that there is no suggestion.
pub fn share_ranges(rate_bps: u64) -> Vec<ShareRange> {
    let service = u32::try_from(rate_bps / 1_000_000).unwrap_or(u32::MAX);
    let mut ranges = Vec::new();
    let mut low = 1_u16;
    loop {
        let width = if low <= EXACT_FLOWS { 1 } else { low / RANGE_SHARE };
        let high = low.saturating_add(width - 1);
        ranges.push(ShareRange { low, high, rate: (service / u32::from(high)).max(1) });
        match high.checked_add(1) {
            Some(next) => low = next,
            None => return ranges,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn up_to_256_flows_the_quotient_is_exact() {
        let ranges = share_ranges(100_000_000_000);
        for flows in 1..=EXACT_FLOWS {
            let entry = ranges[usize::from(flows) - 1];
            assert_eq!((entry.low, entry.high), (flows, flows));
            assert_eq!(entry.rate, 100_000 / u32::from(flows));
        }
        assert_eq!((ranges[256].low, ranges[256].high), (257, 272));
        assert_eq!(ranges[256].rate, 100_000 / 272);
    }

    proptest! {
        #[test]
        fn the_ranges_cover_every_count_once_and_are_never_too_high(mbit in 1_u64..=10_000_000) {
            let ranges = share_ranges(mbit * 1_000_000);
            prop_assert!(ranges.len() <= 512, "eight profiles fit into the table");
            let mut next = 1_u32;
            for range in &ranges {
                prop_assert_eq!(u32::from(range.low), next);
                prop_assert!(range.high >= range.low);
                next = u32::from(range.high) + 1;
                let exact = mbit / u64::from(range.low);
                prop_assert!(u64::from(range.rate) <= exact.max(1));
                prop_assert!(u64::from(range.rate) >= (exact * 15 / 16).saturating_sub(1));
            }
            prop_assert_eq!(next, 65_536);
        }
    }
}
