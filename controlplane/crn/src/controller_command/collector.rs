//! The collector of Alternate Marking on real switches and a real socket: reads through P4Runtime, reports over UDP.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use controller::machine::{Controller, ControllerEvent};
use controller::marking::Collector;
use controller::topology::{Role, Topology};
use nix::sys::socket::{setsockopt, sockopt};
use tracing::{info, warn};
use wire::crem::{Flags, FlowId, Header, Message, PathReport};
use wire::units::Nanos;

use super::metrics::Metrics;

/// The collector and its socket.
pub struct Collecting {
    collector: Option<Collector>,
    /// The domain's CREM port.
    port: u16,
    from: Option<Ipv6Addr>,
    dscp: u8,
    socket: Option<UdpSocket>,
    metrics: Arc<Metrics>,
    /// Why the last report wasn't sent.
    failure: Option<String>,
}

impl Collecting {
    /// Collects what a topology's `marking` names, from now on.
    pub fn new(topology: &Topology, metrics: Arc<Metrics>, now: Nanos) -> Collecting {
        let collector = Collector::new(topology, now);
        if let (Some(_), Some(marking)) = (&collector, &topology.marking) {
            info!(flows = marking.flows.len(), "collecting the counters of marked flows");
        }
        Collecting {
            collector,
            port: topology.domain.ports.crem,
            from: topology.marking.as_ref().and_then(|marking| marking.collector),
            dscp: topology.dscp_of(Role::Control).unwrap_or(0),
            socket: None,
            metrics,
            failure: None,
        }
    }

    /// When to call [`Collecting::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.collector.as_ref().map(Collector::poll_timeout)
    }

    /// Asks switches for their counters, if it is time to.
    pub fn handle_timeout(&mut self, controller: &mut Controller, now: Nanos) {
        let Some(collector) = &mut self.collector else { return };
        for switch in collector.handle_timeout(now) {
            let entities = collector.request(&switch, &controller.pipeline(&switch).index);
            if !controller.read_cells(&switch, entities, now) {
                collector.answer(&switch, None, now);
            }
        }
        self.report();
    }

    /// Takes what concerns it of what the controller tells.
    pub fn heard(&mut self, event: &ControllerEvent, controller: &Controller, now: Nanos) {
        let Some(collector) = &mut self.collector else { return };
        match event {
            ControllerEvent::Read { switch, entities } => {
                let index = &controller.pipeline(switch).index;
                let read = entities.as_ref().ok();
                let reading = read.map(|entities| collector.reading(switch, index, entities));
                collector.answer(switch, reading, now);
            }
            // What it was asked for won't come.
            ControllerEvent::Failed { switch, .. } | ControllerEvent::Backup { switch } => {
                collector.answer(switch, None, now);
            }
            _ => {}
        }
        self.report();
    }

    /// Sends what has been measured.
    fn report(&mut self) {
        while let Some(measured) = self.collector.as_mut().and_then(Collector::poll_measured) {
            self.metrics.measured(&measured);
            let Some((to, report)) = &measured.report else { continue };
            let sent = self.send(*to, report);
            self.metrics.reported(&measured.flow, sent.is_ok());
            let failure = sent.err();
            if let Some(failure) = failure.as_ref().filter(|failure| self.failure.as_ref() != Some(failure)) {
                warn!(flow = measured.flow, %to, "its path report wasn't sent: {failure}");
            }
            self.failure = failure;
        }
    }

    //= CREM, Path Reports: 83ca4c54
    fn send(&mut self, to: IpAddr, report: &PathReport) -> Result<(), String> {
        let header = Header { flags: Flags::NONE, flow_id: FlowId(0) };
        let octets = Message::PathReport(report.clone()).to_octets(&header);
        if self.socket.is_none() {
            self.socket = Some(self.open()?);
        }
        let Some(socket) = &self.socket else { return Ok(()) };
        socket.send_to(&octets, SocketAddr::new(to, self.port)).map(|_| ()).map_err(|error| error.to_string())
    }

    fn open(&self) -> Result<UdpSocket, String> {
        let from = self.from.unwrap_or(Ipv6Addr::UNSPECIFIED);
        let socket = UdpSocket::bind((from, 0)).map_err(|error| format!("{from}: {error}"))?;
        socket.set_nonblocking(true).map_err(|error| error.to_string())?;
        setsockopt(&socket, sockopt::Ipv6TClass, &i32::from(self.dscp << 2))
            .map_err(|errno| errno.desc().to_owned())?;
        Ok(socket)
    }
}
