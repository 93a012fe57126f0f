//! Packets that leave.

use core::net::IpAddr;
use core::ops::Deref;

use wire::roce::{AETH_OCTETS, Aeth, BTH_OCTETS, Bth, CNP_RESERVED_OCTETS, ICRC_OCTETS, RETH_OCTETS, Reth};

const CAPACITY: usize = BTH_OCTETS + RETH_OCTETS;

/// The transport headers of a packet, held in place: nothing is allocated for a packet. Derefs to its octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHead {
    octets: [u8; CAPACITY],
    length: usize,
}

impl PacketHead {
    pub(crate) fn with_bth(bth: &Bth) -> Self {
        let mut octets = [0; CAPACITY];
        if let Some(start) = octets.first_chunk_mut::<BTH_OCTETS>() {
            *start = bth.to_octets();
        }
        Self { octets, length: BTH_OCTETS }
    }

    pub(crate) fn with_reth(bth: &Bth, reth: &Reth) -> Self {
        let mut head = Self::with_bth(bth);
        if let Some(end) = head.octets.last_chunk_mut::<RETH_OCTETS>() {
            *end = reth.to_octets();
        }
        Self { length: BTH_OCTETS + RETH_OCTETS, ..head }
    }

    pub(crate) fn with_aeth(bth: &Bth, aeth: Aeth) -> Self {
        let mut head = Self::with_bth(bth);
        if let Some(place) = head.octets.get_mut(BTH_OCTETS..BTH_OCTETS + AETH_OCTETS) {
            place.copy_from_slice(&aeth.to_octets());
        }
        Self { length: BTH_OCTETS + AETH_OCTETS, ..head }
    }
}

impl PacketHead {
    /// A CNP's sixteen reserved octets are part of its head.
    pub(crate) fn with_cnp(bth: &Bth) -> Self {
        Self { length: BTH_OCTETS + CNP_RESERVED_OCTETS, ..Self::with_bth(bth) }
    }
}

impl Deref for PacketHead {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.octets.get(..self.length).unwrap_or(&self.octets)
    }
}

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
    /// DSCP: that of the work request for data, the configured one for acknowledgements.
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
    /// A piece of a posted message. RoCEv2 sends it ECN-capable.
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
    /// A positive acknowledgement.
    Ack,
    /// A negative acknowledgement.
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

    /// Whether this is data, which RoCEv2 sends ECN-capable.
    pub const fn is_data(&self) -> bool {
        matches!(self.content, TxContent::Data { .. })
    }
}

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
