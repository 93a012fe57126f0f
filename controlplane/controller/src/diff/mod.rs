//! From what a switch holds to what it should hold: the changes, in an order that never refers to something
//! that isn't there.

mod keyed;

use std::collections::BTreeMap;

use p4runtime::P4InfoIndex;
use p4runtime::index::Object as _;
use p4runtime::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, Entity, MeterEntry,
    PacketReplicationEngineEntry, TableEntry, Update, entity, packet_replication_engine_entry, update,
};

use crate::desired::Desired;
use keyed::{Key, Keyed};

/// What a controller owns on a switch. What other programs' parts hold is left alone.
const TABLES: [&str; 6] =
    ["dscp_map", "port_trust", "ipv4_route", "queue_profile", "congestion_degree", "fair_share"];
/// Tables of which only the default action is set.
const DEFAULTS: [&str; 1] = ["reporter"];
const ACTION_PROFILES: [&str; 1] = ["ecmp"];
const METERS: [&str; 1] = ["report_meter"];

/// What to ask a switch for before [`updates`]: everything that [`crate::desired::entries`] can hold, with the
/// program's ids. Names that the program lacks are left out.
pub fn read_request(index: &P4InfoIndex) -> Vec<Entity> {
    let mut wanted = Vec::new();
    for table in TABLES.iter().filter_map(|name| index.tables.by_name(name)) {
        let entry = TableEntry { table_id: table.id(), ..TableEntry::default() };
        wanted.push(entity::Entity::TableEntry(entry));
    }
    for table in DEFAULTS.iter().filter_map(|name| index.tables.by_name(name)) {
        let entry = TableEntry { table_id: table.id(), is_default_action: true, ..TableEntry::default() };
        wanted.push(entity::Entity::TableEntry(entry));
    }
    for profile in ACTION_PROFILES.iter().filter_map(|name| index.action_profiles.by_name(name)) {
        let action_profile_id = profile.id();
        let member = ActionProfileMember { action_profile_id, ..ActionProfileMember::default() };
        wanted.push(entity::Entity::ActionProfileMember(member));
        let group = ActionProfileGroup { action_profile_id, ..ActionProfileGroup::default() };
        wanted.push(entity::Entity::ActionProfileGroup(group));
    }
    for meter in METERS.iter().filter_map(|name| index.meters.by_name(name)) {
        let entry = MeterEntry { meter_id: meter.id(), ..MeterEntry::default() };
        wanted.push(entity::Entity::MeterEntry(entry));
    }
    wanted.push(clone_sessions());
    wanted.into_iter().map(|entity| Entity { entity: Some(entity) }).collect()
}

/// Stands for all clone sessions in a read.
fn clone_sessions() -> entity::Entity {
    entity::Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
        r#type: Some(packet_replication_engine_entry::Type::CloneSessionEntry(CloneSessionEntry::default())),
    })
}

/// The changes that make a switch that holds `held` hold `desired`; none when it does.
///
/// Table entries that go are deleted first, so that new ones fit and never overlap old ones; then members,
/// groups, and the entries that refer to them; last the groups and members that nothing refers to any more.
pub fn updates(desired: &Desired, held: &[Entity]) -> Vec<Update> {
    let wanted = by_key(&desired.entities);
    let held = by_key(held);
    let mut ordered: Vec<(u8, Update)> = Vec::new();
    for (key, want) in &wanted {
        let kind = match held.get(key) {
            Some(have) if have == want => continue,
            Some(_) => update::Type::Modify,
            None if key.always_there() => update::Type::Modify,
            None => update::Type::Insert,
        };
        ordered.push((key.rank(), change(kind, want.entity(key))));
    }
    for (key, have) in held.iter().filter(|(key, _)| !wanted.contains_key(*key)) {
        let kind = if key.always_there() { update::Type::Modify } else { update::Type::Delete };
        if let Some(gone) = have.gone(key) {
            ordered.push((key.rank_of_deletion(), change(kind, gone)));
        }
    }
    ordered.sort_by_key(|(rank, _)| *rank);
    ordered.into_iter().map(|(_, update)| update).collect()
}

fn by_key(entities: &[Entity]) -> BTreeMap<Key, Keyed> {
    entities.iter().filter_map(keyed::split).collect()
}

fn change(kind: update::Type, entity: Entity) -> Update {
    Update { r#type: kind.into(), entity: Some(entity) }
}

#[cfg(test)]
mod tests;
