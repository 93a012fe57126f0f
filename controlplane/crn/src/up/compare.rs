//! A live run beside a simulation of the same file, each figure as a ratio that scaling leaves alone.

use std::thread;
use std::time::Duration;

use comfy_table::{Table, presets};
use controller::pipeline::generated::counters::reports_sent;
use controller::topology::{Mode, Topology, Workload};
use miette::{IntoDiagnostic as _, Result};
use serde_json::{Value, json};
use sim::{Link, Pipeline, Scheme, Summary};
use wire::units::Nanos;

use super::figures::{Figures, right};
use super::hosts::Told;
use super::stop::Stop;

/// The simulation's, as `crn sim` has it.
const SEED: u64 = 1;

/// A figure of both.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    what: &'static str,
    sim: f64,
    /// `None`: below 1, where nothing reports.
    live: Option<f64>,
}

impl Row {
    /// How many times the simulation's the live figure is; `None` where that can't be said.
    fn ratio(&self) -> Option<f64> {
        self.live.filter(|_| self.sim > 0.0).map(|live| live / self.sim)
    }

    /// Whether both are within a factor of 2 of each other, or both 0, or both below what is reported.
    fn is_near(&self) -> bool {
        match (self.live, self.ratio()) {
            (None, _) => self.sim < 1.0,
            (Some(_), Some(ratio)) => (0.5..=2.0).contains(&ratio),
            (Some(live), None) => live <= 0.0,
        }
    }
}

