//! `crn sim`: runs topologies in virtual time and compares the schemes.

use std::collections::BTreeSet;
use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use comfy_table::{CellAlignment, Table, presets};
use controller::topology::{MessageShape, Mode, Topology};
use indicatif::{ProgressBar, ProgressStyle};
use miette::{Context as _, IntoDiagnostic as _, Result, miette};
use sim::report::{chart, page, table};
use sim::{Outcome, Pipeline, Scheme};

use crate::output;

/// Arguments of `crn sim`.
#[derive(clap::Args)]
pub struct Args {
    /// Topology files
    #[arg(required = true, value_name = "TOPOLOGY")]
    topologies: Vec<PathBuf>,
    /// Run only this scheme; without it those that the workload names are compared
    #[arg(long, value_enum)]
    scheme: Option<SchemeName>,
    /// Seed of every random choice; the same seed gives the same result on any machine
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object a scheme, a line each, instead of a table
    #[arg(long)]
    json: bool,
    /// Write summary.json, queue.svg and index.html here (with several topologies, a folder each)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run all switches with this BMv2 JSON, whatever `pipeline` in the topology says
    #[arg(long, value_name = "FILE")]
    pipeline: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum SchemeName {
    /// Line rate and go-back-N, nothing else
    None,
    /// Budget and grants, deaf to reports
    Rdcc,
    /// Budget and grants, reports heard
    #[value(name = "rdcc+crn")]
    RdccCrn,
    /// Rates cut by CNPs
    Dcqcn,
    /// The same, and Rate Advice as a bound besides
    #[value(name = "dcqcn+advice")]
    DcqcnAdvice,
    /// The same with a Rate Signal in each packet instead
    #[value(name = "dcqcn+signal")]
    DcqcnSignal,
    /// Byte windows in front of posts, moved by reports
    Admission,
    /// DCQCN behind those windows, which CNPs move too
    #[value(name = "dcqcn+admission")]
    DcqcnAdmission,
    /// Credit in front of those windows, which lower grants move too
    #[value(name = "rdcc+crn+admission")]
    RdccAdmission,
}

impl From<SchemeName> for Scheme {
    fn from(name: SchemeName) -> Self {
        match name {
            SchemeName::None => Self::None,
            SchemeName::Rdcc => Self::Rdcc,
            SchemeName::RdccCrn => Self::RdccCrn,
            SchemeName::Dcqcn => Self::Dcqcn,
            SchemeName::DcqcnAdvice => Self::DcqcnAdvice,
            SchemeName::DcqcnSignal => Self::DcqcnSignal,
            SchemeName::Admission => Self::Admission,
            SchemeName::DcqcnAdmission => Self::DcqcnAdmission,
            SchemeName::RdccAdmission => Self::RdccAdmission,
        }
    }
}

/// Everything that ran of one topology.
struct Comparison {
    topology: Topology,
    description: String,
    outcomes: Vec<Outcome>,
}

impl Comparison {
    fn new(topology: Topology, outcomes: Vec<Outcome>) -> Self {
        let description = topology.workloads.first().map_or_else(String::new, |workload| {
            let senders: BTreeSet<_> = workload.pairs.iter().map(|(sender, _)| sender).collect();
            let receivers: BTreeSet<_> = workload.pairs.iter().map(|(_, receiver)| receiver).collect();
            let messages: Vec<_> = workload.messages.iter().map(message).collect();
            format!(
                "{} to {}, {} of {} each; figures of the queue at {}",
                count(senders.len(), "sender", "senders"),
                count(receivers.len(), "receiver", "receivers"),
                count(workload.batches as usize, "batch", "batches"),
                messages.join(" and "),
                workload.bottleneck,
            )
        });
        Self { topology, description, outcomes }
    }

