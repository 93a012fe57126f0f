//! `crn apply`: makes the switches hold what the topology says.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use controller::client::{GrpcClient, RequestError};
use controller::machine::{Controller, Remains, State, settle};
use controller::pipeline::Pipeline;
use controller::topology::Topology;
use miette::{IntoDiagnostic as _, Result};
use serde_json::{Value, json};
use wire::units::Nanos;

use crate::bmv2_queues;
use crate::output::{self, complain, plural, say};
use crate::plan;
use crate::signals::Signals;
use crate::switches::{self, Election, Reached, Selection, Site};

/// Arguments of `crn apply`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Only say what would be changed, as `crn plan` does
    #[arg(long)]
    dry_run: bool,
    /// Change all switches or none: nothing is written before every one of them can be, and if one fails then, the
    /// others are taken back
    #[arg(long)]
    all_or_nothing: bool,
    #[command(flatten)]
    election: Election,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Attempts when the connection breaks while entries are being written.
const ATTEMPTS: u32 = 4;

/// Pause before the second attempt; doubled before each further one.
const PAUSE: Duration = Duration::from_millis(250);

/// What came of a switch.
#[derive(Clone)]
enum Came {
    Ready { pushed: bool, written: usize },
    Backup,
    Failed,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    if args.dry_run {
        return plan::show(&args.selection, args.json, false);
    }
    let site = args.selection.site(args.json)?;
    plan::desired_of(&site.topology, &site.pipelines, args.json)?;
    let mut controller =
        Controller::new(site.pipelines.clone(), &site.topology, args.election.election_id.into())
            .into_diagnostic()?;
    controller.retain(|name| site.reached.contains_key(name));
    if args.all_or_nothing {
        controller.all_or_nothing();
    }
    let (results, queues) = switches::runtime()?.block_on(async {
        let mut stop = Stop::new()?;
        let results = apply(args, &mut controller, &site.reached, &mut stop).await;
        let ready = |name: &str| matches!(results.get(name), Some(Came::Ready { .. })) && !stop.asked;
        let queues = bmv2_queues::set(&site.topology, ready, args.selection.timeout()).await;
        Ok::<_, miette::Report>((results, queues))
    })?;
    let written = report(args, &site, &controller, &results);
    bmv2_queues::report(&queues, args.json).and(written)
}

/// Ctrl-C and requests to terminate: they end what is under way, and it is said what it came to.
struct Stop {
    signals: Signals,
    /// One has come.
    asked: bool,
}

impl Stop {
    fn new() -> Result<Self> {
        Ok(Self { signals: Signals::listen()?, asked: false })
    }

    /// Waits for the next one.
    async fn asked(&mut self) {
        self.signals.next().await;
        self.asked = true;
    }

    /// Settles, or ends what is under way when it is asked to.
    async fn settle(
        &mut self,
        controller: &mut Controller,
        clients: &mut BTreeMap<String, GrpcClient>,
        now: impl Fn() -> Nanos,
    ) {
        let stopped = tokio::select! {
            () = settle(controller, clients, &now) => false,
            () = self.asked() => true,
        };
        if stopped {
            controller.interrupt("interrupted", now());
        }
    }
}

async fn apply(
    args: &Args,
    controller: &mut Controller,
    reached: &BTreeMap<String, Reached>,
    stop: &mut Stop,
) -> BTreeMap<String, Came> {
    let timeout = args.selection.timeout();
    let client = |(name, reached): (&String, &Reached)| (name.clone(), reached.client(timeout));
    let mut clients: BTreeMap<String, GrpcClient> = reached.iter().map(client).collect();
    let start = Instant::now();
    let now = || Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let mut results = BTreeMap::new();
    let mut pause = PAUSE;
    controller.start(now());
    for attempt in 1..=ATTEMPTS {
        stop.settle(controller, &mut clients, now).await;
        collect(controller, &mut results);
        // Half written is the one state to get out of: the next attempt reads what is there and completes it. What the switch
        // refuses it would refuse again.
        let halfway = |name: &String| {
            let failure = controller.failure(name);
            failure.is_some_and(|failure| {
                matches!(failure.remains, Remains::Unknown { .. })
                    && !matches!(failure.error, RequestError::Updates { .. })
            })
        };
        let again: Vec<String> = reached.keys().filter(|name| halfway(name)).cloned().collect();
        if again.is_empty() || attempt == ATTEMPTS || stop.asked {
            break;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.asked() => break,
        }
        pause *= 2;
        for name in &again {
            controller.start_one(name, now());
        }
    }
    // Also when it was interrupted: a second signal ends that too.
    if args.all_or_nothing && controller.take_back() {
        stop.settle(controller, &mut clients, now).await;
        collect(controller, &mut results);
    }
    results
}

