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
use crate::pipeline::generated::{action_profiles, meters, tables};
use crate::topology::Origin;
use keyed::{Key, Keyed};

/// What a controller owns on a switch. What other programs' parts hold is left alone.
const TABLES: [&str; 14] = [
    tables::dscp_map::NAME,
    tables::port_trust::NAME,
    tables::ipv4_route::NAME,
    tables::ipv6_route::NAME,
    tables::queue_profile::NAME,
    tables::congestion_degree::NAME,
    tables::fair_share::NAME,
    tables::acl::NAME,
    tables::source_rate_policy::NAME,
    tables::qp_rate_policy::NAME,
    tables::csf_address::NAME,
    tables::source_check::NAME,
    tables::marking_flow::NAME,
    tables::marking_edge::NAME,
];
/// Tables of which only the default action is set.
const DEFAULTS: [&str; 4] =
    [tables::reporter::NAME, tables::path_report::NAME, tables::rate_advice::NAME, tables::rate_signal::NAME];
const ACTION_PROFILES: [&str; 1] = [action_profiles::ecmp::NAME];
const METERS: [&str; 1] = [meters::report_meter::NAME];

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
    changes(desired, held).into_iter().map(|change| change.update).collect()
}

/// As [`updates`], each with what was there and where in the topology it comes from.
pub fn changes(desired: &Desired, held: &[Entity]) -> Vec<Change> {
    let origins = desired.origins.iter().map(Some).chain(std::iter::repeat(None));
    let wanted: BTreeMap<Key, (Keyed, &Entity, Option<&Origin>)> = desired
        .entities
        .iter()
        .zip(origins)
        .filter_map(|(entity, origin)| {
            keyed::split(entity).map(|(key, value)| (key, (value, entity, origin)))
        })
        .collect();
    let mut held = by_key(held);
    let mut ordered: Vec<(u8, Change)> = Vec::new();
    for (key, (want, given, origin)) in &wanted {
        let have = held.remove(key);
        let kind = match &have {
            Some(have) if have == want => continue,
            Some(have) if desired.meters_are_rounded && have.is_about(want) => continue,
            Some(_) => update::Type::Modify,
            None if key.always_there() => update::Type::Modify,
            None => update::Type::Insert,
        };
        let before = have.map(|have| have.entity(key));
        // Of the two fields for a copy's port, some switches know only one.
        let asked = if matches!(key, Key::CloneSession { .. }) { (*given).clone() } else { want.entity(key) };
        ordered.push((key.rank(), Change::new(kind, asked, before, origin.cloned())));
    }
    for (key, have) in held.iter().filter(|(key, have)| !have.is_as_started(key)) {
        let kind = if key.always_there() { update::Type::Modify } else { update::Type::Delete };
        ordered
            .push((key.rank_of_deletion(), Change::new(kind, have.gone(key), Some(have.entity(key)), None)));
    }
    ordered.sort_by_key(|(rank, _)| *rank);
    ordered.into_iter().map(|(_, change)| change).collect()
}

/// The changes that undo others: from what a switch holds now back to what it held, as it was read then.
pub fn back_to(before: &[Entity], held: &[Entity]) -> Vec<Change> {
    let desired = Desired {
        entities: before.to_vec(),
        origins: Vec::new(),
        profiles: Vec::new(),
        meters_are_rounded: false,
    };
    changes(&desired, held)
}

/// One change of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What is asked of the switch.
    pub update: Update,
    /// What it holds there now; `None`: nothing.
    pub before: Option<Entity>,
    /// The part of the topology that the new state follows from; `None` for what goes.
    pub origin: Option<Origin>,
}

impl Change {
    fn new(kind: update::Type, entity: Entity, before: Option<Entity>, origin: Option<Origin>) -> Self {
        Self { update: Update { r#type: kind.into(), entity: Some(entity) }, before, origin }
    }
}

fn by_key(entities: &[Entity]) -> BTreeMap<Key, Keyed> {
    entities.iter().filter_map(keyed::split).collect()
}

#[cfg(test)]
mod tests;
