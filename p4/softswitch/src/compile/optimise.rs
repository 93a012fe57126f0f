//! Makes an action's code shorter: what has been computed isn't computed again, temporaries that nobody reads aren't
//! written, and copies side by side become one instruction.
//!
//! An action is closed: it is entered at its first instruction only, its jumps stay inside, and no temporary outlives it.

use std::collections::HashMap;

use crate::builder::Builder;
use crate::layout::Slot;
use crate::num::size32;
use crate::ops::Op;

/// More temporaries than this in one action are left as they are.
const MOST_TEMPS: usize = 128;

/// Rewrites the instructions from `start` to the end; the last one is a return.
pub(super) fn action(builder: &mut Builder, start: u32) {
    let ops = builder.ops.split_off(start as usize);
    let mut code = Code::new(ops, start);
    code.reuse(|slot| builder.is_temp(slot));
    while code.drop_unread(|slot| builder.is_temp(slot)) {}
    let (ops, copies) = code.finish(start, size32(builder.copies.len()));
    builder.ops.extend(ops);
    builder.copies.extend(copies);
}

/// An action's instructions; jumps count from its start.
struct Code {
    ops: Vec<Op>,
    /// Whether the instruction still counts.
    kept: Vec<bool>,
    /// Whether a jump leads here.
    target: Vec<bool>,
}

/// What an instruction does to the frame.
enum Kind {
    /// Computes one word from its sources, and nothing else.
    Pure,
    /// Reads its sources.
    Reads,
    /// Reads its source; may or may not write its destination.
    MayWrite(Slot),
    /// Writes so many words.
    Writes(Slot, u32),
    /// Anything.
    Opaque,
}

fn kind(mut op: Op) -> Kind {
    if op.result().is_some() {
        return Kind::Pure;
    }
    if op.target().is_some() {
        return Kind::Reads;
    }
    match op {
        Op::Zero { d, n } => Kind::Writes(d, n),
        Op::RegisterRead { d, .. } => Kind::MayWrite(d),
        Op::RegisterWrite { .. } | Op::Return => Kind::Reads,
        _ => Kind::Opaque,
    }
}

/// The values that are known to stand in slots: equal numbers are equal values.
#[derive(Default)]
struct Values {
    of_slot: HashMap<Slot, u32>,
    holders: HashMap<u32, Vec<Slot>>,
    /// Instructions whose sources are values instead of slots and whose destination is 0.
    of_op: HashMap<Op, u32>,
    next: u32,
}

impl Values {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn of(&mut self, slot: Slot) -> u32 {
        if let Some(&value) = self.of_slot.get(&slot) {
            return value;
        }
        let value = self.fresh();
        self.set(slot, value);
        value
    }

    fn set(&mut self, slot: Slot, value: u32) {
        if let Some(old) = self.of_slot.insert(slot, value)
            && let Some(holders) = self.holders.get_mut(&old)
        {
            holders.retain(|&s| s != slot);
        }
        self.holders.entry(value).or_default().push(slot);
    }

    /// A slot that holds the value: rather not a temporary, rather the oldest.
    fn holder(&self, value: u32, is_temp: impl Fn(Slot) -> bool) -> Option<Slot> {
        let holders = self.holders.get(&value)?;
        holders.iter().find(|&&s| !is_temp(s)).or(holders.first()).copied()
    }
}

impl Code {
    fn new(mut ops: Vec<Op>, start: u32) -> Code {
        let mut target = vec![false; ops.len()];
        for op in &mut ops {
            if let Some(to) = op.target() {
                *to = to.saturating_sub(start);
                if let Some(here) = target.get_mut(*to as usize) {
                    *here = true;
                }
            }
        }
        Code { kept: vec![true; ops.len()], ops, target }
    }

