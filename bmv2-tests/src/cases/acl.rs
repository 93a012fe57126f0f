//! The ACL and fragments. What it refuses is reported in `path_reports`.

use super::trust::{extended, fragment};
use super::{Bed, POLICY, Story};
use crate::case::Case;
use crate::entries;
use crate::frames::{Data, NO_ROLE};

pub(super) fn cases() -> Vec<Case> {
    vec![fragments()]
}

const UDP: u8 = 17;
const SCTP: u128 = 132;
/// The next header of an IPv6 Fragment header.
const FRAGMENT: u128 = 44;

/// A fragment of an IPv6 datagram of this protocol: the first one, of one that has more, or a later one.
fn fragment_6(frame: Vec<u8>, first: bool, protocol: u8) -> Vec<u8> {
    let offset = if first { 1 } else { 0x60 };
    let mut frame = extended(frame, 44, [0, 0, 0, offset, 0, 0, 0, 9]);
    frame[54] = protocol;
    frame
}

/// The ACL knows a fragment by what is in its datagram, in both families, and by no ports: UDP is refused, whatever its port, and
/// SCTP isn't. 44 is no protocol that an IPv6 packet has.
fn fragments() -> Case {
    let data = Data { dst: 4, dscp: NO_ROLE, ..Data::scheduled(120) };
    let six = |frame: fn(&Data) -> Vec<u8>| {
        let all = [(true, UDP), (false, UDP), (true, 132), (false, 132)];
        all.map(|(first, protocol)| fragment_6(frame(&data.v6()), first, protocol)).to_vec()
    };
    let four = vec![fragment(data.sent(), 0, true), fragment(data.sent(), 96, false)];
    let by_port = vec![entries::whole("protocol", SCTP, 8), entries::whole("dst_port", 4791, 16)];
    let more = vec![
        entries::deny(1, vec![entries::whole("protocol", UDP.into(), 8), entries::whole("dst_port", 0, 16)]),
        entries::deny(2, vec![entries::whole("protocol", FRAGMENT, 8)]),
        entries::deny(3, by_port),
    ];
    Story::new()
        .send_octets(1, [four, six(Data::sent)].concat())
        .expect_all(4, six(Data::forwarded)[2..].to_vec())
        .count("drops", POLICY, 4)
        .end(
            "acl_fragments",
            "a fragment has its datagram's protocol and no ports, over IPv6 as over IPv4",
            &Bed::with(&[], more),
        )
}
