//! Entries and commands: from names and text to the control surface.

use crate::control::{
    ActionCall, CloneSession, ControlError, CounterValue, EntryAction, EntryHandle, KeyInfo, KeyMatch,
    MatchKind, MeterConfig, NewEntry, Replica, TableId,
};
use crate::value::Value;
use crate::{PortConfig, QueueRate, Switch};

use super::parse::{Add, number};

/// p4c's runner writes priority `10000 - n` into BMv2's tables.
pub(super) const TOP_PRIORITY: u32 = 10_000;

/// What a command may refuse with.
pub(super) type Outcome<T> = Result<T, String>;

pub(super) fn text(e: &ControlError) -> String {
    e.to_string()
}

/// Digits with `*` for any digit, as value and mask.
fn wildcard(text: &str) -> Outcome<(Value, Value)> {
    let (digits, bits) = if let Some(d) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        (d, 4)
    } else if let Some(d) = text.strip_prefix("0b").or_else(|| text.strip_prefix("0B")) {
        (d, 1)
    } else if let Some(d) = text.strip_prefix("0o") {
        (d, 3)
    } else {
        let value: u128 = text.parse().map_err(|_| format!("{text:?} isn't a number"))?;
        return Ok((Value::from(value), Value::from(u128::MAX)));
    };
    let (mut value, mut mask) = (Vec::new(), Vec::new());
    for c in digits.chars().filter(|c| *c != '_') {
        let digit = if c == '*' { Some(0) } else { c.to_digit(1 << bits) };
        let digit = digit.ok_or_else(|| format!("{c:?} isn't a digit of {text}"))?;
        for bit in (0..bits).rev() {
            value.push(digit >> bit & 1 == 1);
            mask.push(c != '*');
        }
    }
    Ok((from_bits(&value), from_bits(&mask)))
}

fn from_bits(bits: &[bool]) -> Value {
    let mut octets = vec![0u8; bits.len().div_ceil(8)];
    for (i, _) in bits.iter().rev().enumerate().filter(|(_, set)| **set) {
        let at = octets.len() - 1 - i / 8;
        octets[at] |= 1 << (i % 8);
    }
    Value::from_octets(&octets)
}

pub(super) fn value(text: &str) -> Outcome<Value> {
    if text.contains('*') {
        return Err(format!("{text} has wildcards where a number is needed"));
    }
    wildcard(text).map(|(v, _)| v)
}

/// All bits of a field.
pub(super) fn full(width: usize) -> Value {
    from_bits(&vec![true; width])
}

fn cut(v: &Value, width: usize) -> Value {
    let limbs = width.div_ceil(64);
    let words = v.to_limbs(limbs);
    let words: Vec<u64> =
        words.iter().enumerate().map(|(i, w)| w & crate::layout::mask(width - i * 64)).collect();
    Value::from_limbs(&words)
}

fn key_match(info: &KeyInfo, text: &str) -> Outcome<KeyMatch> {
    match info.kind {
        MatchKind::Exact => Ok(KeyMatch::Exact(value(text)?)),
        MatchKind::Lpm => {
            if let Some((v, len)) = text.split_once('/') {
                return Ok(KeyMatch::Lpm { value: value(v)?, prefix_len: number(len)? });
            }
            let stars = text.chars().filter(|c| *c == '*').count();
            let per_digit = if text.starts_with("0b") { 1 } else { 4 };
            let (value, _) = wildcard(text)?;
            Ok(KeyMatch::Lpm { value, prefix_len: info.width.saturating_sub(stars * per_digit) })
        }
        MatchKind::Ternary | MatchKind::Optional => {
            if let Some((v, m)) = text.split_once("&&&") {
                return Ok(KeyMatch::Ternary { value: value(v.trim())?, mask: value(m.trim())? });
            }
            let (v, m) = wildcard(text)?;
            // Digits that aren't written don't matter in p4c's runner; without any star they are all meant.
            let mask = if text.contains('*') { cut(&m, info.width) } else { full(info.width) };
            Ok(KeyMatch::Ternary { value: v, mask })
        }
        MatchKind::Range => match text.split_once("->").or_else(|| text.split_once("..")) {
            Some((low, high)) => Ok(KeyMatch::Range { low: value(low)?, high: value(high)? }),
            None => Ok(KeyMatch::Range { low: value(text)?, high: value(text)? }),
        },
    }
}

