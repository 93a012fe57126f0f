//! What is sent.

use std::collections::HashMap;

use super::super::decode::{Located, Problems};
use super::super::fabric::Fabric;
use super::super::values::{self, EndpointPort};
use super::super::{
    Domain, MessageShape, Mode, PortRef, Problem, REPORT_QUEUE, RdccParams, Role, Scheme, Size, Span,
    Workload, raw,
};
use super::nodes::Nodes;

const DEFAULT_PAYLOAD: u64 = 4096;
/// The MTUs that RDMA knows.
const RDMA_MTUS: [u64; 5] = [256, 512, 1024, 2048, 4096];

/// Checks that hosts and ports exist; for files whose nodes have errors, so that these are reported too.
pub(super) fn check_references(file: &raw::File, problems: &mut Problems) {
    let hosts: Vec<&str> = names(file.hosts.as_ref().map(|hosts| &hosts.0));
    let switches: Vec<&str> = names(file.switches.as_ref().map(|switches| &switches.0));
    for raw in file.workloads.iter().flatten() {
        if file.hosts.is_none() || file.switches.is_none() {
            // Without all the names none can be called unknown.
            return;
        }
        for name in raw.senders.iter().chain(&raw.receivers).flat_map(|list| &list.value) {
            host_exists(name, &hosts, problems);
        }
        if let Some(bottleneck) = &raw.bottleneck
            && !switches.contains(&bottleneck.value.node.as_str())
        {
            unknown_switch(bottleneck, &switches, problems);
        }
    }
}

fn names<T>(entries: Option<&Vec<(Located<String>, T)>>) -> Vec<&str> {
    entries.into_iter().flatten().map(|(name, _)| name.value.as_str()).collect()
}

fn host_exists(name: &Located<String>, hosts: &[&str], problems: &mut Problems) -> bool {
    let exists = hosts.contains(&name.value.as_str());
    if !exists {
        values::unknown("topology::unknown_host", "host", name, hosts.iter().copied(), problems);
    }
    exists
}

fn unknown_switch(bottleneck: &Located<values::Endpoint>, switches: &[&str], problems: &mut Problems) {
    let name = Located { value: bottleneck.value.node.clone(), span: bottleneck.span };
    values::unknown("topology::unknown_switch", "switch", &name, switches.iter().copied(), problems);
}

pub(super) fn check(
    file: &raw::File,
    domain: &Domain,
    nodes: &Nodes,
    fabric: &Fabric<'_>,
    problems: &mut Problems,
) -> Vec<Workload> {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    let mut checked = Vec::new();
    for raw in file.workloads.iter().flatten() {
        if let Some(name) = &raw.name
            && let Some(first) = seen.insert(&name.value, name.span)
        {
            problems.push(
                Problem::error("topology::name", format!("there are two workloads `{}`", name.value))
                    .at(name.span, "again here")
                    .at(first, "first here")
                    .hint("give each a name of its own"),
            );
        }
        checked.extend(workload(raw, domain, nodes, fabric, problems));
    }
    checked
}

fn workload(
    raw: &raw::Workload,
    domain: &Domain,
    nodes: &Nodes,
    fabric: &Fabric<'_>,
    problems: &mut Problems,
) -> Option<Workload> {
    let pairs = pairs(raw, nodes, problems);
    if let (Some(pairs), Some(senders)) = (&pairs, &raw.senders) {
        reachable(pairs, senders, nodes, fabric, problems);
    }
    let messages = messages(raw, domain, problems);
    let payload = raw.payload.as_ref().map_or(DEFAULT_PAYLOAD, |payload| payload.value.get());
    if let Some(given) = &raw.payload
        && !RDMA_MTUS.contains(&payload)
    {
        problems.push(
            Problem::error("topology::payload", format!("{} isn't an RDMA MTU", given.value))
                .at(given.span, "")
                .hint("possible: 256B, 512B, 1024B, 2048B, 4096B"),
        );
    }
    let schemes = schemes(raw, domain, problems);
    let bottleneck = raw.bottleneck.as_ref().and_then(|end| bottleneck(end, nodes, problems));
    Some(Workload {
        name: raw.name.as_ref()?.value.clone(),
        pairs: pairs?,
        batches: raw.batches.map_or(1, |batches| u32::try_from(batches.0).unwrap_or(u32::MAX)),
        gap_ns: raw.gap.map_or(0, super::super::Time::get),
        payload,
        messages: messages?,
        bottleneck: bottleneck?,
        loss_ppm: raw.loss.map_or(0, |loss| u32::try_from(loss.get()).unwrap_or(u32::MAX)),
        schemes: schemes?,
    })
}

