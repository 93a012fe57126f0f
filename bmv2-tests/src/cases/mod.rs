//! The list of cases, one file per feature.
//!
//! All share one test bed: hosts 1 to 4 behind ports 1 to 4; port 2's queues are slow; its data queue has the
//! profile under test. Numbers in the expectations are worked out by hand in the comments.

mod acl;
mod admission;
mod bed;
mod boundaries;
mod controller_packets;
mod ecn;
mod flows;
mod forwarding;
mod ipv6;
mod loop_guard;
mod lost_reports;
mod malformed;
mod marking;
mod path_reports;
mod plain_router;
mod queues;
mod random;
mod rate_advice;
mod rate_signals;
mod reports;
mod source_check;
mod suppression;
mod thresholds;
mod trust;
mod tunnels;
mod vlan;

pub use bed::{Bed, Story};

use crate::case::Case;

/// Every case.
#[must_use]
pub fn all() -> Vec<Case> {
    [
        reports::cases(),
        thresholds::cases(),
        boundaries::cases(),
        suppression::cases(),
        admission::cases(),
        loop_guard::cases(),
        trust::cases(),
        acl::cases(),
        source_check::cases(),
        flows::cases(),
        ecn::cases(),
        queues::cases(),
        forwarding::cases(),
        malformed::cases(),
        ipv6::cases(),
        vlan::cases(),
        tunnels::cases(),
        lost_reports::cases(),
        path_reports::cases(),
        rate_advice::cases(),
        rate_signals::cases(),
        marking::cases(),
        plain_router::cases(),
        controller_packets::cases(),
        random::cases(),
    ]
    .concat()
}

/// The cell of a counter whose index is (kind or cause) << 12 | port << 3 | queue.
const fn cell(first: u64, port: u16, queue: u64) -> u64 {
    first << 12 | (port as u64) << 3 | queue
}

/// `reports_sent` of port 2's data queue, reports to the receiver: kind 0.
const TO_RECEIVER: u64 = cell(0, 2, 0);
/// `reports_sent` of port 2's data queue, reports to the sender: kind 1.
const TO_SENDER: u64 = cell(1, 2, 0);
/// `reports_sent` of port 2's data queue, `PATH_REPORT`s: kind 2.
const PATH: u64 = cell(2, 2, 0);
/// `reports_sent` of port 2's data queue, Rate Advice: kind 3.
const ADVICE: u64 = cell(3, 2, 0);
/// `drops` of port 2's data queue, cause 1 (congestion).
const CONGESTION: u64 = cell(1, 2, 0);
/// `drops` of ingress port 1, cause 2 (corruption).
const CORRUPTION: u64 = cell(2, 1, 0);
/// `drops` of ingress port 1, cause 3 (policy).
const POLICY: u64 = cell(3, 1, 0);
/// `reports_suppressed` of port 2's data queue, by the flow's interval: cause 0.
const FLOW_INTERVAL: u64 = cell(0, 2, 0);
/// `reports_suppressed` of port 2's data queue, by the port's limit: cause 1.
const PORT_LIMIT: u64 = cell(1, 2, 0);
/// `reports_suppressed` of port 2's data queue, PSNs that no report names: cause 2.
const PSN_LIMIT: u64 = cell(2, 2, 0);
/// `reports_suppressed` of port 2's data queue, by the source's interval: cause 3.
const SOURCE_INTERVAL: u64 = cell(3, 2, 0);
/// `reports_suppressed` of port 2's data queue, the source isn't valid: cause 4.
const SOURCE_INVALID: u64 = cell(4, 2, 0);
/// `reports_suppressed` of port 2's data queue, data in a tunnel: cause 5.
const TUNNELLED: u64 = cell(5, 2, 0);
/// `reports_suppressed` of port 2's data queue, data that isn't UDP: cause 6.
const NOT_UDP: u64 = cell(6, 2, 0);
/// `reports_suppressed` of port 2's data queue, no address of the family: cause 7.
const NO_ADDRESS: u64 = cell(7, 2, 0);
/// `drops` of reports about port 2's data queue: cause 6.
const REPORT: u64 = cell(6, 2, 0);
/// `drops` of ingress port 1, cause 7: not for a router.
const NOT_ROUTED: u64 = cell(7, 1, 0);
/// Microseconds: longer than any case.
const FOR_EVER: u32 = 600_000_000;

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
