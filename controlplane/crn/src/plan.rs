//! `crn plan`: what an apply would change, found out by reading only.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use controller::client::RequestError;
use controller::describe::{self, Kind};
use controller::desired::{self, Census, Desired, DesiredError};
use controller::diff::Change;
use controller::pipeline::{Pipeline, Pipelines};
use controller::plan::{Plan, Program};
use controller::topology::{Origin, Problem, Topology};
use miette::{IntoDiagnostic as _, Result};
use serde_json::{Value, json};

use crate::output::{self, complain, plural, say, say_as_is};
use crate::switches::{self, Reached, Selection, Site};

/// Arguments of `crn plan`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Print one JSON object with every change
    #[arg(long)]
    json: bool,
    /// List every change, however many there are
    #[arg(long)]
    full: bool,
}

/// Changes of one kind in one table that are listed before the rest are counted.
const LISTED: usize = 5;

/// What was found out about a switch.
pub type Found = Result<Plan, RequestError>;

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    show(&args.selection, args.json, args.full)
}

/// Plans and prints.
pub fn show(selection: &Selection, json: bool, full: bool) -> Result<()> {
    let Site { topology, pipelines, reached } = selection.site(json)?;
    let desired = desired_of(&topology, &pipelines, json)?;
    let plans = plans(selection, &reached, &pipelines, &desired)?;
    let failed = plans.values().filter(|found| found.is_err()).count();
    if json {
        say!(
            "{}",
            serde_json::to_string_pretty(&to_json(&topology, &pipelines, &reached, &plans))
                .into_diagnostic()?
        );
    } else {
        for (name, found) in &plans {
            if let (Some(reached), Ok(plan)) = (reached.get(name), found) {
                say_as_is!("{}", text(&topology, pipelines.of(name), name, reached, plan, full));
            }
        }
        say!("{}", summary(&plans));
    }
    for (name, found) in &plans {
        if let Err(error) = found {
            complain!("error: {name}: {error}");
        }
    }
    if failed == 0 { Ok(()) } else { Err(output::said()) }
}

/// What every switch should hold.
///
/// # Errors
/// A switch can't hold it; printed already, with `json` as JSON besides.
pub fn desired_of(
    topology: &Topology,
    pipelines: &Pipelines,
    json: bool,
) -> Result<BTreeMap<String, Desired>> {
    fitting(topology, pipelines).map_err(|problems| switches::refused(topology.file(), &problems, json))
}

/// What every switch should hold, or why one can't.
///
/// # Errors
/// Each switch that can't hold it.
pub fn fitting(
    topology: &Topology,
    pipelines: &Pipelines,
) -> Result<BTreeMap<String, Desired>, Vec<Problem>> {
    for_each(topology, |name| desired::entries(topology, name, &pipelines.of(name).index))
}

/// How many entries every switch should hold, or why one can't; none is made, because those of a thousand switches are gigabytes.
///
/// # Errors
/// Each switch that can't hold them.
pub fn counts(topology: &Topology, pipelines: &Pipelines) -> Result<BTreeMap<String, usize>, Vec<Problem>> {
    let census = Census::new(topology);
    for_each(topology, |name| census.entities(name, &pipelines.of(name).index))
}

fn for_each<T>(
    topology: &Topology,
    of: impl Fn(&str) -> Result<T, DesiredError>,
) -> Result<BTreeMap<String, T>, Vec<Problem>> {
    let mut all = BTreeMap::new();
    let mut refused = Vec::new();
    for name in topology.switches.keys() {
        match of(name) {
            Ok(of_switch) => {
                all.insert(name.clone(), of_switch);
            }
            Err(error) => {
                let hint =
                    "use fewer distinct thresholds and link rates on one switch, or fewer hosts and switches";
                let origin = Origin::Switch(name.clone());
                refused.push(topology.problem("topology::capacity", &error.to_string(), &origin, hint));
            }
        }
    }
    if refused.is_empty() { Ok(all) } else { Err(refused) }
}

