//! Admission by octets against `Q_max`.

use super::bed::SLOW;
use super::reports::report;
use super::{Bed, CONGESTION, Story, TO_SENDER};
use crate::case::Case;
use crate::frames::Data;

pub(super) fn cases() -> Vec<Case> {
    vec![exactly_full(), one_too_many()]
}

/// Five frames of 200 octets fill a queue of 1000; a sixth is refused, and so is the shortest that there is.
fn exactly_full() -> Case {
    let data = Data::scheduled(200);
    Story::primed()
        .send(1, &[data, data, data, data, data, data, Data::scheduled(64)])
        .expect_forwarded(SLOW, &[data; 5])
        .count("drops", CONGESTION, 2)
        .end(
            "queue_exactly_full",
            "a queue takes octets up to Q_max and not one more; what is refused is counted",
            &Bed { b_th: 900, q_max: 1000, ..Bed::default() },
        )
}

/// `Q_max` of 999: the fifth frame of 200 is refused, one of 199 fits. What was refused isn't in the account:
/// 799, 599, 399 and 199 octets are left behind; 699 octets between the thresholds.
fn one_too_many() -> Case {
    let data = Data::unscheduled(200);
    let last = Data::unscheduled(199);
    Story::primed()
        .send(1, &[data, data, data, data, data, last])
        .expect_forwarded(SLOW, &[data, data, data, data, last])
        .expect(1, report(data, 1, 799, 300, 182))
        .expect(1, report(data, 2, 599, 300, 109))
        .expect(1, report(data, 3, 399, 300, 36))
        .count("drops", CONGESTION, 1)
        .count("reports_sent", TO_SENDER, 3)
        .end(
            "refused_octets_are_not_charged",
            "a refused packet leaves room for a shorter one and doesn't count as occupancy",
            &Bed { b_th: 300, q_max: 999, degrees: vec![182, 109, 36], ..Bed::default() },
        )
}
