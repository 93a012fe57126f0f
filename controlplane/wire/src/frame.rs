//! Ethernet, IPv4 and UDP around the datagrams of this crate.
//!
//! A payload need not be in the buffer: a simulated RDMA packet carries its headers and a count of octets that read as
//! zeros. [`Datagram::frame`] writes lengths and checksums as if they were there, and [`parse`] takes such a frame apart.
//!
//! RDCC, Message Formats: senders set the UDP checksum of RDCC messages. RoCEv2 leaves it zero, its ICRC covers more.

use core::net::Ipv4Addr;

use etherparse::{
    EtherType, Ethernet2Header, Ethernet2HeaderSlice, IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv4HeaderSlice,
    UdpHeader, UdpHeaderSlice,
};

/// Octets of the Ethernet header.
pub const ETHERNET_OCTETS: usize = 14;
/// Octets of an IPv4 header without options.
pub const IPV4_OCTETS: usize = 20;
/// Octets of the UDP header.
pub const UDP_OCTETS: usize = 8;
/// Octets of all headers before the UDP payload.
pub const HEADERS_OCTETS: usize = ETHERNET_OCTETS + IPV4_OCTETS + UDP_OCTETS;
/// The largest UDP payload that an IPv4 packet holds.
pub const MAX_PAYLOAD_OCTETS: usize = u16::MAX as usize - IPV4_OCTETS - UDP_OCTETS;

/// The ECN field of the IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not ECN-capable: congestion drops the packet.
    #[default]
    NotEct,
    /// ECN-capable, code point 1.
    Ect1,
    /// ECN-capable, code point 0: what RoCEv2 data carries.
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// What to write into the UDP checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UdpChecksum {
    /// Zero: there is none.
    Zero,
    /// The checksum of the datagram.
    Computed,
}

/// The fields of the three headers that differ from packet to packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Datagram {
    /// Ethernet source.
    pub source_mac: [u8; 6],
    /// Ethernet destination.
    pub destination_mac: [u8; 6],
    /// IPv4 source.
    pub source: Ipv4Addr,
    /// IPv4 destination.
    pub destination: Ipv4Addr,
    /// UDP source port.
    pub source_port: u16,
    /// UDP destination port.
    pub destination_port: u16,
    /// Six bits of DSCP.
    pub dscp: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// Hops that the packet may take.
    pub time_to_live: u8,
    /// IPv4 identification.
    pub identification: u16,
}

/// A frame taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// The fields of the headers.
    pub datagram: Datagram,
    /// The start of the UDP payload: what of it is in the buffer.
    pub payload_head: &'a [u8],
    /// Octets of the whole UDP payload, by the UDP length.
    pub payload_octets: usize,
}

/// Why a frame can't be built or taken apart. Offsets count from the start of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The buffer ends inside a header.
    #[error("octet {offset}: the frame ends after {available} octets, inside the {header} header")]
    TooShort {
        /// Which header: Ethernet, IPv4 or UDP.
        header: &'static str,
        /// Where that header starts.
        offset: usize,
        /// Octets in the buffer.
        available: usize,
    },
    /// Not IPv4.
    #[error("octet 12: EtherType {ether_type:#06x}; it should be 0x0800 (IPv4)")]
    NotIpv4 {
        /// The type field.
        ether_type: u16,
    },
    /// The IPv4 header is malformed: another version, or a header length below 20.
    #[error("octet 14: version and header length {octet:#04x}; it should be 0x45 to 0x4f")]
    Ipv4Header {
        /// The header's first octet.
        octet: u8,
    },
    /// The IPv4 checksum is wrong.
    #[error("octet 24: IPv4 checksum {found:#06x}; it should be {expected:#06x}")]
    Ipv4Checksum {
        /// What stands there.
        found: u16,
        /// What should stand there.
        expected: u16,
    },
    /// Not UDP.
    #[error("octet 23: IP protocol {protocol}; it should be 17 (UDP)")]
    NotUdp {
        /// The protocol number.
        protocol: u8,
    },
    /// A fragment: RoCEv2 and the documents' datagrams are never fragmented.
    #[error("octet 20: the packet is a fragment; it should be whole")]
    Fragment,
    /// The UDP length and the IPv4 total length disagree.
    #[error("octet {offset}: UDP length {length}; it should be {expected}, as the IPv4 total length leaves")]
    UdpLength {
        /// Where the UDP length stands.
        offset: usize,
        /// The UDP length.
        length: u16,
        /// What the IPv4 total length leaves for UDP.
        expected: usize,
    },
    /// The UDP checksum is wrong.
    #[error("octet {offset}: UDP checksum {found:#06x}; it should be {expected:#06x}")]
    UdpChecksum {
        /// Where the checksum stands.
        offset: usize,
        /// What stands there.
        found: u16,
        /// What should stand there.
        expected: u16,
    },
    /// A payload that doesn't fit into an IPv4 packet.
    #[error("a payload of {octets} octets; it should have at most {MAX_PAYLOAD_OCTETS}")]
    PayloadTooLarge {
        /// Octets of the payload.
        octets: usize,
    },
    /// A DSCP of more than six bits.
    #[error("DSCP {dscp}; it should be at most 63")]
    Dscp {
        /// The value given.
        dscp: u8,
    },
}

