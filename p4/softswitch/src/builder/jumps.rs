//! Jumps and conditions.

use super::{Builder, small};
use crate::expr::{BinOp, Ex, UnOp};
use crate::layout::Slot;
use crate::load_error::LoadError;
use crate::ops::Op;

/// What is known of a slot: that it has this value, or another.
#[derive(Clone, Copy)]
struct Known {
    slot: Slot,
    value: u32,
    equal: bool,
}

impl Known {
    fn when_taken(op: Op) -> Option<Known> {
        let (slot, value, equal) = match op {
            Op::JumpZero { a, .. } => (a, 0, true),
            Op::JumpNonZero { a, .. } => (a, 0, false),
            Op::JumpEqI { a, imm, .. } => (a, imm, true),
            Op::JumpNeI { a, imm, .. } => (a, imm, false),
            _ => return None,
        };
        Some(Known { slot, value, equal })
    }

    /// Whether a jump is taken, if that is known.
    fn decides(self, op: Op) -> Option<bool> {
        let asked = Known::when_taken(op).filter(|asked| asked.slot == self.slot)?;
        match (self.equal, self.value == asked.value) {
            (true, same) => Some(same == asked.equal),
            (false, true) => Some(!asked.equal),
            (false, false) => None,
        }
    }
}

impl Builder {
    /// Makes a forward jump at `at` land here.
    pub(crate) fn land(&mut self, at: u32) {
        let here = self.pc();
        if let Some(to) = self.ops[at as usize].target() {
            *to = here;
        }
    }

    /// Everything has been emitted: jumps out of the pipelines get a return to lead to, and those that lead back say so.
    pub(crate) fn finish_jumps(&mut self) {
        self.thread_jumps();
        let last = self.pc();
        self.emit(Op::Return);
        for at in 0..self.ops.len() {
            let end = self.pc();
            let plain = matches!(self.ops[at], Op::Jump { .. });
            let Some(to) = self.ops[at].target() else { continue };
            if *to as usize > at {
                *to = last.min(*to);
                continue;
            }
            let back = Op::Back { to: *to };
            if plain {
                self.ops[at] = back;
            } else {
                // Forward to the end, and from there back.
                *to = end;
                self.emit(back);
            }
        }
    }

    /// Jumps go where they lead in the end: past jumps, and past conditions that are already known.
    fn thread_jumps(&mut self) {
        for at in 0..self.ops.len() {
            let mut op = self.ops[at];
            let known = Known::when_taken(op);
            let Some(mut to) = op.target().map(|to| *to).filter(|&to| to as usize > at) else { continue };
            while let Some(&(mut there)) = self.ops.get(to as usize)
                && let Some(taken) = if matches!(there, Op::Jump { .. }) {
                    Some(true)
                } else {
                    known.and_then(|known| known.decides(there))
                }
            {
                let next = there.target().map_or(to + 1, |next| if taken { *next } else { to + 1 });
                if next <= to {
                    break;
                }
                to = next;
            }
            if let Some(target) = self.ops[at].target() {
                *target = to;
            }
        }
    }

    /// Makes jumps land here.
    pub(crate) fn land_all(&mut self, jumps: Vec<u32>) {
        for at in jumps {
            self.land(at);
        }
    }

    /// Jumps taken when the condition is `when`, which must be 0 or 1; conditions have no effects, so that parts that
    /// don't matter any more are left out. The jumps are given back to be landed.
    pub(crate) fn branch(&mut self, ex: &Ex, when: bool) -> Result<Vec<u32>, LoadError> {
        let mark = self.temps;
        let jumps = match ex {
            Ex::Un(UnOp::LogicalNot, a) if a.is_bool() => self.branch(a, !when)?,
            Ex::Bin(op @ (BinOp::And | BinOp::Or), a, b) if a.is_bool() && b.is_bool() => {
                // Both must hold (or, negated, one must fail): either one decides alone.
                let alone = (*op == BinOp::Or) == when;
                if alone {
                    let mut jumps = self.branch(a, when)?;
                    jumps.extend(self.branch(b, when)?);
                    jumps
                } else {
                    let past = self.branch(a, !when)?;
                    let jumps = self.branch(b, when)?;
                    self.land_all(past);
                    jumps
                }
            }
            Ex::Bin(op @ (BinOp::Eq | BinOp::Lt | BinOp::Le), a, b)
                if a.range().fits_u64() && b.range().fits_u64() =>
            {
                self.branch_compare(*op, a, b, when)?
            }
            _ => {
                let a = self.word(ex, None)?;
                let at = self.pc();
                self.emit(if when { Op::JumpNonZero { a, to: at } } else { Op::JumpZero { a, to: at } });
                vec![at]
            }
        };
        self.temps = mark;
        Ok(jumps)
    }

    fn branch_compare(&mut self, op: BinOp, a: &Ex, b: &Ex, when: bool) -> Result<Vec<u32>, LoadError> {
        let (a, b) = if matches!(a, Ex::Const(_)) && op == BinOp::Eq { (b, a) } else { (a, b) };
        let to = 0;
        let jump = if let (BinOp::Eq, Some(imm)) = (op, small(b)) {
            let a = self.word(a, None)?;
            match (imm, when) {
                (0, true) => Op::JumpZero { a, to },
                (0, false) => Op::JumpNonZero { a, to },
                (imm, true) => Op::JumpEqI { a, imm, to },
                (imm, false) => Op::JumpNeI { a, imm, to },
            }
        } else {
            let (a, b) = (self.word(a, None)?, self.word(b, None)?);
            match (op, when) {
                (BinOp::Lt, true) => Op::JumpLtU { a, b, to },
                (BinOp::Lt, false) => Op::JumpLeU { a: b, b: a, to },
                (BinOp::Le, true) => Op::JumpLeU { a, b, to },
                (BinOp::Le, false) => Op::JumpLtU { a: b, b: a, to },
                (_, true) => Op::JumpEq { a, b, to },
                (_, false) => Op::JumpNe { a, b, to },
            }
        };
        let at = self.pc();
        self.emit(jump);
        Ok(vec![at])
    }
}
