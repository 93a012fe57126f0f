//! Entities by the names of the P4 program; ids, order and widths come from its P4Info.

use p4runtime::index::{IndexError, MatchKind, Object as _, Table};
use p4runtime::p4::v1::{
    self as api, ActionProfileGroup, ActionProfileMember, Entity, FieldMatch, MeterConfig, MeterEntry,
    TableAction, TableEntry, action_profile_group, entity, field_match, table_action,
};
use p4runtime::{P4InfoIndex, bytes};

use super::DesiredError;

/// A component of a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Match {
    Exact(u64),
    Prefix(u128, i32),
    Range(u64, u64),
    Wide(u128),
    Masked(u128, u128),
}

/// What an entry does.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// A named action of the table with its parameters.
    Action(api::Action),
    /// A member of the table's action profile.
    Member(u32),
    /// A group of the table's action profile.
    Group(u32),
}

/// Builds entities against a P4Info.
#[derive(Clone, Copy, Debug)]
pub(super) struct Builder<'a> {
    pub index: &'a P4InfoIndex,
}

impl Builder<'_> {
    /// A call of an action by name, its parameters by name.
    pub fn action(self, name: &str, params: &[(&str, u128)]) -> Result<api::Action, DesiredError> {
        let action = self.index.actions.find(name)?;
        let encode = |(param, value): &(&str, u128)| {
            let spec = action.params.iter().find(|spec| spec.name == *param);
            let spec = spec.ok_or_else(|| missing("parameter", param, name))?;
            let value = sized(&bytes::encode(*value), spec.width, name, param)?;
            Ok(api::action::Param { param_id: spec.id, value })
        };
        let mut params = params.iter().map(encode).collect::<Result<Vec<_>, DesiredError>>()?;
        if params.len() != action.params.len() {
            let lacking = format!("{} parameters given, {} wanted", params.len(), action.params.len());
            return Err(DesiredError::Program { object: name.to_owned(), problem: lacking });
        }
        params.sort_by_key(|param| param.param_id);
        Ok(api::Action { action_id: action.id, params })
    }

    /// An entry of a table, its key by field names.
    pub fn entry(self, table: &str, key: &[(&str, Match)], act: Act) -> Result<Entity, DesiredError> {
        // All our ranges are disjoint: any priority does, but none is refused.
        self.prioritised(table, key, act, 1)
    }

    /// As [`Builder::entry`]; where several match, the highest priority decides.
    pub fn prioritised(
        self,
        table: &str,
        key: &[(&str, Match)],
        act: Act,
        priority: i32,
    ) -> Result<Entity, DesiredError> {
        let table = self.index.tables.find(table)?;
        let mut matches = key
            .iter()
            .map(|(field, value)| field_match(table, field, *value))
            .collect::<Result<Vec<_>, _>>()?;
        matches.sort_by_key(|field| field.field_id);
        let priority =
            if table.fields.iter().any(|field| field.kind.needs_priority()) { priority } else { 0 };
        Ok(table_entity(TableEntry {
            table_id: table.id,
            r#match: matches,
            action: Some(table_action(act)),
            priority,
            ..TableEntry::default()
        }))
    }

    /// The default action of a table.
    pub fn default_action(self, table: &str, action: api::Action) -> Result<Entity, DesiredError> {
        Ok(table_entity(TableEntry {
            table_id: self.index.tables.find(table)?.id,
            action: Some(table_action(Act::Action(action))),
            is_default_action: true,
            ..TableEntry::default()
        }))
    }

    /// A member of an action profile.
    pub fn member(self, profile: &str, member_id: u32, action: api::Action) -> Result<Entity, DesiredError> {
        let action_profile_id = self.index.action_profiles.find(profile)?.id();
        let member = ActionProfileMember { action_profile_id, member_id, action: Some(action) };
        Ok(Entity { entity: Some(entity::Entity::ActionProfileMember(member)) })
    }

    /// A group of equally weighted members of an action profile.
    pub fn group(self, profile: &str, group_id: u32, members: &[u32]) -> Result<Entity, DesiredError> {
        let action_profile_id = self.index.action_profiles.find(profile)?.id();
        let member = |member_id: &u32| action_profile_group::Member {
            member_id: *member_id,
            weight: 1,
            ..action_profile_group::Member::default()
        };
        let group = ActionProfileGroup {
            action_profile_id,
            group_id,
            members: members.iter().map(member).collect(),
            // 0: as many as the selector allows.
            ..ActionProfileGroup::default()
        };
        Ok(Entity { entity: Some(entity::Entity::ActionProfileGroup(group)) })
    }

    /// Rates of a cell of a meter array: committed and peak alike, so that a packet is green or red.
    pub fn meter(self, meter: &str, index: u16, rate: i64, burst: i64) -> Result<Entity, DesiredError> {
        let entry = MeterEntry {
            meter_id: self.index.meters.find(meter)?.id(),
            index: Some(api::Index { index: i64::from(index) }),
            config: Some(MeterConfig {
                cir: rate,
                cburst: burst,
                pir: rate,
                pburst: burst,
                ..MeterConfig::default()
            }),
            ..MeterEntry::default()
        };
        Ok(Entity { entity: Some(entity::Entity::MeterEntry(entry)) })
    }

    /// A clone session with one copy, unshortened: BMv2 refuses every other length.
    pub fn clone_session(session_id: u32, port: u16) -> Entity {
        let replica = api::Replica {
            port_kind: Some(api::replica::PortKind::Port(bytes::encode(u128::from(port)))),
            instance: 1,
        };
        session(session_id, replica, 0)
    }

    /// The same on a Tofino, the copy cut to `octets`: Stratum knows a copy's port as a number only, and no instances.
    pub fn mirror_session(session_id: u32, port: u16, octets: i32) -> Entity {
        #[expect(deprecated, reason = "the only field that Stratum reads")]
        let port_kind = Some(api::replica::PortKind::EgressPort(port.into()));
        session(session_id, api::Replica { port_kind, instance: 0 }, octets)
    }

    /// The largest value that a field of a table's key can have.
    pub fn largest(self, table: &str, field: &str) -> Result<u64, DesiredError> {
        let found = self.index.tables.find(table)?.fields.iter().find(|known| known.name == field);
        let width = found.ok_or_else(|| missing("key", field, table))?.width;
        Ok(if width >= 64 { u64::MAX } else { (1 << width) - 1 })
    }
}

