//! The codes: repair symbols from source symbols, and lost source symbols from both.
//!
//! - [`gf`]: the field, as tables.
//! - [`Kernel`]: the inner loop, in variants chosen at run time.
//! - [`encode`], [`Decoder`]: the two directions, for every scheme whose symbols are sums.
//!
//! Source Copy has no arithmetic: its symbol is the source symbol.

mod decode;
pub mod gf;
mod kernel;

pub use decode::{Decoder, Recovered, RepairSymbol, Undecodable};
pub use kernel::Kernel;

use wire::crem::Scheme;

/// A scheme whose repair symbols are sums of source symbols (CREM, FEC Schemes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Scheme 1.
    Cauchy,
    /// Scheme 2: one symbol, of index 0.
    Xor,
}

/// The most source symbols of a block.
pub const MAX_SOURCES: usize = 255;

impl Code {
    //= CREM, FEC Schemes: 910584f8
    /// The code of a scheme; `None` for Source Copy and unknown schemes.
    pub const fn of(scheme: Scheme) -> Option<Self> {
        match scheme {
            Scheme::CAUCHY => Some(Self::Cauchy),
            Scheme::XOR => Some(Self::Xor),
            _ => None,
        }
    }

    /// The scheme's number.
    pub const fn scheme(self) -> Scheme {
        match self {
            Self::Cauchy => Scheme::CAUCHY,
            Self::Xor => Scheme::XOR,
        }
    }

    //= CREM, Cauchy Code: f0a922de
    /// How many repair indices a block of `k` positions has: indices run from 0 to this minus one.
    pub const fn indices(self, k: u8) -> u16 {
        match self {
            // i + k <= 255.
            Self::Cauchy => 256 - k as u16,
            Self::Xor => 1,
        }
    }

    /// Whether symbols over a part of the block can be computed (CREM, Coded Retransmission).
    pub const fn has_retransmission(self) -> bool {
        matches!(self, Self::Cauchy)
    }

    //= CREM, Cauchy Code: 506c43f7
    /// C(i, j): what source `j` is multiplied by in repair symbol `i`; 0 where i + j = 255, which no valid pair reaches.
    pub const fn coefficient(self, i: u8, j: u8) -> u8 {
        match self {
            Self::Cauchy => gf::invert((255 - i) ^ j),
            Self::Xor => 1,
        }
    }
}

//= CREM, Cauchy Code: fc4c0f35
/// The repair symbols `first_index`, `first_index + 1`, ... over the sources given, one into each of `outputs`.
///
/// `positions[s]` is the position in its block of `sources[s]`; absent positions and those outside of the set L are
/// left out. Sources behind the first [`MAX_SOURCES`] are ignored.
///
/// # Panics
/// When sources and outputs are not all of one length.
pub fn encode(
    kernel: Kernel,
    code: Code,
    first_index: u8,
    positions: &[u8],
    sources: &[&[u8]],
    outputs: &mut [&mut [u8]],
) {
    /// As many outputs as the kernels take in one pass over the sources.
    const GROUP: usize = 4;
    let count = sources.len().min(positions.len()).min(MAX_SOURCES);
    let (positions, sources) = (&positions[..count], &sources[..count]);
    let mut index = first_index;
    for outputs in outputs.chunks_mut(GROUP) {
        let mut coefficients = [0; GROUP * MAX_SOURCES];
        if count > 0 {
            for row in coefficients.chunks_exact_mut(count).take(outputs.len()) {
                row.iter_mut().zip(positions).for_each(|(c, &j)| *c = code.coefficient(index, j));
                index = index.wrapping_add(1);
            }
        }
        kernel.dot(&coefficients, sources, outputs);
    }
}
