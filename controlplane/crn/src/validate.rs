//! `crn validate`: everything that is wrong with topology files, at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use controller::pipeline::Pipelines;
use controller::topology::{self, Problem, Rate, Target, Topology, TopologyErrors};
use miette::{Result, miette};

use crate::output::{self, complain_as_is, plural, say};
use crate::{plan, switches};

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
const CHECKED: &str = "names and references, addresses, subnets, MACs, ids and ports used once, the three UDP ports, DSCP \
                       map and queues, thresholds (B_th < Q_max, beside the ECN threshold, reachable), report budget, \
                       members of groups, RDCC's budgets, a path for every workload and marked flow, programs and \
                       certificates, room in every switch's tables";

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let mut refused = 0;
    for path in &args.topologies {
        let checked = check(path);
        let warnings = match &checked {
            Ok((topology, _)) => &topology.warnings,
            Err(errors) => &errors.warnings,
        };
        let denied = args.deny_warnings && !warnings.is_empty();
        refused += usize::from(checked.is_err() || denied);
        if args.json {
            say!("{}", json(path, &checked));
        } else {
            print(path, &checked);
        }
    }
    if !args.json && refused < args.topologies.len() {
        say!("{}", output::wrapped("", &format!("Checked: {CHECKED}.")));
    }
    match (refused, args.topologies.len()) {
        (0, _) => Ok(()),
        (_, 1) => Err(output::said()),
        (refused, all) => Err(miette!("{refused} of {all} files refused")),
    }
}

/// A good file, and how many entries each of its switches gets.
type Checked = Result<(Topology, Vec<usize>), TopologyErrors>;

/// Reads and checks a file, also the files that it names, and whether every switch can hold its entries.
fn check(path: &Path) -> Checked {
    let mut topology = topology::load(path)?;
    let refused = |errors, topology: Topology| {
        Err(TopologyErrors { file: path.display().to_string(), errors, warnings: topology.warnings })
    };
    let pipelines = Pipelines::load(&topology);
    let mut errors: Vec<Problem> = pipelines.as_ref().err().cloned().unwrap_or_default();
    errors.extend(topology.switches.keys().filter_map(|name| switches::tls(&topology, name).err()));
    let pipelines = match pipelines {
        Ok(pipelines) if errors.is_empty() => pipelines,
        _ => return refused(errors, topology),
    };
    let counts = match plan::counts(&topology, &pipelines) {
        Ok(counts) => counts.into_values().collect(),
        Err(errors) => return refused(errors, topology),
    };
    topology.warnings.extend(Pipelines::missing(&topology));
    Ok((topology, counts))
}

fn print(path: &Path, checked: &Checked) {
    match checked {
        Ok((topology, counts)) => {
            topology.warnings.iter().for_each(output::show);
            let warned = match topology.warnings.len() {
                0 => String::new(),
                count => format!(", {}", plural(count, "warning")),
            };
            say!("{}: ok{warned}", path.display());
            say!("{}", output::wrapped("  ", &contents(topology)));
            say!("{}", output::wrapped("  ", &entries(counts)));
        }
        Err(errors) => complain_as_is!("{}", errors.render(output::width(), output::color_stderr())),
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

fn entries(counts: &[usize]) -> String {
    let total: usize = counts.iter().sum();
    let most = counts.iter().max().copied().unwrap_or_default();
    match counts.len() {
        1 => format!("{total} entries for the switch"),
        switches => format!("{total} entries for {switches} switches, at most {most} for one"),
    }
}

fn json(path: &Path, checked: &Checked) -> serde_json::Value {
    let (errors, warnings): (&[Problem], &[Problem]) = match checked {
        Ok((topology, _)) => (&[], &topology.warnings),
        Err(errors) => (&errors.errors, &errors.warnings),
    };
    output::checked(&path.display().to_string(), checked.is_ok(), errors, warnings)
}
