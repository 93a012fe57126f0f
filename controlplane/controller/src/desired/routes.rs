//! Routes to every host, and to every switch's own address: reports carry that as their source, and whoever
//! answers one must be able to.

use std::collections::BTreeMap;
use std::net::IpAddr;

use p4runtime::p4::v1::Entity;

use crate::pipeline::generated::{action_profiles, actions, fields, params, tables};
use crate::topology::{Fabric, Origin, PeerNode, Switch, Topology};

use super::builder::{Act, Builder, Match};
use super::{DesiredError, Sourced};

/// The action profile of next hops.
const PROFILE: &str = action_profiles::ecmp::NAME;

/// Ports that flows are spread over: a group of the action profile of next hops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its id in the switch.
    pub id: u32,
    /// Its ports, ascending.
    pub ports: Vec<u16>,
    /// The addresses that are reached over it, ascending.
    pub addresses: Vec<IpAddr>,
}

/// The groups of a switch by id, as [`super::entries`] writes them: equal paths, and aggregated links.
pub fn groups(topology: &Topology, switch: &str) -> Vec<Group> {
    groups_of(&next_hops(topology, switch))
}

fn groups_of(routes: &Routes) -> Vec<Group> {
    let mut by_ports: BTreeMap<&[u16], Vec<IpAddr>> = BTreeMap::new();
    for (address, (ports, _)) in routes.iter().filter(|(_, (ports, _))| ports.len() > 1) {
        by_ports.entry(ports).or_default().push(*address);
    }
    let numbered = (1..).zip(by_ports);
    numbered.map(|(id, (ports, addresses))| Group { id, ports: ports.to_vec(), addresses }).collect()
}

/// Members, groups and entries of `ipv4_route` and `ipv6_route` for a switch. Paths are shortest in links; where several are
/// equal, the flows are spread over them.
pub(super) fn entries(
    topology: &Topology,
    name: &str,
    switch: &Switch,
    builder: Builder<'_>,
) -> Result<Vec<Sourced>, DesiredError> {
    let routes = next_hops(topology, name);
    let mut members = BTreeMap::new();
    for (ports, _) in routes.values() {
        for port in ports {
            if let Some(peer) = switch.ports.get(port) {
                members.insert(*port, mac(topology, &peer.node));
            }
        }
    }
    let groups = groups_of(&routes);
    let ids: BTreeMap<&[u16], u32> = groups.iter().map(|group| (group.ports.as_slice(), group.id)).collect();
    let mut entities = Vec::new();
    for (port, mac) in &members {
        let link = switch.ports.get(port).map_or(0, |peer| peer.link);
        entities.push((member(*port, *mac, builder)?, Origin::Link(link)));
    }
    for group in &groups {
        let members: Vec<u32> = group.ports.iter().map(|port| member_id(*port)).collect();
        entities.push((builder.group(PROFILE, group.id, &members)?, Origin::Switch(name.to_owned())));
    }
    for (address, (ports, origin)) in &routes {
        let act = match ports.as_slice() {
            [port] => Act::Member(member_id(*port)),
            several => Act::Group(ids.get(several).copied().unwrap_or_default()),
        };
        entities.push((route(*address, act, builder)?, origin.clone()));
    }
    Ok(entities)
}

/// A next hop: the port, and who is addressed there.
pub(super) fn member(port: u16, mac: u128, builder: Builder<'_>) -> Result<Entity, DesiredError> {
    let params = [(params::PORT, u128::from(port)), (params::DST_MAC, mac)];
    builder.member(PROFILE, member_id(port), builder.action(actions::forward::NAME, &params)?)
}

/// The way to an address.
pub(super) fn route(address: IpAddr, act: Act, builder: Builder<'_>) -> Result<Entity, DesiredError> {
    let prefix = match address {
        IpAddr::V4(address) => Match::Prefix(u32::from(address).into(), 32),
        IpAddr::V6(address) => Match::Prefix(u128::from(address), 128),
    };
    builder.entry(table(address), &[(fields::DST_ADDR, prefix)], act)
}

fn table(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => tables::ipv4_route::NAME,
        IpAddr::V6(_) => tables::ipv6_route::NAME,
    }
}

/// A port has one neighbour, so the port is enough to name the member; 0 isn't a member id.
fn member_id(port: u16) -> u32 {
    u32::from(port) + 1
}

/// Ports toward each address, ascending, and whose address it is.
type Routes = BTreeMap<IpAddr, (Vec<u16>, Origin)>;

/// The routes of a switch; addresses without a path are left out.
fn next_hops(topology: &Topology, name: &str) -> Routes {
    let fabric = Fabric::new(topology);
    let toward = toward_each(&fabric, name);
    let toward = |to: &str| toward.get(to).cloned().unwrap_or_default();
    let hosts = topology.hosts.iter().flat_map(|(host_name, host)| {
        let ports =
            if host.attachment.switch == name { host.ports.clone() } else { toward(&host.attachment.switch) };
        let origin = Origin::Host(host_name.clone());
        addresses(host.address, host.ipv6).map(move |address| (address, (ports.clone(), origin.clone())))
    });
    let others = topology.switches.iter().filter(|(other, _)| *other != name);
    let switches = others.flat_map(|(other, switch)| {
        let (ports, origin) = (toward(other), Origin::Switch(other.clone()));
        addresses(switch.address, switch.ipv6).map(move |address| (address, (ports.clone(), origin.clone())))
    });
    hosts.chain(switches).filter(|(_, (ports, _))| !ports.is_empty()).collect()
}

/// By switch: the ports that lead there.
fn toward_each<'a>(fabric: &Fabric<'a>, name: &str) -> BTreeMap<&'a str, Vec<u16>> {
    let ports = fabric.ports_toward_each(name).unwrap_or_default().into_iter();
    fabric.names().iter().copied().zip(ports.map(|ports| ports.into_iter().collect())).collect()
}

/// A node's own addresses.
pub(super) fn addresses(
    ipv4: std::net::Ipv4Addr,
    ipv6: Option<std::net::Ipv6Addr>,
) -> impl Iterator<Item = IpAddr> {
    std::iter::once(IpAddr::V4(ipv4)).chain(ipv6.map(IpAddr::V6))
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
