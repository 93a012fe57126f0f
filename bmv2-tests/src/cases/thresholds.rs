//! `B_th` from both sides.

use super::bed::SLOW;
use super::reports::report;
use super::{Bed, Story, TO_RECEIVER};
use crate::case::Case;
use crate::frames::Data;

pub(super) fn cases() -> Vec<Case> {
    vec![equal(), just_above(), short_frames()]
}

/// 1000, 800 and 600 octets behind; `B_th` is 600.
fn equal() -> Case {
    let data = Data::scheduled(200);
    Story::primed()
        .send(1, &[data; 6])
        .expect(SLOW, data.forwarded())
        .expect(SLOW, report(data, 1, 1000, 600, 20))
        .expect(SLOW, data.forwarded())
        .expect(SLOW, report(data, 2, 800, 600, 10))
        .expect_forwarded(SLOW, &[data; 4])
        .count("reports_sent", TO_RECEIVER, 2)
        .end(
            "threshold_equal",
            "a queue of exactly B_th is not reported",
            &Bed { b_th: 600, q_max: 5700, degrees: vec![20, 10], ..Bed::default() },
        )
}

/// The same, `B_th` one octet lower: 401, 201 and 1 octets of excess.
fn just_above() -> Case {
    let data = Data::scheduled(200);
    Story::primed()
        .send(1, &[data; 6])
        .expect(SLOW, data.forwarded())
        .expect(SLOW, report(data, 1, 1000, 599, 20))
        .expect(SLOW, data.forwarded())
        .expect(SLOW, report(data, 2, 800, 599, 10))
        .expect(SLOW, data.forwarded())
        .expect(SLOW, report(data, 3, 600, 599, 0))
        .expect_forwarded(SLOW, &[data; 3])
        .count("reports_sent", TO_RECEIVER, 3)
        .end(
            "threshold_just_above",
            "a queue one octet above B_th is reported, with degree 0",
            &Bed { b_th: 599, q_max: 5699, degrees: vec![20, 10], ..Bed::default() },
        )
}

/// Frames of 42 octets cost 64: 320, 256, 192, ... octets behind; `B_th` is 192.
fn short_frames() -> Case {
    let data = Data::scheduled(42);
    Story::primed()
        .send(1, &[data; 6])
        .expect(SLOW, data.forwarded())
        .expect(SLOW, report(data, 1, 320, 192, 6))
        .expect(SLOW, data.forwarded())
        .expect(SLOW, report(data, 2, 256, 192, 3))
        .expect_forwarded(SLOW, &[data; 4])
        .count("reports_sent", TO_RECEIVER, 2)
        .end(
            "short_frames_cost_sixty_four",
            "a frame shorter than Ethernet's minimum counts as 64 octets; its report is whole all the same",
            &Bed { b_th: 192, q_max: 5292, degrees: vec![6, 3], ..Bed::default() },
        )
}
