//! What is put into a switch before a case: by names, so that it can be recorded and read; and its P4Runtime form.

use p4runtime::bytes;
use p4runtime::index::{Object as _, Table};
use p4runtime::p4::v1::{
    self as api, Entity, Update, action_profile_group::Member as GroupMember, entity, field_match,
    packet_replication_engine_entry, replica, table_action, update,
};
use serde::{Deserialize, Serialize};

use crate::program::Program;
use crate::target::TargetError;

/// A switch's ports and entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Ports that frames may enter and leave through.
    pub ports: Vec<Port>,
    /// What the controller writes, in this order.
    pub entries: Vec<Entry>,
}

/// A port with its eight queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Its number.
    pub port: u16,
    /// Packets a second that each of its queues may send; `None`: no limit.
    pub rate_pps: Option<u64>,
    /// Capacity of each of its queues, packets.
    pub depth_packets: u32,
}

/// One thing that a controller writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A table entry.
    Table {
        /// Table.
        table: String,
        /// Key fields.
        key: Vec<Key>,
        /// What it does.
        call: Call,
        /// P4Runtime's priority (the highest wins); 0 where the table has none.
        priority: i32,
    },
    /// A table's default action.
    Default {
        /// Table.
        table: String,
        /// What it does.
        call: Call,
    },
    /// A member of an action profile.
    Member {
        /// Profile.
        profile: String,
        /// Its number.
        id: u32,
        /// What it does.
        call: Call,
    },
    /// A group of an action selector, all members of weight 1.
    Group {
        /// Selector.
        profile: String,
        /// Its number.
        id: u32,
        /// Numbers of its members.
        members: Vec<u32>,
    },
    /// A clone session with one copy.
    CloneSession {
        /// Its number.
        id: u32,
        /// Where the copy goes.
        port: u16,
    },
    /// A meter's rates, per second, and bursts.
    Meter {
        /// Meter.
        meter: String,
        /// Cell.
        index: i64,
        /// Committed and peak rate.
        rate: i64,
        /// Committed and peak burst.
        burst: i64,
    },
}

/// A key field and what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// One value.
    Exact(String, Value),
    /// A prefix and its length.
    Lpm(String, Value, i32),
    /// Both ends included.
    Range(String, Value, Value),
    /// The bits of a value under a mask; a field that may be anything is left out.
    Ternary(String, Value, Value),
}

/// An action with arguments in the order of its parameters, or a way into an action profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// An action.
    Action(String, Vec<Value>),
    /// A member.
    Member(u32),
    /// A group.
    Group(u32),
}

impl Call {
    /// An action with its arguments.
    #[must_use]
    pub fn action(name: &str, arguments: &[u128]) -> Call {
        Call::Action(name.to_owned(), arguments.iter().map(|&argument| argument.into()).collect())
    }
}

/// A value of a field: a number in JSON, beyond 64 bits a text of hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Value(pub u128);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Hex(String),
}

impl From<u128> for Value {
    fn from(value: u128) -> Value {
        Value(value)
    }
}

impl From<Value> for Written {
    fn from(value: Value) -> Written {
        u64::try_from(value.0).map_or_else(|_| Written::Hex(format!("{:x}", value.0)), Written::Number)
    }
}

impl TryFrom<Written> for Value {
    type Error = std::num::ParseIntError;

    fn try_from(written: Written) -> Result<Value, Self::Error> {
        match written {
            Written::Number(number) => Ok(Value(number.into())),
            Written::Hex(digits) => u128::from_str_radix(&digits, 16).map(Value),
        }
    }
}

impl Setup {
    /// The P4Runtime form of the entries.
    ///
    /// # Errors
    /// A name that the program doesn't have, or a number of arguments that an action doesn't take.
    pub fn updates(&self, program: &Program) -> Result<Vec<Update>, TargetError> {
        updates(&self.entries, program)
    }
}

/// The P4Runtime form of entries.
///
/// # Errors
/// As [`Setup::updates`].
pub fn updates(entries: &[Entry], program: &Program) -> Result<Vec<Update>, TargetError> {
    entries.iter().map(|entry| update_of(entry, program)).collect()
}

