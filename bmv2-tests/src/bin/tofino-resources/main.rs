//! Says what a program takes of a Tofino, from the logs of p4c's back end: `pipe/logs/resources.json`, `phv.json` and
//! `table_summary.log` of one compile.
//!
//! ```text
//! tofino-resources p4/tofino/build/tofino/pipe/logs [--out FILE] [--max-stages N]
//! ```
//!
//! Exit code 0: written. 1: a log can't be read, or the program takes more stages than `--max-stages`. 2: wrong usage.

mod logs;
mod summary;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// Says what a program takes of a Tofino, from the compiler's logs.
#[derive(Parser)]
struct Arguments {
    /// The folder of the pipe's logs.
    logs: PathBuf,
    /// The file that gets the summary; standard output without it.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Refuses a program that takes more stages in any gress.
    #[arg(long, value_name = "N")]
    max_stages: Option<usize>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("tofino-resources: {problem}");
            ExitCode::from(1)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let summary = logs::read(&arguments.logs)?;
    let text = summary.to_string();
    match &arguments.out {
        Some(out) => std::fs::write(out, text).map_err(|error| format!("{}: {error}", out.display()))?,
        None => print!("{text}"),
    }
    let taken = summary.stages_in_use();
    match arguments.max_stages {
        Some(most) if taken > most => Err(format!(
            "the program takes {taken} stages, {most} are wanted: leave a feature out (profile.p4)"
        )),
        _ => Ok(()),
    }
}
