//! Reads of many things in parts, so that packets pass in between.
//!
//! P4Runtime wants no snapshot of a read: what is written meanwhile may or may not be in it.

use std::ops::Range;

use p4runtime::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, DirectCounterEntry, DirectMeterEntry, Entity,
    MulticastGroupEntry, PacketReplicationEngineEntry, ReadRequest, TableEntry, entity,
    packet_replication_engine_entry as pre,
};

use super::Runtime;
use super::device::Device;
use super::table_read::{compare, key_only, matches, wanted_components};
use crate::control::{EntryHandle, KeyMatch};

/// What a large read is made of.
pub(crate) enum Large {
    /// Entries of tables, or their counters or meters.
    Entries(Vec<(u32, Vec<EntryHandle>)>),
    /// Arrays and how many cells each has.
    Cells(Vec<(u32, u64)>),
    /// What has a number: a request for each.
    Numbered(Vec<Entity>),
}

/// What an entry gives, with what it is sorted by.
pub(crate) struct Found {
    key: Vec<KeyMatch>,
    priority: u32,
    message: entity::Entity,
}

/// The entries as a read gives them: by key, then the highest priority first.
pub(crate) fn in_order(mut found: Vec<Found>) -> impl Iterator<Item = Entity> {
    found.sort_by(|a, b| compare(&a.key, &b.key).then(a.priority.cmp(&b.priority)));
    found.into_iter().map(|found| entity(found.message))
}

fn entity(kind: entity::Entity) -> Entity {
    Entity { entity: Some(kind) }
}

/// The entries that a request is about; their direct counters or meters are asked for with them.
fn entries_of(wanted: &entity::Entity) -> Option<TableEntry> {
    Some(match wanted {
        entity::Entity::TableEntry(filter) => filter.clone(),
        entity::Entity::DirectCounterEntry(wanted) => {
            let filter = wanted.table_entry.clone().unwrap_or_default();
            TableEntry { counter_data: Some(filter.counter_data.unwrap_or_default()), ..filter }
        }
        entity::Entity::DirectMeterEntry(wanted) => {
            let filter = wanted.table_entry.clone().unwrap_or_default();
            TableEntry { meter_config: Some(filter.meter_config.unwrap_or_default()), ..filter }
        }
        _ => return None,
    })
}

impl Runtime {
    /// The parts of a request for more than `most` entities; `None` for smaller ones, and for those that will be refused.
    pub(crate) fn large_read(&self, request: &ReadRequest, most: usize) -> Option<Large> {
        let (device, wanted) = self.wanted(request)?;
        let (large, size) = if let Some(arrays) = device.cells_read(wanted) {
            let size = arrays.iter().map(|&(_, cells)| cells).sum::<u64>();
            (Large::Cells(arrays), size)
        } else if let Some(filter) = entries_of(wanted) {
            device.entries_read(wanted, &filter)?
        } else {
            let requests = device.numbered_read(wanted)?;
            let size = requests.len() as u64;
            (Large::Numbered(requests), size)
        };
        (size > most as u64).then_some(large)
    }

    /// What those of a table's entries give that the request wants and that are still there; `None` when it must be
    /// refused.
    pub(crate) fn read_entries(
        &self,
        request: &ReadRequest,
        table: u32,
        handles: &[EntryHandle],
    ) -> Option<Vec<Found>> {
        let (device, kind) = self.wanted(request)?;
        let filter = entries_of(kind)?;
        let (table, bound) = device.pipeline.table(table).ok()?;
        let wanted = wanted_components(table, &filter).ok()?;
        let mut found = Vec::with_capacity(handles.len());
        for &handle in handles {
            let Ok(entry) = device.switch.table_entry(bound.id, handle) else { continue };
            let message = device.entry_message(table, bound, &entry, &filter).ok()?;
            if !matches(&message, &filter, &wanted) {
                continue;
            }
            let message = match kind {
                entity::Entity::DirectCounterEntry(_) => {
                    let data = message.counter_data;
                    let table_entry = Some(key_only(message));
                    entity::Entity::DirectCounterEntry(DirectCounterEntry { table_entry, data })
                }
                entity::Entity::DirectMeterEntry(_) => {
                    let config = message.meter_config;
                    let table_entry = Some(key_only(message));
                    let entry = DirectMeterEntry { table_entry, config, counter_data: None };
                    entity::Entity::DirectMeterEntry(entry)
                }
                _ => entity::Entity::TableEntry(message),
            };
            found.push(Found { key: entry.key, priority: entry.priority, message });
        }
        Some(found)
    }