fn update_of(entry: &Entry, program: &Program) -> Result<Update, TargetError> {
    let mut kind = update::Type::Insert;
    let entity = match entry {
        Entry::Table { table, key, call, priority } => {
            let table = program.index.tables.find(table).map_err(setup)?;
            entity::Entity::TableEntry(api::TableEntry {
                table_id: table.id,
                r#match: key.iter().map(|key| field_match(key, table)).collect::<Result<_, _>>()?,
                action: Some(table_call(call, program)?),
                priority: *priority,
                ..api::TableEntry::default()
            })
        }
        Entry::Default { table, call } => {
            kind = update::Type::Modify;
            entity::Entity::TableEntry(api::TableEntry {
                table_id: program.index.tables.find(table).map_err(setup)?.id,
                action: Some(table_call(call, program)?),
                is_default_action: true,
                ..api::TableEntry::default()
            })
        }
        Entry::Member { profile, id, call } => {
            entity::Entity::ActionProfileMember(api::ActionProfileMember {
                action_profile_id: program.index.action_profiles.find(profile).map_err(setup)?.id,
                member_id: *id,
                action: Some(action(call, program)?),
            })
        }
        Entry::Group { profile, id, members } => {
            entity::Entity::ActionProfileGroup(api::ActionProfileGroup {
                action_profile_id: program.index.action_profiles.find(profile).map_err(setup)?.id,
                group_id: *id,
                members: members
                    .iter()
                    .map(|&member_id| GroupMember { member_id, weight: 1, ..GroupMember::default() })
                    .collect(),
                ..api::ActionProfileGroup::default()
            })
        }
        Entry::CloneSession { id, port } => clone_session(*id, *port),
        Entry::Meter { meter, index, rate, burst } => {
            kind = update::Type::Modify;
            entity::Entity::MeterEntry(api::MeterEntry {
                meter_id: program.index.meters.find(meter).map_err(setup)?.id,
                index: Some(api::Index { index: *index }),
                config: Some(api::MeterConfig {
                    cir: *rate,
                    cburst: *burst,
                    pir: *rate,
                    pburst: *burst,
                    ..api::MeterConfig::default()
                }),
                ..api::MeterEntry::default()
            })
        }
    };
    Ok(Update { r#type: kind.into(), entity: Some(Entity { entity: Some(entity) }) })
}

fn clone_session(id: u32, port: u16) -> entity::Entity {
    let copy =
        api::Replica { instance: 1, port_kind: Some(replica::PortKind::Port(bytes::encode(port.into()))) };
    let session =
        api::CloneSessionEntry { session_id: id, replicas: vec![copy], ..api::CloneSessionEntry::default() };
    entity::Entity::PacketReplicationEngineEntry(api::PacketReplicationEngineEntry {
        r#type: Some(packet_replication_engine_entry::Type::CloneSessionEntry(session)),
    })
}

fn field_match(key: &Key, table: &Table) -> Result<api::FieldMatch, TargetError> {
    let encode = |value: Value| bytes::encode(value.0);
    let (name, wanted) = match key {
        Key::Exact(name, value) => {
            (name, field_match::FieldMatchType::Exact(field_match::Exact { value: encode(*value) }))
        }
        Key::Lpm(name, value, prefix_len) => (
            name,
            field_match::FieldMatchType::Lpm(field_match::Lpm {
                value: encode(*value),
                prefix_len: *prefix_len,
            }),
        ),
        Key::Range(name, low, high) => (
            name,
            field_match::FieldMatchType::Range(field_match::Range { low: encode(*low), high: encode(*high) }),
        ),
        Key::Ternary(name, value, mask) => (
            name,
            field_match::FieldMatchType::Ternary(field_match::Ternary {
                value: encode(*value),
                mask: encode(*mask),
            }),
        ),
    };
    let field = table
        .fields
        .iter()
        .find(|field| field.name == *name)
        .ok_or_else(|| TargetError::Setup(format!("{} has no key field {name}", table.name())))?;
    Ok(api::FieldMatch { field_id: field.id, field_match_type: Some(wanted) })
}

fn table_call(call: &Call, program: &Program) -> Result<api::TableAction, TargetError> {
    let kind = match call {
        Call::Action(..) => table_action::Type::Action(action(call, program)?),
        Call::Member(id) => table_action::Type::ActionProfileMemberId(*id),
        Call::Group(id) => table_action::Type::ActionProfileGroupId(*id),
    };
    Ok(api::TableAction { r#type: Some(kind) })
}

fn action(call: &Call, program: &Program) -> Result<api::Action, TargetError> {
    let Call::Action(name, arguments) = call else {
        return Err(TargetError::Setup("a member's action can't be a member or group".to_owned()));
    };
    let action = program.index.actions.find(name).map_err(setup)?;
    if action.params.len() != arguments.len() {
        let (takes, given) = (action.params.len(), arguments.len());
        return Err(TargetError::Setup(format!("{name} takes {takes} arguments, {given} given")));
    }
    let params = action
        .params
        .iter()
        .zip(arguments)
        .map(|(param, &value)| api::action::Param { param_id: param.id, value: bytes::encode(value.0) })
        .collect();
    Ok(api::Action { action_id: action.id, params })
}

fn setup(error: impl std::fmt::Display) -> TargetError {
    TargetError::Setup(error.to_string())
}
