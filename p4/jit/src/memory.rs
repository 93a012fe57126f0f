//! The three kinds of memory. Every address that code uses is made here, next to the check that it is there.

use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{AliasRegion, InstBuilder, MemFlags, Value};

use crate::code::field;
use crate::{Assembler, Compare, Error, Label, PAGE, Word};

/// Octets that are there.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    address: Value,
    octets: u32,
}

/// A cell that is there.
#[derive(Clone, Copy, Debug)]
pub struct Cell(Value);

/// An array of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its first page.
    pub first_page: u32,
    /// Cells.
    pub cells: u64,
}

/// Slots of the frame at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first one.
    pub first: u32,
    /// From one to the next.
    pub stride: u32,
    /// How many.
    pub count: u32,
}

/// How memory of one kind is accessed: never with a trap, and never in common with another kind.
fn flags(region: AliasRegion) -> MemFlags {
    MemFlags::new().with_notrap().with_alias_region(Some(region))
}

impl Assembler<'_> {
    /// Remembers the first place that isn't there.
    fn check(&mut self, what: &'static str, last: u64, limit: u32) -> bool {
        if last < u64::from(limit) {
            return true;
        }
        self.error.get_or_insert(Error::Beyond { what, at: last, limit });
        false
    }

    fn slot(&mut self, slot: u64) -> Option<i32> {
        self.reach();
        let there = self.check("slot", slot, self.limits.frame);
        i32::try_from(slot * 8).ok().filter(|_| there)
    }

    /// Reads a slot of the frame.
    pub fn get(&mut self, slot: u32) -> Word {
        match self.slot(slot.into()) {
            Some(at) => Word(self.builder.ins().load(I64, flags(AliasRegion::Heap), self.frame, at)),
            None => self.number(0),
        }
    }

    /// Writes a slot of the frame.
    pub fn set(&mut self, slot: u32, word: Word) {
        if let Some(at) = self.slot(slot.into()) {
            self.builder.ins().store(flags(AliasRegion::Heap), word.0, self.frame, at);
        }
    }

    /// Where in the frame the element of this number is, in octets; elsewhere if there is none.
    fn element(&mut self, run: Run, index: Word, outside: Label) -> Option<Value> {
        let last = u64::from(run.first) + u64::from(run.stride) * u64::from(run.count.saturating_sub(1));
        self.slot(last)?;
        let count = self.number(run.count.into());
        self.jump_compare(Compare::LessOrEqual, count, index, outside);
        let offset = self.builder.ins().imul_imm(index.0, i64::from(run.stride) * 8);
        Some(self.builder.ins().iadd(self.frame, offset))
    }

    /// Reads the slot of this number in a run; goes elsewhere if there is none.
    pub fn get_at(&mut self, run: Run, index: Word, outside: Label) -> Word {
        match (self.element(run, index, outside), self.slot(run.first.into())) {
            (Some(address), Some(at)) => {
                Word(self.builder.ins().load(I64, flags(AliasRegion::Heap), address, at))
            }
            _ => self.number(0),
        }
    }

    /// Writes the slot of this number in a run; goes elsewhere if there is none.
    pub fn set_at(&mut self, run: Run, index: Word, outside: Label, word: Word) {
        if let (Some(address), Some(at)) = (self.element(run, index, outside), self.slot(run.first.into())) {
            self.builder.ins().store(flags(AliasRegion::Heap), word.0, address, at);
        }
    }

    /// A pointer or length that doesn't change during a run.
    fn given(&mut self, offset: i32) -> Value {
        let flags = MemFlags::trusted().with_readonly().with_can_move();
        self.builder.ins().load(I64, flags, self.memory, offset)
    }

    /// Finds a cell; goes to `outside` if there is none of this number, and to `fresh`, if given, when nothing has
    /// been written to its page yet: such cells read as 0 and must not be written.
    pub fn cell(&mut self, array: Array, index: Word, outside: Label, fresh: Option<Label>) -> Cell {
        let pages = array.cells.div_ceil(PAGE);
        self.reach();
        let last = (u64::from(array.first_page) + pages).saturating_sub(1);
        let there = self.check("page", last, self.limits.pages);
        let (true, Ok(offset)) = (there, i32::try_from(u64::from(array.first_page) * 4)) else {
            return Cell(self.frame);
        };
        let cells = self.number(array.cells);
        self.jump_compare(Compare::LessOrEqual, cells, index, outside);
        let page = self.builder.ins().ushr_imm(index.0, i64::from(PAGE.ilog2()));
        let page = self.builder.ins().ishl_imm(page, 2);
        let base = self.given(field::PAGES);
        let address = self.builder.ins().iadd(base, page);
        let start = self.builder.ins().uload32(flags(AliasRegion::Table), address, offset);
        if let Some(fresh) = fresh {
            self.jump_unless(Word(start), fresh);
        }
        let within = self.builder.ins().band_imm(index.0, PAGE.cast_signed() - 1);
        let at = self.builder.ins().iadd(start, within);
        let all = self.given(field::CELLS_LEN);
        self.jump_compare(Compare::LessOrEqual, Word(all), Word(at), outside);
        let base = self.given(field::CELLS);
        let at = self.builder.ins().ishl_imm(at, 3);
        Cell(self.builder.ins().iadd(base, at))
    }

    /// Reads a cell.
    pub fn get_cell(&mut self, cell: Cell) -> Word {
        self.reach();
        Word(self.builder.ins().load(I64, flags(AliasRegion::Table), cell.0, 0))
    }

    /// Writes a cell.
    pub fn set_cell(&mut self, cell: Cell, word: Word) {
        self.reach();
        self.builder.ins().store(flags(AliasRegion::Table), word.0, cell.0, 0);
    }

    /// So many octets from `start` on, of which the low 32 bits count; goes elsewhere unless all of them are there.
    pub fn window(&mut self, start: Word, octets: u32, outside: Label) -> Window {
        self.reach();
        let start = self.builder.ins().ireduce(I32, start.0);
        let start = self.builder.ins().uextend(I64, start);
        let end = self.builder.ins().iadd_imm(start, i64::from(octets));
        let all = self.given(field::OCTETS_LEN);
        self.jump_compare(Compare::Less, Word(all), Word(end), outside);
        let base = self.given(field::OCTETS);
        Window { address: self.builder.ins().iadd(base, start), octets }
    }

    /// Whether 8 octets at `at` are in the window.
    fn inside(&mut self, window: Window, at: u32) -> Option<i32> {
        self.reach();
        let there = self.check("octet", u64::from(at) + 7, window.octets);
        i32::try_from(at).ok().filter(|_| there)
    }

    /// Reads 8 octets, the first one highest.
    pub fn get_octets(&mut self, window: Window, at: u32) -> Word {
        match self.inside(window, at) {
            Some(at) => {
                let word = self.builder.ins().load(I64, flags(AliasRegion::Vmctx), window.address, at);
                self.big_endian(word)
            }
            None => self.number(0),
        }
    }

    /// Writes 8 octets, the first one highest.
    pub fn set_octets(&mut self, window: Window, at: u32, word: Word) {
        if let Some(at) = self.inside(window, at) {
            let Word(word) = self.big_endian(word.0);
            self.builder.ins().store(flags(AliasRegion::Vmctx), word, window.address, at);
        }
    }

    fn big_endian(&mut self, word: Value) -> Word {
        Word(if cfg!(target_endian = "little") { self.builder.ins().bswap(word) } else { word })
    }
}
