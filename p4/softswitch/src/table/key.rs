//! Keys: from what a controller says to packed words, and back.

use crate::control::{ControlError, KeyInfo, KeyMatch, MatchKind};
use crate::layout::mask;
use crate::program::{KeyField, TableShape};
use crate::value::Value;

/// A key in the packed form that a packet's key has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompiledKey {
    /// Bits outside the mask are zero.
    pub value: Vec<u64>,
    pub mask: Vec<u64>,
    /// Word, lowest and highest value; the word's mask is zero.
    pub ranges: Vec<(usize, u64, u64)>,
    /// The same of fields wider than a word: first word, lowest and highest value.
    pub wide_ranges: Vec<(usize, Vec<u64>, Vec<u64>)>,
    /// Of the lpm field.
    pub prefix_len: usize,
}

/// The bits of a field, in its words.
fn field_mask(f: &KeyField) -> Vec<u64> {
    (0..f.bits.div_ceil(64)).map(|i| mask(f.bits - i * 64)).collect()
}

fn prefix_mask(bits: usize, prefix_len: usize) -> Vec<u64> {
    let zeros = bits - prefix_len;
    (0..bits.div_ceil(64))
        .map(|i| mask(bits - i * 64) & !if zeros > i * 64 { mask(zeros - i * 64) } else { 0 })
        .collect()
}

fn check(value: &Value, info: &KeyInfo) -> Result<(), ControlError> {
    if value.bits() > info.width {
        return Err(ControlError::TooWide {
            what: info.name.clone(),
            width: info.width,
            value: value.clone(),
        });
    }
    Ok(())
}

/// Checks a key and packs it.
pub(crate) fn compile_key(
    shape: &TableShape,
    infos: &[KeyInfo],
    key: &[KeyMatch],
) -> Result<CompiledKey, ControlError> {
    if key.len() != infos.len() {
        return Err(ControlError::WrongCount { what: "key fields", expected: infos.len(), got: key.len() });
    }
    let mut out = CompiledKey {
        value: vec![0; shape.words],
        mask: vec![0; shape.words],
        ranges: Vec::new(),
        wide_ranges: Vec::new(),
        prefix_len: 0,
    };
    for ((f, info), m) in shape.key.iter().zip(infos).zip(key) {
        let wrong = || ControlError::WrongMatch { field: info.name.clone(), expected: info.kind };
        let full = field_mask(f);
        let (value, bits): (Value, Vec<u64>) = match (info.kind, m) {
            (MatchKind::Exact, KeyMatch::Exact(v)) => (v.clone(), full.clone()),
            (MatchKind::Lpm, KeyMatch::Exact(v)) => {
                out.prefix_len = f.bits;
                (v.clone(), full.clone())
            }
            (MatchKind::Lpm, KeyMatch::Lpm { value, prefix_len }) if *prefix_len <= f.bits => {
                out.prefix_len = *prefix_len;
                (value.clone(), prefix_mask(f.bits, *prefix_len))
            }
            (MatchKind::Ternary, KeyMatch::Ternary { value, mask }) => {
                check(mask, info)?;
                (value.clone(), mask.to_limbs(full.len()))
            }
            (MatchKind::Optional, KeyMatch::Ternary { value, mask }) => {
                check(mask, info)?;
                let limbs = mask.to_limbs(full.len());
                if limbs != full && limbs.iter().any(|&l| l != 0) {
                    return Err(wrong());
                }
                (value.clone(), limbs)
            }
            (MatchKind::Ternary | MatchKind::Optional, KeyMatch::Exact(v) | KeyMatch::Optional(Some(v))) => {
                (v.clone(), full.clone())
            }
            (MatchKind::Range, m) => {
                let (low, high) = match m {
                    KeyMatch::Range { low, high } => (low.to_limbs(full.len()), high.to_limbs(full.len())),
                    KeyMatch::Exact(v) => (v.to_limbs(full.len()), v.to_limbs(full.len())),
                    KeyMatch::Any => (vec![0; full.len()], full.clone()),
                    _ => return Err(wrong()),
                };
                if let KeyMatch::Range { low: v, .. } | KeyMatch::Exact(v) = m {
                    check(v, info)?;
                }
                if let KeyMatch::Range { high: v, .. } = m {
                    check(v, info)?;
                }
                if low.iter().rev().gt(high.iter().rev()) {
                    return Err(wrong());
                }
                match (low.as_slice(), high.as_slice()) {
                    (&[low], &[high]) => out.ranges.push((f.word, low, high)),
                    _ => out.wide_ranges.push((f.word, low, high)),
                }
                continue;
            }
            (MatchKind::Lpm | MatchKind::Ternary | MatchKind::Optional, KeyMatch::Any)
            | (MatchKind::Ternary | MatchKind::Optional, KeyMatch::Optional(None)) => continue,
            _ => return Err(wrong()),
        };
        check(&value, info)?;
        let limbs = value.to_limbs(full.len());
        for (i, (&v, &m)) in limbs.iter().zip(&bits).enumerate() {
            out.mask[f.word + i] |= m << f.shift;
            out.value[f.word + i] |= (v & m) << f.shift;
        }
    }
    Ok(out)
}

/// The inverse of [`compile_key`], in each kind's own form.
pub(crate) fn key_matches(shape: &TableShape, compiled: &CompiledKey) -> Box<[KeyMatch]> {
    shape
        .key
        .iter()
        .map(|f| {
            let full = field_mask(f);
            let part = |words: &[u64]| -> Vec<u64> {
                full.iter().enumerate().map(|(i, m)| words[f.word + i] >> f.shift & m).collect()
            };
            let (value, bits) = (part(&compiled.value), part(&compiled.mask));
            match f.kind {
                MatchKind::Exact => KeyMatch::Exact(Value::from_limbs(&value)),
                MatchKind::Lpm => {
                    let prefix_len = bits.iter().map(|b| b.count_ones() as usize).sum();
                    KeyMatch::Lpm { value: Value::from_limbs(&value), prefix_len }
                }
                MatchKind::Ternary => {
                    KeyMatch::Ternary { value: Value::from_limbs(&value), mask: Value::from_limbs(&bits) }
                }
                MatchKind::Optional => KeyMatch::Optional((bits == full).then(|| Value::from_limbs(&value))),
                MatchKind::Range => {
                    let word = compiled.ranges.iter().find(|(w, _, _)| *w == f.word);
                    let word = word.map(|&(_, low, high)| (vec![low], vec![high]));
                    let wide = compiled.wide_ranges.iter().find(|(w, _, _)| *w == f.word);
                    let wide = wide.map(|(_, low, high)| (low.clone(), high.clone()));
                    let (low, high) = word.or(wide).unwrap_or((vec![0], full));
                    KeyMatch::Range { low: Value::from_limbs(&low), high: Value::from_limbs(&high) }
                }
            }
        })
        .collect()
}
