//! RDCC's parameters as the topology gives them.

use std::net::IpAddr;

use controller::topology::Topology;
use rdcc::receiver::{Hear, ReceiverConfig};
use rdcc::sender::SenderConfig;
use wire::units::{MbitPerSec, Nanos, Octets};

use crate::link::Link;
use controller::topology::Scheme;

/// The configuration of a host's RDCC sender.
pub fn sender(topology: &Topology, uplink: &Link, scheme: Scheme) -> SenderConfig {
    SenderConfig {
        crn_addresses: crn_addresses(topology),
        hear_reports: scheme.hears_reports(),
        ..SenderConfig::new(rate(uplink), topology.domain.ports.rdcc)
    }
}

/// The configuration of a host's RDCC receiver.
pub fn receiver(topology: &Topology, uplink: &Link, scheme: Scheme) -> ReceiverConfig {
    let rdcc = &topology.rdcc;
    let micros = |nanos| Nanos(nanos).micros();
    let report_interval = topology.profiles.get(&topology.data_profile).map_or(0, |p| p.report_interval_ns);
    ReceiverConfig {
        budget: Octets(rdcc.budget),
        unscheduled_budget: Octets(rdcc.unscheduled_budget),
        unscheduled_limit: Octets(rdcc.unscheduled_limit),
        start_jitter: micros(rdcc.start_jitter_ns),
        backlog_threshold: Octets(rdcc.backlog_threshold),
        grant_lifetime: micros(rdcc.grant_lifetime_ns),
        d_max: Nanos(rdcc.max_delay_ns),
        report_interval: Nanos(report_interval),
        // Schemes differ in whether they hear reports, and in nothing else.
        hear: Hear { reports: scheme.hears_reports(), ..Hear::NONE },
        crn_addresses: crn_addresses(topology),
        ..ReceiverConfig::new(rate(uplink), Nanos(rdcc.base_rtt_ns), Octets(rdcc.credit_unit))
    }
}

fn rate(link: &Link) -> MbitPerSec {
    MbitPerSec(u32::try_from(link.rate_bps / 1_000_000).unwrap_or(u32::MAX))
}

fn crn_addresses(topology: &Topology) -> Vec<IpAddr> {
    topology.domain.crn_addresses.iter().map(|&address| address.into()).collect()
}
