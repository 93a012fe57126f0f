//! Ethernet, VLAN, IP and UDP, by etherparse.

use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, UdpHeader,
};

use super::data::Family;

/// What differs between the frames of a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layers {
    pub macs: [[u8; 6]; 2],
    pub vlan: Option<u16>,
    pub family: Family,
    /// Source and destination; of IPv4 the low 32 bits.
    pub addresses: [u128; 2],
    pub dscp: u8,
    pub ecn: u8,
    pub ttl: u8,
    /// IPv4 identification, or the IPv6 flow label.
    pub label: u32,
    pub dont_fragment: bool,
}

impl Layers {
    /// The whole frame: its IP packet has this protocol and payload.
    pub(super) fn frame(&self, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let [destination, source] = self.macs;
        let of_ip = match self.family {
            Family::V4 => EtherType::IPV4,
            Family::V6 => EtherType::IPV6,
        };
        let ether_type = if self.vlan.is_some() { EtherType::VLAN_TAGGED_FRAME } else { of_ip };
        let mut frame = Ethernet2Header { source, destination, ether_type }.to_bytes().to_vec();
        if let Some(tag) = self.vlan {
            frame.extend(tag.to_be_bytes());
            frame.extend(of_ip.0.to_be_bytes());
        }
        frame.extend(self.packet(protocol, payload));
        frame
    }

    /// The IP packet alone.
    pub(super) fn packet(&self, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let length = u16::try_from(payload.len()).unwrap_or(u16::MAX);
        let dscp = IpDscp::try_new(self.dscp).unwrap_or_default();
        let ecn = IpEcn::try_new(self.ecn).unwrap_or_default();
        let [source, destination] = self.addresses;
        let mut packet = match self.family {
            Family::V4 => {
                let mut header = Ipv4Header {
                    dscp,
                    ecn,
                    total_len: length.saturating_add(Ipv4Header::MIN_LEN_U16),
                    identification: u16::try_from(self.label).unwrap_or_default(),
                    dont_fragment: self.dont_fragment,
                    time_to_live: self.ttl,
                    protocol: IpNumber(protocol),
                    source: low(source),
                    destination: low(destination),
                    ..Ipv4Header::default()
                };
                header.header_checksum = header.calc_header_checksum();
                header.to_bytes().to_vec()
            }
            Family::V6 => {
                let mut header = Ipv6Header {
                    flow_label: Ipv6FlowLabel::try_new(self.label).unwrap_or_default(),
                    payload_length: length,
                    next_header: IpNumber(protocol),
                    hop_limit: self.ttl,
                    source: source.to_be_bytes(),
                    destination: destination.to_be_bytes(),
                    ..Ipv6Header::default()
                };
                header.set_dscp(dscp);
                header.set_ecn(ecn);
                header.to_bytes().to_vec()
            }
        };
        packet.extend(payload);
        packet
    }

    /// A UDP datagram, with its checksum unless it goes without.
    pub(super) fn datagram(&self, ports: (u16, u16), payload: &[u8], checksum: bool) -> Vec<u8> {
        let length = u16::try_from(UdpHeader::LEN + payload.len()).unwrap_or(u16::MAX);
        let mut header = UdpHeader { source_port: ports.0, destination_port: ports.1, length, checksum: 0 };
        let [source, destination] = self.addresses;
        if checksum {
            let sum = match self.family {
                Family::V4 => header.calc_checksum_ipv4_raw(low(source), low(destination), payload),
                Family::V6 => {
                    header.calc_checksum_ipv6_raw(source.to_be_bytes(), destination.to_be_bytes(), payload)
                }
            };
            // Refuses payloads that no frame of a case has.
            header.checksum = sum.unwrap_or_default();
        }
        let mut datagram = header.to_bytes().to_vec();
        datagram.extend(payload);
        datagram
    }
}

/// The low 32 bits.
fn low(address: u128) -> [u8; 4] {
    let [.., a, b, c, d] = address.to_be_bytes();
    [a, b, c, d]
}

/// Sets the IPv4 header checksum of an Ethernet frame without tag right again after a change, whatever the header says (RFC 1071).
pub fn renew_ip_checksum(frame: &mut [u8]) {
    let words = usize::from(frame[14] & 15);
    let header = &mut frame[14..14 + 4 * words];
    header[10..12].fill(0);
    let words = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    header[10..12].copy_from_slice(&(!u16::try_from(sum).unwrap_or_default()).to_be_bytes());
}
