//! Turns expressions into instructions.
//!
//! Words do as long as only the low 64 bits of a value matter, or the value is known to fit: sums, products and masks
//! of words are right modulo 2^64 whatever they overflow to, and p4c masks nearly everything. What needs more goes
//! through [`Op::Wide`].

mod fused;
mod jumps;
mod wide;

use crate::num::size32;
use std::collections::HashMap;

use crate::bigint::Big;
use crate::expr::{BinOp, Ex, Place, Range, UnOp};
use crate::layout::Slot;
use crate::load_error::LoadError;
use crate::ops::{Extern, Indexed, Op, WideOp};

/// A constant that fits an instruction.
fn small(ex: &Ex) -> Option<u32> {
    match ex {
        Ex::Const(c) => c.to_i128().and_then(|v| u32::try_from(v).ok()),
        _ => None,
    }
}

/// An instruction with a constant in it, from its destination, operand and constant.
type WithConstant = fn(Slot, Slot, u32) -> Op;

/// The instruction for `op` with the constant `b`; `unsigned` is what the other operand is.
fn immediate(op: BinOp, unsigned: bool, b: &Ex) -> Option<(WithConstant, u32)> {
    let imm = small(b)?;
    let emit: WithConstant = match op {
        BinOp::Add => |d, a, imm| Op::AddI { d, a, imm },
        BinOp::And => |d, a, imm| Op::AndI { d, a, imm },
        BinOp::Shl if imm < 64 => |d, a, imm| Op::ShlI { d, a, imm },
        BinOp::Shr if imm < 64 && unsigned => |d, a, imm| Op::ShrI { d, a, imm },
        _ => return None,
    };
    Some((emit, imm))
}

/// Words that are cheaper to move one by one than together.
const FEW: u32 = 4;

/// Everything emitted so far for the whole program.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    pub ops: Vec<Op>,
    pub wide: Vec<WideOp>,
    pub externs: Vec<Extern>,
    pub indexed: Vec<Indexed>,
    pub consts: Vec<u64>,
    /// Destination and source of the copies of [`Op::Copies`].
    pub copies: Vec<(Slot, Slot)>,
    const_slots: HashMap<Vec<u64>, Slot>,
    temp_base: Slot,
    temp_room: Slot,
    temps: Slot,
    /// Most temporaries ever needed at once.
    pub temps_needed: Slot,
}

impl Builder {
    /// Temporaries start at slot `temp_base`; constants after `temp_room` of them.
    pub(crate) fn new(temp_base: Slot, temp_room: Slot) -> Builder {
        Builder { temp_base, temp_room, ..Builder::default() }
    }

    pub(crate) fn temp(&mut self, n: usize) -> Slot {
        let slot = self.temp_base + self.temps;
        self.temps += size32(n);
        self.temps_needed = self.temps_needed.max(self.temps);
        slot
    }

    pub(crate) fn is_temp(&self, slot: Slot) -> bool {
        (self.temp_base..self.temp_base + self.temp_room).contains(&slot)
    }

    /// Forgets the temporaries: a statement ended.
    pub(crate) fn end_statement(&mut self) {
        self.temps = 0;
    }

    pub(crate) fn constant(&mut self, limbs: &[u64]) -> Slot {
        if let Some(&slot) = self.const_slots.get(limbs) {
            return slot;
        }
        let slot = self.temp_base + self.temp_room + size32(self.consts.len());
        self.consts.extend_from_slice(limbs);
        self.const_slots.insert(limbs.to_vec(), slot);
        slot
    }

    pub(crate) fn pc(&self) -> u32 {
        size32(self.ops.len())
    }

