//! Runs instructions on a packet.

mod deparse;
mod externs;
mod hash_input;
mod headers;
mod octets;
mod parse;
mod pipeline;
mod wide;

pub(crate) use deparse::{deparse, header_octets};
pub(crate) use parse::parse;
pub(crate) use pipeline::apply;

use crate::flight::Flight;
use crate::layout::mask;
use crate::num::index;
use crate::ops::Op;
use crate::program::Program;
use crate::state::{Register, State};

fn signed(v: u64) -> i64 {
    v.cast_signed()
}

/// The largest value of `bits` signed bits.
fn signed_max(bits: u32) -> u64 {
    mask(bits.clamp(1, 64) as usize - 1)
}

fn sign_extend(v: u64, bits: u32) -> u64 {
    if bits == 0 {
        return 0;
    }
    let up = 64 - bits.min(64);
    (signed(v << up) >> up).cast_unsigned()
}

/// Why plain instructions stopped.
enum Stop {
    /// At the instruction here, which needs more than the frame.
    Effect(usize),
    /// At a backward jump to here.
    Back(usize),
    Return,
}

/// Runs code from `pc` to its return. The time is in ns.
pub(crate) fn run(program: &Program, state: &mut State, flight: &mut Flight, pc: u32, now_ns: u64) {
    let mut pc = pc as usize;
    // Where the pipeline goes on after the action that a table chose.
    let mut after = None;
    loop {
        match plain(program, &mut state.registers, &mut flight.frame, pc) {
            Stop::Return => match after.take() {
                Some(to) if !flight.exit => pc = to,
                _ => return,
            },
            Stop::Back(to) => {
                if !burn(flight) {
                    return;
                }
                pc = to;
            }
            Stop::Effect(at) => {
                pc = at + 1;
                match program.ops[at] {
                    Op::Extern { p } => {
                        externs::run(program, state, flight, &program.externs[p as usize], now_ns);
                        if flight.dead {
                            return;
                        }
                    }
                    Op::Table { t } => {
                        let (action, to) = pipeline::table(program, state, flight, t as usize, now_ns);
                        let to = to as usize;
                        if to < pc && !burn(flight) {
                            return;
                        }
                        pc = match action {
                            Some(action) => {
                                after = Some(to);
                                action as usize
                            }
                            None => to,
                        };
                    }
                    Op::EndIfExit if flight.exit => return,
                    _ => {}
                }
            }
        }
    }
}

