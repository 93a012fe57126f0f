//! Native code over arrays of words that can't touch anything else: a safe front to Cranelift.
//!
//! A caller describes one function with an [`Assembler`]: arithmetic on words of 64 bits, jumps, and three kinds of
//! memory. All memory is borrowed for the time of a [`Code::run`], and every access is checked, when the code is made or
//! when it runs, so that whatever a caller assembles, it can compute something useless but not reach beyond:
//!
//! - the *frame*, an array of words whose places are constants ([`Assembler::get`]), or computed within a constant run of
//!   them ([`Assembler::get_at`]);
//! - *cells* in pages that appear when they are first written ([`Assembler::cell`]);
//! - *octets*, of which a window is checked once ([`Assembler::window`]).
//!
//! A function has numbered entries and may be left and entered again anywhere; between two runs everything is in memory.
//! On a processor that Cranelift doesn't know, [`compile`] says so.

mod assembler;
mod code;
mod memory;

pub use assembler::{Assembler, Binary, Compare, Label, Word};
pub use code::{Code, Memory, compile};
pub use memory::{Array, Cell, Run, Window};

/// Words of a page of cells.
pub const PAGE: u64 = 256;

/// What a run may touch at least; a shorter array is refused before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Words of the frame.
    pub frame: u32,
    /// Pages of cells.
    pub pages: u32,
}

/// Why there is no code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Cranelift makes no code for this processor.
    #[error("no native code for this processor: {0}")]
    Processor(String),
    /// Something outside the [`Limits`] was asked for.
    #[error("{what} {at} is beyond the {limit} there are")]
    Beyond {
        /// A slot, or a page.
        what: &'static str,
        /// Which.
        at: u64,
        /// How many there are.
        limit: u32,
    },
    /// What was assembled is no function: a word is used where it isn't known, for example.
    #[error("not a function: {0}")]
    Compiler(String),
}
