//! Headers from octets and back in words of up to eight octets; and the Internet checksum of fields where they are.

use crate::bits;
use crate::num::low16;
use crate::program::{Chunk, Patch, SumGroup};

/// Octets that [`write`] may touch beyond those that it writes.
pub(crate) const SLACK: usize = 8;

/// Reads a header's fields from the front of `data`; octets beyond it read as zero.
pub(crate) fn read(chunks: &[Chunk], data: &[u8], frame: &mut [u64]) {
    for chunk in chunks {
        let (at, octets) = (chunk.at as usize, usize::from(chunk.octets));
        let word = match data.get(at..).and_then(|d| d.first_chunk::<8>()) {
            Some(window) => u64::from_be_bytes(*window),
            None => bits::read(data, at * 8, octets * 8) << (64 - octets * 8),
        };
        for piece in &chunk.pieces {
            frame[piece.slot as usize] = word >> piece.shift & piece.mask;
        }
    }
}

/// Writes a header's fields to `out` from octet `at`, which must have [`SLACK`] octets more than needed; gives where
/// they end.
pub(crate) fn write(chunks: &[Chunk], frame: &[u64], out: &mut [u8], mut at: usize) -> usize {
    for chunk in chunks {
        let mut word = 0u64;
        for piece in &chunk.pieces {
            word |= (frame[piece.slot as usize] & piece.mask) << piece.shift;
        }
        if let Some(window) = out.get_mut(at..).and_then(|o| o.first_chunk_mut::<8>()) {
            *window = word.to_be_bytes();
        }
        at += usize::from(chunk.octets);
    }
    at
}

/// Puts the fields that may have changed over a header's octets, which start at octet `start` of `out`.
pub(crate) fn patch(patches: &[Patch], frame: &[u64], out: &mut [u8], start: usize) {
    for Patch { chunk, keep } in patches {
        let mut word = 0u64;
        for piece in &chunk.pieces {
            word |= (frame[piece.slot as usize] & piece.mask) << piece.shift;
        }
        let Some(out) = out.get_mut(start + chunk.at as usize..) else { return };
        if let Some(window) = out.first_chunk_mut::<8>() {
            *window = (u64::from_be_bytes(*window) & keep | word).to_be_bytes();
        } else {
            for ((octet, keep), new) in out.iter_mut().zip(keep.to_be_bytes()).zip(word.to_be_bytes()) {
                *octet = *octet & keep | new;
            }
        }
    }
}

/// The Internet checksum (RFC 1071) of a row of fields. 2^16 is 1 modulo 2^16 - 1, so each part counts the same wherever
/// it stands in its multiple of 16 bits.
pub(crate) fn checksum(groups: &[SumGroup], frame: &[u64]) -> u64 {
    let mut sum = 0u64;
    for group in groups.iter().filter(|g| frame[g.valid as usize] != 0) {
        for p in &group.narrow {
            sum += (frame[p.slot as usize] & p.mask) << p.shift;
        }
        for p in &group.wide {
            let word = frame[p.slot as usize] & p.mask;
            sum += ((word & 0xffff_ffff) << p.shift) + ((word >> 32) << p.shift);
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u64::from(!low16(sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Writer;
    use crate::hash::csum16;
    use crate::layout::mask;
    use crate::program::{SumPiece, chunks};

    /// A slot that is never zero.
    const VALID: u32 = 0;
    const WIDTHS: [u32; 9] = [4, 4, 6, 2, 16, 3, 13, 128, 48];

    /// Slots of the fields, and a frame whose values need every bit.
    fn fields() -> (Vec<(u32, u32)>, Vec<u64>) {
        let (mut fields, mut frame) = (Vec::new(), vec![1]);
        for (i, &bits) in WIDTHS.iter().enumerate() {
            fields.push((crate::num::size32(frame.len()), bits));
            let value = 0xfedc_ba98_7654_3210u64.rotate_left(crate::num::size32(i) * 7);
            for limb in 0..(bits as usize).div_ceil(64) {
                frame.push(value & mask(bits as usize - limb * 64));
            }
        }
        (fields, frame)
    }

    fn octets(fields: &[(u32, u32)], frame: &[u64]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out);
        for &(slot, bits) in fields {
            let slot = slot as usize;
            writer.put_words(&frame[slot..slot + (bits as usize).div_ceil(64)], bits as usize);
        }
        writer.finish();
        out
    }

    #[test]
    fn words_of_eight_octets_carry_the_same_as_single_bits() {
        let (fields, frame) = fields();
        let expected = octets(&fields, &frame);
        let chunks = chunks(fields.iter().copied()).unwrap();
        let mut out = vec![0xaa; expected.len() + SLACK];
        assert_eq!(write(&chunks, &frame, &mut out, 0), expected.len());
        assert_eq!(out[..expected.len()], expected);
        let mut back = vec![0; frame.len()];
        back[VALID as usize] = 1;
        read(&chunks, &expected, &mut back);
        assert_eq!(back, frame);
    }

    #[test]
    fn the_checksum_of_fields_is_that_of_their_octets() {
        let (fields, frame) = fields();
        for n in 0..=fields.len() {
            let mut sum = Vec::new();
            let mut at = 0u32;
            for &(slot, bits) in &fields[..n] {
                for limb in (0..bits.div_ceil(64)).rev() {
                    let bits = (bits - limb * 64).min(64);
                    at += bits;
                    let shift = at.wrapping_neg() & 15;
                    sum.push(SumPiece { slot: slot + limb, valid: VALID, shift, mask: mask(bits as usize) });
                }
            }
            assert_eq!(
                checksum(&SumGroup::of(&sum), &frame),
                u64::from(csum16(&octets(&fields[..n], &frame))),
                "{n} fields"
            );
        }
    }
}
