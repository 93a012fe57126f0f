//! Which addresses are at home where: a switch's subnets hold its hosts, no two switches share one, and policies are
//! about somebody.

use std::net::IpAddr;

use super::super::decode::{Located, Problems};
use super::super::values;
use super::super::{Prefix, Problem, Span, Trust, raw};
use super::nodes::Nodes;

pub(super) fn check(file: &raw::File, nodes: &Nodes, problems: &mut Problems) {
    overlaps(file, problems);
    hosts(file, nodes, problems);
    policies(file, nodes, problems);
}

fn overlaps(file: &raw::File, problems: &mut Problems) {
    let mut seen: Vec<(&str, Prefix, Span)> = Vec::new();
    for (name, raw) in file.switches.iter().flat_map(|all| &all.0) {
        for subnet in raw.iter().flat_map(|raw| &raw.subnets).flatten() {
            let prefix = subnet.value.0;
            if let Some((other, known, at)) = seen.iter().find(|(_, known, _)| known.overlaps(prefix)) {
                problems.push(
                    Problem::error(
                        "topology::subnet",
                        format!("{prefix} and {known} hold the same addresses"),
                    )
                    .at(subnet.span, format!("{}'s", name.value))
                    .at(*at, format!("{other}'s"))
                    .hint("a subnet is at home on one switch"),
                );
            }
            seen.push((&name.value, prefix, subnet.span));
        }
    }
}

/// Hosts of a switch that has subnets lie in one of them, and have an address that a host can have there.
fn hosts(file: &raw::File, nodes: &Nodes, problems: &mut Problems) {
    for (name, raw) in file.hosts.iter().flat_map(|all| &all.0) {
        let (Some(host), Some(raw)) = (nodes.hosts.get(&name.value), raw) else { continue };
        let Some(switch) = nodes.switches.get(&host.attachment.switch) else { continue };
        let ipv4 = raw.address.as_ref().map(|address| (IpAddr::V4(address.value), address.span));
        let ipv6 = raw.ipv6.as_ref().map(|address| (IpAddr::V6(address.value), address.span));
        for (address, span) in ipv4.into_iter().chain(ipv6) {
            let of_family: Vec<Prefix> = switch
                .subnets
                .iter()
                .copied()
                .filter(|subnet| subnet.is_ipv4() == address.is_ipv4())
                .collect();
            let Some(first) = of_family.first() else { continue };
            let Some(subnet) = of_family.iter().find(|subnet| subnet.holds(address)) else {
                problems.push(
                    Problem::error(
                        "topology::subnet",
                        format!(
                            "`{}` hangs on `{}` and isn't in its subnets",
                            name.value, host.attachment.switch
                        ),
                    )
                    .at(span, "")
                    .hint(format!("an address of {first}, or hang it on another switch")),
                );
                continue;
            };
            if subnet.is_edge(address) {
                problems.push(
                    Problem::error(
                        "topology::subnet",
                        format!("{address} is the first or the last address of {subnet}, which stands for all of it"),
                    )
                    .at(span, "")
                    .hint("use one between"),
                );
            }
        }
    }
}

/// A policy about nobody is most often a mistyped prefix. Beyond a boundary there may be anybody.
fn policies(file: &raw::File, nodes: &Nodes, problems: &mut Problems) {
    let Some(raw) = &file.policies else { return };
    let boundary = nodes
        .switches
        .values()
        .any(|switch| switch.port_options.values().any(|port| port.trust == Trust::Boundary));
    if boundary {
        return;
    }
    let addresses: Vec<IpAddr> = nodes
        .hosts
        .values()
        .flat_map(|host| [Some(IpAddr::V4(host.address)), host.ipv6.map(IpAddr::V6)])
        .chain(
            nodes
                .switches
                .values()
                .flat_map(|switch| [Some(IpAddr::V4(switch.address)), switch.ipv6.map(IpAddr::V6)]),
        )
        .flatten()
        .collect();
    let rates = raw.source_rates.iter().flatten().filter_map(|entry| entry.from.as_ref());
    let acl = raw.acl.iter().flatten().flat_map(|entry| [entry.from.as_ref(), entry.to.as_ref()]).flatten();
    let report_to = raw.report_to.iter().flatten().filter_map(|entry| entry.sources.as_ref());
    for Located { value: values::Prefix(prefix), span } in rates.chain(acl).chain(report_to) {
        if prefix.length() > 0 && !addresses.iter().any(|address| prefix.holds(*address)) {
            problems.push(
                Problem::warning(
                    "topology::policy_about_nobody",
                    format!("nobody here has an address of {prefix}"),
                )
                .at(*span, "matches nothing inside the fabric")
                .hint("if others send through this fabric, say where with `trust: boundary` on a port"),
            );
        }
    }
}
