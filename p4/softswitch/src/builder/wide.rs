//! Values that don't fit into words.

use super::Builder;
use crate::expr::Ex;
use crate::layout::Slot;
use crate::load_error::LoadError;
use crate::num::size32;
use crate::ops::{Op, Wide, WideOp};

impl Builder {
    /// The low word of an expression that must be computed wide.
    pub(super) fn wide_word(&mut self, ex: &Ex, dest: Option<Slot>) -> Result<Slot, LoadError> {
        let wide = self.wide_top(ex)?;
        let d = self.dest(dest);
        self.wide_op(wide, d, 1, 64);
        Ok(d)
    }

    pub(super) fn wide_op(&mut self, ex: Wide, d: Slot, limbs: usize, bits: usize) {
        let w = size32(self.wide.len());
        self.wide.push(WideOp { ex, limbs, bits });
        self.emit(Op::Wide { d, w });
    }

    /// The node itself wide, its parts in words where they fit.
    pub(super) fn wide_top(&mut self, ex: &Ex) -> Result<Wide, LoadError> {
        Ok(match ex {
            Ex::Const(c) => Wide::Const(c.clone()),
            Ex::Place(p) => {
                let slot = if p.index.is_some() { self.load(p, None)? } else { p.base };
                Wide::Words { slot, limbs: p.limbs(), signed_bits: p.signed.then_some(p.width as u64) }
            }
            Ex::Un(op, a) => Wide::Un(*op, Box::new(self.wide_part(a)?)),
            Ex::Bin(op, a, b) => Wide::Bin(*op, Box::new(self.wide_part(a)?), Box::new(self.wide_part(b)?)),
            Ex::If(c, a, b) => Wide::If(
                Box::new(self.wide_part(c)?),
                Box::new(self.wide_part(a)?),
                Box::new(self.wide_part(b)?),
            ),
        })
    }

    fn wide_part(&mut self, ex: &Ex) -> Result<Wide, LoadError> {
        let range = ex.range();
        if !range.fits_word() || matches!(ex, Ex::Const(_)) {
            return self.wide_top(ex);
        }
        // Its own slot: a temporary that a later part reuses would be gone when the wide instruction runs.
        let slot = match ex {
            Ex::Place(p) if p.index.is_none() => p.base,
            _ => {
                let d = self.temp(1);
                self.word_at(ex, d)?;
                d
            }
        };
        Ok(Wide::Word(slot, !range.fits_u64()))
    }
}
