//! Expressions made shorter while they are built: constants folded, bits not cut that a mask cuts again, conditions not
//! made conditions twice. p4c masks after every step; most of those masks throw nothing away.

use std::cmp::Ordering;

use super::{BinOp, Ex, Range, UnOp};
use crate::bigint::Big;

/// A unary operator on a number.
pub(crate) fn unary(op: UnOp, a: &Big) -> Big {
    match op {
        UnOp::Not => a.not(),
        UnOp::LogicalNot => Big::from_i64(i64::from(a.is_zero())),
        UnOp::ToBool => Big::from_i64(i64::from(!a.is_zero())),
        UnOp::TwoCompMod(bits) => a.sign_extend(u64::from(bits)),
        UnOp::SatCast(bits) => a.saturate_signed(u64::from(bits)),
        UnOp::UsatCast(bits) => a.saturate_unsigned(u64::from(bits)),
    }
}

/// A binary operator on two numbers, as BMv2 computes it: without limits.
pub(crate) fn binary(op: BinOp, a: &Big, b: &Big) -> Big {
    let boolean = |b: bool| Big::from_i64(i64::from(b));
    match op {
        BinOp::Add => a.add(b),
        BinOp::Sub => a.sub(b),
        BinOp::Mul => a.mul(b),
        BinOp::Div => a.div_rem(b).0,
        BinOp::Mod => a.div_rem(b).1,
        BinOp::And => a.and(b),
        BinOp::Or => a.or(b),
        BinOp::Xor => a.xor(b),
        BinOp::Shl => a.shl(b.to_shift()),
        BinOp::Shr => a.shr(b.to_shift()),
        BinOp::Eq => boolean(a == b),
        BinOp::Lt => boolean(a.cmp(b) == Ordering::Less),
        BinOp::Le => boolean(a.cmp(b) != Ordering::Greater),
    }
}

/// The low `bits` bits set.
fn ones(bits: u64) -> Big {
    Big::power(bits).sub(&Big::from_u64(1))
}

/// How many low bits a mask keeps, if it is one without holes.
pub(crate) fn low_mask(c: &Big) -> Option<u64> {
    if c.is_negative() {
        return None;
    }
    let bits: u64 = c.limbs().iter().map(|l| u64::from(l.count_ones())).sum();
    (ones(bits) == *c).then_some(bits)
}

impl Ex {
    pub(crate) fn un(op: UnOp, a: Ex) -> Ex {
        if let Ex::Const(c) = &a {
            return Ex::Const(unary(op, c));
        }
        match (op, a) {
            (UnOp::ToBool, a) if a.is_bool() => a,
            (UnOp::LogicalNot, Ex::Un(UnOp::LogicalNot, a)) if a.is_bool() => *a,
            (UnOp::TwoCompMod(bits), a) => {
                Ex::Un(op, Box::new(if bits > 0 { a.keep(u64::from(bits)) } else { a }))
            }
            (op, a) => Ex::Un(op, Box::new(a)),
        }
    }

    pub(crate) fn bin(op: BinOp, a: Ex, b: Ex) -> Ex {
        match (op, a, b) {
            (op, Ex::Const(a), Ex::Const(b)) => Ex::Const(binary(op, &a, &b)),
            (BinOp::And, a, Ex::Const(c)) | (BinOp::And, Ex::Const(c), a) => a.masked(c),
            (BinOp::Or | BinOp::Xor | BinOp::Add | BinOp::Sub | BinOp::Shl | BinOp::Shr, a, Ex::Const(c))
                if c.is_zero() =>
            {
                a
            }
            (BinOp::Or | BinOp::Xor | BinOp::Add, Ex::Const(c), a) if c.is_zero() => a,
            (op, a, b) => Ex::Bin(op, Box::new(a), Box::new(b)),
        }
    }

    /// Whether it is 0 or 1.
    pub(crate) fn is_bool(&self) -> bool {
        self.range().within(Range::BOOL)
    }

