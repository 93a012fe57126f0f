//! Runs the parser.

use super::{headers, octets};
use crate::bits;
use crate::flight::Flight;
use crate::native::Native;
use crate::num::{index, low32};
use crate::program::{Case, Extract, HeaderShape, KeyPart, Lookahead, Program, Step};
use crate::state::{SetPart, SetState, State};

/// States one packet may pass: more than octets it can have, so that a loop without progress ends.
pub(crate) const MAX_STATES: u32 = 1 << 17;

/// Where the parser stopped.
type Outcome = Result<(), u32>;

/// Parses the packet from its first octet. An error ends the parser, not the packet.
pub(crate) fn parse(program: &Program, state: &mut State, flight: &mut Flight, now_ns: u64) {
    flight.parsed = 0;
    flight.last_emitted = 0;
    flight.in_place = true;
    flight.parser_error = program.parser.errors.no_error;
    if let Err(code) = states(program, state, flight, now_ns) {
        flight.parser_error = code;
        state.stats.parser_errors += 1;
    }
    flight.frame[program.own.checksum_error as usize] = 0;
    if let Some(code) = program.verify_code {
        super::run(program, state, flight, code, now_ns);
    }
    flight.checksum_error = flight.frame[program.own.checksum_error as usize] != 0;
}

fn states(program: &Program, state: &mut State, flight: &mut Flight, now_ns: u64) -> Outcome {
    let Some(start) = program.parser.start else { return Ok(()) };
    if let Some(native) = Native::of(program, state) {
        return native_states(native, program, state, flight, start, now_ns);
    }
    let mut next = Some(start);
    let mut count = 0;
    while let Some(at) = next {
        count += 1;
        if count > MAX_STATES {
            return Err(program.parser.errors.parser_timeout);
        }
        next = finish_state(program, state, flight, (at, 0), now_ns)?;
    }
    Ok(())
}

/// The same through native code, which keeps where it is in the frame and leaves single steps undone.
fn native_states(
    native: &Native,
    program: &Program,
    state: &mut State,
    flight: &mut Flight,
    start: usize,
    now_ns: u64,
) -> Outcome {
    let own = program.own;
    let show = |flight: &mut Flight| {
        let words = &mut flight.frame;
        words[own.parsed as usize] = flight.parsed as u64;
        words[own.in_place as usize] = u64::from(flight.in_place);
        words[own.last_emitted as usize] = flight.last_emitted.into();
    };
    let take = |flight: &mut Flight| {
        let words = &flight.frame;
        flight.parsed = index(words[own.parsed as usize]);
        flight.in_place = words[own.in_place as usize] != 0;
        flight.last_emitted = low32(words[own.last_emitted as usize]);
    };
    flight.frame[own.states as usize] = 0;
    show(flight);
    let mut at = start;
    loop {
        let left = native.parse(state, flight, at);
        take(flight);
        let Some(rest) = left else { return Ok(()) };
        if flight.frame[own.states as usize] > MAX_STATES.into() {
            return Err(program.parser.errors.parser_timeout);
        }
        match finish_state(program, state, flight, rest, now_ns)? {
            Some(next) => at = next,
            None => return Ok(()),
        }
        show(flight);
    }
}

