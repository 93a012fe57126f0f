//! What moves many fields at once: table keys, checksums, headers out of the packet and back.

use jit::{Binary, Compare, Label, Window, Word};

use super::Translator;
use crate::layout::mask;
use crate::ops::Extern;
use crate::program::{Checksum, Chunk, HeaderShape, Kept, Patch, Piece, Program, SumGroup};

/// The checksum that an extern compares (true) or sets, if it is the Internet checksum of fields alone.
pub(super) fn checksum(program: &Program, p: usize) -> Option<(&Checksum, &[SumGroup], bool)> {
    let (c, verify) = match program.externs[p] {
        Extern::Verify(c) => (c, true),
        Extern::Update(c) => (c, false),
        _ => return None,
    };
    let checksum = &program.checksums[c];
    let sum = program.calculations[checksum.calculation].sum.as_deref()?;
    Some((checksum, sum, verify))
}

/// Octets of the window in which a header is read and written: words need eight.
fn window_octets(octets: usize) -> u32 {
    crate::num::size32(octets.max(8))
}

/// Where in the window the word with a chunk starts, and how many bits lower than in the chunk its pieces are there.
fn place(chunk: &Chunk, octets: usize) -> (u32, u32) {
    let at = chunk.at.min(window_octets(octets) - 8);
    (at, 8 * (chunk.at - at))
}

impl Translator<'_, '_> {
    /// Packs a table's key from the packet's fields.
    pub(super) fn key(&mut self, t: usize) {
        let shape = &self.program.control.tables[t];
        for word in 0..shape.words {
            let mut key = self.asm.number(0);
            for part in shape.key_words.iter().filter(|part| part.word == word) {
                let value = self.get(part.slot);
                let value = self.asm.binary_with(Binary::And, value, part.mask);
                let value = self.asm.binary_with(Binary::Shl, value, part.shift.into());
                let value = self.if_valid(part.valid, value);
                key = self.asm.binary(Binary::Or, key, value);
            }
            self.asm.set(self.program.own.key + crate::num::size32(word), key);
        }
    }

    /// A word, or 0 when the slot is 0.
    fn if_valid(&mut self, valid: u32, value: Word) -> Word {
        if self.constant(valid).is_some_and(|valid| valid != 0) {
            return value;
        }
        let (valid, zero) = (self.get(valid), self.asm.number(0));
        self.asm.select(valid, value, zero)
    }

    pub(super) fn checksum(&mut self, (checksum, groups, verify): (&Checksum, &[SumGroup], bool)) {
        let mut sum = self.asm.number(0);
        for group in groups {
            let mut part = self.asm.number(0);
            for p in &group.narrow {
                let value = self.get(p.slot);
                let value = self.asm.binary_with(Binary::And, value, p.mask);
                part = self.add_shifted(part, value, p.shift);
            }
            for p in &group.wide {
                let value = self.get(p.slot);
                let value = self.asm.binary_with(Binary::And, value, p.mask);
                let low = self.asm.binary_with(Binary::And, value, 0xffff_ffff);
                part = self.add_shifted(part, low, p.shift);
                let high = self.asm.binary_with(Binary::Shr, value, 32);
                part = self.add_shifted(part, high, p.shift);
            }
            let part = self.if_valid(group.valid, part);
            sum = self.asm.binary(Binary::Add, sum, part);
        }
        // Carries go round: 2^32 and 2^16 are 1 modulo 2^16 - 1. From 64 bits to 33, 18, 17 and 16.
        for bits in [32, 16, 16, 16] {
            let low = self.asm.binary_with(Binary::And, sum, mask(bits));
            let high = self.asm.binary_with(Binary::Shr, sum, bits as u64);
            sum = self.asm.binary(Binary::Add, low, high);
        }
        let computed = self.asm.binary_with(Binary::Xor, sum, 0xffff);
        if verify {
            let (given, own) = (self.get(checksum.slot), self.program.own.checksum_error);
            let wrong = self.asm.compare(Compare::NotEqual, computed, given);
            let before = self.asm.get(own);
            let either = self.asm.binary(Binary::Or, before, wrong);
            self.asm.set(own, either);
        } else {
            let cut = self.asm.cut(computed, checksum.bits);
            self.asm.set(checksum.slot, cut);
        }
    }

