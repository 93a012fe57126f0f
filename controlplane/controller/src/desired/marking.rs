//! Entries of Alternate Marking: every switch on a flow's way knows it by its mark; the first puts the mark on, the last
//! takes it off. So does every switch at the domain's boundary, where marks aren't believed.

use crate::pipeline::generated::constants::{EDGE_INSERT, EDGE_REMOVE};
use crate::pipeline::generated::{actions, fields, params, tables};
use crate::topology::{Fabric, Host, MarkedFlow, Origin, Topology, Trust, mapped};

use super::builder::{Act, Builder, Match};
use super::{DesiredError, Sourced};

/// All of them for a switch. A flow's index is its place in the file on every switch, so that counters of several
/// switches are compared by index.
pub(super) fn entries(
    topology: &Topology,
    switch: &str,
    builder: Builder<'_>,
) -> Result<Vec<Sourced>, DesiredError> {
    let mut all = Vec::new();
    let Some(marking) = &topology.marking else { return Ok(all) };
    let fabric = Fabric::new(topology);
    for (index, flow) in marking.flows.iter().enumerate() {
        let (Some(from), Some(to)) = (topology.hosts.get(&flow.from), topology.hosts.get(&flow.to)) else {
            continue;
        };
        if !on_the_way(&fabric, switch, from, to) && !at_the_boundary(topology, switch) {
            continue;
        }
        let number = u64::try_from(index).unwrap_or(u64::MAX);
        // Of flows that a packet matches the first of the file counts it.
        let priority = i32::try_from(marking.flows.len() - index).unwrap_or(i32::MAX);
        let set = || builder.action(actions::set_marking::NAME, &[(params::FLOW, number.into())]);
        let by_mark = [
            (fields::MARKED, Match::Masked(1, 1)),
            (fields::FLOW_MON_ID, Match::Masked(flow.flow_mon_id.into(), 0xf_ffff)),
        ];
        let mut of_flow =
            vec![builder.prioritised(tables::marking_flow::NAME, &by_mark, Act::Action(set()?), priority)?];
        if from.attachment.switch == switch {
            let key = five_tuple(flow, from, to);
            of_flow.push(builder.prioritised(
                tables::marking_flow::NAME,
                &key,
                Act::Action(set()?),
                priority,
            )?);
        }
        // (operation, the ports by which packets of the flow come in or go out)
        for (operation, host, side) in
            [(EDGE_INSERT, from, fields::INGRESS_PORT), (EDGE_REMOVE, to, fields::EGRESS_PORT)]
        {
            if host.attachment.switch != switch {
                continue;
            }
            for port in &host.ports {
                let action = builder.action(
                    actions::set_edge::NAME,
                    &[
                        (params::OPERATION, operation.into()),
                        (params::FLOW_MON_ID, flow.flow_mon_id.into()),
                        (params::PERIOD_LOG2, marking.period_log2.into()),
                    ],
                )?;
                let key =
                    [(side, Match::Masked((*port).into(), 0x1ff)), (fields::FLOW, Match::Exact(number))];
                of_flow.push(builder.entry(tables::marking_edge::NAME, &key, Act::Action(action))?);
            }
        }
        all.extend(of_flow.into_iter().map(|entity| (entity, Origin::MarkedFlow(index))));
    }
    Ok(all)
}

/// Whether packets from outside the domain enter at a switch. There it knows all flows by their marks, since it takes those off that
/// come from outside: another switch would believe them.
fn at_the_boundary(topology: &Topology, switch: &str) -> bool {
    let options = topology.switches.get(switch).map(|switch| switch.port_options.values());
    options.into_iter().flatten().any(|options| options.trust == Trust::Boundary)
}

/// Whether some shortest path between two hosts goes over a switch.
pub(crate) fn on_the_way(fabric: &Fabric<'_>, switch: &str, from: &Host, to: &Host) -> bool {
    let (here, there) = (from.attachment.switch.as_str(), to.attachment.switch.as_str());
    let hops = |from: &str, to: &str| Some(fabric.distance(from, &fabric.distances(to)?)?.0);
    match (hops(here, switch), hops(switch, there), hops(here, there)) {
        (Some(before), Some(after), Some(all)) => before + after == all,
        _ => false,
    }
}

/// Packets that bear no mark yet.
fn five_tuple(flow: &MarkedFlow, from: &Host, to: &Host) -> Vec<(&'static str, Match)> {
    let mut key = vec![(fields::MARKED, Match::Masked(0, 1))];
    for (field, host) in [(fields::SRC_ADDR, from), (fields::DST_ADDR, to)] {
        if let Some(address) = host.ipv6 {
            key.push((field, Match::Masked(mapped(address.into()), u128::MAX)));
        }
    }
    if let Some(protocol) = flow.protocol {
        key.push((fields::PROTOCOL, Match::Masked(protocol.into(), 0xff)));
    }
    for (field, port) in [(fields::SRC_PORT, flow.source_port), (fields::DST_PORT, flow.destination_port)] {
        if let Some(port) = port {
            key.push((field, Match::Masked(port.into(), 0xffff)));
        }
    }
    key
}
