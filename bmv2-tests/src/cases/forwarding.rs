//! What is forwarded, where to, and what is refused.

use super::{Bed, CORRUPTION, NOT_ROUTED, Story};
use crate::case::Case;
use crate::entries;
use crate::frames::{Data, REPORTER_ID, Sum, host_address, host_address_6, renew_ip_checksum};
use crate::setup::{Call, Entry};

pub(super) fn cases() -> Vec<Case> {
    vec![
        refused(),
        refused_ipv6(),
        left_to_the_hosts(),
        group_frames(),
        equal_paths(false),
        equal_paths(true),
    ]
}

/// One packet for each reason, and the cell of `drops` that it must be counted in (cause << 12 | port 1 << 3).
fn refused() -> Case {
    let good = Data::scheduled(100);
    let no_route = Data { dst: 99, ..good }.sent();
    let expired = Data { ttl: 1, ..good }.sent();
    let mut bad_checksum = good.sent();
    bad_checksum[24] ^= 0x40;
    let mut cut = good.sent();
    cut.truncate(80);
    let mut options = good.sent();
    options[14] = 0x46;
    renew_ip_checksum(&mut options);
    let mut not_ip = good.sent();
    not_ip[12..14].copy_from_slice(&[0x88, 0xb5]);
    let mut version_6 = good.sent();
    version_6[14] = 0x65;
    renew_ip_checksum(&mut version_6);
    let mut half_a_header = good.sent();
    half_a_header.truncate(30);
    // A packet of nothing but its header passes, one octet less is none.
    let bare = |mut frame: Vec<u8>, octets: u8| {
        frame[16..18].copy_from_slice(&[0, octets]);
        frame[23] = 253;
        renew_ip_checksum(&mut frame);
        frame
    };
    let shorter = bare(good.sent(), 19);
    let to_four = Data { dst: 4, ..good };
    let refused = [no_route, expired, bad_checksum, cut, options, not_ip, version_6, half_a_header, shorter];
    Story::new()
        .send_octets(1, [refused.to_vec(), vec![bare(to_four.sent(), 20)]].concat())
        .expect(4, bare(to_four.forwarded(), 20))
        .count("drops", 4 << 12 | 1 << 3, 1)
        .count("drops", NOT_ROUTED, 1)
        .count("drops", 5 << 12 | 1 << 3, 1)
        .count("drops", 2 << 12 | 1 << 3, 5)
        .count("drops", 3 << 12 | 1 << 3, 1)
        .end(
            "refused_packets",
            "no route, TTL, corruption and IPv4 options: dropped and counted by cause",
            &Bed::default(),
        )
}

/// The same for IPv6: no route, hop limit, a packet longer than its frame, another version, half a header, an options
/// header that isn't there, and one longer than any that is looked into, which is routed by its addresses.
fn refused_ipv6() -> Case {
    let good = Data { dst: 4, ..Data::scheduled(100) }.v6();
    let no_route = Data { dst: 99, ..good }.sent();
    let expired = Data { ttl: 1, ..good }.sent();
    let mut cut = good.sent();
    cut.truncate(90);
    let mut version_4 = good.sent();
    version_4[14] = 0x46;
    let mut half_a_header = good.sent();
    half_a_header.truncate(40);
    let mut no_options = good.sent();
    no_options[18..21].copy_from_slice(&[0, 0, 0]);
    no_options.truncate(54);
    let last_hop = Data { ttl: 2, ..good };
    // 33 units of eight octets, in a packet that has as many and in one that hasn't.
    let optional = |mut frame: Vec<u8>| {
        frame[20] = 0;
        frame[54..56].copy_from_slice(&[17, 32]);
        frame
    };
    let long = Data { octets: 14 + 40 + 264, ..good };
    let too_long = optional(Data { octets: 14 + 40 + 263, ..good }.sent());
    let refused = vec![no_route, expired, cut, version_4, half_a_header, no_options, too_long];
    Story::new()
        .send_octets(1, [refused, vec![last_hop.sent(), optional(long.sent())]].concat())
        .expect(4, last_hop.forwarded())
        .expect(4, optional(long.forwarded()))
        .count("drops", 4 << 12 | 1 << 3, 1)
        .count("drops", 5 << 12 | 1 << 3, 1)
        .count("drops", 2 << 12 | 1 << 3, 5)
        .end(
            "refused_ipv6_packets",
            "no route, hop limit, corruption: dropped and counted by cause, for IPv6 too",
            &Bed::default(),
        )
}

/// A frame to another MAC address, whatever is in it.
fn to_mac(mut frame: Vec<u8>, address: [u8; 6]) -> Vec<u8> {
    frame[..6].copy_from_slice(&address);
    frame
}

/// Frames to a MAC address of a group.
fn to_group(frame: Vec<u8>) -> Vec<u8> {
    to_mac(frame, [0x33, 0x33, 0, 0, 0, 1])
}

/// An IPv6 frame with other addresses: source, destination.
pub(super) fn readdressed(mut frame: Vec<u8>, [source, destination]: [u128; 2]) -> Vec<u8> {
    frame[22..38].copy_from_slice(&source.to_be_bytes());
    frame[38..54].copy_from_slice(&destination.to_be_bytes());
    frame
}

/// An IPv4 frame to another address.
fn to_address(mut frame: Vec<u8>, address: [u8; 4]) -> Vec<u8> {
    frame[30..34].copy_from_slice(&address);
    renew_ip_checksum(&mut frame);
    frame
}

