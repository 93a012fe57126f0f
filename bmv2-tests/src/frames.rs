//! Frames that enter, and the reports that must come out, octet by octet from the documents.
//!
//! Nothing here is shared with the crates that encode for the endpoints: an error there can't hide here.

/// The switch's own MAC address.
pub const ROUTER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];
/// What the switch calls itself in reports.
pub const REPORTER_ID: u32 = 77;
/// The address that reports come from.
pub const REPORTER_ADDRESS: [u8; 4] = [10, 255, 0, 1];
/// The address that reports about IPv6 come from, `fd00::ff01`.
pub const REPORTER_ADDRESS_6: u128 = 0xfd00 << 112 | 0xff01;
/// The domain's RDCC port.
pub const RDCC_PORT: u16 = 52100;
/// RoCEv2's UDP port.
pub const ROCE_PORT: u16 = 4791;
/// DSCP of scheduled data.
pub const SCHEDULED: u8 = 26;
/// DSCP of unscheduled data.
pub const UNSCHEDULED: u8 = 28;
/// DSCP of control datagrams and of reports.
pub const CONTROL: u8 = 48;
/// DSCP without a role.
pub const NO_ROLE: u8 = 0;

/// Octets of headers of an IPv4 data frame: Ethernet 14, IPv4 20, UDP 8.
pub const HEADERS: usize = 42;
/// Octets of headers of an IPv6 data frame: Ethernet 14, IPv6 40, UDP 8.
pub const HEADERS_6: usize = 62;

/// Internet protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// A data frame of a host of the test bed: host N is 10.0.0.N and `fd00::N`, behind port N.
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
    /// Octets of the whole frame; at least [`HEADERS`] or [`HEADERS_6`].
    pub octets: usize,
    /// Written into the payload, so that frames can be told apart.
    pub mark: u8,
}

impl Data {
    /// Scheduled RoCEv2 data from host 1 to host 2.
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
        }
    }

    /// Unscheduled RoCEv2 data from host 1 to host 2.
    #[must_use]
    pub const fn unscheduled(octets: usize) -> Data {
        Data { dscp: UNSCHEDULED, ..Data::scheduled(octets) }
    }

    /// As the host sends it to the router.
    #[must_use]
    pub fn sent(&self) -> Vec<u8> {
        self.frame(ROUTER_MAC, host_mac(self.src), self.ttl)
    }

    /// As the router passes it on.
    #[must_use]
    pub fn forwarded(&self) -> Vec<u8> {
        self.frame(host_mac(self.dst), ROUTER_MAC, self.ttl - 1)
    }

    /// What it costs in a queue: the whole frame, at least 64 octets.
    #[must_use]
    pub fn charge(&self) -> u32 {
        u32::try_from(self.octets.max(64)).unwrap_or(u32::MAX)
    }

    fn frame(&self, dst_mac: [u8; 6], src_mac: [u8; 6], ttl: u8) -> Vec<u8> {
        let headers = match self.family {
            Family::V4 => HEADERS,
            Family::V6 => HEADERS_6,
        };
        let payload = vec![self.mark; self.octets.saturating_sub(headers)];
        let udp = udp(self.ports, &payload);
        let tos = self.dscp << 2 | self.ecn;
        match self.family {
            Family::V4 => {
                let (src, dst) = (host_address(self.src), host_address(self.dst));
                ethernet(dst_mac, src_mac, &ipv4(IpFields { tos, id: 1, flags: 0, ttl, src, dst }, udp))
            }
            Family::V6 => {
                let (src, dst) = (host_address_6(self.src), host_address_6(self.dst));
                ethernet_6(dst_mac, src_mac, &ipv6(Ip6Fields { tos, label: 0x12345, ttl, src, dst }, udp))
            }
        }
    }

    /// The hash that the switch knows the flow by: CRC-32 of addresses, protocol and ports.
    #[must_use]
    pub fn flow_hash(&self) -> u32 {
        let mut tuple = self.addresses();
        tuple.push(17);
        tuple.extend(self.ports.0.to_be_bytes());
        tuple.extend(self.ports.1.to_be_bytes());
        crc32fast::hash(&tuple)
    }

    /// Source and destination.
    fn addresses(&self) -> Vec<u8> {
        match self.family {
            Family::V4 => [host_address(self.src), host_address(self.dst)].concat(),
            Family::V6 => {
                [host_address_6(self.src), host_address_6(self.dst)].map(u128::to_be_bytes).concat()
            }
        }
    }
}

