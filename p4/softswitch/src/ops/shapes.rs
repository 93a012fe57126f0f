//! What instructions refer to by number: fields of stacks, wide expressions, and what isn't arithmetic.

use crate::bigint::Big;
use crate::expr::{BinOp, UnOp};
use crate::layout::Slot;

/// The same field in every element of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Indexed {
    pub base: Slot,
    pub stride: u32,
    pub count: u32,
    pub limbs: u32,
}

/// A wide expression and how its value is kept.
#[derive(Clone, Debug)]
pub(crate) struct WideOp {
    pub ex: Wide,
    /// Words written.
    pub limbs: usize,
    /// Bits kept.
    pub bits: usize,
}

/// A wide expression; parts that fit into words have been computed into slots before.
#[derive(Clone, Debug)]
pub(crate) enum Wide {
    Const(Big),
    /// A word, signed or not.
    Word(Slot, bool),
    /// Several words; a signed one has this many bits.
    Words {
        slot: Slot,
        limbs: usize,
        signed_bits: Option<u64>,
    },
    Un(UnOp, Box<Wide>),
    Bin(BinOp, Box<Wide>, Box<Wide>),
    If(Box<Wide>, Box<Wide>, Box<Wide>),
}

/// A header an instruction means.
#[derive(Clone, Debug)]
pub(crate) enum HeaderSel {
    Fixed(usize),
    /// The element whose number is in the slot; beyond the list, none.
    Element(Slot, Vec<usize>),
}

/// What isn't arithmetic.
#[derive(Clone, Debug)]
pub(crate) enum Extern {
    AddHeader(HeaderSel),
    RemoveHeader(HeaderSel),
    AssignHeader {
        dst: HeaderSel,
        src: HeaderSel,
    },
    Push {
        stack: usize,
        count: Slot,
    },
    Pop {
        stack: usize,
        count: Slot,
    },
    PushUnions {
        stack: usize,
        count: Slot,
    },
    PopUnions {
        stack: usize,
        count: Slot,
    },
    Exit,
    MarkToDrop {
        egress_spec: Slot,
        egress_spec_mask: u64,
        mcast_grp: Option<Slot>,
    },
    Truncate(Slot),
    Clone {
        session: Slot,
        list: Slot,
    },
    Resubmit(Slot),
    Recirculate(Slot),
    Digest(Slot),
    Hash {
        d: Slot,
        base: Slot,
        calculation: usize,
        size: Slot,
    },
    Random {
        d: Slot,
        low: Slot,
        high: Slot,
    },
    Count {
        counter: usize,
        index: Slot,
    },
    Meter {
        meter: usize,
        index: Slot,
        d: Slot,
    },
    RegisterRead {
        d: Slot,
        limbs: usize,
        bits: usize,
        signed: bool,
        register: usize,
        index: Slot,
    },
    RegisterWrite {
        a: Slot,
        register: usize,
        index: Slot,
    },
    Assert(Slot),
    /// Compares a checksum of the program's list with what it should be.
    Verify(usize),
    /// Sets a checksum.
    Update(usize),
}
