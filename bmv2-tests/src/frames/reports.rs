//! What the switch must say, octet by octet from the documents.

use super::data::{Data, Family, address};
use super::layers::Layers;
use super::{
    CONTROL, CREM_PORT, RDCC_PORT, REPORTER_ADDRESS, REPORTER_ADDRESS_6, REPORTER_ID, ROUTER_MAC, SCHEDULED,
    SCONE_PORT, host_mac,
};

/// The priority of a report's VLAN tag: that of CS6.
const REPORT_PCP: u16 = 6;

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
        let addresses = self.about.address_octets();
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
        message.extend([self.degree, direction, family(&self.about), 17]);
        message.extend(self.about.ports.0.to_be_bytes());
        message.extend(self.about.ports.1.to_be_bytes());
        message.extend(self.rate.to_be_bytes());
        message.extend(addresses);
        sent(&self.about, self.to(), RDCC_PORT, &message)
    }
}

/// A `PATH_REPORT` about a refused data frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathReport {
    /// The frame that it was made from, a RoCEv2 packet.
    pub about: Data,
    /// The host that hears it.
    pub to: u8,
    /// Drops of the flow since its last report.
    pub lost: u32,
    /// CREM's cause.
    pub cause: u8,
    /// PSNs of the packets before it that it names, oldest first.
    pub held: Vec<u32>,
}

impl PathReport {
    /// The first report about a flow: one drop, told to the source.
    #[must_use]
    pub const fn first(about: Data, cause: u8) -> PathReport {
        PathReport { about, to: about.src, lost: 1, cause, held: Vec::new() }
    }

    /// The frame as it leaves. IPv4, 90 octets: Ethernet 14, IPv4 20, UDP 8, CREM header 8, body 4, addresses 8, flow
    /// label 4, hop entry 20, PSN 4; each PSN more, 4.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        let addresses = self.about.address_octets();
        let named = u8::try_from(self.held.len() + 1).unwrap_or(u8::MAX);
        let mut message = Vec::with_capacity(88);
        // CREM, Message Formats: version 1 and type 8, Truncated, length, no Flow ID.
        message.extend([0x18, if self.lost > u32::from(named) { 0x80 } else { 0 }]);
        let octets = 36 + addresses.len() + 4 * usize::from(named);
        message.extend(u16::try_from(octets).unwrap_or_default().to_be_bytes());
        message.extend([0; 4]);
        // CREM, Path Reports: method 3, one entry.
        message.extend([3, 1, family(&self.about), 0]);
        message.extend(addresses);
        let (qp, psn) = self.about.roce.map_or((0, 0), |roce| (roce.qp, roce.psn));
        message.extend(qp.to_be_bytes());
        // The hop entry: node, period, lost, delay change, cause, PSN count, reserved, PSNs.
        message.extend(REPORTER_ID.to_be_bytes());
        message.extend([0; 4]);
        message.extend(self.lost.to_be_bytes());
        message.extend([0; 4]);
        message.extend([self.cause, named, 0, 0]);
        for psn in self.held.iter().chain([&psn]) {
            message.extend(psn.to_be_bytes());
        }
        sent(&self.about, self.to, CREM_PORT, &message)
    }
}

/// Rate Advice to the source of a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The frame that it was made from.
    pub about: Data,
    /// Mbit/s.
    pub rate: u32,
}

impl Advice {
    /// The frame as it leaves. IPv4, 58 octets: Ethernet 14, IPv4 20, UDP 8, message 16. IPv6, 90 octets.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        // SCONE, Payload Format: version 1, rate, source address, reserved.
        let mut message = 1u32.to_be_bytes().to_vec();
        message.extend(self.rate.to_be_bytes());
        let addresses = self.about.address_octets();
        message.extend(&addresses[..addresses.len() / 2]);
        message.extend([0; 4]);
        sent(&self.about, self.about.src, SCONE_PORT, &message)
    }
}

/// Address family as the documents number it.
const fn family(about: &Data) -> u8 {
    match about.family {
        Family::V4 => 4,
        Family::V6 => 6,
    }
}

/// The frame of a report: it has the data frame's tag with a control priority, and a hash of the flow in its source port and flow label; the
/// switch makes it with TTL 64 and routes it like any other packet.
fn sent(about: &Data, to: u8, port: u16, message: &[u8]) -> Vec<u8> {
    let hash = about.flow_hash();
    let (source, label) = match about.family {
        Family::V4 => (u32::from_be_bytes(REPORTER_ADDRESS).into(), 0),
        Family::V6 => (REPORTER_ADDRESS_6, hash & 0xf_ffff),
    };
    let layers = Layers {
        macs: [host_mac(to), ROUTER_MAC],
        vlan: about.vlan.map(|tag| REPORT_PCP << 13 | tag & 0xfff),
        family: about.family,
        addresses: [source, address(about.family, to)],
        dscp: CONTROL,
        ecn: 0,
        ttl: 63,
        label,
        dont_fragment: true,
    };
    let source_port = 0xc000 | u16::try_from(hash >> 16 & 0x3fff).unwrap_or_default();
    layers.frame(17, &layers.datagram((source_port, port), message, true))
}
