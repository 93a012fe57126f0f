//! Frames of the test bed's hosts.

use wire::roce::{Bth, ICRC_OCTETS, Opcode, Psn, icrc};

use super::layers::Layers;
use super::{ROCE_PORT, ROUTER_MAC, SCHEDULED, UNSCHEDULED, host_address, host_address_6, host_mac};

/// Internet protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// The UDP checksum of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// As it should be.
    Computed,
    /// 0: none.
    Zero,
}

/// A RoCEv2 packet in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roce {
    /// Opcode of its base transport header.
    pub opcode: u8,
    /// Destination queue pair.
    pub qp: u32,
    /// Packet sequence number.
    pub psn: u32,
    /// Its Rate Signal.
    pub signal: Option<Signal>,
}

/// The extension that carries a Rate Signal (SCONE, Solution 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The domain's type octet.
    pub kind: u8,
    /// Octets of the extension.
    pub length: u8,
    /// Mbit/s; 0: none.
    pub rate: u32,
    /// Version.
    pub version: u32,
}

/// An IPv6 options header with an Alternate-Marking option (RFC 9343).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which header.
    pub within: Where,
    /// `FlowMonID`.
    pub flow: u32,
    /// Loss flag: the colour.
    pub loss: bool,
    /// Delay flag.
    pub delay: bool,
    /// Octets of the header: 8, or 16 with padding behind the option.
    pub octets: u8,
    /// Instead of the option, padding.
    pub blank: bool,
}

/// The header that an option stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// Hop-by-Hop Options.
    HopByHop,
    /// Destination Options.
    Destination,
}

/// A frame of a host of the test bed: host N is 10.0.0.N and `fd00::N`, behind port N.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// IPv4 or IPv6.
    pub family: Family,
    /// Sending host.
    pub src: u8,
    /// Receiving host.
    pub dst: u8,
    /// UDP ports.
    pub ports: (u16, u16),
    /// DSCP.
    pub dscp: u8,
    /// ECN field.
    pub ecn: u8,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Octets of the whole frame; never less than its headers.
    pub octets: usize,
    /// Written into the payload, so that frames can be told apart.
    pub mark: u8,
    /// The VLAN tag's priority and number.
    pub vlan: Option<u16>,
    /// RoCEv2 in it; else the payload is nothing but `mark`.
    pub roce: Option<Roce>,
    /// Alternate Marking; IPv6 only.
    pub option: Option<Mark>,
    /// The UDP checksum.
    pub sum: Sum,
}

const UDP: u8 = 17;
const BTH_AND_ICRC: usize = 16;
const SIGNAL: usize = 10;

impl Data {
    /// Scheduled data from host 1 to host 2, to RoCEv2's port.
    #[must_use]
    pub const fn scheduled(octets: usize) -> Data {
        Data {
            family: Family::V4,
            src: 1,
            dst: 2,
            ports: (50000, ROCE_PORT),
            dscp: SCHEDULED,
            ecn: 0,
            ttl: 64,
            octets,
            mark: 0,
            vlan: None,
            roce: None,
            option: None,
            sum: Sum::Computed,
        }
    }

    /// Unscheduled data from host 1 to host 2, to RoCEv2's port.
    #[must_use]
    pub const fn unscheduled(octets: usize) -> Data {
        Data { dscp: UNSCHEDULED, ..Data::scheduled(octets) }
    }

    /// A RoCEv2 packet (SEND Only) from host 1 to host 2, of no role.
    #[must_use]
    pub const fn roce(octets: usize, qp: u32, psn: u32) -> Data {
        let roce = Some(Roce { opcode: Opcode::SEND_ONLY.0, qp, psn, signal: None });
        Data { dscp: super::NO_ROLE, roce, ..Data::scheduled(octets) }
    }

    /// The same over IPv6.
    #[must_use]
    pub const fn v6(self) -> Data {
        Data { family: Family::V6, ..self }
    }

    /// The same with another opcode.
    #[must_use]
    pub fn opcode(self, opcode: u8) -> Data {
        Data { roce: self.roce.map(|roce| Roce { opcode, ..roce }), ..self }
    }

    /// The same with a Rate Signal of kind 0xAB.
    #[must_use]
    pub fn rate(self, rate: u32) -> Data {
        let signal = Some(Signal { kind: 0xab, length: 10, rate, version: 1 });
        Data { roce: self.roce.map(|roce| Roce { signal, ..roce }), ..self }
    }

    /// As the host sends it to the router.
    #[must_use]
    pub fn sent(&self) -> Vec<u8> {
        self.frame([ROUTER_MAC, host_mac(self.src)], self.ttl)
    }

    /// As the router passes it on.
    #[must_use]
    pub fn forwarded(&self) -> Vec<u8> {
        self.frame([host_mac(self.dst), ROUTER_MAC], self.ttl - 1)
    }

    /// What it costs in a queue: the whole frame, at least 64 octets.
    #[must_use]
    pub fn charge(&self) -> u32 {
        u32::try_from(self.octets.max(64)).unwrap_or(u32::MAX)
    }

    fn frame(&self, macs: [[u8; 6]; 2], ttl: u8) -> Vec<u8> {
        let layers = self.layers(macs, ttl);
        let payload = self.payload(&layers);
        let datagram = layers.datagram(self.ports, &payload, self.sum == Sum::Computed);
        match self.option {
            Some(mark) => {
                let mut packet = mark.header();
                packet.extend(datagram);
                layers.frame(mark.protocol(), &packet)
            }
            None => layers.frame(UDP, &datagram),
        }
    }

