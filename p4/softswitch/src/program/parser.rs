//! The compiled parser.

use crate::layout::{Slot, mask};

/// What a parser state extracts into.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extract {
    Header(usize),
    Stack(usize),
    /// Stack and position of the member.
    UnionStack(usize, usize),
}

/// Bits ahead in the packet, read into slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookahead {
    pub offset: usize,
    pub bits: usize,
    pub slot: Slot,
}

/// One thing a parser state does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// `length`: code that computes the variable field's bits, and where it leaves them.
    Extract {
        what: Extract,
        length: Option<(u32, Slot)>,
    },
    Lookahead(Lookahead),
    Code(u32),
    Verify {
        code: u32,
        condition: Slot,
        error: Slot,
    },
    Advance {
        code: u32,
        bits: Slot,
    },
}

/// One field of a select key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyPart {
    pub slot: Slot,
    pub bits: usize,
}

/// One way out of a parser state; words of all key parts side by side.
#[derive(Clone, Debug)]
pub(crate) enum Case {
    Value {
        value: Vec<u64>,
        mask: Vec<u64>,
        next: Option<usize>,
    },
    /// Key and members are compared under the mask, if there is one.
    Set {
        set: usize,
        mask: Option<Vec<u64>>,
        next: Option<usize>,
    },
}

/// The ways out of a state whose key fits into one word and is compared with numbers only.
#[derive(Clone, Debug)]
pub(crate) struct Select {
    /// Slot, mask and place of each part of the key.
    pub parts: Box<[(Slot, u64, u32)]>,
    /// Value, mask, and what follows.
    pub cases: Box<[(u64, u64, Option<usize>)]>,
}

impl Select {
    /// From a state's key and cases, if they allow it.
    pub(crate) fn new(parts: &[KeyPart], cases: &[Case]) -> Option<Select> {
        let mut places = Vec::new();
        let mut used = 0;
        for p in parts {
            places.push((p.slot, mask(p.bits), used));
            used += u32::try_from(p.bits).ok()?;
            if used > 64 {
                return None;
            }
        }
        let pack = |words: &[u64]| {
            let parts = words.iter().zip(&places);
            parts.fold(0, |all, (word, (_, mask, place))| all | (word & mask) << place)
        };
        let case = |case: &Case| match case {
            // A value with bits that the key doesn't have hits nothing: what it says must survive packing.
            Case::Value { value, mask, next } => {
                let fits = value.iter().zip(&places).all(|(v, (_, mask, _))| v & !mask == 0);
                fits.then(|| (pack(value), pack(mask), *next))
            }
            Case::Set { .. } => None,
        };
        let cases = cases.iter().map(case).collect::<Option<_>>()?;
        Some(Select { parts: places.into(), cases })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub steps: Vec<Step>,
    /// Code that brings the key's parts into slots.
    pub key_code: Option<u32>,
    pub lookaheads: Vec<Lookahead>,
    pub parts: Vec<KeyPart>,
    pub cases: Vec<Case>,
    /// The same, where that is possible.
    pub select: Option<Select>,
    pub default: Option<usize>,
}

impl State {
    /// The states that can follow.
    pub(crate) fn successors(&self) -> impl Iterator<Item = usize> + '_ {
        let cases = self.cases.iter().filter_map(|case| match case {
            Case::Value { next, .. } | Case::Set { next, .. } => *next,
        });
        cases.chain(self.default)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ValueSet {
    pub name: String,
    pub size: usize,
    pub compressed_width: usize,
    pub widths: Vec<usize>,
}

/// The numbers that this program gives the parser errors the switch itself raises.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorCodes {
    pub no_error: u32,
    pub packet_too_short: u32,
    pub stack_out_of_bounds: u32,
    pub header_too_short: u32,
    pub parser_timeout: u32,
    pub invalid_argument: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Parser {
    pub states: Vec<State>,
    pub start: Option<usize>,
    pub value_sets: Vec<ValueSet>,
    pub errors: ErrorCodes,
}
