//! `crn controller`: stays, and keeps the switches as the file says.

mod collector;
mod file;
mod health;
mod http;
mod metrics;
mod refusal;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use controller::client::{Event, GrpcClient};
use controller::keeper::{Keeper, Rhythm};
use controller::machine::{Controller, ControllerEvent, Failure, State, next_event, pump};
use controller::topology::{self, Problem, Topology, TopologyErrors};
use miette::{IntoDiagnostic as _, Result};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{error, info, warn};
use wire::units::Nanos;

use crate::switches::{self, Election, Reached, Refused, Selection, Site};
use crate::{bmv2_queues, output, plan};
use collector::Collecting;
use file::News;
use health::{Health, SharedHealth};
use metrics::Metrics;
use refusal::{Form, Refusal};

/// Arguments of `crn controller`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    election: Election,
    /// Serve /metrics (Prometheus) and /healthz here, as in 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = crate::http::address)]
    listen: Option<SocketAddr>,
    /// Milliseconds between two looks at the file
    #[arg(long, default_value_t = 500, allow_negative_numbers = true, value_parser = switches::whole::<10, 60_000>)]
    poll: u64,
    /// Seconds between two looks at what a switch holds
    #[arg(long, default_value_t = 30, allow_negative_numbers = true, value_parser = switches::whole::<1, 86_400>)]
    check: u64,
    /// How logs are written to standard error
    #[arg(long, value_enum, default_value = "text")]
    log: LogFormat,
    /// The switches are those of a `crn up` that has divided rates by so much
    #[arg(long, value_name = "FACTOR", hide = true)]
    scale: Option<u64>,
}

impl Args {
    /// The topology as it is kept: the file's, or for a run on this machine what was made of it there.
    fn as_kept(&self, topology: Topology) -> Result<Topology> {
        match self.scale {
            Some(factor) => crate::up::scaled(topology, factor),
            None => Ok(topology),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// A line for people
    Text,
    /// A JSON object a line
    Json,
}

impl LogFormat {
    fn form(self) -> Form {
        match self {
            Self::Text => Form::Text,
            Self::Json => Form::Fields,
        }
    }
}

/// Runs the command; comes back on an interrupt.
pub fn run(args: &Args) -> Result<()> {
    logs(args.log);
    let form = args.log.form();
    match (stay(args, form), form) {
        (Err(report), Form::Fields) if !output::was_said(&report) => {
            error!("{report}");
            Err(output::said())
        }
        (result, _) => result,
    }
}

/// The topology that is there at the start, and its file's content.
fn begin(args: &Args, form: Form) -> Result<(Vec<u8>, Site)> {
    let path = &args.selection.topology;
    let name = path.display().to_string();
    let refused = |errors: TopologyErrors| {
        form.errors(&errors);
        output::said()
    };
    let content = topology::read_octets(path).map_err(refused)?;
    let topology = topology::parse_octets(&name, &content).map_err(refused)?;
    form.problems(&name, &topology.warnings);
    let topology = args.as_kept(topology)?;
    let site = args.selection.site_of(topology).and_then(|site| {
        plan::fitting(&site.topology, &site.pipelines).map_err(Refused::File)?;
        Ok(site)
    });
    match site {
        Ok(site) => Ok((content, site)),
        Err(Refused::Usage(report)) => Err(report),
        Err(Refused::File(problems)) => {
            form.problems(&name, &problems);
            Err(output::said())
        }
    }
}

fn stay(args: &Args, form: Form) -> Result<()> {
    let (content, Site { topology, pipelines, reached }) = begin(args, form)?;
    let mut controller =
        Controller::new(pipelines, &topology, args.election.election_id.into()).into_diagnostic()?;
    controller.retain(|name| reached.contains_key(name));
    let rhythm = Rhythm { check: Nanos(args.check.saturating_mul(1_000_000_000)), ..Rhythm::default() };
    let keeper = Keeper::new(controller, rhythm);
    let runtime = switches::runtime()?;
    let ended = runtime.block_on(async {
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
        let path = args.selection.topology.clone();
        let file = if path.is_file() {
            Some(file::follow(path, Duration::from_millis(args.poll), content))
        } else {
            warn!(file = %path.display(), "it is no file: it has been read once and isn't followed");
            None
        };
        let collecting = Collecting::new(&topology, Arc::clone(&metrics), Nanos(0));
        let mut daemon = Daemon {
            args,
            form,
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
    });
    // A file that is being read is no reason to stay.
    runtime.shutdown_background();
    ended
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
    form: Form,
    topology: Topology,
    reached: BTreeMap<String, Reached>,
    keeper: Keeper,
    collecting: Collecting,
    /// What is new about the file; `None` if it isn't followed.
    file: Option<mpsc::Receiver<News>>,
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
                news = news_of(&mut self.file) => self.look(news),
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

    /// Takes the file, which has changed, if it is good.
    fn look(&mut self, news: News) {
        let path = self.args.selection.topology.display().to_string();
        match news.and_then(|content| topology::parse_octets(&path, &content)) {
            Ok(topology) => self.take(topology),
            Err(errors) => {
                self.form.errors(&errors);
                self.refused(Refusal::of(&errors.file, &errors.errors));
            }
        }
    }

    fn take(&mut self, topology: Topology) {
        let file = topology.file().to_owned();
        let topology = match self.args.as_kept(topology) {
            Ok(topology) => topology,
            Err(report) => return self.refused(Refusal::because(format!("{file}: {report}"))),
        };
        let Site { topology, pipelines, reached } = match self.args.selection.site_of(topology) {
            Ok(site) => site,
            Err(Refused::Usage(report)) => {
                return self.refused(Refusal::because(format!("{file}: {report}")));
            }
            Err(Refused::File(problems)) => return self.refuse(&file, &problems),
        };
        if let Err(problems) = plan::fitting(&topology, &pipelines) {
            return self.refuse(&file, &problems);
        }
        let now = self.now();
        let kept = |name: &str| reached.contains_key(name);
        if let Err(error) = self.keeper.set_topology(&topology, pipelines, kept, now) {
            return self.refused(Refusal::because(format!("{file}: {error}")));
        }
        self.form.problems(&file, &topology.warnings);
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

    fn refuse(&self, file: &str, problems: &[Problem]) {
        self.form.problems(file, problems);
        self.refused(Refusal::of(file, problems));
    }

    fn refused(&self, refusal: Refusal) {
        error!(
            reason = refusal.reason,
            "the file has changed and is refused; the last good state stays in force"
        );
        self.lock().refused = Some(refusal);
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
                let failure = self.keeper.controller.failure(switch);
                let remains = failure.map(|failure| failure.remains.to_string());
                let help = failure.and_then(Failure::help);
                error!(switch, doing = %state, remains, help, "{error}");
                let refused = failure.map(|failure| failure.refused.as_slice());
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
            let problem = self.keeper.controller.failure(name).map(|failure| match failure.help() {
                Some(help) => format!("{}; {help}", failure.error),
                None => failure.error.to_string(),
            });
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

/// Waits for what is new about the file; for ever if it isn't followed.
async fn news_of(file: &mut Option<mpsc::Receiver<News>>) -> News {
    if let Some(file) = file
        && let Some(news) = file.recv().await
    {
        return news;
    }
    std::future::pending().await
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
