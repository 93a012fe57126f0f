//! Positions of a source block as bits.

use core::fmt;

use crate::octets::{Ended, Reader};

/// A set of positions of one source block, 0 to 254. On the wire bit 0 is the most significant bit of the first 32-bit
/// word, and there are ceil(k/32) words.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Bitmap([u32; 8]);

impl Bitmap {
    /// No position.
    pub const EMPTY: Self = Self([0; 8]);

    /// The positions 0 to `k - 1`.
    pub fn first(k: u8) -> Self {
        let mut bitmap = Self::EMPTY;
        for (index, word) in (0u32..).zip(&mut bitmap.0) {
            let bits = u32::from(k).saturating_sub(index * 32).min(32);
            *word = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
        }
        bitmap
    }

    /// Octets of the bitmap of a block of `k` positions.
    pub const fn octets(k: u8) -> usize {
        (k as usize).div_ceil(32) * 4
    }

    const fn place(position: u8) -> (usize, u32) {
        (position as usize / 32, 1 << (31 - position % 32))
    }

    /// Whether `position` is in the set.
    pub fn contains(&self, position: u8) -> bool {
        let (word, bit) = Self::place(position);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Adds `position`.
    pub fn insert(&mut self, position: u8) {
        let (word, bit) = Self::place(position);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    /// Takes `position` out.
    pub fn remove(&mut self, position: u8) {
        let (word, bit) = Self::place(position);
        if let Some(word) = self.0.get_mut(word) {
            *word &= !bit;
        }
    }

    /// How many positions are in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no position is in the set.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 8]
    }

    /// Whether every position of this set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(mine, theirs)| mine & !theirs == 0)
    }

    /// The positions in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut both = *self;
        both.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine &= theirs);
        both
    }

    /// The positions of this set that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut rest = *self;
        rest.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine &= !theirs);
        rest
    }

    /// The positions in rising order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        let mut words = self.0;
        let mut index = 0u8;
        core::iter::from_fn(move || {
            loop {
                let word = words.get_mut(usize::from(index))?;
                if *word == 0 {
                    index += 1;
                    continue;
                }
                let bit = word.leading_zeros();
                *word &= !(1 << (31 - bit));
                #[expect(clippy::cast_possible_truncation, reason = "below 32")]
                return Some(index * 32 + bit as u8);
            }
        })
    }

    /// The octets for a block of `k` positions.
    pub fn to_octets(self, k: u8) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(k, &mut out);
        out
    }

    pub(super) fn decode(body: &mut Reader<'_>, k: u8) -> Result<Self, Ended> {
        let mut bitmap = Self::EMPTY;
        for word in bitmap.0.iter_mut().take(Self::octets(k) / 4) {
            *word = body.u32()?;
        }
        Ok(bitmap.and(&Self::first(k)))
    }

    pub(super) fn encode(self, k: u8, out: &mut Vec<u8>) {
        for word in self.and(&Self::first(k)).0.iter().take(Self::octets(k) / 4) {
            out.extend_from_slice(&word.to_be_bytes());
        }
    }
}

impl FromIterator<u8> for Bitmap {
    fn from_iter<I: IntoIterator<Item = u8>>(positions: I) -> Self {
        let mut bitmap = Self::EMPTY;
        positions.into_iter().for_each(|position| bitmap.insert(position));
        bitmap
    }
}

impl fmt::Debug for Bitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_zero_is_the_most_significant_of_the_first_word() {
        assert_eq!(Bitmap::first(4).to_octets(4), [0xf0, 0, 0, 0]);
        assert_eq!(Bitmap::from_iter([0, 31, 32]).to_octets(33), [0x80, 0, 0, 1, 0x80, 0, 0, 0]);
        assert_eq!(Bitmap::from_iter([3, 200]).to_octets(4), [0x10, 0, 0, 0], "position 200 is behind k");
    }

    #[test]
    fn there_are_as_many_words_as_k_needs() {
        for (k, octets) in [(1, 4), (32, 4), (33, 8), (64, 8), (65, 12), (224, 28), (225, 32), (255, 32)] {
            assert_eq!(Bitmap::octets(k), octets, "{k}");
            assert_eq!(Bitmap::first(k).len(), usize::from(k));
            assert_eq!(Bitmap::first(k).iter().last(), Some(k - 1));
        }
        assert!(Bitmap::first(0).is_empty());
    }

    #[test]
    fn sets_behave_like_sets() {
        let (a, b) = (Bitmap::from_iter([1, 2, 254]), Bitmap::from_iter([2, 3, 254]));
        assert_eq!(a.and(&b), Bitmap::from_iter([2, 254]));
        assert_eq!(a.without(&b), Bitmap::from_iter([1]));
        assert!(a.and(&b).is_subset(&a) && !a.is_subset(&b));
        let mut c = a;
        c.remove(1);
        assert_eq!(c.iter().collect::<Vec<_>>(), [2, 254]);
        assert!(!c.contains(1) && c.contains(254) && !c.contains(255));
    }
}
