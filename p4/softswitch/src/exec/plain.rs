//! The interpreter: runs instructions that touch nothing but the frame and registers.

use super::{sign_extend, signed, signed_max, wide};
use crate::layout::{Slot, mask};
use crate::num::index;
use crate::ops::Op;
use crate::program::{END, Program};
use crate::registers::Registers;

/// Words of the frame of a small program, as nearly all are: a size that is known needs no check at every word.
pub(crate) const SMALL: usize = 1024;

/// A packet's array as instructions see it.
pub(super) trait Frame {
    fn of(words: &mut [u64]) -> Option<&mut Self>;
    fn get(&self, slot: Slot) -> u64;
    fn at(&mut self, slot: Slot) -> &mut u64;
    fn words(&mut self) -> &mut [u64];
}

/// Of [`SMALL`] words. Slots are below that, so that cutting them changes nothing.
impl Frame for [u64; SMALL] {
    fn of(words: &mut [u64]) -> Option<&mut [u64; SMALL]> {
        words.try_into().ok()
    }

    #[inline]
    fn get(&self, slot: Slot) -> u64 {
        self[slot as usize & (SMALL - 1)]
    }

    #[inline]
    fn at(&mut self, slot: Slot) -> &mut u64 {
        &mut self[slot as usize & (SMALL - 1)]
    }

    fn words(&mut self) -> &mut [u64] {
        self
    }
}

impl Frame for [u64] {
    fn of(words: &mut [u64]) -> Option<&mut [u64]> {
        Some(words)
    }

    #[inline]
    fn get(&self, slot: Slot) -> u64 {
        self[slot as usize]
    }

    #[inline]
    fn at(&mut self, slot: Slot) -> &mut u64 {
        &mut self[slot as usize]
    }

    fn words(&mut self) -> &mut [u64] {
        self
    }
}

/// Why plain instructions stopped.
pub(super) enum Stop {
    /// At the instruction here, which needs more than the frame.
    Effect(usize),
    Return,
}

