//! Byte-window admission in front of a host's posts.
//!
//! Messages are cut into slices; each is posted when the controller admits it, and waits in its queue pair's queue otherwise.
//! With credit in front, a slice is what a permit of the credit covers.
//!
//! What is heard moves the windows: `CONGESTION_REPORT`, CNP, `PATH_REPORT` with cause congestion and a receiver's lower grant
//! that of the route to the flow's destination, Rate Advice that of the device.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use admission::feedback::{Feedback, Grants, cnp};
use admission::reports::{About, ControlPort, Kind, Report, grant, notified_qp, report};
use admission::{
    Capacity, Config, Controller, DeviceId, DeviceSpec, Generation, Mode, PeerId, RouteId, RouteSpec, Ticket,
    Verdict,
};
use controller::topology::{DomainPorts, Topology};
use roce::{Completion, Endpoint};
use wire::units::{Micros, Nanos, Octets};

use super::nic::Nic;
use crate::parameters;
use crate::run::RunError;
use crate::summary::Heard;

/// What is posted at once: four packets, so that many senders' single slices don't fill a queue.
const SLICE: u64 = 16 << 10;

/// The one port of a host's NIC.
const PORT: u8 = 1;

/// A queue pair and what waits in front of it.
#[derive(Debug)]
struct Line {
    peer: IpAddr,
    route: RouteId,
    generation: Generation,
    waiting: VecDeque<Waiting>,
}

/// A message that waits, or what is left of it.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    octets: u64,
    /// Posted as one, because somebody counts the posts.
    whole: bool,
    dscp: u8,
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
    /// What receivers grant.
    grants: BTreeMap<IpAddr, Grants>,
    trusted: Vec<IpAddr>,
    ports: DomainPorts,
    heard: Heard,
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
            grants: BTreeMap::new(),
            trusted: parameters::crn_addresses(topology),
            ports: topology.domain.ports,
            heard: Heard::default(),
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
        self.lines.insert(qp, Line { peer, route, generation, waiting: VecDeque::new() });
        Ok(())
    }

    /// Hands a message over, to be posted in slices.
    pub fn submit(&mut self, qp: u32, octets: u64, dscp: u8) {
        self.wait(qp, Waiting { octets, whole: false, dscp });
    }

    /// Hands over what is to be one post.
    pub fn submit_whole(&mut self, qp: u32, octets: u32, dscp: u8) {
        self.wait(qp, Waiting { octets: octets.into(), whole: true, dscp });
    }

    fn wait(&mut self, qp: u32, waiting: Waiting) {
        if let Some(line) = self.lines.get_mut(&qp) {
            line.waiting.push_back(waiting);
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

    /// A RoCEv2 packet that came: a CNP for a queue pair of ours is congestion of its route.
    pub fn take_packet(&mut self, from: IpAddr, head: &[u8]) {
        let line = notified_qp(head).and_then(|qp| self.lines.get(&qp));
        if line.is_some_and(|line| line.peer == from) {
            self.tell(Kind::Cnp, About::RouteTo(from), cnp());
        }
    }

    /// A datagram to one of the domain's ports: a report counts if it comes from a switch of the domain, a grant if it comes
    /// from a receiver of ours.
    pub fn take_datagram(&mut self, from: IpAddr, port: u16, octets: &[u8]) {
        let ports = [
            (self.ports.rdcc, ControlPort::Rdcc),
            (self.ports.crem, ControlPort::Crem),
            (self.ports.scone, ControlPort::Scone),
        ];
        let Some(&(_, port)) = ports.iter().find(|(number, _)| *number == port) else { return };
        if self.trusted.contains(&from) {
            if let Some(Report { kind, about, feedback }) = report(port, octets) {
                self.tell(kind, about, feedback);
            }
        } else if port == ControlPort::Rdcc
            && self.routes.contains_key(&from)
            && let Some((message, rate)) = grant(octets)
            && let Some(feedback) = self.grants.entry(from).or_default().granted(message, rate)
        {
            self.tell(Kind::LowerGrant, About::RouteTo(from), feedback);
        }
    }

    fn tell(&mut self, kind: Kind, about: About, feedback: Feedback) {
        let told = match about {
            About::RouteTo(to) => {
                self.routes.get(&to).map(|&(route, _)| self.controller.route_feedback(route, feedback))
            }
            About::DeviceOf(address) => self
                .controller
                .device_of(address)
                .map(|device| self.controller.device_feedback(device, feedback)),
        };
        if told.is_some_and(|told| told.is_ok()) {
            let Heard { reports, advice, cnps, path_reports, grants } = &mut self.heard;
            let count = match kind {
                Kind::CongestionReport => reports,
                Kind::RateAdvice => advice,
                Kind::PathReport => path_reports,
                Kind::Cnp => cnps,
                Kind::LowerGrant => grants,
            };
            *count += 1;
        }
    }

    /// What moved windows so far.
    pub fn heard(&self) -> Heard {
        self.heard
    }

    /// A message of the credit is over.
    pub fn message_ended(&mut self, peer: IpAddr, message: u64) {
        if let Some(grants) = self.grants.get_mut(&peer) {
            grants.ended(message);
        }
    }

    /// Ends an epoch that is over, and posts what is admitted, one slice of each queue pair in turn.
    pub fn work(&mut self, roce: &mut Endpoint, now: Nanos) {
        if self.is_busy() && now >= self.next_tick {
            self.controller.tick(now);
            self.next_tick = now + self.epoch;
        }
        let mut posts = true;
        while posts {
            posts = false;
            for (&qp, line) in &mut self.lines {
                let Some(first) = line.waiting.front_mut() else { continue };
                let slice = if first.whole { first.octets } else { SLICE.min(first.octets) };
                let verdict = self.controller.try_acquire(line.route, line.generation, Octets(slice));
                let Verdict::Admit(permit) = verdict else { continue };
                // A slice is far below the longest message, and the queue pair exists.
                if roce.post(qp, 0, u32::try_from(slice).unwrap_or(u32::MAX), first.dscp, now).is_err() {
                    continue;
                }
                self.posted.entry(qp).or_default().push_back(permit.detach());
                first.octets -= slice;
                if first.octets == 0 {
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