impl Datagram {
    /// The head of a frame: the three headers, then `payload_head`. The payload goes on with `virtual_octets` zeros that
    /// are not written but counted in the lengths and, being zeros, right in the checksum.
    ///
    /// # Errors
    /// [`FrameError::PayloadTooLarge`] and [`FrameError::Dscp`] for values that the headers can't carry.
    pub fn frame(
        &self,
        payload_head: &[u8],
        virtual_octets: usize,
        checksum: UdpChecksum,
    ) -> Result<Vec<u8>, FrameError> {
        let octets = payload_head.len().saturating_add(virtual_octets);
        if octets > MAX_PAYLOAD_OCTETS {
            return Err(FrameError::PayloadTooLarge { octets });
        }
        let too_large = |_| FrameError::PayloadTooLarge { octets };
        let udp_octets = u16::try_from(UDP_OCTETS + octets).map_err(too_large)?;

        let mut udp = UdpHeader {
            source_port: self.source_port,
            destination_port: self.destination_port,
            length: udp_octets,
            checksum: 0,
        };
        if checksum == UdpChecksum::Computed {
            udp.checksum = udp_checksum(&udp, self.source, self.destination, payload_head, octets)?;
        }
        let mut ip = Ipv4Header {
            dscp: IpDscp::try_new(self.dscp).map_err(|_| FrameError::Dscp { dscp: self.dscp })?,
            ecn: self.ecn.into(),
            total_len: Ipv4Header::MIN_LEN_U16 + udp_octets,
            identification: self.identification,
            dont_fragment: true,
            time_to_live: self.time_to_live,
            protocol: IpNumber::UDP,
            source: self.source.octets(),
            destination: self.destination.octets(),
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        let ethernet = Ethernet2Header {
            source: self.source_mac,
            destination: self.destination_mac,
            ether_type: EtherType::IPV4,
        };

        let mut frame = Vec::with_capacity(HEADERS_OCTETS + payload_head.len());
        frame.extend_from_slice(&ethernet.to_bytes());
        frame.extend_from_slice(&ip.to_bytes());
        frame.extend_from_slice(&udp.to_bytes());
        frame.extend_from_slice(payload_head);
        Ok(frame)
    }
}

/// Takes apart a frame, of which the buffer holds at least the headers. A UDP checksum that isn't zero is checked, with
/// zeros for the octets that the buffer lacks. Octets behind the IPv4 total length (Ethernet's padding) are left out.
///
/// # Errors
/// [`FrameError`]: not IPv4 over Ethernet, not UDP, a fragment, malformed, or a wrong checksum.
pub fn parse(frame: &[u8]) -> Result<Parsed<'_>, FrameError> {
    let too_short = |header, offset| move |_| FrameError::TooShort { header, offset, available: frame.len() };
    let ethernet = Ethernet2HeaderSlice::from_slice(frame).map_err(too_short("Ethernet", 0))?;
    if ethernet.ether_type() != EtherType::IPV4 {
        return Err(FrameError::NotIpv4 { ether_type: ethernet.ether_type().0 });
    }
    let packet = frame.get(ETHERNET_OCTETS..).unwrap_or_default();
    let ip = match packet.first() {
        Some(&octet) if !(0x45..=0x4f).contains(&octet) => return Err(FrameError::Ipv4Header { octet }),
        _ => Ipv4HeaderSlice::from_slice(packet).map_err(|_| FrameError::TooShort {
            header: "IPv4",
            offset: ETHERNET_OCTETS,
            available: frame.len(),
        })?,
    };
    let expected = ip.to_header().calc_header_checksum();
    if ip.header_checksum() != expected {
        return Err(FrameError::Ipv4Checksum { found: ip.header_checksum(), expected });
    }
    if ip.protocol() != IpNumber::UDP {
        return Err(FrameError::NotUdp { protocol: ip.protocol().0 });
    }
    if ip.is_fragmenting_payload() {
        return Err(FrameError::Fragment);
    }
    let udp_offset = ETHERNET_OCTETS + ip.slice().len();
    let segment = frame.get(udp_offset..).unwrap_or_default();
    let udp = UdpHeaderSlice::from_slice(segment).map_err(too_short("UDP", udp_offset))?;
    let expected = usize::from(ip.total_len()).saturating_sub(ip.slice().len());
    if usize::from(udp.length()) != expected || expected < UDP_OCTETS {
        return Err(FrameError::UdpLength { offset: udp_offset + 4, length: udp.length(), expected });
    }
    let payload_octets = expected - UDP_OCTETS;
    let in_buffer = segment.get(UDP_OCTETS..).unwrap_or_default();
    let payload_head = in_buffer.get(..payload_octets).unwrap_or(in_buffer);
    if udp.checksum() != 0 {
        let header = UdpHeader { checksum: 0, ..udp.to_header() };
        let expected =
            udp_checksum(&header, ip.source_addr(), ip.destination_addr(), payload_head, payload_octets)?;
        if udp.checksum() != expected {
            return Err(FrameError::UdpChecksum { offset: udp_offset + 6, found: udp.checksum(), expected });
        }
    }
    let datagram = Datagram {
        source_mac: ethernet.source(),
        destination_mac: ethernet.destination(),
        source: ip.source_addr(),
        destination: ip.destination_addr(),
        source_port: udp.source_port(),
        destination_port: udp.destination_port(),
        dscp: ip.dcp().value(),
        ecn: ip.ecn().into(),
        time_to_live: ip.ttl(),
        identification: ip.identification(),
    };
    Ok(Parsed { datagram, payload_head, payload_octets })
}

/// The checksum with zeros behind `payload_head`: they add nothing, and the length is that of the header.
fn udp_checksum(
    header: &UdpHeader,
    source: Ipv4Addr,
    destination: Ipv4Addr,
    payload_head: &[u8],
    octets: usize,
) -> Result<u16, FrameError> {
    header
        .calc_checksum_ipv4_raw(source.octets(), destination.octets(), payload_head)
        .map_err(|_| FrameError::PayloadTooLarge { octets })
}

impl From<Ecn> for IpEcn {
    fn from(ecn: Ecn) -> Self {
        match ecn {
            Ecn::NotEct => Self::NotEct,
            Ecn::Ect1 => Self::Ect1,
            Ecn::Ect0 => Self::Ect0,
            Ecn::Ce => Self::CongestionExperienced,
        }
    }
}

impl From<IpEcn> for Ecn {
    fn from(ecn: IpEcn) -> Self {
        match ecn {
            IpEcn::NotEct => Self::NotEct,
            IpEcn::Ect1 => Self::Ect1,
            IpEcn::Ect0 => Self::Ect0,
            IpEcn::CongestionExperienced => Self::Ce,
        }
    }
}
