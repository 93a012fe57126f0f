//! With all tables of features empty.

use super::bed::SLOW;
use super::{Bed, Story};
use crate::case::Case;
use crate::frames::{CREM_PORT, Data, Mark, RDCC_PORT, SCONE_PORT, UNSCHEDULED};

pub(super) fn cases() -> Vec<Case> {
    vec![everything_passes()]
}

/// What some feature would act on stands in the slow queue: data of all roles, datagrams to the control ports, Rate
/// Signals, marked and ECN-capable packets, both families. All leave in order, DSCP and all else as they came.
fn everything_passes() -> Case {
    let data = Data { ecn: 2, ..Data::scheduled(1000) };
    let to = |port| Data { ports: (50000, port), ..data };
    let sent = [
        data,
        Data { dscp: UNSCHEDULED, ..data },
        to(RDCC_PORT),
        to(CREM_PORT),
        to(SCONE_PORT),
        Data::roce(1000, 7, 1).rate(0),
        Data::roce(1000, 7, 1).v6().rate(90_000),
        Data { option: Some(Mark::hop_by_hop(0x12345, true, true)), ..data.v6() },
        Data { vlan: Some(7), ..data },
        Data { dscp: 48, ..data },
    ];
    Story::primed().send(1, &sent).expect_forwarded(SLOW, &sent).end(
        "plain_router",
        "with nothing but routes the program is a plain router: no report, no mark, no rewriting, nothing counted",
        &Bed { plain: true, ..Bed::default() },
    )
}
