//! `RECONCILE_AND_COMMIT`: what controllers wrote is carried from one program to another.

use p4runtime::p4::v1::packet_replication_engine_entry::Type as Replication;
use p4runtime::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterData, CounterEntry, DigestEntry,
    Entity, MeterConfig, MeterEntry, MulticastGroupEntry, PacketReplicationEngineEntry, RegisterEntry,
    TableEntry, Update, ValueSetEntry, entity, update,
};

use super::device::Device;
use super::fault::Fault;

/// Carries what controllers wrote from one program to another, which has nothing yet but what it brings itself.
///
/// # Errors
/// `INVALID_ARGUMENT`: the new program can't hold something that the old one does.
pub(super) fn keep_entries(old: &Device, new: &mut Device) -> Result<(), Fault> {
    use entity::Entity as Kind;
    use update::Type::{Delete, Insert, Modify};
    let defaults = || Kind::TableEntry(TableEntry { is_default_action: true, ..TableEntry::default() });
    // Only entries that the program brings are there so far. A controller may have removed them from the old one.
    for brought in read(new, Kind::TableEntry(TableEntry::default()))? {
        if changeable(new, &brought) {
            write(new, Delete, brought)?;
        }
    }
    // In the order in which they refer to each other.
    let kinds = [
        (Kind::ActionProfileMember(ActionProfileMember::default()), Insert),
        (Kind::ActionProfileGroup(ActionProfileGroup::default()), Insert),
        (Kind::TableEntry(resources()), Insert),
        (defaults(), Modify),
        (Kind::CounterEntry(CounterEntry::default()), Modify),
        (Kind::MeterEntry(MeterEntry::default()), Modify),
        (Kind::RegisterEntry(RegisterEntry::default()), Modify),
        (Kind::ValueSetEntry(ValueSetEntry::default()), Modify),
        (Kind::DigestEntry(DigestEntry::default()), Insert),
        (replication(true), Insert),
        (replication(false), Insert),
    ];
    let same = read(new, defaults())?;
    for (kind, how) in kinds {
        for found in read(old, kind)? {
            // A default action that nobody has set isn't written: not every one can be.
            if changeable(old, &found) && !same.contains(&found) {
                write(new, how, found)?;
            }
        }
    }
    Ok(())
}

fn read(device: &Device, kind: entity::Entity) -> Result<Vec<Entity>, Fault> {
    device.read(&Entity { entity: Some(kind) })
}

fn write(device: &mut Device, how: update::Type, entity: Entity) -> Result<(), Fault> {
    let update = Update { r#type: how.into(), entity: Some(entity) };
    match device.write(&[update]).pop() {
        Some(outcome) if outcome.canonical_code != 0 => {
            Err(Fault::invalid(format!("the entries can't be kept: {}", outcome.message)))
        }
        _ => Ok(()),
    }
}

/// Whether controllers may change it at all.
fn changeable(device: &Device, entity: &Entity) -> bool {
    let Some(entity::Entity::TableEntry(entry)) = &entity.entity else { return true };
    device.pipeline.table(entry.table_id).is_ok_and(|(table, bound)| {
        if entry.is_default_action {
            table.const_default_action.is_none()
        } else {
            !device.pipeline.is_fixed(table, bound)
        }
    })
}

fn resources() -> TableEntry {
    TableEntry {
        counter_data: Some(CounterData::default()),
        meter_config: Some(MeterConfig::default()),
        ..TableEntry::default()
    }
}

fn replication(clones: bool) -> entity::Entity {
    let kind = if clones {
        Replication::CloneSessionEntry(CloneSessionEntry::default())
    } else {
        Replication::MulticastGroupEntry(MulticastGroupEntry::default())
    };
    entity::Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) })
}
