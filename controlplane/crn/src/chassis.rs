//! `crn chassis`: what Stratum must be told about a Tofino before a program runs on it.

use std::path::PathBuf;

use miette::Result;

use crate::output::{self, say_as_is};

/// Arguments of `crn chassis`.
#[derive(clap::Args)]
pub struct Args {
    /// Topology file
    #[arg(value_name = "TOPOLOGY")]
    topology: PathBuf,
    /// The switch
    #[arg(value_name = "SWITCH")]
    switch: String,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let topology = output::load(&args.topology)?;
    match controller::chassis::text(&topology, &args.switch) {
        Ok(text) => {
            say_as_is!("{text}\n");
            Ok(())
        }
        Err(problems) => {
            problems.iter().for_each(output::show);
            Err(output::said())
        }
    }
}
