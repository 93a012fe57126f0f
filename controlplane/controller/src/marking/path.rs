//! The switches of a flow's way.
//!
//! Every shortest path counts, because packets of one monitored flow may take any of them. With one path the points follow each other
//! (RFC 9341); with several, links that share a start or an end form a cluster, over which what goes in equals what comes out but
//! for losses (RFC 9342, Section 5).

use std::collections::BTreeMap;

use crate::desired::on_the_way;
use crate::topology::{Fabric, MarkedFlow, PeerNode, Topology};

/// A switch of a flow's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub switch: String,
    /// Its Reporter ID, which is the Node ID in reports.
    pub reporter_id: u32,
    /// Links from the switch where the flow enters.
    pub stage: usize,
    /// Ports by which the flow's packets leave.
    pub exits: Vec<u16>,
    /// All ports in use.
    pub ports: Vec<u16>,
}

/// A flow's way through the fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// By stage: the first is where packets are marked, the last where marks come off.
    pub nodes: Vec<Node>,
    /// Links, as pairs of places in `nodes`.
    links: Vec<(usize, usize)>,
}

/// What lies between switches that were read: a link, a cluster of links, or more where a switch is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Switches that packets leave into it.
    pub starts: Vec<usize>,
    /// Switches at which they arrive from it.
    pub ends: Vec<usize>,
    /// Whether a switch that is missing lies within.
    pub blind: bool,
}

impl Path {
    /// The way of a marked flow; `None` when there is none.
    pub fn of(topology: &Topology, flow: &MarkedFlow) -> Option<Self> {
        let (from, to) = (topology.hosts.get(&flow.from)?, topology.hosts.get(&flow.to)?);
        let fabric = Fabric::new(topology);
        let to_exit = fabric.distances(&to.attachment.switch)?;
        let length = fabric.distance(&from.attachment.switch, &to_exit)?.0;
        let mut nodes = Vec::new();
        for (name, switch) in &topology.switches {
            if !on_the_way(&fabric, name, from, to) {
                continue;
            }
            let exits = if *name == to.attachment.switch {
                to.ports.clone()
            } else {
                fabric.next_ports(name, &to_exit)
            };
            nodes.push(Node {
                switch: name.clone(),
                reporter_id: switch.reporter_id,
                stage: length - fabric.distance(name, &to_exit)?.0,
                exits,
                ports: switch.ports.keys().copied().collect(),
            });
        }
        nodes.sort_by(|one, other| (one.stage, &one.switch).cmp(&(other.stage, &other.switch)));
        let place: BTreeMap<&str, usize> =
            nodes.iter().enumerate().map(|(place, node)| (node.switch.as_str(), place)).collect();
        let mut links = Vec::new();
        for (start, node) in nodes.iter().enumerate() {
            let ports = &topology.switches.get(&node.switch)?.ports;
            for peer in node.exits.iter().filter_map(|port| ports.get(port)) {
                let PeerNode::Switch(name, _) = &peer.node else { continue };
                links.extend(place.get(name.as_str()).map(|end| (start, *end)));
            }
        }
        links.sort_unstable();
        links.dedup();
        Some(Self { nodes, links })
    }

    /// The segments between the switches that are `known`, in the order of the way. Where the first or the last switch is
    /// missing, there is nothing to compare with.
    pub fn segments(&self, known: &[bool]) -> Vec<Segment> {
        // A vertex for where packets come into each switch, and one for where they leave it.
        let (entry, exit) = (|node: usize| 2 * node, |node: usize| 2 * node + 1);
        let mut joined: Vec<usize> = (0..2 * self.nodes.len()).collect();
        let within = (0..self.nodes.len()).filter(|&node| !known[node]).map(|node| (entry(node), exit(node)));
        let between = self.links.iter().map(|&(start, end)| (exit(start), entry(end)));
        for (one, other) in within.chain(between) {
            let (one, other) = (joined[one], joined[other]);
            joined.iter_mut().filter(|group| **group == one).for_each(|group| *group = other);
        }
        let mut segments: BTreeMap<usize, Segment> = BTreeMap::new();
        let open = [joined[entry(0)], joined[exit(self.nodes.len() - 1)]];
        for node in 0..self.nodes.len() {
            for (group, is_start) in [(joined[exit(node)], true), (joined[entry(node)], false)] {
                let segment = segments.entry(group).or_insert_with(|| Segment {
                    starts: Vec::new(),
                    ends: Vec::new(),
                    blind: false,
                });
                if !known[node] {
                    segment.blind = true;
                } else if is_start {
                    segment.starts.push(node);
                } else {
                    segment.ends.push(node);
                }
            }
        }
        let whole = |(group, segment): &(usize, Segment)| {
            !open.contains(group) && !segment.starts.is_empty() && !segment.ends.is_empty()
        };
        let mut segments: Vec<Segment> =
            segments.into_iter().filter(whole).map(|(_, segment)| segment).collect();
        segments.sort_by_key(|segment| segment.ends.first().copied());
        segments
    }
}