/// Goes through a state from one of its steps on; gives the state that follows.
fn finish_state(
    program: &Program,
    state: &mut State,
    flight: &mut Flight,
    (at, done): (usize, usize),
    now_ns: u64,
) -> Result<Option<usize>, u32> {
    let here = &program.parser.states[at];
    for step in &here.steps[done..] {
        run_step(program, state, flight, step, now_ns)?;
    }
    if here.cases.is_empty() {
        return Ok(here.default);
    }
    for look in &here.lookaheads {
        read_ahead(flight, look);
    }
    if let Some(code) = here.key_code {
        super::run(program, state, flight, code, now_ns);
    }
    if let Some(select) = &here.select {
        let part = |&(slot, mask, place): &(u32, u64, u32)| (flight.frame[slot as usize] & mask) << place;
        let key = select.parts.iter().fold(0, |key, p| key | part(p));
        let hit = select.cases.iter().find(|(value, mask, _)| key & mask == *value);
        return Ok(hit.map_or(here.default, |(_, _, to)| *to));
    }
    for case in &here.cases {
        let (hit, to) = match case {
            Case::Value { value, mask, next } => (matches(&here.parts, &flight.frame, value, mask), next),
            Case::Set { set, mask, next } => {
                let set = &state.value_sets[*set];
                (in_set(&here.parts, &flight.frame, set, mask.as_deref()), next)
            }
        };
        if hit {
            return Ok(*to);
        }
    }
    Ok(here.default)
}

fn words<'a>(parts: &'a [KeyPart], frame: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
    parts.iter().flat_map(|p| frame[p.slot as usize..p.slot as usize + p.bits.div_ceil(64)].iter().copied())
}

fn matches(parts: &[KeyPart], frame: &[u64], value: &[u64], mask: &[u64]) -> bool {
    // Every part in a word of its own, as nearly always.
    if parts.len() == value.len() {
        let mut all = parts.iter().zip(value).zip(mask);
        return all.all(|((p, v), m)| frame[p.slot as usize] & m == *v);
    }
    words(parts, frame).zip(value).zip(mask).all(|((k, v), m)| k & m == *v)
}

fn in_set(parts: &[KeyPart], frame: &[u64], set: &SetState, outer: Option<&[u64]>) -> bool {
    set.members.iter().any(|member| {
        let mut at = 0;
        parts.iter().zip(member).all(|(p, part)| {
            let key = &frame[p.slot as usize..p.slot as usize + p.bits.div_ceil(64)];
            let outer = |i: usize| outer.map_or(u64::MAX, |mask| mask[at + i]);
            let same = match part {
                SetPart::Masked(value, mask) => {
                    let mut words = key.iter().zip(value).zip(mask).enumerate();
                    words.all(|(i, ((k, v), m))| (k ^ v) & m & outer(i) == 0)
                }
                SetPart::Range(low, high) => (low..=high).contains(&&(key[0] & outer(0))),
            };
            at += key.len();
            same
        })
    })
}

fn read_ahead(flight: &mut Flight, look: &Lookahead) {
    let end = flight.parsed + (look.offset + look.bits).div_ceil(8);
    flight.packet.materialise(end);
    let data = flight.packet.head.get(flight.parsed..).unwrap_or(&[]);
    let slot = look.slot as usize;
    bits::read_words(data, look.offset, look.bits, &mut flight.frame[slot..slot + look.bits.div_ceil(64)]);
}

fn run_step(program: &Program, state: &mut State, flight: &mut Flight, step: &Step, now_ns: u64) -> Outcome {
    let errors = &program.parser.errors;
    match step {
        Step::Code(code) => super::run(program, state, flight, *code, now_ns),
        Step::Extract { what, length } => {
            let variable_bits = match length {
                None => None,
                Some((code, slot)) => {
                    super::run(program, state, flight, *code, now_ns);
                    Some(flight.frame[*slot as usize])
                }
            };
            extract_into(program, flight, *what, variable_bits)?;
        }
        Step::Lookahead(look) => {
            if flight.payload_octets() < look.bits.div_ceil(8) {
                return Err(errors.packet_too_short);
            }
            read_ahead(flight, look);
        }
        Step::Verify { code, condition, error } => {
            super::run(program, state, flight, *code, now_ns);
            if flight.frame[*condition as usize] == 0 {
                return Err(low32(flight.frame[*error as usize]));
            }
        }
        Step::Advance { code, bits } => {
            super::run(program, state, flight, *code, now_ns);
            let bits = flight.frame[*bits as usize];
            if !bits.is_multiple_of(8) {
                return Err(errors.invalid_argument);
            }
            if bits / 8 > flight.payload_octets() as u64 {
                return Err(errors.packet_too_short);
            }
            flight.parsed += index(bits / 8);
            flight.in_place &= bits == 0;
            flight.packet.materialise(flight.parsed);
        }
    }
    Ok(())
}

