//! Keys and actions between the API's messages and the switch's types.

use p4runtime::bytes;
use p4runtime::index::{Field, MatchKind, Table};
use p4runtime::p4::v1::{Action, FieldMatch, action, field_match};

use super::fault::Fault;
use super::pipeline::{BoundActions, BoundTable, Pipeline};
use crate::Value;
use crate::control::{ActionCall, KeyMatch};

/// A value of a field, checked against its width.
pub(super) fn value(octets: &[u8], width: usize) -> Result<Value, Fault> {
    if width == 0 {
        return Err(Fault::unimplemented("the type is translated to text, which isn't supported"));
    }
    Ok(Value::from_octets(&bytes::check(octets, width)?))
}

/// One component of a key.
pub(super) fn component(field: &Field, given: &FieldMatch) -> Result<KeyMatch, Fault> {
    use field_match::FieldMatchType as Given;
    let width = field.width;
    let converted = match (field.kind, given.field_match_type.as_ref()) {
        (MatchKind::Exact, Some(Given::Exact(exact))) => KeyMatch::Exact(value(&exact.value, width)?),
        (MatchKind::Lpm, Some(Given::Lpm(lpm))) => {
            let value = value(&lpm.value, width)?;
            let prefix_len =
                usize::try_from(lpm.prefix_len).ok().filter(|&length| (1..=width).contains(&length));
            let prefix_len = prefix_len.ok_or_else(|| {
                Fault::invalid(format!(
                    "prefix length {} isn't in 1..={width} (leave a field out for 0)",
                    lpm.prefix_len
                ))
            })?;
            if outside(&value, &prefix_mask(prefix_len, width)) {
                return Err(Fault::invalid(format!(
                    "{value} has bits set behind its prefix of {prefix_len} bits"
                )));
            }
            KeyMatch::Lpm { value, prefix_len }
        }
        (MatchKind::Ternary, Some(Given::Ternary(ternary))) => {
            let mask = value(&ternary.mask, width)?;
            let value = value(&ternary.value, width)?;
            if mask.bits() == 0 {
                return Err(Fault::invalid("a mask of 0 matches everything: leave the field out"));
            }
            if outside(&value, &mask) {
                return Err(Fault::invalid(format!("{value} has bits set outside its mask {mask}")));
            }
            KeyMatch::Ternary { value, mask }
        }
        (MatchKind::Range, Some(Given::Range(range))) => {
            let (low, high) = (value(&range.low, width)?, value(&range.high, width)?);
            if order(&low) > order(&high) {
                return Err(Fault::invalid(format!("the range is empty: {low} is above {high}")));
            }
            if low.bits() == 0 && high == prefix_mask(width, width) {
                return Err(Fault::invalid("the range covers every value: leave the field out"));
            }
            KeyMatch::Range { low, high }
        }
        (MatchKind::Optional, Some(Given::Optional(optional))) => {
            KeyMatch::Optional(Some(value(&optional.value, width)?))
        }
        (kind, _) => return Err(Fault::invalid(format!("a match of kind {kind:?} is wanted"))),
    };
    Ok(converted)
}

/// A whole key in the program's order. Components left out match everything, which an exact one can't.
pub(super) fn key(table: &Table, bound: &BoundTable, given: &[FieldMatch]) -> Result<Vec<KeyMatch>, Fault> {
    let mut found: Vec<Option<KeyMatch>> = vec![None; table.fields.len()];
    for component_given in given {
        let (place, field) = place(table, component_given.field_id)?;
        let converted = component(field, component_given)
            .map_err(|fault| fault.at(&format!("field `{}`", field.name)))?;
        if found[place].replace(converted).is_some() {
            return Err(Fault::invalid(format!("field `{}` is given twice", field.name)));
        }
    }
    bound
        .keys
        .iter()
        .map(|&place| match (found[place].take(), &table.fields[place]) {
            (Some(component), _) => Ok(component),
            (None, field) if field.kind == MatchKind::Exact => {
                Err(Fault::invalid(format!("field `{}` is exact and can't be left out", field.name)))
            }
            (None, field) if field.kind == MatchKind::Optional => Ok(KeyMatch::Optional(None)),
            (None, _) => Ok(KeyMatch::Any),
        })
        .collect()
}

/// A field's place in P4Info's order.
pub(super) fn place(table: &Table, id: u32) -> Result<(usize, &Field), Fault> {
    table
        .fields
        .iter()
        .enumerate()
        .find(|(_, field)| field.id == id)
        .ok_or_else(|| Fault::invalid(format!("the key has no field with id {id}")))
}

/// A key as the API writes it: P4Info's order, shortest values, components that match everything left out.
pub(super) fn key_message(table: &Table, bound: &BoundTable, key: &[KeyMatch]) -> Vec<FieldMatch> {
    let mut out: Vec<(usize, FieldMatch)> = bound
        .keys
        .iter()
        .zip(key)
        .filter_map(|(&place, component)| {
            let field = table.fields.get(place)?;
            component_message(field, component).map(|message| (place, message))
        })
        .collect();
    out.sort_by_key(|&(place, _)| place);
    out.into_iter().map(|(_, message)| message).collect()
}

