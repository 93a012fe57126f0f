//! Bad input: refused with a place and a reason, never a panic.

use serde_json::{Value, json};
use softswitch::{Packet, Program, Switch};

use super::program::{Build, assign, config, drain, field, number, op, primitive, std_field, table};

fn sample() -> Build {
    Build {
        ingress: vec![
            assign(std_field("egress_spec"), number(1)),
            assign(field("m", "wide"), op("+", field("m", "wide"), field("h", "a"))),
            primitive("resubmit", json!([number(0)])),
            primitive("truncate", json!([number(3)])),
        ],
        table: Some(table(&[("exact", "h", "a"), ("ternary", "h", "b")])),
        ..Build::default()
    }
}

/// Every way of replacing one node of the document by another value.
fn mutate(value: &Value, replacement: &Value, mut position: usize) -> Option<Value> {
    fn walk(value: &mut Value, replacement: &Value, position: &mut usize) -> bool {
        if *position == 0 {
            *value = replacement.clone();
            return true;
        }
        *position -= 1;
        match value {
            Value::Array(items) => items.iter_mut().any(|v| walk(v, replacement, position)),
            Value::Object(items) => items.values_mut().any(|v| walk(v, replacement, position)),
            _ => false,
        }
    }
    let mut copy = value.clone();
    walk(&mut copy, replacement, &mut position).then_some(copy)
}

#[test]
fn whatever_one_writes_into_the_json_is_refused_or_runs() {
    let json = sample().json();
    let replacements = [
        Value::Null,
        json!(-1),
        json!(u64::MAX),
        json!("x"),
        json!([]),
        json!({}),
        json!([["a", 1]]),
        json!("0xfff"),
    ];
    for replacement in &replacements {
        for position in 0.. {
            let Some(changed) = mutate(&json, replacement, position) else { break };
            let Ok(program) = Program::from_json(changed.to_string().as_bytes()) else { continue };
            let mut switch = Switch::new(program, config());
            switch.ingress(3, Packet::new(vec![1; 40]), 0);
            drain(&mut switch, 0);
        }
    }
}

#[test]
fn a_document_cut_anywhere_is_refused() {
    let text = sample().json().to_string();
    for end in 0..text.len() {
        assert!(Program::from_json(&text.as_bytes()[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let refuse = |build: Build, what: &str| {
        let error = Program::from_json(build.json().to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    let unknown = primitive("sqrt", json!([field("h", "a")]));
    refuse(Build { ingress: vec![unknown], ..Build::default() }, "\"sqrt\"");
    let operator = assign(field("h", "a"), op("**", field("h", "a"), number(2)));
    refuse(Build { egress: vec![operator], ..Build::default() }, "\"**\"");
    refuse(Build { ingress: vec![assign(field("h", "zz"), number(0))], ..Build::default() }, "\"zz\"");
    refuse(Build { table: Some(table(&[("fuzzy", "h", "a")])), ..Build::default() }, "\"fuzzy\"");
}

#[test]
fn json_of_another_architecture_is_refused() {
    for text in
        ["{}", "[]", "null", "{\"__meta__\":{\"version\":[3,0]}}", "{\"__meta__\":{\"version\":[2,23]}}"]
    {
        assert!(Program::from_json(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn packets_of_every_length_pass_or_end_in_a_parser_error() {
    let mut switch =
        Build { ingress: vec![assign(std_field("egress_spec"), number(1))], ..Build::default() }.switch();
    for length in (0..64).chain([65_535]) {
        switch.ingress(0, Packet::new(vec![0xab; length]), 0);
        let out = drain(&mut switch, 0);
        assert_eq!(out, [(1, vec![0xab; length])], "{length} octets");
    }
    assert_eq!(switch.stats().parser_errors, 8);
}

#[test]
fn an_action_that_never_ends_costs_the_packet_only() {
    let mut switch =
        Build { ingress: vec![primitive("_jump", json!([number(0)]))], ..Build::default() }.switch();
    switch.ingress(0, Packet::new(vec![0; 8]), 0);
    assert_eq!(switch.stats().runaway_drops, 1);
    assert!(drain(&mut switch, 0).is_empty());
}