fn collect(controller: &mut Controller, results: &mut BTreeMap<String, Came>) {
    use controller::machine::ControllerEvent;
    while let Some(event) = controller.poll_event() {
        match event {
            ControllerEvent::Ready { switch, pushed, written } => {
                results.insert(switch, Came::Ready { pushed, written });
            }
            ControllerEvent::Backup { switch } => {
                results.insert(switch, Came::Backup);
            }
            ControllerEvent::Failed { switch, .. } => {
                results.insert(switch, Came::Failed);
            }
            ControllerEvent::Counters { .. }
            | ControllerEvent::Read { .. }
            | ControllerEvent::PacketIn { .. } => {}
        }
    }
}

fn report(args: &Args, site: &Site, controller: &Controller, results: &BTreeMap<String, Came>) -> Result<()> {
    let Site { topology, pipelines, reached } = site;
    let names = reached.keys().map(String::len).max().unwrap_or(0);
    let addresses = reached.values().map(|reached| reached.address.len()).max().unwrap_or(0);
    let mut total = 0;
    let mut good = 0;
    let mut list: Vec<Value> = Vec::new();
    for (name, reached) in reached {
        let head = format!("{name:names$}  {:addresses$}  ", reached.address);
        match results.get(name) {
            Some(Came::Ready { pushed, written }) => {
                good += 1;
                total += written;
                list.push(
                    json!({ "switch": name, "outcome": "complete", "pushed": pushed, "written": written }),
                );
                let said = match (pushed, written) {
                    (false, 0) => "nothing to do: it holds what the topology says".to_owned(),
                    (false, written) => format!("{} written", plural(*written, "change")),
                    (true, written) => format!("program pushed, {} written", plural(*written, "entry")),
                };
                if !args.json {
                    say!("{head}{said}");
                }
            }
            Some(Came::Backup) => {
                let left = controller.left(name);
                let remains = left.unwrap_or(&Remains::Untouched).to_string();
                let outcome = left.map_or("backup", outcome);
                let said = format!("another controller is primary; {remains}");
                list.push(json!({ "switch": name, "outcome": outcome, "error": said, "remains": remains }));
                complain!("error: {head}{said}");
                complain!(
                    "  help: change the file that controller watches, stop it, or give a higher --election-id than its own"
                );
            }
            Some(Came::Failed) | None => {
                list.push(failed(topology, pipelines.of(name), controller, name, &head));
            }
        }
    }
    if args.json {
        let object = json!({ "topology": topology.name, "file": topology.file(), "switches": list });
        say!("{}", serde_json::to_string_pretty(&object).into_diagnostic()?);
    } else if good > 0 && total == 0 {
        say!("Nothing was written.");
    } else if good > 0 {
        say!("Applied to {}: {} in all.", plural(good, "switch"), plural(total, "change"));
    }
    if good == reached.len() { Ok(()) } else { Err(output::said()) }
}

/// Says why a switch failed and what it holds now; gives the same as JSON.
fn failed(
    topology: &Topology,
    pipeline: &Pipeline,
    controller: &Controller,
    name: &str,
    head: &str,
) -> Value {
    let Some(failure) = controller.failure(name) else {
        return json!({ "switch": name, "outcome": "failed" });
    };
    let head = head.trim_end();
    match &failure.error {
        RequestError::Updates { failed, of } => {
            complain!("error: {head}  {} of {of} changes refused; {}", failed.len(), failure.remains);
        }
        error if failure.state == State::Arbitrating => {
            complain!("error: {head}  {error}; {}", failure.remains);
        }
        error => complain!("error: {head}  {}: {error}; {}", failure.state, failure.remains),
    }
    if let Some(help) = failure.help() {
        complain!("  help: {help}");
    }
    for (change, reason) in failure.refused.iter().take(10) {
        complain!("{}", plan::line(topology, pipeline, change));
        let place = change.origin.as_ref().and_then(|origin| topology.place(origin));
        let place = place.map_or_else(String::new, |place| format!(" (from {place})"));
        complain!("    {reason}{place}");
    }
    if failure.refused.len() > 10 {
        complain!("    ... and {} more", failure.refused.len() - 10);
    }
    let refused: Vec<Value> = failure
        .refused
        .iter()
        .map(|(change, reason)| json!({ "change": plan::change_json(topology, pipeline, change), "reason": reason.to_string() }))
        .collect();
    json!({
        "switch": name, "outcome": outcome(&failure.remains), "doing": failure.state.to_string(), "error": failure.error.to_string(),
        "remains": failure.remains.to_string(), "refused": refused, "help": failure.help(),
    })
}

/// What remains, in a word for programs.
fn outcome(remains: &Remains) -> &'static str {
    match remains {
        Remains::Untouched => "untouched",
        Remains::RolledBack { .. } => "rolled back",
        Remains::ProgramOnly => "program only",
        Remains::CopiesDeleted { .. } | Remains::Unknown { .. } | Remains::Partly { .. } => "incomplete",
    }
}
