//! Pipelines: tables, conditions and what follows what.

use crate::num::size32;
use std::collections::HashMap;

use super::flow::{self, Code, FlowNode};
use super::{Context, calculations, meter_unit, profile_infos};
use crate::bigint::Big;
use crate::builder::Builder;
use crate::control::{
    ActionCall, ActionId, ActionInfo, EntryAction, KeyInfo, KeyMatch, MatchKind, NewEntry, ProfileId,
    TableInfo,
};
use crate::expr::{hex, pair};
use crate::json::{DefaultEntry, Entry, EntryKey, Pipeline, Table};
use crate::layout::mask;
use crate::load_error::{LoadError, Within};
use crate::program::{Control, DirectMeter, END, KeyField, KeyWord, Next, TableShape};
use crate::value::Value;

/// Compiles ingress and egress.
pub(crate) fn pipelines(
    context: &Context,
    builder: &mut Builder,
    actions: &[ActionInfo],
    codes: &[Code],
) -> Result<Control, LoadError> {
    let mut control = Control {
        ingress: END,
        egress: END,
        tables: Vec::new(),
        table_infos: Vec::new(),
        profile_infos: profile_infos(context.root),
        selectors: Vec::new(),
    };
    for name in ["ingress", "egress"] {
        if !context.root.pipelines.iter().any(|p| p.name == name) {
            return Err(LoadError::new("pipelines", format!("no {name} pipeline: not a v1model program")));
        }
    }
    for p in &context.root.pipelines {
        let at = format!("pipelines/{}", p.name);
        for profile in &p.action_profiles {
            let selector = match &profile.selector {
                None => None,
                Some(s) => {
                    let at = format!("{at}/action_profiles/{}", profile.name);
                    Some(calculations::calculation(context, builder, &s.algo, &s.input).within(&at)?)
                }
            };
            control.selectors.push(selector);
        }
        let start = pipeline(context, builder, actions, codes, p, &mut control).within(&at)?;
        match p.name.as_str() {
            "ingress" => control.ingress = start,
            "egress" => control.egress = start,
            other => return Err(LoadError::new(at, format!("pipeline {other:?} isn't v1model's"))),
        }
    }
    Ok(control)
}

fn pipeline(
    context: &Context,
    builder: &mut Builder,
    actions: &[ActionInfo],
    codes: &[Code],
    p: &Pipeline,
    control: &mut Control,
) -> Result<u32, LoadError> {
    let mut nodes = Vec::new();
    let mut ids = HashMap::new();
    let names = p.tables.iter().map(|t| &t.name).chain(p.conditionals.iter().map(|c| &c.name));
    for (i, name) in names.chain(p.action_calls.iter().map(|a| &a.name)).enumerate() {
        if ids.insert(name.as_str(), size32(i)).is_some() {
            return Err(LoadError::new("", format!("two nodes are called {name:?}")));
        }
    }
    let find = |name: Option<&str>| match name {
        None => Ok(END),
        Some(name) => ids.get(name).copied().ok_or_else(|| LoadError::new("", format!("no node {name:?}"))),
    };
    for t in &p.tables {
        let at = format!("tables/{}", t.name);
        let (shape, info) = table(context, builder, actions, t, control, &find).within(&at)?;
        nodes.push(node_of(t, &shape, control.tables.len()));
        control.tables.push(shape);
        control.table_infos.push(info);
    }
    for c in &p.conditionals {
        let at = format!("conditionals/{}", c.name);
        let condition = context.reader().boolean(&c.expression).within(&at)?;
        let yes = find(c.true_next.as_deref()).within(&at)?;
        let no = find(c.false_next.as_deref()).within(&at)?;
        nodes.push(FlowNode::Condition { condition, yes, no });
    }
    for a in &p.action_calls {
        let at = format!("action_calls/{}", a.name);
        let action = action_index(context, a.action_id).within(&at)?;
        if !actions[action].params.is_empty() {
            return Err(LoadError::new(at, "an action with parameters can't be called from the control"));
        }
        nodes.push(FlowNode::Call { action, next: find(a.next_node.as_deref()).within(&at)? });
    }
    let start = find(p.init_table.as_deref())?;
    flow::lay_out(builder, &nodes, start, &mut control.tables, codes)
}

