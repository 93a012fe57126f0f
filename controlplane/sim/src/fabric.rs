//! Switches, hosts and links, and the loop that moves frames between them.

use std::collections::BTreeMap;

use controller::topology::{PeerNode, PortRef, Topology, Workload};
use softswitch::{Packet, PortConfig, QueueRate};
use wire::units::Nanos;

use crate::control::Control;
use crate::event::EventQueue;
use crate::host::{Host, HostEvent};
use crate::link::{self, FRAME_OVERHEAD, Link};
use crate::losses::Losses;
use crate::measure::{self, Deliveries, QueueTrace};
use crate::pipeline::Pipeline;
use crate::run::{Outcome, Progress, RunError};
use crate::summary::{Bottleneck, Crem, Heard, PathLoss, Rdcc, Reaction, Reports, Steady, Summary};
use crate::workload::{Batches, Transfer};
use controller::topology::Scheme;

/// A batch that delivers nothing for so long, beyond what its own delays explain, never will.
const PATIENCE: Nanos = Nanos(200_000_000);

/// The smallest frame; with it and the queue's octets follows how many packets a queue may have to hold.
const SMALLEST_FRAME: u64 = 64;

/// Packets that may wait to become reports: more than ever do, since they don't wait.
const CLONE_QUEUE: u32 = 65_536;

/// What happens at an instant.
#[derive(Debug)]
enum Event {
    /// A frame has arrived whole at a switch's port.
    AtSwitch { switch: usize, port: u16, frame: Packet },
    /// A frame has arrived whole at a host.
    AtHost { host: usize, frame: Packet },
    /// A port of a switch may send its next packet.
    Departure { switch: usize, port: u16 },
    /// A host's machines want to be called.
    HostTimer { host: usize },
    /// A host's NIC has sent its frame.
    NicFree { host: usize },
    /// The next batch starts.
    Batch,
}

/// Where a switch's port leads.
#[derive(Clone, Copy, Debug)]
enum Neighbour {
    Host(usize),
    Switch(usize, u16),
}

#[derive(Debug)]
struct SwitchState {
    neighbours: BTreeMap<u16, (Neighbour, Link)>,
    /// The host that is the gateway here, which takes the Rate Advice that would leave over a link between switches.
    gateway: Option<(usize, Link)>,
    /// The departure that is planned for a port; an event at any other time is outdated.
    planned: BTreeMap<u16, Nanos>,
}

/// The fabric of one run.
pub struct Fabric<'a> {
    topology: &'a Topology,
    scheme: Scheme,
    seed: u64,
    now: Nanos,
    events: EventQueue<Event>,
    control: Control,
    switches: Vec<SwitchState>,
    hosts: Vec<Host>,
    /// Sender and receiver of each pair, as indices of hosts.
    pairs: Vec<(usize, usize)>,
    workload: &'a Workload,
    batches: Batches,
    /// The queue that is watched: switch, port, queue.
    watched: (usize, u16, u8),
    queue: QueueTrace,
    b_th: u64,
    /// The first dequeue above `B_th`.
    congested_at: Option<Nanos>,
    /// The first sender below its link's rate after that.
    cut_at: Option<Nanos>,
    /// The first sender that took advice after that.
    advised_at: Option<Nanos>,
    deliveries: Deliveries,
    losses: Losses,
}

