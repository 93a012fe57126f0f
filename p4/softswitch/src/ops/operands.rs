//! What an instruction reads, writes, and where it jumps.

use super::Op;
use crate::layout::Slot;

impl Op {
    /// Where a jump goes.
    pub(crate) fn target(&mut self) -> Option<&mut u32> {
        match self {
            Op::Jump { to }
            | Op::JumpZero { to, .. }
            | Op::JumpNonZero { to, .. }
            | Op::JumpEq { to, .. }
            | Op::JumpNe { to, .. }
            | Op::JumpEqI { to, .. }
            | Op::JumpNeI { to, .. }
            | Op::JumpLtU { to, .. }
            | Op::JumpLeU { to, .. } => Some(to),
            _ => None,
        }
    }

    /// The one word that an instruction computes, if it does nothing else.
    pub(crate) fn result(&mut self) -> Option<&mut Slot> {
        match self {
            Op::Copy { d, .. }
            | Op::Mask { d, .. }
            | Op::Sext { d, .. }
            | Op::Add { d, .. }
            | Op::Sub { d, .. }
            | Op::Mul { d, .. }
            | Op::And { d, .. }
            | Op::Or { d, .. }
            | Op::Xor { d, .. }
            | Op::Not { d, .. }
            | Op::Shl { d, .. }
            | Op::ShrU { d, .. }
            | Op::ShrS { d, .. }
            | Op::Div { d, .. }
            | Op::Mod { d, .. }
            | Op::Eq { d, .. }
            | Op::LtU { d, .. }
            | Op::LtS { d, .. }
            | Op::LeU { d, .. }
            | Op::LeS { d, .. }
            | Op::LogicalNot { d, .. }
            | Op::ToBool { d, .. }
            | Op::UsatU { d, .. }
            | Op::UsatS { d, .. }
            | Op::SatU { d, .. }
            | Op::SatS { d, .. }
            | Op::AddI { d, .. }
            | Op::AndI { d, .. }
            | Op::ShlI { d, .. }
            | Op::ShrI { d, .. }
            | Op::AddCut { d, .. }
            | Op::SubCut { d, .. }
            | Op::AddICut { d, .. }
            | Op::ShlOr { d, .. }
            | Op::Bits { d, .. } => Some(d),
            _ => None,
        }
    }

    /// The single words that an instruction reads, of those that compute a word, jump, or use a small register; what else
    /// there is may read anything.
    pub(crate) fn sources(&mut self) -> [Option<&mut Slot>; 2] {
        match self {
            Op::Add { a, b, .. }
            | Op::Sub { a, b, .. }
            | Op::Mul { a, b, .. }
            | Op::And { a, b, .. }
            | Op::Or { a, b, .. }
            | Op::Xor { a, b, .. }
            | Op::Shl { a, b, .. }
            | Op::ShrU { a, b, .. }
            | Op::ShrS { a, b, .. }
            | Op::Div { a, b, .. }
            | Op::Mod { a, b, .. }
            | Op::Eq { a, b, .. }
            | Op::LtU { a, b, .. }
            | Op::LtS { a, b, .. }
            | Op::LeU { a, b, .. }
            | Op::LeS { a, b, .. }
            | Op::AddCut { a, b, .. }
            | Op::SubCut { a, b, .. }
            | Op::ShlOr { a, b, .. }
            | Op::JumpEq { a, b, .. }
            | Op::JumpNe { a, b, .. }
            | Op::JumpLtU { a, b, .. }
            | Op::JumpLeU { a, b, .. }
            | Op::RegisterWrite { a, i: b, .. } => [Some(a), Some(b)],
            Op::Copy { a, .. }
            | Op::Mask { a, .. }
            | Op::Sext { a, .. }
            | Op::Not { a, .. }
            | Op::LogicalNot { a, .. }
            | Op::ToBool { a, .. }
            | Op::UsatU { a, .. }
            | Op::UsatS { a, .. }
            | Op::SatU { a, .. }
            | Op::SatS { a, .. }
            | Op::AddI { a, .. }
            | Op::AndI { a, .. }
            | Op::ShlI { a, .. }
            | Op::ShrI { a, .. }
            | Op::AddICut { a, .. }
            | Op::Bits { a, .. }
            | Op::JumpZero { a, .. }
            | Op::JumpNonZero { a, .. }
            | Op::JumpEqI { a, .. }
            | Op::JumpNeI { a, .. }
            | Op::RegisterRead { i: a, .. } => [Some(a), None],
            _ => [None, None],
        }
    }
}
