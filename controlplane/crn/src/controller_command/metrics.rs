//! What a running controller counts, for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};

use controller::machine::{CounterCell, State};
use controller::marking::{Measured, Place};
use controller::pipeline::generated::counters;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::http::open_metrics;
use crate::status;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Switch {
    switch: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Cell {
    switch: String,
    port: u16,
    queue: u8,
    of: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Flow {
    flow: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Point {
    flow: String,
    switch: String,
    place: &'static str,
}

/// What the collector of Alternate Marking measured.
#[derive(Debug, Default)]
struct Marking {
    packets: Family<Flow, Counter>,
    missing: Family<Flow, Gauge>,
    sent: Family<Flow, Counter>,
    failed: Family<Flow, Counter>,
    lost: Family<Point, Counter>,
}

impl Marking {
    fn register(&self, registry: &mut Registry) {
        let packets = self.packets.clone();
        registry.register("marked_packets", "Packets of closed marking periods, by flow", packets);
        let lost = self.lost.clone();
        registry.register("marked_packets_lost", "Of these, packets lost, by where", lost);
        let missing = self.missing.clone();
        registry.register("marking_switches_missing", "Switches that the last period lacks", missing);
        registry.register("marking_reports_sent", "Path reports sent to senders", self.sent.clone());
        let failed = self.failed.clone();
        registry.register("marking_reports_failed", "Path reports that couldn't be sent", failed);
    }
}

type Cells = Family<Cell, Counter>;

/// The switches' own counters that are passed on: name, and what it counts.
const COUNTERS: [(&str, &str); 6] = [
    (counters::reports_triggered::NAME, "Reports cloned, by kind; those that are not sent were lost"),
    (counters::reports_sent::NAME, "Reports sent, by kind"),
    (counters::reports_suppressed::NAME, "Reports not sent, by cause"),
    (counters::reports_deferred::NAME, "Reports put off because another kind went first"),
    (counters::drops::NAME, "Packets dropped, by cause"),
    (counters::ecn_marked::NAME, "Packets marked CE"),
];

/// The metrics and their registry.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    ready: Family<Switch, Gauge>,
    primary: Family<Switch, Gauge>,
    written: Family<Switch, Counter>,
    pushes: Family<Switch, Counter>,
    failures: Family<Switch, Counter>,
    loads: Family<Outcome, Counter>,
    refused: Gauge,
    cells: Vec<(&'static str, Cells, Cells)>,
    marking: Marking,
}

impl Metrics {
    /// All of them, at zero.
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("crn");
        let ready = Family::default();
        registry.register("switch_ready", "1 if the switch holds what it should", ready.clone());
        let primary = Family::default();
        registry.register("switch_primary", "1 if this controller is the switch's primary", primary.clone());
        let written = Family::default();
        registry.register("changes_written", "Changes written to the switch", written.clone());
        let pushes = Family::default();
        registry.register("program_pushes", "Times the program was pushed", pushes.clone());
        let failures = Family::default();
        registry.register("switch_failures", "Failed connections and writes", failures.clone());
        let loads = Family::default();
        registry.register("topology_loads", "Changes of the file, by outcome", loads.clone());
        let refused = Gauge::default();
        registry.register("topology_refused", "1 if the file as it is now isn't in force", refused.clone());
        let cells = COUNTERS.map(|(name, help)| {
            let (packets, octets) = (Cells::default(), Cells::default());
            registry.register(format!("{name}_packets"), help, packets.clone());
            registry.register(format!("{name}_octets"), format!("{help}: their octets"), octets.clone());
            (name, packets, octets)
        });
        let marking = Marking::default();
        marking.register(&mut registry);
        let cells = cells.to_vec();
        Metrics { registry, ready, primary, written, pushes, failures, loads, refused, cells, marking }
    }

    /// A switch holds what it should.
    pub fn ready(&self, switch: &str, pushed: bool, written: usize) {
        self.written.get_or_create(&label(switch)).inc_by(written as u64);
        self.pushes.get_or_create(&label(switch)).inc_by(u64::from(pushed));
    }

    /// Another controller is a switch's primary.
    pub fn backup(&self, switch: &str) {
        self.primary.get_or_create(&label(switch)).set(0);
    }

    /// Something failed.
    pub fn failed(&self, switch: &str) {
        self.failures.get_or_create(&label(switch)).inc();
    }

    /// How far a switch is.
    pub fn state(&self, switch: &str, state: State) {
        self.ready.get_or_create(&label(switch)).set(i64::from(state == State::Ready));
        let primary = !matches!(state, State::Idle | State::Arbitrating | State::Backup | State::Failed);
        self.primary.get_or_create(&label(switch)).set(i64::from(primary));
    }

    /// The file has changed.
    pub fn loaded(&self, good: bool) {
        self.loads.get_or_create(&Outcome { outcome: if good { "taken" } else { "refused" } }).inc();
        self.refused.set(i64::from(!good));
    }

    /// A switch's own counters.
    pub fn counters(&self, switch: &str, cells: &[CounterCell]) {
        for cell in cells {
            let Some((_, packets, octets)) = self.cells.iter().find(|(name, ..)| *name == cell.counter)
            else {
                continue;
            };
            let labels = Cell {
                switch: switch.to_owned(),
                port: cell.port,
                queue: cell.queue,
                of: status::kind(cell),
            };
            // They start over when the switch does, as Prometheus expects of a counter.
            let store = |family: &Cells, value: u64| {
                let counter = family.get_or_create(&labels);
                let inner: &AtomicU64 = counter.inner();
                inner.store(value, Ordering::Relaxed);
            };
            store(packets, cell.packets);
            store(octets, cell.octets);
        }
    }

    /// A marking period was measured.
    pub fn measured(&self, measured: &Measured) {
        let flow = Flow { flow: measured.flow.clone() };
        self.marking.packets.get_or_create(&flow).inc_by(measured.packets);
        let missing = i64::try_from(measured.missing.len()).unwrap_or(i64::MAX);
        self.marking.missing.get_or_create(&flow).set(missing);
        for hop in &measured.hops {
            let place = match hop.place {
                Place::Link => "link",
                Place::Switch => "switch",
            };
            let point = Point { flow: measured.flow.clone(), switch: hop.switch.clone(), place };
            self.marking.lost.get_or_create(&point).inc_by(hop.entry.lost.into());
        }
    }

    /// A path report was sent, or not.
    pub fn reported(&self, flow: &str, sent: bool) {
        let family = if sent { &self.marking.sent } else { &self.marking.failed };
        family.get_or_create(&Flow { flow: flow.to_owned() }).inc();
    }

    /// All of them in `OpenMetrics` text.
    pub fn text(&self) -> String {
        open_metrics(&self.registry)
    }
}

fn label(switch: &str) -> Switch {
    Switch { switch: switch.to_owned() }
}
