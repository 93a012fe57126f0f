//! The parser's states and the deparser's order.

use crate::num::size32;
use std::collections::HashMap;

use serde_json::Value as Json;

use super::{Context, primitives};
use crate::bigint::Big;
use crate::builder::Builder;
use crate::expr::{Ex, Place, Reader};
use crate::json::{ParseState, ParserOp, Transition};
use crate::layout::{MAX_WIDTH, Slot};
use crate::load_error::{LoadError, Within};
use crate::ops::Op;
use crate::program::{Case, ErrorCodes, Extract, KeyPart, Lookahead, Parser, Select, State, Step, ValueSet};

/// Compiles the one parser of a v1model program.
pub(crate) fn parser(context: &Context, builder: &mut Builder) -> Result<Parser, LoadError> {
    let mut value_sets: Vec<ValueSet> = context
        .root
        .parse_vsets
        .iter()
        .map(|v| ValueSet {
            name: v.name.clone(),
            size: v.max_size.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX),
            compressed_width: usize::try_from(v.compressed_bitwidth).unwrap_or(usize::MAX),
            widths: Vec::new(),
        })
        .collect();
    let errors = error_codes(&context.root.errors);
    let [parser] = context.root.parsers.as_slice() else {
        return Err(LoadError::new("parsers", "v1model has one parser"));
    };
    let at = format!("parsers/{}", parser.name);
    let mut ids = HashMap::new();
    for (i, s) in parser.parse_states.iter().enumerate() {
        if ids.insert(s.name.as_str(), i).is_some() {
            return Err(LoadError::new(at, format!("two states are called {:?}", s.name)));
        }
    }
    let mut states = Vec::new();
    for s in &parser.parse_states {
        states.push(state(context, builder, s, &ids, &mut value_sets).within(&format!("{at}/{}", s.name))?);
    }
    let start = match &parser.init_state {
        None => None,
        Some(name) => Some(find_state(&ids, name).within(&at)?),
    };
    for v in &mut value_sets {
        if v.widths.is_empty() {
            v.widths = vec![v.compressed_width];
        }
    }
    Ok(Parser { states, start, value_sets, errors })
}

fn error_codes(errors: &[(String, u32)]) -> ErrorCodes {
    let code = |name: &str, default| errors.iter().find(|(n, _)| n == name).map_or(default, |(_, c)| *c);
    ErrorCodes {
        no_error: code("NoError", 0),
        packet_too_short: code("PacketTooShort", 1),
        stack_out_of_bounds: code("StackOutOfBounds", 3),
        header_too_short: code("HeaderTooShort", 4),
        parser_timeout: code("ParserTimeout", 5),
        invalid_argument: code("ParserInvalidArgument", 6),
    }
}

fn find_state(ids: &HashMap<&str, usize>, name: &str) -> Result<usize, LoadError> {
    ids.get(name).copied().ok_or_else(|| LoadError::new("", format!("no state {name:?}")))
}

fn state(
    context: &Context,
    builder: &mut Builder,
    s: &ParseState,
    ids: &HashMap<&str, usize>,
    value_sets: &mut [ValueSet],
) -> Result<State, LoadError> {
    let mut steps = Vec::new();
    for op in &s.parser_ops {
        step(context, builder, op, &mut steps).within(&op.op)?;
        builder.end_statement();
    }
    let (key_code, lookaheads, parts) = key(context, builder, &s.transition_key)?;
    let mut cases = Vec::new();
    let mut default = None;
    for t in &s.transitions {
        let next = t.next_state.as_deref().map(|n| find_state(ids, n)).transpose()?;
        let kind = match (t.kind.as_deref(), t.value.as_deref()) {
            (None | Some("hexstr"), Some("default")) => "default",
            (None, _) => "hexstr",
            (Some(kind), _) => kind,
        };
        match kind {
            "default" => default = next,
            "hexstr" => cases.push(value_case(t, &parts, next)?),
            "parse_vset" => cases.push(vset_case(t, &parts, next, value_sets)?),
            other => return Err(LoadError::new("", format!("transition of type {other:?} isn't supported"))),
        }
    }
    builder.end_statement();
    let select = Select::new(&parts, &cases);
    Ok(State { steps, key_code, lookaheads, parts, cases, select, default })
}

