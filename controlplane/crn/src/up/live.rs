//! A run under way: from the first namespace to the figures.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use controller::topology::Topology;
use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use sim::Summary;

use super::acts::After;
use super::capture::Capture;
use super::fabric::Fabric;
use super::figures::{Figures, View};
use super::hosts::{Hosts, Orders};
use super::lag::Lag;
use super::network::Network;
use super::prompt::{Input, Prompt};
use super::run::{Number, Run};
use super::scale::Scale;
use super::steward::Steward;
use super::stop::Stop;
use super::tc::Means;
use super::{Args, compare};
use crate::output::plural;

/// How often what goes on is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How often, where somebody may type or all senders wait for the slowest.
const LOOK_CLOSELY: Duration = Duration::from_millis(20);

/// Who is spoken to, and where.
#[derive(Clone, Copy, Debug)]
pub struct Voice {
    json: bool,
}

impl Voice {
    /// `json`: standard output is for one object.
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether standard output is for one object.
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Says how the run goes.
    pub fn say(self, text: &str) {
        if !self.json {
            println!("{text}");
            // Seen at once, also through a pipe.
            let _ = std::io::stdout().flush();
        }
    }

    /// Answers an order of the prompt, which somebody waits for in any case.
    pub fn answer(self, text: &str) {
        if self.json { eprintln!("{text}") } else { self.say(text) }
    }
}

/// What is wanted of a run.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The command line.
    pub args: &'a Args,
    /// The scaled topology.
    pub topology: &'a Topology,
    /// How it was scaled.
    pub scale: Scale,
    /// The topology to be simulated, if that is wanted.
    pub simulated: Option<Topology>,
}

/// A run whose network stands.
#[derive(Debug)]
pub struct Live<'a> {
    pub(super) args: &'a Args,
    pub(super) topology: &'a Topology,
    pub(super) scale: Scale,
    pub(super) run: &'a mut Run,
    pub(super) stop: &'a Stop,
    pub(super) voice: Voice,
    pub(super) network: Network,
    pub(super) fabric: Fabric,
    pub(super) steward: Steward,
    pub(super) hosts: Hosts,
    pub(super) file: PathBuf,
    begin: Instant,
    lag: Lag,
    /// Processes whose end was meant, or has been said.
    pub(super) mourned: BTreeSet<Number>,
}

/// From the first namespace to the figures.
pub fn run(wanted: Wanted<'_>, run: &mut Run, stop: &Stop) -> Result<Figures> {
    let Wanted { args, topology, scale, simulated } = wanted;
    let voice = Voice::new(args.json);
    let network = Network::new(run.id(), topology);
    voice.say(&format!(
        "run {}: {} with {}, {} ({}); to end it from elsewhere: crn down {}",
        run.id(),
        topology.name,
        plural(topology.switches.len(), "switch"),
        plural(topology.hosts.len(), "host"),
        args.target.name(),
        run.id()
    ));
    let mut notes = vec![scale.said(topology)];
    voice.say(&notes[0]);
    for namespace in network.namespaces(topology) {
        run.note_namespace(&namespace)?;
    }
    stop.check()?;
    network.make(topology)?;
    let means = Means::of(&network.switches())?;
    means.apply(&network, topology)?;
    if let Some(said) = means.said(args.target, topology) {
        voice.say(&said);
        notes.push(said);
    }
    let simulated = simulate(simulated, means.delays(args.target), &mut notes, stop)?;
    let capture = args.capture.as_deref().map(|folder| Capture::begin(&network, folder)).transpose()?;
    stop.check()?;
    let fabric = Fabric::start(run, &network, topology, args.target, means.emulated(args.target))?;
    fabric.wait(run, stop)?;
    let entries = fabric.configure(topology, stop)?;
    let file = args.topology.canonicalize().into_diagnostic().wrap_err("the topology file has gone")?;
    let steward = Steward::start(run, &network, &fabric, &file, scale.factor)?;
    voice.say(&format!(
        "switches in namespace {}, {} given to them; hosts in {}",
        network.switches(),
        plural(entries, "entry"),
        network.host("...")
    ));
    let begin = Instant::now();
    let orders =
        Orders { network: &network, topology, file: &file, batches: args.batches, in_step: args.compare };
    let hosts = Hosts::start(run, &orders, stop)?;
    if hosts.agents.is_empty() && !args.cli {
        voice.say("the file has no workload: the network stands until --duration or Ctrl-C");
    }
    let mourned = BTreeSet::new();
    let mut live = Live {
        args,
        topology,
        scale,
        run,
        stop,
        voice,
        network,
        fabric,
        steward,
        hosts,
        file,
        begin,
        lag: Lag::new(topology.rdcc.base_rtt_ns),
        mourned,
    };
    live.go_on()?;
    let ran = live.begin.elapsed();
    live.hosts.end(live.run)?;
    let mut failure = None;
    if let Some((capture, folder)) = capture.zip(args.capture.as_deref()) {
        match capture.end() {
            Ok(frames) => notes.push(format!("{frames} frames captured in {}", folder.display())),
            Err(error) => {
                notes.push(format!("the capture in {} is incomplete: {error}", folder.display()));
                failure = Some(error);
            }
        }
        notes.last().into_iter().for_each(|note| voice.say(note));
    }
    let lost: u64 = live.hosts.agents.values().map(|agent| agent.told.lines_lost).sum();
    if lost > 0 {
        notes.push(format!(
            "{lost} lines of agents couldn't be written: what they told is missing in the figures"
        ));
        notes.last().into_iter().for_each(|note| voice.say(note));
    }
    if args.compare {
        notes.extend(live.lag.said());
        notes.last().into_iter().for_each(|note| voice.say(note));
    }
    let counters = live.fabric.counters(live.run)?;
    let head = [live.run.id().to_owned(), topology.name.clone(), args.target.name().to_owned()];
    let (compared, hosts, lag) = (Vec::new(), live.hosts, live.lag);
    let mut figures =
        Figures { head, factor: scale.factor, notes, ran, hosts, counters, compared, lag, failure };
    if let Some(simulated) = &simulated {
        figures.compared = compare::rows(topology, simulated, &figures);
    }
    Ok(figures)
}

