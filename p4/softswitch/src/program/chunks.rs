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
    /// First octet, counted from the first chunk's.
    pub at: u32,
    pub octets: u8,
    pub pieces: Box<[Piece]>,
}

/// Cuts fields (first slot, bits) into chunks; `None` if they don't meet octet limits often enough.
pub(crate) fn chunks(fields: impl Iterator<Item = (Slot, u32)>) -> Option<Box<[Chunk]>> {
    chunks_with(fields.map(|(slot, bits)| (Some(slot), bits)))
}

/// As [`chunks`]; fields without slot are left open.
fn chunks_with(fields: impl Iterator<Item = (Option<Slot>, u32)>) -> Option<Box<[Chunk]>> {
    let mut out: Vec<Chunk> = Vec::new();
    // Slot and bits.
    let mut pieces: Vec<(Option<Slot>, u32)> = Vec::new();
    // How many of the pieces end at an octet's limit, and the bits up to there and altogether.
    let (mut whole, mut whole_bits, mut bits) = (0, 0, 0);
    let mut at = 0;
    let mut close = |pieces: &mut Vec<(Option<Slot>, u32)>, whole: usize, bits: u32| -> Option<()> {
        let octets = u8::try_from(bits / 8).ok().filter(|&o| o > 0)?;
        let rest = pieces.split_off(whole);
        let mut shift = 64;
        let place = |(slot, bits): (Option<Slot>, u32)| {
            shift -= bits;
            slot.map(|slot| Piece { slot, shift, mask: mask(bits as usize) })
        };
        let pieces = std::mem::replace(pieces, rest).into_iter().filter_map(place).collect();
        out.push(Chunk { at, octets, pieces });
        at += u32::from(octets);
        Some(())
    };
    for (slot, width) in fields {
        for limb in (0..width.div_ceil(64)).rev() {
            let piece = (slot.map(|slot| slot + limb), (width - limb * 64).min(64));
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

/// What the program may have changed in up to eight octets that stand in the packet.
#[derive(Clone, Debug)]
pub(crate) struct Patch {
    /// The octets that the pieces are in.
    pub chunk: Chunk,
    /// Bits that stay, among them all beyond the octets.
    pub keep: u64,
}

/// The chunks without the pieces that `wanted` says no to.
pub(crate) fn some_of(chunks: &[Chunk], wanted: impl Fn(Slot) -> bool) -> Box<[Chunk]> {
    let some = chunks.iter().map(|c| {
        let pieces = c.pieces.iter().copied().filter(|p| wanted(p.slot)).collect();
        Chunk { at: c.at, octets: c.octets, pieces }
    });
    some.filter(|c| !c.pieces.is_empty()).collect()
}

/// How the fields that `changed` says yes to are put over a header's octets.
pub(crate) fn patches(chunks: &[Chunk], changed: impl Fn(Slot) -> bool) -> Box<[Patch]> {
    let patch = |chunk: Chunk| {
        let keep = !chunk.pieces.iter().fold(0, |bits, p| bits | p.mask << p.shift);
        Patch { chunk, keep }
    };
    some_of(chunks, changed).into_iter().map(patch).collect()
}

/// The chunks of a header's fields.
pub(crate) fn of_fields(fields: &[super::ShapeField]) -> Option<Box<[Chunk]>> {
    if fields.iter().any(|f| f.variable || f.signed) {
        return None;
    }
    chunks_with(fields.iter().map(|f| ((!f.silent).then_some(f.slot), f.bits)))
}