fn plans(
    selection: &Selection,
    reached: &BTreeMap<String, Reached>,
    pipelines: &Pipelines,
    desired: &BTreeMap<String, Desired>,
) -> Result<BTreeMap<String, Found>> {
    let timeout = selection.timeout();
    let mut plans = BTreeMap::new();
    switches::runtime()?.block_on(async {
        let plan = async |name: &String, reached: &Reached, desired: &Desired| {
            let (address, pipeline) = (reached.at(), pipelines.of(name));
            controller::plan::plan(&address, reached.device_id, timeout, pipeline, desired).await
        };
        let pending: Vec<_> = reached
            .iter()
            .filter_map(|(name, reached)| Some((name.clone(), plan(name, reached, desired.get(name)?))))
            .collect();
        for (name, found) in switches::side_by_side(pending).await {
            plans.insert(name, found);
        }
    });
    Ok(plans)
}

fn summary(plans: &BTreeMap<String, Found>) -> String {
    let known: Vec<&Plan> = plans.values().filter_map(|found| found.as_ref().ok()).collect();
    let count = |kind| -> usize {
        known
            .iter()
            .map(|plan| plan.changes.iter().filter(|change| describe::kind(change) == kind).count())
            .sum()
    };
    let pushes = known.iter().filter(|plan| plan.program != Program::Ours).count();
    let failed = plans.len() - known.len();
    let mut text = if known.iter().all(|plan| plan.is_empty()) {
        match (known.len(), failed) {
            (0, _) => "No plan.".to_owned(),
            (1, 0) => "The switch holds what the topology says; nothing to do.".to_owned(),
            (_, 0) => "All switches that answered hold what the topology says; nothing to do.".to_owned(),
            (known, _) => format!(
                "The plan is incomplete: {} of {} hold what the topology says.",
                known,
                plural(plans.len(), "switch")
            ),
        }
    } else {
        let mut text = format!(
            "Plan for {}: {} to add, {} to change, {} to delete",
            plural(known.len(), "switch"),
            count(Kind::Add),
            count(Kind::Change),
            count(Kind::Delete)
        );
        if pushes > 0 {
            let _ = write!(text, ", {} to push", plural(pushes, "program"));
        }
        text + "."
    };
    if failed > 0 {
        let _ = write!(text, " {} couldn't be read: {}.", plural(failed, "switch"), unread(plans));
    }
    text
}

/// The switches of which nothing is known.
fn unread(plans: &BTreeMap<String, Found>) -> String {
    let names: Vec<&str> =
        plans.iter().filter(|(_, found)| found.is_err()).map(|(name, _)| name.as_str()).collect();
    match names.as_slice() {
        [first @ .., _, _] if first.len() > 8 => {
            format!("{}, ... and {} more", names[..8].join(", "), names.len() - 8)
        }
        names => names.join(", "),
    }
}

fn program(program: Program) -> String {
    match program {
        Program::Ours => "runs our program".to_owned(),
        Program::Missing => "runs no program: ours will be pushed".to_owned(),
        Program::Other(0) => "runs another program: ours will be pushed, what it holds is lost".to_owned(),
        Program::Other(cookie) => {
            format!("runs another program ({cookie:#018x}): ours will be pushed, what it holds is lost")
        }
    }
}

fn text(
    topology: &Topology,
    pipeline: &Pipeline,
    name: &str,
    reached: &Reached,
    plan: &Plan,
    full: bool,
) -> String {
    let mut text =
        format!("{name}  {}, device {}, {}\n", reached.address, reached.device_id, program(plan.program));
    let mut groups: BTreeMap<(String, Kind), Vec<&Change>> = BTreeMap::new();
    let mut order: Vec<(String, Kind)> = Vec::new();
    for change in &plan.changes {
        let entity = change.update.entity.as_ref();
        let object =
            entity.map(|entity| describe::describe(&pipeline.index, entity).object).unwrap_or_default();
        let group = (object, describe::kind(change));
        if !groups.contains_key(&group) {
            order.push(group.clone());
        }
        groups.entry(group).or_default().push(change);
    }
    for group in order {
        let Some(changes) = groups.get_mut(&group) else { continue };
        changes.sort_by_cached_key(|change| natural(pipeline, change));
        let shown = if full || changes.len() <= LISTED + 1 { changes.len() } else { LISTED };
        for change in &changes[..shown] {
            let _ = writeln!(text, "{}", line(topology, pipeline, change));
        }
        let rest = changes.len() - shown;
        if rest > 0 {
            let _ = writeln!(text, "  {} {}: {rest} more (--full lists them)", group.1.sign(), group.0);
        }
    }
    text.push('\n');
    text
}

