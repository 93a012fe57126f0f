//! `crn validate`: everything that is wrong with topology files, at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use controller::desired;
use controller::pipeline::Pipeline;
use controller::topology::{self, Origin, Problem, Rate, Target, Topology, TopologyErrors};
use miette::{IntoDiagnostic as _, Result, miette};

use crate::output::{self, plural};

/// Arguments of `crn validate`.
#[derive(clap::Args)]
pub struct Args {
    /// Topology files
    #[arg(required = true, value_name = "TOPOLOGY")]
    topologies: Vec<PathBuf>,
    /// Refuse files with warnings too
    #[arg(long)]
    deny_warnings: bool,
    /// Print one JSON object a file, a line each, instead of text
    #[arg(long)]
    json: bool,
}

/// What was checked, for those who wonder what "ok" covers.
const CHECKED: &str = "names and references, addresses, MACs, ids and ports used once, the three UDP ports, DSCP map \
                       and queues, thresholds (B_th < Q_max, beside the ECN threshold, reachable), report budget, \
                       RDCC's budgets, a path for every workload, room in every switch's tables";

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let pipeline = Pipeline::v1model().into_diagnostic()?;
    let mut refused = 0;
    for path in &args.topologies {
        let checked = check(path, &pipeline);
        let warnings = match &checked {
            Ok(topology) => &topology.warnings,
            Err(errors) => &errors.warnings,
        };
        let denied = args.deny_warnings && !warnings.is_empty();
        refused += usize::from(checked.is_err() || denied);
        if args.json {
            println!("{}", json(path, &checked));
        } else {
            print(path, &checked, &pipeline);
        }
    }
    if !args.json && refused < args.topologies.len() {
        println!("{}", output::wrapped("", &format!("Checked: {CHECKED}.")));
    }
    match (refused, args.topologies.len()) {
        (0, _) => Ok(()),
        (_, 1) => Err(output::said()),
        (refused, all) => Err(miette!("{refused} of {all} files refused")),
    }
}

/// Reads and checks a file, also whether every switch can hold its entries.
pub fn check(path: &Path, pipeline: &Pipeline) -> Result<Topology, TopologyErrors> {
    let topology = topology::load(path)?;
    let errors: Vec<Problem> = topology
        .switches
        .keys()
        .filter_map(|name| {
            let error = desired::entries(&topology, name, &pipeline.index).err()?;
            let hint =
                "use fewer distinct thresholds and link rates on one switch, or fewer hosts and switches";
            Some(topology.problem(
                "topology::capacity",
                &error.to_string(),
                &Origin::Switch(name.clone()),
                hint,
            ))
        })
        .collect();
    if errors.is_empty() {
        return Ok(topology);
    }
    Err(TopologyErrors { file: path.display().to_string(), errors, warnings: topology.warnings })
}

fn print(path: &Path, checked: &Result<Topology, TopologyErrors>, pipeline: &Pipeline) {
    match checked {
        Ok(topology) => {
            for warning in &topology.warnings {
                eprint!("{}", warning.render(output::width(), output::color_stderr()));
            }
            let warned = match topology.warnings.len() {
                0 => String::new(),
                count => format!(", {}", plural(count, "warning")),
            };
            println!("{}: ok{warned}", path.display());
            println!("{}", output::wrapped("  ", &contents(topology)));
            println!("{}", output::wrapped("  ", &entries(topology, pipeline)));
        }
        Err(errors) => eprint!("{}", errors.render(output::width(), output::color_stderr())),
    }
}

fn contents(topology: &Topology) -> String {
    let mut rates: BTreeMap<u64, usize> = BTreeMap::new();
    for link in &topology.links {
        *rates.entry(link.rate_bps).or_default() += 1;
    }
    let rates: Vec<String> = rates.keys().rev().map(|rate| Rate::new(*rate).to_string()).collect();
    let mut targets: BTreeMap<&str, usize> = BTreeMap::new();
    for switch in topology.switches.values() {
        *targets.entry(target(switch.target)).or_default() += 1;
    }
    let targets: Vec<String> = targets.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let pairs: usize = topology.workloads.iter().map(|workload| workload.pairs.len()).sum();
    format!(
        "{} ({}), {}, {} ({}), {}, {} ({})",
        plural(topology.switches.len(), "switch"),
        targets.join(", "),
        plural(topology.hosts.len(), "host"),
        plural(topology.links.len(), "link"),
        rates.join(", "),
        plural(topology.profiles.len(), "profile"),
        plural(topology.workloads.len(), "workload"),
        plural(pairs, "pair"),
    )
}

/// A target's name in the file.
pub fn target(target: Target) -> &'static str {
    match target {
        Target::Soft => "soft",
        Target::Bmv2 => "bmv2",
        Target::Tofino => "tofino",
    }
}

fn entries(topology: &Topology, pipeline: &Pipeline) -> String {
    let counts: Vec<usize> = topology
        .switches
        .keys()
        .filter_map(|name| Some(desired::entries(topology, name, &pipeline.index).ok()?.entities.len()))
        .collect();
    let total: usize = counts.iter().sum();
    let most = counts.iter().max().copied().unwrap_or_default();
    match counts.len() {
        1 => format!("{total} entries for the switch"),
        switches => format!("{total} entries for {switches} switches, at most {most} for one"),
    }
}

fn json(path: &Path, checked: &Result<Topology, TopologyErrors>) -> serde_json::Value {
    let list = |problems: &[Problem]| -> Vec<serde_json::Value> {
        problems
            .iter()
            .map(|problem| {
                serde_json::json!({
                    "code": problem.code, "message": problem.message, "hint": problem.hint, "line": problem.line(),
                })
            })
            .collect()
    };
    let (errors, warnings) = match checked {
        Ok(topology) => (Vec::new(), list(&topology.warnings)),
        Err(errors) => (list(&errors.errors), list(&errors.warnings)),
    };
    serde_json::json!({
        "file": path.display().to_string(), "ok": checked.is_ok(), "errors": errors, "warnings": warnings,
    })
}
