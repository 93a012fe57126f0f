//! Small programs, written as the JSON p4c would make of them.

use std::sync::Arc;

use serde_json::{Value, json};
use softswitch::{Packet, Program, Switch, SwitchConfig};

use super::ENGINE;

/// The standard metadata of v1model.
const STANDARD: [(&str, u32); 16] = [
    ("ingress_port", 9),
    ("egress_spec", 9),
    ("egress_port", 9),
    ("instance_type", 32),
    ("packet_length", 32),
    ("enq_timestamp", 32),
    ("enq_qdepth", 19),
    ("deq_timedelta", 32),
    ("deq_qdepth", 19),
    ("ingress_global_timestamp", 48),
    ("egress_global_timestamp", 48),
    ("mcast_grp", 16),
    ("egress_rid", 16),
    ("checksum_error", 1),
    ("parser_error", 32),
    ("priority", 3),
];

pub fn field(header: &str, name: &str) -> Value {
    json!({ "type": "field", "value": [header, name] })
}

pub fn std_field(name: &str) -> Value {
    field("standard_metadata", name)
}

pub fn number(n: u64) -> Value {
    json!({ "type": "hexstr", "value": format!("{n:#x}") })
}

pub fn op(op: &str, left: Value, right: Value) -> Value {
    json!({ "type": "expression", "value": { "op": op, "left": left, "right": right } })
}

pub fn primitive(op: &str, parameters: Value) -> Value {
    json!({ "op": op, "parameters": parameters })
}

pub fn assign(to: Value, from: Value) -> Value {
    primitive("assign", json!([to, from]))
}

/// A program: header `h` with two fields of 32 bits, `h.a` and `h.b`, metadata `m` with `x` of 64 bits, `kept` and
/// `lost` of 32. Ingress and egress each run one action; `if_type` in front runs an action instead for one
/// `instance_type`.
#[derive(Default)]
pub struct Build {
    pub ingress: Vec<Value>,
    pub egress: Vec<Value>,
    /// Instead of `ingress`, for packets of this type.
    pub ingress_for: Option<(u64, Vec<Value>)>,
    /// Instead of `egress`, for packets of this type.
    pub egress_for: Option<(u64, Vec<Value>)>,
    /// A table in front of everything, see [`table`].
    pub table: Option<Value>,
    pub actions: Vec<Value>,
    pub registers: Vec<Value>,
}