/// p4c wraps statements between tables into tables without key whose action is fixed: those are calls.
fn node_of(t: &Table, shape: &TableShape, index: usize) -> FlowNode {
    let fixed = t.default_entry.as_ref().is_some_and(|d| d.action_entry_const);
    match (&shape.default, &shape.next) {
        (Some((action, data)), next) if fixed && shape.key.is_empty() && data.is_empty() => {
            let next = match next {
                Next::HitMiss { miss, .. } => *miss,
                Next::ByAction(by_action) => by_action[*action],
            };
            FlowNode::Call { action: *action, next }
        }
        _ => FlowNode::Table(index),
    }
}

fn action_index(context: &Context, id: u64) -> Result<usize, LoadError> {
    context.actions.get(&id).copied().ok_or_else(|| LoadError::new("", format!("no action with id {id}")))
}

fn table(
    context: &Context,
    builder: &mut Builder,
    actions: &[ActionInfo],
    t: &Table,
    control: &Control,
    find: &impl Fn(Option<&str>) -> Result<u32, LoadError>,
) -> Result<(TableShape, TableInfo), LoadError> {
    let Key { fields, moves, words, infos } = key(context, builder, t)?;
    let mut ids = Vec::new();
    for &id in &t.action_ids {
        ids.push(ActionId(action_index(context, id)?));
    }
    let profile = match (t.kind.as_str(), t.action_profile.as_deref()) {
        ("simple", None) => None,
        ("indirect" | "indirect_ws", Some(name)) => {
            let at = control.profile_infos.iter().position(|p| p.name == name);
            Some(ProfileId(at.ok_or_else(|| LoadError::new("", format!("no action profile {name:?}")))?))
        }
        (kind, profile) => {
            return Err(LoadError::new(
                "",
                format!("table type {kind:?} with profile {profile:?} isn't supported"),
            ));
        }
    };
    let next = next(t, &ids, actions, find)?;
    let default = match &t.default_entry {
        None => None,
        Some(d) => Some(default_entry(context, actions, d)?),
    };
    let direct_meter = match t.direct_meters.as_deref() {
        None => None,
        Some(name) => Some(direct_meter(context, name)?),
    };
    let mut const_entries = Vec::new();
    for e in t.entries.iter().flatten() {
        const_entries.push(const_entry(context, actions, e, &infos)?);
    }
    let const_default = t
        .default_entry
        .as_ref()
        .is_some_and(|d| d.action_entry_const || (d.action_const && d.action_data.is_empty()));
    let needs_priority =
        infos.iter().any(|k| matches!(k.kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional));
    let info = TableInfo {
        name: t.name.clone(),
        keys: infos,
        actions: ids,
        size: t.max_size.map_or(1024, |n| usize::try_from(n).unwrap_or(usize::MAX)),
        profile,
        const_entries: t.entries.is_some(),
        const_default,
        direct_counter: t.with_counters,
        direct_meter: direct_meter.is_some(),
        idle_timeout: t.support_timeout,
        needs_priority,
    };
    let shape = TableShape {
        key: fields,
        key_words: moves.into(),
        words,
        next,
        base_next: find(t.base_default_next.as_deref())?,
        default,
        const_default_action: t.default_entry.as_ref().is_some_and(|d| d.action_const),
        const_entries,
        direct_meter,
    };
    Ok((shape, info))
}

/// A table's key: as the controller sees it, and as it is packed.
struct Key {
    fields: Vec<KeyField>,
    moves: Vec<KeyWord>,
    words: usize,
    infos: Vec<KeyInfo>,
}

