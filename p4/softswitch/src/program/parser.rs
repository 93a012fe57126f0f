//! The compiled parser.

use crate::layout::Slot;

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

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub steps: Vec<Step>,
    /// Code that brings the key's parts into slots.
    pub key_code: Option<u32>,
    pub lookaheads: Vec<Lookahead>,
    pub parts: Vec<KeyPart>,
    pub cases: Vec<Case>,
    pub default: Option<usize>,
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
