//! Reads of tables with many entries in parts, so that packets pass in between.
//!
//! P4Runtime wants no snapshot of a read: entries that are written meanwhile may or may not be in it.

use p4runtime::p4::v1::{Entity, ReadRequest, TableEntry, entity};

use super::Runtime;
use super::device::Device;
use super::table_read::{compare, matches, wanted_components};
use crate::control::{EntryHandle, KeyMatch};

/// An entry's message, with what it is sorted by.
pub(crate) struct Found {
    key: Vec<KeyMatch>,
    priority: u32,
    message: TableEntry,
}

/// The entries as a read gives them: by key, then the highest priority first.
pub(crate) fn in_order(mut found: Vec<Found>) -> impl Iterator<Item = Entity> {
    found.sort_by(|a, b| compare(&a.key, &b.key).then(a.priority.cmp(&b.priority)));
    found.into_iter().map(|found| Entity { entity: Some(entity::Entity::TableEntry(found.message)) })
}

impl Runtime {
    /// The tables that a request for entries stands for, with the handles in each; `None` for other requests, for those of
    /// at most `most` entries, and for those that will be refused.
    pub(crate) fn large_read(
        &self,
        request: &ReadRequest,
        most: usize,
    ) -> Option<Vec<(u32, Vec<EntryHandle>)>> {
        let (device, filter) = self.wanted(request)?;
        if filter.is_default_action || (filter.table_id == 0 && !filter.r#match.is_empty()) {
            return None;
        }
        let mut tables = Vec::new();
        for table in &device.pipeline.index.tables {
            if filter.table_id == 0 || filter.table_id == table.id {
                let (_, bound) = device.pipeline.table(table.id).ok()?;
                tables.push((table.id, device.switch.table_handles(bound.id).ok()?));
            }
        }
        let entries: usize = tables.iter().map(|(_, handles)| handles.len()).sum();
        (entries > most).then_some(tables)
    }

    /// Those of a table's entries that the request wants and that are still there; `None` when it must be refused.
    pub(crate) fn read_part(
        &self,
        request: &ReadRequest,
        table: u32,
        handles: &[EntryHandle],
    ) -> Option<Vec<Found>> {
        let (device, filter) = self.wanted(request)?;
        let (table, bound) = device.pipeline.table(table).ok()?;
        let wanted = wanted_components(table, filter).ok()?;
        let mut found = Vec::with_capacity(handles.len());
        for &handle in handles {
            let Ok(entry) = device.switch.table_entry(bound.id, handle) else { continue };
            let message = device.entry_message(table, bound, &entry, filter).ok()?;
            if matches(&message, filter, &wanted) {
                found.push(Found { key: entry.key, priority: entry.priority, message });
            }
        }
        Some(found)
    }

    fn wanted<'a>(&'a self, request: &'a ReadRequest) -> Option<(&'a Device, &'a TableEntry)> {
        let [Entity { entity: Some(entity::Entity::TableEntry(filter)) }] = request.entities.as_slice()
        else {
            return None;
        };
        self.arbitration.check_device(request.device_id).ok()?;
        Some((self.seen().ok()?, filter))
    }
}
