//! A program as native code: the same instructions, parser states and copies of fields as the interpreter's, compiled by
//! Cranelift over the same frame. What is rare or needs more than the frame leaves the code with the number of an
//! instruction or of a parser's step, is done as ever, and the code is entered again behind it.

mod fields;
mod operations;
mod parser;
mod reach;

use jit::{Assembler, Code, Limits, Memory};

use crate::exec::signed_max;
use crate::flight::Flight;
use crate::layout::Slot;
use crate::num::{index, size32};
use crate::program::Program;
use crate::registers;
use crate::state::State;

/// A program's native code: immutable, shared as the program is.
#[derive(Debug)]
pub(crate) struct Native {
    code: Code,
    /// The entry of each instruction, 0: none.
    entries: Vec<u32>,
    /// The entries of the parser's states.
    states: Vec<u32>,
    /// What is left to do when a state is left: the state, and the first of its steps that isn't done.
    rest: Vec<(usize, usize)>,
    /// The entry that puts changed fields over the packet's octets, all in place.
    patch: u32,
}

/// What the parts of the translation share.
struct Translator<'a, 'b> {
    program: &'a Program,
    asm: &'a mut Assembler<'b>,
    /// Of each register array its first page.
    pages: Vec<Option<u32>>,
}

impl Translator<'_, '_> {
    /// A slot's word; constants are part of the code.
    fn get(&mut self, slot: Slot) -> jit::Word {
        match self.constant(slot) {
            Some(n) => self.asm.number(n),
            None => self.asm.get(slot),
        }
    }

    fn constant(&self, slot: Slot) -> Option<u64> {
        let constants = self.program.const_base..self.program.own.after;
        constants.contains(&slot).then(|| self.program.frame[slot as usize])
    }
}

impl Native {
    /// Compiles a program: a tenth of a second for `crn.json`.
    ///
    /// # Errors
    /// Cranelift makes no code for this processor.
    pub(crate) fn compile(program: &Program) -> Result<Native, jit::Error> {
        let (pages, used) = registers::pages(&program.registers);
        let limits = Limits { frame: size32(program.frame.len()), pages: used };
        let mut native = None;
        let code = jit::compile(limits, |asm| {
            let mut translator = Translator { program, asm, pages };
            let entries = translator.instructions();
            let (states, rest) = translator.parser();
            let patch = translator.patches();
            native = Some((entries, states, rest, patch));
        })?;
        let (entries, states, rest, patch) = native.unwrap_or_default();
        Ok(Native { code, entries, states, rest, patch })
    }

    /// The code that this switch's packets go through, if they do.
    #[inline]
    pub(crate) fn of<'a>(program: &'a Program, state: &State) -> Option<&'a Native> {
        if state.native { program.native.get()?.as_ref() } else { None }
    }

    /// Where the code of an instruction is entered.
    #[inline]
    pub(crate) fn entry(&self, pc: u32) -> Option<u32> {
        self.entries.get(pc as usize).copied().filter(|&entry| entry != 0)
    }

    /// As [`Native::entry`], as a word; 0: none.
    #[inline]
    pub(crate) fn number(&self, pc: u32) -> u64 {
        self.entries.get(pc as usize).copied().unwrap_or(0).into()
    }

    /// Runs from an entry; gives the instruction, or the step, that is to be done by others, `None` at the end.
    #[inline]
    pub(crate) fn run(&self, state: &mut State, flight: &mut Flight, entry: u32) -> Option<usize> {
        let registers = &mut state.registers;
        let memory =
            Memory { pages: &registers.pages, cells: &mut registers.words, octets: &mut flight.packet.head };
        self.code.run(&mut flight.frame, memory, entry)?.checked_sub(1).map(index)
    }

    /// Parses from a state on; gives the state that others must go on with and the first of its steps, `None` when the
    /// packet is accepted.
    #[inline]
    pub(crate) fn parse(&self, state: &mut State, flight: &mut Flight, at: usize) -> Option<(usize, usize)> {
        let entry = *self.states.get(at)?;
        let left = self.run(state, flight, entry)?;
        self.rest.get(left).copied()
    }

    /// Puts the fields that may have changed over the octets of the headers that leave in place; false: not all.
    #[inline]
    pub(crate) fn patch(&self, state: &mut State, flight: &mut Flight) -> bool {
        self.run(state, flight, self.patch).is_none()
    }
}
