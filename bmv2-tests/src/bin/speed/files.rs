//! Packets in pcap files and pipes.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;
use std::time::Duration;

use pcap_file::pcap::{PcapPacket, PcapReader, PcapWriter};

use crate::Fault;

/// Octets before the first packet of a pcap file.
pub const FILE_HEADER: u64 = 24;
/// Octets before each packet.
pub const PACKET_HEADER: u64 = 16;

/// A pcap file with so many times the same packet, at time 0.
pub fn write(path: &Path, packet: &[u8], times: usize) -> Result<(), Fault> {
    let mut writer = PcapWriter::new(BufWriter::new(File::create(path)?))?;
    for _ in 0..times {
        writer.write_packet(&at_zero(packet)?)?;
    }
    writer.into_writer().flush()?;
    Ok(())
}

/// The octets of such a file's beginning, and of one packet in it.
pub fn parts(packet: &[u8]) -> Result<[Vec<u8>; 2], Fault> {
    let mut writer = PcapWriter::new(Vec::new())?;
    writer.write_packet(&at_zero(packet)?)?;
    let mut whole = writer.into_writer();
    let packet = whole.split_off(usize::try_from(FILE_HEADER)?);
    Ok([whole, packet])
}

fn at_zero(packet: &[u8]) -> Result<PcapPacket<'_>, Fault> {
    Ok(PcapPacket::new(Duration::ZERO, u32::try_from(packet.len())?, packet))
}

/// The times of a file's packets; an error if one isn't as expected.
pub fn read(path: &Path, expected: &[u8]) -> Result<Vec<Duration>, Fault> {
    let mut reader = PcapReader::new(BufReader::new(File::open(path)?))?;
    let mut times = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet?;
        if packet.data != expected {
            return Err(
                format!("packet {} isn't what was to leave: {:02x?}", times.len(), packet.data).into()
            );
        }
        times.push(packet.timestamp);
    }
    Ok(times)
}

/// How long these threads have run on a processor: `/proc/.../schedstat` of each.
pub fn on_processor(schedstats: impl Iterator<Item = std::path::PathBuf>) -> Result<Duration, Fault> {
    let mut all = 0;
    for path in schedstats {
        let statistics = std::fs::read_to_string(path)?;
        all += statistics.split(' ').next().ok_or("no schedstat")?.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(all))
}
