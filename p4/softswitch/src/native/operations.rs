//! Instructions.

use std::collections::HashMap;

use jit::{Array, Binary, Compare, Label, Run, Word};

use super::reach::{self, Reach, leaves};
use super::{Slot, Translator, signed_max, size32};
use crate::layout::mask;
use crate::ops::Op;

/// Words that are moved one by one; more are left to others.
pub(super) const FEW: u32 = 32;

/// What a return means.
#[derive(Clone, Copy)]
enum Leave {
    /// On to where the table said, or out.
    After,
    /// On behind the fragment.
    To(Label),
}

/// Where the instructions stand.
struct Places {
    labels: HashMap<u32, Label>,
    /// For what stands nowhere: the end.
    end: Label,
    leave: Leave,
}

impl Places {
    fn of(&self, pc: u32) -> Label {
        self.labels.get(&pc).copied().unwrap_or(self.end)
    }
}

impl Translator<'_, '_> {
    /// All instructions that can run; gives the entry of each, 0 if it has none.
    pub(super) fn instructions(&mut self) -> Vec<u32> {
        let program = self.program;
        let reach = Reach::of(program);
        let wanted = |at: &usize| reach.runs[*at] && (reach.entered[*at] || reach.target[*at]);
        let labels: Vec<u32> = (0..program.ops.len()).filter(wanted).map(size32).collect();
        let labels = labels.into_iter().map(|at| (at, self.asm.label())).collect();
        let places = Places { labels, end: self.asm.label(), leave: Leave::After };
        let mut entries = vec![0; program.ops.len()];
        for (at, &op) in program.ops.iter().enumerate().filter(|(at, _)| reach.runs[*at]) {
            let pc = size32(at);
            if let Some(&label) = places.labels.get(&pc) {
                self.asm.bind(label);
                if reach.entered[at] {
                    entries[at] = self.asm.entry(label);
                }
            }
            self.instruction(pc, op, &places);
        }
        self.asm.bind(places.end);
        self.leave_with(0);
        entries
    }

    /// The instructions from `start` to its returns, here; false if that can't be done without leaving the code.
    pub(super) fn fragment(&mut self, start: u32) -> bool {
        let Some(all) = reach::fragment(self.program, start) else { return false };
        let behind = self.asm.label();
        let mut labels = HashMap::new();
        for &at in &all {
            if let Some(&mut to) = self.program.ops[at as usize].clone().target() {
                labels.entry(to).or_insert_with(|| self.asm.label());
            }
        }
        let places = Places { labels, end: behind, leave: Leave::To(behind) };
        for &at in &all {
            if let Some(&label) = places.labels.get(&at) {
                self.asm.bind(label);
            }
            self.instruction(at, self.program.ops[at as usize], &places);
        }
        self.asm.bind(behind);
        true
    }

    pub(super) fn leave_with(&mut self, number: usize) {
        let number = self.asm.number(number as u64);
        self.asm.exit(number);
    }

    /// Leaves so that others execute this instruction.
    fn leave_at(&mut self, pc: u32) {
        self.leave_with(pc as usize + 1);
    }

    fn binary(&mut self, op: Binary, d: Slot, a: Slot, b: Slot) {
        let a = self.get(a);
        let result = if let Some(n) = self.constant(b) {
            self.asm.binary_with(op, a, n)
        } else {
            let b = self.asm.get(b);
            self.asm.binary(op, a, b)
        };
        self.asm.set(d, result);
    }

    fn compare(&mut self, compare: Compare, d: Slot, a: Slot, b: Slot) {
        let (a, b) = (self.get(a), self.get(b));
        let holds = self.asm.compare(compare, a, b);
        self.asm.set(d, holds);
    }

    fn jump_compare(&mut self, compare: Compare, a: Slot, b: Slot, to: Label) {
        let (a, b) = (self.get(a), self.get(b));
        self.asm.jump_compare(compare, a, b, to);
    }

    fn words(&mut self, a: Slot, n: u32) -> Vec<Word> {
        (a..a + n).map(|slot| self.get(slot)).collect()
    }

