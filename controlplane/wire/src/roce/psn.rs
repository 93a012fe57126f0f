//! Packet sequence numbers.

use core::fmt;

use super::MASK_24;

/// A packet sequence number: 24 bits, compared modulo 2^24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Psn(u32);

impl Psn {
    /// The number with the low 24 bits of `value`.
    pub const fn new(value: u32) -> Self {
        Self(value & MASK_24)
    }

    /// The 24 bits.
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The number `packets` later.
    #[must_use]
    pub const fn plus(self, packets: u32) -> Self {
        Self::new(self.0.wrapping_add(packets))
    }

    /// How far `self` lies ahead of `base`, 0 to 2^24 - 1. From 2^23 on, `self` is behind `base`.
    pub const fn ahead_of(self, base: Self) -> u32 {
        self.0.wrapping_sub(base.0) & MASK_24
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_wrap_at_24_bits() {
        assert_eq!(Psn::new(0x00ff_ffff).plus(1), Psn::new(0));
        assert_eq!(Psn::new(1).ahead_of(Psn::new(0x00ff_ffff)), 2);
        assert_eq!(Psn::new(0x00ff_ffff).ahead_of(Psn::new(0)), 0x00ff_ffff);
    }
}
