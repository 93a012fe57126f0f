//! Finds the fields that nothing in a program mentions, so that they can stay where they are in the packet.
//!
//! A field is mentioned where its slot is: by an instruction, a key, a list, a hash, a checksum. Copies of whole headers
//! mention nothing: they take along where the header was extracted from, and with it what its fields were. So what is
//! found for one header holds for all headers of its type.

use crate::layout::{Intrinsic, Slot};
use crate::num::size32;
use crate::ops::{Extern, HeaderSel, Op, Wide};
use crate::program::{
    Calculation, FieldCopy, HeaderShape, Input, Program, ShapeField, Step, patches, some_of,
};

/// What becomes of slots.
struct Slots {
    mentioned: Vec<bool>,
    written: Vec<bool>,
}

impl Slots {
    fn read(&mut self, slot: Slot) {
        self.read_all(slot, 1);
    }

    fn read_all(&mut self, slot: Slot, n: usize) {
        let slot = slot as usize;
        self.mentioned.iter_mut().skip(slot).take(n).for_each(|m| *m = true);
    }

    fn write(&mut self, slot: Slot) {
        self.write_all(slot, 1);
    }

    fn write_all(&mut self, slot: Slot, n: usize) {
        self.read_all(slot, n);
        self.written.iter_mut().skip(slot as usize).take(n).for_each(|w| *w = true);
    }

    fn op(&mut self, program: &Program, mut op: Op) {
        if let Some(&mut d) = op.result() {
            self.write(d);
        }
        for slot in op.sources().into_iter().flatten() {
            self.read(*slot);
        }
        match op {
            Op::Copies { first, n } => {
                for &(d, a) in &program.copies[first as usize..(first + n) as usize] {
                    self.read(a);
                    self.write(d);
                }
            }
            Op::CopyN { d, a, n } => {
                self.read_all(a, n as usize);
                self.write_all(d, n as usize);
            }
            Op::Zero { d, n } => self.write_all(d, n as usize),
            Op::LoadIndexed { d, i, t } => {
                self.read(i);
                self.write_all(d, program.indexed[t as usize].limbs as usize);
                self.elements(program, t, Slots::read_all);
            }
            Op::StoreIndexed { a, i, t } => {
                self.read(i);
                self.read_all(a, program.indexed[t as usize].limbs as usize);
                self.elements(program, t, Slots::write_all);
            }
            Op::Wide { d, w } => {
                let wide = &program.wide[w as usize];
                self.write_all(d, wide.limbs);
                self.wide(&wide.ex);
            }
            Op::EqN { d, a, b, n } => {
                self.write(d);
                self.read_all(a, n.into());
                self.read_all(b, n.into());
            }
            Op::RegisterRead { d, .. } => self.write(d),
            _ => {}
        }
    }

    /// The field of every element of a stack.
    fn elements(&mut self, program: &Program, t: u32, touch: fn(&mut Slots, Slot, usize)) {
        let t = program.indexed[t as usize];
        for i in 0..t.count {
            touch(self, t.base + i * t.stride, t.limbs as usize);
        }
    }

    fn wide(&mut self, ex: &Wide) {
        match ex {
            Wide::Const(_) => {}
            Wide::Word(slot, _) => self.read(*slot),
            Wide::Words { slot, limbs, .. } => self.read_all(*slot, *limbs),
            Wide::Un(_, a) => self.wide(a),
            Wide::Bin(_, a, b) => {
                self.wide(a);
                self.wide(b);
            }
            Wide::If(c, a, b) => {
                self.wide(c);
                self.wide(a);
                self.wide(b);
            }
        }
    }

    fn header(&mut self, sel: &HeaderSel) {
        if let HeaderSel::Element(slot, _) = sel {
            self.read(*slot);
        }
    }

    fn external(&mut self, program: &Program, external: &Extern) {
        match external {
            Extern::AddHeader(h) | Extern::RemoveHeader(h) => self.header(h),
            Extern::AssignHeader { dst, src } => {
                self.header(dst);
                self.header(src);
            }
            Extern::Push { count, .. }
            | Extern::Pop { count, .. }
            | Extern::PushUnions { count, .. }
            | Extern::PopUnions { count, .. } => self.read(*count),
            Extern::Exit | Extern::Verify(_) => {}
            Extern::MarkToDrop { egress_spec, mcast_grp, .. } => {
                self.write(*egress_spec);
                if let Some(slot) = mcast_grp {
                    self.write(*slot);
                }
            }
            Extern::Truncate(slot)
            | Extern::Resubmit(slot)
            | Extern::Recirculate(slot)
            | Extern::Digest(slot)
            | Extern::Assert(slot) => self.read(*slot),
            Extern::Clone { session, list } => {
                self.read(*session);
                self.read(*list);
            }
            Extern::Hash { d, base, size, .. } => {
                self.read(*base);
                self.read(*size);
                self.write(*d);
            }
            Extern::Random { d, low, high } => {
                self.read(*low);
                self.read(*high);
                self.write(*d);
            }
            Extern::Count { index, .. } => self.read(*index),
            Extern::Meter { index, d, .. } => {
                self.read(*index);
                self.write(*d);
            }
            Extern::RegisterRead { d, limbs, index, .. } => {
                self.read(*index);
                self.write_all(*d, *limbs);
            }
            Extern::RegisterWrite { a, register, index } => {
                self.read(*index);
                self.read_all(*a, program.registers[*register].width.div_ceil(64));
            }
            Extern::Update(c) => self.write(program.checksums[*c].slot),
        }
    }

