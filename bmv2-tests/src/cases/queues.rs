//! Priority queues and their packet capacity.

use super::bed::SLOW;
use super::reports::{SIX, series, six_degrees};
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
        .expect_all(1, series(data, 1000, &SIX))
        .count("reports_sent", TO_SENDER, 3)
        .end(
            "control_overtakes_data",
            "the control queue is served first, and occupancy is that of the packet's own queue",
            &Bed::with(&six_degrees(), Vec::new()),
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
        .expect_all(1, series(data, 1000, &[(1400, 45), (1200, 35), (1000, 25)]))
        .count("reports_sent", TO_SENDER, 3)
        .end(
            "tail_drop_heals_when_empty",
            "packets that the full queue dropped silently stay in its account only until it is empty",
            &Bed { depth_packets: 4, ..Bed::with(&[45, 35, 25], Vec::new()) },
        )
}
