//! Header types: their fields and where in a header those are.

use serde_json::Value as Json;

use super::MAX_WIDTH;
use crate::load_error::LoadError;

/// A field of a header type.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct FieldType {
    pub name: String,
    /// Bits; of a variable field the most it can have.
    pub width: usize,
    pub signed: bool,
    /// What doesn't fit becomes the nearest value that does.
    pub saturating: bool,
    /// A `varbit`: one more slot before its words holds its present width.
    pub variable: bool,
    /// First slot, counted from the header's own.
    pub offset: usize,
    /// Nothing looks at it: it has no slots (and the offset of the validity), but stays in the packet.
    pub silent: bool,
}

impl FieldType {
    pub(crate) fn limbs(&self) -> usize {
        self.width.div_ceil(64)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct HeaderTypeLayout {
    pub fields: Vec<FieldType>,
    /// Slots of a header, validity and origin included.
    pub slots: usize,
    /// Bits of the fixed fields.
    pub fixed_bits: usize,
    /// Position of the variable field.
    pub variable: Option<usize>,
    /// Most octets a header with a variable field may have; 0: no limit given.
    pub max_octets: usize,
    /// Bits of the variable field, from the fields before it, where the type says so itself (`P4_14`).
    pub length: Option<Json>,
}

impl HeaderTypeLayout {
    pub(crate) fn field(&self, name: &str) -> Option<&FieldType> {
        self.fields.iter().find(|f| f.name == name)
    }
}

pub(super) fn header_type(
    t: &crate::json::HeaderType,
    silent: &[bool],
    at: &str,
) -> Result<HeaderTypeLayout, LoadError> {
    let mut fields: Vec<FieldType> = Vec::new();
    let mut offset = 1;
    let mut variable = None;
    let fixed: u64 =
        t.fields.iter().filter_map(|f| f.get(1).and_then(Json::as_u64)).fold(0, u64::saturating_add);
    let max_octets = t.max_length.unwrap_or(0);
    for f in &t.fields {
        let name =
            f.first().and_then(Json::as_str).ok_or_else(|| LoadError::new(at, "a field without a name"))?;
        let at = format!("{at}/{name}");
        let width = match f.get(1) {
            Some(Json::Number(n)) => n.as_u64().unwrap_or(u64::MAX),
            Some(Json::String(star)) if star == "*" => {
                if variable.replace(fields.len()).is_some() {
                    return Err(LoadError::new(at, "a second variable field in one header"));
                }
                // BMv2 reads max_length as the octets of the whole header.
                (max_octets * 8).saturating_sub(fixed)
            }
            _ => return Err(LoadError::new(at, "a field needs a width or \"*\"")),
        };
        let width = usize::try_from(width).unwrap_or(usize::MAX);
        let is_variable = variable == Some(fields.len());
        // Variable fields may be longer than any expression's value: they are only moved, compared and sent.
        if width > if is_variable { 65_536 } else { MAX_WIDTH } || (width == 0 && !is_variable) {
            return Err(LoadError::new(
                at,
                format!("a field of {width} bits isn't supported (1 to {MAX_WIDTH})"),
            ));
        }
        let flag = |i: usize| f.get(i).and_then(Json::as_bool).unwrap_or(false);
        let (signed, saturating) = (flag(2), flag(3));
        offset += usize::from(is_variable);
        let name = name.to_owned();
        let silent = silent.get(fields.len()).copied().unwrap_or(false);
        let place = if silent { 0 } else { offset };
        let field =
            FieldType { name, width, signed, saturating, variable: is_variable, offset: place, silent };
        offset += if silent { 0 } else { field.limbs() };
        if fields.iter().any(|other| other.name == field.name) {
            return Err(LoadError::new(at, "two fields of this name"));
        }
        fields.push(field);
    }
    Ok(HeaderTypeLayout {
        fields,
        slots: offset + 1,
        fixed_bits: usize::try_from(fixed).unwrap_or(usize::MAX),
        variable,
        max_octets: usize::try_from(max_octets).unwrap_or(usize::MAX),
        length: t.length_exp.clone().filter(|e| !e.is_null()),
    })
}
