//! Random packets through `simple_switch_grpc` and softswitch at once; says what differs, and records what BMv2 did.

use std::fs;
use std::process::ExitCode;

use bmv2_tests::bmv2::Bmv2;
use bmv2_tests::differential::plan::{self, Plan};
use bmv2_tests::differential::recording::{self, Recording};
use bmv2_tests::differential::{Outputs, live};
use bmv2_tests::target::{Presence, Target as _};
use clap::Parser;

/// Compares softswitch with the real `simple_switch_grpc` (needs it on PATH, and root).
#[derive(Debug, Parser)]
struct Options {
    /// Compare only these programs; all if none is named.
    programs: Vec<String>,
    /// Rounds for each program.
    #[arg(long, default_value_t = 200)]
    rounds: usize,
    /// What entries and frames are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep what BMv2 did.
    #[arg(long)]
    record: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<bool, String> {
    let version = match Bmv2.presence() {
        Presence::Present { version } => version,
        Presence::Absent { reason } => return Err(format!("{}: ABSENT ({reason})", Bmv2.name())),
    };
    let mut plans = plan::own().map_err(|error| error.to_string())?;
    plans.extend(plan::samples().map_err(|error| error.to_string())?);
    let mut same = true;
    for plan in plans.iter().filter(|p| options.programs.is_empty() || options.programs.contains(&p.name)) {
        let comparison = match live::compare(plan, options.seed, options.rounds) {
            Ok(comparison) => comparison,
            Err(error) => {
                same = false;
                println!("{}: {error}", plan.name);
                continue;
            }
        };
        let frames = |outputs: &Outputs| outputs.values().map(Vec::len).sum::<usize>();
        let out: usize = comparison.outputs.iter().map(frames).sum();
        let (rounds, differences) = (comparison.outputs.len(), comparison.differences.len());
        println!("{}: {rounds} rounds, {out} frames out, {differences} differences", plan.name);
        if let Some(round) = comparison.crashed {
            println!("  BMv2 crashed in round {round}");
        }
        comparison.differences.iter().for_each(|difference| println!("  {difference}"));
        same &= comparison.differences.is_empty();
        if options.record && comparison.differences.is_empty() {
            record(plan, options.seed, &version, &comparison)?;
        }
    }
    Ok(same)
}

fn record(plan: &Plan, seed: u64, version: &str, seen: &live::Comparison) -> Result<(), String> {
    let recording = Recording {
        target: format!("{} {version}", Bmv2.name()),
        program: plan.program.sha256.clone(),
        seed,
        taken: seen.taken.clone(),
        digests: seen.outputs.iter().map(recording::digest).collect(),
    };
    let path = recording::path(&plan.name);
    let said = |error: std::io::Error| format!("{}: {error}", path.display());
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(said)?;
    fs::write(&path, recording.text()).map_err(said)
}
