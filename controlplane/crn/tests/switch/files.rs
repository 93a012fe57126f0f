//! Packets from files and into files.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use pcap_file::pcap::{PcapPacket, PcapReader, PcapWriter};

use crate::process::{Process, bmv2, text};

fn write(path: &Path, packets: &[Vec<u8>]) {
    let mut writer = PcapWriter::new(File::create(path).unwrap()).unwrap();
    for (at, octets) in packets.iter().enumerate() {
        let length = u32::try_from(octets.len()).unwrap();
        let at = Duration::from_micros(at.try_into().unwrap());
        writer.write_packet(&PcapPacket::new(at, length, octets)).unwrap();
    }
}

/// The packets of a file.
pub fn recorded(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = PcapReader::new(File::open(path).unwrap()).unwrap();
    let mut found = Vec::new();
    while let Some(packet) = reader.next_packet() {
        found.push(packet.unwrap().data.into_owned());
    }
    found
}

/// A packet-out of the program's own form, for a port: nothing else leaves without entries.
fn packet_out(port: u16, mark: u8) -> Vec<u8> {
    let mut octets = (port << 7).to_be_bytes().to_vec();
    octets.extend([mark; 60]);
    octets
}

/// With `simple_switch`'s own command line, its `--` included.
pub fn packets_are_read_from_files_and_written_to_files() {
    let folder = tempfile::tempdir().unwrap();
    // Port 509 is the program's CPU port, and an ordinary one without --cpu-port.
    let packets: Vec<_> = (0..100).map(|n| packet_out(if n % 2 == 0 { 1 } else { 2 }, n)).collect();
    write(&folder.path().join("cpu_in.pcap"), &packets);
    write(&folder.path().join("a_in.pcap"), &[]);
    write(&folder.path().join("b_in.pcap"), &[]);
    let program = bmv2("build/crn.json");
    let arguments = [
        "-i",
        "509@cpu",
        "-i",
        "1@a",
        "-i",
        "2@b",
        "--use-files",
        "0",
        "--exit-after-files",
        program.to_str().unwrap(),
        "--",
        "--priority-queues",
        "8",
    ];
    let output = Process::start(folder.path(), &arguments).wait();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("port 509 (cpu): 100 in"), "{said}");
    for (name, first) in [("a", 0), ("b", 1)] {
        let found = recorded(&folder.path().join(format!("{name}_out.pcap")));
        let wanted: Vec<Vec<u8>> = (0..50).map(|n| vec![first + 2 * n; 60]).collect();
        assert_eq!(found, wanted, "{name}");
    }
}

pub fn a_file_that_isnt_there_is_named() {
    let (code, error) = crate::process::refused(&["--no-p4", "-i", "1@nosuch", "--use-files", "0"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("nosuch_in.pcap"), "{error}");
}
