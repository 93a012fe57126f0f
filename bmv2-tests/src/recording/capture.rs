//! The pcapng file: an interface per port, directions as the switch sees them.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;
use std::time::Duration;

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use pcap_file::{DataLink, PcapError};

use super::RecordingError;
use crate::case::Step;
use crate::program::CPU_PORT;
use crate::setup::Port;
use crate::target::Observed;

/// `epb_flags`, bits 0 and 1.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// `if_tsresol`: nanoseconds.
const NANOSECONDS: u8 = 9;
/// How an interface is called: this and the port's number.
const PORT: &str = "port ";

/// A frame with its port and the microseconds since the script began.
pub(super) type Frame = (u16, u64, Vec<u8>);

/// Frames in the order in which they entered, and in which they left (each port's own).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Captured {
    pub(super) inbound: Vec<Frame>,
    pub(super) outbound: Vec<Frame>,
}

impl Captured {
    pub(super) fn new(script: &[Step], observed: &Observed) -> Captured {
        let mut times = observed.sent_us.iter().copied();
        let mut captured = Captured::default();
        for step in script {
            if let Step::Send { port, frames } = step {
                captured.inbound.extend(
                    frames.iter().map(|octets| (*port, times.next().unwrap_or_default(), octets.clone())),
                );
            }
        }
        for (&port, frames) in &observed.frames {
            captured.outbound.extend(frames.iter().map(|seen| (port, seen.at_us, seen.octets.clone())));
        }
        captured.outbound.sort_by_key(|(_, at_us, _)| *at_us);
        captured
    }

    pub(super) fn save(&self, path: &Path, ports: &[Port]) -> Result<(), RecordingError> {
        let unwritable = |source| RecordingError::File { path: path.display().to_string(), source };
        let wrong = |error: PcapError| RecordingError::content(path, &error);
        let file = BufWriter::new(File::create(path).map_err(unwritable)?);
        let mut writer = PcapNgWriter::new(file).map_err(wrong)?;
        let controller = self.inbound.iter().chain(&self.outbound).any(|(port, _, _)| *port == CPU_PORT);
        let ports: Vec<u16> =
            ports.iter().map(|port| port.port).chain(controller.then_some(CPU_PORT)).collect();
        for &port in &ports {
            // What the controller sends and gets has a header of P4Runtime's in front.
            let link = if port == CPU_PORT { DataLink::USER0 } else { DataLink::ETHERNET };
            let mut interface = InterfaceDescriptionBlock::new(link, 0);
            let name = format!("{PORT}{port}");
            interface.options.push(InterfaceDescriptionOption::IfName(name.into()));
            interface.options.push(InterfaceDescriptionOption::IfTsResol(NANOSECONDS));
            writer.write_pcapng_block(interface).map_err(wrong)?;
        }
        let inbound = self.inbound.iter().map(|frame| (frame, INBOUND));
        let mut all: Vec<_> = inbound.chain(self.outbound.iter().map(|frame| (frame, OUTBOUND))).collect();
        all.sort_by_key(|((_, at_us, _), _)| *at_us);
        for ((port, at_us, octets), direction) in all {
            let interface = ports
                .iter()
                .position(|known| known == port)
                .and_then(|place| u32::try_from(place).ok())
                .ok_or_else(|| RecordingError::content(path, &format!("port {port} isn't in the setup")))?;
            let block = EnhancedPacketBlock {
                interface_id: interface,
                timestamp: Duration::from_micros(*at_us),
                original_len: u32::try_from(octets.len()).unwrap_or(u32::MAX),
                data: Cow::Borrowed(octets),
                options: vec![EnhancedPacketOption::Flags(direction)],
            };
            writer.write_pcapng_block(block).map_err(wrong)?;
        }
        writer.into_inner().flush().map_err(unwritable)
    }

    pub(super) fn load(path: &Path) -> Result<Captured, RecordingError> {
        let wrong = |error: PcapError| RecordingError::content(path, &error);
        let file = File::open(path)
            .map_err(|source| RecordingError::File { path: path.display().to_string(), source })?;
        let mut reader = PcapNgReader::new(BufReader::new(file)).map_err(wrong)?;
        let mut captured = Captured::default();
        let mut ports = Vec::new();
        while let Some(block) = reader.next_block() {
            match block.map_err(wrong)? {
                Block::InterfaceDescription(interface) => ports.push(
                    port_of(&interface)
                        .ok_or_else(|| RecordingError::content(path, &"an interface without port"))?,
                ),
                Block::EnhancedPacket(packet) => {
                    let place = usize::try_from(packet.interface_id).unwrap_or(usize::MAX);
                    let port = *ports
                        .get(place)
                        .ok_or_else(|| RecordingError::content(path, &"a packet of no interface"))?;
                    let at_us = u64::try_from(packet.timestamp.as_micros()).unwrap_or(u64::MAX);
                    let frame = (port, at_us, packet.data.to_vec());
                    let flags = packet.options.iter().find_map(|option| match option {
                        EnhancedPacketOption::Flags(flags) => Some(flags & 3),
                        _ => None,
                    });
                    match flags {
                        Some(INBOUND) => captured.inbound.push(frame),
                        Some(OUTBOUND) => captured.outbound.push(frame),
                        _ => return Err(RecordingError::content(path, &"a packet without direction")),
                    }
                }
                _ => {}
            }
        }
        Ok(captured)
    }
}

fn port_of(interface: &InterfaceDescriptionBlock<'_>) -> Option<u16> {
    interface.options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfName(name) => name.strip_prefix(PORT)?.parse().ok(),
        _ => None,
    })
}
