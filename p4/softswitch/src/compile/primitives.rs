//! Actions: primitives into instructions.

use crate::num::size32;
use serde_json::Value as Json;

use super::Context;
use super::assign::{assign_all, assign_header, assign_variable};
use crate::builder::Builder;
use crate::control::ActionInfo;
use crate::expr::{Ex, HeaderRef, Node, Place, Reader, hex};
use crate::json::{Action, Primitive};
use crate::layout::Slot;
use crate::load_error::{LoadError, Within};
use crate::ops::{Extern, HeaderSel, Op};

/// Emits an action; gives where it starts.
pub(crate) fn action(
    context: &Context,
    builder: &mut Builder,
    action: &Action,
    info: &ActionInfo,
) -> Result<u32, LoadError> {
    let mut params = Vec::new();
    let mut slot = context.param_base;
    for p in &info.params {
        params.push((slot, p.width));
        slot += size32(p.width.div_ceil(64));
    }
    let reader = Reader { layout: context.layout, params: &params };
    let start = builder.pc();
    body(context, builder, &reader, &action.primitives).within(&format!("actions/{}", action.name))?;
    super::optimise::action(builder, start);
    Ok(start)
}

/// Emits a list of primitives and a return. Jumps name primitives by number.
pub(crate) fn body(
    context: &Context,
    builder: &mut Builder,
    reader: &Reader,
    primitives: &[Primitive],
) -> Result<(), LoadError> {
    let mut starts = Vec::new();
    let mut jumps = Vec::new();
    for (i, p) in primitives.iter().enumerate() {
        starts.push(builder.pc());
        let at = format!("{i} {}", p.op);
        match p.op.as_str() {
            "_jump" => {
                let [to] = params(p).within(&at)?;
                jumps.push((builder.pc(), target(to).within(&at)?));
                builder.emit(Op::Jump { to: 0 });
            }
            "_jump_if_zero" => {
                let [cond, to] = params(p).within(&at)?;
                let cond = reader.boolean(cond).within(&at)?;
                let to = target(to).within(&at)?;
                jumps.extend(builder.branch(&cond, false).within(&at)?.into_iter().map(|jump| (jump, to)));
            }
            _ => primitive(context, builder, reader, p).within(&at)?,
        }
        builder.end_statement();
    }
    let end = builder.pc();
    builder.emit(Op::Return);
    for (at, primitive) in jumps {
        let to_pc = starts.get(primitive).copied().unwrap_or(end);
        if let Some(to) = builder.ops[at as usize].target() {
            *to = to_pc;
        }
    }
    Ok(())
}

/// A condition: BMv2 takes numbers and booleans.
fn condition(builder: &mut Builder, reader: &Reader, json: &Json) -> Result<Slot, LoadError> {
    let ex = reader.boolean(json)?;
    builder.word(&ex, None)
}

fn target(json: &Json) -> Result<usize, LoadError> {
    let value = hex(json.get("value").unwrap_or(&Json::Null))?;
    let target = value.to_i128().and_then(|v| usize::try_from(v).ok());
    target.ok_or_else(|| LoadError::new("", "a jump must name a primitive"))
}

fn params<const N: usize>(p: &Primitive) -> Result<[&Json; N], LoadError> {
    let all: Vec<&Json> = p.parameters.iter().collect();
    let got = all.len();
    all.try_into().map_err(|_| LoadError::new("", format!("{N} parameters expected, {got} given")))
}

fn named<'a>(json: &'a Json, kind: &str) -> Result<&'a str, LoadError> {
    if json.get("type").and_then(Json::as_str) != Some(kind) {
        return Err(LoadError::new("", format!("a {kind} expected, not {json}")));
    }
    json.get("value")
        .and_then(Json::as_str)
        .ok_or_else(|| LoadError::new("", format!("{kind} without a name")))
}

fn find(map: &std::collections::HashMap<&str, usize>, name: &str, kind: &str) -> Result<usize, LoadError> {
    map.get(name).copied().ok_or_else(|| LoadError::new("", format!("no {kind} {name:?}")))
}