/// The key field a test means: whole name, or its last parts; `name$0.x` stands for `name[0].x`.
pub(super) fn find_key(keys: &[KeyInfo], name: &str) -> Outcome<usize> {
    let mut wanted = String::new();
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '$' || !chars.peek().is_some_and(char::is_ascii_digit) {
            wanted.push(c);
            continue;
        }
        wanted.push('[');
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            wanted.push(digit);
        }
        wanted.push(']');
    }
    let mut names = vec![wanted.clone(), format!("{wanted}$"), format!("{wanted}.$valid$")];
    if let Some(head) = wanted.strip_suffix("valid") {
        names.push(format!("{head}$valid$"));
    }
    for n in &names {
        if let Some(at) = keys.iter().position(|k| k.name == *n) {
            return Ok(at);
        }
    }
    for n in &names {
        let tail = format!(".{n}");
        if let Some(at) = keys.iter().position(|k| k.name.ends_with(&tail)) {
            return Ok(at);
        }
    }
    Err(format!("no key field {name:?}"))
}

fn call(switch: &Switch, table: TableId, action: &str, args: &[(String, String)]) -> Outcome<EntryAction> {
    let id = switch.program().table_action(table, action).map_err(|e| text(&e))?;
    let params = &switch.program().actions()[id.0].params;
    let mut values = vec![None; params.len()];
    for (name, given) in args {
        let at = params.iter().position(|p| p.name == *name);
        let at = at.ok_or_else(|| format!("action {action} has no parameter {name:?}"))?;
        values[at] = Some(value(given)?);
    }
    let all: Option<Vec<Value>> = values.into_iter().collect();
    let args = all.ok_or_else(|| format!("action {action} needs {} arguments", params.len()))?;
    Ok(EntryAction::Call(ActionCall { action: id, args }))
}

pub(super) fn add(switch: &mut Switch, add: &Add) -> Outcome<(TableId, EntryHandle)> {
    let table = switch.program().table(&add.table).map_err(|e| text(&e))?;
    let info = &switch.program().tables()[table.0];
    let mut key: Vec<KeyMatch> = info
        .keys
        .iter()
        .map(|k| if k.kind == MatchKind::Exact { KeyMatch::Exact(Value::from(0u64)) } else { KeyMatch::Any })
        .collect();
    for (name, given) in &add.keys {
        let at = find_key(&info.keys, name)?;
        key[at] = key_match(&info.keys[at], given)?;
    }
    let action = call(switch, table, &add.action, &add.args)?;
    let priority = TOP_PRIORITY.saturating_sub(add.priority.unwrap_or(0));
    let entry = NewEntry { key, priority, action, idle_timeout_ns: 0 };
    let handle = switch.table_insert(table, entry).map_err(|e| text(&e))?;
    Ok((table, handle))
}

pub(super) fn set_default(
    switch: &mut Switch,
    table: &str,
    action: &str,
    args: &[(String, String)],
) -> Outcome<()> {
    let table = switch.program().table(table).map_err(|e| text(&e))?;
    let action = call(switch, table, action, args)?;
    switch.table_set_default(table, Some(action)).map_err(|e| text(&e))
}

pub(super) fn remove_all(switch: &mut Switch) -> Outcome<()> {
    for t in 0..switch.program().tables().len() {
        if !switch.program().tables()[t].const_entries {
            switch.table_clear(TableId(t)).map_err(|e| text(&e))?;
        }
    }
    Ok(())
}

/// Multicast nodes as `simple_switch_CLI` makes them: numbered from 0.
#[derive(Debug, Default)]
pub(super) struct Nodes(Vec<(u16, Vec<u16>, Option<u16>)>);

