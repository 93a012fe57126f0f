//! The program's counters, by what they count.

use p4runtime::P4InfoIndex;
use p4runtime::index::Object as _;
use p4runtime::p4::v1::{CounterEntry, Entity, entity};

/// The counters that a controller reads; what isn't in the program is left out.
const COUNTERS: [&str; 5] = ["reports_sent", "reports_suppressed", "reports_deferred", "drops", "ecn_marked"];

/// A cell that isn't zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterCell {
    /// The counter's name in the program.
    pub counter: String,
    /// Kind of report, cause of suppression or of drop: the program's `KIND_*`, `SUPPRESSED_*`, `DROP_*`.
    pub kind: u8,
    /// Port.
    pub port: u16,
    /// Queue.
    pub queue: u8,
    /// Packets since the program was started.
    pub packets: u64,
    /// Their octets.
    pub octets: u64,
}

/// What to ask a switch for to learn its counters.
pub fn read_request(index: &P4InfoIndex) -> Vec<Entity> {
    let counters = COUNTERS.iter().filter_map(|name| index.counters.by_name(name));
    let entry = |counter_id| CounterEntry { counter_id, ..CounterEntry::default() };
    counters
        .map(|counter| Entity { entity: Some(entity::Entity::CounterEntry(entry(counter.id()))) })
        .collect()
}

/// The cells that aren't zero, in the order of the answer. An index is kind << 12 | port << 3 | queue.
pub fn cells(entities: &[Entity], index: &P4InfoIndex) -> Vec<CounterCell> {
    let cell = |entity: &Entity| {
        let Some(entity::Entity::CounterEntry(entry)) = &entity.entity else { return None };
        let (data, at) = (entry.data.as_ref()?, u64::try_from(entry.index.as_ref()?.index).ok()?);
        if data.packet_count == 0 && data.byte_count == 0 {
            return None;
        }
        Some(CounterCell {
            counter: index.counters.by_id(entry.counter_id)?.alias().to_owned(),
            kind: u8::try_from(at >> 12).ok()?,
            port: u16::try_from(at >> 3 & 0x1ff).ok()?,
            queue: u8::try_from(at & 7).ok()?,
            // Counters are signed on the wire and never negative.
            packets: u64::try_from(data.packet_count).unwrap_or_default(),
            octets: u64::try_from(data.byte_count).unwrap_or_default(),
        })
    };
    entities.iter().filter_map(cell).collect()
}