fn pipeline(name: &str, id: u64, main: u64, special: Option<(u64, u64)>, table: Option<&Value>) -> Value {
    let mut calls =
        vec![json!({ "name": format!("{name}_main"), "id": id * 10, "action_id": main, "next_node": null })];
    let mut conditionals = Vec::new();
    let mut start = format!("{name}_main");
    if let Some((kind, action)) = special {
        let special = format!("{name}_special");
        calls.push(json!({ "name": special, "id": id * 10 + 1, "action_id": action, "next_node": null }));
        conditionals.push(json!({
            "name": format!("{name}_test"), "id": id,
            "expression": op("==", std_field("instance_type"), number(kind)),
            "true_next": special, "false_next": start,
        }));
        start = format!("{name}_test");
    }
    let mut tables = Vec::new();
    if let Some(table) = table {
        let mut table = table.clone();
        table["base_default_next"] = json!(start);
        let next: serde_json::Map<String, Value> = table["actions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| (a.as_str().unwrap().to_owned(), json!(start)))
            .collect();
        table["next_tables"] = Value::Object(next);
        table["name"].as_str().unwrap().clone_into(&mut start);
        tables.push(table);
    }
    json!({
        "name": name, "id": id, "init_table": start, "tables": tables, "action_profiles": [],
        "conditionals": conditionals, "action_calls": calls,
    })
}

/// A table `t` with these keys (`match kind`, `header`, `field`) that runs `hit(port)` or nothing.
pub fn table(keys: &[(&str, &str, &str)]) -> Value {
    let key: Vec<Value> = keys
        .iter()
        .map(|(kind, h, f)| json!({ "match_type": kind, "name": format!("{h}.{f}"), "target": [h, f], "mask": null }))
        .collect();
    json!({
        "name": "t", "id": 0, "key": key, "match_type": "ternary", "type": "simple", "max_size": 200_000,
        "with_counters": true, "support_timeout": true, "direct_meters": null, "action_ids": [100],
        "actions": ["hit"], "default_entry": null,
    })
}

impl Build {
    pub fn json(&self) -> Value {
        let fields =
            |list: &[(&str, u32)]| -> Value { list.iter().map(|(n, w)| json!([n, w, false])).collect() };
        let action = |id: u64, name: &str, body: &[Value]| json!({ "name": name, "id": id, "runtime_data": [], "primitives": body });
        let mut actions =
            vec![action(0, "ingress_main", &self.ingress), action(1, "egress_main", &self.egress)];
        if let Some((_, body)) = &self.ingress_for {
            actions.push(action(2, "ingress_special", body));
        }
        if let Some((_, body)) = &self.egress_for {
            actions.push(action(3, "egress_special", body));
        }
        actions.push(json!({
            "name": "hit", "id": 100, "runtime_data": [{ "name": "port", "bitwidth": 9 }],
            "primitives": [assign(std_field("egress_spec"), json!({ "type": "runtime_data", "value": 0 }))],
        }));
        actions.extend(self.actions.iter().cloned());
        json!({
            "__meta__": { "version": [2, 23] },
            "header_types": [
                { "name": "std_t", "id": 0, "fields": fields(&STANDARD) },
                { "name": "m_t", "id": 1, "fields": fields(&[("x", 64), ("kept", 32), ("lost", 32), ("wide", 128)]) },
                { "name": "h_t", "id": 2, "fields": fields(&[("a", 32), ("b", 32)]) },
            ],
            "headers": [
                { "name": "standard_metadata", "id": 0, "header_type": "std_t", "metadata": true },
                { "name": "m", "id": 1, "header_type": "m_t", "metadata": true },
                { "name": "h", "id": 2, "header_type": "h_t", "metadata": false },
                { "name": "extra", "id": 3, "header_type": "h_t", "metadata": false },
            ],
            "field_lists": [{ "id": 1, "name": "keep", "elements": [field("m", "kept")] }],
            "errors": [["NoError", 0], ["PacketTooShort", 1]],
            "parsers": [{ "name": "parser", "id": 0, "init_state": "start", "parse_states": [{
                "name": "start", "id": 0,
                "parser_ops": [{ "op": "extract", "parameters": [{ "type": "regular", "value": "h" }] }],
                "transitions": [{ "type": "default", "value": null, "mask": null, "next_state": null }],
                "transition_key": [],
            }] }],
            "deparsers": [{ "name": "deparser", "id": 0, "order": ["extra", "h"], "primitives": [] }],
            "register_arrays": self.registers,
            "actions": actions,
            "pipelines": [
                pipeline("ingress", 0, 0, self.ingress_for.as_ref().map(|(k, _)| (*k, 2)), self.table.as_ref()),
                pipeline("egress", 1, 1, self.egress_for.as_ref().map(|(k, _)| (*k, 3)), None),
            ],
        })
    }

    pub fn program(&self) -> Arc<Program> {
        Program::from_json(self.json().to_string().as_bytes()).unwrap()
    }

    pub fn switch(&self) -> Switch {
        Switch::new(self.program(), config())
    }
}

/// What the tests' switches are set up with.
pub fn config() -> SwitchConfig {
    SwitchConfig { engine: ENGINE, ..SwitchConfig::default() }
}

/// A packet of `h` and a payload of zeros.
pub fn packet(a: u32, b: u32, payload: usize) -> Packet {
    let mut octets = [a.to_be_bytes(), b.to_be_bytes()].concat();
    octets.resize(8 + payload, 0);
    Packet::new(octets)
}

/// All that can leave now, port by port.
pub fn drain(switch: &mut Switch, now_ns: u64) -> Vec<(u16, Vec<u8>)> {
    let mut out = Vec::new();
    loop {
        let ready = |p: &u16| switch.next_departure(*p).is_some_and(|t| t <= now_ns);
        let next = switch.active_ports().find(ready);
        let Some(port) = next else { return out };
        if let Some(packet) = switch.dequeue(port, now_ns).and_then(|d| d.packet) {
            out.push((port, packet.to_octets()));
        }
    }
}

/// A word of a packet.
pub fn word(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets[at * 4..at * 4 + 4].try_into().unwrap())
}
