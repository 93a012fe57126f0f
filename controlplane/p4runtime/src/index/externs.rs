//! The externs of a P4Info: action profiles, counters, meters, registers, digests, controller headers, value sets.

use super::parts::{Field, Param, preamble};
use super::{IndexError, Object, counter_unit, meter_unit};
use crate::p4::config::v1 as config;
use crate::p4::config::v1::{p4_bitstring_like_type_spec, p4_data_type_spec};

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
