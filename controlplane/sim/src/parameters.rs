//! The endpoints' parameters as the topology gives them.

use std::net::IpAddr;

use controller::topology::Topology;
use rdcc::receiver::{Hear, ReceiverConfig};
use rdcc::sender::SenderConfig;
use wire::units::{BitPerSec, MbitPerSec, Nanos, Octets};

use crate::link::Link;
use controller::topology::Scheme;

/// The configuration of a host's RDCC sender.
pub fn sender(topology: &Topology, uplink: &Link, scheme: Scheme) -> SenderConfig {
    let options = topology.rdcc.options;
    let mut config = SenderConfig {
        crn_addresses: crn_addresses(topology),
        hear_reports: scheme.hears_reports() && options.hear.reports != Some(false),
        ..SenderConfig::new(rate(uplink), topology.domain.ports.rdcc)
    };
    set(&mut config.unit_overhead, options.unit_overhead.map(Octets));
    set(&mut config.max_pending_messages, options.max_pending_messages);
    config.backlog_threshold = options.sender_backlog_threshold.map(Octets);
    config
}

/// The configuration of a host's RDCC receiver.
pub fn receiver(topology: &Topology, uplink: &Link, scheme: Scheme) -> ReceiverConfig {
    let rdcc = &topology.rdcc;
    let micros = |nanos| Nanos(nanos).micros();
    let report_interval = topology.profiles.get(&topology.data_profile).map_or(0, |p| p.report_interval_ns);
    let options = rdcc.options;
    let hear = options.hear;
    let mut config = ReceiverConfig {
        budget: Octets(rdcc.budget),
        unscheduled_budget: Octets(rdcc.unscheduled_budget),
        unscheduled_limit: Octets(rdcc.unscheduled_limit),
        start_jitter: micros(rdcc.start_jitter_ns),
        backlog_threshold: Octets(rdcc.backlog_threshold),
        grant_lifetime: micros(rdcc.grant_lifetime_ns),
        d_max: Nanos(rdcc.max_delay_ns),
        report_interval: Nanos(report_interval),
        // Schemes differ in whether they hear reports, and in nothing else; the file may add the other signals to both.
        hear: Hear {
            reports: scheme.hears_reports() && hear.reports != Some(false),
            ecn: hear.ecn == Some(true),
            delay: hear.delay == Some(true),
        },
        crn_addresses: crn_addresses(topology),
        association_credit: options.association_credit.map(Octets),
        ..ReceiverConfig::new(rate(uplink), Nanos(rdcc.base_rtt_ns), Octets(rdcc.credit_unit))
    };
    set(&mut config.unit_overhead, options.unit_overhead.map(Octets));
    set(&mut config.update_interval, options.update_interval_ns.map(Nanos));
    set(&mut config.delay_target, options.delay_target_ns.map(Nanos));
    set(&mut config.alpha, options.alpha_bps.map(mbit));
    set(&mut config.beta_permille, options.beta_permille);
    set(&mut config.max_associations, options.max_associations);
    set(&mut config.max_pending_messages, options.max_pending_messages);
    set(&mut config.idle_timeout, options.idle_timeout_ns.map(Nanos));
    set(&mut config.loss_threshold_ppm, options.loss_threshold_ppm);
    set(&mut config.loss_interval, options.loss_interval_ns.map(Nanos));
    set(&mut config.opaque_bindings, options.opaque_bindings);
    set(&mut config.pool_grants, options.pool_grants);
    config
}

/// What the file gives; what it doesn't stays the crate's default.
fn set<T>(parameter: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *parameter = given;
    }
}

fn rate(link: &Link) -> MbitPerSec {
    mbit(link.rate_bps)
}

fn mbit(rate_bps: u64) -> MbitPerSec {
    MbitPerSec(u32::try_from(rate_bps / 1_000_000).unwrap_or(u32::MAX))
}

/// The lowest rate that is taken for honest advice, in the wire's unit; never 0.
pub fn floor(bits_per_second: u64) -> MbitPerSec {
    BitPerSec(bits_per_second).mbit_per_sec().max(MbitPerSec(1))
}

/// The switches' addresses, which reports may come from.
pub fn crn_addresses(topology: &Topology) -> Vec<IpAddr> {
    topology.domain.crn_addresses.iter().map(|&address| address.into()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn configs(rdcc: &str, scheme: Scheme) -> (SenderConfig, ReceiverConfig) {
        let text = format!(
            "name: t
domain:
  ports: {{ rdcc: 52100, crem: 52101, scone: 52102 }}
  dscp: [{{ dscp: 26, role: scheduled, queue: 0 }}, {{ dscp: 48, role: control, queue: 7 }}]
defaults: {{ link: {{ rate: 100Gbps, delay: 2us }}, profile: p, control_profile: p }}
profiles: {{ p: {{ ecn_threshold: 100kB, q_max: 1MB, report_interval: 10us }} }}
generate: {{ shape: star, hosts: 3 }}
rdcc: {{ {rdcc} }}
"
        );
        let topology = controller::topology::parse("t.yaml", &text).unwrap();
        let link = Link { rate_bps: 100_000_000_000, delay: Nanos(2000) };
        (sender(&topology, &link, scheme), receiver(&topology, &link, scheme))
    }

    /// A key that is read and goes nowhere would be a promise that isn't kept.
    #[test]
    fn every_key_of_the_file_reaches_the_machines() {
        let (sender, receiver) = configs(
            "unit_overhead: 7B, update_interval: 9us, delay_target: 20us, alpha: 2Gbps, beta: 25%, \
             association_credit: 64KiB, max_associations: 128, max_pending_messages: 16, idle_timeout: 5s, \
             loss_threshold: 0.5%, loss_interval: 100ms, opaque_bindings: true, pool_grants: true, \
             sender_backlog_threshold: 32KiB, hear: { ecn: true }",
            Scheme::RdccCrn,
        );
        let (_, default) = configs("", Scheme::RdccCrn);
        assert_eq!((sender.unit_overhead, sender.max_pending_messages), (Octets(7), 16));
        assert_eq!(sender.backlog_threshold, Some(Octets(32_768)));
        assert_eq!(
            receiver,
            ReceiverConfig {
                unit_overhead: Octets(7),
                update_interval: Nanos(9_000),
                delay_target: Nanos(20_000),
                alpha: MbitPerSec(2_000),
                beta_permille: 250,
                association_credit: Some(Octets(65_536)),
                max_associations: 128,
                max_pending_messages: 16,
                idle_timeout: Nanos(5_000_000_000),
                loss_threshold_ppm: 5_000,
                loss_interval: Nanos(100_000_000),
                opaque_bindings: true,
                pool_grants: true,
                hear: Hear { reports: true, ecn: true, delay: false },
                ..default
            }
        );
    }

    /// The scheme decides about reports; the file can only take them away.
    #[test]
    fn reports_are_heard_by_the_scheme_and_the_file() {
        for (rdcc, scheme, heard) in [
            ("", Scheme::RdccCrn, true),
            ("", Scheme::Rdcc, false),
            ("hear: { reports: true }", Scheme::Rdcc, false),
            ("hear: { reports: false }", Scheme::RdccCrn, false),
        ] {
            let (sender, receiver) = configs(rdcc, scheme);
            assert_eq!((sender.hear_reports, receiver.hear.reports), (heard, heard), "{rdcc} {scheme:?}");
        }
    }
}
