//! Hash inputs, and the checksums made of them.

use super::{headers, octets};
use crate::bits::Writer;
use crate::flight::Flight;
use crate::layout::mask;
use crate::num::index;
use crate::program::{Calculation, HeaderShape, Input, Program};
use crate::state::State;

/// Appends a valid header's fields.
pub(crate) fn put_header(writer: &mut Writer, h: &HeaderShape, frame: &[u64]) {
    for f in &h.fields {
        let slot = f.slot as usize;
        if f.variable {
            let bits = index(frame[slot - 1]);
            writer.put_words(&frame[slot..slot + bits.div_ceil(64)], bits);
        } else if f.bits <= 64 {
            writer.put(frame[slot], f.bits);
        } else {
            writer.put_words(&frame[slot..slot + (f.bits as usize).div_ceil(64)], f.bits as usize);
        }
    }
}

/// The hash of a calculation's input as it is now.
pub(crate) fn compute(program: &Program, state: &mut State, flight: &Flight, c: &Calculation) -> u64 {
    let frame = &flight.frame[..];
    if let Some(pieces) = &c.sum {
        return octets::checksum(pieces, frame);
    }
    if let Some(chunks) = &c.chunks {
        let octets = chunks.iter().map(|c| usize::from(c.octets)).sum::<usize>() + octets::SLACK;
        if state.octets.len() < octets {
            state.octets.resize(octets, 0);
        }
        let end = octets::write(chunks, frame, &mut state.octets, 0);
        return c.algorithm.compute(&state.octets[..end]);
    }
    state.octets.clear();
    let mut writer = Writer::new(&mut state.octets);
    for input in &c.inputs {
        match input {
            Input::Field { slot, bits, valid, variable } => {
                if valid.is_some_and(|v| frame[v as usize] == 0) {
                    continue;
                }
                let slot = *slot as usize;
                let bits = if *variable { index(frame[slot - 1]) } else { *bits as usize };
                writer.put_words(&frame[slot..slot + bits.div_ceil(64)], bits);
            }
            Input::Constant { words, bits } => writer.put_words(words, *bits),
            Input::Header(h) => {
                let shape = &program.headers[*h];
                if headers::is_valid(shape, frame) {
                    put_header(&mut writer, shape, frame);
                }
            }
        }
    }
    writer.finish();
    if c.payload {
        let packet = &flight.packet;
        let limit = flight.truncate.min(flight.payload_octets());
        let real = packet.head.get(flight.parsed..).unwrap_or(&[]);
        let real = &real[..real.len().min(limit)];
        state.octets.extend_from_slice(real);
        if !c.algorithm.ignores_zeros() {
            let octets = state.octets.len() + limit - real.len();
            state.octets.resize(octets, 0);
        }
    }
    c.algorithm.compute(&state.octets)
}

/// Compares one checksum.
pub(super) fn verify(program: &Program, state: &mut State, flight: &mut Flight, checksum: usize) {
    let c = &program.checksums[checksum];
    let computed = compute(program, state, flight, &program.calculations[c.calculation]);
    let wrong = u64::from(computed != flight.frame[c.slot as usize]);
    flight.frame[program.own.checksum_error as usize] |= wrong;
}

/// Sets one checksum.
pub(super) fn update(program: &Program, state: &mut State, flight: &mut Flight, checksum: usize) {
    let c = &program.checksums[checksum];
    let computed = compute(program, state, flight, &program.calculations[c.calculation]);
    flight.frame[c.slot as usize] = computed & mask(c.bits as usize);
}