/// A clone session with one copy, cut to `octets`; 0: not cut.
fn session(session_id: u32, replica: api::Replica, octets: i32) -> Entity {
    let session = api::CloneSessionEntry {
        session_id,
        replicas: vec![replica],
        packet_length_bytes: octets,
        ..api::CloneSessionEntry::default()
    };
    let entry = api::PacketReplicationEngineEntry {
        r#type: Some(api::packet_replication_engine_entry::Type::CloneSessionEntry(session)),
    };
    Entity { entity: Some(entity::Entity::PacketReplicationEngineEntry(entry)) }
}

fn table_entity(entry: TableEntry) -> Entity {
    Entity { entity: Some(entity::Entity::TableEntry(entry)) }
}

fn table_action(act: Act) -> TableAction {
    let kind = match act {
        Act::Action(action) => table_action::Type::Action(action),
        Act::Member(id) => table_action::Type::ActionProfileMemberId(id),
        Act::Group(id) => table_action::Type::ActionProfileGroupId(id),
    };
    TableAction { r#type: Some(kind) }
}

fn field_match(table: &Table, name: &str, value: Match) -> Result<FieldMatch, DesiredError> {
    let field = table.fields.iter().find(|field| field.name == name);
    let field = field.ok_or_else(|| missing("key", name, &table.name))?;
    let wide = |value: u128| sized(&bytes::encode(value), field.width, &table.name, name);
    let octets = |value: u64| wide(u128::from(value));
    let field_match_type = match (value, field.kind) {
        (Match::Exact(value), MatchKind::Exact) => {
            field_match::FieldMatchType::Exact(field_match::Exact { value: octets(value)? })
        }
        (Match::Prefix(value, prefix_len), MatchKind::Lpm) => {
            let value = wide(value)?;
            field_match::FieldMatchType::Lpm(field_match::Lpm { value, prefix_len })
        }
        (Match::Wide(value), MatchKind::Exact) => {
            field_match::FieldMatchType::Exact(field_match::Exact { value: wide(value)? })
        }
        (Match::Masked(value, mask), MatchKind::Ternary) => {
            let (value, mask) = (wide(value)?, wide(mask)?);
            field_match::FieldMatchType::Ternary(field_match::Ternary { value, mask })
        }
        (Match::Range(low, high), MatchKind::Range) => {
            let (low, high) = (octets(low)?, octets(high)?);
            field_match::FieldMatchType::Range(field_match::Range { low, high })
        }
        (_, kind) => {
            let problem = format!("key `{name}` is matched as {kind:?}");
            return Err(DesiredError::Program { object: table.name.clone(), problem });
        }
    };
    Ok(FieldMatch { field_id: field.id, field_match_type: Some(field_match_type) })
}

fn sized(value: &[u8], width: usize, object: &str, field: &str) -> Result<Vec<u8>, DesiredError> {
    bytes::check(value, width).map_err(|error| DesiredError::Program {
        object: object.to_owned(),
        problem: format!("`{field}`: {error}"),
    })
}

fn missing(kind: &str, name: &str, object: &str) -> DesiredError {
    DesiredError::Program { object: object.to_owned(), problem: format!("no {kind} `{name}`") }
}

impl From<IndexError> for DesiredError {
    fn from(error: IndexError) -> Self {
        Self::Index(error)
    }
}
