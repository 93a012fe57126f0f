//! Tables and actions of a P4Info in the form that code wants: no options where there must be something, widths as
//! `usize`, kinds as enums.

use super::{
    ActionProfile, ControllerHeader, Counter, Digest, Direct, IndexError, Meter, Object, Objects, Register,
    ValueSet,
};
use crate::p4::config::v1 as config;
use crate::p4::config::v1::{match_field, table};

/// How a key component is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchKind {
    /// All bits.
    Exact,
    /// A prefix; the longest wins.
    Lpm,
    /// The bits of a mask.
    Ternary,
    /// From low to high, both included.
    Range,
    /// All bits, or the component is left out.
    Optional,
}

impl MatchKind {
    /// Whether entries of a table with such a component need a priority.
    #[must_use]
    pub fn needs_priority(self) -> bool {
        matches!(self, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
    }
}

/// A component of a table's or value set's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Unique in its table.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Bits.
    pub width: usize,
    /// How it is compared.
    pub kind: MatchKind,
}

/// A parameter of an action, or a field of a controller header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Unique in its action or header.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Bits.
    pub width: usize,
}

/// An action that a table may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionRef {
    /// The action's id.
    pub id: u32,
    /// In entries.
    pub in_entries: bool,
    /// As default action.
    pub as_default: bool,
}

/// A match-action table.
#[derive(Clone, Debug)]
pub struct Table {
    /// P4Info id.
    pub id: u32,
    /// Full name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// Key, in the program's order.
    pub fields: Vec<Field>,
    /// Actions.
    pub actions: Vec<ActionRef>,
    /// The default action where it can't be changed.
    pub const_default_action: Option<u32>,
    /// The default action after a pipeline was set.
    pub initial_default_action: Option<config::TableActionCall>,
    /// Its action profile.
    pub implementation: Option<u32>,
    /// Its direct counter.
    pub direct_counter: Option<u32>,
    /// Its direct meter.
    pub direct_meter: Option<u32>,
    /// Entries it can hold.
    pub size: usize,
    /// Whether all entries stand in the program.
    pub is_const: bool,
    /// Whether entries may age and the controller hears of it.
    pub idle_timeout: bool,
}

impl Table {
    pub(super) fn new(
        from: &config::Table,
        direct_counters: &Objects<Direct>,
        direct_meters: &Objects<Direct>,
    ) -> Result<Table, IndexError> {
        let (id, name, alias) = preamble(Self::KIND, from.preamble.as_ref())?;
        let fields =
            from.match_fields.iter().map(|field| Field::new(&name, field)).collect::<Result<_, _>>()?;
        let actions = from.action_refs.iter().map(ActionRef::new).collect();
        let mut table = Table {
            id,
            alias,
            fields,
            actions,
            const_default_action: some_id(from.const_default_action_id),
            initial_default_action: from.initial_default_action.clone(),
            implementation: some_id(from.implementation_id),
            direct_counter: None,
            direct_meter: None,
            size: usize::try_from(from.size).unwrap_or(0),
            is_const: from.is_const_table,
            idle_timeout: from.idle_timeout_behavior == table::IdleTimeoutBehavior::NotifyControl as i32,
            name,
        };
        for &resource in &from.direct_resource_ids {
            if direct_counters.by_id(resource).is_some() {
                table.direct_counter = Some(resource);
            } else {
                direct_meters.dangling(&table.name, resource)?;
                table.direct_meter = Some(resource);
            }
        }
        Ok(table)
    }

    /// A key component by name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// A key component by id.
    pub fn field_by_id(&self, id: u32) -> Option<&Field> {
        self.fields.iter().find(|field| field.id == id)
    }

    /// Whether entries need a priority: the key has a ternary, range or optional component.
    pub fn needs_priority(&self) -> bool {
        self.fields.iter().any(|field| field.kind.needs_priority())
    }

