//! Switches and their ports.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use super::super::Prefix;

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

/// A generation of Tofino.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chip {
    /// Tofino 1.
    #[default]
    Tofino,
    /// Tofino 2.
    Tofino2,
}

impl Chip {
    /// Octets of a cell, in which its traffic manager counts.
    pub fn cell_octets(self) -> u64 {
        match self {
            Self::Tofino => 80,
            Self::Tofino2 => 176,
        }
    }

    /// The first pipe's recirculation port.
    pub fn recirculation_port(self) -> u16 {
        match self {
            Self::Tofino => 68,
            Self::Tofino2 => 6,
        }
    }
}

/// What serves P4Runtime on a Tofino.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum P4RuntimeServer {
    /// Stratum.
    #[default]
    Stratum,
    /// P4 Studio's own.
    P4Studio,
}

/// A Tofino.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tofino {
    /// Its generation.
    pub chip: Chip,
    /// What serves P4Runtime.
    pub server: P4RuntimeServer,
    /// Where ports are plugged in.
    pub front_panel: BTreeMap<u16, FrontPanel>,
    /// What the queues share of the packet buffer, in octets; none: what the driver gives them.
    pub buffer: Option<u64>,
}

/// Where a cable is plugged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrontPanel {
    /// From 1.
    pub port: u16,
    /// 0: all lanes; else the lane, from 1.
    pub channel: u8,
}

impl fmt::Display for FrontPanel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.port, self.channel)
    }
}

/// What one of a switch's own units is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Of a queue's depth, in octets.
    pub depth_octets: u64,
    /// Of time, in nanoseconds.
    pub time_ns: u64,
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
    /// The port that reports are cloned to: one without an interface, a Tofino's recirculation port.
    pub clone_port: u16,
    /// The source address of its reports about IPv6 packets; none: nothing is reported about those.
    pub ipv6: Option<Ipv6Addr>,
    /// Prefixes of the hosts that hang on it; empty: any.
    pub subnets: Vec<Prefix>,
    /// How its P4Runtime server is recognised; none: no TLS.
    pub tls: Option<Tls>,
    /// A program other than the one that this build carries.
    pub pipeline: Option<PipelineFiles>,
    /// Where BMv2's Thrift server listens, as `host:port`.
    pub thrift: Option<String>,
    /// Its chip, where it is a Tofino; none for other targets.
    pub tofino: Option<Tofino>,
    /// Its queues, where they are BMv2's; none for other targets.
    pub queues: Option<Queues>,
    /// Ports that differ from the rest.
    pub port_options: BTreeMap<u16, PortOptions>,
    /// Who is at the other end of each port in use.
    pub ports: BTreeMap<u16, Peer>,
}

impl Switch {
    /// What its program counts in: octets and microseconds; on a Tofino the chip's cells, and 1,024 ns, which is a slice of
    /// its clock.
    pub fn units(&self) -> Units {
        match &self.tofino {
            Some(tofino) => Units { depth_octets: tofino.chip.cell_octets(), time_ns: 1024 },
            None => Units { depth_octets: 1, time_ns: 1000 },
        }
    }
}

/// How a port differs from the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortOptions {
    /// Profile of its data queues; none: [`super::Topology::data_profile`].
    pub profile: Option<String>,
    /// How far it is believed.
    pub trust: Trust,
    /// What all reports of this port together may take of its link; none: its profile's limit.
    pub report_limit: Option<ReportLimit>,
}

/// What all reports of a port together may take of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReportLimit {
    /// So many millionths of the link's rate.
    Share(u32),
    /// A rate in bit/s.
    Rate(u64),
}

/// Ours, as RDCC (On-Path Congestion Reporting) asks for an aggregate limit and gives no figure: 0.5 %.
impl Default for ReportLimit {
    fn default() -> Self {
        Self::Share(Self::USUAL)
    }
}

impl ReportLimit {
    /// So many millionths of a link are the usual limit; more is warned of.
    pub const USUAL: u32 = 5_000;

    /// The limit on a link of `rate_bps`, in bit/s.
    pub fn of(self, rate_bps: u64) -> u64 {
        match self {
            Self::Share(millionths) => {
                let limit = u128::from(rate_bps) * u128::from(millionths) / 1_000_000;
                u64::try_from(limit).unwrap_or(u64::MAX)
            }
            Self::Rate(rate_bps) => rate_bps,
        }
    }
}

/// TLS toward a P4Runtime server: files in PEM, relative to the working directory or absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Certificate authority that signed the switch's certificate.
    pub ca: PathBuf,
    /// Our certificate and its key, where the switch asks for one.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Name in the switch's certificate; none: the host of its address.
    pub name: Option<String>,
}

/// A compiled program's files, relative to the working directory or absolute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PipelineFiles {
    /// Its P4Info in text format.
    pub p4info: PathBuf,
    /// What the target runs.
    pub device: DeviceFiles,
}

/// What a target runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceFiles {
    /// BMv2's JSON.
    Json(PathBuf),
    /// What the compiler makes for a Tofino.
    Tofino {
        /// `tofino.bin` or `tofino2.bin`.
        binary: PathBuf,
        /// `context.json`.
        context: PathBuf,
        /// The BF-RT schema.
        bfrt: Option<PathBuf>,
    },
}

/// Queues of a BMv2 switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    /// Packets that each holds.
    pub depth: u32,
    /// Packets that each sends in a second; none: as many as the switch can.
    pub rate_pps: Option<u64>,
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

/// The other end of a switch port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Who is there.
    pub node: PeerNode,
    /// Index into [`super::Topology::links`].
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
