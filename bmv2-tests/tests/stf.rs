//! The STF files beside the program on every target, one list: softswitch, and the real `simple_switch_grpc` where it is
//! installed; its tests are listed as absent where it isn't.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bmv2_tests::bmv2::Bmv2;
use bmv2_tests::target::{Presence, Target as _};
use libtest_mimic::{Arguments, Failed, Trial};
use softswitch::stf::{Failure, Options};
use softswitch::{Engine, Program};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = list("softswitch", true, |json, test| soft(json, test, Engine::Interpreter));
    trials.extend(list("softswitch, native", true, |json, test| soft(json, test, Engine::Native)));
    match Bmv2.presence() {
        Presence::Present { .. } => trials.extend(list(Bmv2.name(), true, real)),
        // Shown as ignored, never as passed.
        Presence::Absent { .. } => trials.extend(list(&format!("{} ABSENT", Bmv2.name()), false, real)),
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../p4/bmv2")
}

type Run = fn(&Path, &str) -> Result<Vec<Failure>, Failed>;

fn list(kind: &str, here: bool, run: Run) -> Vec<Trial> {
    let files = fs::read_dir(folder().join("tests")).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "stf"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no packet tests in p4/bmv2/tests");
    paths
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Trial::test(name, move || judge(run, &path)).with_kind(kind).with_ignored_flag(!here)
        })
        .collect()
}

fn judge(run: Run, test: &Path) -> Result<(), Failed> {
    let failures = run(&folder().join("build/crn.json").canonicalize()?, &fs::read_to_string(test)?)?;
    if failures.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = failures.iter().map(ToString::to_string).collect();
    Err(lines.join("\n").into())
}

fn soft(json: &Path, test: &str, engine: Engine) -> Result<Vec<Failure>, Failed> {
    let options = Options { priority_queues: 8, engine, ..Options::default() };
    Ok(softswitch::stf::run(&Program::from_json(&fs::read(json)?)?, test, &options)?.failures)
}

fn real(json: &Path, test: &str) -> Result<Vec<Failure>, Failed> {
    Ok(Bmv2.stf(json, test)?)
}