/// A header as an instruction names it.
pub(crate) fn header_sel(builder: &mut Builder, h: HeaderRef) -> Result<HeaderSel, LoadError> {
    Ok(match h.index {
        None => HeaderSel::Fixed(h.headers[0]),
        Some(index) => HeaderSel::Element(builder.amount(&index)?, h.headers),
    })
}

/// A word for a result, and the code that carries it from there into the field. The word starts as what the field
/// holds, for externs that leave their result alone.
fn result(
    builder: &mut Builder,
    place: &Place,
    call: impl FnOnce(&mut Builder, Slot) -> Extern,
) -> Result<(), LoadError> {
    let limbs = place.limbs();
    let temp = builder.temp(limbs.max(1));
    let current =
        builder.limbs(&Ex::Place(Place { signed: false, ..place.clone() }), place.width, Some(temp))?;
    if current != temp {
        builder.copy(temp, current, size32(limbs));
    }
    let external = call(builder, temp);
    builder.call(external);
    let width = place.width;
    builder.store(place, &Ex::slot(temp, if limbs <= 1 { 64 } else { width }))
}

#[allow(clippy::too_many_lines, reason = "one arm for each primitive; splitting hides the list")]
fn primitive(
    context: &Context,
    builder: &mut Builder,
    reader: &Reader,
    p: &Primitive,
) -> Result<(), LoadError> {
    match p.op.as_str() {
        "assign" => {
            let [dst, src] = params(p)?;
            let place = reader.place(dst)?;
            if place.variable {
                return Err(LoadError::new("", "assign to a variable field isn't supported"));
            }
            builder.store(&place, &reader.data(src)?)
        }
        "assign_VL" => {
            let [dst, src] = params(p)?;
            assign_variable(builder, &reader.place(dst)?, &reader.place(src)?)
        }
        "assign_header" => {
            let [dst, src] = params(p)?;
            let (dst, src) = (reader.header(dst)?, reader.header(src)?);
            assign_header(context, builder, dst, src)
        }
        "assign_union" => {
            let [dst, src] = params(p)?;
            let (Node::Union(dst), Node::Union(src)) = (reader.node(dst)?, reader.node(src)?) else {
                return Err(LoadError::new("", "two unions expected"));
            };
            let members = context.layout.unions[dst.unions[0]].headers.len();
            for m in 0..members {
                let pick = |u: &crate::expr::UnionRef| -> Option<HeaderRef> {
                    let headers = u.unions.iter().map(|&u| context.layout.unions[u].headers.get(m).copied());
                    Some(HeaderRef { headers: headers.collect::<Option<_>>()?, index: u.index.clone() })
                };
                match (pick(&dst), pick(&src)) {
                    (Some(d), Some(s)) => assign_header(context, builder, d, s)?,
                    _ => return Err(LoadError::new("", "unions of different types")),
                }
            }
            Ok(())
        }
        "assign_header_stack" => {
            let [dst, src] = params(p)?;
            let (Node::Stack(dst), Node::Stack(src)) = (reader.node(dst)?, reader.node(src)?) else {
                return Err(LoadError::new("", "two header stacks expected"));
            };
            let (d, s) = (&context.layout.stacks[dst], &context.layout.stacks[src]);
            builder.emit(Op::Copy { d: d.next, a: s.next });
            assign_all(context, builder, &d.headers, &s.headers)
        }
        "assign_union_stack" => {
            let [dst, src] = params(p)?;
            let (Node::UnionStack(dst), Node::UnionStack(src)) = (reader.node(dst)?, reader.node(src)?)
            else {
                return Err(LoadError::new("", "two stacks of unions expected"));
            };
            let (d, s) = (&context.layout.union_stacks[dst], &context.layout.union_stacks[src]);
            builder.emit(Op::Copy { d: d.next, a: s.next });
            let flat = |unions: &[usize]| -> Vec<usize> {
                unions.iter().flat_map(|&u| context.layout.unions[u].headers.clone()).collect()
            };
            assign_all(context, builder, &flat(&d.unions), &flat(&s.unions))
        }
        "add_header" => {
            let [h] = params(p)?;
            let sel = header_sel(builder, reader.header(h)?)?;
            builder.call(Extern::AddHeader(sel));
            Ok(())
        }
        "remove_header" => {
            let [h] = params(p)?;
            let sel = header_sel(builder, reader.header(h)?)?;
            builder.call(Extern::RemoveHeader(sel));
            Ok(())
        }
        "push" | "pop" => {
            let [stack, count] = params(p)?;
            let stack = reader.node(stack)?;
            let count = builder.amount(&reader.data(count)?)?;
            builder.call(match (stack, p.op.as_str()) {
                (Node::Stack(stack), "push") => Extern::Push { stack, count },
                (Node::Stack(stack), _) => Extern::Pop { stack, count },
                (Node::UnionStack(stack), "push") => Extern::PushUnions { stack, count },
                (Node::UnionStack(stack), _) => Extern::PopUnions { stack, count },
                _ => return Err(LoadError::new("", "a header stack expected")),
            });
            Ok(())
        }
        "exit" => {
            let [] = params(p)?;
            builder.call(Extern::Exit);
            Ok(())
        }
        "mark_to_drop" => {
            let [h] = params(p)?;
            mark_to_drop(context, builder, &reader.header(h)?)
        }
        "drop" => {
            let [] = params(p)?;
            let spec = context.standard.egress_spec;
            let mcast_grp = context.standard.mcast_grp.map(|f| f.slot);
            builder.call(Extern::MarkToDrop {
                egress_spec: spec.slot,
                egress_spec_mask: spec.mask,
                mcast_grp,
            });
            Ok(())
        }
        "truncate" => one(builder, reader, p, Extern::Truncate),
        "resubmit" => {
            check_list(context, p, 0)?;
            one(builder, reader, p, Extern::Resubmit)
        }
        "recirculate" => {
            check_list(context, p, 0)?;
            one(builder, reader, p, Extern::Recirculate)
        }
        "assert" | "assume" => {
            let [cond] = params(p)?;
            let a = condition(builder, reader, cond)?;
            builder.call(Extern::Assert(a));
            Ok(())
        }
        "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress" => {
            let [session, list] = params(p)?;
            check_list(context, p, 1)?;
            let session = builder.amount(&reader.data(session)?)?;
            let list = builder.amount(&reader.data(list)?)?;
            builder.call(Extern::Clone { session, list });
            Ok(())
        }
        "generate_digest" => {
            let [_receiver, list] = params(p)?;
            let list_id = hex(list.get("value").unwrap_or(&Json::Null))?;
            if !context.root.learn_lists.iter().any(|l| list_id.to_i128() == Some(i128::from(l.id))) {
                return Err(LoadError::new("", "no learn list of this id"));
            }
            let list = builder.amount(&reader.data(list)?)?;
            builder.call(Extern::Digest(list));
            Ok(())
        }
        "modify_field_with_hash_based_offset" => {
            let [dst, base, calculation, size] = params(p)?;
            let place = reader.place(dst)?;
            let calculation = find(&context.calculations, named(calculation, "calculation")?, "calculation")?;
            let base = builder.word(&reader.data(base)?, None)?;
            let size = builder.word(&reader.data(size)?, None)?;
            result(builder, &place, |_, d| Extern::Hash { d, base, calculation, size })
        }
        "modify_field_rng_uniform" => {
            let [dst, low, high] = params(p)?;
            let place = reader.place(dst)?;
            let low = builder.word(&reader.data(low)?, None)?;
            let high = builder.word(&reader.data(high)?, None)?;
            result(builder, &place, |_, d| Extern::Random { d, low, high })
        }
        "count" => {
            let [counter, index] = params(p)?;
            let counter = find(&context.counters, named(counter, "counter_array")?, "counter array")?;
            let index = builder.amount(&reader.data(index)?)?;
            builder.call(Extern::Count { counter, index });
            Ok(())
        }
        "execute_meter" => {
            let [meter, index, dst] = params(p)?;
            let meter = find(&context.meters, named(meter, "meter_array")?, "meter array")?;
            let index = builder.amount(&reader.data(index)?)?;
            result(builder, &reader.place(dst)?, |_, d| Extern::Meter { meter, index, d })
        }
        "register_read" => {
            let [dst, register, index] = params(p)?;
            let place = reader.place(dst)?;
            let register = find(&context.registers, named(register, "register_array")?, "register array")?;
            let index = builder.amount(&reader.data(index)?)?;
            read_register(builder, &place, (register, context.register_arrays[register].width), index)
        }
        "register_write" => {
            let [register, index, src] = params(p)?;
            let register = find(&context.registers, named(register, "register_array")?, "register array")?;
            let index = builder.amount(&reader.data(index)?)?;
            let width = context.register_arrays[register].width;
            let a = builder.limbs(&reader.data(src)?, width, None)?;
            if width <= 64 {
                builder.emit(Op::RegisterWrite { a, i: index, r: size32(register) });
            } else {
                builder.call(Extern::RegisterWrite { a, register, index });
            }
            Ok(())
        }
        // The text goes to a log that a switch in virtual time doesn't have; its arguments have no effects.
        "log_msg" | "no_op" => Ok(()),
        other => Err(LoadError::new("", format!("primitive {other:?} isn't supported"))),
    }
}

