//! Values of any width at the switch's control surface.

use std::fmt;

/// An unsigned integer of any width, kept as its shortest big-endian octet string (zero is one zero octet), which is
/// the form P4Runtime calls canonical (P4Runtime, Bytestrings).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(Vec<u8>);

impl Value {
    /// Takes big-endian octets; leading zeros are dropped, no octets at all are zero.
    pub fn from_octets(octets: &[u8]) -> Value {
        let start = octets.iter().position(|&o| o != 0).unwrap_or(octets.len());
        let rest = &octets[start..];
        Value(if rest.is_empty() { vec![0] } else { rest.to_vec() })
    }

    /// The shortest big-endian octets.
    pub fn octets(&self) -> &[u8] {
        &self.0
    }

    /// Big-endian octets padded on the left to `octets` octets; a longer value keeps its low octets.
    pub fn padded(&self, octets: usize) -> Vec<u8> {
        let mut out = vec![0; octets];
        let n = octets.min(self.0.len());
        out[octets - n..].copy_from_slice(&self.0[self.0.len() - n..]);
        out
    }

    /// How many bits the value needs; zero needs none.
    pub fn bits(&self) -> usize {
        let first = self.0.first().copied().unwrap_or(0);
        (self.0.len() * 8) - first.leading_zeros() as usize
    }

    /// The value as an integer if it fits.
    pub fn to_u64(&self) -> Option<u64> {
        (self.0.len() <= 8).then(|| self.0.iter().fold(0, |v, &o| v << 8 | u64::from(o)))
    }

    /// The value as an integer if it fits.
    pub fn to_u128(&self) -> Option<u128> {
        (self.0.len() <= 16).then(|| self.0.iter().fold(0, |v, &o| v << 8 | u128::from(o)))
    }

    /// The value in little-endian 64-bit words, as the packet program holds it; high words are cut.
    pub(crate) fn to_limbs(&self, limbs: usize) -> Vec<u64> {
        let mut out = vec![0u64; limbs];
        for (i, &octet) in self.0.iter().rev().enumerate() {
            if let Some(limb) = out.get_mut(i / 8) {
                *limb |= u64::from(octet) << (8 * (i % 8));
            }
        }
        out
    }

    /// The inverse of [`Value::to_limbs`].
    pub(crate) fn from_limbs(limbs: &[u64]) -> Value {
        let octets: Vec<u8> = limbs.iter().rev().flat_map(|limb| limb.to_be_bytes()).collect();
        Value::from_octets(&octets)
    }
}

impl From<u64> for Value {
    fn from(v: u64) -> Value {
        Value::from_octets(&v.to_be_bytes())
    }
}

impl From<u32> for Value {
    fn from(v: u32) -> Value {
        Value::from(u64::from(v))
    }
}

impl From<u128> for Value {
    fn from(v: u128) -> Value {
        Value::from_octets(&v.to_be_bytes())
    }
}

impl From<&[u8]> for Value {
    fn from(v: &[u8]) -> Value {
        Value::from_octets(v)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|o| write!(f, "{o:02x}"))
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