    /// The reference to an action, if the table may use it at all.
    pub fn action(&self, id: u32) -> Option<&ActionRef> {
        self.actions.iter().find(|action| action.id == id)
    }
}

impl Field {
    pub(super) fn new(owner: &str, from: &config::MatchField) -> Result<Field, IndexError> {
        let unsupported =
            |what: String| IndexError::Unsupported { owner: format!("{owner}, field `{}`", from.name), what };
        let kind = match from.r#match {
            Some(match_field::Match::MatchType(kind)) => match match_field::MatchType::try_from(kind) {
                Ok(match_field::MatchType::Exact) => MatchKind::Exact,
                Ok(match_field::MatchType::Lpm) => MatchKind::Lpm,
                Ok(match_field::MatchType::Ternary) => MatchKind::Ternary,
                Ok(match_field::MatchType::Range) => MatchKind::Range,
                Ok(match_field::MatchType::Optional) => MatchKind::Optional,
                _ => return Err(unsupported(format!("match type {kind}"))),
            },
            Some(match_field::Match::OtherMatchType(ref name)) => {
                return Err(unsupported(format!("match type `{name}`")));
            }
            None => return Err(unsupported("a missing match type".to_owned())),
        };
        let width = usize::try_from(from.bitwidth).unwrap_or(0);
        Ok(Field { id: from.id, name: from.name.clone(), width, kind })
    }
}

impl ActionRef {
    fn new(from: &config::ActionRef) -> ActionRef {
        let scope = config::action_ref::Scope::try_from(from.scope).unwrap_or_default();
        ActionRef {
            id: from.id,
            in_entries: scope != config::action_ref::Scope::DefaultOnly,
            as_default: scope == config::action_ref::Scope::TableAndDefault
                || scope == config::action_ref::Scope::DefaultOnly,
        }
    }
}

/// An action.
#[derive(Clone, Debug)]
pub struct Action {
    /// P4Info id.
    pub id: u32,
    /// Full name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// Parameters, in the program's order.
    pub params: Vec<Param>,
}

impl Action {
    pub(super) fn new(from: &config::Action) -> Result<Action, IndexError> {
        let (id, name, alias) = preamble(Self::KIND, from.preamble.as_ref())?;
        let params =
            from.params.iter().map(|param| Param::new(param.id, &param.name, param.bitwidth)).collect();
        Ok(Action { id, name, alias, params })
    }

    /// A parameter by name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|param| param.name == name)
    }

    /// A parameter by id.
    pub fn param_by_id(&self, id: u32) -> Option<&Param> {
        self.params.iter().find(|param| param.id == id)
    }
}

impl Param {
    pub(super) fn new(id: u32, name: &str, width: i32) -> Param {
        Param { id, name: name.to_owned(), width: usize::try_from(width).unwrap_or(0) }
    }
}

macro_rules! object {
    ($($kind:ident $text:literal),* $(,)?) => {
        $(impl Object for $kind {
            const KIND: &'static str = $text;
            fn id(&self) -> u32 { self.id }
            fn name(&self) -> &str { &self.name }
            fn alias(&self) -> &str { &self.alias }
        })*
    };
}

object!(
    Table "table",
    Action "action",
    ActionProfile "action profile",
    Counter "counter",
    Direct "direct resource",
    Meter "meter",
    Register "register",
    Digest "digest",
    ControllerHeader "controller header",
    ValueSet "value set",
);

fn some_id(id: u32) -> Option<u32> {
    (id != 0).then_some(id)
}

pub(super) fn preamble(
    kind: &'static str,
    from: Option<&config::Preamble>,
) -> Result<(u32, String, String), IndexError> {
    let preamble = from.ok_or(IndexError::NoPreamble { kind })?;
    let alias = if preamble.alias.is_empty() { &preamble.name } else { &preamble.alias };
    Ok((preamble.id, preamble.name.clone(), alias.clone()))
}
