//! p4c's own v1model samples with their packet tests: what BMv2 does with them, this switch does.

use std::path::{Path, PathBuf};

use softswitch::Program;
use softswitch::stf::{Options, run};

/// The programs, beside the repository; nothing of them is in it.
fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    folder.is_dir().then_some(folder)
}

fn check(json: &Path) -> Result<String, String> {
    let program = std::fs::read(json).map_err(|e| e.to_string())?;
    let program = Program::from_json(&program).map_err(|e| format!("refused: {e}"))?;
    let test = std::fs::read_to_string(json.with_extension("stf")).map_err(|e| e.to_string())?;
    let report = run(&program, &test, &Options::default()).map_err(|e| e.to_string())?;
    if report.passed() {
        return Ok(format!("{} packets in, {} out", report.sent, report.received));
    }
    Err(report.failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[test]
fn every_conformance_program_passes_its_packet_test() {
    let Some(folder) = folder() else {
        println!("absent: ../shared/conformance (no conformance programs on this machine)");
        return;
    };
    let mut programs: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    programs.sort();
    let mut failed = 0;
    for json in &programs {
        let name = json.file_stem().unwrap().to_string_lossy();
        match check(json) {
            Ok(what) => println!("pass {name}: {what}"),
            Err(why) => {
                failed += 1;
                println!("FAIL {name}: {why}");
            }
        }
    }
    println!("{} of {} pass", programs.len() - failed, programs.len());
    assert_eq!(failed, 0, "{failed} of {} conformance programs fail", programs.len());
}
