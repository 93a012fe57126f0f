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

/// Port 509 is the program's CPU port, and an ordinary one without --cpu-port. Runs the switch until all these packets from
/// there have left; gives what it said, and what left through ports 1 and 2.
fn passed(packets: &[Vec<u8>], more: &[&str]) -> (String, [Vec<Vec<u8>>; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(&path("cpu_in.pcap"), packets);
    write(&path("a_in.pcap"), &[]);
    write(&path("b_in.pcap"), &[]);
    let program = bmv2("build/crn.json");
    let mut arguments = ["-i", "509@cpu", "-i", "1@a", "-i", "2@b"].to_vec();
    arguments.extend(["--use-files", "0", "--exit-after-files", program.to_str().unwrap()]);
    arguments.extend(more);
    let output = Process::start(folder.path(), &arguments).wait();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    (text(&output.stdout), ["a_out.pcap", "b_out.pcap"].map(|name| recorded(&path(name))))
}

/// Packet-outs for ports 1 and 2 by turns, each with its number's low octet in it.
fn packet_outs(n: usize) -> Vec<Vec<u8>> {
    (0..n).map(|n| packet_out(if n % 2 == 0 { 1 } else { 2 }, n.to_le_bytes()[0])).collect()
}

/// What becomes of [`packet_outs`].
fn packets_out(n: usize) -> [Vec<Vec<u8>>; 2] {
    [0, 1].map(|first| (first..n).step_by(2).map(|n| vec![n.to_le_bytes()[0]; 60]).collect())
}

/// With `simple_switch`'s own command line, its `--` included.
pub fn packets_are_read_from_files_and_written_to_files() {
    let (said, out) = passed(&packet_outs(100), &["--", "--priority-queues", "8"]);
    assert!(said.contains("port 509 (cpu): 100 in"), "{said}");
    assert_eq!(out, packets_out(100));
}

/// `--engine`: native code where Cranelift knows the processor, the interpreter, and both in turn.
pub fn packets_come_out_the_same_whatever_runs_the_program() {
    let known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    for (engine, packets, native) in [
        ("interpreter", 12_000, Some(false)),
        ("native", 500, known.then_some(true)),
        ("automatic", 12_000, None),
    ] {
        let (said, out) = passed(&packet_outs(packets), &["--engine", engine]);
        assert_eq!(out, packets_out(packets), "{engine}");
        let ran = |what| said.contains(&format!("engine at the end: {what}"));
        // When the compiler is done, nobody knows.
        assert_eq!(native.unwrap_or_else(|| ran("native code")), ran("native code"), "{engine}: {said}");
        assert_ne!(ran("native code"), ran("interpreter"), "{engine}: {said}");
    }
}

pub fn a_file_that_isnt_there_is_named() {
    let (code, error) = crate::process::refused(&["--no-p4", "-i", "1@nosuch", "--use-files", "0"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("nosuch_in.pcap"), "{error}");
}