/// A `CONGESTION_REPORT` about a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The frame that it is about.
    pub about: Data,
    /// Number of the report among those about the same port, from 1.
    pub sequence: u32,
    /// Octets behind the frame in its queue.
    pub queue_depth: u32,
    /// `B_th`.
    pub threshold: u32,
    /// Degree.
    pub degree: u8,
    /// Suggested rate, Mbit/s; 0: none.
    pub rate: u32,
}

impl Report {
    /// Scheduled: to the receiver. Unscheduled: to the sender (RDCC, On-Path Congestion Reporting).
    #[must_use]
    pub const fn to(&self) -> u8 {
        if self.about.dscp == SCHEDULED { self.about.dst } else { self.about.src }
    }

    /// The frame as it leaves. IPv4, 90 octets: Ethernet 14, IPv4 20, UDP 8, RDCC header 16, body 24, addresses 8.
    /// IPv6, 134 octets: Ethernet 14, IPv6 40, UDP 8, RDCC header 16, body 24, addresses 32.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        let addresses = self.about.addresses();
        let family = match self.about.family {
            Family::V4 => 4,
            Family::V6 => 6,
        };
        let mut message = Vec::with_capacity(72);
        // RDCC, Message Formats: version 1, type 6, length of the whole message, no association, no flags.
        message.extend([0x10, 6]);
        message.extend(u16::try_from(40 + addresses.len()).unwrap_or_default().to_be_bytes());
        message.extend([0; 4]);
        message.extend([0; 4]);
        message.extend(self.sequence.to_be_bytes());
        // RDCC, CONGESTION_REPORT.
        message.extend(REPORTER_ID.to_be_bytes());
        message.extend(self.queue_depth.to_be_bytes());
        message.extend(self.threshold.to_be_bytes());
        let direction = if self.about.dscp == SCHEDULED { 1 } else { 2 };
        message.extend([self.degree, direction, family, 17]);
        message.extend(self.about.ports.0.to_be_bytes());
        message.extend(self.about.ports.1.to_be_bytes());
        message.extend(self.rate.to_be_bytes());
        message.extend(addresses);

        let hash = self.about.flow_hash();
        let port = 0xc000 | u16::try_from(hash >> 16 & 0x3fff).unwrap_or_default();
        let udp = udp((port, RDCC_PORT), &message);
        let (tos, mac) = (CONTROL << 2, host_mac(self.to()));
        // The switch makes it with TTL 64 and routes it like any other packet.
        match self.about.family {
            Family::V4 => {
                let (src, dst) = (REPORTER_ADDRESS, host_address(self.to()));
                ethernet(
                    mac,
                    ROUTER_MAC,
                    &ipv4(IpFields { tos, id: 0, flags: 0x4000, ttl: 63, src, dst }, udp),
                )
            }
            Family::V6 => {
                let (src, dst) = (REPORTER_ADDRESS_6, host_address_6(self.to()));
                let label = hash & 0xf_ffff;
                ethernet_6(mac, ROUTER_MAC, &ipv6(Ip6Fields { tos, label, ttl: 63, src, dst }, udp))
            }
        }
    }
}

/// `10.0.0.N`.
#[must_use]
pub const fn host_address(host: u8) -> [u8; 4] {
    [10, 0, 0, host]
}

/// `fd00::N`.
#[must_use]
pub const fn host_address_6(host: u8) -> u128 {
    0xfd00 << 112 | host as u128
}

