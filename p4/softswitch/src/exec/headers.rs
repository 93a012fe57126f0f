//! Validity, copies and stacks of headers.

use crate::flight::Flight;
use crate::num::{index, size32};
use crate::ops::HeaderSel;
use crate::program::{HeaderShape, Program};

/// The header an instruction means; `None` beyond the stack.
pub(crate) fn select(sel: &HeaderSel, frame: &[u64]) -> Option<usize> {
    match sel {
        HeaderSel::Fixed(h) => Some(*h),
        HeaderSel::Element(slot, headers) => {
            let index = usize::try_from(frame[*slot as usize]).ok()?;
            headers.get(index).copied()
        }
    }
}

pub(crate) fn is_valid(h: &HeaderShape, frame: &[u64]) -> bool {
    frame[h.valid as usize] != 0
}

/// Whether what leaves doesn't depend on the header's validity.
fn unseen(h: &HeaderShape) -> bool {
    h.metadata || (h.emitted == 0 && h.union.is_none())
}

/// Octets of a header as it is now.
pub(crate) fn octets(h: &HeaderShape, frame: &[u64]) -> usize {
    let variable = h.variable.map_or(0, |v| frame[h.fields[v].slot as usize - 1]);
    h.fixed_octets + index(variable / 8)
}

/// Makes a header valid; another valid member of its union becomes invalid.
#[inline]
pub(crate) fn set_valid(program: &Program, frame: &mut [u64], header: usize) {
    let shape = &program.headers[header];
    if let Some(union) = shape.union {
        for &other in program.unions[union].iter().filter(|&&o| o != header) {
            frame[program.headers[other].valid as usize] = 0;
        }
    }
    frame[shape.valid as usize] = 1;
}

pub(crate) fn add(program: &Program, flight: &mut Flight, header: usize) {
    let shape = &program.headers[header];
    if shape.metadata || is_valid(shape, &flight.frame) {
        return;
    }
    let base = shape.valid as usize;
    flight.frame[base..base + shape.slots].fill(0);
    set_valid(program, &mut flight.frame, header);
    flight.in_place &= unseen(shape);
    flight.length = flight.length.wrapping_add(size32(shape.fixed_octets));
}

pub(crate) fn remove(program: &Program, flight: &mut Flight, header: usize) {
    let shape = &program.headers[header];
    if shape.metadata || !is_valid(shape, &flight.frame) {
        return;
    }
    let octets = octets(shape, &flight.frame);
    flight.frame[shape.valid as usize] = 0;
    flight.in_place &= unseen(shape);
    flight.length = flight.length.wrapping_sub(size32(octets));
}

/// Copies a header, validity included; the packet's length doesn't notice, as in BMv2.
pub(crate) fn assign(program: &Program, flight: &mut Flight, dst: usize, src: usize) {
    let (d, s) = (&program.headers[dst], &program.headers[src]);
    let frame = &mut flight.frame[..];
    if !s.metadata && !is_valid(s, frame) {
        if !d.metadata {
            flight.in_place &= unseen(d) || !is_valid(d, frame);
            frame[d.valid as usize] = 0;
        }
        return;
    }
    flight.in_place &= unseen(d);
    if !d.metadata {
        set_valid(program, frame, dst);
    }
    let from = s.valid as usize + 1;
    frame.copy_within(from..from + s.slots - 1, d.valid as usize + 1);
}

/// Swaps two headers of one type.
fn swap(program: &Program, frame: &mut [u64], a: usize, b: usize) {
    let (a, b) = (&program.headers[a], &program.headers[b]);
    for i in 0..a.slots {
        frame.swap(a.valid as usize + i, b.valid as usize + i);
    }
}

/// An element of a stack: one header, or the members of a union.
type Element = Vec<usize>;

fn swap_elements(program: &Program, frame: &mut [u64], a: &Element, b: &Element) {
    for (&x, &y) in a.iter().zip(b.iter()) {
        swap(program, frame, x, y);
    }
}

/// Makes room for `count` elements at the front. Pushed elements are invalid headers; BMv2 leaves pushed unions as the
/// rotation brings them.
pub(crate) fn push(
    program: &Program,
    frame: &mut [u64],
    elements: &[Element],
    next: usize,
    count: u64,
    unions: bool,
) {
    let size = elements.len();
    if count == 0 {
        return;
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    frame[next] = index(frame[next]).saturating_add(count).min(size) as u64;
    for i in (count..size).rev() {
        swap_elements(program, frame, &elements[i], &elements[i - count]);
    }
    invalidate(program, frame, &elements[..count.min(size)], unions);
}

/// Takes `count` elements from the front.
pub(crate) fn pop(
    program: &Program,
    frame: &mut [u64],
    elements: &[Element],
    next: usize,
    count: u64,
    unions: bool,
) {
    let size = elements.len();
    if count == 0 {
        return;
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    frame[next] = index(frame[next]).saturating_sub(count) as u64;
    let kept = size.saturating_sub(count);
    for i in 0..kept {
        swap_elements(program, frame, &elements[i], &elements[i + count]);
    }
    invalidate(program, frame, &elements[kept..], unions);
}

fn invalidate(program: &Program, frame: &mut [u64], elements: &[Element], unions: bool) {
    if unions {
        return;
    }
    for &h in elements.iter().flatten() {
        frame[program.headers[h].valid as usize] = 0;
    }
}
