//! Priority queues and their packet capacity.

use super::bed::SLOW;
use super::reports::report;
use super::{Bed, Story, TO_SENDER};
use crate::case::Case;
use crate::frames::{CONTROL, Data};

pub(super) fn cases() -> Vec<Case> {
    vec![control_overtakes(), tail_drop()]
}

/// A control datagram enters behind six data frames and leaves first. It is in another queue: the data's occupancy
/// doesn't know it.
fn control_overtakes() -> Case {
    let data = Data::unscheduled(200);
    let control = Data { dscp: CONTROL, ports: (50000, 7), ..data };
    Story::primed()
        .send(1, &[data, data, data, data, data, data, control])
        .expect(SLOW, control.forwarded())
        .expect_forwarded(SLOW, &[data; 6])
        .expect(1, report(data, 1, 1000, 500, 25))
        .expect(1, report(data, 2, 800, 500, 15))
        .expect(1, report(data, 3, 600, 500, 5))
        .count("reports_sent", TO_SENDER, 3)
        .end(
            "control_overtakes_data",
            "the control queue is served first, and occupancy is that of the packet's own queue",
            &Bed { degrees: vec![25, 15, 5], ..Bed::default() },
        )
}

/// The queue holds four packets; the switch itself drops the other four without a word, after they were charged: their
/// surplus stays in the account until the queue is empty. 1400, 1200, 1000 behind the first three, nothing behind the
/// fourth: no packet waits then.
fn tail_drop() -> Case {
    let data = Data::unscheduled(200);
    Story::primed()
        .send(1, &[data; 8])
        .expect_forwarded(SLOW, &[data; 4])
        .expect(1, report(data, 1, 1400, 500, 45))
        .expect(1, report(data, 2, 1200, 500, 35))
        .expect(1, report(data, 3, 1000, 500, 25))
        .count("reports_sent", TO_SENDER, 3)
        .end(
            "tail_drop_heals_when_empty",
            "packets that the full queue dropped silently stay in its account only until it is empty",
            &Bed { degrees: vec![45, 35, 25], depth_packets: 4, ..Bed::default() },
        )
}