fn value_case(t: &Transition, parts: &[KeyPart], next: Option<usize>) -> Result<Case, LoadError> {
    let value = split(t.value.as_deref().unwrap_or(""), parts)?;
    let mask = match t.mask.as_deref() {
        None => parts.iter().flat_map(|p| full_mask(p.bits)).collect(),
        Some(mask) => split(mask, parts)?,
    };
    let value = value.iter().zip(&mask).map(|(v, m)| v & m).collect();
    Ok(Case::Value { value, mask, next })
}

fn vset_case(
    t: &Transition,
    parts: &[KeyPart],
    next: Option<usize>,
    value_sets: &mut [ValueSet],
) -> Result<Case, LoadError> {
    let name = t.value.as_deref().unwrap_or("");
    let Some(set) = value_sets.iter().position(|v| v.name == name) else {
        return Err(LoadError::new("", format!("no value set {name:?}")));
    };
    let mask = t.mask.as_deref().map(|mask| split(mask, parts)).transpose()?;
    let widths: Vec<usize> = parts.iter().map(|p| p.bits).collect();
    if !value_sets[set].widths.is_empty() && value_sets[set].widths != widths {
        return Err(LoadError::new("", format!("value set {name:?} is used with keys of different widths")));
    }
    value_sets[set].widths = widths;
    Ok(Case::Set { set, mask, next })
}

fn full_mask(bits: usize) -> Vec<u64> {
    let limbs = bits.div_ceil(64);
    (0..limbs).map(|i| crate::layout::mask(bits - i * 64)).collect()
}

/// A transition's number spells the key's fields one after the other, each in whole octets.
fn split(text: &str, parts: &[KeyPart]) -> Result<Vec<u64>, LoadError> {
    let value = Big::from_hex(text).filter(|v| !v.is_negative());
    let value = value.ok_or_else(|| LoadError::new("", format!("{text:?} isn't a hexadecimal number")))?;
    let octets: usize = parts.iter().map(|p| p.bits.div_ceil(8)).sum();
    if !value.shr(octets as u64 * 8).is_zero() {
        return Err(LoadError::new("", format!("{text} is wider than the key's {octets} octets")));
    }
    let mut limbs = Vec::new();
    let mut below = octets;
    for p in parts {
        below -= p.bits.div_ceil(8);
        let part = value
            .shr(below as u64 * 8)
            .and(&Big::power(p.bits.div_ceil(8) as u64 * 8).sub(&Big::from_u64(1)));
        limbs.extend((0..p.bits.div_ceil(64)).map(|i| part.limb(i)));
    }
    Ok(limbs)
}

type Key = (Option<u32>, Vec<Lookahead>, Vec<KeyPart>);

fn key(context: &Context, builder: &mut Builder, key: &[Json]) -> Result<Key, LoadError> {
    let mut lookaheads = Vec::new();
    let mut parts = Vec::new();
    let code = builder.pc();
    for k in key {
        let part = match k.get("type").and_then(Json::as_str) {
            Some("lookahead") => {
                let look = lookahead(builder, k.get("value").unwrap_or(&Json::Null))?;
                let part = KeyPart { slot: look.slot, bits: look.bits };
                lookaheads.push(look);
                part
            }
            Some("field" | "stack_field" | "union_stack_field") => {
                let place = context.reader().place(k)?;
                if place.variable {
                    return Err(LoadError::new("", "select on a variable field isn't supported"));
                }
                let (bits, fixed) = (place.width, place.index.is_none());
                let plain = Place { signed: false, ..place };
                let slot = builder.limbs(&Ex::Place(plain), bits, None)?;
                debug_assert!(fixed || bits > 0);
                KeyPart { slot, bits }
            }
            other => return Err(LoadError::new("", format!("select key of type {other:?} isn't supported"))),
        };
        parts.push(part);
    }
    let code = (builder.pc() != code).then_some(code);
    if code.is_some() {
        builder.emit(Op::Return);
    }
    Ok((code, lookaheads, parts))
}

