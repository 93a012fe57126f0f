//! From the JSON to a [`Program`](crate::Program).

mod assign;
mod calculations;
mod control;
mod flow;
mod lists;
mod optimise;
mod parser;
mod primitives;
mod touched;

use crate::num::size32;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use serde_json::Value as Json;

use crate::builder::Builder;
use crate::control::{ActionInfo, ArrayInfo, ParamInfo, ProfileInfo, ValueSetInfo};
use crate::expr::Reader;
use crate::json::Root;
use crate::layout::{Layout, MAX_WIDTH, Slot};
use crate::load_error::LoadError;
use crate::program::{
    CounterArray, END, HeaderShape, Kept, MeterArray, Own, Program, RegisterArray, ShapeField, StackShape,
    Standard, of_fields,
};

/// Cells of all arrays of one kind; memory is only taken for those that are used.
const MAX_CELLS: u64 = 1 << 28;

/// What the parts of the compiler share.
pub(crate) struct Context<'a> {
    pub root: &'a Root,
    pub layout: &'a Layout,
    pub standard: Standard,
    /// Slots of the parameters of the action being compiled.
    pub param_base: Slot,
    pub actions: HashMap<u64, usize>,
    pub registers: HashMap<&'a str, usize>,
    pub counters: HashMap<&'a str, usize>,
    pub meters: HashMap<&'a str, usize>,
    pub calculations: HashMap<&'a str, usize>,
    pub register_arrays: Vec<RegisterArray>,
}

impl Context<'_> {
    /// Reads expressions outside actions.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { layout: self.layout, params: &[] }
    }
}

/// Compiles a document.
pub(crate) fn compile(json: &[u8]) -> Result<Arc<Program>, LoadError> {
    let root: Root =
        serde_json::from_slice(json).map_err(|e| LoadError::new("", format!("not a BMv2 JSON: {e}")))?;
    check_document(&root)?;
    // The first pass finds which fields need slots, and how many temporaries there are; the constants stand behind them.
    let (first, needed) = pass(&root, &Layout::new(&root, &[])?, 1 << 20)?;
    let layout = Layout::new(&root, &touched::silent(&first))?;
    let (program, _) = pass(&root, &layout, needed)?;
    Ok(Arc::new(program))
}

fn check_document(root: &Root) -> Result<(), LoadError> {
    let version = root.meta.as_ref().map(|m| m.version.as_slice());
    match version {
        Some([2, ..]) => {}
        Some(other) => {
            return Err(LoadError::new(
                "__meta__/version",
                format!("version {other:?} isn't supported, 2.x is"),
            ));
        }
        None => return Err(LoadError::new("__meta__/version", "missing: not a BMv2 JSON")),
    }
    if let Some(instance) = root.extern_instances.first() {
        let name = instance.get("type").and_then(Json::as_str).unwrap_or("?");
        return Err(LoadError::new(
            "extern_instances",
            format!("extern {name:?} isn't supported: not v1model"),
        ));
    }
    Ok(())
}

fn names<'a>(items: impl Iterator<Item = &'a str>, what: &str) -> Result<HashMap<&'a str, usize>, LoadError> {
    let mut map = HashMap::new();
    for (i, name) in items.enumerate() {
        if map.insert(name, i).is_some() {
            return Err(LoadError::new(what, format!("two are called {name:?}")));
        }
    }
    Ok(map)
}

