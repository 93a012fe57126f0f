//! Ethernet frames as the gateway sees them: taken apart without copying, and made anew for packets that were held or
//! restored, and for CREM messages.

use std::net::{IpAddr, SocketAddr};

use crem::{IpFields, Packet};
use etherparse::{
    EtherType, IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, LinkSlice, NetSlice,
    SlicedPacket, TransportSlice, UdpHeader,
};
use wire::crem::FlowAddresses;

/// Octets of the two MAC addresses.
const ADDRESSES: usize = 12;

/// What a frame with a UDP datagram says. Other frames are nothing to the gateway: fragments, IPv4 with options, IPv6 whose
/// datagram is behind more than options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen<'a> {
    /// The Ethernet header with its tags, through the type field.
    pub ethernet: &'a [u8],
    /// Source and destination.
    pub addresses: FlowAddresses,
    /// The rest of the IP header, and the source port.
    pub ip: IpFields,
    /// IPv6's flow label; 0 with IPv4.
    pub flow_label: u32,
    /// UDP destination port.
    pub destination_port: u16,
    /// Whether the UDP checksum is there.
    pub checksum: bool,
    /// The UDP payload.
    pub payload: &'a [u8],
}

impl<'a> Seen<'a> {
    /// Takes a frame apart; `None` for one without a whole UDP datagram, or with a wrong checksum of IPv4's header.
    pub fn of(frame: &'a [u8]) -> Option<Self> {
        let sliced = SlicedPacket::from_ethernet(frame).ok()?;
        let Some(LinkSlice::Ethernet2(_)) = sliced.link else { return None };
        let Some(TransportSlice::Udp(udp)) = sliced.transport else { return None };
        // Where the IP header starts in the frame.
        let place = |header: &[u8]| header.as_ptr().addr().checked_sub(frame.as_ptr().addr());
        let (addresses, ip, flow_label, offset) = match sliced.net? {
            NetSlice::Ipv4(ip) => {
                let header = ip.header();
                let whole = !header.is_fragmenting_payload() && header.options().is_empty();
                if !whole || header.to_header().calc_header_checksum() != header.header_checksum() {
                    return None;
                }
                let addresses = FlowAddresses::V4 {
                    source: header.source_addr(),
                    destination: header.destination_addr(),
                };
                let fields = IpFields {
                    source_port: udp.source_port(),
                    identification: header.identification(),
                    dont_fragment: header.dont_fragment(),
                    dscp: header.dcp().value(),
                    ecn: header.ecn().into(),
                    hop_limit: header.ttl(),
                };
                (addresses, fields, 0, place(header.slice())?)
            }
            NetSlice::Ipv6(ip) => {
                if ip.is_payload_fragmented() {
                    return None;
                }
                let header = ip.header();
                let addresses = FlowAddresses::V6 {
                    source: header.source_addr(),
                    destination: header.destination_addr(),
                };
                let fields = IpFields {
                    source_port: udp.source_port(),
                    identification: 0,
                    dont_fragment: false,
                    dscp: header.dscp().value(),
                    ecn: header.ecn().into(),
                    hop_limit: header.hop_limit(),
                };
                (addresses, fields, header.flow_label().value(), place(header.slice())?)
            }
            NetSlice::Arp(_) => return None,
        };
        Some(Self {
            ethernet: frame.get(..offset)?,
            addresses,
            ip,
            flow_label,
            destination_port: udp.destination_port(),
            checksum: udp.checksum() != 0,
            payload: udp.payload(),
        })
    }

    /// The packet as CREM's functions see it.
    pub fn packet(&self) -> Packet<'a> {
        Packet { addresses: self.addresses, ip: self.ip, payload: self.payload }
    }

    /// Whether the UDP checksum, if there is one, is right: a datagram that was damaged on the way is no message.
    pub fn is_intact(&self, frame_udp_checksum: u16) -> bool {
        !self.checksum || self.computed() == Some(frame_udp_checksum)
    }

    fn computed(&self) -> Option<u16> {
        let header = udp_header(self.ip.source_port, self.destination_port, self.payload.len())?;
        checksum_of(&header, self.addresses, self.payload)
    }
}

/// The UDP checksum field of a frame that [`Seen::of`] took apart.
pub fn udp_checksum_of(frame: &[u8], seen: &Seen<'_>) -> u16 {
    let start = seen.payload.as_ptr().addr().wrapping_sub(frame.as_ptr().addr());
    let field = start.checked_sub(2).and_then(|at| frame.get(at..start));
    field.and_then(|octets| octets.first_chunk()).map_or(0, |octets| u16::from_be_bytes(*octets))
}

/// What frames of a flow have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    ethernet: Vec<u8>,
    flow_label: u32,
    checksum: bool,
}

impl Template {
    /// As a frame has it.
    pub fn of(seen: &Seen<'_>) -> Self {
        Self { ethernet: seen.ethernet.to_vec(), flow_label: seen.flow_label, checksum: seen.checksum }
    }

    /// Takes over what a later frame has.
    pub fn update(&mut self, seen: &Seen<'_>) {
        if self.ethernet != seen.ethernet {
            self.ethernet.clear();
            self.ethernet.extend_from_slice(seen.ethernet);
        }
        (self.flow_label, self.checksum) = (seen.flow_label, seen.checksum);
    }

