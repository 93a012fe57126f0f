//! Lengths that disagree, and headers that would reach beyond their packet: Ethernet pads, so a frame may be longer.

use super::forwarding::readdressed;
use super::lost_reports::protocol;
use super::{Bed, CORRUPTION, NOT_ROUTED, Story};
use crate::case::Case;
use crate::entries;
use crate::frames::{Advice, Data, Sum, host_address_6, renew_ip_checksum};

pub(super) fn cases() -> Vec<Case> {
    vec![ipv4_lengths(), ipv6_lengths(), padding(), sources()]
}

/// To host 4, which is behind an idle port: 100 octets, 86 of them IPv4.
fn four() -> Data {
    Data { dst: 4, ports: (50000, 7), sum: Sum::Zero, ..Data::scheduled(100) }
}

/// Another length of the IPv4 packet; what is beyond it is padding.
fn ip_length(mut frame: Vec<u8>, octets: u8) -> Vec<u8> {
    frame[16..18].copy_from_slice(&[0, octets]);
    renew_ip_checksum(&mut frame);
    frame
}

/// Another UDP length in an IPv4 frame.
fn udp_length(mut frame: Vec<u8>, octets: u8) -> Vec<u8> {
    frame[38..40].copy_from_slice(&[0, octets]);
    frame
}

/// The first fragment of a datagram that has more of them.
fn first_fragment(mut frame: Vec<u8>) -> Vec<u8> {
    frame[20] |= 0x20;
    renew_ip_checksum(&mut frame);
    frame
}

/// Both sides of every limit: a datagram longer than its packet and shorter than its header, one that leaves a part of its packet
/// (RFC 9868), half a UDP or TCP header in the packet and the rest in the padding, in a fragment too.
fn ipv4_lengths() -> Case {
    type Change = fn(Vec<u8>) -> Vec<u8>;
    let refused: [Change; 7] = [
        |frame| udp_length(frame, 67),
        |frame| udp_length(frame, 7),
        |frame| udp_length(frame, 0),
        |frame| udp_length(ip_length(frame, 27), 7),
        |frame| ip_length(frame, 27),
        |frame| ip_length(protocol(frame, 6), 39),
        |frame| first_fragment(ip_length(frame, 27)),
    ];
    let passing: [Change; 6] = [
        |frame| udp_length(frame, 66),
        |frame| udp_length(frame, 65),
        |frame| udp_length(frame, 8),
        |frame| udp_length(ip_length(frame, 28), 8),
        |frame| ip_length(protocol(frame, 6), 40),
        |frame| first_fragment(ip_length(frame, 28)),
    ];
    // The payload is a TCP header's thirteenth octet too: five words.
    let data = Data { mark: 0x50, ..four() };
    let sent = refused.iter().chain(&passing).map(|change| change(data.sent())).collect();
    Story::new()
        .send_octets(1, sent)
        .expect_all(4, passing.map(|change| change(data.forwarded())).into())
        .count("drops", CORRUPTION, 7)
        .end(
            "malformed_ipv4_lengths",
            "no UDP or TCP header, and no datagram, reaches beyond the length of its IPv4 packet",
            &Bed::default(),
        )
}

/// Another payload length of an IPv6 frame.
fn payload_length(mut frame: Vec<u8>, octets: u8) -> Vec<u8> {
    frame[18..20].copy_from_slice(&[0, octets]);
    frame
}

/// An extension header of so many octets in place of the first ones of the payload.
fn extension(mut frame: Vec<u8>, header: u8, next: u8, octets: u8) -> Vec<u8> {
    frame[20] = header;
    // Padding up to the end, in options of six octets and then eight.
    frame[54..62].copy_from_slice(&[next, octets / 8 - 1, 1, 4, 0, 0, 0, 0]);
    for place in (8..usize::from(octets)).step_by(8) {
        frame[54 + place..62 + place].copy_from_slice(&[1, 6, 0, 0, 0, 0, 0, 0]);
    }
    frame
}

