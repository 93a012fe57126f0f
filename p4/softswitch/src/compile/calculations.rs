//! Hash and checksum inputs.

use crate::num::size32;
use serde_json::Value as Json;

use super::Context;
use crate::builder::Builder;
use crate::expr::hex;
use crate::hash::Algorithm;
use crate::layout::{MAX_WIDTH, Slot, mask};
use crate::load_error::{LoadError, Within};
use crate::ops::Op;
use crate::program::{Calculation, Checksum, Input, SumPiece};

/// All named calculations.
pub(crate) fn all(context: &Context) -> Result<Vec<Calculation>, LoadError> {
    let build = |c: &crate::json::Calculation| {
        calculation(context, &c.algo, &c.input).within(&format!("calculations/{}", c.name))
    };
    context.root.calculations.iter().map(build).collect()
}

/// A calculation from its algorithm and input.
pub(crate) fn calculation(
    context: &Context,
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
    let sum = (algorithm == Algorithm::Csum16 && !payload).then(|| sum(context, &inputs)).flatten();
    Ok(Calculation { algorithm, inputs, payload, sum })
}

/// What an Internet checksum adds up; `None` when a variable field is among it.
fn sum(context: &Context, inputs: &[Input]) -> Option<Box<[SumPiece]>> {
    let mut pieces = Vec::new();
    let mut add = |slot: Slot, bits: u32, valid: Option<Slot>| {
        for limb in (0..bits.div_ceil(64)).rev() {
            let bits = (bits - limb * 64).min(64);
            pieces.push(SumPiece { slot: Some(slot + limb), valid, bits, value: mask(bits as usize) });
        }
    };
    let mut constants = Vec::new();
    for input in inputs {
        match input {
            Input::Field { variable: true, .. } => return None,
            Input::Field { slot, bits, valid, .. } => add(*slot, *bits, *valid),
            // A constant of whole words adds the same wherever it stands.
            Input::Constant { words, bits } if bits % 16 == 0 => {
                let cut = |(i, word): (usize, &u64)| word & mask(bits.saturating_sub(i * 64));
                constants.extend(words.iter().enumerate().map(cut).map(|value| SumPiece {
                    slot: None,
                    valid: None,
                    bits: 64,
                    value,
                }));
            }
            Input::Constant { .. } => return None,
            Input::Header(h) => {
                let (kind, header) = (context.layout.type_of(*h), &context.layout.headers[*h]);
                if kind.variable.is_some() {
                    return None;
                }
                for f in &kind.fields {
                    let valid = (!header.metadata).then_some(header.base);
                    add(context.layout.field_slot(*h, f), size32(f.width), valid);
                }
            }
        }
    }
    // At the front, where the sum is aligned.
    constants.extend(pieces);
    Some(constants.into())
}

fn field(context: &Context, value: &Json) -> Result<Input, LoadError> {
    let place = context.reader().field(value)?;
    let (header, _) = crate::expr::pair(value)?;
    let header = &context.layout.headers[context.layout.header(header)?];
    let valid = (!header.metadata).then_some(header.base);
    Ok(Input::Field { slot: place.base, bits: size32(place.width), valid, variable: place.variable })
}

/// Checksums in order; each with a calculation of its own for the old `ipv4` kind.
pub(crate) fn checksums(context: &Context, builder: &mut Builder) -> Result<Vec<Checksum>, LoadError> {
    let mut checksums = Vec::new();
    for c in &context.root.checksums {
        let at = format!("checksums/{}", c.name);
        if c.kind != "generic" {
            return Err(LoadError::new(at, format!("checksum of type {:?} isn't supported", c.kind)));
        }
        let name = c.calculation.as_deref().unwrap_or("");
        let calculation = context.calculations.get(name).copied();
        let calculation =
            calculation.ok_or_else(|| LoadError::new(&at, format!("no calculation {name:?}")))?;
        let target = Json::Array(vec![c.target.0.clone().into(), c.target.1.clone().into()]);
        let place = context.reader().field(&target).within(&at)?;
        if place.width > 64 || place.variable {
            return Err(LoadError::new(at, "a checksum wider than 64 bits isn't supported"));
        }
        let header = &context.layout.headers[context.layout.header(&c.target.0).within(&at)?];
        let condition = match &c.if_cond {
            None | Some(Json::Null) => None,
            Some(json) => {
                let code = builder.pc();
                let slot = builder.word(&context.reader().boolean(json).within(&at)?, None)?;
                builder.emit(Op::Return);
                builder.end_statement();
                Some((code, slot))
            }
        };
        checksums.push(Checksum {
            calculation,
            slot: place.base,
            bits: size32(place.width),
            valid: (!header.metadata).then_some(header.base),
            condition,
            verify: c.verify.unwrap_or(true),
            update: c.update.unwrap_or(true),
        });
    }
    Ok(checksums)
}
