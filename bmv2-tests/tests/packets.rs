//! What the cases, the recordings and the STF files expect, read by etherparse and by the crates that endpoints use: headers,
//! lengths and checksums hold, and every report is a message that its receiver understands to the last octet.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::fs;
use std::path::Path;

use bmv2_tests::cases;
use bmv2_tests::frames::{
    CONTROL, CREM_PORT, RDCC_PORT, REPORTER_ADDRESS, REPORTER_ADDRESS_6, REPORTER_ID, ROCE_PORT, SCONE_PORT,
};
use bmv2_tests::program::CPU_PORT;
use bmv2_tests::recording::{self, Recording};
use etherparse::{NetHeaders, PacketHeaders, TransportHeader};
use softswitch::Program;
use softswitch::stf::{Step, script};
use wire::roce::{BTH_OCTETS, Bth, ICRC_OCTETS, icrc};
use wire::{crem, rdcc, scone};

/// Cases whose passing frames a host has little use for: an options header of 33 units isn't followed to UDP, and lengths
/// differ where they may.
const ODD: [&str; 3] = ["refused_ipv6_packets", "malformed_ipv4_lengths", "malformed_ipv6_lengths"];

/// What a frame turned out to be.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    congestion_reports: usize,
    path_reports: usize,
    advice: usize,
    roce: usize,
    signals: usize,
    others: usize,
}

/// An IPv6 frame's UDP checksum may not be 0 (RFC 8200), but the documents let RoCEv2 go without.
fn check(what: &str, frame: &[u8], count: &mut Count) {
    let headers = PacketHeaders::from_ethernet_slice(frame).unwrap_or_else(|error| panic!("{what}: {error}"));
    let payload = headers.payload.slice();
    let Some(TransportHeader::Udp(udp)) = headers.transport else {
        count.others += 1;
        return;
    };
    let (sum, from_reporter, dscp) = match headers.net.as_ref().unwrap() {
        NetHeaders::Ipv4(ip, _) => {
            // Not by etherparse, which drops the reserved flag.
            let begin = if frame[12..14] == [0x81, 0x00] { 18 } else { 14 };
            let words = frame[begin..begin + 20].chunks_exact(2);
            let sum: u32 = words.map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
            assert_eq!(sum % 0xffff, 0, "{what}: IPv4 checksum");
            let sum = udp.calc_checksum_ipv4_raw(ip.source, ip.destination, payload).unwrap();
            (sum, ip.source == REPORTER_ADDRESS, ip.dscp.value())
        }
        NetHeaders::Ipv6(ip, _) => {
            let sum = udp.calc_checksum_ipv6_raw(ip.source, ip.destination, payload).unwrap();
            // STF files write the reporter's address fd00::ffff.
            let sources = [REPORTER_ADDRESS_6, 0xfd00 << 112 | 0xffff].map(u128::to_be_bytes);
            (sum, sources.contains(&ip.source), ip.dscp().value())
        }
        NetHeaders::Arp(_) => return,
    };
    assert_eq!(usize::from(udp.length), 8 + payload.len(), "{what}: UDP length");
    if from_reporter {
        assert_eq!(dscp, CONTROL, "{what}");
        assert!(frame.len() <= 150, "{what}: {} octets", frame.len());
        assert_eq!(udp.checksum, sum, "{what}: a report's UDP checksum");
        return report(what, udp.destination_port, payload, count);
    }
    // STF files carry payloads of no sense with checksums that are right all the same.
    assert!(udp.checksum == 0 || udp.checksum == sum, "{what}: UDP checksum {:#06x}", udp.checksum);
    if udp.destination_port == ROCE_PORT && payload.len() >= BTH_OCTETS + ICRC_OCTETS {
        count.roce += 1;
        let bth = Bth::decode(payload).unwrap();
        if scone::signal_follows(&bth)
            && let Ok(signal) = scone::RateSignal::decode(&payload[BTH_OCTETS..])
        {
            count.signals += 1;
            let octets = signal.to_octets();
            assert_eq!(octets[..], payload[BTH_OCTETS..BTH_OCTETS + octets.len()], "{what}");
        }
        return;
    }
    count.others += 1;
}