impl<'a> Fabric<'a> {
    /// Builds the fabric; nothing has happened yet.
    pub fn new(
        topology: &'a Topology,
        workload: &'a Workload,
        pipeline: &Pipeline,
        scheme: Scheme,
        seed: u64,
    ) -> Result<Self, RunError> {
        let switch_index: BTreeMap<_, _> =
            topology.switches.keys().zip(0..).map(|(n, i)| (n.as_str(), i)).collect();
        let host_index: BTreeMap<_, _> =
            topology.hosts.keys().zip(0..).map(|(n, i)| (n.as_str(), i)).collect();
        let missing = |name: &str| RunError::Missing(name.to_owned());

        let mut switches = Vec::new();
        for switch in topology.switches.values() {
            let mut neighbours = BTreeMap::new();
            for (&port, peer) in &switch.ports {
                let neighbour = match &peer.node {
                    PeerNode::Host(name) => {
                        Neighbour::Host(*host_index.get(name.as_str()).ok_or_else(|| missing(name))?)
                    }
                    PeerNode::Switch(name, port) => Neighbour::Switch(
                        *switch_index.get(name.as_str()).ok_or_else(|| missing(name))?,
                        *port,
                    ),
                };
                neighbours.insert(port, (neighbour, link_of(topology, peer.link)?));
            }
            let gateway = neighbours.values().find_map(|&(neighbour, link)| match neighbour {
                Neighbour::Host(index) => {
                    topology.hosts.values().nth(index)?.gateway_for.map(|_| (index, link))
                }
                Neighbour::Switch(..) => None,
            });
            switches.push(SwitchState { neighbours, gateway, planned: BTreeMap::new() });
        }

        let hosts = topology
            .hosts
            .iter()
            .zip(0..)
            .map(|((name, host), index)| {
                Host::new(topology, name, host, scheme, workload.payload, host_seed(seed, index))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let pairs = workload
            .pairs
            .iter()
            .map(|(from, to)| {
                let index =
                    |name: &String| host_index.get(name.as_str()).copied().ok_or_else(|| missing(name));
                Ok((index(from)?, index(to)?))
            })
            .collect::<Result<Vec<_>, RunError>>()?;

        let PortRef { switch, port } = &workload.bottleneck;
        let bottleneck_switch = *switch_index.get(switch.as_str()).ok_or_else(|| missing(switch))?;
        let &(_, bottleneck_link) = switches[bottleneck_switch]
            .neighbours
            .get(port)
            .ok_or_else(|| missing(&workload.bottleneck.to_string()))?;
        let data_queue = crate::host::data_queue(topology)?;

        let mut fabric = Self {
            topology,
            scheme,
            seed,
            now: Nanos(0),
            events: EventQueue::default(),
            control: Control::new(topology, pipeline)?,
            switches,
            hosts,
            pairs,
            workload,
            batches: Batches::new(workload, bottleneck_link, Nanos(topology.rdcc.base_rtt_ns)),
            watched: (bottleneck_switch, *port, data_queue),
            queue: QueueTrace::default(),
            b_th: topology.profile(switch, *port, data_queue).map_or(0, |profile| profile.b_th),
            congested_at: None,
            cut_at: None,
            advised_at: None,
            deliveries: Deliveries::new(workload.pairs.len()),
            losses: Losses::new(topology, host_seed(seed, u64::MAX)),
        };
        fabric.configure_ports();
        Ok(fabric)
    }

    /// Gives each port its link's rate, and queues long enough that only the program's own admission drops.
    fn configure_ports(&mut self) {
        for (index, (name, switch)) in self.topology.switches.iter().enumerate() {
            for (&port, &(_, link)) in &self.switches[index].neighbours {
                let octets = (0..controller::topology::QUEUES)
                    .filter_map(|queue| self.topology.profile(name, port, queue))
                    .map(|profile| profile.q_max)
                    .max()
                    .unwrap_or(0);
                let rate = QueueRate::BitsPerSecond {
                    rate: link.rate_bps,
                    overhead_octets_per_packet: FRAME_OVERHEAD,
                };
                let queue_packets = u32::try_from(2 * octets / SMALLEST_FRAME).unwrap_or(u32::MAX);
                self.control.set_port(index, port, PortConfig { rate, queue_packets, queue_octets: None });
            }
            // Clones become reports and go back at once; nothing may be lost there.
            let config =
                PortConfig { rate: QueueRate::Unlimited, queue_packets: CLONE_QUEUE, queue_octets: None };
            self.control.set_port(index, switch.clone_port, config);
        }
    }

    /// Runs to the end of the workload.
    pub fn run(mut self, progress: &mut dyn FnMut(Progress)) -> Result<Outcome, RunError> {
        self.control.configure_all(&mut self.now)?;
        let start = self.connect()?;
        self.events.push(start, Event::Batch);
        self.report_progress(progress);
        let rdcc = &self.topology.rdcc;
        let patience = PATIENCE + Nanos(10 * (rdcc.base_rtt_ns + rdcc.start_jitter_ns));
        let mut completed = 0;
        while let Some((at, event)) = self.events.pop() {
            if self.batches.idle_for(at) > patience {
                break;
            }
            self.now = at;
            self.handle(event)?;
            let (done, planned) = self.batches.progress();
            if done != completed {
                completed = done;
                self.report_progress(progress);
                if done == planned {
                    break;
                }
            }
        }
        self.outcome()
    }

    fn report_progress(&self, progress: &mut dyn FnMut(Progress)) {
        let (completed, batches) = self.batches.progress();
        progress(Progress { completed, batches });
    }

    /// Makes queue pairs and associations; the first batch starts when associations have had time to come up.
    fn connect(&mut self) -> Result<Nanos, RunError> {
        for index in 0..self.pairs.len() {
            let (from, to) = self.pairs[index];
            Host::connect(&mut self.hosts, from, to, index, self.workload.payload, self.now)?;
            self.pump(from);
            self.pump(to);
        }
        Ok(self.now + Nanos(4 * self.topology.rdcc.base_rtt_ns))
    }

    fn handle(&mut self, event: Event) -> Result<(), RunError> {
        match event {
            Event::AtSwitch { switch, port, frame } => {
                if let Some(sw) = self.control.switch(switch) {
                    sw.ingress(port, frame, self.now.0);
                }
                self.plan_departures(switch);
            }
            Event::Departure { switch, port } => self.depart(switch, port),
            Event::AtHost { host, frame } => {
                self.hosts[host].receive(&frame, self.now);
                self.pump(host);
            }
            Event::HostTimer { host } => {
                if self.hosts[host].timer_due(self.now) {
                    self.pump(host);
                }
            }
            Event::NicFree { host } => self.pump(host),
            Event::Batch => self.start_batch()?,
        }
        Ok(())
    }

    fn start_batch(&mut self) -> Result<(), RunError> {
        for transfer in self.batches.start(self.now).into_iter().flatten() {
            let shape = self.workload.messages[transfer.shape];
            Host::send(&mut self.hosts, self.pairs[transfer.pair], transfer, shape, self.now)?;
        }
        for index in 0..self.pairs.len() {
            self.pump(self.pairs[index].0);
        }
        Ok(())
    }

    /// Lets a host do what it can, and plans what follows from it.
    fn pump(&mut self, host: usize) {
        let now = self.now;
        while let Some(event) = self.hosts[host].pump(now) {
            match event {
                HostEvent::Transmit(frame) => self.transmit(host, frame),
                HostEvent::Activity => self.batches.activity(now),
                HostEvent::Delivered { pair, frame_octets } => {
                    self.batches.delivered(frame_octets, now);
                    self.deliveries.record(pair, frame_octets, now);
                }
                HostEvent::Completed(transfer) => self.complete(transfer),
            }
        }
        if self.congested_at.is_some() {
            let host = &mut self.hosts[host];
            if self.cut_at.is_none() && host.is_slowed(now) {
                self.cut_at = Some(now);
            }
            if self.advised_at.is_none() && host.was_advised() {
                self.advised_at = Some(now);
            }
        }
        if let Some(at) = self.hosts[host].arm_timer(now) {
            self.events.push(at, Event::HostTimer { host });
        }
    }

    fn complete(&mut self, transfer: Transfer) {
        if self.batches.completed(transfer, self.now) {
            self.events.push(self.now + Nanos(self.workload.gap_ns), Event::Batch);
        }
    }

    /// Puts a frame on a host's link. The host has checked that its NIC is free.
    fn transmit(&mut self, host: usize, frame: Packet) {
        let (link, switch, port) = self.hosts[host].uplink();
        let sent = self.now + link.serialisation(link::on_the_link(frame.len() as u64));
        self.hosts[host].nic_busy_until(sent);
        self.events.push(sent, Event::NicFree { host });
        if !self.losses.of_host(host) {
            self.events.push(sent + link.delay, Event::AtSwitch { switch, port, frame });
        }
    }

    fn depart(&mut self, switch: usize, port: u16) {
        let now = self.now;
        if self.switches[switch].planned.get(&port) != Some(&now) {
            return;
        }
        self.switches[switch].planned.remove(&port);
        let Some(sw) = self.control.switch(switch) else { return };
        let departure = sw.dequeue(port, now.0);
        let (watched, watched_port, queue) = self.watched;
        if (watched, watched_port) == (switch, port) && sw.queue(port, queue).octets > self.b_th {
            self.congested_at.get_or_insert(now);
        }
        let frame = departure.and_then(|departure| departure.packet);
        let is_lost = frame.is_some() && self.losses.of_port(switch, port);
        if let Some(frame) = frame.filter(|_| !is_lost)
            && let Some(&(neighbour, link)) = self.switches[switch].neighbours.get(&port)
        {
            let (neighbour, link) = match (neighbour, self.switches[switch].gateway) {
                (Neighbour::Switch(..), Some((gateway, link))) if self.is_own_advice(&frame) => {
                    (Neighbour::Host(gateway), link)
                }
                _ => (neighbour, link),
            };
            let at = now + link.serialisation(link::on_the_link(frame.len() as u64)) + link.delay;
            let event = match neighbour {
                Neighbour::Host(host) => Event::AtHost { host, frame },
                Neighbour::Switch(switch, port) => Event::AtSwitch { switch, port, frame },
            };
            self.events.push(at, event);
        }
        self.plan_departures(switch);
    }

    /// Whether a frame is Rate Advice of a switch: what a gateway on the way intercepts.
    fn is_own_advice(&self, frame: &Packet) -> bool {
        wire::frame::parse(frame.head()).is_ok_and(|parsed| {
            let domain = &self.topology.domain;
            parsed.datagram.destination_port == domain.ports.scone
                && domain.crn_addresses.contains(&parsed.datagram.source)
        })
    }

    /// After anything that may have put packets into queues: one pending event per port.
    fn plan_departures(&mut self, switch: usize) {
        let now = self.now;
        let planned = &mut self.switches[switch].planned;
        let Some(sw) = self.control.switch(switch) else { return };
        for port in sw.active_ports() {
            let Some(at) = sw.next_departure(port) else { continue };
            let at = Nanos(at).max(now);
            if planned.get(&port).is_none_or(|&planned| at < planned) {
                planned.insert(port, at);
                self.events.push(at, Event::Departure { switch, port });
            }
        }
        let (watched, port, queue) = self.watched;
        if watched == switch {
            self.queue.record(now, sw.queue(port, queue).octets);
        }
    }

    /// Microseconds from the first dequeue above `B_th` to `at`.
    fn after_congestion(&self, at: Option<Nanos>) -> Option<f64> {
        Some((at? - self.congested_at?).0 as f64 / 1000.0)
    }

    fn outcome(mut self) -> Result<Outcome, RunError> {
        let (switch, port, queue) = self.watched;
        let name = &self.workload.bottleneck.switch;
        let counters = self.control.counters(&mut self.now)?;
        let tail_drops = self.control.switch(switch).map_or(0, |sw| sw.queue(port, queue).tail_drops);
        let enqueued = self.control.switch(switch).map_or(0, |sw| sw.queue(port, queue).enqueued);
        let refused = counters.refused(name, port, queue);
        if enqueued + refused == 0 {
            return Err(RunError::Bottleneck(self.workload.bottleneck.to_string()));
        }
        let batches = self.batches.intervals(self.now);
        let mut rdcc = Rdcc::default();
        for stats in self.hosts.iter().filter_map(Host::receiver_stats) {
            rdcc.budget_octets = rdcc.budget_octets.max(stats.budget);
            rdcc.outstanding_peak_octets = rdcc.outstanding_peak_octets.max(stats.outstanding_peak);
            rdcc.invariant_violations += stats.invariant_violations;
        }
        let gap = measure::episode_gap(Nanos(self.topology.rdcc.base_rtt_ns));
        let came = || self.hosts.iter().filter_map(Host::reports_that_came);
        let episodes = came().map(|came| measure::episodes(&came.times, gap)).sum();
        let deepest_octets = came().map(|came| came.deepest_octets).max().unwrap_or_default();
        let mut heard = Heard::default();
        for of_host in self.hosts.iter().filter_map(Host::heard) {
            heard.reports += of_host.reports;
            heard.advice += of_host.advice;
            heard.cnps += of_host.cnps;
            heard.path_reports += of_host.path_reports;
            heard.grants += of_host.grants;
        }
        let (mut crem, mut octets) = (Crem::default(), [0; 2]);
        let mut path = PathLoss { lost: self.losses.lost(), sent_again: 0 };
        for host in &self.hosts {
            host.add_repair(&mut crem, &mut octets);
            path.sent_again += host.sent_again();
        }
        crem.repair_share = octets[1] as f64 / octets[0].max(1) as f64;
        let summary = Summary {
            scheme: self.scheme.name(),
            seed: self.seed,
            messages: self.batches.messages(),
            goodput_mbps: self.batches.goodput_mbps(self.now),
            bottleneck: Bottleneck {
                queue_peak_octets: self.queue.peak(),
                queue_mean_octets: self.queue.mean(&batches),
                b_th_octets: self.b_th,
                drops: refused + tail_drops,
                utilisation: self.batches.utilisation(),
            },
            reaction: Reaction {
                first_cut_us: self.after_congestion(self.cut_at),
                first_advice_us: self.after_congestion(self.advised_at),
            },
            steady: Steady {
                queue_mean_octets: self.queue.mean(self.batches.steady()),
                fairness: measure::jain(&self.deliveries.octets(self.batches.steady())),
            },
            reports: Reports { episodes, deepest_octets, ..counters.reports() },
            heard,
            rdcc,
            crem,
            path,
        };
        Ok(Outcome {
            summary,
            bottleneck: self.workload.bottleneck.to_string(),
            queue: self.queue,
            deliveries: self.deliveries,
            batches,
        })
    }
}

fn link_of(topology: &Topology, index: usize) -> Result<Link, RunError> {
    let link = topology.links.get(index).ok_or_else(|| RunError::Missing(format!("link {index}")))?;
    Ok(Link { rate_bps: link.rate_bps, delay: Nanos(link.delay_ns) })
}

/// A host's own seed: the run's seed and the host's number, so that hosts differ and runs repeat.
fn host_seed(seed: u64, index: u64) -> [u8; 32] {
    let mut octets = [0; 32];
    octets[..8].copy_from_slice(&seed.to_le_bytes());
    octets[8..16].copy_from_slice(&index.to_le_bytes());
    octets
}