    /// Takes values from where they are: sources from the oldest slot that holds them, results from slots that have them.
    fn reuse(&mut self, is_temp: impl Fn(Slot) -> bool + Copy) {
        let mut values = Values::default();
        for at in 0..self.ops.len() {
            if self.target[at] {
                values = Values::default();
            }
            let op = &mut self.ops[at];
            let kind = kind(*op);
            let mut key = *op;
            if !matches!(kind, Kind::Opaque) {
                for (source, of_key) in op.sources().into_iter().zip(key.sources()) {
                    if let (Some(source), Some(of_key)) = (source, of_key) {
                        let value = values.of(*source);
                        *source = values.holder(value, is_temp).unwrap_or(*source);
                        *of_key = value;
                    }
                }
            }
            match kind {
                Kind::Pure => {
                    let Some(d) = key.result().map(|d| std::mem::replace(d, 0)) else { continue };
                    let known = match key {
                        Op::Copy { a, .. } => Some(a),
                        _ => values.of_op.get(&key).copied(),
                    };
                    let value = known.unwrap_or_else(|| values.fresh());
                    if known.is_none() {
                        values.of_op.insert(key, value);
                    } else if let Some(a) = values.holder(value, is_temp) {
                        *op = Op::Copy { d, a };
                    }
                    self.kept[at] = values.of_slot.get(&d) != Some(&value);
                    values.set(d, value);
                }
                Kind::Reads => {}
                Kind::MayWrite(d) => {
                    let value = values.fresh();
                    values.set(d, value);
                }
                Kind::Writes(d, n) => {
                    for slot in d..d + n {
                        let value = values.fresh();
                        values.set(slot, value);
                    }
                }
                Kind::Opaque => values = Values::default(),
            }
        }
    }

    /// Drops results that nobody reads, and lets what is computed only to be copied be computed in place. Says whether it
    /// found any.
    fn drop_unread(&mut self, is_temp: impl Fn(Slot) -> bool) -> bool {
        let mut temps: HashMap<Slot, u32> = HashMap::new();
        for (op, _) in self.ops.iter_mut().zip(&self.kept).filter(|(_, kept)| **kept) {
            let sources = op.sources().into_iter().flatten().map(|s| *s).collect::<Vec<_>>();
            for slot in sources.into_iter().chain(op.result().map(|d| *d)).filter(|&s| is_temp(s)) {
                let n = size32(temps.len());
                temps.entry(slot).or_insert(n);
            }
        }
        if temps.len() > MOST_TEMPS {
            return false;
        }
        let bit = |slot: Slot| temps.get(&slot).map_or(0, |n| 1u128 << n);
        let after = self.live(bit);
        let mut found = false;
        for at in 0..self.ops.len() {
            let mut op = self.ops[at];
            if !self.kept[at] || !matches!(kind(op), Kind::Pure) {
                continue;
            }
            let Some(d) = op.result().map(|d| *d).filter(|&d| is_temp(d)) else { continue };
            if after[at] & bit(d) == 0 {
                self.kept[at] = false;
                found = true;
                continue;
            }
            let Some(next) = (at + 1..self.ops.len()).find(|&n| self.kept[n] || self.target[n]) else {
                continue;
            };
            if let Op::Copy { d: copy, a } = self.ops[next]
                && self.kept[next]
                && !self.target[next]
                && a == d
                && after[next] & bit(d) == 0
                && let Some(result) = self.ops[at].result()
            {
                *result = copy;
                self.kept[next] = false;
                // What is live has changed; the next round knows.
                return true;
            }
        }
        found
    }

    /// The temporaries that are read after each instruction before they are written.
    fn live(&self, bit: impl Fn(Slot) -> u128) -> Vec<u128> {
        let n = self.ops.len();
        let (mut before, mut after) = (vec![0u128; n + 1], vec![0u128; n]);
        loop {
            let mut changed = false;
            for at in (0..n).rev() {
                let mut op = self.ops[at];
                let mut out = if matches!(op, Op::Jump { .. } | Op::Return) { 0 } else { before[at + 1] };
                if let Some(to) = op.target() {
                    out |= before[(*to as usize).min(n)];
                }
                after[at] = out;
                let mut live = out;
                if self.kept[at] {
                    match kind(op) {
                        Kind::Pure => live &= !op.result().map_or(0, |d| bit(*d)),
                        Kind::MayWrite(d) => live |= bit(d),
                        Kind::Opaque => live = u128::MAX,
                        Kind::Reads | Kind::Writes(..) => {}
                    }
                    live |= op.sources().into_iter().flatten().fold(0, |live, s| live | bit(*s));
                }
                changed |= before[at] != live;
                before[at] = live;
            }
            if !changed {
                return after;
            }
        }
    }

