//! `crn status`: how the switches are, found out by reading only.

use std::collections::BTreeMap;
use std::time::Duration;

use comfy_table::{CellAlignment, Table};
use controller::client::{Observer, Primaryship, RequestError};
use controller::desired::Desired;
use controller::diff;
use controller::machine::{CounterCell, cells, counters_request, lost_reports};
use controller::pipeline::Pipeline;
use controller::pipeline::generated::{constants, counters as names};
use controller::plan::Program;
use miette::{IntoDiagnostic as _, Result};
use serde_json::{Value, json};

use crate::output::{self, complain, plural, say, table};
use crate::plan;
use crate::switches::{self, Reached, Selection, Site};

/// Arguments of `crn status`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How a switch is.
struct Status {
    version: String,
    primary: Primaryship,
    program: Program,
    /// Of the program that it should run.
    digest: u64,
    /// Changes that an apply would make; `None` if another program runs.
    drift: Option<usize>,
    cells: Vec<CounterCell>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let Site { topology, pipelines, reached } = args.selection.site(args.json)?;
    let desired = plan::desired_of(&topology, &pipelines, args.json)?;
    let timeout = args.selection.timeout();
    let all = switches::runtime()?.block_on(async {
        let pending = reached
            .iter()
            .filter_map(|(name, at)| Some((name, of(at, timeout, pipelines.of(name), desired.get(name)?))))
            .collect();
        switches::side_by_side(pending).await
    });
    if args.json {
        let switches: Vec<Value> = all.iter().map(|(name, status)| to_json(name, status)).collect();
        let object = json!({ "topology": topology.name, "switches": switches });
        say!("{}", serde_json::to_string_pretty(&object).into_diagnostic()?);
    } else {
        say!("{}\n", topology.name);
        say!("{}\n", overview(&reached, &all));
        if all.iter().any(|(_, status)| status.is_ok()) {
            say!("{}", counters(&all));
        }
        for line in lost(&all) {
            say!("{line}");
        }
    }
    let failed = all.iter().any(|(_, status)| status.is_err());
    for (name, status) in &all {
        if let Err(error) = status {
            complain!("error: {name}: {error}");
        }
    }
    if failed { Err(output::said()) } else { Ok(()) }
}

async fn of(
    reached: &Reached,
    timeout: Duration,
    pipeline: &Pipeline,
    desired: &Desired,
) -> Result<Status, RequestError> {
    let mut observer = Observer::connect(&reached.at(), reached.device_id, timeout).await?;
    let program = Program::of(observer.cookie().await?, pipeline);
    // Not every switch says.
    let version = observer.api_version().await.unwrap_or_else(|_| "-".to_owned());
    let primary = observer.primaryship().await?;
    let (drift, cells) = if program == Program::Ours {
        let held = observer.read(diff::read_request(&pipeline.index)).await?;
        let counted = observer.read(counters_request(&pipeline.index)).await?;
        (Some(diff::changes(desired, &held).len()), cells(&counted, &pipeline.index))
    } else {
        (None, Vec::new())
    };
    Ok(Status { version, primary, program, digest: pipeline.cookie, drift, cells })
}

fn program(status: &Status) -> String {
    match status.program {
        Program::Ours => format!("ours ({:016x})", status.digest),
        Program::Missing => "none".to_owned(),
        Program::Other(0) => "another".to_owned(),
        Program::Other(cookie) => format!("another ({cookie:016x})"),
    }
}

fn primary(primary: Primaryship) -> String {
    match primary {
        Primaryship::Held(id) => format!("election id {id}"),
        Primaryship::Vacant => "nobody".to_owned(),
    }
}

fn drift(drift: Option<usize>) -> String {
    match drift {
        None => "-".to_owned(),
        Some(0) => "none".to_owned(),
        Some(changes) => plural(changes, "change"),
    }
}

fn overview(reached: &BTreeMap<String, Reached>, all: &[(&String, Result<Status, RequestError>)]) -> Table {
    let mut table = table(&["switch", "address", "P4Runtime", "primary", "program", "drift"]);
    for (name, status) in all {
        let address = reached.get(*name).map_or("-", |reached| &reached.address).to_owned();
        table.add_row(match status {
            Ok(status) => [
                (*name).clone(),
                address,
                status.version.clone(),
                primary(status.primary),
                program(status),
                drift(status.drift),
            ],
            Err(_) => [(*name).clone(), address, "-".into(), "-".into(), "no answer".into(), "-".into()],
        });
    }
    table
}