    fn set_words(&mut self, d: Slot, words: Vec<Word>) {
        for (slot, word) in (d..).zip(words) {
            self.asm.set(slot, word);
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each instruction; splitting hides the list")]
    fn instruction(&mut self, pc: u32, op: Op, places: &Places) {
        if let Op::Table { t } = op {
            self.key(t as usize);
        }
        if leaves(self.program, op) {
            return self.leave_at(pc);
        }
        match op {
            Op::Copy { d, a } => {
                let word = self.get(a);
                self.asm.set(d, word);
            }
            Op::Copies { first, n } => {
                for &(d, a) in &self.program.copies[first as usize..(first + n) as usize] {
                    let word = self.get(a);
                    self.asm.set(d, word);
                }
            }
            Op::CopyN { d, a, n } => {
                let words = self.words(a, n);
                self.set_words(d, words);
            }
            Op::Zero { d, n } => {
                let zero = self.asm.number(0);
                self.set_words(d, vec![zero; n as usize]);
            }
            Op::Mask { d, a, bits } => {
                let word = self.get(a);
                let cut = self.asm.cut(word, bits);
                self.asm.set(d, cut);
            }
            Op::Sext { d, a, bits } => {
                let word = self.get(a);
                let extended = self.asm.sign_extend(word, bits);
                self.asm.set(d, extended);
            }
            Op::Add { d, a, b } => self.binary(Binary::Add, d, a, b),
            Op::Sub { d, a, b } => self.binary(Binary::Sub, d, a, b),
            Op::Mul { d, a, b } => self.binary(Binary::Mul, d, a, b),
            Op::And { d, a, b } => self.binary(Binary::And, d, a, b),
            Op::Or { d, a, b } => self.binary(Binary::Or, d, a, b),
            Op::Xor { d, a, b } => self.binary(Binary::Xor, d, a, b),
            Op::Shl { d, a, b } => self.binary(Binary::Shl, d, a, b),
            Op::ShrU { d, a, b } => self.binary(Binary::Shr, d, a, b),
            Op::ShrS { d, a, b } => self.binary(Binary::ShrSigned, d, a, b),
            Op::Div { d, a, b } => self.binary(Binary::Div, d, a, b),
            Op::Mod { d, a, b } => self.binary(Binary::Mod, d, a, b),
            Op::Not { d, a } => {
                let word = self.get(a);
                let not = self.asm.not(word);
                self.asm.set(d, not);
            }
            Op::Eq { d, a, b } => self.compare(Compare::Equal, d, a, b),
            Op::LtU { d, a, b } => self.compare(Compare::Less, d, a, b),
            Op::LtS { d, a, b } => self.compare(Compare::LessSigned, d, a, b),
            Op::LeU { d, a, b } => self.compare(Compare::LessOrEqual, d, a, b),
            Op::LeS { d, a, b } => self.compare(Compare::LessOrEqualSigned, d, a, b),
            Op::LogicalNot { d, a } | Op::ToBool { d, a } => {
                let not = matches!(op, Op::LogicalNot { .. });
                let compare = if not { Compare::Equal } else { Compare::NotEqual };
                let (word, zero) = (self.get(a), self.asm.number(0));
                let result = self.asm.compare(compare, word, zero);
                self.asm.set(d, result);
            }
            Op::UsatU { d, a, bits } => {
                let word = self.get(a);
                let clamped = self.asm.binary_with(Binary::Min, word, mask(bits as usize));
                self.asm.set(d, clamped);
            }
            Op::UsatS { d, a, bits } => {
                let word = self.get(a);
                let positive = self.asm.binary_with(Binary::MaxSigned, word, 0);
                let clamped = self.asm.binary_with(Binary::Min, positive, mask(bits as usize));
                self.asm.set(d, clamped);
            }
            Op::SatU { d, a, bits } => {
                let word = self.get(a);
                let clamped = self.asm.binary_with(Binary::Min, word, signed_max(bits));
                self.asm.set(d, clamped);
            }
            Op::SatS { d, a, bits } => {
                let (word, most) = (self.get(a), signed_max(bits));
                let above = self.asm.binary_with(Binary::MaxSigned, word, !most);
                let clamped = self.asm.binary_with(Binary::MinSigned, above, most);
                self.asm.set(d, clamped);
            }
            Op::LoadIndexed { d, i, t } => self.load_indexed(d, i, t),
            Op::StoreIndexed { a, i, t } => self.store_indexed(a, i, t),
            Op::AddI { d, a, imm } => self.with(Binary::Add, d, a, imm.into()),
            Op::AndI { d, a, imm } => self.with(Binary::And, d, a, imm.into()),
            Op::ShlI { d, a, imm } => self.with(Binary::Shl, d, a, u64::from(imm) & 63),
            Op::ShrI { d, a, imm } => self.with(Binary::Shr, d, a, u64::from(imm) & 63),
            Op::EqN { d, a, b, n } => {
                let (a, b) = (self.words(a, n.into()), self.words(b, n.into()));
                let mut differ = self.asm.number(0);
                for (a, b) in a.into_iter().zip(b) {
                    let bits = self.asm.binary(Binary::Xor, a, b);
                    differ = self.asm.binary(Binary::Or, differ, bits);
                }
                let zero = self.asm.number(0);
                let same = self.asm.compare(Compare::Equal, differ, zero);
                self.asm.set(d, same);
            }
            Op::Jump { to } => self.asm.jump(places.of(to)),
            Op::JumpZero { a, to } => {
                let word = self.get(a);
                self.asm.jump_unless(word, places.of(to));
            }
            Op::JumpNonZero { a, to } => {
                let word = self.get(a);
                self.asm.jump_if(word, places.of(to));
            }
            Op::JumpEq { a, b, to } => self.jump_compare(Compare::Equal, a, b, places.of(to)),
            Op::JumpNe { a, b, to } => self.jump_compare(Compare::NotEqual, a, b, places.of(to)),
            Op::JumpLtU { a, b, to } => self.jump_compare(Compare::Less, a, b, places.of(to)),
            Op::JumpLeU { a, b, to } => self.jump_compare(Compare::LessOrEqual, a, b, places.of(to)),
            Op::JumpEqI { a, imm, to } | Op::JumpNeI { a, imm, to } => {
                let equal = matches!(op, Op::JumpEqI { .. });
                let compare = if equal { Compare::Equal } else { Compare::NotEqual };
                let (word, imm) = (self.get(a), self.asm.number(imm.into()));
                self.asm.jump_compare(compare, word, imm, places.of(to));
            }
            Op::RegisterRead { d, i, r } => self.register(
                pc,
                r,
                i,
                |this, cell| {
                    let word = this.asm.get_cell(cell);
                    this.asm.set(d, word);
                },
                false,
            ),
            Op::RegisterWrite { a, i, r } => self.register(
                pc,
                r,
                i,
                |this, cell| {
                    let word = this.get(a);
                    this.asm.set_cell(cell, word);
                },
                true,
            ),
            Op::AddCut { d, a, b, bits } => self.cut(Binary::Add, d, a, b, bits),
            Op::SubCut { d, a, b, bits } => self.cut(Binary::Sub, d, a, b, bits),
            Op::AddICut { d, a, imm, bits } => {
                let word = self.get(a);
                let sum = self.asm.binary_with(Binary::Add, word, imm.into());
                self.set_cut(d, sum, bits);
            }
            Op::ShlOr { d, a, b, by } => {
                let (a, b) = (self.get(a), self.get(b));
                let high = self.asm.binary_with(Binary::Shl, a, u64::from(by) & 63);
                let both = self.asm.binary(Binary::Or, high, b);
                self.asm.set(d, both);
            }
            Op::Bits { d, a, by, bits } => {
                let word = self.get(a);
                let low = self.asm.binary_with(Binary::Shr, word, u64::from(by) & 63);
                self.set_cut(d, low, bits);
            }
            Op::Return => match places.leave {
                Leave::To(behind) => self.asm.jump(behind),
                Leave::After => {
                    let own = self.program.own.after;
                    let (after, none) = (self.asm.get(own), self.asm.number(0));
                    self.asm.set(own, none);
                    self.asm.enter(after);
                }
            },
            Op::Extern { p } => {
                if let Some(checksum) = super::fields::checksum(self.program, p as usize) {
                    self.checksum(checksum);
                }
            }
            Op::Table { .. } | Op::EndIfExit | Op::Wide { .. } | Op::Back { .. } => {}
        }
    }

    fn with(&mut self, op: Binary, d: Slot, a: Slot, n: u64) {
        let word = self.get(a);
        let result = self.asm.binary_with(op, word, n);
        self.asm.set(d, result);
    }

    fn cut(&mut self, op: Binary, d: Slot, a: Slot, b: Slot, bits: u8) {
        let (a, b) = (self.get(a), self.get(b));
        let result = self.asm.binary(op, a, b);
        self.set_cut(d, result, bits);
    }

    /// The low bits, 1 to 64, as the interpreter cuts them.
    fn set_cut(&mut self, d: Slot, word: Word, bits: u8) {
        let kept = u64::MAX >> ((64 - u32::from(bits)) & 63);
        let cut = if kept == u64::MAX { word } else { self.asm.binary_with(Binary::And, word, kept) };
        self.asm.set(d, cut);
    }

    /// The words of an element's field, as runs of single words.
    fn runs(&self, t: u32) -> Vec<Run> {
        let t = self.program.indexed[t as usize];
        let run = |limb| Run { first: t.base + limb, stride: t.stride, count: t.count };
        (0..t.limbs).map(run).collect()
    }

    fn load_indexed(&mut self, d: Slot, i: Slot, t: u32) {
        let (outside, end) = (self.asm.label(), self.asm.label());
        let (i, runs) = (self.get(i), self.runs(t));
        let words = runs.iter().map(|&run| self.asm.get_at(run, i, outside)).collect();
        self.set_words(d, words);
        self.asm.jump(end);
        self.asm.bind(outside);
        let zero = self.asm.number(0);
        self.set_words(d, vec![zero; runs.len()]);
        self.asm.bind(end);
    }

    fn store_indexed(&mut self, a: Slot, i: Slot, t: u32) {
        let end = self.asm.label();
        let (i, runs) = (self.get(i), self.runs(t));
        let words = self.words(a, size32(runs.len()));
        for (run, word) in runs.into_iter().zip(words) {
            self.asm.set_at(run, i, end, word);
        }
        self.asm.bind(end);
    }

    /// Does something with a cell of a register, if there is one.
    fn register(&mut self, pc: u32, r: u32, i: Slot, act: impl FnOnce(&mut Self, jit::Cell), writes: bool) {
        let Some(first_page) = self.pages[r as usize] else { return self.leave_at(pc) };
        let cells = self.program.registers[r as usize].size as u64;
        let (end, fresh) = (self.asm.label(), self.asm.label());
        let i = self.get(i);
        let cell = self.asm.cell(Array { first_page, cells }, i, end, writes.then_some(fresh));
        act(self, cell);
        self.asm.jump(end);
        self.asm.rare(fresh);
        self.asm.bind(fresh);
        self.leave_at(pc);
        self.asm.bind(end);
    }
}
