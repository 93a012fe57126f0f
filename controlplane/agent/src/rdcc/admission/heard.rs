//! The reports that move windows, and from whom they are believed.

use std::net::{IpAddr, Ipv4Addr};

use admission::classify::Scope;
use admission::evidence::Reason;
use admission::feedback::{Feedback, cnp};
use admission::reports::{About, ControlPort, Kind, Report, grant, report};
use wire::rdcc::MessageId;
use wire::units::Nanos;

use super::Admission;

/// Where reports come to, besides the RDCC port; the domain's numbers. Without one of them those reports aren't heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportPorts {
    /// The CREM port: `PATH_REPORT`s.
    pub crem: Option<u16>,
    /// The SCONE port: Rate Advice.
    pub scone: Option<u16>,
}

impl ReportPorts {
    /// The ports that are given, in an order that stays.
    pub fn given(self) -> Vec<(ControlPort, u16)> {
        let ports = [(ControlPort::Crem, self.crem), (ControlPort::Scone, self.scone)];
        ports.into_iter().filter_map(|(port, number)| Some((port, number?))).collect()
    }
}

/// Reports that moved windows, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// RDCC `CONGESTION_REPORT`s to the sender.
    pub congestion_reports: u64,
    /// SCONE Rate Advice.
    pub rate_advice: u64,
    /// CREM `PATH_REPORT`s with cause congestion.
    pub path_reports: u64,
    /// CNPs.
    pub cnps: u64,
    /// Grants that gave a message a lower rate than before.
    pub lower_grants: u64,
    /// Reports from elsewhere than the domain's switches, and about hosts that nothing is sent to.
    pub ignored: u64,
}

impl Admission {
    /// Which port the datagrams of the `index`th of [`ReportPorts::given`] came to.
    pub fn port(&self, index: usize) -> Option<ControlPort> {
        self.ports.given().get(index).map(|(port, _)| *port)
    }

    /// A datagram that came to one of the domain's ports.
    pub fn take_datagram(&mut self, from: IpAddr, port: ControlPort, octets: &[u8], now: Nanos) {
        if let Some(Report { kind, about, feedback }) = report(port, octets) {
            if self.trusted.contains(&from) {
                self.tell(kind, about, feedback, now);
            } else {
                self.heard.ignored += 1;
            }
        } else if port == ControlPort::Rdcc
            && let Some((message, rate)) = grant(octets)
            && let IpAddr::V4(peer) = from
            && let Some(way) = self.ways.get_mut(&peer)
            && let Some(feedback) = way.grants.granted(message, rate)
        {
            self.tell(Kind::LowerGrant, About::RouteTo(from), feedback, now);
        }
    }

    /// A CNP for a queue pair to this receiver.
    pub fn notified(&mut self, peer: Ipv4Addr, now: Nanos) {
        self.tell(Kind::Cnp, About::RouteTo(peer.into()), cnp(), now);
    }

    fn tell(&mut self, kind: Kind, about: About, feedback: Feedback, now: Nanos) {
        let told = match about {
            About::RouteTo(IpAddr::V4(to)) => {
                self.seen_by_tasks(to, feedback, now);
                self.ways.get(&to).map(|way| self.controller.route_feedback(way.route, feedback))
            }
            About::RouteTo(IpAddr::V6(_)) => None,
            About::DeviceOf(address) => self
                .controller
                .device_of(address)
                .map(|device| self.controller.device_feedback(device, feedback)),
        };
        let heard = &mut self.heard;
        let count = match kind {
            _ if told.is_none_or(|told| told.is_err()) => &mut heard.ignored,
            Kind::CongestionReport => &mut heard.congestion_reports,
            Kind::RateAdvice => &mut heard.rate_advice,
            Kind::PathReport => &mut heard.path_reports,
            Kind::Cnp => &mut heard.cnps,
            Kind::LowerGrant => &mut heard.lower_grants,
        };
        *count += 1;
    }

    /// Messages under way to this host can be asked about it.
    fn seen_by_tasks(&mut self, to: Ipv4Addr, feedback: Feedback, now: Nanos) {
        let reason = match feedback {
            Feedback::Congestion { .. } => Reason::CongestionFeedback,
            Feedback::ReceiverPressure { .. } => Reason::ReceiverPressure,
        };
        let Some(way) = self.ways.get(&to) else { return };
        let Some(seen) = self.controller.observe(way.route, reason, Scope::Route, now) else { return };
        for (_, task) in self.tasks.range_mut((to, MessageId(0))..=(to, MessageId(u64::MAX))) {
            task.record(seen);
        }
    }
}
