//! Routes to every host, and to every switch's own address: reports carry that as their source, and whoever
//! answers one must be able to.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use p4runtime::p4::v1::Entity;

use crate::topology::{Distances, Fabric, PeerNode, Switch, Topology};

use super::DesiredError;
use super::builder::{Act, Builder, Match};

/// The action profile of next hops.
const PROFILE: &str = "ecmp";

/// Members, groups and entries of `ipv4_route` for a switch. Paths are shortest in links; where several are
/// equal, the flows are spread over them.
pub(super) fn entries(
    topology: &Topology,
    name: &str,
    switch: &Switch,
    builder: Builder<'_>,
) -> Result<Vec<Entity>, DesiredError> {
    let routes = next_hops(topology, name);
    let mut members = BTreeMap::new();
    let mut groups: BTreeMap<&[u16], u32> = BTreeMap::new();
    for ports in routes.values() {
        for port in ports {
            if let Some(peer) = switch.ports.get(port) {
                members.insert(*port, mac(topology, &peer.node));
            }
        }
        if ports.len() > 1 {
            groups.insert(ports, 0);
        }
    }
    for (id, group) in (1..).zip(groups.values_mut()) {
        *group = id;
    }
    let mut entities = Vec::new();
    for (port, mac) in &members {
        let action = builder.action("forward", &[("port", u128::from(*port)), ("dst_mac", *mac)])?;
        entities.push(builder.member(PROFILE, member_id(*port), action)?);
    }
    for (ports, id) in &groups {
        let ids: Vec<u32> = ports.iter().map(|port| member_id(*port)).collect();
        entities.push(builder.group(PROFILE, *id, &ids)?);
    }
    for (address, ports) in &routes {
        let act = match ports.as_slice() {
            [port] => Act::Member(member_id(*port)),
            several => Act::Group(groups.get(several).copied().unwrap_or_default()),
        };
        let prefix = Match::Prefix(u32::from(*address), 32);
        entities.push(builder.entry("ipv4_route", &[("dst_addr", prefix)], act)?);
    }
    Ok(entities)
}

/// A port has one neighbour, so the port is enough to name the member; 0 isn't a member id.
fn member_id(port: u16) -> u32 {
    u32::from(port) + 1
}

/// Ports toward each address, ascending; addresses without a path are left out.
fn next_hops(topology: &Topology, name: &str) -> BTreeMap<Ipv4Addr, Vec<u16>> {
    let fabric = Fabric::new(topology);
    let distances: BTreeMap<&str, Distances> =
        fabric.names().iter().filter_map(|to| Some((*to, fabric.distances(to)?))).collect();
    let toward = |to: &str| distances.get(to).map(|known| fabric.next_ports(name, known)).unwrap_or_default();
    let hosts = topology.hosts.values().map(|host| {
        let ports = if host.attachment.switch == name {
            vec![host.attachment.port]
        } else {
            toward(&host.attachment.switch)
        };
        (host.address, ports)
    });
    let others = topology.switches.iter().filter(|(other, _)| *other != name);
    let switches = others.map(|(other, switch)| (switch.address, toward(other)));
    hosts.chain(switches).filter(|(_, ports)| !ports.is_empty()).collect()
}

/// The MAC that a neighbour is addressed by: a host's own; switches take any, theirs is made up from the
/// address so that traces can be read (02:01 and the address).
fn mac(topology: &Topology, node: &PeerNode) -> u128 {
    match node {
        PeerNode::Host(name) => topology
            .hosts
            .get(name)
            .map_or(0, |host| host.mac.iter().fold(0, |mac, octet| (mac << 8) | u128::from(*octet))),
        PeerNode::Switch(name, _) => topology
            .switches
            .get(name)
            .map_or(0, |switch| 0x0201 << 32 | u128::from(u32::from(switch.address))),
    }
}
