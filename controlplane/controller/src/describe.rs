//! Entities and changes in an operator's words: names of the program instead of ids, addresses as addresses.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use p4runtime::P4InfoIndex;
use p4runtime::bytes::decode;
use p4runtime::index::{Field, Object as _, Param};
use p4runtime::p4::v1::{
    Action, Entity, FieldMatch, TableAction, entity, field_match::FieldMatchType,
    packet_replication_engine_entry, replica, table_action, update,
};

use crate::diff::Change;

/// A named value, as text.
pub type Pair = (String, String);

/// An entity taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// Table, action profile, meter, or `clone_session`.
    pub object: String,
    /// What tells it from others of the same object.
    pub key: Vec<Pair>,
    /// The action's name, or what stands in its place: `member`, `group`, `rate`.
    pub action: String,
    /// The action's parameters.
    pub params: Vec<Pair>,
}

/// What a change does to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It wasn't there.
    Add,
    /// It was there and says something else now.
    Change,
    /// It goes.
    Delete,
}

impl Kind {
    /// The sign that stands before such a change.
    pub const fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Change => '~',
            Self::Delete => '-',
        }
    }

    /// `add`, `change`, `delete`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Change => "change",
            Self::Delete => "delete",
        }
    }
}

/// What a change does. Default actions and meters are always there and only modified; to an operator, one that is
/// set for the first time is added, one that is reset goes.
pub fn kind(change: &Change) -> Kind {
    let unset = |entity: &Entity| match &entity.entity {
        Some(entity::Entity::MeterEntry(meter)) => meter.config.is_none(),
        Some(entity::Entity::TableEntry(entry)) => entry.is_default_action && entry.action.is_none(),
        _ => false,
    };
    match change.update.r#type() {
        update::Type::Delete => Kind::Delete,
        _ if change.update.entity.as_ref().is_some_and(unset) => Kind::Delete,
        update::Type::Modify if change.before.as_ref().is_some_and(|before| !as_started(before)) => {
            Kind::Change
        }
        _ => Kind::Add,
    }
}

/// A default action that says nothing is as after the start: to an operator, nothing is there.
fn as_started(entity: &Entity) -> bool {
    let Some(entity::Entity::TableEntry(entry)) = &entity.entity else { return false };
    let action = entry.action.as_ref().and_then(|action| action.r#type.as_ref());
    entry.is_default_action
        && match action {
            Some(table_action::Type::Action(action)) => action.params.is_empty(),
            _ => true,
        }
}

/// A change in one line: the key, and what it says now; for a modified entity only what differs.
pub fn line(index: &P4InfoIndex, change: &Change) -> String {
    let now = change.update.entity.as_ref().map(|entity| describe(index, entity)).unwrap_or_default();
    let before = change.before.as_ref().map(|entity| describe(index, entity));
    let mut text = now.object.clone();
    for (place, (name, value)) in now.key.iter().enumerate() {
        let _ = write!(text, "{} {name} {value}", if place == 0 { "" } else { "," });
    }
    match (kind(change), before) {
        (Kind::Change, Some(before)) if before.action == now.action => {
            let _ = write!(text, ": {}", differences(&before.params, &now.params));
        }
        (Kind::Change, Some(before)) => {
            let _ = write!(text, ": {} => {}", before.call(), now.call());
        }
        (Kind::Delete, before) => {
            let _ = write!(text, ": {}", before.unwrap_or(now).call());
        }
        _ => {
            let _ = write!(text, ": {}", now.call());
        }
    }
    text
}

fn differences(before: &[Pair], now: &[Pair]) -> String {
    let old = |name: &str| before.iter().find(|(other, _)| other == name).map_or("none", |(_, value)| value);
    let changed = now.iter().filter(|(name, value)| old(name) != value);
    changed.map(|(name, value)| format!("{name} {} => {value}", old(name))).collect::<Vec<_>>().join(", ")
}

impl Described {
    /// The action and its parameters.
    pub fn call(&self) -> String {
        let params: Vec<_> = self.params.iter().map(|(name, value)| format!("{name} {value}")).collect();
        match (self.action.is_empty(), params.is_empty()) {
            (true, true) => "unset".to_owned(),
            (true, false) => params.join(", "),
            (false, true) => self.action.clone(),
            (false, false) => format!("{}({})", self.action, params.join(", ")),
        }
    }
}

/// Takes an entity apart.
pub fn describe(index: &P4InfoIndex, entity: &Entity) -> Described {
    let plain = |object: &str, key: &str, id: String, params: Vec<Pair>| Described {
        object: object.to_owned(),
        key: vec![(key.to_owned(), id)],
        action: String::new(),
        params,
    };
    let profile = |id| index.action_profiles.by_id(id).map_or("action profile", |found| found.alias());
    match entity.entity.as_ref() {
        Some(entity::Entity::TableEntry(entry)) => {
            let table = index.tables.by_id(entry.table_id);
            let field = |field: &FieldMatch| {
                let known =
                    table.and_then(|table| table.fields.iter().find(|spec| spec.id == field.field_id))?;
                Some((known.name.clone(), match_value(known, field.field_match_type.as_ref()?)))
            };
            let mut key: Vec<Pair> = entry.r#match.iter().filter_map(field).collect();
            if entry.is_default_action {
                key.clear();
            }
            let (action, params) = called(index, entry.action.as_ref());
            let object =
                table.map_or_else(|| format!("table {:#010x}", entry.table_id), |table| table.alias.clone());
            Described { object, key, action, params }
        }
        Some(entity::Entity::ActionProfileMember(member)) => {
            let (action, params) =
                member.action.as_ref().map(|action| call(index, action)).unwrap_or_default();
            let object = profile(member.action_profile_id).to_owned();
            Described {
                object,
                key: vec![("member".to_owned(), member.member_id.to_string())],
                action,
                params,
            }
        }
        Some(entity::Entity::ActionProfileGroup(group)) => {
            let members: Vec<_> = group.members.iter().map(|member| member.member_id.to_string()).collect();
            let params = vec![("members".to_owned(), members.join(" "))];
            plain(profile(group.action_profile_id), "group", group.group_id.to_string(), params)
        }
        Some(entity::Entity::MeterEntry(meter)) => {
            let params = meter.config.map_or_else(Vec::new, |config| {
                vec![
                    ("rate".to_owned(), format!("{}/s", config.cir)),
                    ("burst".to_owned(), config.cburst.to_string()),
                ]
            });
            let name = index.meters.by_id(meter.meter_id).map_or("meter", |found| found.alias());
            let at = meter.index.as_ref().map_or_else(|| "all".to_owned(), |index| index.index.to_string());
            plain(name, "index", at, params)
        }
        Some(entity::Entity::PacketReplicationEngineEntry(entry)) => match entry.r#type.as_ref() {
            Some(packet_replication_engine_entry::Type::CloneSessionEntry(session)) => {
                let ports: Vec<_> = session.replicas.iter().map(replica_port).collect();
                let mut params = vec![("port".to_owned(), ports.join(" "))];
                if session.packet_length_bytes > 0 {
                    params.push(("octets".to_owned(), session.packet_length_bytes.to_string()));
                }
                plain("clone_session", "id", session.session_id.to_string(), params)
            }
            Some(packet_replication_engine_entry::Type::MulticastGroupEntry(group)) => {
                plain("multicast_group", "id", group.multicast_group_id.to_string(), Vec::new())
            }
            None => Described::default(),
        },
        _ => Described {
            object: "something this controller doesn't manage".to_owned(),
            ..Described::default()
        },
    }
}

