//! IPv6 data is reported over IPv6.

use super::bed::SLOW;
use super::lost_reports::protocol;
use super::reports::{SIX, series, six_degrees, six_to_receiver, six_to_sender};
use super::{Bed, CONGESTION, NO_ADDRESS, NOT_UDP, SOURCE_INVALID, Story, TO_SENDER, TUNNELLED, cell};
use crate::case::Case;
use crate::entries;
use crate::frames::{Advice, Data, Mark, NO_ROLE, PathReport, RDCC_PORT, Where};

pub(super) fn cases() -> Vec<Case> {
    vec![
        to_receiver(),
        to_sender(),
        behind_options(),
        no_address(),
        no_ipv4_address(),
        others_need_an_address(),
        no_address_comes_last(),
    ]
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

/// Data behind a Hop-by-Hop or a Destination Options header, short or long: its report has none.
fn behind_options() -> Case {
    let plain = Data::unscheduled(200).v6();
    let padding = Mark { blank: true, ..Mark::hop_by_hop(0, false, false) };
    let behind = |mark| Data { option: Some(mark), ..plain };
    let data = [
        behind(padding),
        behind(Mark { octets: 16, ..padding }),
        behind(Mark { octets: 16, within: Where::Destination, ..padding }),
        plain,
        plain,
        plain,
    ];
    Story::primed()
        .send(1, &data)
        .expect_forwarded(SLOW, &data)
        .expect_all(1, series(plain, HALF, &SIX))
        .count("reports_sent", TO_SENDER, 3)
        .end(
            "ipv6_report_without_options",
            "a report about data behind extension headers has none of them",
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
        .count("reports_suppressed", NO_ADDRESS, 1)
        .end(
            "ipv6_needs_an_address",
            "a reporter without an IPv6 address reports about IPv4 alone",
            &Bed { reporter_ipv6: 0, ..Bed::with(&six_degrees(), Vec::new()) },
        )
}

/// The other way round: of 1000, 800 and 600 the second is IPv6.
fn no_ipv4_address() -> Case {
    let four = Data::unscheduled(200);
    let mixed = [four, four.v6(), four, four.v6(), four, four.v6()];
    Story::primed()
        .send(1, &mixed)
        .expect_forwarded(SLOW, &mixed)
        .expect_all(1, series(four.v6(), HALF, &[(800, 15)]))
        .count("reports_sent", TO_SENDER, 1)
        .count("reports_suppressed", NO_ADDRESS, 2)
        .end(
            "ipv4_needs_an_address",
            "a reporter without an IPv4 address reports about IPv6 alone",
            &Bed { reporter_ipv4: [0; 4], ..Bed::with(&six_degrees(), Vec::new()) },
        )
}

/// `PATH_REPORT` and Rate Advice too, with an IPv6 address alone.
fn others_need_an_address() -> Case {
    let refused = Data::roce(1400, 7, 1);
    let advised = Data { dst: 4, ..Data::roce(120, 7, 1) };
    let more = vec![entries::path_report(0), entries::rate_advice(0, 0), entries::source_rate(0, (0, 0), 5)];
    Story::new()
        .send(1, &[refused, advised, refused.v6()])
        .expect(4, advised.forwarded())
        .expect(1, PathReport::first(refused.v6(), 1).frame())
        .settle()
        .send(1, &[advised.v6()])
        .expect(4, advised.v6().forwarded())
        .expect(1, Advice { about: advised.v6(), rate: 5 }.frame())
        .count("drops", CONGESTION, 2)
        .count("reports_sent", cell(2, 2, 0), 1)
        .count("reports_sent", cell(3, 4, 0), 1)
        .count("reports_suppressed", NO_ADDRESS, 1)
        .count("reports_suppressed", cell(7, 4, 0), 1)
        .end(
            "other_reports_need_an_address",
            "no PATH_REPORT and no Rate Advice in a family that the reporter has no address of",
            &Bed { b_th: 900, q_max: 1000, reporter_ipv4: [0; 4], more, ..Bed::default() },
        )
}

/// Without any address, 1800, 1600, ... behind: a datagram to a control port, one of another protocol, one in a tunnel and one of
/// a forged source wouldn't have been reported about anyway; only the last one above `B_th` is counted for want of an
/// address. The same for what admission refuses: a tunnel of no role, one of a role, a forged source, and RoCEv2.
fn no_address_comes_last() -> Case {
    const VXLAN: u16 = 4789;
    const SCTP: u8 = 132;
    let data = Data::unscheduled(200);
    let to = |port| Data { ports: (50000, port), ..data };
    let forged = Data { src: 3, ..data };
    let frames = |octets: fn(&Data) -> Vec<u8>| {
        let sctp = protocol(octets(&data), SCTP);
        let others = [to(VXLAN), forged, data, data, data, data];
        [vec![octets(&to(RDCC_PORT)), sctp], others.map(|data| octets(&data)).to_vec()].concat()
    };
    let long = Data::roce(6000, 7, 1);
    let vxlan = Data { ports: (50000, VXLAN), roce: None, ..long };
    let refused = [vxlan, Data { dscp: 28, ..vxlan }, Data { src: 3, ..long }, long];
    debug_assert_eq!(vxlan.dscp, NO_ROLE);
    let checked = [
        entries::path_report(0),
        entries::source_valid(1, (0, 0), false),
        entries::source_valid(1, (entries::mapped([10, 0, 0, 1]), 128), true),
    ];
    Story::primed()
        .send_octets(1, frames(Data::sent))
        .expect_all(SLOW, frames(Data::forwarded))
        .settle()
        .send(1, &refused)
        .count("drops", CONGESTION, 4)
        .count("reports_suppressed", NOT_UDP, 1)
        .count("reports_suppressed", TUNNELLED, 2)
        .count("reports_suppressed", SOURCE_INVALID, 2)
        .count("reports_suppressed", NO_ADDRESS, 2)
        .end(
            "no_address_is_the_last_cause",
            "only what would have been reported about is counted for want of an address",
            &Bed { reporter_ipv4: [0; 4], ..Bed::with(&[], checked.to_vec()) },
        )
}
