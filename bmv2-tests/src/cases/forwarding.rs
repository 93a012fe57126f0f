//! What is forwarded, where to, and what is refused.

use super::{Bed, Story};
use crate::case::Case;
use crate::entries;
use crate::frames::{Data, REPORTER_ID, host_address, renew_ip_checksum};
use crate::setup::{Call, Entry};

pub(super) fn cases() -> Vec<Case> {
    vec![refused(), equal_paths()]
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
    renew_ip_checksum_with_options(&mut options);
    let mut not_ip = good.sent();
    not_ip[12..14].copy_from_slice(&[0x88, 0xb5]);
    let mut version_6 = good.sent();
    version_6[14] = 0x65;
    renew_ip_checksum(&mut version_6);
    let mut half_a_header = good.sent();
    half_a_header.truncate(30);
    Story::new()
        .send_octets(1, vec![no_route, expired, bad_checksum, cut, options, not_ip, version_6, half_a_header])
        .count("drops", 4 << 12 | 1 << 3, 2)
        .count("drops", 5 << 12 | 1 << 3, 1)
        .count("drops", 2 << 12 | 1 << 3, 4)
        .count("drops", 3 << 12 | 1 << 3, 1)
        .end(
            "refused_packets",
            "no route, TTL, corruption and IPv4 options: dropped and counted by cause",
            &Bed::default(),
        )
}

/// The checksum of a header of six words.
fn renew_ip_checksum_with_options(frame: &mut [u8]) {
    renew_ip_checksum(frame);
    let four = |frame: &[u8], at: usize| u32::from(frame[at]) << 8 | u32::from(frame[at + 1]);
    let mut sum = u32::from(!(u16::try_from(four(frame, 24)).unwrap_or_default()));
    sum += four(frame, 34) + four(frame, 36);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    frame[24..26].copy_from_slice(&(!u16::try_from(sum).unwrap_or_default()).to_be_bytes());
}

/// Sixteen flows to 10.0.0.9, which is behind ports 3 and 4 alike.
fn equal_paths() -> Case {
    let group = Entry::Group { profile: "ecmp".to_owned(), id: 1, members: vec![3, 4] };
    let route = entries::route(host_address(9), Call::Group(1));
    let flows: Vec<Data> =
        (0..16).map(|flow| Data { dst: 9, ports: (50000 + flow, 4791), ..Data::scheduled(100) }).collect();
    let mut story = Story::new().send(1, &flows);
    for flow in &flows {
        let port = 3 + path(flow, 2);
        let mut frame = flow.forwarded();
        // The next hop isn't the destination.
        frame[5] = u8::try_from(port).unwrap_or_default();
        story = story.expect(port, frame);
    }
    story.end(
        "equal_paths_by_flow",
        "a flow keeps to one of equal paths, chosen by its hash and the switch's own number",
        &Bed { more: vec![group, route], ..Bed::default() },
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