fn key(context: &Context, builder: &mut Builder, t: &Table) -> Result<Key, LoadError> {
    let (mut fields, mut moves, mut infos) = (Vec::new(), Vec::new(), Vec::new());
    let (mut words, mut lpms) = (0, 0);
    // The word that small fields are being packed into, and its bits in use.
    let mut open: Option<(usize, usize)> = None;
    for k in &t.key {
        let kind = match k.match_type.as_str() {
            "exact" | "valid" => MatchKind::Exact,
            "lpm" => MatchKind::Lpm,
            "ternary" => MatchKind::Ternary,
            "range" => MatchKind::Range,
            "optional" => MatchKind::Optional,
            other => return Err(LoadError::new("key", format!("match kind {other:?} isn't supported"))),
        };
        lpms += usize::from(kind == MatchKind::Lpm);
        let (slot, valid, bits, name) = if k.match_type == "valid" {
            let name = k.target.as_str().unwrap_or("");
            (context.layout.headers[context.layout.header(name)?].base, None, 1, name.to_owned())
        } else {
            let (header, field) = pair(&k.target)?;
            let place = context.reader().field(&k.target)?;
            if place.variable {
                return Err(LoadError::new("key", format!("variable field {field:?} can't be matched")));
            }
            let h = &context.layout.headers[context.layout.header(header)?];
            let valid = (!h.metadata && field != "$valid$").then_some(h.base);
            (place.base, valid, place.width, format!("{header}.{field}"))
        };
        let limbs = bits.div_ceil(64);
        // Small fields share a word; a range has its own, so that it can be compared.
        let (word, used) = if limbs > 1 || kind == MatchKind::Range {
            words += limbs;
            open = None;
            (words - limbs, 0)
        } else {
            let (word, used) = match open {
                Some((word, used)) if used + bits <= 64 => (word, used),
                _ => {
                    words += 1;
                    (words - 1, 0)
                }
            };
            open = Some((word, used + bits));
            (word, used)
        };
        let json_mask = match k.mask.as_deref() {
            None => None,
            Some(text) => {
                Some(Big::from_hex(text).ok_or_else(|| LoadError::new("key", format!("mask {text:?}")))?)
            }
        };
        let valid = valid.unwrap_or_else(|| builder.constant(&[1]));
        for i in 0..limbs {
            let kept = json_mask.as_ref().map_or(u64::MAX, |m| m.limb(i));
            moves.push(KeyWord {
                slot: slot + size32(i),
                valid,
                word: word + i,
                shift: size32(used),
                mask: mask(bits - i * 64) & kept,
            });
        }
        fields.push(KeyField { bits, kind, word, shift: size32(used) });
        infos.push(KeyInfo { name: k.name.clone().unwrap_or(name), width: bits, kind });
    }
    if lpms > 1 {
        return Err(LoadError::new("key", "two lpm fields in one table"));
    }
    Ok(Key { fields, moves, words, infos })
}

fn next(
    t: &Table,
    ids: &[ActionId],
    actions: &[ActionInfo],
    find: &impl Fn(Option<&str>) -> Result<u32, LoadError>,
) -> Result<Next, LoadError> {
    let named = |key: &str| find(t.next_tables.get(key).and_then(serde_json::Value::as_str));
    if t.next_tables.contains_key("__HIT__") || t.next_tables.contains_key("__MISS__") {
        return Ok(Next::HitMiss { hit: named("__HIT__")?, miss: named("__MISS__")? });
    }
    let mut by_action = vec![END; actions.len()];
    for id in ids {
        let name = &actions[id.0].name;
        if !t.next_tables.contains_key(name) {
            return Err(LoadError::new("next_tables", format!("nothing for action {name:?}")));
        }
        by_action[id.0] = named(name)?;
    }
    Ok(Next::ByAction(by_action))
}

/// The arguments of an action as the JSON spells them.
fn arguments(action: &ActionInfo, data: &[String]) -> Result<Vec<Value>, LoadError> {
    if data.len() != action.params.len() {
        let problem = format!("{} arguments expected, {} given", action.params.len(), data.len());
        return Err(LoadError::new(action.name.clone(), problem));
    }
    let mut args = Vec::new();
    for (text, p) in data.iter().zip(&action.params) {
        let big = Big::from_hex(text)
            .ok_or_else(|| LoadError::new(p.name.clone(), format!("argument {text:?}")))?;
        let words: Vec<u64> =
            (0..p.width.div_ceil(64)).map(|i| big.limb(i) & mask(p.width - i * 64)).collect();
        args.push(Value::from_limbs(&words));
    }
    Ok(args)
}

