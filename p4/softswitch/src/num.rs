//! Conversions between integers that say what becomes of what doesn't fit.

/// Sizes and positions in a program: the loader refuses programs in which they don't fit 32 bits.
pub(crate) fn size32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A position that comes from a packet: what can't be one is beyond everything.
pub(crate) fn index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// The low 8 bits.
#[expect(clippy::cast_possible_truncation, reason = "cutting is the purpose")]
pub(crate) const fn low8(n: u64) -> u8 {
    n as u8
}

/// The low 16 bits.
#[expect(clippy::cast_possible_truncation, reason = "cutting is the purpose")]
pub(crate) const fn low16(n: u64) -> u16 {
    n as u16
}

/// The low 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "cutting is the purpose")]
pub(crate) const fn low32(n: u64) -> u32 {
    n as u32
}

/// The low 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "cutting is the purpose")]
pub(crate) const fn low64(n: u128) -> u64 {
    n as u64
}
