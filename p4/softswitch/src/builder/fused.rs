//! Two operators in one instruction, for the pairs that programs are full of: sums cut to their width, fields put side by
//! side, and fields taken out of words.

use super::{Builder, small};
use crate::expr::{BinOp, Ex, low_mask};
use crate::layout::Slot;
use crate::load_error::LoadError;
use crate::ops::Op;

/// A constant distance of less than a word.
fn distance(ex: &Ex) -> Option<u8> {
    small(ex).and_then(|by| u8::try_from(by).ok()).filter(|&by| by < 64)
}

impl Builder {
    /// The instruction for `left op right`, if that and an operator in it are one. The caller knows that words will do.
    pub(super) fn fused(
        &mut self,
        op: BinOp,
        left: &Ex,
        right: &Ex,
        dest: Option<Slot>,
    ) -> Result<Option<Slot>, LoadError> {
        let mark = self.temps;
        let op = match (op, left, right) {
            (BinOp::And, Ex::Bin(inner, x, y), Ex::Const(mask)) => {
                let Some(bits) = low_mask(mask).and_then(|b| u8::try_from(b).ok()).filter(|&b| b <= 64)
                else {
                    return Ok(None);
                };
                match inner {
                    BinOp::Add if small(y).is_some() => {
                        let (a, imm) = (self.word(x, None)?, small(y).unwrap_or(0));
                        Op::AddICut { d: 0, a, imm, bits }
                    }
                    BinOp::Add => Op::AddCut { d: 0, a: self.word(x, None)?, b: self.word(y, None)?, bits },
                    BinOp::Sub => Op::SubCut { d: 0, a: self.word(x, None)?, b: self.word(y, None)?, bits },
                    BinOp::Shr if x.range().fits_u64() && distance(y).is_some() => {
                        let (a, by) = (self.word(x, None)?, distance(y).unwrap_or(0));
                        Op::Bits { d: 0, a, by, bits }
                    }
                    _ => return Ok(None),
                }
            }
            (BinOp::Or, Ex::Bin(BinOp::Shl, x, by), y) | (BinOp::Or, y, Ex::Bin(BinOp::Shl, x, by)) => {
                let Some(by) = distance(by) else { return Ok(None) };
                Op::ShlOr { d: 0, a: self.word(x, None)?, b: self.word(y, None)?, by }
            }
            _ => return Ok(None),
        };
        self.temps = mark;
        let d = self.dest(dest);
        let mut op = op;
        if let Some(result) = op.result() {
            *result = d;
        }
        self.emit(op);
        Ok(Some(d))
    }
}
