//! IPv6 data is reported over IPv6.

use super::bed::SLOW;
use super::reports::{series, six_degrees, six_to_receiver, six_to_sender};
use super::{Bed, Story, TO_SENDER};
use crate::case::Case;
use crate::frames::Data;

pub(super) fn cases() -> Vec<Case> {
    vec![to_receiver(), to_sender(), no_address()]
}

/// The primer is an IPv4 packet: it shares the queue with the flow under test, and half the rate is suggested.
const HALF: u32 = 500;

fn to_receiver() -> Case {
    six_to_receiver(Data::scheduled(200).v6(), HALF).end(
        "ipv6_report_to_receiver",
        "scheduled IPv6 data above B_th is reported to its receiver, every octet right",
        &Bed::with(&six_degrees(), Vec::new()),
    )
}

fn to_sender() -> Case {
    six_to_sender(Data::unscheduled(200).v6(), HALF).end(
        "ipv6_report_to_sender",
        "unscheduled IPv6 data above B_th is reported to its sender, every octet right",
        &Bed::with(&six_degrees(), Vec::new()),
    )
}

/// IPv4 and IPv6 in turn: 1000, 800, 600 behind; of the three above `B_th` one is IPv6.
fn no_address() -> Case {
    let four = Data::unscheduled(200);
    let mixed = [four, four.v6(), four, four.v6(), four, four.v6()];
    Story::primed()
        .send(1, &mixed)
        .expect_forwarded(SLOW, &mixed)
        .expect_all(1, series(four, HALF, &[(1000, 25), (600, 5)]))
        .count("reports_sent", TO_SENDER, 2)
        .end(
            "ipv6_needs_an_address",
            "a reporter without an IPv6 address reports about IPv4 alone",
            &Bed { reporter_ipv6: 0, ..Bed::with(&six_degrees(), Vec::new()) },
        )
}
