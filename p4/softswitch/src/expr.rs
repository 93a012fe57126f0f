//! Expressions of the JSON as a typed tree, with the range of values every part can have.

mod headers;
mod range;
mod reader;
mod simplify;

pub(crate) use range::Range;
pub(crate) use reader::{Reader, hex, pair};
pub(crate) use simplify::{binary, low_mask, unary};

use crate::bigint::Big;
use crate::layout::Slot;
use range::{binary_range, unary_range};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Eq,
    Lt,
    Le,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnOp {
    Not,
    /// Logical not of 0 or 1.
    LogicalNot,
    /// 1 unless zero.
    ToBool,
    TwoCompMod(u32),
    SatCast(u32),
    UsatCast(u32),
}

/// A place a value can be read from and stored into.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub base: Slot,
    /// For an element of a stack: which one, how far apart they are, how many there are.
    pub index: Option<(Box<Ex>, usize, usize)>,
    pub width: usize,
    pub signed: bool,
    /// A value that doesn't fit becomes the nearest that does, instead of losing its high bits.
    pub saturating: bool,
    /// A `varbit`: the slot before `base` holds its width.
    pub variable: bool,
}

impl Place {
    /// An unsigned field.
    pub(crate) fn plain(base: Slot, index: Option<(Box<Ex>, usize, usize)>, width: usize) -> Place {
        Place { base, index, width, signed: false, saturating: false, variable: false }
    }

    pub(crate) fn limbs(&self) -> usize {
        self.width.div_ceil(64)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Ex {
    Const(Big),
    Place(Place),
    Un(UnOp, Box<Ex>),
    Bin(BinOp, Box<Ex>, Box<Ex>),
    If(Box<Ex>, Box<Ex>, Box<Ex>),
}

impl Ex {
    pub(crate) fn constant(v: i64) -> Ex {
        Ex::Const(Big::from_i64(v))
    }

    pub(crate) fn slot(base: Slot, width: usize) -> Ex {
        Ex::Place(Place::plain(base, None, width))
    }

    fn not(a: Ex) -> Ex {
        Ex::un(UnOp::LogicalNot, a)
    }

    pub(crate) fn range(&self) -> Range {
        match self {
            Ex::Const(c) => match c.to_i128() {
                Some(v) => Range { low: v, high: v },
                None if c.is_negative() => Range { low: i128::MIN, high: -1 },
                None => Range { low: 0, high: i128::MAX },
            },
            Ex::Place(p) if p.signed => Range::signed(p.width),
            Ex::Place(p) => Range::unsigned(p.width),
            Ex::Un(op, a) => unary_range(*op, a.range()),
            Ex::Bin(op, a, b) => binary_range(*op, a.range(), b.range()),
            Ex::If(_, a, b) => a.range().join(b.range()),
        }
    }
}

/// A header, fixed or an element of a stack.
#[derive(Clone, Debug)]
pub(crate) struct HeaderRef {
    /// The header, or the one each index means.
    pub headers: Vec<usize>,
    pub index: Option<Box<Ex>>,
}

/// A union, fixed or an element of a stack.
#[derive(Clone, Debug)]
pub(crate) struct UnionRef {
    pub unions: Vec<usize>,
    pub index: Option<Box<Ex>>,
}

/// What an expression of the JSON stands for.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Data(Ex),
    Bool(Ex),
    Header(HeaderRef),
    Stack(usize),
    Union(UnionRef),
    UnionStack(usize),
}
