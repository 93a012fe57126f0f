//! How a header's fields stand in words of up to eight octets.

use crate::layout::{Slot, mask};

/// A field, or a word of a wide one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub slot: Slot,
    /// Bits after it in the word that the chunk fills from its highest bit.
    pub shift: u32,
    pub mask: u64,
}

/// Pieces that fill up to eight whole octets together, highest first.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub octets: u8,
    pub pieces: Box<[Piece]>,
}

/// Cuts fields (first slot, bits) into chunks; `None` if they don't meet octet limits often enough.
pub(crate) fn chunks(fields: impl Iterator<Item = (Slot, u32)>) -> Option<Box<[Chunk]>> {
    let mut out: Vec<Chunk> = Vec::new();
    // Slot and bits.
    let mut pieces: Vec<(Slot, u32)> = Vec::new();
    // How many of the pieces end at an octet's limit, and the bits up to there and altogether.
    let (mut whole, mut whole_bits, mut bits) = (0, 0, 0);
    let mut close = |pieces: &mut Vec<(Slot, u32)>, whole: usize, bits: u32| -> Option<()> {
        let octets = u8::try_from(bits / 8).ok().filter(|&o| o > 0)?;
        let rest = pieces.split_off(whole);
        let mut shift = 64;
        let place = |(slot, bits): (Slot, u32)| {
            shift -= bits;
            Piece { slot, shift, mask: mask(bits as usize) }
        };
        out.push(Chunk { octets, pieces: std::mem::replace(pieces, rest).into_iter().map(place).collect() });
        Some(())
    };
    for (slot, width) in fields {
        for limb in (0..width.div_ceil(64)).rev() {
            let piece = (slot + limb, (width - limb * 64).min(64));
            if bits + piece.1 > 64 {
                close(&mut pieces, whole, whole_bits)?;
                bits -= whole_bits;
                (whole, whole_bits) = (0, 0);
            }
            bits += piece.1;
            pieces.push(piece);
            if bits > 64 {
                return None;
            }
            if bits % 8 == 0 {
                (whole, whole_bits) = (pieces.len(), bits);
            }
        }
    }
    if whole != pieces.len() {
        return None;
    }
    if whole > 0 {
        close(&mut pieces, whole, whole_bits)?;
    }
    Some(out.into())
}

/// The chunks of a header's fields.
pub(crate) fn of_fields(fields: &[super::ShapeField]) -> Option<Box<[Chunk]>> {
    if fields.iter().any(|f| f.variable || f.signed) {
        return None;
    }
    chunks(fields.iter().map(|f| (f.slot, f.bits)))
}
