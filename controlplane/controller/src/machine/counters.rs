//! The program's counters, by what they count.

use p4runtime::P4InfoIndex;
use p4runtime::index::Object as _;
use p4runtime::p4::v1::{CounterEntry, Entity, entity};

use crate::pipeline::generated::counters;

/// The counters that a controller reads; what isn't in the program is left out.
const COUNTERS: [&str; 6] = [
    counters::reports_triggered::NAME,
    counters::reports_sent::NAME,
    counters::reports_suppressed::NAME,
    counters::reports_deferred::NAME,
    counters::drops::NAME,
    counters::ecn_marked::NAME,
];

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

/// Reports that were triggered and not sent, by kind, port and queue: their clones came to nothing, because the clone session isn't
/// set or its port's queue was full. Of a switch that reports at this moment a few are on their way.
pub fn lost_reports(cells: &[CounterCell]) -> Vec<CounterCell> {
    let same = |one: &CounterCell, other: &CounterCell| {
        (one.kind, one.port, one.queue) == (other.kind, other.port, other.queue)
    };
    let of = |name| cells.iter().filter(move |cell| cell.counter == name);
    of(counters::reports_triggered::NAME)
        .filter_map(|triggered| {
            let sent = of(counters::reports_sent::NAME).find(|sent| same(sent, triggered));
            let [packets, octets] = sent.map_or([0; 2], |sent| [sent.packets, sent.octets]);
            let lost = CounterCell {
                packets: triggered.packets.saturating_sub(packets),
                octets: triggered.octets.saturating_sub(octets),
                ..triggered.clone()
            };
            (lost.packets > 0).then_some(lost)
        })
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_triggered_and_not_sent_is_lost() {
        let cell = |counter: &str, kind, port, packets| CounterCell {
            counter: counter.to_owned(),
            kind,
            port,
            queue: 0,
            packets,
            octets: packets * 100,
        };
        let cells = [
            cell(counters::reports_triggered::NAME, 1, 2, 3),
            cell(counters::reports_triggered::NAME, 1, 3, 4),
            cell(counters::reports_triggered::NAME, 2, 2, 5),
            cell(counters::reports_sent::NAME, 1, 2, 3),
            cell(counters::reports_sent::NAME, 1, 3, 1),
            cell(counters::drops::NAME, 2, 2, 5),
        ];
        let lost = lost_reports(&cells);
        let told: Vec<_> =
            lost.iter().map(|cell| (cell.kind, cell.port, cell.packets, cell.octets)).collect();
        assert_eq!(told, [(1, 3, 3, 300), (2, 2, 5, 500)]);
    }
}
