//! ECN marking, RFC 3168.

use super::bed::SLOW;
use super::{Bed, Story};
use crate::case::Case;
use crate::frames::Data;

pub(super) fn cases() -> Vec<Case> {
    vec![both_sides("ecn_threshold", false), both_sides("ecn_threshold_ipv6", true)]
}

/// 1400, 1200, ..., 0 octets behind, ECN threshold 400, no report: marked are ECT(0) and ECT(1) above it. Not-ECT is left
/// alone, CE isn't counted again.
fn both_sides(name: &str, ipv6: bool) -> Case {
    let plain = if ipv6 { Data::scheduled(200).v6() } else { Data::scheduled(200) };
    let data = |ecn| Data { ecn, ..plain };
    let sent = [0, 1, 2, 3, 1, 2, 1, 2].map(data);
    let seen = [0, 3, 3, 3, 3, 2, 1, 2].map(data);
    Story::primed().send(1, &sent).expect_forwarded(SLOW, &seen).count("ecn_marked", 2 << 3, 3).end(
        name,
        "a queue above the ECN threshold marks ECN-capable packets, one of exactly that depth doesn't",
        &Bed { b_th: 5000, ecn_threshold: 400, ..Bed::default() },
    )
}
