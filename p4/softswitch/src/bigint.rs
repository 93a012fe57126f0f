//! Integers without a width, for the expressions whose values don't fit into 64 bits.
//!
//! BMv2 computes everything unbounded and masks where the program says so; this is that arithmetic. Two's complement,
//! little-endian words, no memory allocated up to 256 bits and sign.

use crate::num::{index, low64};
use std::cmp::Ordering;

const INLINE: usize = 5;

/// Shifts to the left beyond this give zero: p4c masks every shift to its width, so no program can tell.
pub(crate) const MAX_SHIFT: u64 = 8192;

#[derive(Clone, Debug)]
pub(crate) struct Big {
    small: [u64; INLINE],
    spill: Vec<u64>,
    len: usize,
}

impl PartialEq for Big {
    fn eq(&self, other: &Big) -> bool {
        self.limbs() == other.limbs()
    }
}

impl Eq for Big {}

impl Big {
    /// Builds a value from `len` words of two's complement, lowest first, and drops redundant ones.
    fn build(len: usize, mut word: impl FnMut(usize) -> u64) -> Big {
        let mut big = Big { small: [0; INLINE], spill: Vec::new(), len };
        if len > INLINE {
            big.spill = (0..len).map(word).collect();
        } else {
            for (i, slot) in big.small.iter_mut().take(len).enumerate() {
                *slot = word(i);
            }
        }
        big.trim();
        big
    }

    fn trim(&mut self) {
        let spilled = self.len > INLINE;
        let limbs = if spilled { &self.spill[..self.len] } else { &self.small[..self.len] };
        let mut len = self.len;
        while len > 1 {
            let (top, below) = (limbs[len - 1], limbs[len - 2]);
            let sign = if below >> 63 == 1 { u64::MAX } else { 0 };
            if top != sign {
                break;
            }
            len -= 1;
        }
        if spilled && len <= INLINE {
            for i in 0..len {
                self.small[i] = self.spill[i];
            }
            self.spill = Vec::new();
        }
        self.len = len;
    }

    pub(crate) fn limbs(&self) -> &[u64] {
        if self.len > INLINE { &self.spill[..self.len] } else { &self.small[..self.len] }
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.limbs()[self.len - 1] >> 63 == 1
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.len == 1 && self.small[0] == 0
    }

    /// Word `i` of the infinite two's complement form.
    pub(crate) fn limb(&self, i: usize) -> u64 {
        match self.limbs().get(i) {
            Some(&l) => l,
            None if self.is_negative() => u64::MAX,
            None => 0,
        }
    }

    pub(crate) fn from_u64(v: u64) -> Big {
        Big::build(2, |i| if i == 0 { v } else { 0 })
    }

    pub(crate) fn from_i64(v: i64) -> Big {
        Big::build(1, |_| v.cast_unsigned())
    }

    /// An unsigned value of these words.
    pub(crate) fn from_limbs(limbs: &[u64]) -> Big {
        Big::build(limbs.len() + 1, |i| limbs.get(i).copied().unwrap_or(0))
    }

