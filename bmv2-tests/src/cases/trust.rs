//! The domain's boundary: roles and control datagrams from outside.

use super::bed::SLOW;
use super::{Bed, Story};
use crate::case::Case;
use crate::frames::{CONTROL, Data, NO_ROLE, RDCC_PORT};

/// `drops` of ingress port 3, cause 3 (policy).
const POLICY: u64 = 3 << 12 | 3 << 3;

pub(super) fn cases() -> Vec<Case> {
    vec![untrusted_port()]
}

/// Host 3 is outside. Its datagrams to the three control ports are dropped; its scheduled data goes on without a DSCP
/// and is never reported.
fn untrusted_port() -> Case {
    let data = Data { src: 3, ..Data::scheduled(200) };
    let reset = Data { dscp: NO_ROLE, ..data };
    let control = |port| Data { dscp: CONTROL, ports: (50000, port), ..data };
    let attempt = [
        data,
        control(RDCC_PORT),
        data,
        control(RDCC_PORT + 1),
        data,
        control(RDCC_PORT + 2),
        data,
        data,
        data,
    ];
    Story::primed().send(3, &attempt).expect_forwarded(SLOW, &[reset; 6]).count("drops", POLICY, 3).end(
        "untrusted_port",
        "roles and control datagrams from outside the domain aren't believed, and nothing is reported about them",
        &Bed { trusted: vec![1, 2, 4], ..Bed::default() },
    )
}