fn lookahead(builder: &mut Builder, value: &Json) -> Result<Lookahead, LoadError> {
    let number = |i: usize| value.get(i).and_then(Json::as_u64).and_then(|n| usize::try_from(n).ok());
    match (number(0), number(1)) {
        (Some(offset), Some(bits)) if (1..=MAX_WIDTH).contains(&bits) && offset < 1 << 20 => {
            Ok(Lookahead { offset, bits, slot: builder.temp(bits.div_ceil(64)) })
        }
        _ => Err(LoadError::new("", format!("lookahead {value} isn't supported"))),
    }
}

fn step(
    context: &Context,
    builder: &mut Builder,
    op: &ParserOp,
    steps: &mut Vec<Step>,
) -> Result<(), LoadError> {
    let parameter = |i: usize| op.parameters.get(i).unwrap_or(&Json::Null);
    let expect = |n: usize| {
        let got = op.parameters.len();
        if got == n {
            Ok(())
        } else {
            Err(LoadError::new("", format!("{n} parameters expected, {got} given")))
        }
    };
    match op.op.as_str() {
        "extract" => {
            expect(1)?;
            let (what, variable) = extract(context, parameter(0))?;
            let length = if variable { Some(own_length(context, builder, what, steps)?) } else { None };
            steps.push(Step::Extract { what, length });
        }
        "extract_VL" => {
            expect(2)?;
            let (what, variable) = extract(context, parameter(0))?;
            if !variable {
                return Err(LoadError::new("", "extract_VL of a header without variable field"));
            }
            let code = builder.pc();
            let slot = builder.amount(&context.reader().data(parameter(1))?)?;
            builder.emit(Op::Return);
            steps.push(Step::Extract { what, length: Some((code, slot)) });
        }
        "set" => {
            expect(2)?;
            let place = context.reader().place(parameter(0))?;
            let source = parameter(1);
            if source.get("type").and_then(Json::as_str) == Some("lookahead") {
                let look = lookahead(builder, source.get("value").unwrap_or(&Json::Null))?;
                let code = builder.pc();
                builder.store(&place, &Ex::slot(look.slot, look.bits))?;
                builder.emit(Op::Return);
                steps.push(Step::Lookahead(look));
                steps.push(Step::Code(code));
                return Ok(());
            }
            let code = code_step(builder, steps);
            if place.variable {
                let source = context.reader().place(source)?;
                builder.emit(Op::CopyN {
                    d: place.base - 1,
                    a: source.base - 1,
                    n: size32(source.limbs() + 1),
                });
            } else {
                builder.store(&place, &context.reader().data(source)?)?;
            }
            builder.emit(Op::Return);
            steps.extend(code);
        }
        "verify" => {
            expect(2)?;
            let code = builder.pc();
            let condition = builder.word(&context.reader().boolean(parameter(0))?, None)?;
            let error = match parameter(1).as_u64() {
                Some(n) => builder.constant(&[n]),
                None => builder.amount(&context.reader().data(parameter(1))?)?,
            };
            builder.emit(Op::Return);
            steps.push(Step::Verify { code, condition, error });
        }
        "advance" => {
            expect(1)?;
            let code = builder.pc();
            let bits = builder.amount(&context.reader().data(parameter(0))?)?;
            builder.emit(Op::Return);
            steps.push(Step::Advance { code, bits });
        }
        "shift" => {
            expect(1)?;
            let octets =
                parameter(0).as_u64().ok_or_else(|| LoadError::new("", "a number of octets expected"))?;
            let bits = builder.constant(&[octets.saturating_mul(8)]);
            let code = builder.pc();
            builder.emit(Op::Return);
            steps.push(Step::Advance { code, bits });
        }
        "primitive" => {
            expect(1)?;
            let primitive = serde_json::from_value(parameter(0).clone())
                .map_err(|e| LoadError::new("", format!("not a primitive: {e}")))?;
            let code = code_step(builder, steps);
            primitives::body(context, builder, &context.reader(), &[primitive])?;
            steps.extend(code);
        }
        other => return Err(LoadError::new("", format!("parser operation {other:?} isn't supported"))),
    }
    Ok(())
}

