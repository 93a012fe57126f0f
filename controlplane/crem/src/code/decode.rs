//! Lost source symbols from the others and from repair symbols.

use wire::crem::Bitmap;

use super::{Code, Kernel, MAX_SOURCES, gf};

/// A repair symbol that came.
#[derive(Clone, Copy, Debug)]
pub struct RepairSymbol<'a> {
    /// Its Repair Index.
    pub index: u8,
    /// The set L: the positions that it sums.
    pub over: Bitmap,
    /// T octets.
    pub octets: &'a [u8],
}

/// Not enough symbols to solve for what is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{unknown} unknown sources and {usable} repair symbols over them; there should be as many")]
pub struct Undecodable {
    /// Sources to solve for.
    pub unknown: usize,
    /// Repair symbols of different indices that sum all of them.
    pub usable: usize,
}

/// What [`Decoder::decode`] solved for.
#[derive(Clone, Copy, Debug)]
pub struct Recovered<'a> {
    unknown: Bitmap,
    symbols: &'a [u8],
    octets: usize,
}

impl<'a> Recovered<'a> {
    /// The positions with their symbols.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        self.unknown.iter().zip(self.symbols.chunks(self.octets.max(1)))
    }
}

/// Solves for unknown sources; keeps its buffers, so that only the first blocks allocate.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// Rows of coefficients, one per unknown.
    rows: Vec<u8>,
    /// The recovered symbols, one after the other.
    recovered: Vec<u8>,
}

impl Decoder {
    //= CREM, Cauchy Code: 7fa98556
    /// Solves for the sources `unknown`, given those of `known` through `source` and `repairs`, of which as many are used as
    /// needed. Every symbol has `octets` octets.
    ///
    /// Work: a pass over all symbols per four unknown sources, and a square of the unknown times the known in table
    /// look-ups.
    ///
    /// # Errors
    /// [`Undecodable`] when there are fewer usable repair symbols than unknown sources.
    ///
    /// # Panics
    /// When a symbol has another length than `octets`.
    pub fn decode<'s>(
        &mut self,
        kernel: Kernel,
        code: Code,
        (unknown, known): (Bitmap, Bitmap),
        source: impl Fn(u8) -> &'s [u8],
        repairs: &[RepairSymbol<'s>],
        octets: usize,
    ) -> Result<Recovered<'_>, Undecodable> {
        let mut chosen = [RepairSymbol { index: 0, over: Bitmap::EMPTY, octets: &[] }; MAX_SOURCES];
        let usable = choose(repairs, &unknown, &mut chosen);
        let count = unknown.len();
        // A single symbol for all of a block solves for one unknown; see Code::indices.
        if usable < count {
            return Err(Undecodable { unknown: count, usable });
        }
        let known = known.without(&unknown);
        let columns = known.len() + count;
        let chosen = &chosen[..count];

        let mut inputs: [&[u8]; MAX_SOURCES] = [&[]; MAX_SOURCES];
        let symbols = known.iter().map(source).chain(chosen.iter().map(|repair| repair.octets));
        inputs.iter_mut().zip(symbols).for_each(|(input, symbol)| *input = symbol);
        self.rows.clear();
        self.rows.resize(count * columns, 0);
        fill_rows(code, &unknown, &known, chosen, &mut self.rows);

        self.recovered.clear();
        self.recovered.resize(count * octets, 0);
        let rows = self.rows.chunks(4 * columns.max(1));
        for (rows, group) in rows.zip(self.recovered.chunks_mut((4 * octets).max(1))) {
            let mut outputs: [&mut [u8]; 4] = [&mut [], &mut [], &mut [], &mut []];
            let mut filled = 0;
            for (output, symbol) in outputs.iter_mut().zip(group.chunks_mut(octets)) {
                *output = symbol;
                filled += 1;
            }
            kernel.dot(rows, &inputs[..columns], &mut outputs[..filled]);
        }
        Ok(Recovered { unknown, symbols: &self.recovered, octets })
    }
}

/// Takes symbols of different indices that sum all unknown sources; says how many there are, up to what is needed.
fn choose<'a>(repairs: &[RepairSymbol<'a>], unknown: &Bitmap, chosen: &mut [RepairSymbol<'a>]) -> usize {
    let needed = unknown.len().min(chosen.len());
    let mut count = 0;
    for repair in repairs {
        if count == needed {
            break;
        }
        let new = chosen[..count].iter().all(|other| other.index != repair.index);
        if new && unknown.is_subset(&repair.over) {
            chosen[count] = *repair;
            count += 1;
        }
    }
    count
}

/// One row per unknown source c: its symbol is the sum over the repair symbols r of `inverse[c][r]` times (r minus what the known
/// sources contribute to it). The known sources' columns come first, then the repair symbols'.
fn fill_rows(code: Code, unknown: &Bitmap, known: &Bitmap, chosen: &[RepairSymbol<'_>], rows: &mut [u8]) {
    let columns = known.len() + chosen.len();
    for ((c, position), row) in unknown.iter().enumerate().zip(rows.chunks_exact_mut(columns.max(1))) {
        let (of_known, of_repairs) = row.split_at_mut(known.len());
        for (r, coefficient) in of_repairs.iter_mut().enumerate() {
            *coefficient = inverse(code, unknown, chosen, (c, position), r);
        }
        for (repair, factor) in chosen.iter().zip(of_repairs) {
            for (coefficient, j) in of_known.iter_mut().zip(known.iter()) {
                if repair.over.contains(j) {
                    *coefficient ^= gf::multiply(*factor, code.coefficient(repair.index, j));
                }
            }
        }
    }
}

/// The entry (c, r) of the inverse of the matrix C(i, j), with a row per repair symbol and a column per unknown source. The
/// inverse of a Cauchy matrix has a closed form; with `x + y` for both sum and difference it is the product over all rows
/// k and columns l of `x_k + y_c` and `x_r + y_l`, divided by `x_r + y_c` and by the differences of `x_r` and of `y_c` from all
/// others.
fn inverse(code: Code, unknown: &Bitmap, chosen: &[RepairSymbol<'_>], (c, y_c): (usize, u8), r: usize) -> u8 {
    if code == Code::Xor {
        return 1;
    }
    let x = |repair: &RepairSymbol<'_>| 255 - repair.index;
    let x_r = x(&chosen[r]);
    let (mut above, mut below) = (1, x_r ^ y_c);
    for (k, repair) in chosen.iter().enumerate() {
        above = gf::multiply(above, x(repair) ^ y_c);
        if k != r {
            below = gf::multiply(below, x_r ^ x(repair));
        }
    }
    for (l, y) in unknown.iter().enumerate() {
        above = gf::multiply(above, x_r ^ y);
        if l != c {
            below = gf::multiply(below, y_c ^ y);
        }
    }
    gf::multiply(above, gf::invert(below))
}
