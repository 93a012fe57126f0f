//! IPv6 data is reported over IPv6.

use super::bed::SLOW;
use super::{Bed, Story, TO_RECEIVER, TO_SENDER};
use crate::case::Case;
use crate::frames::{Data, Family};

pub(super) fn cases() -> Vec<Case> {
    vec![to_receiver(), to_sender(), no_address()]
}

/// Six frames of 200 octets, as in the IPv4 case. The primer is an IPv4 packet: it shares the queue with the flow under
/// test, and half the rate is suggested.
fn half(about: Data, sequence: u32, queue_depth: u32, degree: u8) -> Vec<u8> {
    crate::frames::Report { about, sequence, queue_depth, threshold: 500, degree, rate: 500 }.frame()
}

fn to_receiver() -> Case {
    let data = Data { family: Family::V6, ..Data::scheduled(200) };
    Story::primed()
        .send(1, &[data; 6])
        .expect(SLOW, data.forwarded())
        .expect(SLOW, half(data, 1, 1000, 25))
        .expect(SLOW, data.forwarded())
        .expect(SLOW, half(data, 2, 800, 15))
        .expect(SLOW, data.forwarded())
        .expect(SLOW, half(data, 3, 600, 5))
        .expect_forwarded(SLOW, &[data; 3])
        .count("reports_sent", TO_RECEIVER, 3)
        .end(
            "ipv6_report_to_receiver",
            "scheduled IPv6 data above B_th is reported to its receiver, every octet right",
            &Bed { degrees: vec![25, 15, 5], ..Bed::default() },
        )
}

fn to_sender() -> Case {
    let data = Data { family: Family::V6, ..Data::unscheduled(200) };
    Story::primed()
        .send(1, &[data; 6])
        .expect_forwarded(SLOW, &[data; 6])
        .expect(1, half(data, 1, 1000, 25))
        .expect(1, half(data, 2, 800, 15))
        .expect(1, half(data, 3, 600, 5))
        .count("reports_sent", TO_SENDER, 3)
        .end(
            "ipv6_report_to_sender",
            "unscheduled IPv6 data above B_th is reported to its sender, every octet right",
            &Bed { degrees: vec![25, 15, 5], ..Bed::default() },
        )
}

/// IPv4 and IPv6 in turn: 1000, 800, 600 behind; of the three above `B_th` one is IPv6.
fn no_address() -> Case {
    let four = Data::unscheduled(200);
    let six = Data { family: Family::V6, ..four };
    Story::primed()
        .send(1, &[four, six, four, six, four, six])
        .expect_forwarded(SLOW, &[four, six, four, six, four, six])
        .expect(1, half(four, 1, 1000, 25))
        .expect(1, half(four, 2, 600, 5))
        .count("reports_sent", TO_SENDER, 2)
        .end(
            "ipv6_needs_an_address",
            "a reporter without an IPv6 address reports about IPv4 alone",
            &Bed { reporter_ipv6: 0, degrees: vec![25, 15, 5], ..Bed::default() },
        )
}
