//! The same as one JSON object.

use controller::desired;
use controller::topology::{End, Host, MarkedFlow, Marking, Peer, PortRef, Profile, Switch, Topology};
use serde_json::{Value, json};

use super::{groups, limit, mac, peer_name, ports_of, trust};
use crate::validate;

/// A topology's addresses, ports, ids, groups, limits and marked flows.
pub(super) fn of(topology: &Topology) -> Value {
    let ports = topology.domain.ports;
    let dscp = topology.domain.dscp.iter().map(|entry| {
        json!({ "dscp": entry.dscp, "role": entry.role.to_string(), "class": entry.class, "queue": entry.queue })
    });
    let lag = |(number, links): (usize, Vec<&controller::topology::Link>)| {
        let member = |link: &controller::topology::Link| link.ends.each_ref().map(groups::end);
        json!({
            "lag": number,
            "members": links.iter().map(|link| member(link)).collect::<Vec<_>>(),
            "rate_bps": links.iter().map(|link| link.rate_bps).sum::<u64>(),
        })
    };
    json!({
        "name": topology.name,
        "ports": { "rdcc": ports.rdcc, "crem": ports.crem, "scone": ports.scone },
        "dscp": dscp.collect::<Vec<_>>(),
        "switches": topology.switches.iter().map(|(name, of)| switch(topology, name, of)).collect::<Vec<_>>(),
        "hosts": topology.hosts.iter().map(|(name, of)| host(name, of)).collect::<Vec<_>>(),
        "aggregated": groups::lags(topology).into_iter().map(lag).collect::<Vec<_>>(),
        "profiles": topology.profiles.iter().map(|(name, of)| profile(topology, name, of)).collect::<Vec<_>>(),
        "marking": topology.marking.as_ref().map(marking),
    })
}

fn switch(topology: &Topology, name: &str, switch: &Switch) -> Value {
    let ports = switch.ports.iter().map(|(number, peer)| port(topology, name, *number, peer));
    let groups = desired::groups(topology, name).into_iter().map(|group| {
        json!({
            "id": group.id,
            "over": groups::kind(topology, switch, &group),
            "ports": group.ports,
            "toward": group.addresses,
        })
    });
    json!({
        "name": name,
        "target": validate::target(switch.target),
        "device_id": switch.device_id,
        "reporter_id": switch.reporter_id,
        "address": switch.address,
        "ipv6": switch.ipv6,
        "clone_port": switch.clone_port,
        "p4runtime": switch.p4runtime,
        "ports": ports.collect::<Vec<_>>(),
        "groups": groups.collect::<Vec<_>>(),
    })
}

fn port(topology: &Topology, name: &str, number: u16, peer: &Peer) -> Value {
    let link = topology.links.get(peer.link);
    let limit = limit(topology, name, number);
    json!({
        "port": number,
        "peer": peer_name(&peer.node),
        "rate_bps": link.map(|link| link.rate_bps),
        "delay_ns": link.map(|link| link.delay_ns),
        "loss_ppm": topology.loss_ppm(&End::Port(PortRef { switch: name.to_owned(), port: number })),
        "lag": link.and_then(|link| link.lag),
        "profile": topology.profile_name(name, number, 0),
        "trust": trust(topology, name, number),
        "report_limit_bps": limit.rate_bps,
        "reports_per_second": limit.reports_per_second,
    })
}

fn host(name: &str, host: &Host) -> Value {
    json!({
        "name": name, "address": host.address, "ipv6": host.ipv6, "mac": mac(host.mac),
        "port": host.attachment.to_string(), "ports": ports_of(host),
    })
}

fn profile(topology: &Topology, name: &str, profile: &Profile) -> Value {
    json!({
        "name": name,
        "b_th": profile.b_th,
        "q_max": profile.q_max,
        "ecn_threshold": profile.ecn_threshold,
        "report_interval_ns": profile.report_interval_ns,
        "data": *name == topology.data_profile,
        "control": *name == topology.control_profile,
    })
}

fn marking(marking: &Marking) -> Value {
    let flow = |(index, flow): (usize, &MarkedFlow)| {
        json!({
            "name": flow.name,
            "index": index,
            "flow_mon_id": flow.flow_mon_id,
            "from": flow.from,
            "to": flow.to,
            "protocol": flow.protocol,
            "source_port": flow.source_port,
            "destination_port": flow.destination_port,
        })
    };
    json!({
        "period_us": 1_u64 << marking.period_log2,
        "flows": marking.flows.iter().enumerate().map(flow).collect::<Vec<_>>(),
    })
}