    pub(crate) fn emit(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// Copies so many words.
    pub(crate) fn copy(&mut self, d: Slot, a: Slot, n: u32) {
        if n <= FEW && d.abs_diff(a) >= n {
            (0..n).for_each(|i| self.emit(Op::Copy { d: d + i, a: a + i }));
        } else {
            self.emit(Op::CopyN { d, a, n });
        }
    }

    /// Makes so many words zero.
    fn clear(&mut self, d: Slot, n: u32) {
        if n <= FEW {
            let a = self.constant(&[0]);
            (0..n).for_each(|i| self.emit(Op::Copy { d: d + i, a }));
        } else {
            self.emit(Op::Zero { d, n });
        }
    }

    pub(crate) fn call(&mut self, external: Extern) {
        let p = size32(self.externs.len());
        self.externs.push(external);
        self.emit(Op::Extern { p });
    }

    /// The low 64 bits of `ex`, which is its value if the range fits a word; into `dest` if given and not for free
    /// elsewhere.
    pub(crate) fn word(&mut self, ex: &Ex, dest: Option<Slot>) -> Result<Slot, LoadError> {
        match ex {
            Ex::Const(c) => Ok(self.constant(&[c.limb(0)])),
            Ex::Place(p) if p.index.is_none() => Ok(p.base),
            Ex::Place(p) => {
                let mut narrow = p.clone();
                narrow.width = narrow.width.min(64);
                self.load(&narrow, dest)
            }
            Ex::Un(op, a) => self.unary(ex, *op, a, dest),
            Ex::Bin(op, a, b) => self.binary(ex, *op, a, b, dest),
            Ex::If(cond, a, b) => {
                let d = self.dest(dest);
                let mark = self.temps;
                let otherwise = self.branch(cond, false)?;
                self.temps = mark;
                self.word_at(a, d)?;
                let end = self.pc();
                self.emit(Op::Jump { to: end });
                self.land_all(otherwise);
                self.temps = mark;
                self.word_at(b, d)?;
                self.land(end);
                Ok(d)
            }
        }
    }

    /// The value of `ex` as a word, where only numbers up to 2^64 can matter: what doesn't fit sticks to the largest.
    pub(crate) fn amount(&mut self, ex: &Ex) -> Result<Slot, LoadError> {
        if ex.range().fits_u64() {
            return self.word(ex, None);
        }
        // A negative amount becomes 0, too much the largest word.
        self.word(&Ex::Un(UnOp::UsatCast(64), Box::new(ex.clone())), None)
    }

    pub(crate) fn word_at(&mut self, ex: &Ex, d: Slot) -> Result<(), LoadError> {
        let a = self.word(ex, Some(d))?;
        if a != d {
            self.emit(Op::Copy { d, a });
        }
        Ok(())
    }

    fn dest(&mut self, dest: Option<Slot>) -> Slot {
        match dest {
            Some(d) => d,
            None => self.temp(1),
        }
    }

    fn unary(&mut self, ex: &Ex, op: UnOp, a: &Ex, dest: Option<Slot>) -> Result<Slot, LoadError> {
        let range = a.range();
        let fits = range.fits_word();
        match op {
            UnOp::TwoCompMod(bits) if bits > 64 => return self.word(a, dest),
            UnOp::Not | UnOp::TwoCompMod(_) => {}
            UnOp::SatCast(bits) | UnOp::UsatCast(bits) if bits > 64 || !fits => {
                return self.wide_word(ex, dest);
            }
            _ if !fits => return self.wide_word(ex, dest),
            _ => {}
        }
        let a = self.word(a, None)?;
        let d = self.dest(dest);
        let unsigned = range.fits_u64();
        self.emit(match op {
            UnOp::Not => Op::Not { d, a },
            UnOp::LogicalNot => Op::LogicalNot { d, a },
            UnOp::ToBool => Op::ToBool { d, a },
            UnOp::TwoCompMod(bits) => Op::Sext { d, a, bits },
            UnOp::UsatCast(bits) if unsigned => Op::UsatU { d, a, bits },
            UnOp::UsatCast(bits) => Op::UsatS { d, a, bits },
            UnOp::SatCast(bits) if unsigned => Op::SatU { d, a, bits },
            UnOp::SatCast(bits) => Op::SatS { d, a, bits },
        });
        Ok(d)
    }

    fn binary(&mut self, ex: &Ex, op: BinOp, a: &Ex, b: &Ex, dest: Option<Slot>) -> Result<Slot, LoadError> {
        let (ra, rb) = (a.range(), b.range());
        let both_unsigned = ra.fits_u64() && rb.fits_u64();
        let both_signed = ra.fits_i64() && rb.fits_i64();
        let fits = match op {
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor => true,
            BinOp::Shl => rb.fits_u64(),
            BinOp::Shr => ra.fits_word() && rb.fits_u64(),
            BinOp::Div | BinOp::Mod => both_unsigned,
            BinOp::Eq | BinOp::Lt | BinOp::Le => both_unsigned || both_signed,
        };
        if !fits {
            if let (BinOp::Eq, Some((a, b, n))) = (op, self.same_words(a, b)) {
                let d = self.dest(dest);
                self.emit(Op::EqN { d, a, b, n });
                return Ok(d);
            }
            return self.wide_word(ex, dest);
        }
        let mark = self.temps;
        if let Some(d) = self.fused(op, a, b, dest)? {
            return Ok(d);
        }
        if let Some((emit, imm)) = immediate(op, ra.fits_u64(), b) {
            let a = self.word(a, None)?;
            self.temps = mark;
            let d = self.dest(dest);
            self.emit(emit(d, a, imm));
            return Ok(d);
        }
        let (a, b) = (self.word(a, None)?, self.word(b, None)?);
        self.temps = mark;
        let d = self.dest(dest);
        self.emit(match op {
            BinOp::Add => Op::Add { d, a, b },
            BinOp::Sub => Op::Sub { d, a, b },
            BinOp::Mul => Op::Mul { d, a, b },
            BinOp::And => Op::And { d, a, b },
            BinOp::Or => Op::Or { d, a, b },
            BinOp::Xor => Op::Xor { d, a, b },
            BinOp::Shl => Op::Shl { d, a, b },
            BinOp::Shr if ra.fits_u64() => Op::ShrU { d, a, b },
            BinOp::Shr => Op::ShrS { d, a, b },
            BinOp::Div => Op::Div { d, a, b },
            BinOp::Mod => Op::Mod { d, a, b },
            BinOp::Eq => Op::Eq { d, a, b },
            BinOp::Lt if both_unsigned => Op::LtU { d, a, b },
            BinOp::Lt => Op::LtS { d, a, b },
            BinOp::Le if both_unsigned => Op::LeU { d, a, b },
            BinOp::Le => Op::LeS { d, a, b },
        });
        Ok(d)
    }

    /// Two plain unsigned fields of several words, or one and a constant: compared word for word.
    fn same_words(&mut self, a: &Ex, b: &Ex) -> Option<(Slot, Slot, u8)> {
        let plain = |ex: &Ex| match ex {
            Ex::Place(p) if p.index.is_none() && !p.signed && !p.variable => Some((p.base, p.limbs())),
            _ => None,
        };
        let (a, b) = if matches!(a, Ex::Const(_)) { (b, a) } else { (a, b) };
        let (slot, limbs) = plain(a)?;
        let n = u8::try_from(limbs).ok()?;
        match b {
            Ex::Const(c) if !c.is_negative() && c.limbs().len() <= limbs => {
                let words: Vec<u64> = (0..limbs).map(|i| c.limb(i)).collect();
                Some((slot, self.constant(&words), n))
            }
            _ => plain(b).filter(|(_, l)| *l == limbs).map(|(other, _)| (slot, other, n)),
        }
    }

    /// The value of `ex` in `place.limbs()` words, cut to the place's width: where it is, or where it was computed.
    pub(crate) fn limbs(&mut self, ex: &Ex, width: usize, dest: Option<Slot>) -> Result<Slot, LoadError> {
        let limbs = width.div_ceil(64);
        if limbs <= 1 {
            let a = self.word(ex, dest)?;
            if ex.range().within(Range::unsigned(width)) {
                return Ok(a);
            }
            let d = self.dest(dest);
            self.emit(Op::Mask { d, a, bits: size32(width) });
            return Ok(d);
        }
        match ex {
            Ex::Place(p) if p.index.is_none() && p.width == width && !p.signed => return Ok(p.base),
            Ex::Const(c) if !c.is_negative() && c.limbs().len() <= limbs => {
                let words: Vec<u64> = (0..limbs).map(|i| c.limb(i)).collect();
                if Big::from_limbs(&words).cmp(&Big::power(width as u64)).is_lt() {
                    return Ok(self.constant(&words));
                }
            }
            _ => {}
        }
        if ex.range().fits_u64() {
            let a = self.word(ex, None)?;
            let d = dest.unwrap_or_else(|| self.temp(limbs));
            self.emit(Op::Copy { d, a });
            self.clear(d + 1, size32(limbs - 1));
            return Ok(d);
        }
        let wide = self.wide_top(ex)?;
        let d = dest.unwrap_or_else(|| self.temp(limbs));
        self.wide_op(wide, d, limbs, width);
        Ok(d)
    }

    fn load(&mut self, p: &Place, dest: Option<Slot>) -> Result<Slot, LoadError> {
        let Some((index, stride, count)) = &p.index else {
            return Ok(p.base);
        };
        let i = self.amount(index)?;
        let limbs = p.limbs();
        let d = match dest {
            Some(d) if limbs == 1 => d,
            _ => self.temp(limbs),
        };
        let t = self.indexed(p.base, *stride, *count, limbs);
        self.emit(Op::LoadIndexed { d, i, t });
        Ok(d)
    }

    pub(crate) fn indexed(&mut self, base: Slot, stride: usize, count: usize, limbs: usize) -> u32 {
        let entry = Indexed { base, stride: size32(stride), count: size32(count), limbs: size32(limbs) };
        if let Some(at) = self.indexed.iter().position(|&e| e == entry) {
            return size32(at);
        }
        self.indexed.push(entry);
        size32(self.indexed.len() - 1)
    }

    /// Stores `ex` into `place`, cut to its width.
    pub(crate) fn store(&mut self, place: &Place, ex: &Ex) -> Result<(), LoadError> {
        let clamped;
        let mut ex = ex;
        if place.saturating {
            let width = size32(place.width);
            let cast = if place.signed { UnOp::SatCast(width) } else { UnOp::UsatCast(width) };
            clamped = Ex::un(cast, ex.clone());
            ex = &clamped;
        }
        if let Some((index, stride, count)) = &place.index {
            let a = self.value_for(place, ex, None)?;
            let i = self.amount(index)?;
            let t = self.indexed(place.base, *stride, *count, place.limbs());
            self.emit(Op::StoreIndexed { a, i, t });
            return Ok(());
        }
        let d = place.base;
        let cut;
        let ex = if place.signed {
            ex
        } else {
            let mask = Big::power(place.width as u64).sub(&Big::from_u64(1));
            cut = Ex::bin(BinOp::And, ex.clone(), Ex::Const(mask));
            &cut
        };
        let a = self.value_for(place, ex, Some(d))?;
        if a != d {
            self.copy(d, a, size32(place.limbs()));
        }
        Ok(())
    }

    fn value_for(&mut self, place: &Place, ex: &Ex, dest: Option<Slot>) -> Result<Slot, LoadError> {
        if place.signed && place.width <= 64 {
            let a = self.word(ex, dest)?;
            if ex.range().within(Range::signed(place.width)) {
                return Ok(a);
            }
            let d = self.dest(dest);
            self.emit(Op::Sext { d, a, bits: size32(place.width) });
            return Ok(d);
        }
        self.limbs(ex, place.width, dest)
    }
}
