//! Parser states: headers of fixed size, assignments, and choices by numbers. What else a state does, and what becomes of
//! a packet that ends too early, is left to the interpreter from that step on.

use jit::{Binary, Compare, Label};

use super::Translator;
use crate::exec::MAX_STATES;
use crate::program::{Extract, Select, Step};

/// What is left to do when a state is left: the state, and the first of its steps that isn't done.
type Rest = Vec<(usize, usize)>;

impl Translator<'_, '_> {
    /// All states; gives their entries, and what is left to do by the number that the code is left with.
    pub(super) fn parser(&mut self) -> (Vec<u32>, Rest) {
        let parser = &self.program.parser;
        let labels: Vec<Label> = parser.states.iter().map(|_| self.asm.label()).collect();
        let accept = self.asm.label();
        let (mut entries, mut rest) = (Vec::new(), Rest::new());
        let counted = self.has_loop();
        for (at, &label) in labels.iter().enumerate() {
            self.asm.bind(label);
            entries.push(self.asm.entry(label));
            if counted {
                self.count(at, &mut rest);
            }
            self.state(at, &labels, accept, &mut rest);
        }
        self.asm.bind(accept);
        self.leave_with(0);
        (entries, rest)
    }

    /// Whether a state can follow itself.
    fn has_loop(&self) -> bool {
        let states = &self.program.parser.states;
        let mut ways: Vec<Vec<usize>> = states.iter().map(|s| s.successors().collect()).collect();
        // States that nothing leads away from are taken out until none is left, or only loops are.
        loop {
            let dead: Vec<bool> = ways.iter().map(Vec::is_empty).collect();
            let before: usize = ways.iter().map(Vec::len).sum();
            for way in &mut ways {
                way.retain(|&to| !dead[to]);
            }
            let after: usize = ways.iter().map(Vec::len).sum();
            if after == before {
                return after > 0;
            }
        }
    }

    /// Counts states, so that a loop without progress ends: what is left to do then is decided by the count.
    fn count(&mut self, at: usize, rest: &mut Rest) {
        let (slot, go_on) = (self.program.own.states, self.asm.label());
        let count = self.asm.get(slot);
        let count = self.asm.binary_with(Binary::Add, count, 1);
        self.asm.set(slot, count);
        let most = self.asm.number(MAX_STATES.into());
        self.asm.jump_compare(Compare::LessOrEqual, count, most, go_on);
        self.leave_to_do(at, 0, rest);
        self.asm.bind(go_on);
    }

    fn leave_to_do(&mut self, state: usize, step: usize, rest: &mut Rest) {
        rest.push((state, step));
        self.leave_with(rest.len());
    }

    fn state(&mut self, at: usize, labels: &[Label], accept: Label, rest: &mut Rest) {
        let here = &self.program.parser.states[at];
        let to = |state: Option<usize>| state.map_or(accept, |state| labels[state]);
        for (i, step) in here.steps.iter().enumerate() {
            if !self.step(at, i, step, rest) {
                return self.leave_to_do(at, i, rest);
            }
        }
        let simple = here.lookaheads.is_empty() && here.select.is_some();
        if !here.cases.is_empty() {
            if !simple || here.key_code.is_some_and(|code| !self.fragment(code)) {
                return self.leave_to_do(at, here.steps.len(), rest);
            }
            if let Some(select) = &here.select {
                self.select(select, &to);
            }
        }
        self.asm.jump(to(here.default));
    }

    fn select(&mut self, select: &Select, to: &impl Fn(Option<usize>) -> Label) {
        let mut key = self.asm.number(0);
        for &(slot, mask, place) in &select.parts {
            let part = self.get(slot);
            let part = self.asm.binary_with(Binary::And, part, mask);
            let part = self.asm.binary_with(Binary::Shl, part, place.into());
            key = self.asm.binary(Binary::Or, key, part);
        }
        let whole = select.parts.iter().fold(0, |all, &(_, mask, place)| all | mask << place);
        for &(value, mask, next) in &select.cases {
            let masked = if mask == whole { key } else { self.asm.binary_with(Binary::And, key, mask) };
            let value = self.asm.number(value);
            self.asm.jump_compare(Compare::Equal, masked, value, to(next));
        }
    }

    /// One step; false if it is left to the interpreter.
    fn step(&mut self, at: usize, i: usize, step: &Step, rest: &mut Rest) -> bool {
        match step {
            Step::Extract { what: Extract::Header(h), length: None } => {
                let Some(kept) = &self.program.headers[*h].kept else { return false };
                let (outside, done) = (self.asm.label(), self.asm.label());
                self.extract(*h, kept, outside);
                self.asm.jump(done);
                self.asm.rare(outside);
                self.asm.bind(outside);
                self.leave_to_do(at, i, rest);
                self.asm.bind(done);
                true
            }
            Step::Code(code) => self.fragment(*code),
            Step::Verify { code, condition, .. } => {
                if !self.fragment(*code) {
                    return false;
                }
                // What fails is found again by the interpreter.
                let (holds, done) = (self.get(*condition), self.asm.label());
                self.asm.jump_if(holds, done);
                self.leave_to_do(at, i, rest);
                self.asm.bind(done);
                true
            }
            Step::Extract { .. } | Step::Lookahead(_) | Step::Advance { .. } => false,
        }
    }
}
