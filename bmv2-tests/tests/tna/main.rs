//! The Tofino program, without a chip: what its P4Info has in common with v1model's, and models of what its code does otherwise,
//! held against the rules and the vectors that the v1model program is tested with (`docs/tofino.md` lists the differences).

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod flows;
mod intervals;
mod parity;
mod rates;
