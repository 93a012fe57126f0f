//! What is forwarded, where to, and what is refused.

use super::{Bed, Story};
use crate::case::Case;
use crate::entries;
use crate::frames::{Data, REPORTER_ID, host_address, host_address_6, renew_ip_checksum};
use crate::setup::{Call, Entry};

pub(super) fn cases() -> Vec<Case> {
    vec![refused(), refused_ipv6(), equal_paths(false), equal_paths(true)]
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
        .count("drops", 4 << 12 | 1 << 3, 2)
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
    let mut long_options = good.sent();
    long_options[20] = 0;
    long_options[54..56].copy_from_slice(&[17, 32]);
    let mut routed = good.forwarded();
    routed[20] = 0;
    routed[54..56].copy_from_slice(&[17, 32]);
    let refused = vec![no_route, expired, cut, version_4, half_a_header, no_options];
    Story::new()
        .send_octets(1, [refused, vec![last_hop.sent(), long_options]].concat())
        .expect(4, last_hop.forwarded())
        .expect(4, routed)
        .count("drops", 4 << 12 | 1 << 3, 1)
        .count("drops", 5 << 12 | 1 << 3, 1)
        .count("drops", 2 << 12 | 1 << 3, 4)
        .end(
            "refused_ipv6_packets",
            "no route, hop limit, corruption: dropped and counted by cause, for IPv6 too",
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
