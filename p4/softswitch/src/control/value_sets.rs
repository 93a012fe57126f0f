//! Parser value sets.

use super::{ControlError, KeyMatch, ValueSetId, ValueSetInfo};
use crate::Switch;
use crate::layout::mask;
use crate::state::{SetPart, SetState};
use crate::value::Value;

/// Parser value sets.
impl Switch {
    /// Replaces a value set's members; each has one match for each component, in order.
    ///
    /// # Errors
    /// Unknown value set, malformed or too wide matches, too many members.
    pub fn set_value_set(
        &mut self,
        set: ValueSetId,
        members: Vec<Vec<KeyMatch>>,
    ) -> Result<(), ControlError> {
        let info = self.program.value_sets().get(set.0);
        let info = info.ok_or(ControlError::UnknownIndex { what: "value set", index: set.0 })?;
        if members.len() > info.size {
            return Err(ControlError::Full { what: info.name.clone(), size: info.size });
        }
        let compiled: Result<Vec<Vec<SetPart>>, ControlError> =
            members.iter().map(|m| member(info, m)).collect();
        self.state.value_sets[set.0] = SetState { members: compiled?, given: members };
        Ok(())
    }

    /// Reads a value set.
    ///
    /// # Errors
    /// Unknown value set.
    pub fn value_set(&self, set: ValueSetId) -> Result<&[Vec<KeyMatch>], ControlError> {
        let state = self.state.value_sets.get(set.0);
        state
            .map(|s| s.given.as_slice())
            .ok_or(ControlError::UnknownIndex { what: "value set", index: set.0 })
    }
}

fn member(info: &ValueSetInfo, member: &[KeyMatch]) -> Result<Vec<SetPart>, ControlError> {
    if member.len() != info.widths.len() {
        let (expected, got) = (info.widths.len(), member.len());
        return Err(ControlError::WrongCount { what: "components of a value set's member", expected, got });
    }
    info.widths.iter().zip(member).map(|(&width, m)| part(&info.name, width, m)).collect()
}

fn part(name: &str, width: usize, m: &KeyMatch) -> Result<SetPart, ControlError> {
    let limbs = width.div_ceil(64);
    let words = |v: &Value| -> Result<Vec<u64>, ControlError> {
        if v.bits() > width {
            return Err(ControlError::TooWide { what: name.to_owned(), width, value: v.clone() });
        }
        Ok(v.to_limbs(limbs))
    };
    let full: Vec<u64> = (0..limbs).map(|i| mask(width - i * 64)).collect();
    let masked = |value: Vec<u64>, mask: Vec<u64>| {
        SetPart::Masked(value.iter().zip(&mask).map(|(v, m)| v & m).collect(), mask)
    };
    Ok(match m {
        KeyMatch::Exact(v) | KeyMatch::Optional(Some(v)) => masked(words(v)?, full),
        KeyMatch::Ternary { value, mask } => masked(words(value)?, words(mask)?),
        KeyMatch::Lpm { value, prefix_len } if *prefix_len <= width => {
            let below = width - prefix_len;
            let prefix = full
                .iter()
                .enumerate()
                .map(|(i, f)| f & !if below > i * 64 { mask(below - i * 64) } else { 0 });
            masked(words(value)?, prefix.collect())
        }
        KeyMatch::Range { low, high } if limbs == 1 => SetPart::Range(words(low)?[0], words(high)?[0]),
        KeyMatch::Any | KeyMatch::Optional(None) => masked(vec![0; limbs], vec![0; limbs]),
        _ => return Err(ControlError::Invalid(format!("a match that value set {name} can't hold"))),
    })
}
