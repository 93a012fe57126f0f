//! What the JSON format allows and p4c seldom or never writes.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use softswitch::control::{ActionCall, EntryAction, KeyMatch, NewEntry, TableId};
use softswitch::{Packet, Program, Switch, Value};

use super::program::{
    Build, assign, config, drain, field, number, op, packet, primitive, std_field, table, word,
};

fn switch(json: &Json) -> Switch {
    let program: Arc<Program> = Program::from_json(json.to_string().as_bytes()).unwrap();
    Switch::new(program, config())
}

fn passed(switch: &mut Switch, packet: Packet) -> Vec<u8> {
    switch.ingress(0, packet, 0);
    let mut out = drain(switch, 0);
    assert_eq!(out.len(), 1);
    out.remove(0).1
}

#[test]
fn saturating_fields_stick_to_their_ends() {
    for (operator, signed, a, b, expected) in [
        ("+", false, 0xffff_fff0, 0x20, 0xffff_ffff),
        ("+", false, 0xffff_fff0, 0x0f, 0xffff_ffff),
        ("+", false, 0xffff_fff0, 0x0e, 0xffff_fffe),
        ("-", false, 3, 4, 0),
        ("-", false, 4, 3, 1),
        ("+", true, 0x7fff_fff0, 0x20, 0x7fff_ffff),
        ("-", true, 0x8000_0001, 2, 0x8000_0000),
        ("-", true, 0x8000_0001, 1, 0x8000_0000),
        ("-", true, 0, 1, 0xffff_ffff),
    ] {
        let sum = op(operator, field("h", "a"), field("h", "b"));
        let mut json = Build { ingress: vec![assign(field("h", "a"), sum)], ..Build::default() }.json();
        json["header_types"][2]["fields"][0] = json!(["a", 32, signed, true]);
        let out = passed(&mut switch(&json), packet(a, b, 0));
        assert_eq!(word(&out, 0), expected, "{a:#x} {operator} {b:#x}, signed {signed}");
    }
}

#[test]
fn a_header_type_can_give_the_length_of_its_variable_field() {
    let remove = primitive("remove_header", json!([{ "type": "header", "value": "v" }]));
    let mut json = Build { egress: vec![remove], ..Build::default() }.json();
    let octets = op("*", json!({ "type": "local", "value": 0 }), number(8));
    json["header_types"].as_array_mut().unwrap().push(json!({
        "name": "v_t", "id": 3, "fields": [["len", 8, false], ["data", "*"]], "length_exp": octets, "max_length": 9,
    }));
    let v = json!({ "name": "v", "id": 4, "header_type": "v_t", "metadata": false });
    json["headers"].as_array_mut().unwrap().push(v);
    json["parsers"][0]["parse_states"][0]["parser_ops"][0]["parameters"][0]["value"] = json!("v");
    json["deparsers"][0]["order"] = json!(["v"]);
    let mut switch = switch(&json);
    assert_eq!(passed(&mut switch, Packet::new(vec![2, 0xaa, 0xbb, 0xcc])), [0xcc]);
    assert_eq!(passed(&mut switch, Packet::new(vec![0, 0xaa])), [0xaa]);
    // Longer than the packet, and longer than the header may be: errors, and nothing is parsed.
    for packet in [vec![4, 1, 2, 3], [vec![9], vec![7; 20]].concat()] {
        assert_eq!(passed(&mut switch, Packet::new(packet.clone())), packet);
    }
}

#[test]
fn a_mask_on_a_value_set_counts_for_key_and_members() {
    let mut json = Build::default().json();
    json["parse_vsets"] = json!([{ "name": "s", "id": 0, "compressed_bitwidth": 32 }]);
    let states = json["parsers"][0]["parse_states"].as_array_mut().unwrap();
    states[0]["transition_key"] = json!([field("h", "a")]);
    states[0]["transitions"] = json!([
        { "type": "parse_vset", "value": "s", "mask": "0xff0000ff", "next_state": "hit" },
        { "type": "default", "value": null, "mask": null, "next_state": null },
    ]);
    states.push(json!({
        "name": "hit", "id": 1, "transition_key": [],
        "parser_ops": [{ "op": "set", "parameters": [field("h", "b"), number(7)] }],
        "transitions": [{ "type": "default", "value": null, "mask": null, "next_state": null }],
    }));
    let mut switch = switch(&json);
    let set = switch.program().value_set("s").unwrap();
    switch.set_value_set(set, vec![vec![KeyMatch::Exact(Value::from(0x1234_5678u32))]]).unwrap();
    for (a, b) in [(0x1234_5678, 7), (0x12ff_ff78, 7), (0x1334_5678, 0), (0x1234_5679, 0)] {
        assert_eq!(word(&passed(&mut switch, packet(a, 0, 0)), 1), b, "{a:#x}");
    }
}

#[test]
fn ranges_may_be_wider_than_a_word() {
    let build = Build { table: Some(table(&[("range", "h", "a")])), ..Build::default() };
    let mut json = build.json();
    json["header_types"][2]["fields"][0] = json!(["a", 128, false]);
    let mut switch = switch(&json);
    let action = switch.program().table_action(TableId(0), "hit").unwrap();
    let (low, high) = (5u128 << 64 | 9, 7u128 << 64 | 3);
    let range = |low: u128, high: u128| KeyMatch::Range { low: Value::from(low), high: Value::from(high) };
    let entry = |key, port: u32| NewEntry {
        key: vec![key],
        priority: port,
        action: EntryAction::Call(ActionCall { action, args: vec![Value::from(port)] }),
        idle_timeout_ns: 0,
    };
    let first = switch.table_insert(TableId(0), entry(range(low, high), 1)).unwrap();
    switch.table_insert(TableId(0), entry(KeyMatch::Any, 2)).unwrap();
    assert!(switch.table_insert(TableId(0), entry(range(high, low), 3)).is_err(), "the wrong way round");
    let mut port_of = |value: u128| {
        let octets = [&value.to_be_bytes()[..], &[0; 4]].concat();
        switch.ingress(0, Packet::new(octets), 0);
        drain(&mut switch, 0)[0].0
    };
    for (value, port) in
        [(low, 1), (high, 1), (6 << 64, 1), (low - 1, 2), (high + 1, 2), (0, 2), (u128::MAX, 2)]
    {
        assert_eq!(port_of(value), port, "{value:#x}");
    }
    let read = switch.table_entries(TableId(0)).unwrap();
    let found = read.iter().find(|e| e.handle == first).unwrap();
    assert_eq!(found.key, [range(low, high)]);
}

#[test]
fn a_digest_may_carry_constants() {
    let digest = primitive("generate_digest", json!([number(0), number(1)]));
    let mut json = Build { ingress: vec![digest], ..Build::default() }.json();
    let constant = json!({ "type": "hexstr", "value": "0xabc", "bitwidth": 12 });
    json["learn_lists"] = json!([{ "id": 1, "name": "l", "elements": [constant, field("h", "a")] }]);
    json["field_lists"][0]["elements"] = json!([constant, std_field("ingress_port")]);
    let mut switch = switch(&json);
    passed(&mut switch, packet(5, 6, 0));
    assert_eq!(switch.program().digest(1).unwrap().widths, [12, 32]);
    assert_eq!(switch.poll_digest().unwrap().fields, [Value::from(0xabcu32), Value::from(5u32)]);
}
