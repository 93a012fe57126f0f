//! What a run did: a line while it goes on, tables or JSON at its end.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use controller::machine::CounterCell;
use miette::Report;
use serde_json::{Value, json};

use super::compare::{self, Row};
use super::hosts::Hosts;
use super::lag::Lag;
use crate::status;

/// The figures of a run.
#[derive(Debug)]
pub struct Figures {
    /// The run's id, its topology's name and what the switches were.
    pub head: [String; 3],
    /// Rates are the file's divided by it.
    pub factor: u64,
    /// What else has to be known.
    pub notes: Vec<String>,
    /// How long the workload was under way.
    pub ran: Duration,
    /// The agents.
    pub hosts: Hosts,
    /// The switches' counters.
    pub counters: BTreeMap<String, Vec<CounterCell>>,
    /// The same beside a simulation's; empty if that wasn't asked for.
    pub compared: Vec<Row>,
    /// Whether the machine kept up; looked at where it is compared.
    pub lag: Lag,
    /// What makes the run a failure although it has figures.
    pub failure: Option<Report>,
}

/// A table about how far a run is, drawn again in its place; `clear` takes it away.
pub struct View {
    on: bool,
    /// Lines that stand there.
    lines: usize,
}

impl View {
    /// `on`: whether somebody looks at it.
    pub fn new(on: bool) -> Self {
        Self { on, lines: 0 }
    }

    /// Shows how far it is.
    pub fn show(&mut self, hosts: &Hosts, ran: Duration) {
        if !self.on {
            return;
        }
        let text = format!("{:.1} s\n{}", ran.as_secs_f64(), progress(hosts));
        // What doesn't fit can't be gone back to.
        let rows = terminal_size::terminal_size().map_or(24, |(_, terminal_size::Height(rows))| rows.into());
        let shown: Vec<&str> = text.lines().take(usize::saturating_sub(rows, 1).max(1)).collect();
        self.clear();
        self.lines = shown.len();
        let mut out = io::stdout().lock();
        // Nobody misses a table that couldn't be shown.
        let _ = writeln!(out, "{}", shown.join("\n")).and_then(|()| out.flush());
    }

    /// Takes it away.
    pub fn clear(&mut self) {
        if self.lines > 0 {
            let mut out = io::stdout().lock();
            let _ = write!(out, "\x1b[{}A\r\x1b[J", self.lines).and_then(|()| out.flush());
            self.lines = 0;
        }
    }
}

/// What the agents have told so far.
pub fn progress(hosts: &Hosts) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["host", "agent", "batches", "done", "aborted", "heard", "ignored", "deepest"]);
    for (name, agent) in &hosts.agents {
        let told = &agent.told;
        table.add_row([
            name.clone(),
            agent.role.agent().to_owned(),
            told.batches.to_string(),
            told.done.to_string(),
            told.aborted.to_string(),
            told.reports_heard.to_string(),
            told.reports_ignored.to_string(),
            told.deepest.to_string(),
        ]);
    }
    right(&mut table, 2..8);
    table.to_string()
}

/// What switches have counted.
pub fn counters_table<'a>(all: impl Iterator<Item = (&'a str, &'a [CounterCell])>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["port", "queue", "counter", "of", "packets", "octets"]);
    for (name, cells) in all {
        for cell in cells {
            table.add_row([
                format!("{name}:{}", cell.port),
                cell.queue.to_string(),
                cell.counter.clone(),
                status::kind(cell).to_owned(),
                cell.packets.to_string(),
                cell.octets.to_string(),
            ]);
        }
    }
    right(&mut table, [1, 4, 5].into_iter());
    table
}

impl Figures {
    /// One object.
    pub fn json(&self) -> Value {
        let [run, topology, target] = &self.head;
        let hosts = self.hosts.agents.iter().map(|(name, agent)| {
            let told = &agent.told;
            let value = json!({
                "agent": agent.role.agent(), "batches": told.batches, "done": told.done, "aborted": told.aborted,
                "reports_heard": told.reports_heard, "reports_ignored": told.reports_ignored,
                "deepest": told.deepest, "episodes": told.episodes, "lines_lost": told.lines_lost, "summary": told.summary,
            });
            (name.clone(), value)
        });
        let cell = |cell: &CounterCell| {
            json!({
                "counter": cell.counter, "of": status::kind(cell), "port": cell.port, "queue": cell.queue,
                "packets": cell.packets, "octets": cell.octets,
            })
        };
        let switches = self
            .counters
            .iter()
            .map(|(name, cells)| (name.clone(), cells.iter().map(cell).collect::<Value>()));
        json!({
            "run": run, "topology": topology, "target": target, "scale": self.factor, "notes": self.notes,
            "seconds": self.ran.as_secs_f64(), "compared": compare::to_json(&self.compared), "machine": self.lag.json(),
            "hosts": hosts.collect::<serde_json::Map<_, _>>(),
            "switches": switches.collect::<serde_json::Map<_, _>>(),
        })
    }

    /// Tables.
    pub fn table(&self) -> String {
        let mut parts = vec![format!("{:.1} s", self.ran.as_secs_f64())];
        if !self.hosts.agents.is_empty() {
            parts.push(self.hosts_table().to_string());
        }
        if self.counters.values().all(Vec::is_empty) {
            parts.push("The switches' counters are all 0.".to_owned());
        } else {
            let all = self.counters.iter().map(|(name, cells)| (name.as_str(), cells.as_slice()));
            parts.push(counters_table(all).to_string());
        }
        if !self.compared.is_empty() {
            parts.push(compare::table(&self.compared));
        }
        parts.join("\n\n")
    }

    fn hosts_table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header([
            "host",
            "agent",
            "done",
            "aborted",
            "median ms",
            "p99 ms",
            "Mbit/s",
            "heard",
            "ignored",
            "deepest",
            "sent again",
        ]);
        for (name, agent) in &self.hosts.agents {
            let told = &agent.told;
            let summary = told.summary.as_ref();
            let figure = |path: &str, divided: f64| {
                let value = summary.and_then(|summary| summary.pointer(path)).and_then(Value::as_f64);
                value.map_or_else(|| "-".to_owned(), |value| format!("{:.1}", value / divided))
            };
            let count = |path: &str| {
                let value = summary.and_then(|summary| summary.pointer(path)).and_then(Value::as_u64);
                value.map_or_else(|| "-".to_owned(), |value| value.to_string())
            };
            table.add_row([
                name.clone(),
                agent.role.agent().to_owned(),
                count("/messages/done"),
                count("/messages/aborted"),
                figure("/messages/completion/p50", 1000.0),
                figure("/messages/completion/p99", 1000.0),
                figure("/messages/goodput", 1.0),
                told.reports_heard.to_string(),
                told.reports_ignored.to_string(),
                told.deepest.to_string(),
                count("/transport/retransmitted_packets"),
            ]);
        }
        right(&mut table, 2..11);
        table
    }
}

/// Figures are written to the right.
pub fn right(table: &mut Table, columns: impl Iterator<Item = usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
