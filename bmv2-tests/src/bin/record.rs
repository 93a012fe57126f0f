//! Runs the cases on the real `simple_switch_grpc` and keeps what it did as golden recordings.
//!
//! A case whose own expectations don't hold there isn't recorded.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use bmv2_tests::bmv2::Bmv2;
use bmv2_tests::cases;
use bmv2_tests::program::Program;
use bmv2_tests::recording::{self, Recording};
use bmv2_tests::target::{Presence, Target as _};
use clap::Parser;

/// Records the cases on the real `simple_switch_grpc` (needs it on PATH, and root).
#[derive(Debug, Parser)]
struct Options {
    /// Record only these cases; all if none is named.
    cases: Vec<String>,
    /// Where the recordings go.
    #[arg(long, default_value_os_t = recording::folder())]
    out: PathBuf,
}

fn main() -> ExitCode {
    match record(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn record(options: &Options) -> Result<(), String> {
    let target = Bmv2;
    let version = match target.presence() {
        Presence::Present { version } => version,
        Presence::Absent { reason } => return Err(format!("{}: ABSENT ({reason})", target.name())),
    };
    let program = Program::load().map_err(|error| error.to_string())?;
    let all = cases::all();
    if let Some(unknown) = options.cases.iter().find(|name| all.iter().all(|case| case.name != **name)) {
        let known: Vec<&str> = all.iter().map(|case| case.name.as_str()).collect();
        return Err(format!("no case is called {unknown}; there are {}", known.join(", ")));
    }
    fs::create_dir_all(&options.out).map_err(|error| format!("{}: {error}", options.out.display()))?;
    let mut failed = Vec::new();
    for case in all.iter().filter(|case| options.cases.is_empty() || options.cases.contains(&case.name)) {
        let observed = match target.run(case) {
            Ok(observed) => observed,
            Err(error) => {
                failed.push(format!("{}: {error}", case.name));
                continue;
            }
        };
        let differences = case.differences(&observed);
        if !differences.is_empty() {
            failed.push(format!("{}: {}", case.name, differences.join("\n  ")));
            continue;
        }
        Recording::new(case, &observed, target.name(), &version, &program)
            .save(&options.out)
            .map_err(|error| error.to_string())?;
        println!("recorded {} from {} {version}", case.name, target.name());
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("not recorded:\n{}", failed.join("\n"))) }
}