/// ARP, neighbour discovery, multicast of both families and what may not leave its link, although a default route leads
/// everything to port 4; and the addresses beside them, which are routed.
fn left_to_the_hosts() -> Case {
    let four = Data { dst: 4, sum: Sum::Zero, ..Data::scheduled(100) };
    let six = four.v6();
    let mut arp = four.sent();
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    let solicited = 0xff02 << 112 | 1 << 32 | 0xff00_0004_u128;
    let mut neighbour = to_group(readdressed(six.sent(), [host_address_6(1), solicited]));
    neighbour[20] = 58;
    let [one, link_local] = [host_address_6(1), 0xfe80 << 112 | 4];
    let refused = vec![
        arp,
        neighbour,
        readdressed(six.sent(), [one, link_local]),
        readdressed(six.sent(), [link_local, host_address_6(4)]),
        to_address(four.sent(), [224, 0, 0, 1]),
        to_address(four.sent(), [255, 255, 255, 255]),
    ];
    let last_unicast = [223, 255, 255, 255];
    let passing = [
        (to_address(four.sent(), last_unicast), to_address(four.forwarded(), last_unicast)),
        (
            readdressed(six.sent(), [one, 0xfdff << 112 | 4]),
            readdressed(six.forwarded(), [one, 0xfdff << 112 | 4]),
        ),
    ];
    let (sent, seen): (Vec<_>, Vec<_>) = passing.into_iter().unzip();
    let every = |table: &str| Entry::Table {
        table: table.to_owned(),
        key: Vec::new(),
        call: Call::Member(4),
        priority: 0,
    };
    Story::new()
        .send_octets(1, [refused, sent].concat())
        .expect_all(4, seen)
        .count("drops", NOT_ROUTED, 6)
        .end(
            "left_to_the_hosts",
            "ARP, neighbour discovery, multicast and link-local packets aren't forwarded, whatever the routes say",
            &Bed::with(&[], vec![every("ipv4_route"), every("ipv6_route")]),
        )
}

/// Unicast packets in frames to all and to groups aren't forwarded: the group's address would become the source of the next
/// frame. A malformed one is malformed all the same. An address that only looks like a group's is a router's.
fn group_frames() -> Case {
    let four = Data { dst: 4, ..Data::scheduled(100) };
    let frames = [four.sent(), four.v6().sent(), Data { vlan: Some(5), ..four }.sent()];
    let groups = [[0xff; 6], [0x01, 0x00, 0x5e, 0, 0, 4], [0x33, 0x33, 0, 0, 0, 4]];
    let refused: Vec<_> =
        groups.into_iter().flat_map(|group| frames.clone().map(|frame| to_mac(frame, group))).collect();
    let mut malformed = to_mac(four.sent(), [0xff; 6]);
    malformed[24] ^= 0x40;
    // The lowest bit of the first octet alone says "group".
    let alone = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff];
    let mut passing = four.forwarded();
    passing[6..12].copy_from_slice(&alone);
    Story::new()
        .send_octets(1, [refused, vec![malformed, to_mac(four.sent(), alone)]].concat())
        .expect(4, passing)
        .count("drops", NOT_ROUTED, 9)
        .count("drops", CORRUPTION, 1)
        .end(
            "group_frames",
            "a unicast packet in a frame to a group isn't forwarded, and no group becomes the source of a frame",
            &Bed::default(),
        )
}

/// Sixteen flows to host 9, which is behind ports 3 and 4 alike.
fn equal_paths(ipv6: bool) -> Case {
    let group = Entry::Group { profile: "ecmp".to_owned(), id: 1, members: vec![3, 4] };
    let routes = [
        entries::route(host_address(9), Call::Group(1)),
        entries::route_6(host_address_6(9), Call::Group(1)),
    ];
    let data = if ipv6 { Data::scheduled(100).v6() } else { Data::scheduled(100) };
    let flows: Vec<Data> = (0..16).map(|flow| Data { dst: 9, ports: (50000 + flow, 4791), ..data }).collect();
    let mut story = Story::new().send(1, &flows);
    for flow in &flows {
        let port = 3 + path(flow, 2);
        let mut frame = flow.forwarded();
        // The next hop isn't the destination.
        frame[5] = u8::try_from(port).unwrap_or_default();
        story = story.expect(port, frame);
    }
    story.end(
        if ipv6 { "equal_paths_by_flow_ipv6" } else { "equal_paths_by_flow" },
        "a flow keeps to one of equal paths, chosen by its hash and the switch's own number",
        &Bed::with(&[], [&[group], &routes[..]].concat()),
    )
}

/// BMv2's choice among the members of a group: CRC-16 of the selector's input, modulo their number.
fn path(flow: &Data, members: u16) -> u16 {
    let mixed = (flow.flow_hash() ^ REPORTER_ID.wrapping_mul(0x85EB_CA6B)).wrapping_mul(0x9E37_79B1);
    let input = u16::try_from(mixed >> 16).unwrap_or_default();
    crc16(&input.to_be_bytes()) % members
}

/// CRC-16 as v1model's `crc16`: reflected polynomial 0xA001, initial value 0.
fn crc16(octets: &[u8]) -> u16 {
    octets.iter().fold(0, |crc, &octet| {
        (0..8).fold(crc ^ u16::from(octet), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xa001 } else { crc >> 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of CRC-16/ARC.
    #[test]
    fn crc16_check_value() {
        assert_eq!(crc16(b"123456789"), 0xbb3d);
    }
}
