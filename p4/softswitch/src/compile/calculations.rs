//! Hash and checksum inputs.

use crate::num::size32;
use serde_json::Value as Json;

use super::Context;
use crate::builder::Builder;
use crate::expr::hex;
use crate::hash::Algorithm;
use crate::layout::{MAX_WIDTH, Slot, mask};
use crate::load_error::{LoadError, Within};
use crate::ops::{Extern, Op};
use crate::program::{Calculation, Checksum, Chunk, Input, SumGroup, SumPiece};

/// All named calculations.
pub(crate) fn all(context: &Context, builder: &mut Builder) -> Result<Vec<Calculation>, LoadError> {
    let mut build = |c: &crate::json::Calculation| {
        calculation(context, builder, &c.algo, &c.input).within(&format!("calculations/{}", c.name))
    };
    context.root.calculations.iter().map(&mut build).collect()
}

/// A calculation from its algorithm and input.
pub(crate) fn calculation(
    context: &Context,
    builder: &mut Builder,
    algorithm: &str,
    input: &[Json],
) -> Result<Calculation, LoadError> {
    let algorithm = Algorithm::by_name(algorithm)
        .ok_or_else(|| LoadError::new("", format!("hash algorithm {algorithm:?} isn't supported")))?;
    let mut inputs = Vec::new();
    let mut payload = false;
    for item in input {
        let value = item.get("value").unwrap_or(&Json::Null);
        match item.get("type").and_then(Json::as_str) {
            Some("field") => inputs.push(field(context, value)?),
            Some("hexstr") => {
                let bits = item.get("bitwidth").and_then(Json::as_u64).and_then(|n| usize::try_from(n).ok());
                let bits = bits.filter(|&b| b > 0 && b <= MAX_WIDTH);
                let bits = bits.ok_or_else(|| LoadError::new("", "a constant needs a bitwidth"))?;
                let value = hex(value)?;
                inputs.push(Input::Constant {
                    words: (0..bits.div_ceil(64)).map(|i| value.limb(i)).collect(),
                    bits,
                });
            }
            Some("header") => {
                let name = value.as_str().ok_or_else(|| LoadError::new("", "a header's name expected"))?;
                inputs.push(Input::Header(context.layout.header(name)?));
            }
            Some("payload") => payload = true,
            other => return Err(LoadError::new("", format!("input of type {other:?} isn't supported"))),
        }
    }
    let sum = (algorithm == Algorithm::Csum16 && !payload).then(|| sum(context, builder, &inputs)).flatten();
    let chunks = if sum.is_none() && !payload { chunks(builder, &inputs) } else { None };
    Ok(Calculation { algorithm, inputs, payload, sum, chunks })
}

/// The inputs as words of octets, if all are always there.
fn chunks(builder: &mut Builder, inputs: &[Input]) -> Option<Box<[Chunk]>> {
    let mut fields = Vec::new();
    for input in inputs {
        fields.push(match input {
            Input::Field { slot, bits, valid: None, variable: false } => (*slot, *bits),
            Input::Constant { words, bits } => (builder.constant(words), size32(*bits)),
            _ => return None,
        });
    }
    crate::program::chunks(fields.into_iter())
}

/// What an Internet checksum adds up; `None` when where a field stands isn't known before the packet comes: after a
/// variable field, or after a header that isn't whole multiples of 16 bits and may not be there.
fn sum(context: &Context, builder: &mut Builder, inputs: &[Input]) -> Option<Box<[SumGroup]>> {
    let always = builder.constant(&[1]);
    let (mut pieces, mut constants) = (Vec::new(), Vec::new());
    let (mut at, mut last) = (0, always);
    let mut add = |slot: Slot, bits: u32, valid: Slot| {
        if std::mem::replace(&mut last, valid) != valid && at % 16 != 0 {
            return None;
        }
        for limb in (0..bits.div_ceil(64)).rev() {
            let bits = (bits - limb * 64).min(64);
            at += bits;
            let shift = at.wrapping_neg() & 15;
            pieces.push(SumPiece { slot: slot + limb, valid, shift, mask: mask(bits as usize) });
        }
        Some(())
    };
    for input in inputs {
        match input {
            Input::Field { variable: true, .. } => return None,
            Input::Field { slot, bits, valid, .. } => add(*slot, *bits, valid.unwrap_or(always))?,
            // A constant of whole words adds the same wherever it stands.
            Input::Constant { words, bits } if bits % 16 == 0 => {
                let slot = builder.constant(words);
                let piece = |i: usize| SumPiece {
                    slot: slot + size32(i),
                    valid: always,
                    shift: 0,
                    mask: mask(bits.saturating_sub(i * 64)),
                };
                constants.extend((0..words.len()).map(piece));
            }
            Input::Constant { .. } => return None,
            Input::Header(h) => {
                let (kind, header) = (context.layout.type_of(*h), &context.layout.headers[*h]);
                if kind.variable.is_some() {
                    return None;
                }
                for f in &kind.fields {
                    let valid = if header.metadata { always } else { header.base };
                    add(context.layout.field_slot(*h, f), size32(f.width), valid)?;
                }
            }
        }
    }
    constants.extend(pieces);
    Some(SumGroup::of(&constants))
}

