//! `crn controller`: stays, and keeps the switches as the file says.

mod collector;
mod http;
mod metrics;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use controller::client::{Event, GrpcClient};
use controller::keeper::{Keeper, Rhythm, Settled};
use controller::machine::{Controller, ControllerEvent, State, next_event, pump};
use controller::topology::{self, Topology, TopologyErrors};
use miette::{IntoDiagnostic as _, Result};
use tokio::time::Instant;
use tracing::{error, info, warn};
use wire::units::Nanos;

use crate::output::complain_as_is;
use crate::switches::{self, Election, Reached, Selection, Site};
use crate::{bmv2_queues, output, plan};
use collector::Collecting;
use metrics::Metrics;

/// Arguments of `crn controller`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    election: Election,
    /// Serve /metrics (Prometheus) and /healthz here, as in 127.0.0.1:9464
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<SocketAddr>,
    /// Milliseconds between two looks at the file
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    poll: u64,
    /// Seconds between two looks at what a switch holds
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    check: u64,
    /// How logs are written to standard error
    #[arg(long, value_enum, default_value = "text")]
    log: LogFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// A line for people
    Text,
    /// A JSON object a line
    Json,
}

/// How every switch is, for /healthz.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// State of each switch, and what is wrong with it.
    switches: BTreeMap<String, (String, Option<String>)>,
    /// Why the file that is there now isn't in force.
    refused: Option<String>,
}

impl Health {
    /// Whether all is well: every switch is ready, or another controller's, and the file is in force.
    fn good(&self) -> bool {
        self.refused.is_none()
            && self
                .switches
                .values()
                .all(|(state, _)| *state == State::Ready.to_string() || *state == State::Backup.to_string())
    }

    fn json(&self) -> String {
        let switches: serde_json::Map<String, serde_json::Value> = self
            .switches
            .iter()
            .map(|(name, (state, problem))| {
                (name.clone(), serde_json::json!({ "state": state, "problem": problem }))
            })
            .collect();
        serde_json::json!({ "ok": self.good(), "switches": switches, "file_refused": self.refused })
            .to_string()
    }
}

/// What the HTTP side reads.
pub type SharedHealth = Arc<Mutex<Health>>;

/// Runs the command; comes back on an interrupt.
pub fn run(args: &Args) -> Result<()> {
    logs(args.log);
    let content = std::fs::read(&args.selection.topology).ok();
    let Site { topology, pipelines, reached } = args.selection.site()?;
    plan::desired_of(&topology, &pipelines)?;
    let mut controller =
        Controller::new(pipelines, &topology, args.election.election_id.into()).into_diagnostic()?;
    controller.retain(|name| reached.contains_key(name));
    let rhythm = Rhythm { check: Nanos(args.check.saturating_mul(1_000_000_000)), ..Rhythm::default() };
    let keeper = Keeper::new(controller, rhythm);
    switches::runtime()?.block_on(async {
        let health = SharedHealth::default();
        let metrics = Arc::new(Metrics::new());
        if let Some(address) = args.listen {
            let listener = crate::http::listen(address).await?;
            let address = listener.local_addr().into_diagnostic()?;
            info!(%address, "serving /metrics and /healthz");
            let (metrics, health) = (Arc::clone(&metrics), Arc::clone(&health));
            let answer = move |request: &_| http::answer(request, &metrics, &health);
            tokio::spawn(crate::http::serve(listener, answer));
        }
        let file = Settled::new(content.unwrap_or_default());
        let collecting = Collecting::new(&topology, Arc::clone(&metrics), Nanos(0));
        let mut daemon = Daemon {
            args,
            topology,
            collecting,
            reached,
            keeper,
            file,
            clients: BTreeMap::new(),
            ready: BTreeSet::new(),
            metrics,
            health,
            start: Instant::now(),
        };
        daemon.run().await;
        Ok(())
    })
}

