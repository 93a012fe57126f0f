//! Packets that leave.

use core::net::IpAddr;

use wire::frame::{HEADERS_OCTETS, IPV4_OCTETS};
use wire::roce::{HeadersOctets, ICRC_OCTETS};
use wire::units::Octets;

/// The transport headers of a packet, held in place: nothing is allocated for a packet. Derefs to its octets. Those of a CNP
/// are whole with their reserved octets.
pub type PacketHead = HeadersOctets;

/// A packet for the link: a UDP datagram to port 4791 whose payload is [`TxPacket::head`], then
/// [`TxPacket::payload_octets`] octets of the message, padding, and the ICRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxPacket {
    /// The local queue pair.
    pub qp: u32,
    /// To which host.
    pub destination: IpAddr,
    /// UDP source port.
    pub source_port: u16,
    /// DSCP: that of the work request for data, the configured one for answers.
    pub dscp: u8,
    /// The transport headers.
    pub head: PacketHead,
    /// Payload octets behind the head, without padding and ICRC.
    pub payload_octets: u32,
    /// What it carries.
    pub content: TxContent,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxContent {
    /// A piece of a SEND or an RDMA WRITE.
    Data {
        /// The work request.
        wr_id: u64,
        /// Where in the message the payload starts.
        offset: u32,
        /// The message ends with this packet.
        last: bool,
        /// It was given out before.
        retransmission: bool,
    },
    /// The request of an RDMA READ.
    ReadRequest {
        /// The work request.
        wr_id: u64,
        /// It, or the part of it that is asked for again, was given out before.
        retransmission: bool,
    },
    /// A piece of the answer to an RDMA READ.
    ReadResponse {
        /// Where in our memory the payload starts.
        address: u64,
        /// The key of that memory.
        key: u32,
    },
    /// A positive acknowledgement.
    Ack,
    /// A negative acknowledgement, or that of a receiver that isn't ready.
    Nak,
    /// A congestion notification.
    Cnp,
}

impl TxPacket {
    /// Octets behind the head: payload, padding and ICRC. None of them are in the packet.
    pub fn octets_behind_head(&self) -> usize {
        octets_behind_headers(self.payload_octets)
    }

    /// Octets of the UDP payload.
    pub fn udp_payload_octets(&self) -> usize {
        self.head.len() + self.octets_behind_head()
    }

    /// Whether this is data, or asks for data, which RoCEv2 sends ECN-capable.
    pub const fn is_data(&self) -> bool {
        matches!(
            self.content,
            TxContent::Data { .. } | TxContent::ReadRequest { .. } | TxContent::ReadResponse { .. }
        )
    }

    /// Octets that the packet takes on an Ethernet link: preamble, headers, frame check sequence and gap included.
    pub(crate) fn link_octets(&self) -> Octets {
        let headers = HEADERS_OCTETS + if self.destination.is_ipv6() { IPV6_OCTETS - IPV4_OCTETS } else { 0 };
        Octets((headers + self.udp_payload_octets() + ETHERNET_OVERHEAD) as u64)
    }
}

const IPV6_OCTETS: usize = 40;

/// Preamble 8, frame check sequence 4, gap 12.
const ETHERNET_OVERHEAD: usize = 24;

/// Octets that a payload takes with its padding to a multiple of four and the ICRC.
fn octets_behind_headers(payload_octets: u32) -> usize {
    payload_octets.next_multiple_of(4) as usize + ICRC_OCTETS
}

/// Octets of padding that go with a payload.
pub(crate) fn pad_count(payload_octets: u32) -> u8 {
    match payload_octets % 4 {
        1 => 3,
        2 => 2,
        3 => 1,
        _ => 0,
    }
}
