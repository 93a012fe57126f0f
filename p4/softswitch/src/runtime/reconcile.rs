//! `RECONCILE_AND_COMMIT`: what controllers wrote is carried from one program to another.

use p4runtime::p4::v1::packet_replication_engine_entry::Type as Replication;
use p4runtime::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterData, CounterEntry, DigestEntry,
    Entity, MeterConfig, MeterEntry, MulticastGroupEntry, PacketReplicationEngineEntry, RegisterEntry,
    TableEntry, Update, ValueSetEntry, entity, update,
};

use super::device::Device;
use super::fault::Fault;

/// Carries what controllers wrote from one program to another.
pub(super) fn keep_entries(old: &Device, new: &mut Device) -> Result<(), Fault> {
    use entity::Entity as Kind;
    // In the order in which they refer to each other.
    let kinds = [
        (Kind::ActionProfileMember(ActionProfileMember::default()), update::Type::Insert),
        (Kind::ActionProfileGroup(ActionProfileGroup::default()), update::Type::Insert),
        (Kind::TableEntry(resources()), update::Type::Insert),
        (
            Kind::TableEntry(TableEntry { is_default_action: true, ..TableEntry::default() }),
            update::Type::Modify,
        ),
        (Kind::CounterEntry(CounterEntry::default()), update::Type::Modify),
        (Kind::MeterEntry(MeterEntry::default()), update::Type::Modify),
        (Kind::RegisterEntry(RegisterEntry::default()), update::Type::Modify),
        (Kind::ValueSetEntry(ValueSetEntry::default()), update::Type::Modify),
        (Kind::DigestEntry(DigestEntry::default()), update::Type::Insert),
        (replication(true), update::Type::Insert),
        (replication(false), update::Type::Insert),
    ];
    for (kind, how) in kinds {
        let found = old.read(&Entity { entity: Some(kind) })?;
        let kept: Vec<Update> = found
            .into_iter()
            .filter(|entity| !given_by_program(old, entity))
            .map(|entity| Update { r#type: how.into(), entity: Some(entity) })
            .collect();
        for outcome in new.write(&kept) {
            if outcome.canonical_code != 0 {
                return Err(Fault::invalid(format!("the entries can't be kept: {}", outcome.message)));
            }
        }
    }
    Ok(())
}

/// Whether the new program brings this entity itself.
fn given_by_program(old: &Device, entity: &Entity) -> bool {
    let Some(entity::Entity::TableEntry(entry)) = &entity.entity else { return false };
    let table = old.pipeline.index.tables.by_id(entry.table_id);
    table.is_some_and(|table| {
        if entry.is_default_action { table.const_default_action.is_some() } else { table.is_const }
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