/// Runs instructions that touch nothing but the frame and small registers.
#[allow(clippy::too_many_lines, reason = "one arm for each instruction; splitting hides the list")]
fn plain(program: &Program, registers: &mut [Register], fr: &mut [u64], pc: usize) -> Stop {
    let ops = &program.ops[..];
    let from = |pc: usize| ops.get(pc..).unwrap_or_default().iter();
    let mut code = from(pc);
    macro_rules! jump {
        ($to:expr) => {
            code = ops[$to as usize..].iter()
        };
    }
    loop {
        let Some(op) = code.next() else { return Stop::Return };
        match *op {
            Op::Copy { d, a } => fr[d as usize] = fr[a as usize],
            Op::Copies { first, n } => {
                for &(d, a) in &program.copies[first as usize..(first + n) as usize] {
                    fr[d as usize] = fr[a as usize];
                }
            }
            Op::CopyN { d, a, n } => fr.copy_within(a as usize..(a + n) as usize, d as usize),
            Op::Zero { d, n } => fr[d as usize..(d + n) as usize].fill(0),
            Op::Mask { d, a, bits } => fr[d as usize] = fr[a as usize] & mask(bits as usize),
            Op::Sext { d, a, bits } => fr[d as usize] = sign_extend(fr[a as usize], bits),
            Op::Add { d, a, b } => fr[d as usize] = fr[a as usize].wrapping_add(fr[b as usize]),
            Op::Sub { d, a, b } => fr[d as usize] = fr[a as usize].wrapping_sub(fr[b as usize]),
            Op::Mul { d, a, b } => fr[d as usize] = fr[a as usize].wrapping_mul(fr[b as usize]),
            Op::And { d, a, b } => fr[d as usize] = fr[a as usize] & fr[b as usize],
            Op::Or { d, a, b } => fr[d as usize] = fr[a as usize] | fr[b as usize],
            Op::Xor { d, a, b } => fr[d as usize] = fr[a as usize] ^ fr[b as usize],
            Op::Not { d, a } => fr[d as usize] = !fr[a as usize],
            Op::Shl { d, a, b } => {
                let by = fr[b as usize];
                fr[d as usize] = if by < 64 { fr[a as usize] << by } else { 0 };
            }
            Op::ShrU { d, a, b } => {
                let by = fr[b as usize];
                fr[d as usize] = if by < 64 { fr[a as usize] >> by } else { 0 };
            }
            Op::ShrS { d, a, b } => {
                fr[d as usize] = (signed(fr[a as usize]) >> fr[b as usize].min(63)).cast_unsigned();
            }
            Op::Div { d, a, b } => fr[d as usize] = fr[a as usize].checked_div(fr[b as usize]).unwrap_or(0),
            Op::Mod { d, a, b } => fr[d as usize] = fr[a as usize].checked_rem(fr[b as usize]).unwrap_or(0),
            Op::Eq { d, a, b } => fr[d as usize] = u64::from(fr[a as usize] == fr[b as usize]),
            Op::LtU { d, a, b } => fr[d as usize] = u64::from(fr[a as usize] < fr[b as usize]),
            Op::LtS { d, a, b } => {
                fr[d as usize] = u64::from(signed(fr[a as usize]) < signed(fr[b as usize]));
            }
            Op::LeU { d, a, b } => fr[d as usize] = u64::from(fr[a as usize] <= fr[b as usize]),
            Op::LeS { d, a, b } => {
                fr[d as usize] = u64::from(signed(fr[a as usize]) <= signed(fr[b as usize]));
            }
            Op::LogicalNot { d, a } => fr[d as usize] = u64::from(fr[a as usize] == 0),
            Op::ToBool { d, a } => fr[d as usize] = u64::from(fr[a as usize] != 0),
            Op::UsatU { d, a, bits } => fr[d as usize] = fr[a as usize].min(mask(bits as usize)),
            Op::UsatS { d, a, bits } => {
                fr[d as usize] = signed(fr[a as usize]).max(0).cast_unsigned().min(mask(bits as usize));
            }
            Op::SatU { d, a, bits } => fr[d as usize] = fr[a as usize].min(signed_max(bits)),
            Op::SatS { d, a, bits } => {
                let max = signed(signed_max(bits));
                fr[d as usize] = signed(fr[a as usize]).clamp(-max - 1, max).cast_unsigned();
            }
            Op::LoadIndexed { d, i, t } => {
                let t = program.indexed[t as usize];
                let (i, d) = (fr[i as usize], d as usize);
                if i < u64::from(t.count) {
                    let from = t.base as usize + index(i) * t.stride as usize;
                    fr.copy_within(from..from + t.limbs as usize, d);
                } else {
                    fr[d..d + t.limbs as usize].fill(0);
                }
            }
            Op::StoreIndexed { a, i, t } => {
                let t = program.indexed[t as usize];
                let (i, a) = (fr[i as usize], a as usize);
                if i < u64::from(t.count) {
                    let to = t.base as usize + index(i) * t.stride as usize;
                    fr.copy_within(a..a + t.limbs as usize, to);
                }
            }
            Op::Wide { d, w } => wide::store(&program.wide[w as usize], fr, d as usize),
            Op::AddI { d, a, imm } => fr[d as usize] = fr[a as usize].wrapping_add(u64::from(imm)),
            Op::AndI { d, a, imm } => fr[d as usize] = fr[a as usize] & u64::from(imm),
            Op::ShlI { d, a, imm } => fr[d as usize] = fr[a as usize] << (imm & 63),
            Op::ShrI { d, a, imm } => fr[d as usize] = fr[a as usize] >> (imm & 63),
            Op::EqN { d, a, b, n } => {
                let (a, b, n) = (a as usize, b as usize, usize::from(n));
                fr[d as usize] = u64::from(fr[a..a + n] == fr[b..b + n]);
            }
            Op::Jump { to } => jump!(to),
            Op::Back { to } => return Stop::Back(to as usize),
            Op::JumpZero { a, to } => {
                if fr[a as usize] == 0 {
                    jump!(to);
                }
            }
            Op::JumpNonZero { a, to } => {
                if fr[a as usize] != 0 {
                    jump!(to);
                }
            }
            Op::JumpEq { a, b, to } => {
                if fr[a as usize] == fr[b as usize] {
                    jump!(to);
                }
            }
            Op::JumpNe { a, b, to } => {
                if fr[a as usize] != fr[b as usize] {
                    jump!(to);
                }
            }
            Op::JumpEqI { a, imm, to } => {
                if fr[a as usize] == u64::from(imm) {
                    jump!(to);
                }
            }
            Op::JumpNeI { a, imm, to } => {
                if fr[a as usize] != u64::from(imm) {
                    jump!(to);
                }
            }
            Op::JumpLtU { a, b, to } => {
                if fr[a as usize] < fr[b as usize] {
                    jump!(to);
                }
            }
            Op::JumpLeU { a, b, to } => {
                if fr[a as usize] <= fr[b as usize] {
                    jump!(to);
                }
            }
            Op::RegisterRead { d, i, r } => {
                if let Some(&cell) = registers[r as usize].cells.get(fr[i as usize]) {
                    fr[d as usize] = cell;
                }
            }
            Op::RegisterWrite { a, i, r } => {
                if let Some(cell) = registers[r as usize].cells.get_mut(fr[i as usize]) {
                    *cell = fr[a as usize];
                }
            }
            Op::Return => return Stop::Return,
            Op::Extern { .. } | Op::Table { .. } | Op::EndIfExit => {
                return Stop::Effect(ops.len() - code.as_slice().len() - 1);
            }
        }
    }
}

/// Pays for a backward jump; a program that can't pay any more has run away.
fn burn(flight: &mut Flight) -> bool {
    flight.fuel = flight.fuel.saturating_sub(1);
    flight.dead |= flight.fuel == 0;
    !flight.dead
}
