//! The suggested rate: the queue's service rate divided by its flows.

use super::bed::SLOW;
use super::{Bed, Story, TO_SENDER};
use crate::case::Case;
use crate::frames::{Data, Report};

pub(super) fn cases() -> Vec<Case> {
    vec![fair_share()]
}

/// Three flows of three senders, two frames each: 1000, 800, 600, 400, 200, 0 behind. 1000 Mbit/s / 3 = 333. Reports
/// go to three ports and are numbered through, because they are about one port.
fn fair_share() -> Case {
    let from = |src: u8| Data { src, ..Data::unscheduled(200) };
    let senders = [from(1), from(3), from(4)];
    let said = |about, sequence, queue_depth, degree| {
        Report { about, sequence, queue_depth, threshold: 500, degree, rate: 333 }.frame()
    };
    Story::primed()
        .send(1, &[senders, senders].concat())
        .expect_forwarded(SLOW, &[senders, senders].concat())
        .expect(1, said(senders[0], 1, 1000, 25))
        .expect(3, said(senders[1], 2, 800, 15))
        .expect(4, said(senders[2], 3, 600, 5))
        .count("reports_sent", TO_SENDER, 3)
        .end(
            "suggested_rate_by_flows",
            "the suggested rate is the service rate divided by the flows of the queue; one sequence per port",
            &Bed { degrees: vec![25, 15, 5], ..Bed::default() },
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flows that share a slot are counted as one: the case's must not.
    #[test]
    fn the_flows_have_slots_of_their_own() {
        let mut slots = [1, 3, 4].map(|src| Data { src, ..Data::unscheduled(200) }.flow_hash() & 0xfff);
        slots.sort_unstable();
        assert!(slots[0] < slots[1] && slots[1] < slots[2], "{slots:?}");
    }
}
