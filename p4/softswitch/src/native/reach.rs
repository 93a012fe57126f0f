//! What of a program's instructions native code needs: those that can run, and where it is entered.

use crate::num::size32;
use crate::ops::Op;
use crate::program::{END, Next, Program};

/// Of each instruction, whether it can run, whether it needs an entry, and whether a jump leads to it.
pub(super) struct Reach {
    pub runs: Vec<bool>,
    pub entered: Vec<bool>,
    pub target: Vec<bool>,
}

/// Whether an instruction leaves the code always, to be executed by others.
pub(super) fn leaves(program: &Program, op: Op) -> bool {
    match op {
        Op::Extern { p } => super::fields::checksum(program, p as usize).is_none(),
        Op::Table { .. } | Op::EndIfExit | Op::Wide { .. } | Op::Back { .. } => true,
        Op::CopyN { n, .. } | Op::Zero { n, .. } => n > super::operations::FEW,
        Op::LoadIndexed { t, .. } | Op::StoreIndexed { t, .. } => {
            program.indexed[t as usize].limbs > super::operations::FEW
        }
        _ => false,
    }
}

/// Whether an instruction may leave the code.
pub(super) fn may_leave(program: &Program, op: Op) -> bool {
    leaves(program, op) || matches!(op, Op::RegisterRead { .. } | Op::RegisterWrite { .. })
}

/// What can follow an instruction within the code.
pub(super) fn followers(at: u32, mut op: Op) -> impl Iterator<Item = u32> {
    let ends = matches!(op, Op::Jump { .. } | Op::Return | Op::Back { .. });
    op.target().map(|to| *to).into_iter().chain((!ends).then_some(at + 1))
}

/// Where the code is entered from outside.
fn entries(program: &Program) -> Vec<u32> {
    let control = &program.control;
    let mut all = vec![control.ingress, control.egress];
    all.extend([program.verify_code, program.update_code, program.deparser_code].into_iter().flatten());
    for (shape, info) in control.tables.iter().zip(&control.table_infos) {
        all.extend(info.actions.iter().map(|a| program.action_codes[a.0]));
        all.extend(shape.default.iter().map(|(action, _)| program.action_codes[*action]));
        all.push(shape.base_next);
        match &shape.next {
            Next::HitMiss { hit, miss } => all.extend([*hit, *miss]),
            Next::ByAction(next) => all.extend(next),
        }
    }
    all
}

impl Reach {
    pub(super) fn of(program: &Program) -> Reach {
        let n = program.ops.len();
        let mut reach = Reach { runs: vec![false; n], entered: vec![false; n], target: vec![false; n] };
        let mut open = Vec::new();
        for at in entries(program) {
            reach.enter(at, &mut open);
        }
        while let Some(at) = open.pop() {
            let Some(&(mut op)) = program.ops.get(at as usize) else { continue };
            if std::mem::replace(&mut reach.runs[at as usize], true) {
                continue;
            }
            if let Some(&mut to) = op.target()
                && let Some(target) = reach.target.get_mut(to as usize)
            {
                *target = true;
            }
            open.extend(followers(at, op));
            if may_leave(program, op) {
                reach.enter(at + 1, &mut open);
            }
            if let Op::Back { to } = op {
                reach.enter(to, &mut open);
            }
        }
        reach
    }

    fn enter(&mut self, at: u32, open: &mut Vec<u32>) {
        if at == END {
            return;
        }
        if let Some(entered) = self.entered.get_mut(at as usize) {
            *entered = true;
            open.push(at);
        }
    }
}

/// The instructions from `start` to its returns, in order, if none of them may leave the code or jump back.
pub(super) fn fragment(program: &Program, start: u32) -> Option<Vec<u32>> {
    let mut found = std::collections::BTreeSet::new();
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        let &op = program.ops.get(at as usize)?;
        if may_leave(program, op) {
            return None;
        }
        if found.insert(at) {
            open.extend(followers(at, op));
        }
    }
    let all: Vec<u32> = found.into_iter().collect();
    // Jumps lead forward, so the first one is where it starts.
    (all.first() == Some(&start) && size32(all.len()) > 0).then_some(all)
}