/// Runs a command of `simple_switch_CLI`; gives what it would print.
pub(super) fn direct(switch: &mut Switch, nodes: &mut Nodes, words: &[String]) -> Outcome<Option<String>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = std::sync::Arc::clone(switch.program());
    if words.first().is_some_and(|c| super::cli::COMMANDS.contains(c)) {
        return super::cli::run(switch, &words).map(|()| None);
    }
    match words.as_slice() {
        ["mirroring_add", session, port] => {
            let replicas = vec![Replica { port: number(port)?, instance: 0 }];
            let config = CloneSession { replicas, ..CloneSession::default() };
            switch.set_clone_session(number(session)?, config).map_err(|e| text(&e))?;
        }
        ["mirroring_add_mc", session, group] => {
            let replicas =
                switch.multicast_group(number(group)?).map(<[Replica]>::to_vec).unwrap_or_default();
            let config = CloneSession { replicas, ..CloneSession::default() };
            switch.set_clone_session(number(session)?, config).map_err(|e| text(&e))?;
        }
        ["mirroring_delete", session] => {
            switch.delete_clone_session(number(session)?).map_err(|e| text(&e))?;
        }
        ["mirroring_get", session] => {
            return Ok(Some(format!("{:?}", switch.clone_session(number(session)?))));
        }
        ["mc_mgrp_create", group] => {
            switch.set_multicast_group(number(group)?, Vec::new()).map_err(|e| text(&e))?;
        }
        ["mc_node_create", rid, ports @ ..] => {
            let ports: Outcome<Vec<u16>> = ports.iter().map(|p| number(p)).collect();
            nodes.0.push((number(rid)?, ports?, None));
        }
        ["mc_node_update", node, ports @ ..] => {
            let ports: Outcome<Vec<u16>> = ports.iter().map(|p| number(p)).collect();
            let at: usize = number(node)?;
            nodes.0.get_mut(at).ok_or_else(|| format!("no multicast node {at}"))?.1 = ports?;
            rebuild_groups(switch, nodes)?;
        }
        ["mc_node_associate", group, node] => {
            let at: usize = number(node)?;
            nodes.0.get_mut(at).ok_or_else(|| format!("no multicast node {at}"))?.2 = Some(number(group)?);
            rebuild_groups(switch, nodes)?;
        }
        ["counter_read", name, index] => {
            let counter = program.counter(name).map_err(|e| text(&e))?;
            let v = switch.counter(counter, number(index)?).map_err(|e| text(&e))?;
            return Ok(Some(format!("{name}[{index}] = {} packets, {} octets", v.packets, v.octets)));
        }
        ["counter_write", name, index, packets, octets] => {
            let counter = program.counter(name).map_err(|e| text(&e))?;
            let v = CounterValue { packets: number(packets)?, octets: number(octets)? };
            switch.set_counter(counter, number(index)?, v).map_err(|e| text(&e))?;
        }
        ["counter_reset", name] => {
            let counter = program.counter(name).map_err(|e| text(&e))?;
            switch.reset_counter(counter).map_err(|e| text(&e))?;
        }
        ["register_read", name, index] => {
            let register = program.register(name).map_err(|e| text(&e))?;
            let v = switch.register(register, number(index)?).map_err(|e| text(&e))?;
            return Ok(Some(format!("{name}[{index}] = {v}")));
        }
        ["register_write", name, index, v] => {
            let register = program.register(name).map_err(|e| text(&e))?;
            switch.set_register(register, number(index)?, &value(v)?).map_err(|e| text(&e))?;
        }
        ["register_reset", name] => {
            let register = program.register(name).map_err(|e| text(&e))?;
            switch.reset_register(register).map_err(|e| text(&e))?;
        }
        ["meter_get_rates", name, index] => {
            let meter = program.meter(name).map_err(|e| text(&e))?;
            let v = switch.meter(meter, number(index)?).map_err(|e| text(&e))?;
            return Ok(Some(format!("{name}[{index}] = {v:?}")));
        }
        ["meter_set_rates", name, index, committed, peak] => {
            let meter = program.meter(name).map_err(|e| text(&e))?;
            let config = rates(committed, peak)?;
            switch.set_meter(meter, number(index)?, Some(config)).map_err(|e| text(&e))?;
        }
        ["meter_array_set_rates", name, committed, peak] => {
            let meter = program.meter(name).map_err(|e| text(&e))?;
            let config = rates(committed, peak)?;
            for index in 0..program.meters()[meter.0].size as u64 {
                switch.set_meter(meter, index, Some(config)).map_err(|e| text(&e))?;
            }
        }
        ["set_queue_depth", packets, port] => {
            let port = number(port)?;
            let config = PortConfig { queue_packets: number(packets)?, ..switch.port_config(port) };
            switch.set_port(port, config);
        }
        ["set_queue_rate", rate, port] => {
            let port = number(port)?;
            let rate = QueueRate::PacketsPerSecond(number(rate)?);
            switch.set_port(port, PortConfig { rate, ..switch.port_config(port) });
        }
        other => return Err(format!("wrong number of arguments: {}", other.join(" "))),
    }
    Ok(None)
}

fn rebuild_groups(switch: &mut Switch, nodes: &Nodes) -> Outcome<()> {
    let groups: Vec<u16> = switch.multicast_groups().map(|(id, _)| id).collect();
    for group in groups {
        let members = nodes.0.iter().filter(|(_, _, g)| *g == Some(group));
        let replicas =
            members.flat_map(|(rid, ports, _)| ports.iter().map(|&port| Replica { port, instance: *rid }));
        switch.set_multicast_group(group, replicas.collect()).map_err(|e| text(&e))?;
    }
    Ok(())
}

/// `RATE:BURST`, rates in units per microsecond as `simple_switch_CLI` takes them.
fn rates(committed: &str, peak: &str) -> Outcome<MeterConfig> {
    let pair = |text: &str| -> Outcome<(u64, u64)> {
        let (rate, burst) =
            text.split_once(':').ok_or_else(|| format!("RATE:BURST expected, not {text:?}"))?;
        let rate: f64 = rate.parse().map_err(|_| format!("{rate:?} isn't a rate"))?;
        if !(0.0..1e12).contains(&rate) {
            return Err(format!("{rate} isn't a sensible rate"));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just above")]
        Ok(((rate * 1e6).round() as u64, number(burst)?))
    };
    let ((cir, cburst), (pir, pburst)) = (pair(committed)?, pair(peak)?);
    Ok(MeterConfig { cir, cburst, pir, pburst })
}