/// The code for the length of a variable field that the header's type gives itself. The fields before are looked at where
/// they stand in the packet.
fn own_length(
    context: &Context,
    builder: &mut Builder,
    what: Extract,
    steps: &mut Vec<Step>,
) -> Result<(u32, Slot), LoadError> {
    let Extract::Header(header) = what else {
        return Err(LoadError::new("", "a variable field in a stack needs extract_VL"));
    };
    let kind = context.layout.type_of(header);
    let Some(length) = &kind.length else {
        return Err(LoadError::new("", "a header with a variable field needs extract_VL or a length_exp"));
    };
    let mut params = Vec::new();
    let mut offset = 0;
    for f in kind.fields.iter().take_while(|f| !f.variable) {
        let slot = context.layout.field_slot(header, f);
        params.push((slot, f.width));
        steps.push(Step::Lookahead(Lookahead { offset, bits: f.width, slot }));
        offset += f.width;
    }
    let code = builder.pc();
    let reader = Reader { layout: context.layout, params: &params };
    let slot = builder.amount(&reader.data(length)?)?;
    builder.emit(Op::Return);
    Ok((code, slot))
}

/// Starts code: a step of its own, or the rest of the step before.
fn code_step(builder: &mut Builder, steps: &[Step]) -> Option<Step> {
    if matches!(steps.last(), Some(Step::Code(_))) && builder.ops.last() == Some(&Op::Return) {
        builder.ops.pop();
        return None;
    }
    Some(Step::Code(builder.pc()))
}

/// What is extracted into, and whether it has a variable field.
fn extract(context: &Context, json: &Json) -> Result<(Extract, bool), LoadError> {
    let value = json.get("value").unwrap_or(&Json::Null);
    let layout = context.layout;
    match (json.get("type").and_then(Json::as_str), value) {
        (Some("regular"), Json::String(name)) => {
            let header = layout.header(name)?;
            Ok((Extract::Header(header), layout.type_of(header).variable.is_some()))
        }
        (Some("stack"), Json::String(name)) => {
            let stack = layout.stack(name)?;
            Ok((Extract::Stack(stack), layout.types[layout.stacks[stack].type_id].variable.is_some()))
        }
        (Some("union_stack"), _) => {
            let (name, member) = crate::expr::pair(value)?;
            let stack = layout.union_stack(name)?;
            let union_type = &layout.union_types[layout.union_stacks[stack].type_id];
            let member = union_type.headers.iter().position(|(n, _)| n == member);
            let member = member.ok_or_else(|| LoadError::new("", format!("no such member in {value}")))?;
            let variable = layout.types[union_type.headers[member].1].variable.is_some();
            Ok((Extract::UnionStack(stack, member), variable))
        }
        (Some(kind), _) => Err(LoadError::new("", format!("extract of type {kind:?} isn't supported"))),
        _ => Err(LoadError::new("", "extract without a type")),
    }
}

/// The headers to emit in order, and the code to run before.
pub(crate) fn deparser(
    context: &Context,
    builder: &mut Builder,
) -> Result<(Vec<usize>, Option<u32>), LoadError> {
    let [deparser] = context.root.deparsers.as_slice() else {
        return Err(LoadError::new("deparsers", "v1model has one deparser"));
    };
    let at = format!("deparsers/{}", deparser.name);
    let mut emit = Vec::new();
    for name in &deparser.order {
        emit.push(context.layout.header(name).within(&at)?);
    }
    let code: Option<Slot> = if deparser.primitives.is_empty() {
        None
    } else {
        let code = builder.pc();
        primitives::body(context, builder, &context.reader(), &deparser.primitives).within(&at)?;
        Some(code)
    };
    Ok((emit, code))
}