    /// Writes the frame of a packet of the flow over `out`; false, and nothing in it, when it is too long for IP.
    pub fn packet(&self, packet: &Packet<'_>, out: &mut Vec<u8>) -> bool {
        let headers =
            Headers { to_port: wire::roce::UDP_PORT, flow_label: self.flow_label, checksum: self.checksum };
        write(&self.ethernet, packet, headers, out)
    }

    /// Writes the frame of a CREM message over `out`, along with the flow or, `back`, toward its source.
    pub fn message(&self, message: &OutOf<'_>, back: bool, out: &mut Vec<u8>) -> bool {
        let Some(addresses) = FlowAddresses::new(message.from, message.to.ip()) else { return false };
        let ip = IpFields {
            source_port: message.port,
            identification: 0,
            dont_fragment: true,
            dscp: message.dscp,
            // Marks on repair messages are what the sender function slows down for.
            ecn: wire::frame::Ecn::Ect0,
            hop_limit: MESSAGE_HOPS,
        };
        let packet = Packet { addresses, ip, payload: message.octets };
        let headers = Headers { to_port: message.to.port(), flow_label: 0, checksum: true };
        if !write(&self.ethernet, &packet, headers, out) {
            return false;
        }
        if back && let Some((to, rest)) = out.split_at_mut_checked(ADDRESSES / 2) {
            to.swap_with_slice(&mut rest[..ADDRESSES / 2]);
        }
        true
    }
}

/// Hops that CREM messages may take.
const MESSAGE_HOPS: u8 = 64;

/// A CREM message to be sent.
#[derive(Clone, Copy, Debug)]
pub struct OutOf<'a> {
    /// Source address.
    pub from: IpAddr,
    /// Where to.
    pub to: SocketAddr,
    /// Source port: the CREM port.
    pub port: u16,
    /// Its DSCP.
    pub dscp: u8,
    /// The message.
    pub octets: &'a [u8],
}

#[derive(Clone, Copy)]
struct Headers {
    to_port: u16,
    flow_label: u32,
    checksum: bool,
}

fn udp_header(from: u16, to: u16, payload: usize) -> Option<UdpHeader> {
    let length = u16::try_from(payload.checked_add(UdpHeader::LEN)?).ok()?;
    Some(UdpHeader { source_port: from, destination_port: to, length, checksum: 0 })
}

fn checksum_of(header: &UdpHeader, addresses: FlowAddresses, payload: &[u8]) -> Option<u16> {
    match addresses {
        FlowAddresses::V4 { source, destination } => {
            header.calc_checksum_ipv4_raw(source.octets(), destination.octets(), payload).ok()
        }
        FlowAddresses::V6 { source, destination } => {
            header.calc_checksum_ipv6_raw(source.octets(), destination.octets(), payload).ok()
        }
    }
}

/// Writes a frame over `out`; false, and nothing in it, when the packet is too long.
fn write(ethernet: &[u8], packet: &Packet<'_>, headers: Headers, out: &mut Vec<u8>) -> bool {
    out.clear();
    let written = try_write(ethernet, packet, headers, out).is_some();
    if !written {
        out.clear();
    }
    written
}

fn try_write(ethernet: &[u8], packet: &Packet<'_>, headers: Headers, out: &mut Vec<u8>) -> Option<()> {
    let Packet { addresses, ip, payload } = packet;
    let mut udp = udp_header(ip.source_port, headers.to_port, payload.len())?;
    if headers.checksum {
        udp.checksum = checksum_of(&udp, *addresses, payload)?;
    }
    let (dscp, ecn) = (IpDscp::try_new(ip.dscp).ok()?, IpEcn::from(ip.ecn));
    out.extend_from_slice(ethernet.get(..ethernet.len().checked_sub(2)?)?);
    match *addresses {
        FlowAddresses::V4 { source, destination } => {
            let mut header = Ipv4Header {
                dscp,
                ecn,
                total_len: udp.length.checked_add(Ipv4Header::MIN_LEN_U16)?,
                identification: ip.identification,
                dont_fragment: ip.dont_fragment,
                time_to_live: ip.hop_limit,
                protocol: IpNumber::UDP,
                source: source.octets(),
                destination: destination.octets(),
                ..Ipv4Header::default()
            };
            header.header_checksum = header.calc_header_checksum();
            out.extend_from_slice(&EtherType::IPV4.0.to_be_bytes());
            out.extend_from_slice(&header.to_bytes());
        }
        FlowAddresses::V6 { source, destination } => {
            let header = Ipv6Header {
                traffic_class: ip.dscp << 2 | ecn.value(),
                flow_label: Ipv6FlowLabel::try_new(headers.flow_label).ok()?,
                payload_length: udp.length,
                next_header: IpNumber::UDP,
                hop_limit: ip.hop_limit,
                source: source.octets(),
                destination: destination.octets(),
            };
            out.extend_from_slice(&EtherType::IPV6.0.to_be_bytes());
            out.extend_from_slice(&header.to_bytes());
        }
    }
    out.extend_from_slice(&udp.to_bytes());
    out.extend_from_slice(payload);
    Some(())
}