    fn add_shifted(&mut self, sum: Word, value: Word, by: u32) -> Word {
        let value = self.asm.binary_with(Binary::Shl, value, by.into());
        self.asm.binary(Binary::Add, sum, value)
    }

    /// Extracts a header from where the parser is; elsewhere, with nothing done, if the packet ends before.
    pub(super) fn extract(&mut self, header: usize, kept: &Kept, outside: Label) {
        let (shape, own) = (&self.program.headers[header], self.program.own);
        let start = self.asm.get(own.parsed);
        let window = self.asm.window(start, window_octets(shape.fixed_octets), outside);
        self.note(shape);
        let origin = self.asm.binary_with(Binary::Add, start, 1);
        self.asm.set(shape.origin, origin);
        for chunk in &kept.mentioned {
            let (at, lower) = place(chunk, shape.fixed_octets);
            let word = self.asm.get_octets(window, at);
            for &Piece { slot, shift, mask } in &chunk.pieces {
                let value = self.asm.binary_with(Binary::Shr, word, (shift - lower).into());
                let value = self.asm.binary_with(Binary::And, value, mask);
                self.asm.set(slot, value);
            }
        }
        let (zero, one) = (self.asm.number(0), self.asm.number(1));
        for &other in shape.union.iter().flat_map(|&union| &self.program.unions[union]) {
            self.asm.set(self.program.headers[other].valid, zero);
        }
        self.asm.set(shape.valid, one);
        let end = self.asm.binary_with(Binary::Add, start, shape.fixed_octets as u64);
        self.asm.set(own.parsed, end);
    }

    /// Notes whether what was extracted can leave where it came.
    fn note(&mut self, shape: &HeaderShape) {
        let own = self.program.own;
        let emitted = self.asm.number(shape.emitted.into());
        if shape.union.is_some() || shape.emitted == 0 {
            let no = self.asm.number(0);
            self.asm.set(own.in_place, no);
        } else {
            let (last, zero) = (self.asm.get(own.last_emitted), self.asm.number(0));
            let later = self.asm.compare(Compare::Less, last, emitted);
            let valid = self.asm.get(shape.valid);
            let fresh = self.asm.compare(Compare::Equal, valid, zero);
            let both = self.asm.binary(Binary::And, later, fresh);
            let before = self.asm.get(own.in_place);
            let all = self.asm.binary(Binary::And, before, both);
            self.asm.set(own.in_place, all);
        }
        self.asm.set(own.last_emitted, emitted);
    }

    /// Puts the fields that may have changed over the octets of all valid headers; gives the entry.
    pub(super) fn patches(&mut self) -> u32 {
        let (start, outside) = (self.asm.label(), self.asm.label());
        self.asm.bind(start);
        let entry = self.asm.entry(start);
        for &h in &self.program.emit {
            let shape = &self.program.headers[h];
            let Some(kept) = shape.kept.as_ref().filter(|kept| !kept.written.is_empty()) else { continue };
            let next = self.asm.label();
            let valid = self.asm.get(shape.valid);
            self.asm.jump_unless(valid, next);
            // One more than the header's first octet; 0 is no place.
            let origin = self.asm.get(shape.origin);
            let origin = self.asm.binary_with(Binary::Sub, origin, 1);
            let window = self.asm.window(origin, window_octets(shape.fixed_octets), outside);
            for patch in &kept.written {
                self.patch(patch, shape.fixed_octets, window);
            }
            self.asm.bind(next);
        }
        self.leave_with(0);
        self.asm.rare(outside);
        self.asm.bind(outside);
        self.leave_with(1);
        entry
    }

    fn patch(&mut self, Patch { chunk, .. }: &Patch, octets: usize, window: Window) {
        let (at, lower) = place(chunk, octets);
        let old = self.asm.get_octets(window, at);
        let bits = chunk.pieces.iter().fold(0, |bits, p| bits | p.mask << (p.shift - lower));
        let mut word = self.asm.binary_with(Binary::And, old, !bits);
        for &Piece { slot, shift, mask } in &chunk.pieces {
            let value = self.get(slot);
            let value = self.asm.binary_with(Binary::And, value, mask);
            let value = self.asm.binary_with(Binary::Shl, value, (shift - lower).into());
            word = self.asm.binary(Binary::Or, word, value);
        }
        self.asm.set_octets(window, at, word);
    }
}