    fn layers(&self, macs: [[u8; 6]; 2], ttl: u8) -> Layers {
        Layers {
            macs,
            vlan: self.vlan,
            family: self.family,
            addresses: self.addresses(),
            dscp: self.dscp,
            ecn: self.ecn,
            ttl,
            label: match self.family {
                Family::V4 => 1,
                Family::V6 => 0x12345,
            },
            dont_fragment: false,
        }
    }

    fn payload(&self, layers: &Layers) -> Vec<u8> {
        let room = self.octets.saturating_sub(self.header_octets());
        let Some(roce) = self.roce else { return vec![self.mark; room] };
        let with_icrc = |octets: Vec<u8>, icrc: [u8; ICRC_OCTETS]| [octets, icrc.to_vec()].concat();
        // Ours: the ICRC takes the rate as ones. It covers the lengths, which count it.
        let covered = with_icrc(roce.octets(true, self.mark, room), [0; ICRC_OCTETS]);
        let packet = layers.packet(UDP, &layers.datagram(self.ports, &covered, false));
        // It refuses only what is shorter than a base transport header.
        let sum = icrc(&packet[..packet.len() - ICRC_OCTETS], 0).unwrap_or_default();
        with_icrc(roce.octets(false, self.mark, room), sum)
    }

    /// Octets of all but the payload.
    fn header_octets(&self) -> usize {
        let ip = match self.family {
            Family::V4 => 20,
            Family::V6 => 40,
        };
        let tag = if self.vlan.is_some() { 4 } else { 0 };
        let option = self.option.map_or(0, |mark| usize::from(mark.octets));
        let roce = self.roce.map_or(0, |roce| BTH_AND_ICRC + if roce.signal.is_some() { SIGNAL } else { 0 });
        14 + tag + ip + option + 8 + roce
    }

    /// The hash that the switch knows the flow by: CRC-32 of addresses, protocol and ports.
    #[must_use]
    pub fn flow_hash(&self) -> u32 {
        let mut tuple = self.address_octets();
        tuple.push(UDP);
        tuple.extend(self.ports.0.to_be_bytes());
        tuple.extend(self.ports.1.to_be_bytes());
        crc32fast::hash(&tuple)
    }

    /// Source and destination.
    pub(super) fn addresses(&self) -> [u128; 2] {
        [self.src, self.dst].map(|host| address(self.family, host))
    }

    /// Source and destination as they stand on the wire.
    pub(super) fn address_octets(&self) -> Vec<u8> {
        let skip = match self.family {
            Family::V4 => 12,
            Family::V6 => 0,
        };
        self.addresses().iter().flat_map(|address| address.to_be_bytes()[skip..].to_vec()).collect()
    }
}

/// A host's address; of IPv4 the low 32 bits.
pub(super) fn address(family: Family, host: u8) -> u128 {
    match family {
        Family::V4 => u32::from_be_bytes(host_address(host)).into(),
        Family::V6 => host_address_6(host),
    }
}

impl Roce {
    /// The packet without its ICRC, with so many octets of payload.
    fn octets(&self, rate_as_ones: bool, mark: u8, room: usize) -> Vec<u8> {
        let mut bth = Bth::new(Opcode(self.opcode), self.qp, Psn::new(self.psn));
        // Ours: the lowest of the seven bits beside AckReq says that an extension follows.
        bth.reserved7 = u8::from(self.signal.is_some());
        let mut octets = bth.to_octets().to_vec();
        if let Some(signal) = self.signal {
            octets.extend([signal.kind, signal.length]);
            octets.extend(if rate_as_ones { u32::MAX } else { signal.rate }.to_be_bytes());
            octets.extend(signal.version.to_be_bytes());
        }
        octets.resize(octets.len() + room, mark);
        octets
    }
}

impl Mark {
    /// The option alone in a Hop-by-Hop header.
    #[must_use]
    pub const fn hop_by_hop(flow: u32, loss: bool, delay: bool) -> Mark {
        Mark { within: Where::HopByHop, flow, loss, delay, octets: 8, blank: false }
    }

    /// A frame of IPv6 without tag that has the header in front of all that its IPv6 header carries.
    #[must_use]
    pub fn before(&self, mut frame: Vec<u8>) -> Vec<u8> {
        let mut header = self.header();
        header[0] = std::mem::replace(&mut frame[20], self.protocol());
        let length = u16::from_be_bytes([frame[18], frame[19]]) + u16::from(self.octets);
        frame[18..20].copy_from_slice(&length.to_be_bytes());
        frame.splice(54..54, header);
        frame
    }

    /// The protocol number of the header.
    const fn protocol(&self) -> u8 {
        match self.within {
            Where::HopByHop => 0,
            Where::Destination => 60,
        }
    }

    fn header(&self) -> Vec<u8> {
        let mut header = vec![UDP, self.octets / 8 - 1];
        // RFC 9343, section 3.1: type, data length, FlowMonID (20), loss, delay, reserved (10).
        header.push(if self.blank { 1 } else { 0x12 });
        header.push(4);
        let bits = self.flow << 12 | u32::from(self.loss) << 11 | u32::from(self.delay) << 10;
        header.extend(if self.blank { 0 } else { bits }.to_be_bytes());
        if self.octets > 8 {
            // PadN.
            header.extend([1, self.octets - 10]);
            header.resize(usize::from(self.octets), 0);
        }
        header
    }
}