fn replica_port(copy: &p4runtime::p4::v1::Replica) -> String {
    match &copy.port_kind {
        Some(replica::PortKind::Port(octets)) => number(octets),
        #[expect(deprecated, reason = "what BMv2 answers with")]
        Some(replica::PortKind::EgressPort(port)) => port.to_string(),
        None => "none".to_owned(),
    }
}

fn called(index: &P4InfoIndex, action: Option<&TableAction>) -> (String, Vec<Pair>) {
    match action.and_then(|action| action.r#type.as_ref()) {
        Some(table_action::Type::Action(action)) => call(index, action),
        Some(table_action::Type::ActionProfileMemberId(id)) => (format!("member {id}"), Vec::new()),
        Some(table_action::Type::ActionProfileGroupId(id)) => (format!("group {id}"), Vec::new()),
        Some(table_action::Type::ActionProfileActionSet(_)) => ("one-shot selector".to_owned(), Vec::new()),
        None => (String::new(), Vec::new()),
    }
}

fn call(index: &P4InfoIndex, action: &Action) -> (String, Vec<Pair>) {
    let Some(known) = index.actions.by_id(action.action_id) else {
        return (format!("action {:#010x}", action.action_id), Vec::new());
    };
    let param = |param: &p4runtime::p4::v1::action::Param| {
        let spec = known.params.iter().find(|spec| spec.id == param.param_id)?;
        Some((spec.name.clone(), param_value(spec, &param.value)))
    };
    (known.alias().to_owned(), action.params.iter().filter_map(param).collect())
}

fn match_value(field: &Field, value: &FieldMatchType) -> String {
    let one = |octets: &[u8]| text(&field.name, field.width, octets);
    match value {
        FieldMatchType::Exact(exact) => one(&exact.value),
        FieldMatchType::Lpm(lpm) => format!("{}/{}", one(&lpm.value), lpm.prefix_len),
        FieldMatchType::Ternary(ternary) => format!("{} & {}", one(&ternary.value), one(&ternary.mask)),
        FieldMatchType::Range(range) => {
            let all = range.high.iter().all(|octet| *octet == 0xff) && range.high.len() * 8 >= field.width;
            if all {
                format!("{} and more", one(&range.low))
            } else {
                format!("{}..{}", one(&range.low), one(&range.high))
            }
        }
        FieldMatchType::Optional(optional) => one(&optional.value),
        FieldMatchType::Other(_) => "?".to_owned(),
    }
}

fn param_value(param: &Param, octets: &[u8]) -> String {
    text(&param.name, param.width, octets)
}

/// A value as its name and width suggest: an address, a MAC, else a number.
fn text(name: &str, width: usize, octets: &[u8]) -> String {
    let Ok(value) = decode(octets, 0) else { return format!("{octets:02x?}") };
    let address = name.contains("addr");
    match width {
        32 if address => Ipv4Addr::from(u32::try_from(value).unwrap_or_default()).to_string(),
        128 if address => Ipv6Addr::from(value).to_string(),
        48 => {
            let all = value.to_be_bytes();
            all[10..].iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().join(":")
        }
        _ => value.to_string(),
    }
}

fn number(octets: &[u8]) -> String {
    decode(octets, 0).map_or_else(|_| "?".to_owned(), |value| value.to_string())
}
