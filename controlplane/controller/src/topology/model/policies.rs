//! Policies, and reports besides the congestion reports.

use std::net::IpAddr;

use super::super::Prefix;

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
