//! Flows that are counted by Alternate Marking.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use super::super::decode::{Located, Problems};
use super::super::fabric::Fabric;
use super::super::values;
use super::super::{MarkedFlow, Marking, Origin, Places, Problem, Span, Time, raw};
use super::nodes::Nodes;
use crate::marking::SHORTEST_PERIOD;
use crate::pipeline::generated::constants::MARKING_FLOWS;

pub(super) fn check(
    file: &raw::File,
    nodes: &Nodes,
    fabric: &Fabric<'_>,
    problems: &mut Problems,
) -> Option<Marking> {
    let raw = file.marking.as_ref()?;
    let period = raw.period.as_ref().and_then(|given| period(given, problems));
    let flows = raw.flows.as_ref()?;
    if flows.value.len() > MARKING_FLOWS as usize {
        problems.push(
            Problem::error("topology::marking", format!("{} flows", flows.value.len()))
                .at(flows.span, "")
                .hint(format!("a switch counts at most {MARKING_FLOWS}")),
        );
    }
    let mut names = HashMap::new();
    let mut ids = HashMap::new();
    let mut checked = Vec::new();
    for (number, raw) in (1..).zip(&flows.value) {
        let id = raw.flow_mon_id.as_ref();
        let flow_mon_id = id.and_then(|id| u32::try_from(id.value.0).ok()).unwrap_or(number);
        let at = id.map(|id| id.span).or(raw.name.as_ref().map(|name| name.span)).unwrap_or_default();
        twice("flow_mon_id", &flow_mon_id.to_string(), at, &mut ids, problems);
        if let Some(name) = &raw.name {
            twice("name", &name.value, name.span, &mut names, problems);
        }
        checked.extend(flow(raw, flow_mon_id, nodes, fabric, problems));
    }
    Some(Marking { period_log2: period?, collector: collector(raw, problems), flows: checked })
}

/// The exponent of a period; switches shift time by it.
fn period(given: &Located<Time>, problems: &mut Problems) -> Option<u8> {
    let nanos = given.value.get();
    let micros = nanos / 1000;
    if nanos.is_multiple_of(1000) && micros.is_power_of_two() {
        if nanos < SHORTEST_PERIOD.0 {
            let shortest = Time::new(SHORTEST_PERIOD.0);
            problems.push(
                Problem::warning(
                    "topology::marking",
                    format!("`crn controller` collects no counters of periods as short as {}", given.value),
                )
                .at(given.span, "packets are marked, but no PATH_REPORT tells of them")
                .hint(format!("the shortest that it reads in time: {shortest}")),
            );
        }
        return u8::try_from(micros.ilog2()).ok();
    }
    let below = Time::new(1000 << micros.max(1).ilog2());
    let above = Time::new(below.get() * 2);
    problems.push(
        Problem::error("topology::marking", format!("{} isn't a power of two of microseconds", given.value))
            .at(given.span, "")
            .hint(format!("near it: {below} or {above}")),
    );
    None
}

/// Reports are about IPv6 flows and go to IPv6 addresses.
fn collector(raw: &raw::Marking, problems: &mut Problems) -> Option<Ipv6Addr> {
    let given = raw.collector.as_ref()?;
    match given.value.0 {
        IpAddr::V6(address) => Some(address),
        IpAddr::V4(address) => {
            problems.push(
                Problem::error("topology::family", format!("the collector's address {address} is of IPv4"))
                    .at(given.span, "its reports are about IPv6 flows")
                    .hint("give an IPv6 address of the machine that runs `crn controller`"),
            );
            None
        }
    }
}

fn twice(what: &str, value: &str, span: Span, seen: &mut HashMap<String, Span>, problems: &mut Problems) {
    if let Some(first) = seen.insert(value.to_owned(), span) {
        problems.push(
            Problem::error("topology::marking", format!("two marked flows have the {what} {value}"))
                .at(span, "again here")
                .at(first, "first here")
                .hint("give each its own"),
        );
    }
}

fn flow(
    raw: &raw::MarkedFlow,
    flow_mon_id: u32,
    nodes: &Nodes,
    fabric: &Fabric<'_>,
    problems: &mut Problems,
) -> Option<MarkedFlow> {
    let (from, to) = (raw.from.as_ref()?, raw.to.as_ref()?);
    let mut known = true;
    for name in [from, to] {
        let Some(host) = nodes.hosts.get(&name.value) else {
            values::unknown(
                "topology::unknown_host",
                "host",
                name,
                nodes.hosts.keys().map(String::as_str),
                problems,
            );
            known = false;
            continue;
        };
        if host.ipv6.is_none() {
            problems.push(
                Problem::error("topology::marking", format!("`{}` has no IPv6 address", name.value))
                    .at(name.span, "only IPv6 packets carry marks")
                    .hint(format!("add `ipv6: \"fd00::1\"` to `{}`", name.value)),
            );
            known = false;
        }
    }
    if !known {
        return None;
    }
    let there = &nodes.hosts.get(&to.value)?.attachment.switch;
    let here = &nodes.hosts.get(&from.value)?.attachment.switch;
    if here == there {
        problems.push(
            Problem::error(
                "topology::marking",
                format!("`{}` and `{}` hang on the same switch", from.value, to.value),
            )
            .at(to.span, format!("on {there}"))
            .at(from.span, format!("on {here}"))
            .hint("a flow is measured between the switch where it enters and the one where it leaves"),
        );
    } else if fabric.distances(there).is_none_or(|known| fabric.distance(here, &known).is_none()) {
        problems.push(
            Problem::error(
                "topology::no_path",
                format!("there is no path from `{}` to `{}`", from.value, to.value),
            )
            .at(from.span, format!("hangs on {here}"))
            .hint(format!("link `{here}` and `{there}`, directly or over others")),
        );
    }
    let port = |port: &Option<Located<super::super::decode::Int<0, 65535>>>| {
        u16::try_from(port.as_ref()?.value.0).ok()
    };
    Some(MarkedFlow {
        name: raw.name.as_ref()?.value.clone(),
        from: from.value.clone(),
        to: to.value.clone(),
        flow_mon_id,
        protocol: raw.protocol.as_ref().map(|protocol| protocol.value.0),
        source_port: port(&raw.source_port),
        destination_port: port(&raw.destination_port),
        queue_pair: raw.queue_pair.as_ref().and_then(|pair| u32::try_from(pair.value.0).ok()),
    })
}

/// Notes where each flow stands.
pub(super) fn places(file: &raw::File, places: &mut Places) {
    let flows =
        file.marking.iter().filter_map(|marking| marking.flows.as_ref()).flat_map(|flows| &flows.value);
    for (index, name) in flows.enumerate().filter_map(|(index, flow)| Some((index, flow.name.as_ref()?))) {
        places.note(Origin::MarkedFlow(index), name.span);
    }
}