/// The same for IPv6, 46 octets of payload. Protocol 59 is nothing.
fn ipv6_lengths() -> Case {
    type Change = fn(Vec<u8>) -> Vec<u8>;
    const NOTHING: u8 = 59;
    let refused: [Change; 8] = [
        |frame| payload_length(frame, 45),
        |frame| payload_length(frame, 7),
        |frame| payload_length(frame, 0),
        |frame| payload_length(extension(frame, 0, NOTHING, 8), 7),
        |frame| payload_length(extension(frame, 0, NOTHING, 24), 23),
        |frame| payload_length(extension(frame, 60, NOTHING, 16), 15),
        |frame| payload_length(extension(frame, 44, NOTHING, 8), 7),
        |frame| payload_length(extension(frame, 0, 17, 8), 15),
    ];
    let passing: [Change; 5] = [
        |frame| payload_length(frame, 46),
        |frame| payload_length(extension(frame, 0, NOTHING, 8), 8),
        |frame| payload_length(extension(frame, 0, NOTHING, 24), 24),
        |frame| payload_length(extension(frame, 60, NOTHING, 16), 16),
        |frame| payload_length(extension(frame, 44, NOTHING, 8), 8),
    ];
    let data = four().v6();
    let sent = refused.iter().chain(&passing).map(|change| change(data.sent())).collect();
    Story::new()
        .send_octets(1, sent)
        .expect_all(4, passing.map(|change| change(data.forwarded())).into())
        .count("drops", CORRUPTION, 8)
        .end(
            "malformed_ipv6_lengths",
            "no extension header and no datagram reaches beyond the length of its IPv6 packet",
            &Bed::default(),
        )
}

/// What stands in the padding is no part of the packet: behind a datagram of nothing, what looks like a BTH makes no RoCEv2
/// packet, and behind a BTH that says so, what looks like a Rate Signal makes none. The first isn't advised about, the
/// second is, and its rate isn't written.
fn padding() -> Case {
    let data = Data { dst: 4, sum: Sum::Zero, ..Data::roce(100, 7, 1).rate(0) };
    let nothing = |frame| udp_length(ip_length(frame, 28), 8);
    let no_signal = |frame| udp_length(ip_length(frame, 44), 24);
    let more = vec![
        entries::rate_advice(0, 0),
        entries::source_rate(0, (0, 0), 5),
        entries::rate_signal(0xab, 0),
        entries::qp_rate(entries::mapped([10, 0, 0, 4]), 7, 500),
    ];
    Story::new()
        .send_octets(1, vec![nothing(data.sent())])
        .expect(4, nothing(data.forwarded()))
        .settle()
        .send_octets(1, vec![no_signal(data.sent())])
        .expect(4, no_signal(data.forwarded()))
        .expect(1, Advice { about: data, rate: 5 }.frame())
        .count("reports_sent", super::cell(3, 4, 0), 1)
        .end(
            "malformed_padding",
            "neither a BTH nor a Rate Signal is read from the padding of a frame",
            &Bed::with(&[], more),
        )
}

/// An IPv4 frame with another source and, if it is named, another destination.
fn from_to(mut frame: Vec<u8>, source: [u8; 4], destination: Option<[u8; 4]>) -> Vec<u8> {
    frame[26..30].copy_from_slice(&source);
    if let Some(destination) = destination {
        frame[30..34].copy_from_slice(&destination);
    }
    renew_ip_checksum(&mut frame);
    frame
}

/// Sources that nobody has, and those beside them. What DHCP and neighbour discovery send from an unspecified source goes to
/// all or to a group: it is left to the hosts, as all of that is.
fn sources() -> Case {
    let four = four();
    let six = four.v6();
    let to_4 = |frame, source| readdressed(frame, [source, host_address_6(4)]);
    let refused_4 = [[224, 0, 0, 1], [240, 0, 0, 1], [255; 4], [0; 4], [0, 255, 255, 255], [127, 0, 0, 1]];
    let refused_6 = [0, 1, 0xff02 << 112 | 1, 0xff << 120];
    let passing_4 = [[223, 255, 255, 255], [1, 0, 0, 0], [126, 255, 255, 255], [128, 0, 0, 0]];
    let passing_6 = [2, 1 << 127, 0xfdff << 112 | 1];
    let dhcp = from_to(four.sent(), [0; 4], Some([255; 4]));
    let solicited = 0xff02 << 112 | 1 << 32 | 0xff00_0004_u128;
    let neighbour = readdressed(six.sent(), [0, solicited]);
    let refused = refused_4.map(|source| from_to(four.sent(), source, None)).to_vec();
    let refused_6 = refused_6.map(|source| to_4(six.sent(), source)).to_vec();
    let passing = |frame_4: Vec<u8>, frame_6: Vec<u8>| {
        let v4 = passing_4.map(|source| from_to(frame_4.clone(), source, None));
        [v4.to_vec(), passing_6.map(|source| to_4(frame_6.clone(), source)).to_vec()].concat()
    };
    let sent = passing(four.sent(), six.sent());
    Story::new()
        .send_octets(1, [refused, refused_6, vec![dhcp, neighbour], sent].concat())
        .expect_all(4, passing(four.forwarded(), six.forwarded()))
        .count("drops", CORRUPTION, 10)
        .count("drops", NOT_ROUTED, 2)
        .end(
            "malformed_sources",
            "a packet from an address that is nobody's (a group, unspecified, loopback) isn't forwarded",
            &Bed::default(),
        )
}