fn field(context: &Context, value: &Json) -> Result<Input, LoadError> {
    let place = context.reader().field(value)?;
    let (header, _) = crate::expr::pair(value)?;
    let header = &context.layout.headers[context.layout.header(header)?];
    let valid = (!header.metadata).then_some(header.base);
    Ok(Input::Field { slot: place.base, bits: size32(place.width), valid, variable: place.variable })
}

/// The program's checksums.
pub(crate) struct Checksums {
    pub all: Vec<Checksum>,
    /// Code that compares them, and that sets them; none if there is nothing to do.
    pub verify: Option<u32>,
    pub update: Option<u32>,
}

/// Checksums in order, and the code that goes through them.
pub(crate) fn checksums(context: &Context, builder: &mut Builder) -> Result<Checksums, LoadError> {
    let mut all = Vec::new();
    for c in &context.root.checksums {
        all.push(checksum(context, c).within(&format!("checksums/{}", c.name))?);
    }
    let verify = code(context, builder, |c| c.verify.unwrap_or(true), true)?;
    let update = code(context, builder, |c| c.update.unwrap_or(true), false)?;
    Ok(Checksums { all, verify, update })
}

fn checksum(context: &Context, c: &crate::json::Checksum) -> Result<Checksum, LoadError> {
    if c.kind != "generic" {
        return Err(LoadError::new("", format!("checksum of type {:?} isn't supported", c.kind)));
    }
    let name = c.calculation.as_deref().unwrap_or("");
    let calculation = context.calculations.get(name).copied();
    let calculation = calculation.ok_or_else(|| LoadError::new("", format!("no calculation {name:?}")))?;
    let target = Json::Array(vec![c.target.0.clone().into(), c.target.1.clone().into()]);
    let place = context.reader().field(&target)?;
    if place.width > 64 || place.variable {
        return Err(LoadError::new("", "a checksum wider than 64 bits isn't supported"));
    }
    Ok(Checksum { calculation, slot: place.base, bits: size32(place.width) })
}

/// Emits the calls for the checksums that are `wanted`, each behind its condition. A checksum is compared only in a valid
/// header.
fn code(
    context: &Context,
    builder: &mut Builder,
    wanted: impl Fn(&crate::json::Checksum) -> bool,
    verify: bool,
) -> Result<Option<u32>, LoadError> {
    let start = builder.pc();
    for (i, c) in context.root.checksums.iter().enumerate().filter(|(_, c)| wanted(c)) {
        let at = format!("checksums/{}", c.name);
        let mut past = Vec::new();
        let header = &context.layout.headers[context.layout.header(&c.target.0).within(&at)?];
        if verify && !header.metadata {
            past.push(builder.pc());
            builder.emit(Op::JumpZero { a: header.base, to: 0 });
        }
        if let Some(json) = c.if_cond.as_ref().filter(|json| !json.is_null()) {
            let condition = context.reader().boolean(json).within(&at)?;
            past.extend(builder.branch(&condition, false).within(&at)?);
        }
        builder.call(if verify { Extern::Verify(i) } else { Extern::Update(i) });
        builder.land_all(past);
        builder.end_statement();
    }
    if builder.pc() == start {
        return Ok(None);
    }
    builder.emit(Op::Return);
    Ok(Some(start))
}
