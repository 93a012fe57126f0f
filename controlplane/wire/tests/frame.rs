//! Frames whose payload is partly or wholly only counted.

use core::net::Ipv4Addr;

use proptest::prelude::*;
use wire::frame::{Datagram, Ecn, FrameError, HEADERS_OCTETS, MAX_PAYLOAD_OCTETS, UdpChecksum, parse};

const DATAGRAM: Datagram = Datagram {
    source_mac: [2, 0, 0, 0, 0, 1],
    destination_mac: [2, 0, 0, 0, 0, 2],
    source: Ipv4Addr::new(10, 0, 0, 1),
    destination: Ipv4Addr::new(10, 0, 0, 9),
    source_port: 49_200,
    destination_port: 4791,
    dscp: 26,
    ecn: Ecn::Ect0,
    time_to_live: 64,
    identification: 0x1234,
};

/// The checksums are sums apart from this crate: RFC 1071 over the header, and over pseudo header, header and payload.
#[test]
fn headers_are_laid_out_as_the_rfcs_say() {
    let frame = DATAGRAM.frame(&[0xab, 0xcd, 0xef], 0, UdpChecksum::Computed).unwrap();
    let expected = [
        0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, // Ethernet
        0x45, 0x6a, 0x00, 0x1f, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, // IPv4
        0x14, 0x27, 0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x09, //
        0xc0, 0x30, 0x12, 0xb7, 0x00, 0x0b, 0x7e, 0x18, // UDP
        0xab, 0xcd, 0xef,
    ];
    assert_eq!(frame, expected);
}

#[test]
fn a_payload_that_is_only_counted_gives_the_same_headers_as_zeros() {
    for checksum in [UdpChecksum::Zero, UdpChecksum::Computed] {
        for head in [&[][..], &[1, 2, 3], &[1, 2, 3, 4]] {
            let counted = DATAGRAM.frame(head, 4101, checksum).unwrap();
            let mut payload = head.to_vec();
            payload.resize(head.len() + 4101, 0);
            let written = DATAGRAM.frame(&payload, 0, checksum).unwrap();
            assert_eq!(counted, written[..counted.len()]);

            let short = parse(&counted).unwrap();
            let whole = parse(&written).unwrap();
            assert_eq!(short.payload_octets, head.len() + 4101);
            assert_eq!(short.payload_head, head);
            assert_eq!((whole.payload_octets, whole.datagram), (short.payload_octets, short.datagram));
        }
    }
}

#[test]
fn values_that_headers_cannot_carry_are_refused() {
    let frame = |octets| DATAGRAM.frame(&[0], octets, UdpChecksum::Zero).map(|frame| frame.len());
    assert_eq!(frame(MAX_PAYLOAD_OCTETS - 1), Ok(HEADERS_OCTETS + 1));
    let octets = MAX_PAYLOAD_OCTETS + 1;
    assert_eq!(frame(MAX_PAYLOAD_OCTETS), Err(FrameError::PayloadTooLarge { octets }));
    assert_eq!(frame(usize::MAX), Err(FrameError::PayloadTooLarge { octets: usize::MAX }));
    let bad = Datagram { dscp: 64, ..DATAGRAM };
    assert_eq!(bad.frame(&[], 0, UdpChecksum::Zero), Err(FrameError::Dscp { dscp: 64 }));
}

/// The IPv4 checksum corrected, so that the next fault shows.
fn corrected(mut frame: Vec<u8>) -> Vec<u8> {
    if let Err(FrameError::Ipv4Checksum { expected, .. }) = parse(&frame) {
        frame[24..26].copy_from_slice(&expected.to_be_bytes());
    }
    frame
}

#[test]
fn each_malformed_frame_is_refused_for_its_own_reason() {
    let frame = DATAGRAM.frame(&[7; 10], 0, UdpChecksum::Computed).unwrap();
    let changed = |offset: usize, value: u8| {
        let mut frame = frame.clone();
        frame[offset] = value;
        frame
    };
    assert_eq!(parse(&changed(12, 0x86)), Err(FrameError::NotIpv4 { ether_type: 0x8600 }));
    assert_eq!(parse(&changed(14, 0x44)), Err(FrameError::Ipv4Header { octet: 0x44 }));
    assert_eq!(parse(&changed(14, 0x65)), Err(FrameError::Ipv4Header { octet: 0x65 }));
    assert!(matches!(parse(&changed(22, 63)), Err(FrameError::Ipv4Checksum { .. })));
    assert_eq!(parse(&corrected(changed(23, 6))), Err(FrameError::NotUdp { protocol: 6 }));
    assert_eq!(parse(&corrected(changed(21, 1))), Err(FrameError::Fragment));
    assert_eq!(
        parse(&corrected(changed(17, 37))),
        Err(FrameError::UdpLength { offset: 38, length: 18, expected: 17 })
    );
    assert!(matches!(parse(&changed(50, 0)), Err(FrameError::UdpChecksum { offset: 40, .. })));
    let mut padded = frame.clone();
    padded.extend_from_slice(&[0xee; 8]);
    assert_eq!(parse(&padded), parse(&frame), "Ethernet's padding is not payload");
}

proptest! {
    #[test]
    fn every_datagram_comes_back(
        macs in any::<[[u8; 6]; 2]>(), addresses in any::<[u32; 2]>(), ports in any::<[u16; 2]>(), dscp in 0u8..64,
        ecn in 0usize..4, time_to_live in any::<u8>(), identification in any::<u16>(),
        payload in prop::collection::vec(any::<u8>(), 0..64), zeros in 0usize..5000, computed in any::<bool>(),
    ) {
        let datagram = Datagram {
            source_mac: macs[0],
            destination_mac: macs[1],
            source: Ipv4Addr::from(addresses[0]),
            destination: Ipv4Addr::from(addresses[1]),
            source_port: ports[0],
            destination_port: ports[1],
            dscp,
            ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][ecn],
            time_to_live,
            identification,
        };
        let checksum = if computed { UdpChecksum::Computed } else { UdpChecksum::Zero };
        let frame = datagram.frame(&payload, zeros, checksum).unwrap();
        let parsed = parse(&frame).unwrap();
        prop_assert_eq!(parsed.datagram, datagram);
        prop_assert_eq!(parsed.payload_head, payload.as_slice());
        prop_assert_eq!(parsed.payload_octets, payload.len() + zeros);
    }

    #[test]
    fn no_frame_panics(start in 0usize..43, octets in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut frame = DATAGRAM.frame(&[], 0, UdpChecksum::Computed).unwrap();
        frame.truncate(start);
        frame.extend(octets);
        let _ = parse(&frame);
    }
}
