//! The objects of a P4Info in the form that code wants: no options where there must be something, widths as
//! `usize`, kinds as enums.

use super::{IndexError, Object, Objects, counter_unit, meter_unit};
use crate::p4::config::v1 as config;
use crate::p4::config::v1::{match_field, p4_bitstring_like_type_spec, p4_data_type_spec, table};

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

/// What is counted or metered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Octets.
    Octets,
    /// Packets.
    Packets,
    /// Both (counters only).
    Both,
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
    fn new(owner: &str, from: &config::MatchField) -> Result<Field, IndexError> {
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
    fn new(id: u32, name: &str, width: i32) -> Param {
        Param { id, name: name.to_owned(), width: usize::try_from(width).unwrap_or(0) }
    }
}

/// An action profile, possibly with a selector.
#[derive(Clone, Debug)]
pub struct ActionProfile {
    /// P4Info id.
    pub id: u32,
    /// Full name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// The tables that use it.
    pub tables: Vec<u32>,
    /// Whether groups are allowed.
    pub with_selector: bool,
    /// Members (or sum of weights) it can hold.
    pub size: usize,
    /// The largest group; `None`: only the size limits it.
    pub max_group_size: Option<usize>,
}

impl ActionProfile {
    pub(super) fn new(from: &config::ActionProfile) -> Result<ActionProfile, IndexError> {
        let (id, name, alias) = preamble(Self::KIND, from.preamble.as_ref())?;
        Ok(ActionProfile {
            id,
            name,
            alias,
            tables: from.table_ids.clone(),
            with_selector: from.with_selector,
            size: usize::try_from(from.size).unwrap_or(0),
            max_group_size: usize::try_from(from.max_group_size).ok().filter(|&size| size > 0),
        })
    }
}

/// A counter array.
#[derive(Clone, Debug)]
pub struct Counter {
    /// P4Info id.
    pub id: u32,
    /// Full name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// Number of counters.
    pub size: usize,
    /// What they count.
    pub unit: Unit,
}

impl Counter {
    pub(super) fn new(from: &config::Counter) -> Result<Counter, IndexError> {
        let (id, name, alias) = preamble(Self::KIND, from.preamble.as_ref())?;
        let unit = counter_unit(from.spec.map_or(0, |spec| spec.unit));
        Ok(Counter { id, name, alias, size: usize::try_from(from.size).unwrap_or(0), unit })
    }
}

/// A meter array.
#[derive(Clone, Debug)]
pub struct Meter {
    /// P4Info id.
    pub id: u32,
    /// Full name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// Number of meters.
    pub size: usize,
    /// What they measure.
    pub unit: Unit,
}

impl Meter {
    pub(super) fn new(from: &config::Meter) -> Result<Meter, IndexError> {
        let (id, name, alias) = preamble(Self::KIND, from.preamble.as_ref())?;
        let unit = meter_unit(from.spec.map_or(0, |spec| spec.unit));
        Ok(Meter { id, name, alias, size: usize::try_from(from.size).unwrap_or(0), unit })
    }
}

/// A counter or meter in the entries of a table.
#[derive(Clone, Debug)]
pub struct Direct {
    /// P4Info id.
    pub id: u32,
    /// Full name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// The table.
    pub table: u32,
    /// What it counts or measures.
    pub unit: Unit,
}

impl Direct {
    pub(super) fn new(
        kind: &'static str,
        from: Option<&config::Preamble>,
        table: u32,
        unit: Unit,
    ) -> Result<Direct, IndexError> {
        let (id, name, alias) = preamble(kind, from)?;
        Ok(Direct { id, name, alias, table, unit })
    }
}

/// The bits of a value of registers and digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataShape {
    /// One number of so many bits.
    Bits(usize),
    /// Members in order.
    Struct(Vec<DataShape>),
}

