//! Quantities with their units, as the documents use them.
//!
//! RDCC, Conventions and Definitions: rates are in Mbit/s and durations in microseconds on the wire.
//! Time inside the state machines is finer, [`Nanos`], because a 4096-octet packet lasts 328 ns at 100 Gbit/s.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A count of octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Octets(pub u64);

/// A count of octets in a 32-bit field of the wire (limits, thresholds and queue depths).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Octets32(pub u32);

/// A rate in megabits per second, the unit of every rate field on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MbitPerSec(pub u32);

/// A rate in bits per second, for state that is finer than a rate field of the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitPerSec(pub u64);

/// A duration in microseconds, the unit of every duration field on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u32);

/// A point in time or a duration, in nanoseconds. A point counts from an origin that the caller chooses
/// (the start of a simulation, the start of a process); the machines only compare and subtract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Octets {
    /// This count as a 32-bit field carries it, capped at the field's largest value.
    pub fn saturating_32(self) -> Octets32 {
        Octets32(u32::try_from(self.0).unwrap_or(u32::MAX))
    }
}

impl From<Octets32> for Octets {
    fn from(octets: Octets32) -> Self {
        Self(u64::from(octets.0))
    }
}

impl MbitPerSec {
    /// How long `octets` take at this rate, rounded up to whole nanoseconds; `None` at rate zero.
    pub fn transmission_time(self, octets: Octets) -> Option<Nanos> {
        if self.0 == 0 {
            return None;
        }
        // octets * 8 bits / (rate * 10^6 bit/s) seconds = octets * 8000 / rate nanoseconds.
        let nanos = (u128::from(octets.0) * 8000).div_ceil(u128::from(self.0));
        Some(Nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

impl BitPerSec {
    /// How long `octets` take at this rate, rounded up to whole nanoseconds; `None` at rate zero.
    pub fn transmission_time(self, octets: Octets) -> Option<Nanos> {
        if self.0 == 0 {
            return None;
        }
        let nanos = (u128::from(octets.0) * 8_000_000_000).div_ceil(u128::from(self.0));
        Some(Nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// This rate in whole Mbit/s, rounded down and capped at what a rate field can carry.
    pub fn mbit_per_sec(self) -> MbitPerSec {
        MbitPerSec(u32::try_from(self.0 / 1_000_000).unwrap_or(u32::MAX))
    }
}

impl From<MbitPerSec> for BitPerSec {
    fn from(rate: MbitPerSec) -> Self {
        Self(u64::from(rate.0) * 1_000_000)
    }
}

impl Micros {
    /// The same duration in nanoseconds.
    pub const fn nanos(self) -> Nanos {
        Nanos(self.0 as u64 * 1000)
    }
}

impl Nanos {
    /// The latest representable point in time.
    pub const MAX: Self = Self(u64::MAX);

    /// This duration in whole microseconds, rounded down and capped at what the wire can carry.
    pub fn micros(self) -> Micros {
        Micros(u32::try_from(self.0 / 1000).unwrap_or(u32::MAX))
    }

    /// `self - earlier`, or zero when `earlier` is later.
    #[must_use]
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl fmt::Display for Octets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} octets", self.0)
    }
}

impl fmt::Display for Octets32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Octets::from(*self).fmt(f)
    }
}

impl fmt::Display for MbitPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbit/s", self.0)
    }
}

impl fmt::Display for BitPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} us", self.0)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_convert_and_round_down() {
        assert_eq!(BitPerSec::from(MbitPerSec(25)), BitPerSec(25_000_000));
        assert_eq!(BitPerSec(25_999_999).mbit_per_sec(), MbitPerSec(25));
        assert_eq!(BitPerSec(u64::MAX).mbit_per_sec(), MbitPerSec(u32::MAX));
    }

    #[test]
    fn transmission_time_rounds_up_and_refuses_rate_zero() {
        assert_eq!(MbitPerSec(100_000).transmission_time(Octets(4096)), Some(Nanos(328)));
        assert_eq!(MbitPerSec(8000).transmission_time(Octets(1)), Some(Nanos(1)));
        assert_eq!(MbitPerSec(0).transmission_time(Octets(1)), None);
        assert_eq!(BitPerSec(100_000_000_000).transmission_time(Octets(4096)), Some(Nanos(328)));
        assert_eq!(BitPerSec(0).transmission_time(Octets(1)), None);
    }
}
