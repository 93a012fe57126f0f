//! What a switch is asked for, and what its answer says.

use std::collections::BTreeMap;

use p4runtime::P4InfoIndex;
use p4runtime::index::Object as _;
use p4runtime::p4::v1::{CounterEntry, Entity, Index, entity};

use super::path::Node;
use crate::pipeline::generated::constants::{DROP_CONGESTION, DROP_POLICY};
use crate::pipeline::generated::counters::{delay_bins, drops, marked, marked_departed};
use crate::topology::QUEUES;

/// Bins of the delay counter of each flow.
pub(super) const BINS: usize = 16;

/// What a switch has counted of a flow since it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Packets that came, by colour.
    pub arrived: [u64; 2],
    /// Packets that left, by colour.
    pub departed: [u64; 2],
    /// Delay-marked packets by their time in the queue: bin n holds 2^n up to 2^(n+1) us.
    pub delay: [u64; BINS],
    /// Packets of anybody that found no room in queues that the flow's packets are put into.
    pub congestion: u64,
    /// Packets of anybody that the switch's policy refused.
    pub policy: u64,
}

impl FlowCounts {
    /// All counters of the flow itself.
    pub(super) fn cells(&self) -> impl Iterator<Item = &u64> {
        self.arrived.iter().chain(&self.departed).chain(&self.delay)
    }
}

/// What a switch has counted of each flow that goes over it, by the flow's place in the file.
pub type Reading = BTreeMap<usize, FlowCounts>;

/// Cells of a counter: (name, index).
fn cells(flow: usize, node: &Node) -> Vec<(&'static str, u64)> {
    let flow = flow as u64;
    let mut cells = Vec::new();
    for colour in 0..2 {
        cells.push((marked::NAME, flow << 1 | colour));
        cells.push((marked_departed::NAME, flow << 1 | colour));
    }
    cells.extend((0..BINS as u64).map(|bin| (delay_bins::NAME, flow << 4 | bin)));
    for port in &node.exits {
        cells.extend((0..QUEUES).map(|queue| (drops::NAME, drop_cell(DROP_CONGESTION, *port, queue))));
    }
    // What isn't dropped for want of room is counted where it came in.
    cells.extend(node.ports.iter().map(|port| (drops::NAME, drop_cell(DROP_POLICY, *port, 0))));
    cells
}

fn drop_cell(cause: u8, port: u16, queue: u8) -> u64 {
    u64::from(cause) << 12 | u64::from(port) << 3 | u64::from(queue)
}

/// What to ask the switch `node` for about a flow. Counters that its program lacks are left out.
pub fn request(index: &P4InfoIndex, flow: usize, node: &Node) -> Vec<Entity> {
    let entity = |(name, at): (&str, u64)| {
        let counter_id = index.counters.by_name(name)?.id();
        let index = Some(Index { index: i64::try_from(at).ok()? });
        let entry = CounterEntry { counter_id, index, data: None };
        Some(Entity { entity: Some(entity::Entity::CounterEntry(entry)) })
    };
    cells(flow, node).into_iter().filter_map(entity).collect()
}

/// What an answer says of these flows.
pub fn counts_of(index: &P4InfoIndex, flows: impl Iterator<Item = usize>, entities: &[Entity]) -> Reading {
    let mut reading: Reading = flows.map(|flow| (flow, FlowCounts::default())).collect();
    let mut dropped: BTreeMap<u64, u64> = BTreeMap::new();
    for entity in entities {
        let Some(entity::Entity::CounterEntry(entry)) = &entity.entity else { continue };
        let (Some(counter), Some(at)) = (index.counters.by_id(entry.counter_id), entry.index.as_ref()) else {
            continue;
        };
        let Ok(at) = usize::try_from(at.index) else { continue };
        // Signed on the wire; a counter of 64 bits that has passed half of them is negative there.
        let packets = entry.data.as_ref().map_or(0, |data| data.packet_count.cast_unsigned());
        let name = counter.alias();
        if name == drops::NAME {
            dropped.insert(at as u64, packets);
            continue;
        }
        let flow = if name == delay_bins::NAME { at >> 4 } else { at >> 1 };
        let Some(counts) = reading.get_mut(&flow) else { continue };
        match name {
            marked::NAME => counts.arrived[at & 1] = packets,
            marked_departed::NAME => counts.departed[at & 1] = packets,
            delay_bins::NAME => counts.delay[at & 15] = packets,
            _ => {}
        }
    }
    let of = |cause: u8| {
        let cells = dropped.range(u64::from(cause) << 12..(u64::from(cause) + 1) << 12);
        cells.fold(0u64, |sum, (_, packets)| sum.wrapping_add(*packets))
    };
    let (congestion, policy) = (of(DROP_CONGESTION), of(DROP_POLICY));
    for counts in reading.values_mut() {
        (counts.congestion, counts.policy) = (congestion, policy);
    }
    reading
}