/// Advice that no switch sends can't be taken.
fn schemes(raw: &raw::Workload, domain: &Domain, problems: &mut Problems) -> Option<Vec<Scheme>> {
    let Some(given) = &raw.schemes else { return Some(Scheme::DEFAULT.to_vec()) };
    let before = problems.0.len();
    if given.value.is_empty() {
        problems.push(
            Problem::error("topology::schemes", "nothing is compared")
                .at(given.span, "")
                .hint("name at least one, or leave `schemes` out"),
        );
    }
    let mut schemes = Vec::new();
    for scheme in &given.value {
        let reports = &domain.reports;
        let lacks = if scheme.value.0.takes_advice() && reports.rate_advice.is_none() {
            Some(("no switch sends Rate Advice", "rate_advice"))
        } else if scheme.value.0.takes_signals() && reports.rate_signal.is_none() {
            Some(("no switch lowers a Rate Signal", "rate_signal"))
        } else {
            None
        };
        if let Some((what, key)) = lacks {
            problems.push(
                Problem::error("topology::schemes", what)
                    .at(scheme.span, "needs it")
                    .hint(format!("add `{key}` to `domain.reports`")),
            );
        }
        if schemes.contains(&scheme.value.0) {
            problems.push(
                Problem::error("topology::schemes", format!("`{}` is there twice", scheme.value.0.name()))
                    .at(scheme.span, "again here")
                    .hint("name each scheme once"),
            );
        }
        schemes.push(scheme.value.0);
    }
    (problems.0.len() == before).then_some(schemes)
}

fn pairs(raw: &raw::Workload, nodes: &Nodes, problems: &mut Problems) -> Option<Vec<(String, String)>> {
    let (senders, receivers) = (raw.senders.as_ref()?, raw.receivers.as_ref()?);
    let hosts: Vec<&str> = nodes.hosts.keys().map(String::as_str).collect();
    let mut known = true;
    for name in senders.value.iter().chain(&receivers.value) {
        known &= host_exists(name, &hosts, problems);
    }
    let (from, to) = (senders.value.len(), receivers.value.len());
    if from == 0 {
        problems.push(
            Problem::error("topology::senders", "nobody sends")
                .at(senders.span, "")
                .hint("name at least one host in `senders`"),
        );
        return None;
    }
    if to == 0 || (to != from && to != 1 && from != 1) {
        problems.push(
            Problem::error("topology::receivers", format!("{from} senders and {to} receivers don't pair up"))
                .at(receivers.span, format!("{to} here"))
                .at(senders.span, format!("{from} here"))
                .hint("give one receiver for all, as many as there are senders, or several for one sender"),
        );
        return None;
    }
    let mut pairs = Vec::with_capacity(from.max(to));
    for index in 0..from.max(to) {
        let sender = senders.value.get(if from == 1 { 0 } else { index })?;
        let receiver = receivers.value.get(if to == 1 { 0 } else { index })?;
        if sender.value == receiver.value {
            problems.push(
                Problem::error("topology::receivers", format!("`{}` would send to itself", sender.value))
                    .at(sender.span, "sender")
                    .at(receiver.span, "its receiver")
                    .hint("leave it out of one of the two lists"),
            );
            known = false;
        }
        pairs.push((sender.value.clone(), receiver.value.clone()));
    }
    known.then_some(pairs)
}

/// A pair without a path is refused: its messages would never complete.
fn reachable(
    pairs: &[(String, String)],
    senders: &Located<Vec<Located<String>>>,
    nodes: &Nodes,
    fabric: &Fabric<'_>,
    problems: &mut Problems,
) {
    let mut distances = HashMap::new();
    for (index, (from, to)) in pairs.iter().enumerate() {
        let Some(sender) = senders.value.get(index).or(senders.value.first()) else { continue };
        let (Some(source), Some(destination)) = (nodes.hosts.get(from), nodes.hosts.get(to)) else {
            continue;
        };
        let there = destination.attachment.switch.as_str();
        let known = distances.entry(there).or_insert_with(|| fabric.distances(there));
        let path = known.as_ref().and_then(|known| fabric.distance(&source.attachment.switch, known));
        if path.is_none() {
            problems.push(
                Problem::error("topology::no_path", format!("there is no path from `{from}` to `{to}`"))
                    .at(sender.span, format!("hangs on {}", source.attachment))
                    .hint(format!(
                        "link `{}` and `{there}`, directly or over others",
                        source.attachment.switch
                    )),
            );
        }
    }
}

