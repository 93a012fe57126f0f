//! Lays a pipeline's tables, conditions and calls out as one run of instructions.

use std::collections::HashMap;
use std::ops::Range;

use crate::builder::Builder;
use crate::expr::Ex;
use crate::load_error::LoadError;
use crate::num::size32;
use crate::ops::{Extern, Op};
use crate::program::{END, Next, TableShape};

/// The instructions of an action, its return last.
pub(super) type Code = Range<u32>;

/// A step of a pipeline; what follows is a node, or [`END`].
#[derive(Clone, Debug)]
pub(super) enum FlowNode {
    Table(usize),
    Condition { condition: Ex, yes: u32, no: u32 },
    Call { action: usize, next: u32 },
}

/// Emits the nodes that can be reached from `start`; gives where the code starts. The tables learn where the code goes
/// on after them.
pub(super) fn lay_out(
    builder: &mut Builder,
    nodes: &[FlowNode],
    start: u32,
    tables: &mut [TableShape],
    actions: &[Code],
) -> Result<u32, LoadError> {
    let order = order(nodes, start, tables);
    let code = builder.pc();
    let mut places = HashMap::new();
    // Jumps that still need to learn where their node is.
    let mut jumps: Vec<(u32, u32)> = Vec::new();
    for (i, &at) in order.iter().enumerate() {
        places.insert(at, builder.pc());
        let following = order.get(i + 1).copied().unwrap_or(END);
        let mut goto = |builder: &mut Builder, node: u32| {
            if node != following || node == END {
                jumps.push((builder.pc(), node));
                builder.emit(Op::Jump { to: END });
            }
        };
        match &nodes[at as usize] {
            FlowNode::Table(t) => builder.emit(Op::Table { t: size32(*t) }),
            FlowNode::Call { action, next } => {
                inline(builder, &actions[*action]);
                goto(builder, *next);
            }
            FlowNode::Condition { condition, yes, no } => {
                let when = *yes != following && *no == following;
                let taken = builder.branch(condition, when)?;
                goto(builder, if when { *no } else { *yes });
                let node = if when { *yes } else { *no };
                jumps.extend(taken.into_iter().map(|jump| (jump, node)));
            }
        }
        builder.end_statement();
    }
    builder.emit(Op::Return);
    let place = |node: u32| places.get(&node).copied().unwrap_or(END);
    for (at, node) in jumps {
        if let Some(to) = builder.ops[at as usize].target() {
            *to = place(node);
        }
    }
    for &at in &order {
        if let FlowNode::Table(t) = nodes[at as usize] {
            tables[t].base_next = place(tables[t].base_next);
            match &mut tables[t].next {
                Next::HitMiss { hit, miss } => (*hit, *miss) = (place(*hit), place(*miss)),
                Next::ByAction(all) => all.iter_mut().for_each(|next| *next = place(*next)),
            }
        }
    }
    Ok(if start == END { END } else { code })
}

/// Where a node can lead.
fn successors(node: &FlowNode, tables: &[TableShape]) -> Vec<u32> {
    match node {
        FlowNode::Condition { yes, no, .. } => vec![*yes, *no],
        FlowNode::Call { next, .. } => vec![*next],
        FlowNode::Table(t) => {
            let mut all = vec![tables[*t].base_next];
            match &tables[*t].next {
                Next::HitMiss { hit, miss } => all.extend([*hit, *miss]),
                Next::ByAction(by_action) => all.extend(by_action),
            }
            all
        }
    }
}

/// The nodes that can be reached, each before those that follow it: reverse postorder, so that nothing jumps back unless
/// there is a loop.
fn order(nodes: &[FlowNode], start: u32, tables: &[TableShape]) -> Vec<u32> {
    let mut seen = vec![false; nodes.len()];
    let mut done = Vec::new();
    let mut open: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut enter = Some(start);
    loop {
        if let Some(node) = enter.take()
            && node != END
            && !std::mem::replace(&mut seen[node as usize], true)
        {
            open.push((node, successors(&nodes[node as usize], tables)));
        }
        let Some((node, left)) = open.last_mut() else { break };
        if let Some(next) = left.pop() {
            enter = Some(next);
        } else {
            done.push(*node);
            open.pop();
        }
    }
    done.reverse();
    done
}

/// Copies an action's instructions here.
fn inline(builder: &mut Builder, code: &Code) {
    let (start, end) = (code.start, code.end.saturating_sub(1));
    let here = builder.pc();
    let mut exits = false;
    for at in start..end {
        let mut op = builder.ops[at as usize];
        if let Some(to) = op.target() {
            *to = *to - start + here;
        }
        if let Op::Extern { p } = op {
            exits |= matches!(builder.externs[p as usize], Extern::Exit);
        }
        builder.emit(op);
    }
    if exits {
        builder.emit(Op::EndIfExit);
    }
}