    /// Some of an array's cells; `None` when that must be refused.
    pub(crate) fn read_cells(
        &self,
        request: &ReadRequest,
        array: u32,
        cells: Range<u64>,
    ) -> Option<Vec<Entity>> {
        let (device, wanted) = self.wanted(request)?;
        let mut out = Vec::new();
        device.read_cells(wanted, array, cells, &mut out).ok()?;
        Some(out.into_iter().map(entity).collect())
    }

    /// What requests from [`Runtime::large_read`] find that is still there; `None` when they must be refused.
    pub(crate) fn read_numbered(&self, request: &ReadRequest, numbered: &[Entity]) -> Option<Vec<Entity>> {
        let (device, _) = self.wanted(request)?;
        let mut found = Vec::with_capacity(numbered.len());
        for one in numbered {
            found.extend(device.read(one).ok()?);
        }
        Some(found)
    }

    fn wanted<'a>(&'a self, request: &'a ReadRequest) -> Option<(&'a Device, &'a entity::Entity)> {
        let [Entity { entity: Some(wanted) }] = request.entities.as_slice() else { return None };
        self.arbitration.check_device(request.device_id).ok()?;
        Some((self.seen().ok()?, wanted))
    }
}

impl Device {
    fn entries_read(&self, wanted: &entity::Entity, filter: &TableEntry) -> Option<(Large, u64)> {
        if filter.is_default_action || (filter.table_id == 0 && !filter.r#match.is_empty()) {
            return None;
        }
        let mut tables = Vec::new();
        for table in &self.pipeline.index.tables {
            if filter.table_id != 0 && filter.table_id != table.id {
                continue;
            }
            let has_it = match wanted {
                entity::Entity::DirectCounterEntry(_) => table.direct_counter.is_some(),
                entity::Entity::DirectMeterEntry(_) => table.direct_meter.is_some(),
                _ => true,
            };
            if has_it {
                let (_, bound) = self.pipeline.table(table.id).ok()?;
                tables.push((table.id, self.switch.table_handles(bound.id).ok()?));
            }
        }
        let size = tables.iter().map(|(_, handles)| handles.len() as u64).sum();
        Some((Large::Entries(tables), size))
    }

    /// A request for each of what a request for all stands for.
    fn numbered_read(&self, wanted: &entity::Entity) -> Option<Vec<Entity>> {
        Some(match wanted {
            entity::Entity::ActionProfileMember(filter) if filter.member_id == 0 => {
                let all = self.numbers(filter.action_profile_id, Device::member_numbers)?;
                let one = |(action_profile_id, member_id)| ActionProfileMember {
                    action_profile_id,
                    member_id,
                    ..ActionProfileMember::default()
                };
                all.map(one).map(entity::Entity::ActionProfileMember).map(entity).collect()
            }
            entity::Entity::ActionProfileGroup(filter) if filter.group_id == 0 => {
                let all = self.numbers(filter.action_profile_id, Device::group_numbers)?;
                let one = |(action_profile_id, group_id)| ActionProfileGroup {
                    action_profile_id,
                    group_id,
                    ..ActionProfileGroup::default()
                };
                all.map(one).map(entity::Entity::ActionProfileGroup).map(entity).collect()
            }
            entity::Entity::PacketReplicationEngineEntry(filter) => {
                let of = |kind| {
                    let entry = PacketReplicationEngineEntry { r#type: Some(kind) };
                    entity(entity::Entity::PacketReplicationEngineEntry(entry))
                };
                match filter.r#type.as_ref()? {
                    pre::Type::CloneSessionEntry(filter) if filter.session_id == 0 => {
                        let one = |id: u16| CloneSessionEntry {
                            session_id: id.into(),
                            ..CloneSessionEntry::default()
                        };
                        let all = self.switch.clone_sessions().filter(|&(id, _)| id != 0);
                        all.map(|(id, _)| of(pre::Type::CloneSessionEntry(one(id)))).collect()
                    }
                    pre::Type::MulticastGroupEntry(filter) if filter.multicast_group_id == 0 => {
                        let one = |id: u16| MulticastGroupEntry {
                            multicast_group_id: id.into(),
                            ..MulticastGroupEntry::default()
                        };
                        let all = self.switch.multicast_groups();
                        all.map(|(id, _)| of(pre::Type::MulticastGroupEntry(one(id)))).collect()
                    }
                    _ => return None,
                }
            }
            _ => return None,
        })
    }
}
