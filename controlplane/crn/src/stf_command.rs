//! `crn stf`: P4's Simple Test Framework against the embedded switch.

use std::fs;
use std::path::PathBuf;

use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use softswitch::Program;
use softswitch::runtime::Runtime;
use softswitch::stf::{self, Options};

use crate::output::say;
use crate::program::Files;

/// Arguments of `crn stf`.
#[derive(clap::Args)]
pub struct Args {
    /// The program: the JSON that p4c writes for BMv2
    #[arg(value_name = "PROGRAM.json")]
    program: PathBuf,
    /// The test
    #[arg(value_name = "TEST.stf")]
    test: PathBuf,
    /// Its P4Info in text form [default: the one beside the program, if there is one]
    #[arg(long, value_name = "FILE")]
    p4info: Option<PathBuf>,
    /// Priority queues per port [default: what the test says in a comment, "Run with N priority queues"; else 1, as
    /// `simple_switch` starts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=8))]
    priority_queues: Option<u8>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let files = Files::read(&args.program, args.p4info.as_deref())?;
    let program = Program::from_json(files.octets())
        .map_err(|error| miette!("{} can't be run: {error}", files.json().display()))?;
    if files.has_p4info() {
        Runtime::compile(files.pipeline()).map_err(|status| miette!("{}", status.message))?;
    }
    let name = args.test.display();
    let text =
        fs::read_to_string(&args.test).into_diagnostic().wrap_err_with(|| format!("{name} can't be read"))?;
    let priority_queues = args.priority_queues.or_else(|| queues_asked_for(&text)).unwrap_or(1);
    let options = Options { priority_queues, ..Options::default() };
    let report = stf::run(&program, &text, &options).map_err(|error| miette!("{name}: {error}"))?;
    for line in &report.output {
        say!("{line}");
    }
    if report.passed() {
        say!("{name}: pass, {} packets in, {} out", report.sent, report.received);
        return Ok(());
    }
    for failure in &report.failures {
        say!("{name}: {failure}");
    }
    Err(miette!(
        "{} of the expectations in {name} {} not hold",
        report.failures.len(),
        if report.failures.len() == 1 { "does" } else { "do" }
    ))
}

/// The number in a comment that says "Run with N priority queues".
fn queues_asked_for(test: &str) -> Option<u8> {
    let comments = test.lines().filter_map(|line| line.trim_start().strip_prefix('#'));
    comments
        .filter_map(|line| line.split_once("Run with ")?.1.split_once(" priority queues")?.0.parse().ok())
        .find(|queues| (1..=8).contains(queues))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_may_ask_for_queues() {
        assert_eq!(queues_asked_for("# x. Run with 8 priority queues. y\npacket 1 00\n"), Some(8));
        assert_eq!(queues_asked_for("packet 1 00 # Run with 8 priority queues\n"), None, "not a line's head");
        assert_eq!(queues_asked_for("# Run with 9 priority queues\n"), None);
    }
}