    fn masked(self, c: Big) -> Ex {
        if c.is_zero() {
            return Ex::Const(c);
        }
        let mut a = self;
        if let Some(bits) = low_mask(&c) {
            a = a.keep(bits);
            if usize::try_from(bits).is_ok_and(|b| b < 127 && a.range().within(Range::unsigned(b))) {
                return a;
            }
        }
        match a {
            Ex::Const(a) => Ex::Const(a.and(&c)),
            Ex::Bin(BinOp::And, inner, mask) if matches!(*mask, Ex::Const(_)) => match *mask {
                Ex::Const(m) => Ex::Bin(BinOp::And, inner, Box::new(Ex::Const(m.and(&c)))),
                other => Ex::Bin(
                    BinOp::And,
                    Box::new(Ex::Bin(BinOp::And, inner, Box::new(other))),
                    Box::new(Ex::Const(c)),
                ),
            },
            a => Ex::Bin(BinOp::And, Box::new(a), Box::new(Ex::Const(c))),
        }
    }

    /// Something whose low `bits` bits are the same.
    pub(crate) fn keep(self, bits: u64) -> Ex {
        match self {
            Ex::Const(c) => Ex::Const(c.and(&ones(bits))),
            Ex::Bin(BinOp::And, a, b) => match (*a, *b) {
                (a, Ex::Const(m)) if m.and(&ones(bits)) == ones(bits) => a.keep(bits),
                (a, b) => Ex::Bin(BinOp::And, Box::new(a.keep(bits)), Box::new(b.keep(bits))),
            },
            Ex::Bin(op @ (BinOp::Or | BinOp::Xor | BinOp::Add | BinOp::Sub | BinOp::Mul), a, b) => {
                Ex::bin(op, a.keep(bits), b.keep(bits))
            }
            Ex::Bin(BinOp::Shl, a, by) => Ex::Bin(BinOp::Shl, Box::new(a.keep(bits)), by),
            Ex::Un(UnOp::Not, a) => Ex::Un(UnOp::Not, Box::new(a.keep(bits))),
            Ex::Un(UnOp::TwoCompMod(w), a) if u64::from(w) >= bits => a.keep(bits),
            Ex::If(c, a, b) => Ex::If(c, Box::new(a.keep(bits)), Box::new(b.keep(bits))),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(width: usize) -> Ex {
        Ex::slot(1, width)
    }

    fn and(a: Ex, bits: u64) -> Ex {
        Ex::bin(BinOp::And, a, Ex::Const(ones(bits)))
    }

    #[test]
    fn a_mask_that_keeps_everything_goes_away() {
        assert!(matches!(and(field(9), 16), Ex::Place(_)));
        assert!(matches!(and(field(17), 16), Ex::Bin(BinOp::And, ..)));
    }

    #[test]
    fn what_an_outer_mask_cuts_isnt_cut_before() {
        let sum = and(Ex::bin(BinOp::Add, field(32), field(32)), 32);
        let twice = and(Ex::bin(BinOp::Add, sum, field(32)), 32);
        let Ex::Bin(BinOp::And, inner, _) = twice else { panic!("no outer mask") };
        let Ex::Bin(BinOp::Add, first, _) = *inner else { panic!("no sum") };
        assert!(matches!(*first, Ex::Bin(BinOp::Add, ..)), "{first:?}");
    }

    #[test]
    fn a_mask_before_a_shift_to_the_right_stays() {
        let sum = and(Ex::bin(BinOp::Add, field(32), field(32)), 32);
        let shifted = and(Ex::bin(BinOp::Shr, sum, Ex::constant(14)), 16);
        let Ex::Bin(BinOp::And, inner, _) = shifted else { panic!("no outer mask") };
        let Ex::Bin(BinOp::Shr, below, _) = *inner else { panic!("no shift") };
        assert!(matches!(*below, Ex::Bin(BinOp::And, ..)));
    }

    #[test]
    fn constants_fold_and_conditions_stay_conditions() {
        assert!(
            matches!(Ex::bin(BinOp::Mul, Ex::constant(6), Ex::constant(7)), Ex::Const(c) if c.limb(0) == 42)
        );
        assert!(matches!(Ex::un(UnOp::ToBool, field(1)), Ex::Place(_)));
        assert!(matches!(Ex::un(UnOp::ToBool, field(2)), Ex::Un(..)));
    }
}