fn messages(raw: &raw::Workload, domain: &Domain, problems: &mut Problems) -> Option<Vec<MessageShape>> {
    let list = raw.messages.as_ref()?;
    if list.value.is_empty() {
        problems.push(
            Problem::error("topology::messages", "nothing is sent")
                .at(list.span, "")
                .hint("add `- { size: 1MiB, mode: scheduled }`"),
        );
    }
    let mut roles = vec![(Role::Control, list.span)];
    let mut shapes = Vec::new();
    for message in &list.value {
        let (Some(size), Some(mode)) = (&message.size, &message.mode) else { continue };
        let role = match mode.value.0 {
            Mode::Scheduled => Role::Scheduled,
            Mode::Unscheduled => Role::Unscheduled,
        };
        if !roles.iter().any(|(known, _)| *known == role) {
            roles.push((role, mode.span));
        }
        shapes.push(MessageShape { size: size.value.get(), mode: mode.value.0 });
    }
    for (role, span) in roles {
        if !domain.dscp.iter().any(|entry| entry.role == role) {
            problems.push(
                Problem::error(
                    "topology::no_dscp",
                    format!("no DSCP has role {role}, which these messages need"),
                )
                .at(span, "")
                .hint(format!("add `- {}` to `domain.dscp`", dscp_example(domain, role))),
            );
        }
    }
    Some(shapes)
}

/// A DSCP map entry for a role, with a codepoint that is free.
fn dscp_example(domain: &Domain, role: Role) -> String {
    let free =
        (26..64).chain(0..26).find(|dscp| domain.dscp.iter().all(|entry| entry.dscp != *dscp)).unwrap_or(26);
    let queue = if role == Role::Control { REPORT_QUEUE } else { 0 };
    format!("{{ dscp: {free}, role: {role}, class: {queue}, queue: {queue} }}")
}

fn bottleneck(end: &Located<values::Endpoint>, nodes: &Nodes, problems: &mut Problems) -> Option<PortRef> {
    let node = &end.value.node;
    let Some(switch) = nodes.switches.get(node) else {
        let switches: Vec<&str> = nodes.switches.keys().map(String::as_str).collect();
        unknown_switch(end, &switches, problems);
        return None;
    };
    match end.value.port {
        EndpointPort::Number(port) if switch.ports.contains_key(&port) => {
            Some(PortRef { switch: node.clone(), port })
        }
        // Reported where it was read.
        EndpointPort::Refused => None,
        _ => {
            let mut ports: Vec<String> = switch.ports.keys().map(u16::to_string).collect();
            let more = ports.len() > 16;
            ports.truncate(16);
            problems.push(
                Problem::error("topology::bottleneck", "the bottleneck isn't a linked port")
                    .at(end.span, "")
                    .hint(format!(
                        "linked ports of `{node}`: {}{}",
                        ports.join(", "),
                        if more { ", ..." } else { "" }
                    )),
            );
            None
        }
    }
}

/// Warns where a workload and RDCC's parameters don't fit each other.
pub(super) fn check_against(file: &raw::File, rdcc: &RdccParams, problems: &mut Problems) {
    for raw in file.workloads.iter().flatten() {
        for message in raw.messages.iter().flat_map(|list| &list.value) {
            let (Some(size), Some(mode)) = (&message.size, &message.mode) else { continue };
            if mode.value.0 == Mode::Unscheduled && size.value.get() > rdcc.unscheduled_limit {
                problems.push(
                    Problem::warning(
                        "topology::unscheduled_message",
                        format!("{} is more than may be sent unscheduled", size.value),
                    )
                    .at(size.span, "will be sent scheduled")
                    .hint(format!("U is {}", Size::new(rdcc.unscheduled_limit))),
                );
            }
        }
    }
}