fn extract_into(program: &Program, flight: &mut Flight, what: Extract, variable: Option<u64>) -> Outcome {
    let errors = &program.parser.errors;
    let (header, next) = match what {
        Extract::Header(h) => (h, None),
        Extract::Stack(s) => {
            let stack = &program.stacks[s];
            let at = index(flight.frame[stack.next as usize]);
            (stack.elements.get(at).ok_or(errors.stack_out_of_bounds)?[0], Some(stack.next))
        }
        Extract::UnionStack(s, member) => {
            let stack = &program.union_stacks[s];
            let at = index(flight.frame[stack.next as usize]);
            let union = stack.elements.get(at).ok_or(errors.stack_out_of_bounds)?;
            (union[member], Some(stack.next))
        }
    };
    extract(program, flight, header, variable)?;
    if let Some(slot) = next {
        flight.frame[slot as usize] += 1;
    }
    Ok(())
}

/// A header is about to be extracted from where the parser is.
fn note(shape: &HeaderShape, flight: &mut Flight) {
    flight.in_place &= shape.emitted > flight.last_emitted
        && shape.union.is_none()
        && shape.kept.is_some()
        && !headers::is_valid(shape, &flight.frame);
    flight.last_emitted = shape.emitted;
}

fn extract(program: &Program, flight: &mut Flight, header: usize, variable: Option<u64>) -> Outcome {
    let errors = &program.parser.errors;
    let shape = &program.headers[header];
    let mut length = shape.fixed_octets;
    let mut variable_bits = 0;
    if let (Some(bits), Some(position)) = (variable, shape.variable) {
        if !bits.is_multiple_of(8) {
            return Err(errors.invalid_argument);
        }
        // In this order, as BMv2 checks them.
        let more = usize::try_from(bits / 8).unwrap_or(usize::MAX);
        length = length.saturating_add(more);
        if flight.payload_octets() < length {
            return Err(errors.packet_too_short);
        }
        if (shape.max_octets != 0 && length > shape.max_octets)
            || bits > u64::from(shape.fields[position].bits)
        {
            return Err(errors.header_too_short);
        }
        variable_bits = index(bits);
    } else if flight.payload_octets() < length {
        return Err(errors.packet_too_short);
    }
    flight.packet.materialise(flight.parsed + length);
    note(shape, flight);
    let frame = &mut flight.frame[..];
    frame[shape.origin as usize] = flight.parsed as u64 + 1;
    if let Some(kept) = &shape.kept {
        octets::read(&kept.mentioned, &flight.packet.head[flight.parsed..], frame);
        headers::set_valid(program, frame, header);
        flight.parsed += length;
        return Ok(());
    }
    let data = &flight.packet.head[flight.parsed..flight.parsed + length];
    let mut after = 0;
    for f in &shape.fields {
        let slot = f.slot as usize;
        let at = f.at as usize + after;
        if f.variable {
            frame[slot - 1] = variable_bits as u64;
            let limbs = (f.bits as usize).div_ceil(64);
            bits::read_words(data, at, variable_bits, &mut frame[slot..slot + limbs]);
            after = variable_bits;
        } else if f.bits <= 64 {
            let value = bits::read(data, at, f.bits as usize);
            frame[slot] = if f.signed { super::sign_extend(value, f.bits) } else { value };
        } else {
            let limbs = (f.bits as usize).div_ceil(64);
            bits::read_words(data, at, f.bits as usize, &mut frame[slot..slot + limbs]);
        }
    }
    headers::set_valid(program, frame, header);
    flight.parsed += length;
    Ok(())
}
