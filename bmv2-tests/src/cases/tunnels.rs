//! Data in tunnels: its addresses aren't those of the flow, and what is inside may not be routed here.

use super::bed::SLOW;
use super::lost_reports::protocol;
use super::reports::series;
use super::{Bed, CONGESTION, Story, TO_SENDER, TUNNELLED};
use crate::case::Case;
use crate::entries;
use crate::frames::{Data, NO_ROLE};

pub(super) fn cases() -> Vec<Case> {
    vec![ipv4(), ipv6(), refused()]
}

const VXLAN: u16 = 4789;
const GENEVE: u16 = 6081;
const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const ROUTING: u8 = 43;
const HOP_BY_HOP: u8 = 0;

/// What is made of a frame before it is sent or expected.
type Change = fn(Vec<u8>) -> Vec<u8>;

/// Another next header in an IPv6 frame.
fn next_header(mut frame: Vec<u8>, header: u8) -> Vec<u8> {
    frame[20] = header;
    frame
}

/// Eight octets that are a header of their own before what the frame carries; so many octets of payload less.
fn behind(frame: Vec<u8>, outer: u8, inner: u8) -> Vec<u8> {
    let mut frame = next_header(frame, outer);
    // PadN, or a routing header without segments left.
    frame[54..62].copy_from_slice(&[inner, 0, 1, 0, 0, 0, 0, 0]);
    frame
}

/// Seven frames in the slow queue: 1200, 1000, 800, 600, 400, 200 and 0 behind. The first four are above `B_th`: two of the three
/// in tunnels have a role, the other isn't RDCC's business, and the fourth is reported about.
fn story(data: Data, tunnels: [(Data, Change); 3], flows: u32) -> Story {
    let [one, two, without] = tunnels;
    let none = (Data { dscp: NO_ROLE, ..without.0 }, without.1);
    let plain: (Data, Change) = (data, |frame| frame);
    let all = [one, two, none, plain, plain, plain, plain];
    Story::primed()
        .send_octets(1, all.iter().map(|(data, change)| change(data.sent())).collect())
        .expect_all(SLOW, all.iter().map(|(data, change)| change(data.forwarded())).collect())
        .expect_all(1, series(data, 1000 / flows, &[(600, 5)]))
        .count("reports_sent", TO_SENDER, 1)
        .count("reports_suppressed", TUNNELLED, 2)
}

/// VXLAN, IPv4 in IPv4, Geneve without a role. Each is a flow beside the data's.
fn ipv4() -> Case {
    let data = Data::unscheduled(200);
    let to = |port| Data { ports: (50000, port), ..data };
    let tunnels: [(Data, Change); 3] = [
        (Data { dscp: 26, ..to(VXLAN) }, |frame| frame),
        (data, |frame| protocol(frame, IPV4)),
        (to(GENEVE), |frame| frame),
    ];
    story(data, tunnels, 4).end(
        "tunnels_over_ipv4",
        "data in a tunnel over IPv4 isn't reported about; what has a role is counted",
        &Bed::with(&[5], Vec::new()),
    )
}

/// `SRv6`, IPv6 in IPv6 behind a Hop-by-Hop header, IPv4 in IPv6 without a role; the primer's flow is IPv4's.
fn ipv6() -> Case {
    let data = Data::unscheduled(200).v6();
    let tunnels: [(Data, Change); 3] = [
        (data, |frame| behind(frame, ROUTING, IPV6)),
        (data, |frame| behind(frame, HOP_BY_HOP, IPV6)),
        (data, |frame| next_header(frame, IPV4)),
    ];
    story(data, tunnels, 5).end(
        "tunnels_over_ipv6",
        "data in a tunnel over IPv6, SRv6 among them, isn't reported about; what has a role is counted",
        &Bed::with(&[5], Vec::new()),
    )
}

/// Refused by octet admission: nobody is told, what has a role is counted.
fn refused() -> Case {
    let long = Data::unscheduled(1400);
    let vxlan = Data { ports: (50000, VXLAN), ..long };
    let gre = protocol(long.sent(), GRE);
    let none = Data { dscp: NO_ROLE, ..vxlan };
    Story::new()
        .send_octets(1, vec![vxlan.sent(), gre, none.sent(), vxlan.v6().sent()])
        .count("drops", CONGESTION, 4)
        .count("reports_suppressed", TUNNELLED, 3)
        .end(
            "tunnels_refused",
            "drops of data in tunnels aren't reported either; those of a role are counted",
            &Bed { b_th: 900, q_max: 1000, more: vec![entries::path_report(0)], ..Bed::default() },
        )
}