/// The simulation's figures, if they are wanted: of links as they are here.
fn simulate(
    topology: Option<Topology>,
    delays: bool,
    notes: &mut Vec<String>,
    stop: &Stop,
) -> Result<Option<Summary>> {
    let Some(mut topology) = topology else { return Ok(None) };
    if !delays {
        topology.links.iter_mut().for_each(|link| (link.delay_ns, link.loss_ppm) = (0, [0; 2]));
        topology.workloads.iter_mut().for_each(|workload| workload.loss_ppm = 0);
        notes.push("simulated as it is here: links without delay and loss".to_owned());
    }
    compare::simulate(topology, stop).map(Some)
}

impl Live<'_> {
    /// Whether the run's time is over, or it was asked to end.
    pub(super) fn is_over(&self) -> bool {
        let limit = self.args.duration.map(|limit| limit.0);
        limit.is_some_and(|limit| self.begin.elapsed() >= limit) || self.stop.is_requested()
    }

    /// Looks at what goes on; where somebody can start it once more, a process that ended by itself is said, and no error.
    pub(super) fn tick(&mut self) -> Result<()> {
        self.hosts.hear()?;
        if self.args.compare {
            self.hosts.step(self.run);
            self.lag.look(self.run.running());
        }
        let mut ended = self.fabric.ended(self.run);
        ended.extend(self.hosts.ended(self.run)?);
        let steward = self.steward.number();
        if self.run.status(steward).is_some() {
            ended.push((steward, self.run.last_words(steward)));
        }
        for (number, words) in ended {
            if !self.mourned.insert(number) {
                continue;
            }
            if !self.args.cli {
                return Err(miette!("it ended by itself: {words}"));
            }
            self.voice.answer(&format!("it ended by itself: {words}"));
        }
        Ok(())
    }

    /// Goes on until the end: that of the workload, of the time, or when somebody says so.
    fn go_on(&mut self) -> Result<()> {
        let prompt = self.args.cli.then(Prompt::start).transpose()?;
        let mut view = View::new(!self.args.json && prompt.is_none() && std::io::stdout().is_terminal());
        while !self.is_over() {
            self.tick().inspect_err(|_| view.clear())?;
            view.show(&self.hosts, self.begin.elapsed());
            match &prompt {
                None if !self.hosts.agents.is_empty() && self.hosts.finished(self.run) => break,
                None => std::thread::sleep(if self.args.compare { LOOK_CLOSELY } else { LOOK }),
                Some(prompt) => match prompt.heard() {
                    Some(Input::End) => break,
                    Some(Input::Line(line)) => {
                        if self.act(&line) == After::Exit {
                            break;
                        }
                        prompt.ask();
                    }
                    None => std::thread::sleep(LOOK_CLOSELY),
                },
            }
        }
        view.clear();
        Ok(())
    }
}