fn one(
    builder: &mut Builder,
    reader: &Reader,
    p: &Primitive,
    make: fn(Slot) -> Extern,
) -> Result<(), LoadError> {
    let [value] = params(p)?;
    let slot = builder.amount(&reader.data(value)?)?;
    builder.call(make(slot));
    Ok(())
}

/// A constant field list must exist; 0 is the empty one.
fn check_list(context: &Context, p: &Primitive, parameter: usize) -> Result<(), LoadError> {
    let value = p.parameters.get(parameter).and_then(|j| j.get("value")).unwrap_or(&Json::Null);
    let Ok(id) = hex(value) else { return Ok(()) };
    let known =
        id.is_zero() || context.root.field_lists.iter().any(|l| id.to_i128() == Some(i128::from(l.id)));
    if known { Ok(()) } else { Err(LoadError::new("", "no field list of this id")) }
}

fn read_register(
    builder: &mut Builder,
    place: &Place,
    (register, width): (usize, usize),
    index: Slot,
) -> Result<(), LoadError> {
    let (limbs, bits, signed) = (place.limbs(), place.width, place.signed);
    if place.index.is_none() && !place.saturating {
        if limbs == 1 && width <= bits && !signed {
            builder.emit(Op::RegisterRead { d: place.base, i: index, r: size32(register) });
            return Ok(());
        }
        builder.call(Extern::RegisterRead { d: place.base, limbs, bits, signed, register, index });
        return Ok(());
    }
    result(builder, place, |_, d| Extern::RegisterRead { d, limbs, bits, signed: false, register, index })
}

fn mark_to_drop(context: &Context, builder: &mut Builder, h: &HeaderRef) -> Result<(), LoadError> {
    let header = h.headers[0];
    let kind = context.layout.type_of(header);
    let slot = |name: &str| kind.field(name).map(|f| (context.layout.field_slot(header, f), f.width));
    match (slot("egress_spec"), &h.index) {
        (Some((egress_spec, width)), None) => {
            let egress_spec_mask = crate::layout::mask(width);
            let mcast_grp = slot("mcast_grp").map(|(s, _)| s);
            builder.call(Extern::MarkToDrop { egress_spec, egress_spec_mask, mcast_grp });
            Ok(())
        }
        _ => Err(LoadError::new("", "mark_to_drop needs the standard metadata")),
    }
}