    /// What is left, at its place from `start`; copies in a row become one instruction, their pairs stand from `copies`.
    fn finish(self, start: u32, copies: u32) -> (Vec<Op>, Vec<(Slot, Slot)>) {
        let (mut ops, mut pairs): (Vec<Op>, Vec<(Slot, Slot)>) = (Vec::new(), Vec::new());
        let mut places = Vec::with_capacity(self.ops.len());
        let mut landed = false;
        for ((op, kept), target) in self.ops.into_iter().zip(self.kept).zip(self.target) {
            places.push(start + size32(ops.len()));
            landed |= target;
            if !kept {
                continue;
            }
            let next = copies + size32(pairs.len());
            match (op, ops.last_mut()) {
                (Op::Copy { d, a }, Some(Op::Copies { n, .. })) if !landed => {
                    *n += 1;
                    pairs.push((d, a));
                }
                (Op::Copy { d, a }, Some(last @ &mut Op::Copy { d: d0, a: a0 })) if !landed => {
                    *last = Op::Copies { first: next, n: 2 };
                    pairs.extend([(d0, a0), (d, a)]);
                }
                (op, _) => ops.push(op),
            }
            landed = false;
        }
        for op in &mut ops {
            if let Some(to) = op.target()
                && let Some(&place) = places.get(*to as usize)
            {
                *to = place;
            }
        }
        (ops, pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Temporaries from slot 100; fields below.
    fn optimised(ops: &[Op]) -> (Vec<Op>, Vec<(Slot, Slot)>) {
        let mut builder = Builder::new(100, 20);
        builder.ops.push(Op::Return);
        builder.ops.extend_from_slice(ops);
        action(&mut builder, 1);
        (builder.ops.split_off(1), builder.copies)
    }

    #[test]
    fn what_is_known_is_not_computed_again() {
        let index = |d| [Op::ShlI { d: 100, a: 1, imm: 3 }, Op::Or { d, a: 100, b: 2 }];
        let mut ops = Vec::new();
        ops.extend(index(3));
        ops.push(Op::RegisterRead { d: 5, i: 3, r: 0 });
        ops.extend(index(4));
        ops.push(Op::RegisterWrite { a: 5, i: 4, r: 1 });
        ops.push(Op::Return);
        let (ops, _) = optimised(&ops);
        assert_eq!(
            ops,
            [
                Op::ShlI { d: 100, a: 1, imm: 3 },
                Op::Or { d: 3, a: 100, b: 2 },
                Op::RegisterRead { d: 5, i: 3, r: 0 },
                Op::Copy { d: 4, a: 3 },
                Op::RegisterWrite { a: 5, i: 3, r: 1 },
                Op::Return,
            ]
        );
    }

    #[test]
    fn what_may_have_changed_is_computed_again() {
        let sum = Op::Add { d: 3, a: 1, b: 2 };
        for between in [Op::RegisterRead { d: 1, i: 9, r: 0 }, Op::Zero { d: 0, n: 2 }, Op::Extern { p: 0 }] {
            let ops = [sum, between, Op::Add { d: 4, a: 1, b: 2 }, Op::Return];
            assert_eq!(optimised(&ops).0, ops);
        }
    }

    #[test]
    fn after_a_meeting_of_two_ways_nothing_is_known() {
        let ops = [
            Op::JumpZero { a: 9, to: 3 },
            Op::Add { d: 3, a: 1, b: 2 },
            Op::Add { d: 4, a: 1, b: 2 },
            Op::Return,
        ];
        assert_eq!(optimised(&ops).0, ops);
    }

    #[test]
    fn jumps_follow_what_is_left() {
        let ops = [
            Op::JumpZero { a: 9, to: 4 },
            Op::Add { d: 100, a: 1, b: 2 },
            Op::Copy { d: 3, a: 100 },
            Op::Copy { d: 4, a: 5 },
            Op::Return,
        ];
        let expected =
            [Op::JumpZero { a: 9, to: 3 }, Op::Add { d: 3, a: 1, b: 2 }, Op::Copy { d: 4, a: 5 }, Op::Return];
        assert_eq!(optimised(&ops).0, expected);
    }

    #[test]
    fn copies_side_by_side_become_one_but_not_across_a_target() {
        let ops = [
            Op::JumpZero { a: 9, to: 4 },
            Op::Copy { d: 1, a: 2 },
            Op::Copy { d: 3, a: 4 },
            Op::Copy { d: 5, a: 6 },
            Op::Return,
        ];
        let (ops, copies) = optimised(&ops);
        let left = [
            Op::JumpZero { a: 9, to: 3 },
            Op::Copies { first: 0, n: 2 },
            Op::Copy { d: 5, a: 6 },
            Op::Return,
        ];
        assert_eq!((ops.as_slice(), copies.as_slice()), (left.as_slice(), [(1, 2), (3, 4)].as_slice()));
    }

    #[test]
    fn what_a_loop_reads_in_its_next_round_stays() {
        let ops = [
            Op::Copy { d: 100, a: 1 },
            Op::AddI { d: 100, a: 100, imm: 1 },
            Op::JumpLtU { a: 100, b: 2, to: 2 },
            Op::Return,
        ];
        assert_eq!(optimised(&ops).0, ops);
    }
}
