//! The list of cases, one file per feature.
//!
//! All share one test bed: hosts 1 to 4 behind ports 1 to 4; port 2's queues are slow; its data queue has the
//! profile under test. Numbers in the expectations are worked out by hand in the comments.

mod admission;
mod bed;
mod ecn;
mod flows;
mod forwarding;
mod ipv6;
mod loop_guard;
mod queues;
mod random;
mod reports;
mod suppression;
mod thresholds;
mod trust;

pub use bed::{Bed, Story};

use crate::case::Case;

/// Every case.
#[must_use]
pub fn all() -> Vec<Case> {
    [
        reports::cases(),
        thresholds::cases(),
        suppression::cases(),
        admission::cases(),
        loop_guard::cases(),
        trust::cases(),
        flows::cases(),
        ecn::cases(),
        queues::cases(),
        forwarding::cases(),
        ipv6::cases(),
        random::cases(),
    ]
    .concat()
}

/// `reports_sent` of port 2's data queue, reports to the receiver: kind 0.
const TO_RECEIVER: u64 = 2 << 3;
/// `reports_sent` of port 2's data queue, reports to the sender: kind 1.
const TO_SENDER: u64 = 1 << 12 | 2 << 3;
/// `drops` of port 2's data queue, cause 1 (congestion).
const CONGESTION: u64 = 1 << 12 | 2 << 3;
/// `reports_suppressed` of port 2's data queue, by the flow's interval: cause 0.
const FLOW_INTERVAL: u64 = 2 << 3;
/// `reports_suppressed` of port 2's data queue, by the port's limit: cause 1.
const PORT_LIMIT: u64 = 1 << 12 | 2 << 3;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::case::{BURST_FRAMES, Step};

    #[test]
    fn no_burst_is_too_long_for_the_real_switch() {
        for case in all() {
            for step in &case.script {
                let Step::Send { frames, .. } = step else { continue };
                assert!(frames.len() <= BURST_FRAMES, "{}: {}", case.name, frames.len());
            }
        }
    }

    #[test]
    fn case_names_are_file_names_and_unique() {
        let names: Vec<_> = all().into_iter().map(|case| case.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for name in names {
            assert!(
                name.bytes()
                    .all(|octet| octet.is_ascii_lowercase() || octet.is_ascii_digit() || octet == b'_'),
                "{name}"
            );
        }
    }
}
