//! The checked topology: what the rest of the controller, the simulator and the agents read.
//!
//! Every value here has passed [`super::parse`]: references resolve, addresses are unique, thresholds are
//! ordered. Rates are bits per second, durations nanoseconds, sizes octets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Places, Prefix, Problem, Scheme};

/// How many priority queues a port has; 7 is served first.
pub const QUEUES: u8 = 8;
/// The queue that the switches' own reports travel in.
pub const REPORT_QUEUE: u8 = 7;
/// Ports of a v1model switch are 0..=510; 511 means drop.
pub const MAX_PORT: u16 = 510;
/// The port to which reports are cloned when the file names none: the highest number, which never has an
/// interface.
pub const DEFAULT_CLONE_PORT: u16 = 510;

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
    /// What looks wrong but isn't refused.
    pub warnings: Vec<Problem>,
    /// Where its parts stand in the file: see [`Topology::place`].
    pub places: Places,
}

/// What holds in the whole limited domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// The three UDP ports.
    pub ports: DomainPorts,
    /// What each DSCP means; DSCPs that aren't listed have no role, class 0 and queue 0.
    pub dscp: Vec<DscpEntry>,
    /// Addresses that reports may come from: every switch's own (RDCC, Security Considerations).
    pub crn_addresses: BTreeSet<Ipv4Addr>,
    /// Likewise, of IPv6.
    pub crn_addresses_v6: BTreeSet<Ipv6Addr>,
    /// Traffic classes that PFC keeps from losing packets.
    pub lossless_classes: BTreeSet<u8>,
    /// Reports besides the congestion reports.
    pub reports: Reports,
}

/// The UDP ports of the three protocols. None has a default, by specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainPorts {
    /// RDCC's port.
    pub rdcc: u16,
    /// CREM's port.
    pub crem: u16,
    /// SCONE's port.
    pub scone: u16,
}

/// What a packet's DSCP says about its part in RDCC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Neither scheduled nor unscheduled: nobody is told about it.
    None,
    /// Data sent against credit; reports go to the receiver.
    Scheduled,
    /// Data sent ahead of credit; reports go to the sender.
    Unscheduled,
    /// Control datagrams and reports.
    Control,
}

impl Role {
    /// The number the P4 program knows the role by.
    pub const fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Scheduled => 1,
            Self::Unscheduled => 2,
            Self::Control => 3,
        }
    }

    /// The role's name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Scheduled => "scheduled",
            Self::Unscheduled => "unscheduled",
            Self::Control => "control",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One line of the DSCP map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DscpEntry {
    /// The codepoint, 0..=63.
    pub dscp: u8,
    /// What packets with it are.
    pub role: Role,
    /// Traffic class, 0..=7 (RDCC, Credit Allocation: lower first).
    pub class: u8,
    /// Queue, 0..=7; 7 is served first.
    pub queue: u8,
}

/// What a switch is, and so how it is reached and what it can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// softswitch: BMv2's program in process, or served over P4Runtime.
    Soft,
    /// `simple_switch_grpc`.
    Bmv2,
    /// An Intel Tofino.
    Tofino,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// What it is.
    pub target: Target,
    /// P4Runtime device id.
    pub device_id: u64,
    /// Reporter ID in its reports.
    pub reporter_id: u32,
    /// The source address of its reports.
    pub address: Ipv4Addr,
    /// Where its P4Runtime server listens, as `host:port`; needed only when it is reached over gRPC.
    pub p4runtime: Option<String>,
    /// The port without an interface that reports are cloned to.
    pub clone_port: u16,
    /// The source address of its reports about IPv6 packets; none: nothing is reported about those.
    pub ipv6: Option<Ipv6Addr>,
    /// Ports that differ from the rest.
    pub port_options: BTreeMap<u16, PortOptions>,
    /// Who is at the other end of each port in use.
    pub ports: BTreeMap<u16, Peer>,
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

/// How a port differs from the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortOptions {
    /// Profile of its data queues; none: [`Topology::data_profile`].
    pub profile: Option<String>,
    /// How far it is believed.
    pub trust: Trust,
}

/// How far a port is believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Inside the domain: DSCPs keep their roles, control datagrams come in.
    #[default]
    Trusted,
    /// At the domain's boundary: neither.
    Boundary,
}

/// Reports besides the congestion reports; what is `None` isn't sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// Shortest time between two `PATH_REPORT`s about one flow in nanoseconds; whole microseconds.
    pub path_interval_ns: Option<u64>,
    /// Rate Advice: shortest time between two to one source in nanoseconds, and the lowest rate in bit/s.
    pub rate_advice: Option<(u64, u64)>,
    /// Rate Signal: its type octet, and the lowest rate in bit/s.
    pub rate_signal: Option<(u8, u64)>,
}

/// What operators decide about sources, queue pairs and packets, on every switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// Rates that sources are advised not to exceed.
    pub source_rates: Vec<SourceRate>,
    /// Rates that queue pairs are told not to exceed.
    pub queue_pair_rates: Vec<QueuePairRate>,
    /// The first entry that matches decides.
    pub acl: Vec<AclEntry>,
    /// Where `PATH_REPORT`s about sources go instead of to the source.
    pub report_to: Vec<(Prefix, IpAddr)>,
    /// Send reports only toward sources that are at home on the port their packets came in by.
    pub source_check: bool,
}