/// A report says what its receiver reads, and nothing else.
fn report(what: &str, port: u16, payload: &[u8], count: &mut Count) {
    match port {
        RDCC_PORT => {
            let (header, message) = rdcc::decode(payload).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(message.to_octets(&header), payload, "{what}");
            let rdcc::Message::CongestionReport(report) = message else { panic!("{what}: {message:?}") };
            assert_eq!(report.reporter_id, REPORTER_ID, "{what}");
            assert!(report.queue_depth > report.queue_threshold, "{what}: {report:?}");
            assert_eq!(payload.len(), if report.flow.af() == 4 { 48 } else { 72 }, "{what}");
            count.congestion_reports += 1;
        }
        CREM_PORT => {
            let (header, message) = crem::decode(payload).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(message.to_octets(&header), payload, "{what}");
            let crem::Message::PathReport(report) = message else { panic!("{what}: {message:?}") };
            assert_eq!(report.method, crem::Method::NODE_LOCAL, "{what}");
            let [hop] = &report.entries[..] else { panic!("{what}: {report:?}") };
            assert_eq!(hop.node_id, REPORTER_ID, "{what}");
            assert!(hop.psns.len() <= 5 && hop.lost as usize >= hop.psns.len(), "{what}: {hop:?}");
            count.path_reports += 1;
        }
        SCONE_PORT => {
            let advice = scone::RateAdvice::decode(payload).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(advice.to_octets(), payload, "{what}");
            assert_ne!(advice.rate.0, 0, "{what}: no rate");
            count.advice += 1;
        }
        other => panic!("{what}: a report to port {other}"),
    }
}

#[test]
fn the_cases_frames_are_what_endpoints_read() {
    let mut count = Count::default();
    for case in cases::all() {
        let ports = case.expected.frames.unwrap();
        for (port, frames) in ports.iter().filter(|(port, _)| **port != CPU_PORT) {
            for (place, frame) in frames.iter().enumerate() {
                // What the controller sends needn't be IP.
                if frame[12..14] == [0x08, 0x06] || ODD.contains(&case.name.as_str()) {
                    continue;
                }
                check(&format!("{}, port {port}, frame {place}", case.name), frame, &mut count);
            }
        }
    }
    assert!(count.congestion_reports > 100 && count.path_reports > 20 && count.advice > 15, "{count:?}");
    assert!(count.roce > 200 && count.signals > 20, "{count:?}");
}

/// The ICRC that entered with a Rate Signal is right, and it leaves right: the rate counts as ones.
#[test]
fn the_icrc_holds_whatever_the_rate() {
    let mut seen = 0;
    for case in cases::all().into_iter().filter(|case| case.name.starts_with("rate_signal")) {
        for frame in case.expected.frames.unwrap().values().flatten() {
            let mut packet = frame[14..].to_vec();
            let headers = if packet[0] >> 4 == 4 { 28 } else { 48 };
            let Ok(bth) = Bth::decode(&packet[headers..]) else { continue };
            if packet.len() < 84 || !scone::signal_follows(&bth) {
                continue;
            }
            let rate = headers + BTH_OCTETS + 2;
            packet[rate..rate + 4].fill(0xff);
            let end = packet.len() - ICRC_OCTETS;
            assert_eq!(icrc(&packet[..end], 0).unwrap(), packet[end..], "{}", case.name);
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn the_recorded_frames_are_what_endpoints_read() {
    let folder = recording::folder();
    let mut count = Count::default();
    for name in recording::names(&folder).unwrap() {
        let recorded = Recording::load(&folder, &name).unwrap().to_case().expected.frames.unwrap();
        for (port, frames) in recorded.iter().filter(|(port, _)| **port != CPU_PORT) {
            for (place, frame) in frames.iter().enumerate() {
                if frame[12..14] != [0x08, 0x06] && !ODD.contains(&name.as_str()) {
                    check(&format!("recording {name}, port {port}, frame {place}"), frame, &mut count);
                }
            }
        }
    }
    assert!(count.congestion_reports > 100, "{count:?}");
}

#[test]
fn what_the_stf_files_expect_is_what_endpoints_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../p4/bmv2");
    let program = Program::from_json(&fs::read(folder.join("build/crn.json")).unwrap()).unwrap();
    let mut count = Count::default();
    for file in fs::read_dir(folder.join("tests")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        for (line, step) in script(&program, &text).unwrap() {
            let Step::Expect { port, packet } = step else { continue };
            let Some(digits) = packet.digits.filter(|_| port != CPU_PORT) else { continue };
            let frame: Vec<u8> = (0..digits.len() / 2)
                .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            let ether_type = &frame[12..14];
            // Frames of which STF wants only the beginning, that aren't IP, or whose lengths differ on purpose.
            if packet.exact_length
                && name != "malformed.stf"
                && (ether_type == [8, 0] || ether_type == [0x86, 0xdd] || ether_type == [0x81, 0])
            {
                check(&format!("{name}, line {line}"), &frame, &mut count);
            }
        }
    }
    assert!(count.path_reports > 15 && count.advice > 5 && count.signals > 20, "{count:?}");
}
