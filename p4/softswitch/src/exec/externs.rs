//! What v1model's externs do.

use super::{hash_input, headers, sign_extend};
use crate::flight::{CLONE_REQUESTED, Flight};
use crate::layout::mask;
use crate::num::{low32, low64, size32};
use crate::ops::Extern;
use crate::program::Program;
use crate::state::State;

/// Identifiers are 16 bits wide in BMv2's packet registers.
fn id(frame: &[u64], slot: u32) -> u32 {
    low32(frame[slot as usize] & 0xffff)
}

#[allow(clippy::too_many_lines, reason = "one arm for each extern; splitting hides the list")]
pub(crate) fn run(program: &Program, state: &mut State, flight: &mut Flight, external: &Extern, now_ns: u64) {
    let frame = &mut flight.frame[..];
    match external {
        Extern::AddHeader(sel) => {
            if let Some(h) = headers::select(sel, frame) {
                headers::add(program, flight, h);
            }
        }
        Extern::RemoveHeader(sel) => {
            if let Some(h) = headers::select(sel, frame) {
                headers::remove(program, flight, h);
            }
        }
        Extern::AssignHeader { dst, src } => {
            if let (Some(d), Some(s)) = (headers::select(dst, frame), headers::select(src, frame)) {
                headers::assign(program, flight, d, s);
            }
        }
        Extern::Push { stack, count } | Extern::Pop { stack, count } => {
            let shape = &program.stacks[*stack];
            let (count, next) = (frame[*count as usize], shape.next as usize);
            flight.in_place = false;
            if matches!(external, Extern::Push { .. }) {
                headers::push(program, frame, &shape.elements, next, count, false);
            } else {
                headers::pop(program, frame, &shape.elements, next, count, false);
            }
        }
        Extern::PushUnions { stack, count } | Extern::PopUnions { stack, count } => {
            let shape = &program.union_stacks[*stack];
            let (count, next) = (frame[*count as usize], shape.next as usize);
            flight.in_place = false;
            if matches!(external, Extern::PushUnions { .. }) {
                headers::push(program, frame, &shape.elements, next, count, true);
            } else {
                headers::pop(program, frame, &shape.elements, next, count, true);
            }
        }
        Extern::Exit => flight.exit = true,
        Extern::MarkToDrop { egress_spec, egress_spec_mask, mcast_grp } => {
            frame[*egress_spec as usize] = state.drop_port & egress_spec_mask;
            if let Some(slot) = mcast_grp {
                frame[*slot as usize] = 0;
            }
        }
        Extern::Truncate(slot) => {
            let octets = usize::try_from(frame[*slot as usize]).unwrap_or(usize::MAX);
            flight.truncate = flight.truncate.min(octets);
        }
        Extern::Clone { session, list } => {
            flight.clone_session = id(frame, *session) | CLONE_REQUESTED;
            flight.clone_list = id(frame, *list);
        }
        Extern::Resubmit(slot) => flight.resubmit = id(frame, *slot),
        Extern::Recirculate(slot) => flight.recirculate = id(frame, *slot),
        Extern::Digest(slot) => flight.digest = id(frame, *slot),
        Extern::Hash { d, base, calculation, size } => {
            let (base, size) = (frame[*base as usize], frame[*size as usize].max(1));
            let hash = hash_input::compute(program, state, flight, &program.calculations[*calculation]);
            flight.frame[*d as usize] = (hash % size).wrapping_add(base);
        }
        Extern::Random { d, low, high } => {
            let (low, high) = (frame[*low as usize], frame[*high as usize]);
            if low <= high {
                let span = high - low;
                let random = state.next_random();
                // The product's high word spreads evenly over the span.
                let offset = if span == u64::MAX {
                    random
                } else {
                    low64((u128::from(random) * (u128::from(span) + 1)) >> 64)
                };
                frame[*d as usize] = low + offset;
            }
        }
        Extern::Count { counter, index } => {
            if let Some(cell) = state.counters[*counter].get_mut(frame[*index as usize]) {
                cell.packets = cell.packets.wrapping_add(1);
                cell.octets = cell.octets.wrapping_add(flight.ingress_octets as u64);
            }
        }
        Extern::Meter { meter, index, d } => {
            let array = &mut state.meters[*meter];
            let index = frame[*index as usize];
            let colour = match array.get(index) {
                None => return,
                Some(None) => 0,
                Some(Some(_)) => {
                    let units = if program.meters[*meter].octets { flight.ingress_octets as u64 } else { 1 };
                    match array.get_mut(index) {
                        Some(Some(m)) => m.execute(now_ns / 1000, units),
                        _ => 0,
                    }
                }
            };
            frame[*d as usize] = colour;
        }
        Extern::RegisterRead { d, limbs, bits, signed, register, index } => {
            let index = frame[*index as usize];
            if !state.registers.has(*register, index) {
                return;
            }
            for i in 0..*limbs {
                frame[*d as usize + i] = state.registers.limb(*register, index, i) & mask(bits - i * 64);
            }
            if *signed && *limbs == 1 {
                frame[*d as usize] = sign_extend(frame[*d as usize], size32(*bits));
            }
        }
        Extern::RegisterWrite { a, register, index } => {
            let index = frame[*index as usize];
            for i in 0..state.registers.limbs(*register) {
                state.registers.set_limb(*register, index, i, frame[*a as usize + i]);
            }
        }
        Extern::Verify(c) => hash_input::verify(program, state, flight, *c),
        Extern::Update(c) => hash_input::update(program, state, flight, *c),
        Extern::Assert(slot) => {
            if frame[*slot as usize] == 0 {
                state.stats.assertion_failures += 1;
                flight.dead = true;
            }
        }
    }
}
