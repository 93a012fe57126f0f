//! The checked topology: what the rest of the controller, the simulator and the agents read.
//!
//! Every value here has passed [`super::parse`]: references resolve, addresses are unique, thresholds are
//! ordered. Rates are bits per second, durations nanoseconds, sizes octets.

mod domain;
mod marking;
mod policies;
mod rdcc;
mod scone;
mod switch;
mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Places, Prefix, Problem};
use crate::pipeline::generated::constants;

pub use domain::{Domain, DomainPorts, DscpEntry, Role};
pub use marking::{MarkedFlow, Marking};
pub use policies::{AclAction, AclEntry, Policies, QueuePairRate, Reports, SourceRate};
pub use rdcc::{RdccHear, RdccOptions, RdccParams};
pub use scone::SconeParams;
pub use switch::{
    Chip, DeviceFiles, FrontPanel, P4RuntimeServer, Peer, PeerNode, PipelineFiles, PortOptions, PortRef,
    Queues, ReportLimit, Switch, Target, Tls, Tofino, Trust, Units,
};
pub use workload::{MessageShape, Mode, Workload};

/// How many priority queues a port has; 7 is served first.
pub const QUEUES: u8 = 8;
/// The queue that the switches' own reports travel in.
pub const REPORT_QUEUE: u8 = constants::CONTROL_QUEUE;
/// A whole, in millionths.
const WHOLE_PPM: u64 = 1_000_000;
/// Ports of a v1model switch are 0..=510; 511 means drop.
pub const MAX_PORT: u16 = 510;
/// The port to which reports are cloned when the file names none: the highest number, which never has an
/// interface.
pub const DEFAULT_CLONE_PORT: u16 = constants::REPORT_CLONE_PORT;

/// A checked topology.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// The name in the file.
    pub name: String,
    /// What holds everywhere in the limited domain.
    pub domain: Domain,
    /// Switches by name.
    pub switches: BTreeMap<String, Switch>,
    /// Hosts by name.
    pub hosts: BTreeMap<String, Host>,
    /// Links in the order of the file.
    pub links: Vec<Link>,
    /// Queue profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// The profile of queues that carry data.
    pub data_profile: String,
    /// The profile of queues of role control, and of [`REPORT_QUEUE`].
    pub control_profile: String,
    /// Receiver-Driven Credit Control's parameters, defaults filled in.
    pub rdcc: RdccParams,
    /// How senders follow rate advice.
    pub scone: SconeParams,
    /// What the simulator or the live run sends.
    pub workloads: Vec<Workload>,
    /// What operators decide about sources, queue pairs and packets.
    pub policies: Policies,
    /// Flows that are counted by Alternate Marking; none: no flow is.
    pub marking: Option<Marking>,
    /// What looks wrong but isn't refused.
    pub warnings: Vec<Problem>,
    /// Where its parts stand in the file: see [`Topology::place`].
    pub places: Places,
}

/// A shape that the file may ask for instead of listing every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One switch with hosts around it.
    Star,
    /// Every leaf linked to every spine.
    LeafSpine,
    /// Pods of edge and aggregation switches under cores.
    FatTree,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its address.
    pub address: Ipv4Addr,
    /// Its MAC: as given, else 02:00 followed by the address, so that it is the same on every run.
    pub mac: [u8; 6],
    /// The switch port it hangs on; of several that are aggregated, the first.
    pub attachment: PortRef,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// The addresses whose SCONE gateway it is (SCONE, Deployment across Intelligent Computing Data Centers).
    pub gateway_for: Option<Prefix>,
    /// Index into [`Topology::links`] of the link between; of several, the first.
    pub link: usize,
    /// The ports of [`Host::attachment`]'s switch that it hangs on, ascending: more than one where they are aggregated.
    pub ports: Vec<u16>,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// A switch port.
    Port(PortRef),
    /// A host, by name.
    Host(String),
}

/// A full-duplex link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its two ends; at least one is a switch port.
    pub ends: [End; 2],
    /// Rate of each direction in bit/s.
    pub rate_bps: u64,
    /// One-way propagation delay in nanoseconds.
    pub delay_ns: u64,
    /// What is lost of what leaves each of the ends, in millionths: in simulations and live runs; switches are told nothing of it.
    pub loss_ppm: [u32; 2],
    /// The link aggregation group that it is a member of: all with this number.
    pub lag: Option<usize>,
}