/// Keys in the order that people count in: 9 before 10.
fn natural(pipeline: &Pipeline, change: &Change) -> Vec<(u64, String)> {
    let entity = change.update.entity.as_ref();
    let described = entity.map(|entity| describe::describe(&pipeline.index, entity)).unwrap_or_default();
    let number = |text: &str| {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..digits].parse().unwrap_or(u64::MAX)
    };
    described.key.into_iter().map(|(_, value)| (number(&value), value)).collect()
}

/// A change in a line, its place in the file at the right.
pub fn line(topology: &Topology, pipeline: &Pipeline, change: &Change) -> String {
    let what = format!("  {} {}", describe::kind(change).sign(), describe::line(&pipeline.index, change));
    let Some(place) = change.origin.as_ref().and_then(|origin| topology.place(origin)) else { return what };
    // The file's name is known from the command line.
    let place = format!("line {}", place.line);
    let fits = |text: &str| text.chars().count() + 2 + place.len() <= output::width();
    // What is too long for a line with its place has what it says on the next.
    let (first, rest) = match what.split_once(": ") {
        Some((key, call)) if !fits(&what) => {
            (format!("{key}:"), format!("\n{}", output::wrapped("      ", call)))
        }
        _ => (what, String::new()),
    };
    let room = output::width().saturating_sub(first.chars().count() + 2 + place.len());
    format!("{first}  {}{place}{rest}", " ".repeat(room))
}

fn to_json(
    topology: &Topology,
    pipelines: &Pipelines,
    reached: &BTreeMap<String, Reached>,
    plans: &BTreeMap<String, Found>,
) -> Value {
    let switches: Vec<Value> = plans
        .iter()
        .map(|(name, found)| {
            let address = reached.get(name).map(|reached| reached.address.as_str());
            let pipeline = pipelines.of(name);
            match found {
                Ok(plan) => json!({
                    "switch": name,
                    "address": address,
                    "program": match plan.program {
                        Program::Ours => "ours",
                        Program::Missing => "none",
                        Program::Other(_) => "other",
                    },
                    "changes": plan.changes.iter().map(|change| change_json(topology, pipeline, change)).collect::<Vec<_>>(),
                }),
                Err(error) => json!({ "switch": name, "address": address, "error": error.to_string() }),
            }
        })
        .collect();
    json!({ "topology": topology.name, "file": topology.file(), "switches": switches })
}

/// A change as JSON.
pub fn change_json(topology: &Topology, pipeline: &Pipeline, change: &Change) -> Value {
    let pairs = |pairs: Vec<describe::Pair>| -> Value {
        pairs
            .into_iter()
            .map(|(name, value)| (name, Value::from(value)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let kind = describe::kind(change);
    let state = |entity: &p4runtime::p4::v1::Entity| {
        let described = describe::describe(&pipeline.index, entity);
        json!({ "action": described.action, "params": pairs(described.params) })
    };
    let entity = change.update.entity.as_ref();
    let described = entity.map(|entity| describe::describe(&pipeline.index, entity)).unwrap_or_default();
    let after = entity.filter(|_| kind != Kind::Delete).map(state);
    let line = change.origin.as_ref().and_then(|origin| topology.place(origin)).map(|place| place.line);
    json!({
        "change": kind.name(),
        "object": described.object,
        "key": pairs(described.key),
        "before": change.before.as_ref().map(state),
        "after": after,
        "line": line,
    })
}
