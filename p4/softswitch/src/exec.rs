//! Runs instructions on a packet.

mod deparse;
mod externs;
mod hash_input;
mod headers;
mod octets;
mod parse;
mod pipeline;
mod plain;
mod wide;

pub(crate) use deparse::{deparse, header_octets};
pub(crate) use parse::{MAX_STATES, parse};
pub(crate) use pipeline::apply;
pub(crate) use plain::SMALL;

use crate::flight::Flight;
use crate::layout::mask;
use crate::native::Native;
use crate::ops::Op;
use crate::program::{END, Program};
use crate::state::State;
use plain::{Frame, Stop, plain};

fn signed(v: u64) -> i64 {
    v.cast_signed()
}

/// The largest value of `bits` signed bits.
pub(crate) fn signed_max(bits: u32) -> u64 {
    mask(bits.clamp(1, 64) as usize - 1)
}

fn sign_extend(v: u64, bits: u32) -> u64 {
    if bits == 0 {
        return 0;
    }
    let up = 64 - bits.min(64);
    (signed(v << up) >> up).cast_unsigned()
}

/// Runs code from `pc` to its return. The time is in ns.
pub(crate) fn run(program: &Program, state: &mut State, flight: &mut Flight, pc: u32, now_ns: u64) {
    if let Some(native) = Native::of(program, state)
        && let Some(entry) = native.entry(pc)
    {
        run_native(native, program, state, flight, entry, now_ns);
    } else if flight.frame.len() == SMALL {
        run_on::<[u64; SMALL]>(program, state, flight, pc, now_ns);
    } else {
        run_on::<[u64]>(program, state, flight, pc, now_ns);
    }
}

/// Where the code goes on after an instruction that needs more than the frame, and where after that one's action.
struct Then {
    pc: u32,
    after: u32,
}

fn run_native(
    native: &Native,
    program: &Program,
    state: &mut State,
    flight: &mut Flight,
    entry: u32,
    now_ns: u64,
) {
    let mut entry = entry;
    let own = program.own.after as usize;
    // Nothing follows a return.
    flight.frame[own] = 0;
    loop {
        let Some(at) = native.run(state, flight, entry) else { return };
        let pc = if let Some(&Op::Table { t }) = program.ops.get(at) {
            let (action, to) = pipeline::table(program, state, flight, t as usize, now_ns, true);
            if to as usize <= at && !burn(flight) {
                return;
            }
            if let Some(action) = action {
                flight.frame[own] = native.number(to);
                action
            } else {
                to
            }
        } else {
            let Some(then) = effect(program, state, flight, at, now_ns) else { return };
            then.pc
        };
        if flight.exit {
            // The action runs to its end, and nothing follows it.
            flight.frame[own] = 0;
        }
        match native.entry(pc) {
            Some(next) => entry = next,
            // There is code for everything that can follow; what ends the pipeline has none.
            None => return,
        }
    }
}

fn run_on<F: Frame + ?Sized>(
    program: &Program,
    state: &mut State,
    flight: &mut Flight,
    pc: u32,
    now_ns: u64,
) {
    let mut pc = pc as usize;
    // Where the pipeline goes on after the action that a table chose.
    let mut after = END;
    loop {
        let Some(frame) = F::of(&mut flight.frame) else { return };
        let at = match plain(program, &mut state.registers, frame, pc, &mut after) {
            Stop::Return => return,
            Stop::Effect(at) => at,
        };
        let Some(then) = effect(program, state, flight, at, now_ns) else { return };
        pc = then.pc as usize;
        if then.after != END {
            after = then.after;
        }
        if flight.exit {
            after = END;
        }
    }
}

/// Executes one instruction that needs more than the frame, or that native code leaves to others; `None` ends the run.
#[inline]
fn effect(program: &Program, state: &mut State, flight: &mut Flight, at: usize, now_ns: u64) -> Option<Then> {
    let next = crate::num::size32(at) + 1;
    let then = Then { pc: next, after: END };
    match *program.ops.get(at)? {
        Op::Table { t } => {
            let (action, to) = pipeline::table(program, state, flight, t as usize, now_ns, false);
            if to < next && !burn(flight) {
                return None;
            }
            return Some(match action {
                Some(action) => Then { pc: action, after: to },
                None => Then { pc: to, after: END },
            });
        }
        Op::Extern { p } => {
            externs::run(program, state, flight, &program.externs[p as usize], now_ns);
            if flight.dead {
                return None;
            }
        }
        Op::Back { to } => {
            return burn(flight).then_some(Then { pc: to, after: END });
        }
        Op::EndIfExit if flight.exit => return None,
        Op::Wide { d, w } => wide::store(&program.wide[w as usize], &mut flight.frame, d as usize),
        Op::CopyN { d, a, n } => {
            flight.frame.copy_within(a as usize..(a + n) as usize, d as usize);
        }
        Op::Zero { d, n } => flight.frame[d as usize..(d + n) as usize].fill(0),
        Op::RegisterRead { d, i, r } => {
            if let Some(cell) = state.registers.get(r, flight.frame[i as usize]) {
                flight.frame[d as usize] = cell;
            }
        }
        Op::RegisterWrite { a, i, r } => {
            state.registers.set(r, flight.frame[i as usize], flight.frame[a as usize]);
        }
        _ => {}
    }
    Some(then)
}

/// Pays for a backward jump; a program that can't pay any more has run away.
fn burn(flight: &mut Flight) -> bool {
    flight.fuel = flight.fuel.saturating_sub(1);
    flight.dead |= flight.fuel == 0;
    !flight.dead
}