/// The simulation's figures. It goes on beside, so that it doesn't hold up an interrupt.
pub fn simulate(topology: Topology, stop: &Stop) -> Result<Summary> {
    let simulating = thread::spawn(move || {
        let pipeline = Pipeline::built_in().into_diagnostic()?;
        let outcome = sim::run(&topology, &pipeline, Scheme::RdccCrn, SEED, &mut |_| {});
        outcome.into_diagnostic().map(|outcome| outcome.summary)
    });
    while !simulating.is_finished() {
        stop.check()?;
        thread::sleep(Duration::from_millis(20));
    }
    simulating.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Both side by side. The topology is the scaled one.
pub fn rows(topology: &Topology, sim: &Summary, live: &Figures) -> Vec<Row> {
    let Some(workload) = topology.workloads.first() else { return Vec::new() };
    let port = &workload.bottleneck;
    let b_th = sim.bottleneck.b_th_octets.max(1) as f64;
    let link = topology.link_at(port).map_or(1, |link| link.rate_bps) as f64;
    let told = || live.hosts.agents.values().map(|agent| &agent.told);
    let goodput =
        |told: &Told| told.summary.as_ref().and_then(|all| all.pointer("/messages/goodput")?.as_f64());
    let live_goodput = told().filter_map(goodput).sum::<f64>() * 1e6 / link;
    let sim_goodput = sim.goodput_mbps * 1e6 / (link * live.factor as f64);
    let deepest = told().map(|told| told.deepest).max().filter(|&depth| depth > 0);
    let sent = |kind: &str| {
        let cells = live.counters.values().flatten();
        let cells =
            cells.filter(|cell| cell.counter == reports_sent::NAME && crate::status::kind(cell) == kind);
        cells.map(|cell| cell.packets).sum::<u64>() as f64
    };
    let reports = &sim.reports;
    let sim_reports = reports.congestion_to_receiver + reports.congestion_to_sender;
    let live_reports: u64 = told().map(|told| told.reports_heard + told.reports_ignored).sum();
    let of_episode = |reports: u64, episodes: u64| reports as f64 / episodes.max(1) as f64;
    let a_batch = |reports: u64| reports as f64 / f64::from(workload.batches.max(1));
    let live_batches = f64::from(told().map(|told| told.batches).max().unwrap_or(1).max(1));
    let row = |what, sim, live| Row { what, sim, live: Some(live) };
    let mut rows = vec![
        row(
            "reports per congestion episode",
            of_episode(sim_reports, reports.episodes),
            of_episode(live_reports, told().map(|told| told.episodes).sum()),
        ),
        Row {
            what: "deepest queue reported / B_th",
            sim: reports.deepest_octets as f64 / b_th,
            live: deepest.map(|depth| depth as f64 / b_th),
        },
    ];
    let slowdown = &sim.messages.slowdown;
    for (mode, sim, [p50, p99]) in [
        (Mode::Scheduled, &slowdown.scheduled, ["scheduled: median / ideal", "scheduled: 99 in 100 / ideal"]),
        (
            Mode::Unscheduled,
            &slowdown.unscheduled,
            ["unscheduled: median / ideal", "unscheduled: 99 in 100 / ideal"],
        ),
    ] {
        let live = slowdowns(topology, workload, mode, live);
        if !live.is_empty() {
            rows.push(row(p50, sim.p50, sim::percentile(&live, 50.0)));
            rows.push(row(p99, sim.p99, sim::percentile(&live, 99.0)));
        }
    }
    rows.extend([
        row("goodput as a part of the bottleneck", sim_goodput, live_goodput),
        row(
            "reports to receivers, a batch",
            a_batch(reports.congestion_to_receiver),
            sent("congestion, to receiver") / live_batches,
        ),
        row(
            "reports to senders, a batch",
            a_batch(reports.congestion_to_sender),
            sent("congestion, to sender") / live_batches,
        ),
    ]);
    rows
}

/// How many times the ideal each live message of a mode took, in order.
fn slowdowns(topology: &Topology, workload: &Workload, mode: Mode, live: &Figures) -> Vec<f64> {
    let Some(link) = topology.link_at(&workload.bottleneck) else { return Vec::new() };
    let link = Link { rate_bps: link.rate_bps, delay: Nanos(link.delay_ns) };
    let ideals = sim::ideals(workload, link, Nanos(topology.rdcc.base_rtt_ns));
    let shapes: Vec<_> = workload.messages.iter().zip(ideals).collect();
    let of = |&(octets, micros): &(u64, f64)| {
        // A message is known by its size.
        let (shape, ideal) = shapes.iter().find(|(shape, _)| shape.size == octets)?;
        (shape.mode == mode).then(|| micros * 1000.0 / ideal.0.max(1) as f64)
    };
    let took = live.hosts.agents.values().flat_map(|agent| &agent.told.took);
    let mut all: Vec<f64> = took.filter_map(of).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// As a table.
pub fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "crn sim", "live", "live / sim", "within 2"]);
    for row in rows {
        table.add_row([
            row.what.to_owned(),
            format!("{:.3}", row.sim),
            row.live.map_or_else(|| "below 1".to_owned(), |live| format!("{live:.3}")),
            row.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            if row.is_near() { "yes" } else { "no" }.to_owned(),
        ]);
    }
    right(&mut table, 1..5);
    format!(
        "{table}\nIdeal: all messages of a batch over the bottleneck's link, and a round trip. Live completion is when the sender \
         hears of it, simulated when the last octet arrives. Reports to a host with less than four round trips between them \
         are of one episode; where nothing was reported, the queue stayed below B_th."
    )
}

/// As JSON.
pub fn to_json(rows: &[Row]) -> Value {
    let row = |row: &Row| json!({ "figure": row.what, "sim": row.sim, "live": row.live, "ratio": row.ratio(), "within_2": row.is_near() });
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_of_two_either_way_is_near() {
        let near = |sim, live| Row { what: "", sim, live: Some(live) }.is_near();
        assert!(near(1.0, 0.5) && near(1.0, 2.0) && near(0.0, 0.0));
        assert!(!near(1.0, 0.499) && !near(1.0, 2.001) && !near(0.0, 1.0) && !near(1.0, 0.0));
        let below = |sim| Row { what: "", sim, live: None }.is_near();
        assert!(below(0.999) && !below(1.0));
    }
}
