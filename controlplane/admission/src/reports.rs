//! The datagrams that drive a controller, read: which report it is, what it is about, and what it says
//! ([`crate::feedback`]). Whether its source is to be believed is the caller's to know.

use core::net::IpAddr;

use wire::rdcc::{Direction, Message};
use wire::roce::{Bth, Opcode};
use wire::scone::SconeDatagram;
use wire::units::MbitPerSec;

use crate::feedback::{Feedback, congestion_report, path_report, rate_advice};

/// The domain's control ports; each domain gives them its own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ControlPort {
    /// RDCC's.
    Rdcc,
    /// CREM's.
    Crem,
    /// SCONE's.
    Scone,
}

/// The kinds of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An RDCC `CONGESTION_REPORT` to the sender.
    CongestionReport,
    /// SCONE Rate Advice.
    RateAdvice,
    /// A CREM `PATH_REPORT` with cause congestion.
    PathReport,
    /// A CNP for a queue pair.
    Cnp,
    /// A receiver's grant below the one before.
    LowerGrant,
}

/// What a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum About {
    /// The route to this host.
    RouteTo(IpAddr),
    /// The device that has this address.
    DeviceOf(IpAddr),
}

/// A report of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Which.
    pub kind: Kind,
    /// About what.
    pub about: About,
    /// What it says.
    pub feedback: Feedback,
}

/// Reads a datagram that came to one of the ports; `None` for what is no report, or says nothing of congestion.
pub fn report(port: ControlPort, octets: &[u8]) -> Option<Report> {
    match port {
        ControlPort::Rdcc => match wire::rdcc::decode(octets) {
            Ok((_, Message::CongestionReport(report))) if report.direction == Direction::TO_SENDER => {
                Some(Report {
                    kind: Kind::CongestionReport,
                    about: About::RouteTo(report.flow.destination()),
                    feedback: congestion_report(&report),
                })
            }
            _ => None,
        },
        ControlPort::Crem => match wire::crem::decode(octets) {
            Ok((_, wire::crem::Message::PathReport(report))) => Some(Report {
                kind: Kind::PathReport,
                about: About::RouteTo(report.flow.destination()),
                feedback: report.entries.iter().find_map(|entry| path_report(entry.cause.0))?,
            }),
            _ => None,
        },
        ControlPort::Scone => match wire::scone::decode(octets) {
            Ok(SconeDatagram::RateAdvice(advice)) => {
                let (address, feedback) = rate_advice(advice.source, advice.rate)?;
                Some(Report { kind: Kind::RateAdvice, about: About::DeviceOf(address), feedback })
            }
            _ => None,
        },
    }
}

/// The message and the rate of a receiver's grant, from a datagram that came to the RDCC port
/// ([`crate::feedback::Grants`]); 0 is the pool.
pub fn grant(octets: &[u8]) -> Option<(u64, MbitPerSec)> {
    match wire::rdcc::decode(octets) {
        Ok((_, Message::CreditGrant(grant))) => Some((grant.message_id.0, grant.pacing_rate)),
        _ => None,
    }
}

/// The queue pair that a CNP is for, where the start of a `RoCEv2` packet's UDP payload is one's.
pub fn notified_qp(head: &[u8]) -> Option<u32> {
    Bth::decode(head).ok().filter(|bth| bth.opcode == Opcode::CNP).map(|bth| bth.destination_qp)
}

#[cfg(all(test, not(admission_loom)))]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;
    use wire::crem::{Cause, HopEntry, Method, PathReport};
    use wire::rdcc::{AssociationId, CongestionReport, Epoch, Flags, FlowAddresses, Header, SequenceNumber};
    use wire::scone::RateAdvice;
    use wire::units::Octets32;

    const US: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const THEM: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const FLOW: FlowAddresses = FlowAddresses::V4 { source: US, destination: THEM };

    fn congestion(direction: Direction) -> Vec<u8> {
        let report = CongestionReport {
            reporter_id: 7,
            queue_depth: Octets32(200),
            queue_threshold: Octets32(100),
            congestion_degree: 3,
            direction,
            protocol: 17,
            source_port: 1,
            destination_port: 4791,
            suggested_rate: MbitPerSec(500),
            flow: FLOW,
        };
        let header = Header {
            association_id: AssociationId(0),
            epoch: Epoch(0),
            flags: Flags::NONE,
            sequence_number: SequenceNumber(1),
        };
        Message::CongestionReport(report).to_octets(&header)
    }

    fn path(cause: u8) -> Vec<u8> {
        let entry = HopEntry {
            node_id: 1,
            period: 0,
            lost: 2,
            delay_change: 0,
            cause: Cause(cause),
            psns: Vec::new(),
        };
        let report = PathReport { method: Method(3), flow: FLOW, flow_label: 0x11, entries: vec![entry] };
        let header = wire::crem::Header { flags: wire::crem::Flags::NONE, flow_id: wire::crem::FlowId(0) };
        wire::crem::Message::PathReport(report).to_octets(&header)
    }

    #[test]
    fn each_report_is_read_at_its_own_port_only() {
        let rate = |rate| Feedback::Congestion { rate };
        let advice = RateAdvice { rate: MbitPerSec(40), source: US.into() }.to_octets();
        let route = About::RouteTo(THEM.into());
        let cases = [
            (congestion(Direction::TO_SENDER), ControlPort::Rdcc, route, rate(Some(MbitPerSec(500)))),
            (path(1), ControlPort::Crem, route, rate(None)),
            (advice, ControlPort::Scone, About::DeviceOf(US.into()), rate(Some(MbitPerSec(40)))),
        ];
        for (octets, at, about, feedback) in &cases {
            for port in [ControlPort::Rdcc, ControlPort::Crem, ControlPort::Scone] {
                let read = report(port, octets).map(|report| (report.about, report.feedback));
                assert_eq!(read, (port == *at).then_some((*about, *feedback)), "{at:?} {port:?}");
            }
            for end in 0..octets.len() {
                assert_eq!(report(*at, &octets[..end]), None, "cut at {end}");
            }
        }
    }

    #[test]
    fn what_is_for_the_receiver_or_no_congestion_says_nothing() {
        assert_eq!(report(ControlPort::Rdcc, &congestion(Direction::TO_RECEIVER)), None);
        assert_eq!(report(ControlPort::Crem, &path(2)), None);
        assert_eq!(grant(&congestion(Direction::TO_SENDER)), None);
        assert_eq!(notified_qp(&[0; 12]), None);
    }
}
