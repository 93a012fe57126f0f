//! The `crn` command: simulate a topology, decode messages, configure switches.
//!
//! Exit codes: 0 done, 1 refused or failed, 2 wrong usage.

mod agent_command;
mod apply;
mod bmv2_queues;
mod chassis;
mod controller_command;
mod crem_agent;
mod decode;
mod graph;
mod http;
mod inspect;
mod output;
mod plan;
mod program;
mod schema;
mod scone_agent;
mod signals;
mod sim_command;
mod status;
mod stf_command;
mod switch;
mod switches;
mod up;
mod validate;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::output::complain;
use clap::{Parser, Subcommand};

/// A programmable-switch Congestion Reporting Node: its simulator, its controller, its tools.
#[derive(Parser)]
#[command(version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a topology's workload in virtual time, with and without reports, and compare
    Sim(sim_command::Args),
    /// Check topology files: every error at once, each with its line and a hint
    Validate(validate::Args),
    /// List addresses, ports and ids of a topology
    Inspect(inspect::Args),
    /// Draw a topology
    Graph(graph::Args),
    /// Say what an apply would change on the switches; changes nothing
    Plan(plan::Args),
    /// Make the switches hold what the topology says
    Apply(apply::Args),
    /// Stay, watch the file, and keep the switches as it says
    Controller(controller_command::Args),
    /// Say how the switches are: primary, program, drift, counters
    Status(status::Args),
    /// Print a Tofino's chassis configuration, for Stratum: its ports, queues and buffer limits
    Chassis(chassis::Args),
    /// Decode one message given in hexadecimal
    Decode(decode::Args),
    /// Print the JSON Schema of topology files
    Schema,
    /// Run a packet test (P4's Simple Test Framework) on the embedded switch
    Stf(stf_command::Args),
    /// Run an endpoint of one host on real sockets
    Agent(Box<agent_command::Args>),
    /// Run a topology on this machine, in network namespaces of its own; needs root
    Up(up::Args),
    /// End runs of `crn up`, and remove what they have left
    Down(up::DownArgs),
    /// Run the embedded switch on network interfaces, in BMv2's place
    Switch(Box<switch::Args>),
}

fn main() -> ExitCode {
    let result = match Cli::parse_from(arguments()).command {
        Command::Sim(args) => sim_command::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Graph(args) => graph::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Apply(args) => apply::run(&args),
        Command::Controller(args) => controller_command::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Chassis(args) => chassis::run(&args),
        Command::Decode(args) => decode::run(&args),
        Command::Schema => {
            schema::run();
            Ok(())
        }
        Command::Stf(args) => stf_command::run(&args),
        Command::Agent(args) => agent_command::run(&args),
        Command::Switch(args) => switch::run(*args),
        Command::Up(args) => up::run(&args),
        Command::Down(args) => up::down(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(report) => {
            if !output::was_said(&report) {
                complain!("{report:?}");
            }
            ExitCode::FAILURE
        }
    }
}

/// The words of the command line. `simple_switch_grpc` wants a lone `--` before its target's options; `crn switch`
/// takes such a line as well.
fn arguments() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "switch")
        && let Some(at) = words.iter().position(|word| word == "--")
    {
        words.remove(at);
    }
    words
}