#[expect(clippy::too_many_lines, reason = "it lists every part of a program once")]
fn pass(root: &Root, layout: &Layout, temp_room: Slot) -> Result<(Program, Slot), LoadError> {
    let standard = standard(layout)?;
    let mut actions = HashMap::new();
    for (i, a) in root.actions.iter().enumerate() {
        if actions.insert(a.id, i).is_some() {
            return Err(LoadError::new(format!("actions/{}", a.name), "two actions with this id"));
        }
    }
    let param_base = size32(layout.data_slots);
    let action_infos = action_infos(root)?;
    let param_slots = action_infos.iter().map(param_words).max().unwrap_or(0);
    let register_arrays = register_arrays(root)?;
    let context = Context {
        root,
        layout,
        standard,
        param_base,
        actions,
        registers: names(root.register_arrays.iter().map(|r| r.name.as_str()), "register_arrays")?,
        counters: names(indirect_counters(root).map(|c| c.name.as_str()), "counter_arrays")?,
        meters: names(indirect_meters(root).map(|m| m.name.as_str()), "meter_arrays")?,
        calculations: names(root.calculations.iter().map(|c| c.name.as_str()), "calculations")?,
        register_arrays: register_arrays.clone(),
    };
    let mut builder = Builder::new(param_base + size32(param_slots), temp_room);

    let mut action_codes: Vec<flow::Code> = Vec::new();
    for (a, info) in root.actions.iter().zip(&action_infos) {
        let start = primitives::action(&context, &mut builder, a, info)?;
        action_codes.push(start..builder.pc());
    }
    let calculations = calculations::all(&context, &mut builder)?;
    let parser = parser::parser(&context, &mut builder)?;
    let control = control::pipelines(&context, &mut builder, &action_infos, &action_codes)?;
    let checksums = calculations::checksums(&context, &mut builder)?;
    let (emit, deparser_code) = parser::deparser(&context, &mut builder)?;

    let digests = lists::field_lists(&context, &mut builder, &root.learn_lists, "learn_lists")?;
    let field_lists = lists::field_lists(&context, &mut builder, &root.field_lists, "field_lists")?;
    builder.finish_jumps();
    let temps = builder.temps_needed;
    let mut frame = vec![0u64; (param_base + size32(param_slots) + temp_room) as usize];
    for h in &layout.headers {
        if h.metadata {
            frame[h.base as usize] = 1;
        }
    }
    let const_base = size32(frame.len());
    frame.extend_from_slice(&builder.consts);
    let key_words = control.tables.iter().map(|t| t.words).max().unwrap_or(0);
    let own = Own::new(size32(frame.len()), size32(key_words));
    frame.resize(own.end as usize, 0);
    if frame.len() < crate::exec::SMALL {
        frame.resize(crate::exec::SMALL, 0);
    }
    let mut program = Program {
        layout_data: layout.data_slots,
        param_base,
        frame,
        const_base,
        own,
        standard,
        ops: builder.ops,
        copies: builder.copies,
        wide: builder.wide,
        externs: builder.externs,
        indexed: builder.indexed,
        headers: (0..layout.headers.len()).map(|h| shape(layout, h)).collect(),
        unions: layout.unions.iter().map(|u| u.headers.clone()).collect(),
        stacks: layout
            .stacks
            .iter()
            .map(|s| StackShape { elements: s.headers.iter().map(|&h| vec![h]).collect(), next: s.next })
            .collect(),
        union_stacks: layout
            .union_stacks
            .iter()
            .map(|s| StackShape {
                elements: s.unions.iter().map(|&u| layout.unions[u].headers.clone()).collect(),
                next: s.next,
            })
            .collect(),
        metadata_slots: metadata_slots(layout),
        value_set_infos: parser
            .value_sets
            .iter()
            .map(|v| ValueSetInfo { name: v.name.clone(), size: v.size, widths: v.widths.clone() })
            .collect(),
        parser,
        control,
        action_codes: action_codes.iter().map(|code| if code.len() > 1 { code.start } else { END }).collect(),
        action_infos,
        calculations,
        checksums: checksums.all,
        verify_code: checksums.verify,
        update_code: checksums.update,
        emit_valid: emit.iter().map(|&h| layout.headers[h].base).collect(),
        emit,
        deparser_code,
        plain_headers: false,
        digest_infos: lists::digest_infos(root, &digests),
        field_lists,
        digests,
        register_infos: root
            .register_arrays
            .iter()
            .zip(&register_arrays)
            .map(|(r, a)| ArrayInfo { name: r.name.clone(), size: a.size, width: a.width })
            .collect(),
        registers: register_arrays,
        counter_infos: indirect_counters(root)
            .map(|c| Ok(ArrayInfo { name: c.name.clone(), size: cells(c.size, &c.name)?, width: 0 }))
            .collect::<Result<_, LoadError>>()?,
        counters: indirect_counters(root)
            .map(|c| Ok(CounterArray { size: cells(c.size, &c.name)? }))
            .collect::<Result<_, LoadError>>()?,
        meter_infos: indirect_meters(root)
            .map(|m| Ok(ArrayInfo { name: m.name.clone(), size: cells(m.size, &m.name)?, width: 0 }))
            .collect::<Result<_, LoadError>>()?,
        meters: indirect_meters(root).map(meter_array).collect::<Result<_, LoadError>>()?,
        native: OnceLock::new(),
        native_begun: AtomicBool::new(false),
    };
    touched::note(&mut program);
    Ok((program, temps))
}

fn standard(layout: &Layout) -> Result<Standard, LoadError> {
    let need = |name: &str| {
        layout
            .intrinsic(name)
            .ok_or_else(|| LoadError::new("headers", format!("no {name}: not a v1model program")))
    };
    let maybe = |alias: &str, field: &str| {
        layout.intrinsic(alias).or_else(|| layout.intrinsic(&format!("standard_metadata.{field}")))
    };
    Ok(Standard {
        ingress_port: need("standard_metadata.ingress_port")?,
        packet_length: need("standard_metadata.packet_length")?,
        instance_type: need("standard_metadata.instance_type")?,
        egress_spec: need("standard_metadata.egress_spec")?,
        egress_port: need("standard_metadata.egress_port")?,
        ingress_timestamp: maybe("intrinsic_metadata.ingress_global_timestamp", "ingress_global_timestamp"),
        egress_timestamp: maybe("intrinsic_metadata.egress_global_timestamp", "egress_global_timestamp"),
        mcast_grp: maybe("intrinsic_metadata.mcast_grp", "mcast_grp"),
        egress_rid: maybe("intrinsic_metadata.egress_rid", "egress_rid"),
        priority: maybe("intrinsic_metadata.priority", "priority"),
        enq_timestamp: maybe("queueing_metadata.enq_timestamp", "enq_timestamp"),
        enq_qdepth: maybe("queueing_metadata.enq_qdepth", "enq_qdepth"),
        deq_timedelta: maybe("queueing_metadata.deq_timedelta", "deq_timedelta"),
        deq_qdepth: maybe("queueing_metadata.deq_qdepth", "deq_qdepth"),
        qid: layout.intrinsic("queueing_metadata.qid"),
        parser_error: layout.intrinsic("standard_metadata.parser_error"),
        checksum_error: layout.intrinsic("standard_metadata.checksum_error"),
    })
}

