//! Aggregated links, and ports that a switch spreads flows over.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use comfy_table::Table;
use controller::desired::{self, Group};
use controller::topology::{End, Link, Rate, Switch, Topology};

use super::peer_name;
use crate::output::table;

/// So many addresses are named, more are counted.
const NAMED: usize = 4;

/// Links of each aggregation group, by its number.
pub(super) fn lags(topology: &Topology) -> BTreeMap<usize, Vec<&Link>> {
    let mut lags: BTreeMap<usize, Vec<&Link>> = BTreeMap::new();
    for link in &topology.links {
        if let Some(lag) = link.lag {
            lags.entry(lag).or_default().push(link);
        }
    }
    lags
}

/// An end of a link, as links are written.
pub(super) fn end(end: &End) -> String {
    match end {
        End::Port(port) => port.to_string(),
        End::Host(name) => name.clone(),
    }
}

/// The aggregation groups.
pub(super) fn aggregated(topology: &Topology) -> Table {
    let mut table = table(&["aggregated", "members", "together"]);
    for (lag, links) in lags(topology) {
        let members: Vec<String> =
            links.iter().map(|link| format!("{} - {}", end(&link.ends[0]), end(&link.ends[1]))).collect();
        let together = links.iter().map(|link| link.rate_bps).sum();
        table.add_row([lag.to_string(), members.join(", "), Rate::new(together).to_string()]);
    }
    table
}

/// What the ports of a group have in common.
pub(super) fn kind(topology: &Topology, switch: &Switch, group: &Group) -> &'static str {
    let lags: BTreeSet<Option<usize>> = group
        .ports
        .iter()
        .filter_map(|port| Some(topology.links.get(switch.ports.get(port)?.link)?.lag))
        .collect();
    if lags.len() == 1 && !lags.contains(&None) { "aggregated links" } else { "equal paths" }
}

/// The groups over which each switch spreads flows.
pub(super) fn spread(topology: &Topology) -> Table {
    let mut table = table(&["group", "over", "ports", "next", "toward"]);
    for (name, switch) in &topology.switches {
        for group in desired::groups(topology, name) {
            let ports: Vec<String> = group.ports.iter().map(u16::to_string).collect();
            let peers = group.ports.iter().filter_map(|port| switch.ports.get(port));
            let next: BTreeSet<String> = peers.map(|peer| peer_name(&peer.node)).collect();
            table.add_row([
                format!("{name} {}", group.id),
                kind(topology, switch, &group).to_owned(),
                ports.join(" "),
                next.into_iter().collect::<Vec<_>>().join(" "),
                toward(&group.addresses),
            ]);
        }
    }
    table
}

fn toward(addresses: &[IpAddr]) -> String {
    if addresses.len() > NAMED {
        let count = addresses.len();
        return format!("{} to {} ({count})", addresses[0], addresses[count - 1]);
    }
    addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" ")
}