/// Runs instructions that touch nothing but the frame and small registers.
#[allow(clippy::too_many_lines, reason = "one arm for each instruction; splitting hides the list")]
#[inline]
pub(super) fn plain<F: Frame + ?Sized>(
    program: &Program,
    registers: &mut Registers,
    fr: &mut F,
    pc: usize,
    after: &mut u32,
) -> Stop {
    let ops = &program.ops[..];
    let mut pc = pc;
    macro_rules! jump {
        ($to:expr) => {
            pc = $to as usize
        };
    }
    loop {
        let Some(op) = ops.get(pc) else { return Stop::Return };
        pc += 1;
        match *op {
            Op::Copy { d, a } => *fr.at(d) = fr.get(a),
            Op::Copies { first, n } => {
                for &(d, a) in &program.copies[first as usize..(first + n) as usize] {
                    *fr.at(d) = fr.get(a);
                }
            }
            Op::CopyN { d, a, n } => fr.words().copy_within(a as usize..(a + n) as usize, d as usize),
            Op::Zero { d, n } => fr.words()[d as usize..(d + n) as usize].fill(0),
            Op::Mask { d, a, bits } => *fr.at(d) = fr.get(a) & mask(bits as usize),
            Op::Sext { d, a, bits } => *fr.at(d) = sign_extend(fr.get(a), bits),
            Op::Add { d, a, b } => *fr.at(d) = fr.get(a).wrapping_add(fr.get(b)),
            Op::Sub { d, a, b } => *fr.at(d) = fr.get(a).wrapping_sub(fr.get(b)),
            Op::Mul { d, a, b } => *fr.at(d) = fr.get(a).wrapping_mul(fr.get(b)),
            Op::And { d, a, b } => *fr.at(d) = fr.get(a) & fr.get(b),
            Op::Or { d, a, b } => *fr.at(d) = fr.get(a) | fr.get(b),
            Op::Xor { d, a, b } => *fr.at(d) = fr.get(a) ^ fr.get(b),
            Op::Not { d, a } => *fr.at(d) = !fr.get(a),
            Op::Shl { d, a, b } => {
                let by = fr.get(b);
                *fr.at(d) = if by < 64 { fr.get(a) << by } else { 0 };
            }
            Op::ShrU { d, a, b } => {
                let by = fr.get(b);
                *fr.at(d) = if by < 64 { fr.get(a) >> by } else { 0 };
            }
            Op::ShrS { d, a, b } => {
                *fr.at(d) = (signed(fr.get(a)) >> fr.get(b).min(63)).cast_unsigned();
            }
            Op::Div { d, a, b } => *fr.at(d) = fr.get(a).checked_div(fr.get(b)).unwrap_or(0),
            Op::Mod { d, a, b } => *fr.at(d) = fr.get(a).checked_rem(fr.get(b)).unwrap_or(0),
            Op::Eq { d, a, b } => *fr.at(d) = u64::from(fr.get(a) == fr.get(b)),
            Op::LtU { d, a, b } => *fr.at(d) = u64::from(fr.get(a) < fr.get(b)),
            Op::LtS { d, a, b } => {
                *fr.at(d) = u64::from(signed(fr.get(a)) < signed(fr.get(b)));
            }
            Op::LeU { d, a, b } => *fr.at(d) = u64::from(fr.get(a) <= fr.get(b)),
            Op::LeS { d, a, b } => {
                *fr.at(d) = u64::from(signed(fr.get(a)) <= signed(fr.get(b)));
            }
            Op::LogicalNot { d, a } => *fr.at(d) = u64::from(fr.get(a) == 0),
            Op::ToBool { d, a } => *fr.at(d) = u64::from(fr.get(a) != 0),
            Op::UsatU { d, a, bits } => *fr.at(d) = fr.get(a).min(mask(bits as usize)),
            Op::UsatS { d, a, bits } => {
                *fr.at(d) = signed(fr.get(a)).max(0).cast_unsigned().min(mask(bits as usize));
            }
            Op::SatU { d, a, bits } => *fr.at(d) = fr.get(a).min(signed_max(bits)),
            Op::SatS { d, a, bits } => {
                let max = signed(signed_max(bits));
                *fr.at(d) = signed(fr.get(a)).clamp(-max - 1, max).cast_unsigned();
            }
            Op::LoadIndexed { d, i, t } => {
                let t = program.indexed[t as usize];
                let (i, d) = (fr.get(i), d as usize);
                if i < u64::from(t.count) {
                    let from = t.base as usize + index(i) * t.stride as usize;
                    fr.words().copy_within(from..from + t.limbs as usize, d);
                } else {
                    fr.words()[d..d + t.limbs as usize].fill(0);
                }
            }
            Op::StoreIndexed { a, i, t } => {
                let t = program.indexed[t as usize];
                let (i, a) = (fr.get(i), a as usize);
                if i < u64::from(t.count) {
                    let to = t.base as usize + index(i) * t.stride as usize;
                    fr.words().copy_within(a..a + t.limbs as usize, to);
                }
            }
            Op::Wide { d, w } => wide::store(&program.wide[w as usize], fr.words(), d as usize),
            Op::AddI { d, a, imm } => *fr.at(d) = fr.get(a).wrapping_add(u64::from(imm)),
            Op::AndI { d, a, imm } => *fr.at(d) = fr.get(a) & u64::from(imm),
            Op::ShlI { d, a, imm } => *fr.at(d) = fr.get(a) << (imm & 63),
            Op::ShrI { d, a, imm } => *fr.at(d) = fr.get(a) >> (imm & 63),
            Op::EqN { d, a, b, n } => {
                let (a, b, n) = (a as usize, b as usize, usize::from(n));
                let words = fr.words();
                words[d as usize] = u64::from(words[a..a + n] == words[b..b + n]);
            }
            Op::Jump { to } => jump!(to),
            Op::JumpZero { a, to } => {
                if fr.get(a) == 0 {
                    jump!(to);
                }
            }
            Op::JumpNonZero { a, to } => {
                if fr.get(a) != 0 {
                    jump!(to);
                }
            }
            Op::JumpEq { a, b, to } => {
                if fr.get(a) == fr.get(b) {
                    jump!(to);
                }
            }
            Op::JumpNe { a, b, to } => {
                if fr.get(a) != fr.get(b) {
                    jump!(to);
                }
            }
            Op::JumpEqI { a, imm, to } => {
                if fr.get(a) == u64::from(imm) {
                    jump!(to);
                }
            }
            Op::JumpNeI { a, imm, to } => {
                if fr.get(a) != u64::from(imm) {
                    jump!(to);
                }
            }
            Op::JumpLtU { a, b, to } => {
                if fr.get(a) < fr.get(b) {
                    jump!(to);
                }
            }
            Op::JumpLeU { a, b, to } => {
                if fr.get(a) <= fr.get(b) {
                    jump!(to);
                }
            }
            Op::RegisterRead { d, i, r } => {
                if let Some(cell) = registers.get(r, fr.get(i)) {
                    *fr.at(d) = cell;
                }
            }
            Op::RegisterWrite { a, i, r } => {
                registers.set(r, fr.get(i), fr.get(a));
            }
            Op::AddCut { d, a, b, bits } => *fr.at(d) = cut(fr.get(a).wrapping_add(fr.get(b)), bits),
            Op::SubCut { d, a, b, bits } => *fr.at(d) = cut(fr.get(a).wrapping_sub(fr.get(b)), bits),
            Op::AddICut { d, a, imm, bits } => {
                *fr.at(d) = cut(fr.get(a).wrapping_add(u64::from(imm)), bits);
            }
            Op::ShlOr { d, a, b, by } => *fr.at(d) = (fr.get(a) << (by & 63)) | fr.get(b),
            Op::Bits { d, a, by, bits } => *fr.at(d) = cut(fr.get(a) >> (by & 63), bits),
            Op::Return if *after != END => {
                jump!(*after);
                *after = END;
            }
            Op::Return => return Stop::Return,
            Op::Extern { .. } | Op::Table { .. } | Op::EndIfExit | Op::Back { .. } => {
                return Stop::Effect(pc - 1);
            }
        }
    }
}

/// The low `bits` bits, 1 to 64.
#[inline]
fn cut(word: u64, bits: u8) -> u64 {
    word & (u64::MAX >> ((64 - bits) & 63))
}