fn logs(format: LogFormat) {
    let builder = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_target(false)
        // Nobody reading is no reason to end, nor to complain to nobody.
        .log_internal_errors(false)
        .with_ansi(output::color_stderr());
    // A second subscriber can't be there: this is the only place that sets one.
    let _ = match format {
        LogFormat::Text => tracing::subscriber::set_global_default(builder.finish()),
        LogFormat::Json => {
            tracing::subscriber::set_global_default(builder.json().flatten_event(true).finish())
        }
    };
}

struct Daemon<'a> {
    args: &'a Args,
    topology: Topology,
    reached: BTreeMap<String, Reached>,
    keeper: Keeper,
    collecting: Collecting,
    file: Settled,
    clients: BTreeMap<String, GrpcClient>,
    /// Switches that have been told of as ready.
    ready: BTreeSet<String>,
    metrics: Arc<Metrics>,
    health: SharedHealth,
    start: Instant,
}

impl Daemon<'_> {
    async fn run(&mut self) {
        self.connect();
        self.keeper.start(self.now());
        let mut look = tokio::time::interval(Duration::from_millis(self.args.poll));
        let mut interrupt = std::pin::pin!(interrupted());
        info!(
            topology = self.topology.name,
            switches = self.reached.len(),
            election_id = self.args.election.election_id,
            "started"
        );
        loop {
            let now = self.now();
            pump(&mut self.keeper.controller, &mut self.clients, now);
            while let Some(event) = self.keeper.controller.poll_event() {
                self.keeper.heard(&event, now);
                self.collecting.heard(&event, &self.keeper.controller, now);
                self.tell(&event);
            }
            self.note_states();
            let due = self.keeper.poll_timeout().into_iter().chain(self.collecting.poll_timeout()).min();
            tokio::select! {
                (switch, event) = next_event(&mut self.clients) => {
                    let now = self.now();
                    self.keeper.controller.handle_event(&switch, event, now);
                }
                () = until(self.start, due) => {
                    let now = self.now();
                    self.keeper.handle_timeout(now);
                    self.collecting.handle_timeout(&mut self.keeper.controller, now);
                }
                _ = look.tick() => self.look(),
                () = &mut interrupt => {
                    info!("interrupted; the switches keep what they hold");
                    return;
                }
            }
        }
    }

    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// A client for every switch; those whose address is as before keep theirs.
    fn connect(&mut self) {
        let reached = &self.reached;
        self.clients.retain(|name, _| reached.contains_key(name));
        for (name, reached) in reached {
            let timeout = self.args.selection.timeout();
            self.clients.entry(name.clone()).or_insert_with(|| reached.client(timeout));
        }
    }

    /// Looks at the file, and takes it if it has changed and is good.
    fn look(&mut self) {
        let path = &self.args.selection.topology;
        let read = std::fs::read(path).ok();
        let Some(content) = self.file.see(read).map(<[u8]>::to_vec) else { return };
        match topology::parse_octets(&path.display().to_string(), &content) {
            Ok(topology) => self.take(topology),
            Err(errors) => self.refuse(&errors),
        }
    }

    fn take(&mut self, topology: Topology) {
        let Ok(Site { topology, pipelines, reached }) = self.args.selection.site_of(topology) else {
            return self.refused("a switch can't be reached as the file says");
        };
        let now = self.now();
        let kept = |name: &str| reached.contains_key(name);
        if let Err(error) = self.keeper.set_topology(&topology, pipelines, kept, now) {
            return self.refused(&error.to_string());
        }
        for warning in &topology.warnings {
            warn!(line = warning.line(), "{}", warning.message);
        }
        let moved: Vec<String> = self
            .reached
            .iter()
            .filter(|(name, old)| reached.get(*name).is_some_and(|new| new != *old))
            .map(|(name, _)| name.clone())
            .collect();
        for name in moved {
            self.clients.remove(&name);
            let closed = Event::Closed("its address in the file has changed".to_owned());
            self.keeper.controller.handle_event(&name, closed, now);
        }
        self.reached = reached;
        self.connect();
        self.collecting = Collecting::new(&topology, Arc::clone(&self.metrics), now);
        self.topology = topology;
        self.lock().refused = None;
        self.metrics.loaded(true);
        info!(topology = self.topology.name, "the file has changed; comparing all switches with it");
    }

    fn refuse(&self, errors: &TopologyErrors) {
        complain_as_is!("{}", errors.render(output::width(), output::color_stderr()));
        let first = errors.errors.first();
        let text = first.map_or_else(
            || errors.to_string(),
            |problem| format!("line {}: {}", problem.line().unwrap_or(1), problem.message),
        );
        self.refused(&text);
    }

    fn refused(&self, reason: &str) {
        error!(reason, "the file has changed and is refused; the last good state stays in force");
        self.lock().refused = Some(reason.to_owned());
        self.metrics.loaded(false);
    }

    fn tell(&mut self, event: &ControllerEvent) {
        match event {
            ControllerEvent::Ready { switch, pushed, written } => {
                self.metrics.ready(switch, *pushed, *written);
                let news = self.ready.insert(switch.clone());
                if news || *pushed {
                    self.set_queues(switch);
                }
                if news || *pushed || *written > 0 {
                    info!(switch, pushed, written, "ready: it holds what the file says");
                }
            }
            ControllerEvent::Backup { switch } => {
                self.metrics.backup(switch);
                self.ready.remove(switch);
                info!(switch, "another controller is primary; standing by");
            }
            ControllerEvent::Failed { switch, state, error } => {
                self.metrics.failed(switch);
                self.ready.remove(switch);
                let remains =
                    self.keeper.controller.failure(switch).map(|failure| failure.remains.to_string());
                error!(switch, doing = %state, remains, "{error}");
                let refused =
                    self.keeper.controller.failure(switch).map(|failure| failure.refused.as_slice());
                for (change, reason) in refused.unwrap_or_default().iter().take(5) {
                    let place = change.origin.as_ref().and_then(|origin| self.topology.place(origin));
                    let place = place.map_or_else(|| "-".to_owned(), |place| place.to_string());
                    error!(switch, from = place, %reason, "a change was refused");
                }
            }
            ControllerEvent::Counters { switch, cells } => self.metrics.counters(switch, cells),
            ControllerEvent::Read { .. } | ControllerEvent::PacketIn { .. } => {}
        }
    }

    /// Sets the queues of a BMv2 that is new or was started anew, beside all else.
    fn set_queues(&self, switch: &str) {
        let (topology, switch) = (self.topology.clone(), switch.to_owned());
        let timeout = self.args.selection.timeout();
        tokio::spawn(async move {
            for (switch, queues, outcome) in bmv2_queues::set(&topology, |name| name == switch, timeout).await
            {
                match outcome {
                    Ok(()) => info!(switch, "queues: {}", bmv2_queues::said(queues)),
                    Err(error) => error!(switch, "{error}"),
                }
            }
        });
    }

    fn note_states(&self) {
        let mut health = self.lock();
        health.switches.clear();
        for name in self.reached.keys() {
            let state = self.keeper.state(name).unwrap_or(State::Idle);
            self.metrics.state(name, state);
            let problem = self.keeper.controller.failure(name).map(|failure| failure.error.to_string());
            health.switches.insert(name.clone(), (state.to_string(), problem));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Health> {
        // A panic elsewhere leaves nothing half changed here.
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until a time of the keeper's; for ever if there is none.
async fn until(start: Instant, due: Option<Nanos>) {
    match due {
        Some(at) => tokio::time::sleep_until(start + Duration::from_nanos(at.0)).await,
        None => std::future::pending().await,
    }
}

/// Waits for Ctrl-C or a request to terminate.
async fn interrupted() {
    let interrupt = tokio::signal::ctrl_c();
    let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) else {
        let _ = interrupt.await;
        return;
    };
    tokio::select! {
        _ = interrupt => {}
        _ = terminate.recv() => {}
    }
}