fn action_infos(root: &Root) -> Result<Vec<ActionInfo>, LoadError> {
    let mut infos = Vec::new();
    for a in &root.actions {
        let mut params = Vec::new();
        for p in &a.runtime_data {
            let width = usize::try_from(p.bitwidth).unwrap_or(usize::MAX);
            if width == 0 || width > MAX_WIDTH {
                let at = format!("actions/{}/{}", a.name, p.name);
                return Err(LoadError::new(at, format!("a parameter of {width} bits isn't supported")));
            }
            params.push(ParamInfo { name: p.name.clone(), width });
        }
        infos.push(ActionInfo { name: a.name.clone(), params });
    }
    Ok(infos)
}

/// Slots that an action's parameters take.
pub(crate) fn param_words(action: &ActionInfo) -> usize {
    action.params.iter().map(|p| p.width.div_ceil(64)).sum()
}

fn indirect_counters(root: &Root) -> impl Iterator<Item = &crate::json::CounterArray> {
    root.counter_arrays.iter().filter(|c| !c.is_direct)
}

fn indirect_meters(root: &Root) -> impl Iterator<Item = &crate::json::MeterArray> {
    root.meter_arrays.iter().filter(|m| !m.is_direct)
}

fn cells(size: Option<u64>, name: &str) -> Result<usize, LoadError> {
    match size {
        Some(n) if n <= MAX_CELLS => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
        other => Err(LoadError::new(name, format!("a size of {other:?} cells isn't supported"))),
    }
}

fn meter_array(m: &crate::json::MeterArray) -> Result<MeterArray, LoadError> {
    let at = format!("meter_arrays/{}", m.name);
    Ok(MeterArray { size: cells(m.size, &at)?, octets: meter_unit(m, &at)? })
}

fn meter_unit(m: &crate::json::MeterArray, at: &str) -> Result<bool, LoadError> {
    if m.rate_count.is_some_and(|n| n != 2) {
        return Err(LoadError::new(at, "only meters with two rates are supported"));
    }
    match m.unit.as_str() {
        "bytes" => Ok(true),
        "packets" => Ok(false),
        other => Err(LoadError::new(at, format!("meter type {other:?} isn't supported"))),
    }
}

fn register_arrays(root: &Root) -> Result<Vec<RegisterArray>, LoadError> {
    let mut arrays = Vec::new();
    for r in &root.register_arrays {
        let at = format!("register_arrays/{}", r.name);
        let width = usize::try_from(r.bitwidth).unwrap_or(usize::MAX);
        if width == 0 || width > MAX_WIDTH {
            return Err(LoadError::new(at, format!("cells of {width} bits aren't supported")));
        }
        arrays.push(RegisterArray { size: cells(Some(r.size), &at)?, width });
    }
    Ok(arrays)
}

fn shape(layout: &Layout, header: usize) -> HeaderShape {
    let h = &layout.headers[header];
    let kind = layout.type_of(header);
    let mut bit = 0;
    let fields: Vec<ShapeField> = kind
        .fields
        .iter()
        .map(|f| {
            let at = bit;
            bit += if f.variable { 0 } else { f.width };
            ShapeField {
                slot: layout.field_slot(header, f),
                bits: size32(f.width),
                at: size32(at),
                signed: f.signed,
                variable: f.variable,
                silent: f.silent,
            }
        })
        .collect();
    HeaderShape {
        valid: h.base,
        slots: kind.slots,
        kept: of_fields(&fields).map(|all| Kept { all, mentioned: [].into(), written: [].into() }),
        fields,
        kind: h.type_id,
        origin: h.base + size32(kind.slots) - 1,
        emitted: 0,
        fixed_octets: kind.fixed_bits / 8,
        variable: kind.variable,
        max_octets: kind.max_octets,
        union: h.union,
        metadata: h.metadata,
    }
}

/// Runs of slots that hold metadata, validity excluded: what a clone resets.
fn metadata_slots(layout: &Layout) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (i, h) in layout.headers.iter().enumerate().filter(|(_, h)| h.metadata) {
        let start = h.base as usize + 1;
        runs.push((start, start + layout.type_of(i).slots - 1));
    }
    runs
}

/// Profiles in the order of the pipelines.
pub(crate) fn profile_infos(root: &Root) -> Vec<ProfileInfo> {
    let all = root.pipelines.iter().flat_map(|p| &p.action_profiles);
    all.map(|p| ProfileInfo {
        name: p.name.clone(),
        size: p.max_size.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX)),
        selector: p.selector.is_some(),
    })
    .collect()
}
