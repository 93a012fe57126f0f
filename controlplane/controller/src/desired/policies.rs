//! Entries of the policies and of the reports besides the congestion reports. Without any of these in the file there
//! are none.

use std::collections::BTreeSet;

use p4runtime::p4::v1::Entity;

use crate::pipeline::generated::{actions, fields, params, tables};
use crate::topology::{AclAction, AclEntry, Origin, PeerNode, Prefix, Switch, Topology, mapped};

use super::builder::{Act, Builder, Match};
use super::{DesiredError, Sourced, routes};

/// All of them for a switch.
pub(super) fn entries(
    topology: &Topology,
    switch: &Switch,
    builder: Builder<'_>,
) -> Result<Vec<Sourced>, DesiredError> {
    let mut all = reports(topology, switch, builder)?;
    all.extend(source_rates(topology, builder)?);
    let policies = &topology.policies;
    for (index, policy) in policies.queue_pair_rates.iter().enumerate() {
        let action = builder.action(actions::set_qp_rate::NAME, &[(params::RATE, mbit(policy.rate_bps))])?;
        let key = [
            (fields::DST_ADDR, Match::Wide(mapped(policy.to))),
            (fields::DEST_QP, Match::Exact(policy.qp.into())),
        ];
        let entity = builder.entry(tables::qp_rate_policy::NAME, &key, Act::Action(action))?;
        all.push((entity, Origin::Policy("queue_pair_rates", index)));
    }
    for (index, entry) in policies.acl.iter().enumerate() {
        // The first of the file has the highest priority.
        let priority = i32::try_from(policies.acl.len() - index).unwrap_or(i32::MAX);
        all.push((acl(entry, priority, builder)?, Origin::Policy("acl", index)));
    }
    for (index, (sources, address)) in policies.report_to.iter().enumerate() {
        let action = builder.action(actions::set_csf::NAME, &[(params::ADDRESS, mapped(*address))])?;
        let key: Vec<_> = source(*sources).into_iter().collect();
        let entity = builder.entry(tables::csf_address::NAME, &key, Act::Action(action))?;
        all.push((entity, Origin::Policy("report_to", index)));
    }
    if policies.source_check {
        all.extend(source_check(topology, switch, builder)?);
    }
    Ok(all)
}

/// Rates in the tables are whole Mbit/s, never 0: that says nothing.
fn mbit(rate_bps: u64) -> u128 {
    u128::from((rate_bps / 1_000_000).max(1))
}

/// Sources as a component of a key; a prefix of no length is left out of it (P4Runtime, don't care).
fn source(prefix: Prefix) -> Option<(&'static str, Match)> {
    let length = i32::from(prefix.length());
    (length > 0).then(|| (fields::SRC_ADDR, Match::Prefix(prefix.bits(), length)))
}

fn reports(topology: &Topology, switch: &Switch, builder: Builder<'_>) -> Result<Vec<Sourced>, DesiredError> {
    let reports = topology.domain.reports;
    let mut all = Vec::new();
    let unit = switch.units().time_ns;
    let ticks = |nanos: u64| u128::from(nanos.div_ceil(unit));
    if let Some(interval) = reports.path_interval_ns {
        let action =
            builder.action(actions::set_path_report::NAME, &[(params::INTERVAL, ticks(interval))])?;
        all.push(builder.default_action(tables::path_report::NAME, action)?);
    }
    if let Some((interval, floor)) = reports.rate_advice {
        let params = [(params::INTERVAL, ticks(interval)), (params::FLOOR, mbit(floor))];
        all.push(builder.default_action(
            tables::rate_advice::NAME,
            builder.action(actions::set_rate_advice::NAME, &params)?,
        )?);
    }
    if let Some((kind, floor)) = reports.rate_signal {
        let params = [(params::TYPE, u128::from(kind)), (params::FLOOR, mbit(floor))];
        all.push(builder.default_action(
            tables::rate_signal::NAME,
            builder.action(actions::set_rate_signal::NAME, &params)?,
        )?);
    }
    Ok(all.into_iter().map(|entity| (entity, Origin::Reports)).collect())
}

//= SCONE, Acquisition of Advised Rate: 797344dd
//= SCONE, Rate Policy Based on Network Element Configuration: ac16ce65
fn source_rates(topology: &Topology, builder: Builder<'_>) -> Result<Vec<Sourced>, DesiredError> {
    // Class 0 is also what DSCPs without an entry have.
    let classes: BTreeSet<u8> =
        topology.domain.dscp.iter().map(|entry| entry.class).chain(std::iter::once(0)).collect();
    let mut all = Vec::new();
    for (index, policy) in topology.policies.source_rates.iter().enumerate() {
        let of = policy.class.map_or_else(|| classes.clone(), |class| BTreeSet::from([class]));
        for class in of {
            let action =
                builder.action(actions::set_source_rate::NAME, &[(params::RATE, mbit(policy.rate_bps))])?;
            let class = (fields::TRAFFIC_CLASS, Match::Exact(class.into()));
            let key: Vec<_> = std::iter::once(class).chain(source(policy.from)).collect();
            let entity = builder.entry(tables::source_rate_policy::NAME, &key, Act::Action(action))?;
            all.push((entity, Origin::Policy("source_rates", index)));
        }
    }
    Ok(all)
}

fn acl(entry: &AclEntry, priority: i32, builder: Builder<'_>) -> Result<Entity, DesiredError> {
    let mut key = Vec::new();
    // What may be anything is left out of the key.
    for (field, of) in [(fields::SRC_ADDR, entry.from), (fields::DST_ADDR, entry.to)] {
        if let Some(prefix) = of.filter(|prefix| prefix.length() > 0) {
            key.push((field, Match::Masked(prefix.bits(), prefix.mask())));
        }
    }
    if let Some(protocol) = entry.protocol {
        key.push((fields::PROTOCOL, Match::Masked(protocol.into(), 0xff)));
    }
    for (field, port) in [(fields::SRC_PORT, entry.source_port), (fields::DST_PORT, entry.destination_port)] {
        if let Some(port) = port {
            key.push((field, Match::Masked(port.into(), 0xffff)));
        }
    }
    let name = match entry.action {
        AclAction::Deny => actions::deny::NAME,
        AclAction::Permit => actions::permit::NAME,
    };
    builder.prioritised(tables::acl::NAME, &key, Act::Action(builder.action(name, &[])?), priority)
}

/// On a host's port only the host's own addresses are at home. Ports between switches carry everybody's.
fn source_check(
    topology: &Topology,
    switch: &Switch,
    builder: Builder<'_>,
) -> Result<Vec<Sourced>, DesiredError> {
    let mut all = Vec::new();
    for (port, peer) in &switch.ports {
        let PeerNode::Host(name) = &peer.node else { continue };
        let Some(host) = topology.hosts.get(name) else { continue };
        let own = routes::addresses(host.address, host.ipv6).map(|address| (Some(Prefix::only(address)), 1));
        for (prefix, valid) in std::iter::once((None, 0)).chain(own) {
            let action = builder.action(actions::set_source_valid::NAME, &[(params::VALID, valid)])?;
            let port = (fields::INGRESS_PORT, Match::Exact((*port).into()));
            let key: Vec<_> = std::iter::once(port).chain(prefix.and_then(source)).collect();
            let entity = builder.entry(tables::source_check::NAME, &key, Act::Action(action))?;
            all.push((entity, Origin::Host(name.clone())));
        }
    }
    Ok(all)
}
