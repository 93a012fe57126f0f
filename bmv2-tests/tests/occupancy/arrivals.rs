//! What enters the switch under test.

use bmv2_tests::frames::{CONTROL, Data, Family, NO_ROLE, UNSCHEDULED};
use bmv2_tests::program::CPU_PORT;

/// A UDP port that the ACL refuses.
pub const DENIED: u16 = 50999;

/// Something that enters.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub kind: Kind,
    pub port: u16,
    pub ipv6: bool,
    pub octets: usize,
}

/// What enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data that is reported about to its receiver.
    Scheduled,
    /// Data that is reported about to its sender.
    Unscheduled,
    /// Data that nothing is said about.
    Unclassified,
    /// A datagram for the control queue.
    Control,
    /// Data that the ACL refuses: an I2E clone becomes its report.
    Denied,
    /// Data to all ports.
    Multicast,
    /// A frame of the controller's that isn't IP, for the control queue: of no known length, hence not charged.
    NotIp,
}

/// The frame, and the port that it enters through.
pub fn frame(arrival: Arrival) -> (u16, Vec<u8>) {
    let Arrival { kind, port, ipv6, octets } = arrival;
    let family = if ipv6 && kind != Kind::Multicast { Family::V6 } else { Family::V4 };
    let data = Data {
        family,
        src: 1,
        dst: u8::try_from(port).unwrap(),
        ..Data::scheduled(octets.max(if family == Family::V6 { 82 } else { 62 }))
    };
    let data = match kind {
        Kind::Scheduled => data,
        Kind::Unscheduled => Data { dscp: UNSCHEDULED, ..data },
        Kind::Unclassified => Data { dscp: NO_ROLE, ..data },
        Kind::Control => Data { dscp: CONTROL, ports: (50000, 7), ..data },
        Kind::Denied => Data { ports: (50000, DENIED), ..data },
        Kind::Multicast => Data { dst: 9, ..data },
        Kind::NotIp => {
            let mut frame = (port << 7).to_be_bytes().to_vec();
            frame.extend([0xff; 6].iter().chain(&[2, 0, 0, 0, 0, 1, 0x08, 0x06]));
            frame.resize(2 + 60, 0);
            return (CPU_PORT, frame);
        }
    };
    (1, data.sent())
}
