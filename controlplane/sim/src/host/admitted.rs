//! Byte-window admission in front of a host's posts.
//!
//! Messages are cut into slices; each is posted when the controller admits it, and waits in its queue pair's queue otherwise.
//! The switches' reports move the windows: `CONGESTION_REPORT` that of the route to the flow's destination, Rate Advice that of
//! the device. All data goes as unscheduled data, because reports about scheduled data go to the receiver.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use admission::feedback::{congestion_report, rate_advice};
use admission::{
    Capacity, Config, Controller, DeviceId, DeviceSpec, Generation, Mode, PeerId, RouteId, RouteSpec, Ticket,
    Verdict,
};
use controller::topology::Topology;
use roce::{Completion, Endpoint};
use wire::rdcc::{Direction, FlowAddresses, Message};
use wire::scone::SconeDatagram;
use wire::units::{Micros, Nanos, Octets};

use super::nic::Nic;
use crate::parameters;
use crate::run::RunError;

/// What is posted at once: four packets, so that many senders' single slices don't fill a queue.
const SLICE: u64 = 16 << 10;

/// The one port of a host's NIC.
const PORT: u8 = 1;

/// A queue pair and what waits in front of it.
#[derive(Debug)]
struct Line {
    route: RouteId,
    generation: Generation,
    /// Octets that each waiting message has left.
    waiting: VecDeque<u64>,
}

/// The admission of a host.
#[derive(Debug)]
pub struct Admitted {
    controller: Controller,
    device: DeviceId,
    routes: BTreeMap<IpAddr, (RouteId, Generation)>,
    lines: BTreeMap<u32, Line>,
    /// Permits of what is posted, by queue pair, in the order of posting: so completions come.
    posted: BTreeMap<u32, VecDeque<Ticket>>,
    trusted: Vec<IpAddr>,
    rdcc_port: u16,
    scone_port: u16,
    epoch: Nanos,
    next_tick: Nanos,
}

impl Admitted {
    /// A controller whose windows fit the host's link: at most its bandwidth-delay product and a slice.
    pub fn new(topology: &Topology, name: &str, nic: &Nic) -> Result<Self, RunError> {
        let refused = |reason: String| RunError::Parameters {
            host: name.to_owned(),
            reason: format!("admission: {reason}"),
        };
        let (uplink, ..) = nic.uplink();
        let rtt = topology.rdcc.base_rtt_ns.max(1000);
        let bdp = u128::from(uplink.rate_bps) * u128::from(rtt) / 8_000_000_000;
        let config = Config {
            mode: Mode::Enforce,
            min_window: Octets(SLICE),
            max_window: Octets(SLICE + u64::try_from(bdp).unwrap_or(u64::MAX >> 32)),
            // Twice the base round-trip time: as much again may wait in queues.
            target_drain: Micros(u32::try_from(2 * rtt / 1000).unwrap_or(u32::MAX)),
            ..Config::default()
        };
        let controller =
            Controller::new(config, Capacity::default()).map_err(|error| refused(error.to_string()))?;
        let spec = DeviceSpec { addresses: vec![nic.address.into()] };
        let device = controller.open_device(spec, Nanos(0)).map_err(|error| refused(error.to_string()))?;
        Ok(Self {
            controller,
            device,
            routes: BTreeMap::new(),
            lines: BTreeMap::new(),
            posted: BTreeMap::new(),
            trusted: parameters::crn_addresses(topology),
            rdcc_port: topology.domain.ports.rdcc,
            scone_port: topology.domain.ports.scone,
            epoch: Nanos(rtt),
            next_tick: Nanos(0),
        })
    }

    /// A queue pair that this host will send on.
    pub fn add_qp(&mut self, qp: u32, peer: IpAddr, now: Nanos) -> Result<(), String> {
        let (route, generation) = if let Some(&route) = self.routes.get(&peer) {
            route
        } else {
            let number = PeerId(self.routes.len() as u64);
            let spec = RouteSpec { device: self.device, port: PORT, peer: number };
            let opened = self.controller.open_route(spec, now).map_err(|error| error.to_string())?;
            self.routes.insert(peer, opened);
            opened
        };
        self.lines.insert(qp, Line { route, generation, waiting: VecDeque::new() });
        Ok(())
    }

