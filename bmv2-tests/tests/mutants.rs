//! The cases notice when the program is wrong: one comparison of the compiled program is changed, and the case that is
//! about it must fail. That also shows that softswitch runs that JSON and nothing else.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::sync::Arc;

use bmv2_tests::cases;
use bmv2_tests::program::Program;
use bmv2_tests::soft::Soft;
use bmv2_tests::target::{Target as _, judge};
use serde_json::Value;

/// Replaces the operator of the only comparison whose sides name these fields. Panics unless there is exactly one.
fn mutate(left: &str, op: &str, right: &str, with: &str) -> Program {
    let mut program = Program::load().unwrap();
    let mut json: Value = serde_json::from_slice(&program.json).unwrap();
    assert_eq!(replace(&mut json, left, op, right, with), 1, "{left} {op} {right}");
    program.json = serde_json::to_vec(&json).unwrap();
    program
}

fn replace(value: &mut Value, left: &str, op: &str, right: &str, with: &str) -> usize {
    let mut found = 0;
    let names = |side: &Value, field: &str| side["type"] == "field" && side.to_string().contains(field);
    if value["op"] == op && names(&value["left"], left) && names(&value["right"], right) {
        value["op"] = with.into();
        found += 1;
    }
    match value {
        Value::Object(fields) => {
            found += fields.values_mut().map(|field| replace(field, left, op, right, with)).sum::<usize>();
        }
        Value::Array(items) => {
            found += items.iter_mut().map(|item| replace(item, left, op, right, with)).sum::<usize>();
        }
        _ => {}
    }
    found
}

/// Whether the case holds on softswitch with this program.
fn holds(name: &str, program: Program) -> bool {
    let case = cases::all().into_iter().find(|case| case.name == name).unwrap();
    let target = Soft { program: Some(Arc::new(program)) };
    judge(&target.run(&case), |observed| case.differences(observed)).is_ok()
}

#[test]
fn above_b_th_is_not_at_b_th() {
    assert!(holds("threshold_equal", Program::load().unwrap()));
    assert!(!holds("threshold_equal", mutate("occupancy", ">", "b_th", ">=")));
}

#[test]
fn datagrams_to_the_rdcc_port_are_recognised_by_that_port() {
    let name = "no_report_about_rdcc_datagrams";
    assert!(holds(name, Program::load().unwrap()));
    assert!(!holds(name, mutate("dst_port", "!=", "rdcc_port", "==")));
}

#[test]
fn marking_begins_above_its_threshold() {
    assert!(holds("ecn_threshold", Program::load().unwrap()));
    assert!(!holds("ecn_threshold", mutate("occupancy", ">", "ecn_threshold", ">=")));
}
