//! From fields back to octets.

use super::octets::{self, SLACK};
use super::{hash_input, headers};
use crate::bits::Writer;
use crate::flight::Flight;
use crate::native::Native;
use crate::num::index;
use crate::program::Program;
use crate::state::State;

/// Octets that the valid headers would take.
pub(crate) fn header_octets(program: &Program, flight: &Flight) -> usize {
    if in_place(program, flight) {
        return flight.parsed;
    }
    valid(program, &flight.frame).map(|h| headers::octets(&program.headers[h], &flight.frame)).sum()
}

/// The valid headers, in the order in which they leave.
fn valid<'a>(program: &'a Program, frame: &'a [u64]) -> impl Iterator<Item = usize> + 'a {
    let all = program.emit_valid.iter().zip(&program.emit);
    all.filter(|&(&valid, _)| frame[valid as usize] != 0).map(|(_, &h)| h)
}

/// Whether the valid headers are those that were extracted, all of them, in the order in which they leave and with nothing
/// between them: what the program changed can then be put over what is in the packet.
fn in_place(program: &Program, flight: &Flight) -> bool {
    flight.in_place && program.plain_headers
}

/// Updates checksums and puts the valid headers before the payload. Nothing is cut yet.
pub(crate) fn deparse(program: &Program, state: &mut State, flight: &mut Flight, now_ns: u64) {
    if let Some(code) = program.update_code {
        super::run(program, state, flight, code, now_ns);
    }
    // Sizes are fixed before the deparser's own code runs, as in BMv2.
    if let Some(code) = program.deparser_code {
        super::run(program, state, flight, code, now_ns);
    }
    if in_place(program, flight) {
        if !Native::of(program, state).is_some_and(|native| native.patch(state, flight)) {
            patch(program, flight);
        }
        flight.parsed = 0;
        return;
    }
    // The scratch space only grows; what stands in it from before is overwritten or not read.
    let mut at = 0;
    for h in valid(program, &flight.frame) {
        let shape = &program.headers[h];
        let end = at + headers::octets(shape, &flight.frame);
        if state.octets.len() < end + SLACK {
            state.octets.resize(end + SLACK, 0);
        }
        if let Some(kept) = &shape.kept {
            let origin = index(flight.frame[shape.origin as usize]);
            if let Some(origin) = origin.checked_sub(1)
                && let Some(old) = flight.packet.head.get(origin..origin + shape.fixed_octets)
            {
                state.octets[at..end].copy_from_slice(old);
                octets::patch(&kept.written, &flight.frame, &mut state.octets[..end], at);
                at = end;
            } else {
                at = octets::write(&kept.all, &flight.frame, &mut state.octets, at);
            }
        } else {
            state.octets.truncate(at);
            let mut writer = Writer::new(&mut state.octets);
            hash_input::put_header(&mut writer, shape, &flight.frame);
            writer.finish();
            at = state.octets.len();
        }
    }
    let new = state.octets.get(..at).unwrap_or(&[]);
    replace_front(&mut flight.packet.head, flight.parsed, new);
    flight.parsed = 0;
}

/// Puts the fields that may have changed over the octets of the valid headers, which are where they came.
fn patch(program: &Program, flight: &mut Flight) {
    for h in valid(program, &flight.frame) {
        let shape = &program.headers[h];
        if let (Some(kept), Some(start)) = (&shape.kept, flight.frame[shape.origin as usize].checked_sub(1)) {
            octets::patch(&kept.written, &flight.frame, &mut flight.packet.head, index(start));
        }
    }
}

/// Replaces the first `old` octets.
fn replace_front(head: &mut Vec<u8>, old: usize, new: &[u8]) {
    let old = old.min(head.len());
    let rest = head.len() - old;
    if new.len() > old {
        head.resize(new.len() + rest, 0);
        head.copy_within(old..old + rest, new.len());
    } else if new.len() < old {
        head.copy_within(old.., new.len());
        head.truncate(new.len() + rest);
    }
    head[..new.len()].copy_from_slice(new);
}
