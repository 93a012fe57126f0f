//! p4c's own v1model samples with their packet tests: what BMv2 does with them, this switch does.

mod binding;

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use softswitch::stf::{Options, run};
use softswitch::{Engine, Program};

/// The programs, beside the repository or where `CONFORMANCE` says; nothing of them is in it.
fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let folder = std::env::var_os("CONFORMANCE").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

fn check(json: &Path, engine: Engine) -> Result<(), String> {
    let program = std::fs::read(json).map_err(|e| e.to_string())?;
    let program = Program::from_json(&program).map_err(|e| format!("refused: {e}"))?;
    let test = std::fs::read_to_string(json.with_extension("stf")).map_err(|e| e.to_string())?;
    let report =
        run(&program, &test, &Options { engine, ..Options::default() }).map_err(|e| e.to_string())?;
    if report.passed() {
        return Ok(());
    }
    Err(report.failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// Three trials a program; without the folder one that says so and counts as ignored, not as passed.
fn trials() -> Vec<Trial> {
    let Some(folder) = folder() else {
        let absent =
            Trial::test("../shared/conformance ABSENT: no conformance programs on this machine", || Ok(()));
        return vec![absent.with_ignored_flag(true)];
    };
    let mut programs: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    programs.sort();
    let trials = |json: PathBuf| {
        let name = json.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let packets = |engine, kind| {
            let json = json.clone();
            Trial::test(name.clone(), move || check(&json, engine).map_err(Failed::from)).with_kind(kind)
        };
        let all = [packets(Engine::Interpreter, "conformance"), packets(Engine::Native, "native")];
        let binding = Trial::test(name, move || binding::check(&json).map_err(Failed::from));
        all.into_iter().chain([binding.with_kind("P4Runtime")])
    };
    programs.into_iter().flat_map(trials).collect()
}

fn main() {
    libtest_mimic::run(&Arguments::from_args(), trials()).exit();
}