/// A rate that sources are advised not to exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceRate {
    /// The sources.
    pub from: Prefix,
    /// Traffic class; none: all.
    pub class: Option<u8>,
    /// Rate in bit/s.
    pub rate_bps: u64,
}

/// A rate that a queue pair is told not to exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairRate {
    /// The host that the queue pair is on.
    pub to: IpAddr,
    /// Its number, 24 bits.
    pub qp: u32,
    /// Rate in bit/s.
    pub rate_bps: u64,
}

/// What happens to packets that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AclAction {
    /// They are dropped, and reported with cause policy.
    Deny,
    /// They go on.
    Permit,
}

/// Packets that are dropped or let through; `None` is any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AclEntry {
    /// What happens to them.
    pub action: AclAction,
    /// Sources.
    pub from: Option<Prefix>,
    /// Destinations.
    pub to: Option<Prefix>,
    /// IP protocol.
    pub protocol: Option<u8>,
    /// UDP or TCP source port.
    pub source_port: Option<u16>,
    /// UDP or TCP destination port.
    pub destination_port: Option<u16>,
}

/// The other end of a switch port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Who is there.
    pub node: PeerNode,
    /// Index into [`Topology::links`].
    pub link: usize,
}

/// Who is at the other end of a switch port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerNode {
    /// A host, by name.
    Host(String),
    /// A port of another switch, by the switch's name and its port.
    Switch(String, u16),
}

/// A port of a switch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRef {
    /// The switch's name.
    pub switch: String,
    /// The port's number.
    pub port: u16,
}

impl fmt::Display for PortRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.switch, self.port)
    }
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its address.
    pub address: Ipv4Addr,
    /// Its MAC: as given, else 02:00 followed by the address, so that it is the same on every run.
    pub mac: [u8; 6],
    /// The switch port it hangs on.
    pub attachment: PortRef,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// The addresses whose SCONE gateway it is (SCONE, Deployment across Intelligent Computing Data Centers).
    pub gateway_for: Option<Prefix>,
    /// Index into [`Topology::links`] of the link between.
    pub link: usize,
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
}

/// RDCC's parameters (RDCC, Default Parameters), with that section's guidance where the file says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdccParams {
    /// Base round-trip time in nanoseconds. Default: twice the delay of the longest path between two hosts.
    pub base_rtt_ns: u64,
    /// G in octets. Default: 2 BDP of the fastest access link.
    pub budget: u64,
    /// `G_u` in octets. Default: G / 4.
    pub unscheduled_budget: u64,
    /// U in octets. Default: `G_u` divided by the most senders that share a receiver, at most one BDP.
    pub unscheduled_limit: u64,
    /// J in nanoseconds. Default: the base round-trip time.
    pub start_jitter_ns: u64,
    /// Credit Unit in octets. Default: the largest payload of the workloads, else 4096.
    pub credit_unit: u64,
    /// Grant Lifetime in nanoseconds. Default: 4 base round-trip times, at least 100 us.
    pub grant_lifetime_ns: u64,
    /// `N_cu` in octets. Default: 2 BDP of the fastest access link.
    pub backlog_threshold: u64,
    /// `D_max`, the longest one-way delay of the domain, in nanoseconds. Default: half the base round-trip
    /// time plus what the largest queue on the way takes to drain at the slowest link's rate.
    pub max_delay_ns: u64,
}

/// How senders follow rate advice (SCONE, Sender-Side Rate Coordination); `None`: the sender's own default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SconeParams {
    /// Between two steps of a bound, in nanoseconds.
    pub step_interval_ns: Option<u64>,
    /// How much of the gap to the advised rate a step closes, in percent.
    pub step_percent: Option<u8>,
    /// How long advice holds, in nanoseconds.
    pub expiry_ns: Option<u64>,
    /// By how much of itself an expired bound rises a step, in percent.
    pub release_percent: Option<u8>,
}

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Against credit.
    Scheduled,
    /// Ahead of credit, up to U.
    Unscheduled,
}

/// One message of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageShape {
    /// Length in octets.
    pub size: u64,
    /// How it is sent.
    pub mode: Mode,
}

/// Traffic: in each batch every sender sends each of the messages to its receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// (sender, receiver) by host name: all senders to the one receiver, pairwise, or the one sender to all receivers.
    pub pairs: Vec<(String, String)>,
    /// How many batches.
    pub batches: u32,
    /// Pause between the end of a batch and the start of the next, in nanoseconds.
    pub gap_ns: u64,
    /// RDMA payload of a full packet in octets.
    pub payload: u64,
    /// The messages of each sender in each batch.
    pub messages: Vec<MessageShape>,
    /// The switch port whose queue the figures are about.
    pub bottleneck: PortRef,
    /// What a simulation compares, in this order.
    pub schemes: Vec<Scheme>,
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

    /// The link at a switch port.
    pub fn link_at(&self, port: &PortRef) -> Option<&Link> {
        let peer = self.switches.get(&port.switch)?.ports.get(&port.port)?;
        self.links.get(peer.link)
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
