//! The values that a part of an expression can have.

use super::{BinOp, UnOp};

/// The values a node can have. Ends beyond `i128` stick to it: far outside what a word holds either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub low: i128,
    pub high: i128,
}

impl Range {
    pub(crate) const BOOL: Range = Range { low: 0, high: 1 };
    const ANY: Range = Range { low: i128::MIN, high: i128::MAX };

    pub(crate) fn unsigned(bits: usize) -> Range {
        Range { low: 0, high: if bits >= 127 { i128::MAX } else { (1 << bits) - 1 } }
    }

    pub(crate) fn signed(bits: usize) -> Range {
        if bits >= 126 || bits == 0 {
            return Range::ANY;
        }
        Range { low: -(1 << (bits - 1)), high: (1 << (bits - 1)) - 1 }
    }

    pub(crate) fn within(self, o: Range) -> bool {
        self.low >= o.low && self.high <= o.high
    }

    pub(crate) fn fits_u64(self) -> bool {
        self.low >= 0 && self.high <= i128::from(u64::MAX)
    }

    pub(crate) fn fits_i64(self) -> bool {
        self.low >= i128::from(i64::MIN) && self.high <= i128::from(i64::MAX)
    }

    pub(crate) fn fits_word(self) -> bool {
        self.fits_u64() || self.fits_i64()
    }

    pub(super) fn join(self, o: Range) -> Range {
        Range { low: self.low.min(o.low), high: self.high.max(o.high) }
    }

    /// Bits of a two's complement number, sign excluded, that holds both ends.
    fn bits(self) -> u32 {
        let need = |v: i128| 128 - if v < 0 { v.leading_ones() } else { v.leading_zeros() };
        need(self.low).max(need(self.high))
    }
}

pub(super) fn unary_range(op: UnOp, a: Range) -> Range {
    match op {
        UnOp::Not => Range { low: !a.high, high: !a.low },
        UnOp::LogicalNot | UnOp::ToBool => Range::BOOL,
        UnOp::TwoCompMod(w) | UnOp::SatCast(w) if (1..=64).contains(&w) => {
            Range { low: -(1 << (w - 1)), high: (1 << (w - 1)) - 1 }
        }
        UnOp::TwoCompMod(_) | UnOp::SatCast(_) => Range::ANY,
        UnOp::UsatCast(w) => Range::unsigned(w as usize),
    }
}

pub(super) fn binary_range(op: BinOp, a: Range, b: Range) -> Range {
    let corners = |f: fn(i128, i128) -> i128| {
        let all = [f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)];
        Range { low: all.into_iter().min().unwrap_or(0), high: all.into_iter().max().unwrap_or(0) }
    };
    match op {
        BinOp::Add => Range { low: a.low.saturating_add(b.low), high: a.high.saturating_add(b.high) },
        BinOp::Sub => Range { low: a.low.saturating_sub(b.high), high: a.high.saturating_sub(b.low) },
        BinOp::Mul => corners(i128::saturating_mul),
        BinOp::Div => Range { low: 0, high: a.high.max(0) },
        BinOp::Mod => Range { low: 0, high: a.high.max(0).min(b.high.max(0)) },
        BinOp::And => match (a.low >= 0, b.low >= 0) {
            (true, true) => Range { low: 0, high: a.high.min(b.high) },
            (true, false) => Range { low: 0, high: a.high },
            (false, true) => Range { low: 0, high: b.high },
            (false, false) => around(a.join(b)),
        },
        BinOp::Or | BinOp::Xor => {
            let all = around(a.join(b));
            if a.low >= 0 && b.low >= 0 { Range { low: 0, ..all } } else { all }
        }
        BinOp::Shl if b.low >= 0 && b.high < 126 => {
            let shift = |v: i128, by: i128| {
                let by = u32::try_from(by).unwrap_or(0);
                if v.checked_shl(by).is_some_and(|s| s >> by == v) {
                    v << by
                } else if v < 0 {
                    i128::MIN
                } else {
                    i128::MAX
                }
            };
            let all =
                [shift(a.low, b.low), shift(a.low, b.high), shift(a.high, b.low), shift(a.high, b.high)];
            Range { low: all.into_iter().min().unwrap_or(0), high: all.into_iter().max().unwrap_or(0) }
        }
        BinOp::Shl => {
            if a.low >= 0 {
                Range { low: 0, high: if a.high == 0 { 0 } else { i128::MAX } }
            } else {
                Range::ANY
            }
        }
        BinOp::Shr => {
            let least = u32::try_from(b.low.clamp(0, 127)).unwrap_or(0);
            // A range whose end sticks to the limit says nothing about what is left after shifting.
            let end = |v: i128| if v == i128::MAX || v == i128::MIN { v } else { v >> least };
            Range { low: end(a.low).min(0).max(a.low.min(0)), high: end(a.high).max(0) }
        }
        BinOp::Eq | BinOp::Lt | BinOp::Le => Range::BOOL,
    }
}

/// Everything that the bits of the range's ends can spell.
fn around(r: Range) -> Range {
    let bits = r.bits();
    if bits >= 127 {
        Range::ANY
    } else {
        Range { low: if r.low < 0 { -(1 << bits) } else { 0 }, high: (1 << bits) - 1 }
    }
}