    fn calculation(&mut self, program: &Program, c: &Calculation) {
        for input in &c.inputs {
            match input {
                Input::Field { slot, bits, variable, .. } => {
                    let before = u32::from(*variable);
                    self.read_all(slot - before, (bits.div_ceil(64) + before) as usize);
                }
                Input::Constant { .. } => {}
                Input::Header(h) => {
                    let h = &program.headers[*h];
                    self.read_all(h.valid, h.slots);
                }
            }
        }
    }

    fn list(&mut self, list: &[FieldCopy]) {
        for c in list {
            self.write_all(c.slot, c.limbs);
        }
    }

    fn parser(&mut self, program: &Program) {
        for state in &program.parser.states {
            for step in &state.steps {
                match step {
                    Step::Extract { length, .. } => length.iter().for_each(|&(_, slot)| self.read(slot)),
                    Step::Lookahead(look) => self.write_all(look.slot, look.bits.div_ceil(64)),
                    Step::Code(_) => {}
                    Step::Verify { condition, error, .. } => {
                        self.read(*condition);
                        self.read(*error);
                    }
                    Step::Advance { bits, .. } => self.read(*bits),
                }
            }
            for look in &state.lookaheads {
                self.write_all(look.slot, look.bits.div_ceil(64));
            }
            for part in &state.parts {
                self.read_all(part.slot, part.bits.div_ceil(64));
            }
        }
    }

    fn tables(&mut self, program: &Program) {
        for table in &program.control.tables {
            for word in &table.key_words {
                self.read(word.slot);
                self.read(word.valid);
            }
            table.direct_meter.iter().for_each(|m| self.write(m.slot));
        }
    }
}

/// What the switch itself reads and writes.
fn intrinsics(program: &Program) -> impl Iterator<Item = Intrinsic> {
    let s = program.standard;
    let always = [s.ingress_port, s.packet_length, s.instance_type, s.egress_spec, s.egress_port];
    let maybe = [
        s.ingress_timestamp,
        s.egress_timestamp,
        s.mcast_grp,
        s.egress_rid,
        s.priority,
        s.enq_timestamp,
        s.enq_qdepth,
        s.deq_timedelta,
        s.deq_qdepth,
        s.qid,
        s.parser_error,
        s.checksum_error,
    ];
    always.into_iter().chain(maybe.into_iter().flatten())
}

fn slots(program: &Program) -> Slots {
    let n = program.frame.len();
    let mut slots = Slots { mentioned: vec![false; n], written: vec![false; n] };
    program.ops.iter().for_each(|op| slots.op(program, *op));
    program.externs.iter().for_each(|external| slots.external(program, external));
    let calculations = program.calculations.iter().chain(program.control.selectors.iter().flatten());
    calculations.for_each(|c| slots.calculation(program, c));
    program.checksums.iter().for_each(|c| slots.read(c.slot));
    program.field_lists.values().chain(program.digests.values()).for_each(|list| slots.list(list));
    slots.parser(program);
    slots.tables(program);
    intrinsics(program).for_each(|field| slots.write(field.slot));
    slots
}

/// The slots that are touched in some header of each type, counted from the header's own: mentioned, and written.
fn of_types(program: &Program, slots: &Slots) -> Vec<(Vec<bool>, Vec<bool>)> {
    let kinds = program.headers.iter().map(|h| h.kind + 1).max().unwrap_or(0);
    let mut of_kind = vec![(Vec::new(), Vec::new()); kinds];
    for h in &program.headers {
        let (of_kind, own) = (&mut of_kind[h.kind], h.valid as usize..h.valid as usize + h.slots);
        let parts = [(&mut of_kind.0, &slots.mentioned[own.clone()]), (&mut of_kind.1, &slots.written[own])];
        for (all, one) in parts {
            all.resize(one.len(), false);
            all.iter_mut().zip(one).for_each(|(all, one)| *all |= one);
        }
    }
    of_kind
}

/// Of each header type the fields that nothing mentions, where the header can do without their slots.
pub(super) fn silent(program: &Program) -> Vec<Vec<bool>> {
    let of_kind = of_types(program, &slots(program));
    let mut silent = vec![Vec::new(); of_kind.len()];
    // Where fields are moved one by one, all of them are.
    let whole = |h: &&HeaderShape| h.kept.is_none() && (!h.metadata || h.variable.is_some());
    let wholes: Vec<usize> = program.headers.iter().filter(whole).map(|h| h.kind).collect();
    for h in program.headers.iter().filter(|h| !wholes.contains(&h.kind)) {
        let mentioned = &of_kind[h.kind].0;
        let unseen = |f: &ShapeField| {
            let own = (f.slot - h.valid) as usize;
            mentioned.iter().skip(own).take((f.bits as usize).div_ceil(64)).all(|mentioned| !mentioned)
        };
        silent[h.kind] = h.fields.iter().map(unseen).collect();
    }
    silent
}

/// Fills in what the program's headers know about themselves only when all else is known.
pub(super) fn note(program: &mut Program) {
    let slots = slots(program);
    let of_kind = of_types(program, &slots);
    program.plain_headers = true;
    for (h, shape) in program.headers.iter_mut().enumerate() {
        let (mentioned, changed) = &of_kind[shape.kind];
        let own = |touched: &[bool], slot: Slot| touched[(slot - shape.valid) as usize];
        if let Some(kept) = &mut shape.kept {
            kept.mentioned = some_of(&kept.all, |slot| own(mentioned, slot));
            kept.written = patches(&kept.all, |slot| own(changed, slot));
        }
        let mut places = program.emit.iter().enumerate().filter(|&(_, &other)| other == h);
        shape.emitted = places.next().map_or(0, |(place, _)| size32(place) + 1);
        let stored = !shape.metadata && slots.written[shape.valid as usize];
        program.plain_headers &= places.next().is_none() && !stored;
    }
}
