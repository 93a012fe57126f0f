//! Ports and the DSCP map.

use std::collections::{BTreeMap, BTreeSet};

use super::super::decode::{Int, Located, Problems};
use super::super::{
    Domain, DomainPorts, DscpEntry, PortFault, Problem, REPORT_QUEUE, Role, Span, port_fault, raw,
};
use crate::pipeline::generated::constants::REPORT_DSCP;

pub(super) fn check(raw: &raw::Domain, problems: &mut Problems) -> Option<Domain> {
    let ports =
        raw.ports.as_ref().and_then(|ports| check_ports(ports, raw.allow_any_port == Some(true), problems));
    let dscp = raw.dscp.as_ref().map(|entries| check_dscp(&entries.value, entries.span, problems));
    let lossless = raw.lossless_classes.iter().flatten().filter_map(|class| u8::try_from(class.value.0).ok());
    Some(Domain {
        ports: ports?,
        dscp: dscp?,
        crn_addresses: BTreeSet::new(),
        crn_addresses_v6: BTreeSet::new(),
        lossless_classes: lossless.collect(),
        reports: super::policies::reports(raw.reports.as_ref(), problems),
    })
}

fn check_ports(raw: &raw::DomainPorts, allow_any: bool, problems: &mut Problems) -> Option<DomainPorts> {
    let named = [("rdcc", &raw.rdcc), ("crem", &raw.crem), ("scone", &raw.scone)];
    let mut taken: BTreeMap<u64, (&str, Span)> = BTreeMap::new();
    for (name, port) in named {
        let Some(Located { value: Int(number), span }) = *port else { continue };
        match u16::try_from(number).ok().and_then(|port| port_fault(port, allow_any)) {
            None => {}
            Some(PortFault::Data(whose)) => problems.push(
                Problem::error("topology::data_port", format!("port {number} is {whose}'s"))
                    .at(span, format!("the {name} port"))
                    .hint("switches take what goes there for data; a port from 49152 to 65535 is free"),
            ),
            Some(PortFault::OutsideRange) => problems.push(
                Problem::error("topology::port_range", format!("port {number} is outside the dynamic range"))
                    .at(span, format!("the {name} port"))
                    .hint("allowed: 49152 to 65535, or set `allow_any_port: true` under `domain`"),
            ),
        }
        if let Some((other, first)) = taken.get(&number) {
            problems.push(
                Problem::error(
                    "topology::same_port",
                    format!("{name} and {other} have the same port {number}"),
                )
                .at(span, format!("the {name} port"))
                .at(*first, format!("the {other} port"))
                .hint("give each of rdcc, crem and scone a port of its own"),
            );
        } else {
            taken.insert(number, (name, span));
        }
    }
    let number = |port: &Option<Located<Int<1, 65535>>>| u16::try_from(port.as_ref()?.value.0).ok();
    Some(DomainPorts { rdcc: number(&raw.rdcc)?, crem: number(&raw.crem)?, scone: number(&raw.scone)? })
}

fn check_dscp(entries: &[raw::Dscp], list: Span, problems: &mut Problems) -> Vec<DscpEntry> {
    let mut checked = Vec::new();
    let mut by_dscp: BTreeMap<u64, (Role, Span)> = BTreeMap::new();
    let mut control_queues: BTreeMap<u64, Span> = BTreeMap::new();
    let mut data_queues: BTreeMap<u64, (Role, Span)> = BTreeMap::new();
    for raw in entries {
        let (Some(dscp), Some(role), Some(queue)) = (&raw.dscp, &raw.role, &raw.queue) else { continue };
        let role_name = role.value.0;
        if let Some((other, first)) = by_dscp.get(&dscp.value.0) {
            problems.push(
                Problem::error("topology::dscp_overlap", overlap(dscp.value.0, *other, role_name))
                    .at(dscp.span, format!("{role_name} here"))
                    .at(*first, format!("{other} here"))
                    .hint("a DSCP has one role; give the second another codepoint, 0 to 63"),
            );
            continue;
        }
        by_dscp.insert(dscp.value.0, (role_name, dscp.span));
        if role_name == Role::Control {
            control_queues.entry(queue.value.0).or_insert(queue.span);
        } else {
            data_queues.entry(queue.value.0).or_insert((role_name, queue.span));
        }
        let narrow = |value: u64| u8::try_from(value).ok();
        let class = raw.class.map_or(0, |class| class.0);
        if let (Some(dscp), Some(class), Some(queue)) =
            (narrow(dscp.value.0), narrow(class), narrow(queue.value.0))
        {
            checked.push(DscpEntry { dscp, role: role_name, class, queue });
        }
    }
    // The switches' own reports are put into this queue, whatever the map says.
    control_queues.entry(u64::from(REPORT_QUEUE)).or_default();
    for (queue, (role, span)) in data_queues {
        let Some(control) = control_queues.get(&queue) else { continue };
        let mut problem =
            Problem::error("topology::queue_roles", format!("queue {queue} carries control and {role}"))
                .at(span, format!("{role} packets are put here"));
        if control.len > 0 {
            problem = problem.at(*control, "control packets are put here");
        }
        let hint = "a queue has one profile; give data a queue of its own, 0 to 6 (queue 7 carries reports)";
        problems.push(problem.hint(hint));
    }
    match by_dscp.get(&u64::from(REPORT_DSCP)) {
        Some((Role::Control, _)) => {}
        Some((role, span)) => problems.push(
            Problem::error("topology::report_dscp", format!("DSCP {REPORT_DSCP} can't be {role}"))
                .at(*span, "the switches' reports carry it")
                .hint("give this role another codepoint, and DSCP 48 role control"),
        ),
        None if entries.iter().any(|entry| !entry.refused.is_empty()) => {}
        None => problems.push(
            Problem::error("topology::report_dscp", format!("DSCP {REPORT_DSCP} has no entry"))
                .at(list, "the switches' reports carry it")
                .hint(format!(
                    "add `- {{ dscp: {REPORT_DSCP}, role: control, class: 7, queue: {REPORT_QUEUE} }}`"
                )),
        ),
    }
    checked
}

fn overlap(dscp: u64, first: Role, second: Role) -> String {
    if first == second {
        format!("DSCP {dscp} is listed twice")
    } else {
        format!("DSCP {dscp} is both {first} and {second}")
    }
}
