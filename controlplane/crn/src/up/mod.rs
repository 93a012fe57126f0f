//! `crn up` and `crn down`: a topology on this machine, in network namespaces of its own.

mod acts;
mod capture;
mod compare;
mod fabric;
mod figures;
mod hosts;
mod lag;
mod live;
mod network;
mod order;
mod plan;
mod process;
mod prompt;
mod run;
mod scale;
mod state;
mod steward;
mod stop;
mod tc;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use controller::topology::{self, Topology};
use miette::{IntoDiagnostic as _, Result, miette};
use nix::sys::signal::Signal;

use crate::agent_command::args::quantity;
use crate::output;
use fabric::Target;
use live::Wanted;
use process::Identity;
use run::Run;
use scale::Scale;
use state::{Folder, Record};
use stop::Stop;

/// Nodes of the largest topology that is taken: each is a process or two of this machine.
const MOST_NODES: usize = 200;

/// How long another `crn up` may take to remove its own.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often another `crn up` is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// Arguments of `crn up`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Everything is removed at the end, on Ctrl-C and SIGTERM; after a kill, `crn down` does it."
)]
#[expect(clippy::struct_excessive_bools, reason = "one flag each")]
pub struct Args {
    /// Topology file
    #[arg(value_name = "TOPOLOGY")]
    topology: PathBuf,
    /// What the switches are; the file's own `target` isn't asked
    #[arg(long, value_enum, default_value = "soft")]
    target: Target,
    /// What the fastest link gets; all other rates, and times, are scaled alike [default: 100Mbps, with bmv2 20Mbps]
    #[arg(long, value_name = "RATE", value_parser = quantity::<topology::Bits>)]
    rate: Option<u64>,
    /// How many batches each sender sends [default: the workload's]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    batches: Option<u32>,
    /// End after so long, as in 30s [default: when all batches have ended; without a workload, on Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = Limit::from_str)]
    duration: Option<Limit>,
    /// Simulate the same workload (scheme rdcc+crn), on links with delay only if the live ones have it, and print both side
    /// by side
    #[arg(long)]
    compare: bool,
    /// Write what passes each switch port, both directions, to `SWITCH-ethPORT.pcapng` in this folder
    #[arg(long, value_name = "DIR")]
    capture: Option<PathBuf>,
    /// A prompt, for a person or a script: hosts' commands, ping, tables, counters, nodes to kill and start, cables; `help`
    /// lists it. The run goes on until `exit`
    #[arg(long)]
    cli: bool,
    /// Print the lines that would be started, as one JSON object, and start nothing: for those who make the network in
    /// another way, as `topologies/mininet_run.py` does
    #[arg(long, conflicts_with_all = ["cli", "compare", "capture", "duration"])]
    plan: bool,
    /// Print one JSON object; answers of the prompt go to standard error
    #[arg(long)]
    json: bool,
}

/// Arguments of `crn down`.
#[derive(clap::Args)]
pub struct DownArgs {
    /// The run to end and remove, as `crn up` named it [default: all]
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

/// A time in seconds, minutes or hours: longer than those of topologies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit(Duration);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("`{text}` is no time; write it as in 30s, 5m or 1h");
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let number: u64 = number.parse().map_err(|_| wanted())?;
        let seconds = match unit {
            "s" => Some(number),
            "m" => number.checked_mul(60),
            "h" => number.checked_mul(3600),
            _ => None,
        };
        Ok(Self(Duration::from_secs(seconds.ok_or_else(wanted)?)))
    }
}

fn demand_root(command: &str) -> Result<()> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    Err(miette!(
        help = format!("run it as root: sudo crn {command} ..."),
        "network namespaces and interfaces can be made and removed by root only"
    ))
}

