//! How much a counter grew.

/// Ours: no flow has more packets between two readings. A counter that went back by less than that to a power of its width
/// has wrapped, else its switch has started anew.
const MOST: u64 = 1 << 28;

/// Growth from one reading to a later one; `None` when the counter has started over. Counters of 32 bits (hardware's) and of 64
/// (P4Runtime's) wrap.
pub(super) fn growth(before: u64, now: u64) -> Option<u64> {
    if now >= before {
        return Some(now - before);
    }
    let narrow = u64::from(u32::MAX) + 1;
    let over = if before < narrow { narrow - before + now } else { now.wrapping_sub(before) };
    (over < MOST).then_some(over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_grows_wraps_or_has_started_over() {
        assert_eq!(growth(5, 5), Some(0));
        assert_eq!(growth(5, 9), Some(4));
        assert_eq!(growth(u64::from(u32::MAX) - 1, 3), Some(5), "of 32 bits");
        assert_eq!(growth(u64::MAX - 1, 3), Some(5), "of 64 bits");
        assert_eq!(growth(1000, 3), None);
        let edge = u64::from(u32::MAX) + 1 - MOST;
        assert_eq!(growth(edge + 1, 0), Some(MOST - 1));
        assert_eq!(growth(edge, 0), None, "so many packets can't have come");
        assert_eq!(growth(1 << 40, 3), None, "beyond 32 bits, and far from 64");
    }
}