pub(super) fn component_message(field: &Field, component: &KeyMatch) -> Option<FieldMatch> {
    use field_match::{Exact, FieldMatchType as Given, Lpm, Optional, Range, Ternary};
    let full = || prefix_mask(field.width, field.width);
    let octets = |value: &Value| value.octets().to_vec();
    let message = match (field.kind, component) {
        (_, KeyMatch::Any | KeyMatch::Optional(None) | KeyMatch::Lpm { prefix_len: 0, .. }) => return None,
        (_, KeyMatch::Ternary { mask, .. }) if mask.bits() == 0 => return None,
        (_, KeyMatch::Range { low, high }) if low.bits() == 0 && *high == full() => return None,
        // p4c writes optional fields as ternary ones, so the program's own entries may read back so.
        (
            MatchKind::Optional,
            KeyMatch::Optional(Some(value)) | KeyMatch::Ternary { value, .. } | KeyMatch::Exact(value),
        ) => Given::Optional(Optional { value: octets(value) }),
        (_, KeyMatch::Exact(value)) => Given::Exact(Exact { value: octets(value) }),
        (_, KeyMatch::Lpm { value, prefix_len }) => Given::Lpm(Lpm {
            value: octets(value),
            prefix_len: i32::try_from(*prefix_len).unwrap_or(i32::MAX),
        }),
        (_, KeyMatch::Ternary { value, mask }) => {
            Given::Ternary(Ternary { value: octets(value), mask: octets(mask) })
        }
        (_, KeyMatch::Optional(Some(value))) => {
            Given::Ternary(Ternary { value: octets(value), mask: octets(&full()) })
        }
        (_, KeyMatch::Range { low, high }) => Given::Range(Range { low: octets(low), high: octets(high) }),
    };
    Some(FieldMatch { field_id: field.id, field_match_type: Some(message) })
}

/// An action with its arguments in the program's order.
pub(super) fn call(pipeline: &Pipeline, actions: &BoundActions, given: &Action) -> Result<ActionCall, Fault> {
    let action = pipeline.index.actions.find_id(given.action_id)?;
    let at = format!("action `{}`", action.name);
    let bound = actions
        .by_p4_id
        .get(&given.action_id)
        .ok_or_else(|| Fault::invalid(format!("{at} can't be used here")))?;
    let mut found: Vec<Option<Value>> = vec![None; action.params.len()];
    for argument in &given.params {
        let place = action.params.iter().position(|param| param.id == argument.param_id);
        let place = place
            .ok_or_else(|| Fault::invalid(format!("{at} has no parameter with id {}", argument.param_id)))?;
        let param = &action.params[place];
        let value = value(&argument.value, param.width)
            .map_err(|fault| fault.at(&format!("{at}: parameter `{}`", param.name)))?;
        if found[place].replace(value).is_some() {
            return Err(Fault::invalid(format!("{at}: parameter `{}` is given twice", param.name)));
        }
    }
    let args = bound
        .params
        .iter()
        .map(|&place| {
            found[place].take().ok_or_else(|| {
                Fault::invalid(format!("{at}: parameter `{}` is missing", action.params[place].name))
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(ActionCall { action: bound.id, args })
}

/// An action as the API writes it, parameters in P4Info's order.
pub(super) fn call_message(pipeline: &Pipeline, actions: &BoundActions, call: &ActionCall) -> Option<Action> {
    let &action_id = actions.p4_ids.get(&call.action)?;
    let action = pipeline.index.actions.by_id(action_id)?;
    let bound = actions.by_p4_id.get(&action_id)?;
    let mut params: Vec<(usize, action::Param)> = bound
        .params
        .iter()
        .zip(&call.args)
        .filter_map(|(&place, value)| {
            let param = action.params.get(place)?;
            Some((place, action::Param { param_id: param.id, value: value.octets().to_vec() }))
        })
        .collect();
    params.sort_by_key(|&(place, _)| place);
    Some(Action { action_id, params: params.into_iter().map(|(_, param)| param).collect() })
}

/// Sorts values by size: shortest octet strings, so the longer one is greater.
pub(super) fn order(value: &Value) -> (usize, &[u8]) {
    (value.octets().len(), value.octets())
}

/// A mask of `length` leading ones.
pub(super) fn prefix_mask(length: usize, width: usize) -> Value {
    let octets = width.div_ceil(8);
    let spare = octets * 8 - width;
    let mut mask = vec![0u8; octets];
    for bit in spare..(spare + length).min(octets * 8) {
        mask[bit / 8] |= 0x80 >> (bit % 8);
    }
    Value::from_octets(&mask)
}

/// Whether a value has bits outside a mask.
fn outside(value: &Value, mask: &Value) -> bool {
    let octets = value.octets().len().max(mask.octets().len());
    value.padded(octets).iter().zip(mask.padded(octets)).any(|(value, mask)| value & !mask != 0)
}