/// Runs `crn up`.
pub fn run(args: &Args) -> Result<()> {
    let mut topology = output::load(&args.topology)?.without_chips();
    let nodes = topology.switches.len() + topology.hosts.len();
    if nodes > MOST_NODES {
        return Err(miette!(
            help = "crn sim takes larger ones",
            "{} has {nodes} switches and hosts; up to {MOST_NODES} run on one machine",
            topology.name
        ));
    }
    let scale = Scale::of(&topology, args.rate.unwrap_or(args.target.default_rate()));
    if let Some((name, _)) = topology.switches.iter().find(|(_, switch)| switch.pipeline.is_some()) {
        return Err(miette!(
            help = "remove `pipeline` from it, or start the switches yourself and use crn apply",
            "switch `{name}` names a program of its own; crn up gives all switches the one of this build"
        ));
    }
    if let (Some(batches), Some(workload)) = (args.batches, topology.workloads.first_mut()) {
        workload.batches = batches;
    }
    let simulated = args.compare.then(|| topology.clone());
    scale.apply(&mut topology)?;
    let wanted = Wanted { args, topology: &topology, scale, simulated };
    if args.plan {
        println!("{}", serde_json::to_string_pretty(&plan::json(&wanted)?).into_diagnostic()?);
        return Ok(());
    }
    demand_root("up")?;
    run::demand(&[("ip", "apt-get install iproute2"), ("ethtool", "apt-get install ethtool")])?;
    if args.target == Target::Bmv2 {
        let help = "BMv2: https://github.com/p4lang/behavioral-model, its target simple_switch_grpc";
        run::demand(&[("simple_switch_grpc", help), ("simple_switch_CLI", help)])?;
    }

    let stop = Stop::listen()?;
    let mut run = Run::begin(&args.topology.display().to_string())?;
    let figures = live::run(wanted, &mut run, &stop);
    let ended = run.end();
    let mut figures = figures?;
    let failure = figures.failure.take();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&figures.json()).into_diagnostic()?);
    } else {
        println!("{}", figures.table());
    }
    ended?;
    failure.map_or(Ok(()), Err)
}

/// A topology as a run on this machine has it: rates divided by `factor`, its switches reached in the run's own way.
///
/// # Errors
/// A rate would be below what the protocols can express, or a time longer.
pub fn scaled(topology: Topology, factor: u64) -> Result<Topology> {
    let mut topology = topology.without_chips();
    for switch in topology.switches.values_mut() {
        (switch.tls, switch.thrift, switch.queues) = (None, None, None);
    }
    Scale { factor: factor.max(1), fastest_bps: 0 }.apply(&mut topology)?;
    Ok(topology)
}

/// Runs `crn down`.
pub fn down(args: &DownArgs) -> Result<()> {
    demand_root("down")?;
    run::demand(&[("ip", "apt-get install iproute2")])?;
    let mut folders = Folder::all()?;
    if let Some(run) = &args.run {
        let known: Vec<String> = folders.iter().map(|folder| folder.id().to_owned()).collect();
        folders.retain(|folder| folder.id() == run);
        if folders.is_empty() {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(miette!("there is no run {run}; there are: {known}"));
        }
    } else if folders.is_empty() {
        println!("Nothing is left of any run.");
    }
    let mut failed = false;
    for folder in folders {
        match remove(&folder) {
            Ok(topology) => println!("run {} ({topology}) removed", folder.id()),
            Err(error) => {
                eprintln!("{error:?}");
                failed = true;
            }
        }
    }
    if failed { Err(output::said()) } else { Ok(()) }
}

/// Has a run's own `crn up` remove it, if that is still there; otherwise removes it. Gives its topology.
fn remove(folder: &Folder) -> Result<String> {
    let owner = || -> Option<(Identity, String)> {
        folder.records().into_iter().find_map(|record| match record {
            Record::Run(identity, topology) => Some((identity, topology)),
            Record::Namespace(_) | Record::Process(_) => None,
        })
    };
    // A run that has begun this very moment writes who it is before anything else.
    let begin = Instant::now();
    while owner().is_none() && begin.elapsed() < Duration::from_secs(1) {
        std::thread::sleep(LOOK);
    }
    let (identity, topology) = owner().unzip();
    if let Some(identity) = identity {
        identity.signal(Signal::SIGTERM);
        identity.ends_within(PATIENCE);
        identity.signal(Signal::SIGKILL);
        identity.ends_within(PATIENCE);
    }
    run::clear(folder, &folder.records())?;
    Ok(topology.unwrap_or_else(|| "it had made nothing".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_a_unit() {
        assert_eq!("90s".parse(), Ok(Limit(Duration::from_secs(90))));
        assert_eq!("2m".parse(), Ok(Limit(Duration::from_secs(120))));
        assert_eq!("1h".parse(), Ok(Limit(Duration::from_secs(3600))));
        for wrong in ["", "5", "s", "5ms", "-1s", "1.5h", "99999999999999999999s", "9999999999999999999h"] {
            let error = wrong.parse::<Limit>().unwrap_err();
            assert!(error.contains("30s, 5m or 1h"), "{error}");
        }
    }
}