impl DataShape {
    fn new(
        owner: &str,
        spec: Option<&config::P4DataTypeSpec>,
        types: Option<&config::P4TypeInfo>,
    ) -> Result<DataShape, IndexError> {
        use p4_data_type_spec::TypeSpec;
        let unsupported =
            |what: &str| IndexError::Unsupported { owner: owner.to_owned(), what: what.to_owned() };
        match spec.and_then(|spec| spec.type_spec.as_ref()) {
            Some(TypeSpec::Bitstring(bits)) => {
                bit_width(bits).map(DataShape::Bits).ok_or_else(|| unsupported("varbit"))
            }
            Some(TypeSpec::Bool(_)) => Ok(DataShape::Bits(1)),
            Some(TypeSpec::Tuple(tuple)) => tuple
                .members
                .iter()
                .map(|member| DataShape::new(owner, Some(member), types))
                .collect::<Result<_, _>>()
                .map(DataShape::Struct),
            Some(TypeSpec::Struct(named)) => types
                .and_then(|types| types.structs.get(&named.name))
                .ok_or_else(|| unsupported("an undefined struct"))?
                .members
                .iter()
                .map(|member| DataShape::new(owner, member.type_spec.as_ref(), types))
                .collect::<Result<_, _>>()
                .map(DataShape::Struct),
            Some(TypeSpec::SerializableEnum(named)) => types
                .and_then(|types| types.serializable_enums.get(&named.name))
                .and_then(|found| found.underlying_type)
                .and_then(|bits| usize::try_from(bits.bitwidth).ok())
                .map(DataShape::Bits)
                .ok_or_else(|| unsupported("an undefined enum")),
            Some(TypeSpec::NewType(named)) => {
                let found = types.and_then(|types| types.new_types.get(&named.name));
                match found.and_then(|found| found.representation.as_ref()) {
                    Some(config::p4_new_type_spec::Representation::OriginalType(original)) => {
                        DataShape::new(owner, Some(original), types)
                    }
                    _ => Err(unsupported("a translated type")),
                }
            }
            _ => Err(unsupported("a type that isn't made of bits")),
        }
    }
}

/// Bits of a bit string type; `None` for varbit.
fn bit_width(spec: &config::P4BitstringLikeTypeSpec) -> Option<usize> {
    use p4_bitstring_like_type_spec::TypeSpec;
    let bits = match spec.type_spec.as_ref()? {
        TypeSpec::Bit(bit) => bit.bitwidth,
        TypeSpec::Int(int) => int.bitwidth,
        TypeSpec::Varbit(_) => return None,
    };
    usize::try_from(bits).ok()
}

/// A register array.
#[derive(Clone, Debug)]
pub struct Register {
    /// P4Info id.
    pub id: u32,
    /// Full name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// Number of values.
    pub size: usize,
    /// One value's bits.
    pub shape: DataShape,
}

impl Register {
    pub(super) fn new(
        from: &config::Register,
        types: Option<&config::P4TypeInfo>,
    ) -> Result<Register, IndexError> {
        let (id, name, alias) = preamble(Self::KIND, from.preamble.as_ref())?;
        let shape = DataShape::new(&name, from.type_spec.as_ref(), types)?;
        Ok(Register { id, name, alias, size: usize::try_from(from.size).unwrap_or(0), shape })
    }
}

/// A digest message.
#[derive(Clone, Debug)]
pub struct Digest {
    /// P4Info id.
    pub id: u32,
    /// Full name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// One message's bits.
    pub shape: DataShape,
}

impl Digest {
    pub(super) fn new(
        from: &config::Digest,
        types: Option<&config::P4TypeInfo>,
    ) -> Result<Digest, IndexError> {
        let (id, name, alias) = preamble(Self::KIND, from.preamble.as_ref())?;
        let shape = DataShape::new(&name, from.type_spec.as_ref(), types)?;
        Ok(Digest { id, name, alias, shape })
    }
}

/// The header `packet_in` or `packet_out`.
#[derive(Clone, Debug)]
pub struct ControllerHeader {
    /// P4Info id.
    pub id: u32,
    /// Full name: `packet_in` or `packet_out`.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// Fields in the header's order, paddings included where the program declares them.
    pub fields: Vec<Param>,
}

impl ControllerHeader {
    pub(super) fn new(from: &config::ControllerPacketMetadata) -> Result<ControllerHeader, IndexError> {
        let (id, name, alias) = preamble(Self::KIND, from.preamble.as_ref())?;
        let fields =
            from.metadata.iter().map(|field| Param::new(field.id, &field.name, field.bitwidth)).collect();
        Ok(ControllerHeader { id, name, alias, fields })
    }

    /// A field by name.
    pub fn field(&self, name: &str) -> Option<&Param> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A parser value set.
#[derive(Clone, Debug)]
pub struct ValueSet {
    /// P4Info id.
    pub id: u32,
    /// Full name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// Components of a member.
    pub fields: Vec<Field>,
    /// Members it can hold.
    pub size: usize,
}

impl ValueSet {
    pub(super) fn new(from: &config::ValueSet) -> Result<ValueSet, IndexError> {
        let (id, name, alias) = preamble(Self::KIND, from.preamble.as_ref())?;
        let fields = from.r#match.iter().map(|field| Field::new(&name, field)).collect::<Result<_, _>>()?;
        Ok(ValueSet { id, name, alias, fields, size: usize::try_from(from.size).unwrap_or(0) })
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

fn preamble(
    kind: &'static str,
    from: Option<&config::Preamble>,
) -> Result<(u32, String, String), IndexError> {
    let preamble = from.ok_or(IndexError::NoPreamble { kind })?;
    let alias = if preamble.alias.is_empty() { &preamble.name } else { &preamble.alias };
    Ok((preamble.id, preamble.name.clone(), alias.clone()))
}
