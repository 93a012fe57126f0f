//! Expressions whose values don't fit into words.

use crate::bigint::Big;
use crate::expr::{binary, unary};
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
        Wide::Un(op, a) => unary(*op, &evaluate(a, frame)),
        Wide::Bin(op, a, b) => binary(*op, &evaluate(a, frame), &evaluate(b, frame)),
        Wide::If(c, a, b) => {
            let condition = !evaluate(c, frame).is_zero();
            evaluate(if condition { a } else { b }, frame)
        }
    }
}
