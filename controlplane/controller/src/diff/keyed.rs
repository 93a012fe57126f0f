//! An entity as key and value in one form only, however a switch writes it.

use p4runtime::bytes::{canonical, decode, encode};
use p4runtime::p4::v1::{
    Action, ActionProfileGroup, ActionProfileMember, CloneSessionEntry, Entity, FieldMatch, Index,
    MeterConfig, MeterEntry, PacketReplicationEngineEntry, TableAction, TableEntry, action,
    action_profile_group, entity, field_match::FieldMatchType, packet_replication_engine_entry, replica,
    table_action,
};

/// What makes an entity the same entity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Entry { table: u32, key: Vec<(u32, MatchKey)>, priority: i32 },
    Default { table: u32 },
    Member { profile: u32, id: u32 },
    Group { profile: u32, id: u32 },
    Meter { meter: u32, index: i64 },
    CloneSession { id: u32 },
}

/// A component of a key in canonical octets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatchKey {
    Exact(Vec<u8>),
    Masked(Vec<u8>, Vec<u8>),
    Prefix(Vec<u8>, i32),
    Range(Vec<u8>, Vec<u8>),
    Optional(Vec<u8>),
}

/// What an entity says, in canonical form.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Keyed {
    Act(Option<TableAction>),
    Member(Option<Action>),
    Group(Vec<action_profile_group::Member>),
    Meter(MeterConfig),
    /// (port, instance) of each copy, ascending; class of service; length.
    CloneSession(Vec<(u32, u32)>, u32, i32),
}

impl Key {
    /// Entities that a switch always has: they are modified, never inserted or deleted.
    pub fn always_there(&self) -> bool {
        matches!(self, Self::Default { .. } | Self::Meter { .. })
    }

    /// When it is inserted or modified.
    pub fn rank(&self) -> u8 {
        match self {
            Self::CloneSession { .. } => 1,
            Self::Member { .. } => 2,
            Self::Group { .. } => 3,
            Self::Meter { .. } => 4,
            Self::Entry { .. } => 5,
            // Reports start only when all that they are made from stands.
            Self::Default { .. } => 6,
        }
    }

    /// When it is deleted.
    pub fn rank_of_deletion(&self) -> u8 {
        match self {
            Self::Entry { .. } => 0,
            Self::Group { .. } => 7,
            Self::Member { .. } => 8,
            Self::Meter { .. } | Self::CloneSession { .. } | Self::Default { .. } => 9,
        }
    }
}

impl Keyed {
    /// The entity again.
    pub fn entity(&self, key: &Key) -> Entity {
        let entity = match (key, self) {
            (Key::Entry { .. } | Key::Default { .. }, Self::Act(action)) => {
                let mut entry = table_entry(key);
                entry.action.clone_from(action);
                entity::Entity::TableEntry(entry)
            }
            (Key::Member { profile, id }, Self::Member(action)) => {
                entity::Entity::ActionProfileMember(ActionProfileMember {
                    action_profile_id: *profile,
                    member_id: *id,
                    action: action.clone(),
                })
            }
            (Key::Group { profile, id }, Self::Group(members)) => {
                entity::Entity::ActionProfileGroup(ActionProfileGroup {
                    action_profile_id: *profile,
                    group_id: *id,
                    members: members.clone(),
                    ..ActionProfileGroup::default()
                })
            }
            (Key::Meter { meter, index }, Self::Meter(config)) => meter_entity(*meter, *index, Some(*config)),
            (Key::CloneSession { id }, Self::CloneSession(copies, class, length)) => {
                clone_session(*id, copies, *class, *length)
            }
            // Keys and values are split together and never mixed.
            _ => return Entity::default(),
        };
        Entity { entity: Some(entity) }
    }

    /// Whether these are a meter's rates and bursts, no more than a fiftieth apart.
    pub fn is_about(&self, other: &Self) -> bool {
        let (Self::Meter(one), Self::Meter(other)) = (self, other) else { return false };
        let pairs = [
            (one.cir, other.cir),
            (one.cburst, other.cburst),
            (one.pir, other.pir),
            (one.pburst, other.pburst),
        ];
        pairs.into_iter().all(|(one, other)| one.abs_diff(other) <= other.unsigned_abs() / 50)
    }

    /// Whether this is a default action that says nothing, as after the program was pushed.
    pub fn is_as_started(&self, key: &Key) -> bool {
        let (Key::Default { .. }, Self::Act(action)) = (key, self) else { return false };
        match action.as_ref().and_then(|action| action.r#type.as_ref()) {
            Some(table_action::Type::Action(action)) => action.params.is_empty(),
            _ => true,
        }
    }

    /// What deletes or resets it.
    pub fn gone(&self, key: &Key) -> Entity {
        let entity = match key {
            // A default action without an action is the program's own again.
            Key::Entry { .. } | Key::Default { .. } => entity::Entity::TableEntry(table_entry(key)),
            Key::Member { .. } | Key::Group { .. } => return self.entity(key),
            Key::CloneSession { id } => clone_session(*id, &[], 0, 0),
            // A meter without configuration passes everything.
            Key::Meter { meter, index } => meter_entity(*meter, *index, None),
        };
        Entity { entity: Some(entity) }
    }
}