    fn section<'a>(&'a self, picture: &'a str) -> page::Section<'a> {
        page::Section {
            name: &self.topology.name,
            description: &self.description,
            outcomes: &self.outcomes,
            picture,
        }
    }
}

fn count(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

fn message(shape: &MessageShape) -> String {
    let mode = match shape.mode {
        Mode::Scheduled => "scheduled",
        Mode::Unscheduled => "unscheduled",
    };
    let size = match shape.size {
        size if size % (1 << 20) == 0 => format!("{} MiB", size >> 20),
        size if size % (1 << 10) == 0 => format!("{} KiB", size >> 10),
        size => format!("{size} octets"),
    };
    format!("{size} ({mode})")
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    // Everything is read and checked before anything runs: a wrong second file must not cost a run of the first.
    let load = |path: &PathBuf| Ok(output::load(path)?.without_chips());
    let topologies = args.topologies.iter().map(load).collect::<Result<Vec<_>>>()?;
    let folders = folders(args, &topologies)?;
    let pipelines = topologies.iter().map(|topology| programs(args, topology)).collect::<Result<Vec<_>>>()?;
    let mut comparisons = Vec::new();
    for (index, (topology, pipeline)) in topologies.into_iter().zip(pipelines).enumerate() {
        let mut outcomes = Vec::new();
        let named = topology.workloads.first().map_or_else(Vec::new, |workload| workload.schemes.clone());
        for scheme in args.scheme.map_or(named, |name| vec![name.into()]) {
            outcomes.push(simulate(&topology, &pipeline, scheme, args)?);
        }
        let comparison = Comparison::new(topology, outcomes);
        // Written before it is shown: whoever reads only the first lines still gets the files.
        if let Some(folder) = folders.get(index) {
            write_one(folder, &comparison)?;
        }
        show(&comparison, args.json)?;
        comparisons.push(comparison);
    }
    if let Some(out) = &args.out {
        write_index(out, &comparisons)?;
        if !args.json {
            print(&format!("Pictures and figures: {}\n", out.join("index.html").display()))?;
        }
    }
    incomplete(&comparisons)
}

/// What the switches run: what the command line says, else what the topology says.
fn programs(args: &Args, topology: &Topology) -> Result<Pipeline> {
    let Some(path) = &args.pipeline else {
        return Pipeline::of_topology(topology).map_err(|problems| {
            problems.iter().for_each(output::show);
            output::said()
        });
    };
    let json = fs::read(path).into_diagnostic().wrap_err_with(|| format!("can't read {}", path.display()))?;
    Pipeline::from_json(&json).into_diagnostic().wrap_err_with(|| format!("{} can't be run", path.display()))
}

fn simulate(topology: &Topology, pipeline: &Pipeline, scheme: Scheme, args: &Args) -> Result<Outcome> {
    let bar = progress_bar(topology, scheme, args.json);
    let outcome = sim::run(topology, pipeline, scheme, args.seed, &mut |progress| {
        bar.set_length(progress.batches);
        bar.set_position(progress.completed);
    });
    bar.finish_and_clear();
    outcome.into_diagnostic().wrap_err_with(|| format!("{} with {}", topology.name, scheme.name()))
}

/// The folder of each topology's files, made already: a place that can't be written to must not cost a run.
fn folders(args: &Args, topologies: &[Topology]) -> Result<Vec<PathBuf>> {
    let Some(out) = &args.out else { return Ok(Vec::new()) };
    let folders: Vec<PathBuf> = match topologies {
        [_] => vec![out.clone()],
        several => several.iter().map(|topology| out.join(&topology.name)).collect(),
    };
    for (index, folder) in folders.iter().enumerate() {
        if folders.iter().take(index).any(|other| other == folder) {
            let name = &topologies[index].name;
            return Err(miette!(
                "two topologies are named `{name}`; each needs a folder of its own under {}",
                out.display()
            ));
        }
    }
    for folder in &folders {
        fs::create_dir_all(folder)
            .into_diagnostic()
            .wrap_err_with(|| format!("can't make {}", folder.display()))?;
    }
    Ok(folders)
}

/// A run in which messages never arrived is told, and is a failure: its figures are those of what did arrive.
fn incomplete(comparisons: &[Comparison]) -> Result<()> {
    let mut stuck = Vec::new();
    for comparison in comparisons {
        for Outcome { summary, .. } in &comparison.outcomes {
            let messages = &summary.messages;
            if messages.completed < messages.sent {
                stuck.push(format!(
                    "{} with {}: {} of {} messages arrived, then nothing more was delivered",
                    comparison.topology.name, summary.scheme, messages.completed, messages.sent
                ));
            }
        }
    }
    if stuck.is_empty() { Ok(()) } else { Err(miette!("{}", stuck.join("\n"))) }
}

fn show(comparison: &Comparison, json: bool) -> Result<()> {
    if !json {
        return print(&table(comparison));
    }
    for outcome in &comparison.outcomes {
        print(&format!("{}\n", serde_json::to_string(&outcome.summary).into_diagnostic()?))?;
    }
    Ok(())
}

/// Prints, and leaves quietly when nobody reads any more.
fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.into_diagnostic().wrap_err("can't print"),
    }
}

fn progress_bar(topology: &Topology, scheme: Scheme, hidden: bool) -> ProgressBar {
    if hidden || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(1);
    let style = ProgressStyle::with_template("{msg:28} {bar:40} {pos}/{len} batches")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar.set_message(format!("{} {}", topology.name, scheme.name()));
    bar
}

fn table(comparison: &Comparison) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    let columns = table::columns(&comparison.outcomes);
    table.set_header(columns.iter().map(|column| column.heading));
    for outcome in &comparison.outcomes {
        table.add_row(columns.iter().map(|column| (column.cell)(&outcome.summary)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}: {}\n{table}\n\n", comparison.topology.name, comparison.description)
}

/// The page over several topologies; one has its own page only.
fn write_index(out: &Path, comparisons: &[Comparison]) -> Result<()> {
    if comparisons.len() < 2 {
        return Ok(());
    }
    let pictures: Vec<_> = comparisons.iter().map(|c| format!("{}/queue.svg", c.topology.name)).collect();
    let sections: Vec<_> = comparisons.iter().zip(&pictures).map(|(c, picture)| c.section(picture)).collect();
    write(&out.join("index.html"), &page::html("Congestion with and without reports", &sections))
}

fn write_one(dir: &Path, comparison: &Comparison) -> Result<()> {
    let name = &comparison.topology.name;
    let summaries: Vec<_> = comparison.outcomes.iter().map(|outcome| &outcome.summary).collect();
    let summary = serde_json::json!({ "topology": name, "schemes": summaries });
    let title = format!("{name}: the queue at {}", comparison.outcomes.first().map_or("", |o| &o.bottleneck));
    let svg = chart::queue_svg(&title, &comparison.outcomes).map_err(|error| miette!("{error}"))?;
    write(&dir.join("summary.json"), &format!("{summary:#}\n"))?;
    write(&dir.join("queue.svg"), &svg)?;
    write(&dir.join("index.html"), &page::html(name, &[comparison.section("queue.svg")]))
}

/// Writes a whole file or none: beside its place first, then into it.
fn write(path: &Path, text: &str) -> Result<()> {
    let beside = path.with_extension("part");
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, path))
        .inspect_err(|_| drop(fs::remove_file(&beside)))
        .into_diagnostic()
        .wrap_err_with(|| format!("can't write {}", path.display()))
}
