//! The Congestion Degree as ranges of the excess over `B_th`, so that a table look-up gives the formula's value.

/// Values of `excess` that share a degree, both ends included, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DegreeRange {
    /// Smallest excess over `B_th`.
    pub low: u32,
    /// Largest excess.
    pub high: u32,
    /// Congestion Degree of these.
    pub degree: u8,
}

/// The largest degree.
const MAX_DEGREE: u64 = 255;

/// Congestion Degree of a queue that holds `excess` octets more than `B_th`, of a queue whose `Q_max` is
/// `capacity` above `B_th`: min(255, floor(255 * excess / capacity)) (RDCC, On-Path Congestion Reporting).
///
/// A capacity of 0 has no degree but the largest; checked topologies have none.
pub fn degree(excess: u32, capacity: u32) -> u8 {
    let quotient = (MAX_DEGREE * u64::from(excess)).checked_div(u64::from(capacity)).unwrap_or(MAX_DEGREE);
    u8::try_from(quotient).unwrap_or(u8::MAX)
}

/// The ranges of `excess` with a degree above 0, ascending, without gaps after the first; degree 0 is the
/// table's miss. At most 255.
pub fn degree_ranges(capacity: u32) -> Vec<DegreeRange> {
    // floor(255 e / c) >= d exactly from e = ceil(d c / 255) on.
    let first = |degree: u64| (degree * u64::from(capacity)).div_ceil(MAX_DEGREE);
    (1..=MAX_DEGREE)
        .filter_map(|degree| {
            let low = first(degree);
            let high =
                if degree == MAX_DEGREE { u64::from(u32::MAX) } else { first(degree + 1).checked_sub(1)? };
            // With less than 255 octets some degrees are never the result.
            let range = (low <= high).then_some((low, high))?;
            Some(DegreeRange {
                low: u32::try_from(range.0).ok()?,
                high: u32::try_from(range.1).ok()?,
                degree: u8::try_from(degree).ok()?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn looked_up(ranges: &[DegreeRange], excess: u32) -> u8 {
        let mut hits = ranges.iter().filter(|range| (range.low..=range.high).contains(&excess));
        let degree = hits.next().map_or(0, |range| range.degree);
        assert!(hits.next().is_none(), "ranges overlap at {excess}");
        degree
    }

    #[test]
    fn the_incast_topology_has_all_255_degrees() {
        let ranges = degree_ranges(900_000);
        assert_eq!(ranges.len(), 255);
        assert_eq!(ranges[0].low, 3530, "255 x 3530 / 900000 is the first above 1");
        assert_eq!(looked_up(&ranges, 3529), 0);
        assert_eq!(looked_up(&ranges, 899_999), 254);
        assert_eq!(looked_up(&ranges, 900_000), 255);
        assert_eq!(looked_up(&ranges, u32::MAX), 255);
    }

    #[test]
    fn small_queues_skip_degrees_and_keep_the_formula() {
        for capacity in 1..=600 {
            let ranges = degree_ranges(capacity);
            for excess in 0..=capacity + 2 {
                assert_eq!(looked_up(&ranges, excess), degree(excess, capacity), "{excess} of {capacity}");
            }
        }
    }

    proptest! {
        /// At every boundary of every range, and one octet to either side, the look-up is the formula.
        #[test]
        fn the_ranges_reproduce_the_formula(capacity in 1_u32..=u32::MAX, inside in any::<u32>()) {
            let ranges = degree_ranges(capacity);
            prop_assert!(ranges.len() <= 255);
            let edges = ranges.iter().flat_map(|range| [range.low, range.high]);
            for edge in edges.chain([0, capacity, inside, u32::MAX]) {
                for excess in [edge.saturating_sub(1), edge, edge.saturating_add(1)] {
                    prop_assert_eq!(looked_up(&ranges, excess), degree(excess, capacity));
                }
            }
        }
    }
}
