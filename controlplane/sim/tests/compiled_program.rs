//! The simulator runs the compiled P4 program, not a model of it: a changed comparison in the JSON changes the result.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use controller::topology;
use serde_json::{Value, json};
use sim::{Pipeline, Scheme, Summary};

fn root(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn run(pipeline: &Pipeline) -> Summary {
    let topology = topology::load(&root("topologies/uplink.yaml")).unwrap();
    sim::run(&topology, pipeline, Scheme::RdccCrn, 1, &mut |_| {}).unwrap().summary
}

/// Every `left op field` comparison in the program, whatever `left` is.
fn comparisons<'a>(value: &'a mut Value, op: &str, field: &str, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Object(object) => {
            let right = json!({ "type": "field", "value": ["scalars", field] });
            if object.get("op").is_some_and(|o| o == op) && object.get("right") == Some(&right) {
                found.extend(object.get_mut("op"));
                return;
            }
            object.values_mut().for_each(|inner| comparisons(inner, op, field, found));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| comparisons(inner, op, field, found)),
        _ => {}
    }
}

#[test]
fn a_changed_comparison_in_the_json_changes_the_simulation() {
    let text = std::fs::read(root("p4/bmv2/build/crn.json")).unwrap();
    let mut program: Value = serde_json::from_slice(&text).unwrap();
    let original = run(&Pipeline::from_json(&text).unwrap());
    assert!(original.reports.congestion_to_receiver > 0);
    assert_eq!(
        original,
        run(&Pipeline::built_in().unwrap()),
        "the built-in program is the one in the repository"
    );

    // The report's condition: occupancy > B_th. Turned round, queues above the threshold are silent.
    let mut found = Vec::new();
    comparisons(&mut program, ">", "metadata_t.b_th", &mut found);
    let [threshold] = found.as_mut_slice() else { panic!("{} comparisons with B_th", found.len()) };
    **threshold = json!("<");
    let changed = run(&Pipeline::from_json(&serde_json::to_vec(&program).unwrap()).unwrap());
    assert_ne!(original.reports, changed.reports);
    assert_ne!(original.bottleneck, changed.bottleneck);
}
