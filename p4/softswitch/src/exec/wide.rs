//! Expressions whose values don't fit into words.

use std::cmp::Ordering;

use crate::bigint::Big;
use crate::expr::{BinOp, UnOp};
use crate::layout::mask;
use crate::ops::{Wide, WideOp};

/// Evaluates into the words at `d`.
pub(crate) fn store(op: &WideOp, frame: &mut [u64], d: usize) {
    let value = evaluate(&op.ex, frame);
    for i in 0..op.limbs {
        frame[d + i] = value.limb(i) & mask(op.bits.saturating_sub(i * 64));
    }
}

fn evaluate(ex: &Wide, frame: &[u64]) -> Big {
    match ex {
        Wide::Const(c) => c.clone(),
        Wide::Word(slot, false) => Big::from_u64(frame[*slot as usize]),
        Wide::Word(slot, true) => Big::from_i64(frame[*slot as usize].cast_signed()),
        Wide::Words { slot, limbs, signed_bits } => {
            let value = Big::from_limbs(&frame[*slot as usize..*slot as usize + limbs]);
            match signed_bits {
                Some(bits) => value.sign_extend(*bits),
                None => value,
            }
        }
        Wide::Un(op, a) => {
            let a = evaluate(a, frame);
            match op {
                UnOp::Not => a.not(),
                UnOp::LogicalNot => Big::from_i64(i64::from(a.is_zero())),
                UnOp::ToBool => Big::from_i64(i64::from(!a.is_zero())),
                UnOp::TwoCompMod(bits) => a.sign_extend(u64::from(*bits)),
                UnOp::SatCast(bits) => a.saturate_signed(u64::from(*bits)),
                UnOp::UsatCast(bits) => a.saturate_unsigned(u64::from(*bits)),
            }
        }
        Wide::Bin(op, a, b) => {
            let (a, b) = (evaluate(a, frame), evaluate(b, frame));
            let boolean = |b: bool| Big::from_i64(i64::from(b));
            match op {
                BinOp::Add => a.add(&b),
                BinOp::Sub => a.sub(&b),
                BinOp::Mul => a.mul(&b),
                BinOp::Div => a.div_rem(&b).0,
                BinOp::Mod => a.div_rem(&b).1,
                BinOp::And => a.and(&b),
                BinOp::Or => a.or(&b),
                BinOp::Xor => a.xor(&b),
                BinOp::Shl => a.shl(b.to_shift()),
                BinOp::Shr => a.shr(b.to_shift()),
                BinOp::Eq => boolean(a == b),
                BinOp::Lt => boolean(a.cmp(&b) == Ordering::Less),
                BinOp::Le => boolean(a.cmp(&b) != Ordering::Greater),
            }
        }
        Wide::If(c, a, b) => {
            let condition = !evaluate(c, frame).is_zero();
            evaluate(if condition { a } else { b }, frame)
        }
    }
}