/// Splits an entity; `None` for what a controller doesn't manage: other kinds, entries that the program fixes,
/// meters that were never set.
pub(super) fn split(entity: &Entity) -> Option<(Key, Keyed)> {
    match entity.entity.as_ref()? {
        entity::Entity::TableEntry(entry) if !entry.is_const => {
            let act = Keyed::Act(entry.action.as_ref().map(canonical_table_action));
            if entry.is_default_action {
                return Some((Key::Default { table: entry.table_id }, act));
            }
            let mut key: Vec<_> = entry.r#match.iter().filter_map(match_key).collect();
            key.sort();
            Some((Key::Entry { table: entry.table_id, key, priority: entry.priority }, act))
        }
        entity::Entity::ActionProfileMember(member) => Some((
            Key::Member { profile: member.action_profile_id, id: member.member_id },
            Keyed::Member(member.action.as_ref().map(canonical_action)),
        )),
        entity::Entity::ActionProfileGroup(group) => {
            let mut members = group.members.clone();
            members.sort_by_key(|member| member.member_id);
            Some((Key::Group { profile: group.action_profile_id, id: group.group_id }, Keyed::Group(members)))
        }
        entity::Entity::MeterEntry(entry) => {
            let index = entry.index.map_or(0, |index| index.index);
            Some((Key::Meter { meter: entry.meter_id, index }, Keyed::Meter(entry.config?)))
        }
        entity::Entity::PacketReplicationEngineEntry(entry) => match entry.r#type.as_ref()? {
            packet_replication_engine_entry::Type::CloneSessionEntry(session) => {
                let mut copies: Vec<_> =
                    session.replicas.iter().map(|copy| (copy_port(copy), copy.instance)).collect();
                copies.sort_unstable();
                let value =
                    Keyed::CloneSession(copies, session.class_of_service, session.packet_length_bytes);
                Some((Key::CloneSession { id: session.session_id }, value))
            }
            packet_replication_engine_entry::Type::MulticastGroupEntry(_) => None,
        },
        _ => None,
    }
}

fn match_key(field: &FieldMatch) -> Option<(u32, MatchKey)> {
    let key = match field.field_match_type.as_ref()? {
        FieldMatchType::Exact(exact) => MatchKey::Exact(canonical(&exact.value)),
        FieldMatchType::Ternary(ternary) => {
            MatchKey::Masked(canonical(&ternary.value), canonical(&ternary.mask))
        }
        FieldMatchType::Lpm(lpm) => MatchKey::Prefix(canonical(&lpm.value), lpm.prefix_len),
        FieldMatchType::Range(range) => MatchKey::Range(canonical(&range.low), canonical(&range.high)),
        FieldMatchType::Optional(optional) => MatchKey::Optional(canonical(&optional.value)),
        FieldMatchType::Other(_) => return None,
    };
    Some((field.field_id, key))
}

fn field_match((field_id, key): &(u32, MatchKey)) -> FieldMatch {
    use p4runtime::p4::v1::field_match::{Exact, Lpm, Optional, Range, Ternary};
    let kind = match key.clone() {
        MatchKey::Exact(value) => FieldMatchType::Exact(Exact { value }),
        MatchKey::Masked(value, mask) => FieldMatchType::Ternary(Ternary { value, mask }),
        MatchKey::Prefix(value, prefix_len) => FieldMatchType::Lpm(Lpm { value, prefix_len }),
        MatchKey::Range(low, high) => FieldMatchType::Range(Range { low, high }),
        MatchKey::Optional(value) => FieldMatchType::Optional(Optional { value }),
    };
    FieldMatch { field_id: *field_id, field_match_type: Some(kind) }
}

fn table_entry(key: &Key) -> TableEntry {
    match key {
        Key::Entry { table, key, priority } => TableEntry {
            table_id: *table,
            r#match: key.iter().map(field_match).collect(),
            priority: *priority,
            ..TableEntry::default()
        },
        Key::Default { table } => {
            TableEntry { table_id: *table, is_default_action: true, ..TableEntry::default() }
        }
        _ => TableEntry::default(),
    }
}

fn canonical_table_action(action: &TableAction) -> TableAction {
    let kind = action.r#type.clone().map(|kind| match kind {
        table_action::Type::Action(action) => table_action::Type::Action(canonical_action(&action)),
        other => other,
    });
    TableAction { r#type: kind }
}

fn canonical_action(action: &Action) -> Action {
    let param =
        |param: &action::Param| action::Param { param_id: param.param_id, value: canonical(&param.value) };
    let mut params: Vec<_> = action.params.iter().map(param).collect();
    params.sort_by_key(|param| param.param_id);
    Action { action_id: action.action_id, params }
}

/// Switches give a copy's port in either of two fields.
fn copy_port(copy: &p4runtime::p4::v1::Replica) -> u32 {
    match &copy.port_kind {
        Some(replica::PortKind::Port(octets)) => {
            decode(octets, 32).ok().and_then(|port| u32::try_from(port).ok()).unwrap_or_default()
        }
        #[expect(deprecated, reason = "what BMv2 answers with")]
        Some(replica::PortKind::EgressPort(port)) => *port,
        None => 0,
    }
}

fn meter_entity(meter_id: u32, index: i64, config: Option<MeterConfig>) -> entity::Entity {
    entity::Entity::MeterEntry(MeterEntry {
        meter_id,
        index: Some(Index { index }),
        config,
        ..MeterEntry::default()
    })
}

fn clone_session(id: u32, copies: &[(u32, u32)], class_of_service: u32, length: i32) -> entity::Entity {
    let copy = |(port, instance): &(u32, u32)| p4runtime::p4::v1::Replica {
        port_kind: Some(replica::PortKind::Port(encode(u128::from(*port)))),
        instance: *instance,
    };
    let session = CloneSessionEntry {
        session_id: id,
        replicas: copies.iter().map(copy).collect(),
        class_of_service,
        packet_length_bytes: length,
    };
    entity::Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
        r#type: Some(packet_replication_engine_entry::Type::CloneSessionEntry(session)),
    })
}