/// `02:00:00:00:00:N`.
#[must_use]
pub const fn host_mac(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, host]
}

/// Sets the IPv4 header checksum of an Ethernet frame right again after a change.
pub fn renew_ip_checksum(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let sum = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
}

#[derive(Clone, Copy)]
struct IpFields {
    tos: u8,
    id: u16,
    flags: u16,
    ttl: u8,
    src: [u8; 4],
    dst: [u8; 4],
}

#[derive(Clone, Copy)]
struct Ip6Fields {
    tos: u8,
    label: u32,
    ttl: u8,
    src: u128,
    dst: u128,
}

fn ethernet(dst: [u8; 6], src: [u8; 6], ip: &[u8]) -> Vec<u8> {
    [&dst, &src, &[0x08, 0x00][..], ip].concat()
}

fn ethernet_6(dst: [u8; 6], src: [u8; 6], ip: &[u8]) -> Vec<u8> {
    [&dst, &src, &[0x86, 0xdd][..], ip].concat()
}

/// A whole packet; sets the checksums.
fn ipv4(fields: IpFields, mut datagram: Vec<u8>) -> Vec<u8> {
    set_udp_checksum(&mut datagram, &fields.src, &fields.dst);
    let length = u16::try_from(20 + datagram.len()).unwrap_or(u16::MAX);
    let mut ip = vec![0x45, fields.tos];
    ip.extend(length.to_be_bytes());
    ip.extend(fields.id.to_be_bytes());
    ip.extend(fields.flags.to_be_bytes());
    ip.extend([fields.ttl, 17, 0, 0]);
    ip.extend(fields.src);
    ip.extend(fields.dst);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip.extend(datagram);
    ip
}

/// A whole packet; sets the checksum.
fn ipv6(fields: Ip6Fields, mut datagram: Vec<u8>) -> Vec<u8> {
    let (src, dst) = (fields.src.to_be_bytes(), fields.dst.to_be_bytes());
    set_udp_checksum(&mut datagram, &src, &dst);
    let first = 6 << 28 | u32::from(fields.tos) << 20 | fields.label;
    let mut ip = first.to_be_bytes().to_vec();
    ip.extend(u16::try_from(datagram.len()).unwrap_or(u16::MAX).to_be_bytes());
    ip.extend([17, fields.ttl]);
    ip.extend(src);
    ip.extend(dst);
    ip.extend(datagram);
    ip
}

fn udp(ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + payload.len()).unwrap_or(u16::MAX);
    let mut udp = Vec::with_capacity(8 + payload.len());
    udp.extend(ports.0.to_be_bytes());
    udp.extend(ports.1.to_be_bytes());
    udp.extend(length.to_be_bytes());
    udp.extend([0, 0]);
    udp.extend(payload);
    udp
}

/// Over the pseudo header (RFC 768, RFC 8200): the same sum for both families' forms of it.
fn set_udp_checksum(udp: &mut [u8], src: &[u8], dst: &[u8]) {
    let mut covered = [src, dst].concat();
    covered.extend([0, 17]);
    covered.extend_from_slice(&udp[4..6]);
    covered.extend_from_slice(udp);
    // RFC 768: a sum of 0 is sent as all ones.
    let sum = match checksum(&covered) {
        0 => 0xffff,
        sum => sum,
    };
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 1071.
fn checksum(octets: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in octets.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071's text.
    #[test]
    fn internet_checksum() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn a_report_has_90_octets_and_sums_that_hold() {
        let report = Report {
            about: Data::scheduled(1000),
            sequence: 1,
            queue_depth: 5000,
            threshold: 2500,
            degree: 3,
            rate: 0,
        };
        let frame = report.frame();
        assert_eq!(frame.len(), 90);
        assert_eq!(checksum(&frame[14..34]), 0);
        let mut covered = frame[26..34].to_vec();
        covered.extend([0, 17, 0, 56]);
        covered.extend(&frame[34..]);
        assert_eq!(checksum(&covered), 0);
    }
}
