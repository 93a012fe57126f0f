//! Shortest paths over the switches.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::{Link, PeerNode, Switch, Topology};

/// The switches as a graph; hosts hang on it and carry nothing through.
#[derive(Clone, Debug)]
pub struct Fabric<'a> {
    names: Vec<&'a str>,
    index: HashMap<&'a str, usize>,
    neighbours: Vec<Vec<Hop>>,
}

/// A way out of a switch to a neighbouring one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    port: u16,
    to: usize,
    delay_ns: u64,
}

/// How far every switch is from one of them.
#[derive(Clone, Debug)]
pub struct Distances {
    /// Links to the destination, and the largest delay among the shortest paths; `None` if there is no path.
    to: Vec<Option<(usize, u64)>>,
}

impl<'a> Fabric<'a> {
    /// The graph of a checked topology.
    pub fn new(topology: &'a Topology) -> Self {
        Self::from_parts(&topology.switches, &topology.links)
    }

    pub(super) fn from_parts(switches: &'a BTreeMap<String, Switch>, links: &[Link]) -> Self {
        let names: Vec<&str> = switches.keys().map(String::as_str).collect();
        let index: HashMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        let neighbours = switches
            .values()
            .map(|switch| {
                let hop = |(port, peer): (&u16, &super::Peer)| match &peer.node {
                    PeerNode::Switch(name, _) => Some(Hop {
                        port: *port,
                        to: *index.get(name.as_str())?,
                        delay_ns: links.get(peer.link)?.delay_ns,
                    }),
                    PeerNode::Host(_) => None,
                };
                switch.ports.iter().filter_map(hop).collect()
            })
            .collect();
        Self { names, index, neighbours }
    }

    /// Names of the switches, in the order of their numbers here.
    pub fn names(&self) -> &[&'a str] {
        &self.names
    }

    /// Distances of all switches to one of them, counted in links; `None` if there is no such switch.
    pub fn distances(&self, to: &str) -> Option<Distances> {
        let start = *self.index.get(to)?;
        let mut distances = vec![None; self.names.len()];
        distances[start] = Some((0, 0));
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            let Some((hops, delay)) = distances[at] else { continue };
            // Links are full duplex and alike in both directions, so the way back is the way there. All of a
            // level is in the queue before any of the next is taken out, so that a level's delays are final.
            for hop in &self.neighbours[at] {
                match &mut distances[hop.to] {
                    none @ None => {
                        *none = Some((hops + 1, delay + hop.delay_ns));
                        queue.push_back(hop.to);
                    }
                    Some((known, longest)) if *known == hops + 1 => {
                        *longest = (*longest).max(delay + hop.delay_ns);
                    }
                    Some(_) => {}
                }
            }
        }
        Some(Distances { to: distances })
    }

    /// For each switch, in the order of [`Fabric::names`], the ports of `from` that lead there by a shortest path, ascending:
    /// none for itself, and none where there is no path; `None` if there is no such switch.
    ///
    /// One search from where the ports are, rather than one from each destination: of many switches that is the difference
    /// between seconds and minutes.
    pub fn ports_toward_each(&self, from: &str) -> Option<Vec<BTreeSet<u16>>> {
        let start = *self.index.get(from)?;
        let mut ports = vec![BTreeSet::new(); self.names.len()];
        let mut hops = vec![None; self.names.len()];
        hops[start] = Some(0);
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            let Some(known) = hops[at] else { continue };
            // All of a level is in the queue before any of the next is taken out, so that a level's ports are complete.
            let here = std::mem::take(&mut ports[at]);
            for hop in &self.neighbours[at] {
                if hops[hop.to].is_none() {
                    hops[hop.to] = Some(known + 1);
                    queue.push_back(hop.to);
                }
                if hops[hop.to] != Some(known + 1) {
                    continue;
                }
                if at == start {
                    ports[hop.to].insert(hop.port);
                } else {
                    ports[hop.to].extend(&here);
                }
            }
            ports[at] = here;
        }
        Some(ports)
    }

    /// The ports of a switch that lead to the destination of `distances` by a shortest path, ascending; none
    /// at the destination itself, and none where there is no path.
    pub fn next_ports(&self, from: &str, distances: &Distances) -> Vec<u16> {
        let Some(at) = self.index.get(from).copied() else { return Vec::new() };
        let Some((hops, _)) = distances.to[at] else { return Vec::new() };
        let nearer = |hop: &&Hop| distances.to[hop.to].is_some_and(|(other, _)| other + 1 == hops);
        self.neighbours[at].iter().filter(nearer).map(|hop| hop.port).collect()
    }

    /// Links between a switch and the destination of `distances`, and the largest delay of a shortest path
    /// in nanoseconds; `None` if there is no path.
    pub fn distance(&self, from: &str, distances: &Distances) -> Option<(usize, u64)> {
        distances.to[*self.index.get(from)?]
    }
}