/// Thresholds of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Profile {
    /// `B_th` in octets: occupancy above which reports are sent (RDCC, On-Path Congestion Reports).
    pub b_th: u64,
    /// `Q_max` in octets: what the queue admits.
    pub q_max: u64,
    /// ECN marking threshold in octets.
    pub ecn_threshold: u64,
    /// Shortest time between two reports about one flow, in nanoseconds; whole microseconds.
    pub report_interval_ns: u64,
    /// What all reports of a port together may take of its link.
    pub report_limit: ReportLimit,
}

impl Topology {
    /// The queues that anything is put into: those of the DSCP map, queue 0 for unlisted DSCPs, and the
    /// reports' own.
    pub fn queues(&self) -> BTreeSet<u8> {
        self.domain.dscp.iter().map(|entry| entry.queue).chain([0, REPORT_QUEUE]).collect()
    }

    /// Name of the profile of a queue of a port; `None` if the switch or the port isn't in use.
    pub fn profile_name(&self, switch: &str, port: u16, queue: u8) -> Option<&str> {
        self.switches.get(switch)?.ports.get(&port)?;
        let control = queue == REPORT_QUEUE
            || self.domain.dscp.iter().any(|entry| entry.queue == queue && entry.role == Role::Control);
        if control {
            return Some(&self.control_profile);
        }
        let options = self.switches.get(switch)?.port_options.get(&port);
        Some(options.and_then(|options| options.profile.as_deref()).unwrap_or(&self.data_profile))
    }

    /// The thresholds of a queue of a port; `None` if the switch or the port isn't in use.
    pub fn profile(&self, switch: &str, port: u16, queue: u8) -> Option<&Profile> {
        self.profiles.get(self.profile_name(switch, port, queue)?)
    }

    /// What all reports of a port together may take of its link: the port's own limit, else that of its data queues'
    /// profile (RDCC, On-Path Congestion Reporting).
    pub fn report_limit(&self, switch: &str, port: u16) -> ReportLimit {
        let options = self.switches.get(switch).and_then(|switch| switch.port_options.get(&port));
        let own = options.and_then(|options| options.report_limit);
        let named = options.and_then(|options| options.profile.as_deref()).unwrap_or(&self.data_profile);
        own.or_else(|| Some(self.profiles.get(named)?.report_limit)).unwrap_or_default()
    }

    /// The same with this build's program on softswitch in the place of every Tofino: what runs where there is no chip.
    #[must_use]
    pub fn without_chips(mut self) -> Self {
        for switch in self.switches.values_mut().filter(|switch| switch.tofino.is_some()) {
            let free = (0..=DEFAULT_CLONE_PORT).rev().find(|port| !switch.ports.contains_key(port));
            switch.clone_port = free.unwrap_or(DEFAULT_CLONE_PORT);
            (switch.target, switch.tofino, switch.pipeline) = (Target::Soft, None, None);
        }
        self
    }

    /// The link at a switch port.
    pub fn link_at(&self, port: &PortRef) -> Option<&Link> {
        let peer = self.switches.get(&port.switch)?.ports.get(&port.port)?;
        self.links.get(peer.link)
    }

    /// What is lost of what leaves an end of a link, in millionths, in simulations and live runs: by the link's own `loss`, and,
    /// where the end is a workload's bottleneck, by the workload's; they lose independently.
    pub fn loss_ppm(&self, end: &End) -> u32 {
        let link = match end {
            End::Port(port) => self.link_at(port),
            End::Host(name) => self.hosts.get(name).and_then(|host| self.links.get(host.link)),
        };
        let own = link.and_then(|link| {
            let place = link.ends.iter().position(|other| other == end)?;
            link.loss_ppm.get(place).copied()
        });
        let here = |workload: &&Workload| *end == End::Port(workload.bottleneck.clone());
        let asked = self.workloads.iter().filter(here).map(|workload| workload.loss_ppm).max();
        let stays = |loss: Option<u32>| WHOLE_PPM.saturating_sub(loss.unwrap_or_default().into());
        // Rounded up: a small loss doesn't become none.
        let lost = WHOLE_PPM - stays(own) * stays(asked) / WHOLE_PPM;
        u32::try_from(lost).unwrap_or(u32::MAX)
    }

    /// The DSCP that packets of a role carry: the first of the map.
    pub fn dscp_of(&self, role: Role) -> Option<u8> {
        self.domain.dscp.iter().find(|entry| entry.role == role).map(|entry| entry.dscp)
    }

    /// The host with this address.
    pub fn host_by_address(&self, address: Ipv4Addr) -> Option<(&str, &Host)> {
        self.hosts.iter().find(|(_, host)| host.address == address).map(|(name, host)| (name.as_str(), host))
    }
}
