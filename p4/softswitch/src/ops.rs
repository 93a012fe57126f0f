//! The instructions that a program becomes. Operands are slots of the packet's array, so that a field, a parameter, a
//! constant and a temporary are all the same thing.

mod operands;
mod shapes;

use crate::layout::Slot;
pub(crate) use shapes::{Extern, HeaderSel, Indexed, Wide, WideOp};

/// One instruction, 16 octets. `d` is written; `a` and `b` are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Copy {
        d: Slot,
        a: Slot,
    },
    /// `n` copies, one after the other: the program's pairs from `first` on.
    Copies {
        first: u32,
        n: u32,
    },
    /// `n` words.
    CopyN {
        d: Slot,
        a: Slot,
        n: u32,
    },
    Zero {
        d: Slot,
        n: u32,
    },
    /// Keeps the low `bits`.
    Mask {
        d: Slot,
        a: Slot,
        bits: u32,
    },
    /// Reads the low `bits` as a signed number.
    Sext {
        d: Slot,
        a: Slot,
        bits: u32,
    },
    Add {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Sub {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Mul {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    And {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Or {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Xor {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Not {
        d: Slot,
        a: Slot,
    },
    Shl {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    ShrU {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    ShrS {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Div {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Mod {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Eq {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    LtU {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    LtS {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    LeU {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    LeS {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    LogicalNot {
        d: Slot,
        a: Slot,
    },
    ToBool {
        d: Slot,
        a: Slot,
    },
    /// Clamps an unsigned word to `bits` unsigned bits.
    UsatU {
        d: Slot,
        a: Slot,
        bits: u32,
    },
    /// Clamps a signed word to `bits` unsigned bits.
    UsatS {
        d: Slot,
        a: Slot,
        bits: u32,
    },
    /// Clamps an unsigned word to `bits` signed bits.
    SatU {
        d: Slot,
        a: Slot,
        bits: u32,
    },
    /// Clamps a signed word to `bits` signed bits.
    SatS {
        d: Slot,
        a: Slot,
        bits: u32,
    },
    /// Reads an element's field: `d` from the element number in `i` of [`Indexed`] `t`; beyond the stack, zero.
    LoadIndexed {
        d: Slot,
        i: Slot,
        t: u32,
    },
    /// Writes an element's field; beyond the stack, nothing happens.
    StoreIndexed {
        a: Slot,
        i: Slot,
        t: u32,
    },
    /// Evaluates a wide expression.
    Wide {
        d: Slot,
        w: u32,
    },
    /// With a small constant.
    AddI {
        d: Slot,
        a: Slot,
        imm: u32,
    },
    AndI {
        d: Slot,
        a: Slot,
        imm: u32,
    },
    /// By less than 64.
    ShlI {
        d: Slot,
        a: Slot,
        imm: u32,
    },
    ShrI {
        d: Slot,
        a: Slot,
        imm: u32,
    },
    /// The low `bits` of the sum.
    AddCut {
        d: Slot,
        a: Slot,
        b: Slot,
        bits: u8,
    },
    SubCut {
        d: Slot,
        a: Slot,
        b: Slot,
        bits: u8,
    },
    AddICut {
        d: Slot,
        a: Slot,
        imm: u32,
        bits: u8,
    },
    /// `a` so many bits higher, less than 64, and `b`.
    ShlOr {
        d: Slot,
        a: Slot,
        b: Slot,
        by: u8,
    },
    /// `bits` bits of `a` from bit `by`.
    Bits {
        d: Slot,
        a: Slot,
        by: u8,
        bits: u8,
    },
    /// 1 if `n` words at `a` and at `b` are the same.
    EqN {
        d: Slot,
        a: Slot,
        b: Slot,
        n: u8,
    },
    /// Forward; what leads back says so with [`Op::Back`].
    Jump {
        to: u32,
    },
    Back {
        to: u32,
    },
    JumpZero {
        a: Slot,
        to: u32,
    },
    JumpNonZero {
        a: Slot,
        to: u32,
    },
    JumpEq {
        a: Slot,
        b: Slot,
        to: u32,
    },
    JumpNe {
        a: Slot,
        b: Slot,
        to: u32,
    },
    /// With a small constant.
    JumpEqI {
        a: Slot,
        imm: u32,
        to: u32,
    },
    JumpNeI {
        a: Slot,
        imm: u32,
        to: u32,
    },
    JumpLtU {
        a: Slot,
        b: Slot,
        to: u32,
    },
    JumpLeU {
        a: Slot,
        b: Slot,
        to: u32,
    },
    /// Reads a cell of a register whose cells are one word and no wider than the destination; beyond the array, nothing
    /// happens.
    RegisterRead {
        d: Slot,
        i: Slot,
        r: u32,
    },
    /// Writes such a cell.
    RegisterWrite {
        a: Slot,
        i: Slot,
        r: u32,
    },
    Extern {
        p: u32,
    },
    /// Applies a table; what follows stands in the table.
    Table {
        t: u32,
    },
    /// Ends the pipeline if the action before called `exit`.
    EndIfExit,
    Return,
}
