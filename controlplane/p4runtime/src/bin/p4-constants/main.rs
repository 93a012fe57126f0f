//! Writes the numbers that P4 program and Rust code share as Rust constants, so that nobody mirrors them by hand:
//! ids, names, widths and sizes from the program's P4Info, and the `const` lines of the P4 include files.
//!
//! ```text
//! p4-constants --p4info p4/bmv2/build/crn.p4info.txtpb --include p4/include --out FILE [--check]
//! ```
//!
//! Exit code 0: written, or with `--check` up to date. 1: an input can't be used, or with `--check` the file is stale.
//! 2: wrong usage.

mod emit;
mod source;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use p4runtime::P4InfoIndex;
use p4runtime::p4info::parse_text;

/// Writes ids, names, widths, sizes and constants of a P4 program as Rust constants.
#[derive(Parser)]
struct Arguments {
    /// P4Info in text format. Without it only the constants are written.
    #[arg(long, value_name = "FILE")]
    p4info: Option<PathBuf>,
    /// Folder whose `*.p4` files are searched for `const` lines. Without it only the P4Info's parts are written.
    #[arg(long, value_name = "DIR")]
    include: Option<PathBuf>,
    /// The Rust file.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Writes nothing; exit code 1 when the file isn't what would be written.
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("p4-constants: {problem}");
            ExitCode::from(1)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let index = arguments.p4info.as_deref().map(read_index).transpose()?;
    let files = arguments.include.as_deref().map(source::read_folder).transpose()?.unwrap_or_default();
    let constants = source::constants(&files)?;
    let text = emit::file(index.as_ref(), &constants);
    let out = arguments.out.display();
    if !arguments.check {
        return std::fs::write(&arguments.out, text).map_err(|error| format!("{out}: {error}"));
    }
    match std::fs::read_to_string(&arguments.out) {
        Ok(present) if present == text => Ok(()),
        Ok(_) => Err(format!("{out} is stale: run p4-constants without --check")),
        Err(error) => Err(format!("{out}: {error}: run p4-constants without --check")),
    }
}

fn read_index(path: &Path) -> Result<P4InfoIndex, String> {
    let at = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{at}: {error}"))?;
    let info = parse_text(&text).map_err(|error| format!("{at}: {error}"))?;
    P4InfoIndex::new(info).map_err(|error| format!("{at}: {error}"))
}
