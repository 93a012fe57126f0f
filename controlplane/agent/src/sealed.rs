//! `RoCEv2` packets as UDP sockets carry them: headers and payload of an endpoint's packet, with the ICRC behind them.
//!
//! The ICRC covers fields of the IP header that a UDP socket doesn't show. Our sockets send IPv4 with "don't fragment", not
//! connected, so that the identification is 0 at both ends.

use std::net::SocketAddrV4;

use roce::TxPacket;
use wire::roce::{BTH_OCTETS, ICRC_OCTETS, icrc};

/// Octets of the IPv4 and UDP headers, which the ICRC covers.
const HEADER_OCTETS: usize = 28;

/// Makes and checks the ICRC; keeps the memory that this takes.
#[derive(Debug, Default)]
pub struct Seal {
    scratch: Vec<u8>,
}

impl Seal {
    /// Whether the UDP payload of a packet is whole.
    pub fn is_intact(&mut self, from: SocketAddrV4, to: SocketAddrV4, octets: &[u8]) -> bool {
        let Some((packet, crc)) = octets.split_last_chunk::<ICRC_OCTETS>() else { return false };
        if packet.len() < BTH_OCTETS {
            return false;
        }
        self.headers(from, to, octets.len());
        self.scratch.extend_from_slice(packet);
        icrc(&self.scratch, 0).is_ok_and(|right| right == *crc)
    }

    /// Writes the UDP payload of a packet to `out`; `payload` adds the packet's piece of the message.
    pub fn write(
        &mut self,
        (from, to): (SocketAddrV4, SocketAddrV4),
        packet: &TxPacket,
        payload: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        self.headers(from, to, packet.udp_payload_octets());
        self.scratch.extend_from_slice(&packet.head);
        payload(&mut self.scratch);
        // Padding to a multiple of four.
        self.scratch.resize(HEADER_OCTETS + packet.udp_payload_octets() - ICRC_OCTETS, 0);
        // An endpoint's packet has its base transport header.
        let crc = icrc(&self.scratch, 0).unwrap_or_default();
        out.extend_from_slice(self.scratch.get(HEADER_OCTETS..).unwrap_or_default());
        out.extend_from_slice(&crc);
    }

    /// The headers before the UDP payload as the ICRC sees them; what it doesn't cover is zero.
    fn headers(&mut self, from: SocketAddrV4, to: SocketAddrV4, payload: usize) {
        let udp = u16::try_from(payload + 8).unwrap_or(u16::MAX);
        let ip = udp.saturating_add(20);
        let [ip, udp] = [ip.to_be_bytes(), udp.to_be_bytes()];
        let octets = &mut self.scratch;
        octets.clear();
        // Version and length, type of service, total length, identification 0, don't fragment, TTL, UDP, checksum.
        octets.extend_from_slice(&[0x45, 0, ip[0], ip[1], 0, 0, 0x40, 0, 0, 17, 0, 0]);
        octets.extend_from_slice(&from.ip().octets());
        octets.extend_from_slice(&to.ip().octets());
        octets.extend_from_slice(&from.port().to_be_bytes());
        octets.extend_from_slice(&to.port().to_be_bytes());
        octets.extend_from_slice(&[udp[0], udp[1], 0, 0]);
    }
}