fn default_entry(
    context: &Context,
    actions: &[ActionInfo],
    d: &DefaultEntry,
) -> Result<(usize, Vec<u64>), LoadError> {
    let action = action_index(context, d.action_id)?;
    let args = arguments(&actions[action], &d.action_data).within("default_entry")?;
    let words = args.iter().zip(&actions[action].params).flat_map(|(a, p)| a.to_limbs(p.width.div_ceil(64)));
    Ok((action, words.collect()))
}

fn direct_meter(context: &Context, name: &str) -> Result<DirectMeter, LoadError> {
    let array = context.root.meter_arrays.iter().find(|m| m.name == name && m.is_direct);
    let array = array.ok_or_else(|| LoadError::new("", format!("no direct meter {name:?}")))?;
    let octets = meter_unit(array, name)?;
    let Some((header, field)) = &array.result_target else {
        return Err(LoadError::new(name, "a direct meter without result_target"));
    };
    let target = serde_json::json!([header, field]);
    let place = context.reader().field(&target)?;
    if place.width > 64 {
        return Err(LoadError::new(name, "result_target is wider than 64 bits"));
    }
    Ok(DirectMeter { octets, slot: place.base, mask: mask(place.width) })
}

fn const_entry(
    context: &Context,
    actions: &[ActionInfo],
    e: &Entry,
    keys: &[KeyInfo],
) -> Result<NewEntry, LoadError> {
    if e.match_key.len() != keys.len() {
        return Err(LoadError::new("entries", "an entry with the wrong number of key fields"));
    }
    let mut key = Vec::new();
    for (m, k) in e.match_key.iter().zip(keys) {
        key.push(entry_key(m, k).within("entries")?);
    }
    let action = action_index(context, e.action_entry.action_id)?;
    let args = arguments(&actions[action], &e.action_entry.action_data).within("entries")?;
    Ok(NewEntry {
        key,
        priority: u32::try_from(e.priority.max(0)).unwrap_or(u32::MAX),
        action: EntryAction::Call(ActionCall { action: ActionId(action), args }),
        idle_timeout_ns: 0,
    })
}

fn entry_key(m: &EntryKey, k: &KeyInfo) -> Result<KeyMatch, LoadError> {
    let cut = |big: &Big| {
        let words: Vec<u64> =
            (0..k.width.div_ceil(64)).map(|i| big.limb(i) & mask(k.width - i * 64)).collect();
        Value::from_limbs(&words)
    };
    let text = |t: &Option<String>| -> Result<Value, LoadError> {
        let big = t.as_deref().and_then(Big::from_hex);
        big.map(|b| cut(&b)).ok_or_else(|| LoadError::new(k.name.clone(), "a match without its value"))
    };
    let key = || -> Result<Value, LoadError> {
        match &m.key {
            Some(serde_json::Value::Bool(b)) => Ok(Value::from(u64::from(*b))),
            Some(json) => Ok(cut(&hex(json)?)),
            None => Err(LoadError::new(k.name.clone(), "a match without its value")),
        }
    };
    Ok(match m.match_type.as_str() {
        "exact" | "valid" => KeyMatch::Exact(key()?),
        "lpm" => KeyMatch::Lpm {
            value: key()?,
            prefix_len: m.prefix_length.and_then(|n| usize::try_from(n).ok()).unwrap_or(0),
        },
        "ternary" | "optional" => KeyMatch::Ternary { value: key()?, mask: text(&m.mask)? },
        "range" => KeyMatch::Range { low: text(&m.start)?, high: text(&m.end)? },
        other => return Err(LoadError::new(k.name.clone(), format!("match kind {other:?} isn't supported"))),
    })
}
