//! `crn up --capture`: what is in the files is what the switch and the hosts say they sent.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use serde_json::Value;

use super::sandbox::{Sandbox, text};

/// `RoCEv2`'s UDP port, and the domain's of RDCC.
const ROCE: u16 = 4791;
const RDCC: u16 = 52_100;
/// The switch's own address, from which reports come.
const SWITCH: [u8; 4] = [10, 255, 0, 1];

/// A frame of UDP.
struct Frame {
    inbound: bool,
    source: [u8; 4],
    port: u16,
}

/// All frames of a file, and those of UDP; times must be of this run.
fn read(path: &Path, from: Duration) -> (u64, Vec<Frame>) {
    let mut reader = PcapNgReader::new(File::open(path).unwrap()).unwrap();
    let (mut all, mut frames) = (0, Vec::new());
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        all += 1;
        assert!(packet.timestamp >= from && packet.timestamp <= now(), "{:?}", packet.timestamp);
        assert_eq!(packet.original_len as usize, packet.data.len());
        let inbound = match packet.options.as_slice() {
            [EnhancedPacketOption::Flags(1)] => true,
            [EnhancedPacketOption::Flags(2)] => false,
            other => panic!("{other:?}"),
        };
        let data = &packet.data;
        if data[12..14] == [8, 0] && data[23] == 17 {
            let port = u16::from_be_bytes([data[36], data[37]]);
            frames.push(Frame { inbound, source: data[26..30].try_into().unwrap(), port });
        }
    }
    (all, frames)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

pub fn files_hold_what_passed() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("captured");
    let begin = now();
    let line = ["up", sandbox.topology(), "--json", "--batches", "4", "--capture", folder.to_str().unwrap()];
    let output = sandbox.crn(&line).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ports = [1, 2, 3].map(|port| read(&folder.join(format!("lv1-eth{port}.pcapng")), begin));
    let count = |port: usize, wanted: &dyn Fn(&Frame) -> bool| {
        ports[port - 1].1.iter().filter(|frame| wanted(frame)).count()
    };

    let all: u64 = ports.iter().map(|(all, _)| all).sum();
    let note = format!("{all} frames captured in {}", folder.display());
    assert!(figures["notes"].as_array().unwrap().contains(&note.clone().into()), "{note}: {figures}");

    // Data of both senders comes in by their ports, and leaves by the receiver's.
    let came = [1, 2].map(|port| count(port, &|frame| frame.inbound && frame.port == ROCE));
    let left = count(3, &|frame| !frame.inbound && frame.port == ROCE);
    let cells = figures["switches"]["lv1"].as_array().unwrap();
    let counted = |counter: &str| -> u64 {
        let cells = cells.iter().filter(|cell| cell["counter"] == counter);
        cells.map(|cell| cell["packets"].as_u64().unwrap()).sum()
    };
    assert_eq!((came[0] + came[1]) as u64, left as u64 + counted("drops"), "{figures}");
    // 4 batches of 64 + 1 packets at least.
    assert!(came.iter().all(|&count| count >= 4 * 65), "{came:?}");

    let reports = |port| count(port, &|frame| frame.source == SWITCH && frame.port == RDCC);
    assert_eq!([1, 2, 3].map(reports).iter().sum::<usize>() as u64, counted("reports_sent"), "{figures}");
    sandbox.is_clean();
}