/// What a cell of a counter counts, in words.
pub fn kind(cell: &CounterCell) -> &'static str {
    match cell.counter.as_str() {
        names::reports_triggered::NAME | names::reports_sent::NAME | names::reports_deferred::NAME => {
            match cell.kind {
                constants::KIND_CONGESTION_TO_RECEIVER => "congestion, to receiver",
                constants::KIND_CONGESTION_TO_SENDER => "congestion, to sender",
                constants::KIND_PATH_REPORT => "path report",
                constants::KIND_RATE_ADVICE => "rate advice",
                _ => "?",
            }
        }
        names::reports_suppressed::NAME => match cell.kind {
            constants::SUPPRESSED_FLOW_INTERVAL => "flow interval",
            constants::SUPPRESSED_PORT_LIMIT => "port limit",
            constants::SUPPRESSED_PSN_LIMIT => "PSN limit",
            constants::SUPPRESSED_SOURCE_INTERVAL => "source interval",
            constants::SUPPRESSED_SOURCE_INVALID => "source invalid",
            constants::SUPPRESSED_TUNNELLED => "tunnelled",
            constants::SUPPRESSED_NOT_UDP => "not UDP",
            constants::SUPPRESSED_NO_ADDRESS => "no address",
            _ => "?",
        },
        names::drops::NAME => match cell.kind {
            constants::DROP_UNKNOWN => "unknown",
            constants::DROP_CONGESTION => "congestion",
            constants::DROP_CORRUPTION => "corruption",
            constants::DROP_POLICY => "policy",
            constants::DROP_NO_ROUTE => "no route",
            constants::DROP_TTL_EXPIRED => "TTL expired",
            constants::DROP_REPORT => "report",
            constants::DROP_NOT_ROUTED => "not routed",
            _ => "?",
        },
        _ => "",
    }
}

fn counters(all: &[(&String, Result<Status, RequestError>)]) -> String {
    let mut table = table(&["port", "queue", "counter", "of", "packets", "octets"]);
    let mut rows = 0;
    for (name, status) in all {
        for cell in status.iter().flat_map(|status| &status.cells) {
            rows += 1;
            table.add_row([
                format!("{name}:{}", cell.port),
                cell.queue.to_string(),
                cell.counter.clone(),
                kind(cell).to_owned(),
                cell.packets.to_string(),
                cell.octets.to_string(),
            ]);
        }
    }
    if rows == 0 {
        return "All counters are 0.".to_owned();
    }
    for column in [1, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

/// Reports whose clones came to nothing, a line for each kind, port and queue.
fn lost(all: &[(&String, Result<Status, RequestError>)]) -> Vec<String> {
    let of = |(name, status): &(&String, Result<Status, RequestError>)| -> Vec<String> {
        let cells = status.as_ref().map_or(&[][..], |status| &status.cells);
        let line = |cell: &CounterCell| {
            format!(
                "{name}:{} queue {}: {} ({}) lost before they were sent: is the clone session set, and is its port's queue \
                 deep enough?",
                cell.port,
                cell.queue,
                plural(usize::try_from(cell.packets).unwrap_or(usize::MAX), "report"),
                kind(cell),
            )
        };
        lost_reports(cells).iter().map(line).collect()
    };
    all.iter().flat_map(of).collect()
}

fn to_json(name: &str, status: &Result<Status, RequestError>) -> Value {
    let status = match status {
        Ok(status) => status,
        Err(error) => return json!({ "switch": name, "error": error.to_string() }),
    };
    let cell = |cell: &CounterCell| {
        json!({
            "counter": cell.counter, "kind": cell.kind, "of": kind(cell), "port": cell.port, "queue": cell.queue,
            "packets": cell.packets, "octets": cell.octets,
        })
    };
    json!({
        "switch": name,
        "p4runtime": status.version,
        "primary": match status.primary {
            Primaryship::Held(id) => Value::from(id.to_string()),
            Primaryship::Vacant => Value::Null,
        },
        "program": program(status),
        "drift": status.drift,
        "counters": status.cells.iter().map(cell).collect::<Vec<_>>(),
        "lost_reports": lost_reports(&status.cells).iter().map(cell).collect::<Vec<_>>(),
    })
}
