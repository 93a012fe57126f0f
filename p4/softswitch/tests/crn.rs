//! This project's own program: it loads, and its packet tests pass.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test, as tests do")]

use std::path::Path;

use softswitch::stf::{Options, run};
use softswitch::{Engine, Program};

#[test]
fn the_projects_program_passes_its_packet_tests() {
    passes_its_packet_tests(Engine::Interpreter);
}

#[test]
fn the_projects_program_passes_its_packet_tests_as_native_code() {
    passes_its_packet_tests(Engine::Native);
}

fn passes_its_packet_tests(engine: Engine) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bmv2");
    let json = std::fs::read(folder.join("build/crn.json")).unwrap();
    let program = Program::from_json(&json).unwrap();
    let options = Options { priority_queues: 8, engine, ..Options::default() };
    let mut failures = Vec::new();
    let mut tests = 0;
    for entry in std::fs::read_dir(folder.join("tests")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "stf") {
            continue;
        }
        tests += 1;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match run(&program, &std::fs::read_to_string(&path).unwrap(), &options) {
            Ok(report) if report.passed() => {
                println!("pass {name}: {} in, {} out", report.sent, report.received);
            }
            Ok(report) => failures.extend(report.failures.iter().map(|f| format!("{name}: {f}"))),
            Err(e) => failures.push(format!("{name}: {e}")),
        }
    }
    assert!(tests > 0, "no packet tests in p4/bmv2/tests");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