    /// Reads `0x1f`, `1f` or `-0x1f`.
    pub(crate) fn from_hex(text: &str) -> Option<Big> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        if digits.is_empty() || digits.len() > 4096 {
            return None;
        }
        let mut limbs = vec![0u64; digits.len().div_ceil(16)];
        for (i, c) in digits.bytes().rev().enumerate() {
            let digit = char::from(c).to_digit(16)?;
            limbs[i / 16] |= u64::from(digit) << (4 * (i % 16));
        }
        let big = Big::from_limbs(&limbs);
        Some(if negative { Big::from_i64(0).sub(&big) } else { big })
    }

    /// The value if it fits `i128`.
    pub(crate) fn to_i128(&self) -> Option<i128> {
        (self.len <= 2).then(|| (i128::from(self.limb(1).cast_signed()) << 64) | i128::from(self.limb(0)))
    }

    pub(crate) fn add(&self, o: &Big) -> Big {
        let mut carry = false;
        Big::build(self.len.max(o.len) + 1, |i| {
            let (s, c1) = self.limb(i).overflowing_add(o.limb(i));
            let (s, c2) = s.overflowing_add(u64::from(carry));
            carry = c1 || c2;
            s
        })
    }

    pub(crate) fn sub(&self, o: &Big) -> Big {
        let mut borrow = false;
        Big::build(self.len.max(o.len) + 1, |i| {
            let (s, b1) = self.limb(i).overflowing_sub(o.limb(i));
            let (s, b2) = s.overflowing_sub(u64::from(borrow));
            borrow = b1 || b2;
            s
        })
    }

    pub(crate) fn mul(&self, o: &Big) -> Big {
        let n = self.len + o.len;
        let mut out = vec![0u64; n];
        for i in 0..n {
            let mut carry = 0u128;
            for j in 0..n - i {
                let t = u128::from(self.limb(i)) * u128::from(o.limb(j)) + u128::from(out[i + j]) + carry;
                out[i + j] = low64(t);
                carry = t >> 64;
            }
        }
        Big::build(n, |i| out[i])
    }

    pub(crate) fn and(&self, o: &Big) -> Big {
        Big::build(self.len.max(o.len), |i| self.limb(i) & o.limb(i))
    }

    pub(crate) fn or(&self, o: &Big) -> Big {
        Big::build(self.len.max(o.len), |i| self.limb(i) | o.limb(i))
    }

    pub(crate) fn xor(&self, o: &Big) -> Big {
        Big::build(self.len.max(o.len), |i| self.limb(i) ^ o.limb(i))
    }

    pub(crate) fn not(&self) -> Big {
        Big::build(self.len, |i| !self.limb(i))
    }

    /// A shift amount: negative and absurd ones are absurd.
    pub(crate) fn to_shift(&self) -> u64 {
        if self.len == 1 && !self.is_negative() { self.small[0] } else { u64::MAX }
    }

    pub(crate) fn shl(&self, amount: u64) -> Big {
        if amount > MAX_SHIFT {
            return Big::from_i64(0);
        }
        let (words, bits) = (index(amount / 64), amount % 64);
        Big::build(self.len + words + 1, |i| {
            if i < words {
                return 0;
            }
            let low = self.limb(i - words) << bits;
            if bits == 0 || i == words { low } else { low | self.limb(i - words - 1) >> (64 - bits) }
        })
    }

    pub(crate) fn shr(&self, amount: u64) -> Big {
        if amount / 64 >= self.len as u64 {
            return Big::from_i64(if self.is_negative() { -1 } else { 0 });
        }
        let (words, bits) = (index(amount / 64), amount % 64);
        Big::build(self.len - words, |i| {
            let high = self.limb(i + words);
            // The top word shifts its sign in.
            if i + words + 1 >= self.len {
                return (high.cast_signed() >> bits).cast_unsigned();
            }
            if bits == 0 { high } else { high >> bits | self.limb(i + words + 1) << (64 - bits) }
        })
    }

    /// Quotient and remainder of two non-negative values; by zero, or of negative ones, both are zero (BMv2 would end
    /// the process).
    pub(crate) fn div_rem(&self, o: &Big) -> (Big, Big) {
        let zero = Big::from_i64(0);
        if o.is_zero() || o.is_negative() || self.is_negative() {
            return (zero.clone(), zero);
        }
        let mut quotient = vec![0u64; self.len];
        let mut rest = zero;
        for bit in (0..self.len * 64).rev() {
            rest = rest.shl(1).or(&Big::from_u64(self.limb(bit / 64) >> (bit % 64) & 1));
            if rest.cmp(o) != Ordering::Less {
                rest = rest.sub(o);
                quotient[bit / 64] |= 1 << (bit % 64);
            }
        }
        (Big::from_limbs(&quotient), rest)
    }

    pub(crate) fn cmp(&self, o: &Big) -> Ordering {
        match (self.is_negative(), o.is_negative()) {
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            _ => {}
        }
        for i in (0..self.len.max(o.len)).rev() {
            let order = self.limb(i).cmp(&o.limb(i));
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Two to the power of `bits`.
    pub(crate) fn power(bits: u64) -> Big {
        Big::from_u64(1).shl(bits)
    }

    /// The low `bits` bits, read as a signed integer.
    pub(crate) fn sign_extend(&self, bits: u64) -> Big {
        if bits == 0 {
            return Big::from_i64(0);
        }
        let low = self.and(&Big::power(bits).sub(&Big::from_u64(1)));
        let negative = low.limb(index((bits - 1) / 64)) >> ((bits - 1) % 64) & 1 == 1;
        if negative { low.sub(&Big::power(bits)) } else { low }
    }

    /// Clamped to what `bits` unsigned bits hold.
    pub(crate) fn saturate_unsigned(&self, bits: u64) -> Big {
        self.clamp(&Big::from_i64(0), &Big::power(bits).sub(&Big::from_u64(1)))
    }

    /// Clamped to what `bits` signed bits hold.
    pub(crate) fn saturate_signed(&self, bits: u64) -> Big {
        let half = Big::power(bits.saturating_sub(1));
        self.clamp(&Big::from_i64(0).sub(&half), &half.sub(&Big::from_u64(1)))
    }

    fn clamp(&self, low: &Big, high: &Big) -> Big {
        if self.cmp(low) == Ordering::Less {
            low.clone()
        } else if self.cmp(high) == Ordering::Greater {
            high.clone()
        } else {
            self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::many_single_char_names, reason = "two numbers in two forms")]
    fn agrees_with_machine_integers() {
        let samples = [0i64, 1, -1, 5, -7, i64::MAX, i64::MIN, 1 << 40, -(1 << 33)];
        for a in samples {
            for b in samples {
                let (x, y) = (Big::from_i64(a), Big::from_i64(b));
                let (p, q) = (i128::from(a), i128::from(b));
                assert_eq!(x.add(&y).to_i128(), Some(p + q));
                assert_eq!(x.sub(&y).to_i128(), Some(p - q));
                assert_eq!(x.mul(&y).to_i128(), Some(p * q));
                assert_eq!(x.and(&y).to_i128(), Some(p & q));
                assert_eq!(x.or(&y).to_i128(), Some(p | q));
                assert_eq!(x.xor(&y).to_i128(), Some(p ^ q));
                assert_eq!(x.not().to_i128(), Some(!p));
                assert_eq!(x.cmp(&y), p.cmp(&q));
                if p >= 0 && q > 0 {
                    let (d, r) = x.div_rem(&y);
                    assert_eq!((d.to_i128(), r.to_i128()), (Some(p / q), Some(p % q)));
                }
            }
            for s in [0u64, 1, 13, 63] {
                assert_eq!(Big::from_i64(a).shl(s).to_i128(), Some(i128::from(a) << s));
                assert_eq!(Big::from_i64(a).shr(s).to_i128(), Some(i128::from(a) >> s));
            }
        }
    }

    #[test]
    fn wide_values_shift_and_wrap() {
        let one = Big::from_u64(1);
        let wide = one.shl(300).add(&one);
        assert_eq!(wide.shr(300), one);
        assert_eq!(wide.shr(301), Big::from_i64(0));
        assert_eq!(Big::from_i64(-129).sign_extend(8), Big::from_i64(127));
        assert_eq!(Big::from_i64(300).saturate_unsigned(8), Big::from_i64(255));
        assert_eq!(Big::from_i64(-300).saturate_signed(8), Big::from_i64(-128));
        assert_eq!(Big::from_hex("-0x10"), Some(Big::from_i64(-16)));
        assert_eq!(
            Big::from_hex("0xffffffffffffffffffffffffffffffff").map(|b| b.add(&one)),
            Some(one.shl(128))
        );
    }
}