    /// Hands a message over.
    pub fn submit(&mut self, qp: u32, octets: u64) {
        if let Some(line) = self.lines.get_mut(&qp) {
            line.waiting.push_back(octets);
        }
    }

    /// A work request is over.
    pub fn completed(&mut self, completion: Completion, now: Nanos) {
        let ticket = self.posted.get_mut(&completion.qp).and_then(VecDeque::pop_front);
        if let Some(ticket) = ticket {
            let permit = self.controller.attach(ticket);
            // Nobody asks for a task's evidence here.
            let _ = permit.complete(completion.status.number(), 0, now);
        }
    }

    /// Whether the host takes datagrams at this port.
    pub fn hears(&self, port: u16) -> bool {
        port == self.rdcc_port || port == self.scone_port
    }

    /// A datagram to one of the ports; a report counts if it comes from a switch of the domain.
    pub fn take_datagram(&mut self, from: IpAddr, port: u16, octets: &[u8]) {
        if !self.trusted.contains(&from) {
            return;
        }
        if port == self.rdcc_port {
            self.take_report(octets);
        } else if let Ok(SconeDatagram::RateAdvice(advice)) = wire::scone::decode(octets)
            && let Some((address, feedback)) = rate_advice(advice.source, advice.rate)
            && let Some(device) = self.controller.device_of(address)
        {
            // The device is open as long as the host.
            let _ = self.controller.device_feedback(device, feedback);
        }
    }

    fn take_report(&mut self, octets: &[u8]) {
        let Ok((_, Message::CongestionReport(report))) = wire::rdcc::decode(octets) else { return };
        let destination = match report.flow {
            FlowAddresses::V4 { destination, .. } => IpAddr::V4(destination),
            FlowAddresses::V6 { destination, .. } => IpAddr::V6(destination),
        };
        if report.direction == Direction::TO_SENDER
            && let Some(&(route, _)) = self.routes.get(&destination)
        {
            // The route is open as long as the host.
            let _ = self.controller.route_feedback(route, congestion_report(&report));
        }
    }

    /// Ends an epoch that is over, and posts what is admitted, one slice of each queue pair in turn.
    pub fn work(&mut self, dscp: u8, roce: &mut Endpoint, now: Nanos) {
        if self.is_busy() && now >= self.next_tick {
            self.controller.tick(now);
            self.next_tick = now + self.epoch;
        }
        let mut posts = true;
        while posts {
            posts = false;
            for (&qp, line) in &mut self.lines {
                let Some(left) = line.waiting.front_mut() else { continue };
                let slice = SLICE.min(*left);
                let verdict = self.controller.try_acquire(line.route, line.generation, Octets(slice));
                let Verdict::Admit(permit) = verdict else { continue };
                // A slice is far below the longest message, and the queue pair exists.
                if roce.post(qp, 0, u32::try_from(slice).unwrap_or(u32::MAX), dscp, now).is_err() {
                    continue;
                }
                self.posted.entry(qp).or_default().push_back(permit.detach());
                *left -= slice;
                if *left == 0 {
                    line.waiting.pop_front();
                }
                posts = true;
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.posted.values().any(|posted| !posted.is_empty())
            || self.lines.values().any(|line| !line.waiting.is_empty())
    }

    /// Whether a window is below its largest.
    pub fn is_slowed(&self) -> bool {
        let below = |window: Octets| window < self.controller.config().max_window;
        let mut routes = self.routes.values().filter_map(|&(id, _)| self.controller.route_snapshot(id).ok());
        routes.any(|snapshot| below(snapshot.window))
            || self.controller.device_snapshot(self.device).is_ok_and(|snapshot| below(snapshot.window))
    }

    /// The end of the epoch, while there is something to measure.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.is_busy().then_some(self.next_tick)
    }
}
