//! The hosts of a run: an agent in each that the workload names, and what it tells.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use controller::topology::{Host, Topology, Workload};
use miette::{IntoDiagnostic as _, Result, miette};
use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::signal::Signal;
use serde_json::Value;
use wire::units::Nanos;

use super::network::Network;
use super::run::{Number, Run, of_life};
use super::stop::Stop;

/// How long an agent may take to end when asked.
const FAREWELL: Duration = Duration::from_secs(10);

/// Messages whose times are kept: a run may go on for ever.
const KEPT: usize = 1 << 16;

/// What a host does in the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sends.
    Sender,
    /// It receives.
    Receiver,
    /// It does both.
    Both,
}

impl Role {
    /// The name of the agent.
    pub fn agent(self) -> &'static str {
        match self {
            Self::Sender => "rdcc-sender",
            Self::Receiver => "rdcc-receiver",
            Self::Both => "rdcc",
        }
    }

    fn sends(self) -> bool {
        self != Self::Receiver
    }
}

/// A host's agent and what it has told so far.
#[derive(Debug)]
pub struct Agent {
    /// What it does.
    pub role: Role,
    number: Number,
    /// So often it was started.
    lives: u32,
    output: File,
    /// Octets of the output that were read, and are of no more use.
    read: i64,
    /// Octets of a line that isn't complete.
    rest: Vec<u8>,
    started: bool,
    /// Between reports of two episodes, in microseconds.
    gap: f64,
    /// Batches to be sent, those of earlier lives among them.
    batches: u32,
    /// Batches that may have begun, where all begin theirs together.
    released: u32,
    /// What it told, in all its lives.
    pub told: Told,
}

/// What agents are started with.
#[derive(Debug)]
pub struct Orders<'a> {
    /// Where hosts are.
    pub network: &'a Network,
    /// The scaled topology.
    pub topology: &'a Topology,
    /// Its file, which agents read for themselves.
    pub file: &'a Path,
    /// How many batches, if not the workload's.
    pub batches: Option<u32>,
    /// Whether all senders begin each batch together, as a simulation has it.
    pub in_step: bool,
}

/// What an agent told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// Batches that ended.
    pub batches: u32,
    /// Messages done, at a sender.
    pub done: u64,
    /// Messages that ended otherwise.
    pub aborted: u64,
    /// Congestion reports that it acted on.
    pub reports_heard: u64,
    /// Those that it didn't act on.
    pub reports_ignored: u64,
    /// The largest Queue Depth of a report, in octets.
    pub deepest: u64,
    /// Lines that it couldn't write: what they would have told is missing here.
    pub lines_lost: u64,
    /// Octets of each message that was done, and how long it took in microseconds, at a sender; of the last ones.
    pub took: VecDeque<(u64, f64)>,
    /// How often reports began to come.
    pub episodes: u64,
    /// When the last one came, in microseconds since the agent began.
    last_report: Option<f64>,
    /// Its figures at the end.
    pub summary: Option<Value>,
}

/// All agents.
#[derive(Debug)]
pub struct Hosts {
    /// By the hosts' names.
    pub agents: BTreeMap<String, Agent>,
}

/// What each host does.
pub fn roles(topology: &Topology) -> BTreeMap<String, Role> {
    let pairs = || topology.workloads.iter().flat_map(|workload| &workload.pairs);
    let senders: BTreeSet<&String> = pairs().map(|(from, _)| from).collect();
    let receivers: BTreeSet<&String> = pairs().map(|(_, to)| to).collect();
    let role = |name: &String| match (senders.contains(name), receivers.contains(name)) {
        (true, true) => Role::Both,
        (true, false) => Role::Sender,
        _ => Role::Receiver,
    };
    senders.union(&receivers).map(|&name| (name.clone(), role(name))).collect()
}

/// The workload that a host sends: the first in which it does.
pub fn workload_of<'a>(topology: &'a Topology, host: &str) -> Option<&'a Workload> {
    topology.workloads.iter().find(|workload| workload.pairs.iter().any(|(from, _)| from == host))
}

impl Hosts {
    /// Starts an agent in every host of the workload; those that receive first, so that nobody waits for an answer.
    pub fn start(run: &mut Run, orders: &Orders<'_>, stop: &Stop) -> Result<Self> {
        let mut hosts = Self { agents: BTreeMap::new() };
        let roles = roles(orders.topology);
        for wanted in [Role::Receiver, Role::Both, Role::Sender] {
            for (name, role) in roles.iter().filter(|(_, role)| **role == wanted) {
                let agent = orders.start(run, name, *role, 1)?;
                hosts.agents.insert(name.clone(), agent);
            }
            if wanted != Role::Sender {
                hosts.wait(run, stop)?;
            }
        }
        Ok(hosts)
    }

    /// Starts an agent that has ended once more: it begins its workload anew, and what it told before is kept.
    pub fn restart(&mut self, run: &mut Run, orders: &Orders<'_>, name: &str, stop: &Stop) -> Result<()> {
        let Some(before) = self.agents.get_mut(name) else { return Err(miette!("{name} has no agent")) };
        before.hear()?;
        let mut agent = orders.start(run, name, before.role, before.lives + 1)?;
        agent.told = Told { summary: None, ..before.told.clone() };
        agent.batches += agent.told.batches;
        let number = agent.number;
        self.agents.insert(name.to_owned(), agent);
        self.wait(run, stop).inspect_err(|_| {
            // One that doesn't say that it runs is none.
            run.signal(number, Signal::SIGKILL);
            run.wait(number, FAREWELL);
        })
    }

    /// The process of a host's agent.
    pub fn number(&self, name: &str) -> Option<Number> {
        self.agents.get(name).map(|agent| agent.number)
    }

    /// Waits until all have their sockets.
    fn wait(&mut self, run: &mut Run, stop: &Stop) -> Result<()> {
        let begin = Instant::now();
        loop {
            self.hear()?;
            let Some((name, agent)) = self.agents.iter().find(|(_, agent)| !agent.started) else {
                return Ok(());
            };
            let ended = format!("the agent of {name} ended at once");
            let late = format!("the agent of {name} doesn't start");
            run.wait_on(agent.number, begin, (&ended, &late), stop)?;
        }
    }

    /// Takes in what the agents have told.
    pub fn hear(&mut self) -> Result<()> {
        self.agents.values_mut().try_for_each(Agent::hear)
    }

    /// Has the senders begin their next batch, if all of them have ended the last one.
    pub fn step(&mut self, run: &mut Run) {
        let sends = |agent: &&mut Agent| agent.role.sends() && run.status(agent.number).is_none();
        let mut senders: Vec<&mut Agent> = self.agents.values_mut().filter(sends).collect();
        if senders.iter().all(|agent| agent.started && agent.told.batches >= agent.released) {
            for agent in &mut senders {
                agent.released = agent.told.batches + 1;
                run.signal(agent.number, Signal::SIGUSR1);
            }
        }
    }

    /// Whether all that was to be sent has ended.
    pub fn finished(&self, run: &mut Run) -> bool {
        self.agents
            .values()
            .filter(|agent| agent.role.sends())
            .all(|agent| agent.told.batches >= agent.batches || run.status(agent.number).is_some())
    }

    /// The agents that ended and shouldn't have: a receiver, or a sender before its last batch. With what they said last.
    pub fn ended(&mut self, run: &mut Run) -> Result<Vec<(Number, String)>> {
        if self.agents.values().any(|agent| run.status(agent.number).is_some()) {
            // What one told before it ended, perhaps after the last look: that it has sent all.
            self.hear()?;
        }
        let early = |agent: &&Agent| agent.role != Role::Sender || agent.told.batches < agent.batches;
        Ok(run.ended(self.agents.values().filter(early).map(|agent| agent.number)))
    }

    /// Ends all agents, senders first, and takes in their figures.
    pub fn end(&mut self, run: &mut Run) -> Result<()> {
        for senders in [true, false] {
            let agents = || self.agents.values().filter(|agent| agent.role.sends() == senders);
            for agent in agents() {
                run.signal(agent.number, Signal::SIGTERM);
            }
            for agent in agents() {
                run.wait(agent.number, FAREWELL);
            }
        }
        self.hear()
    }
}

impl Agent {
    fn hear(&mut self) -> Result<()> {
        let new = self.output.read_to_end(&mut self.rest).into_diagnostic()?;
        if new > 0 {
            // What was read is of no more use; a long run would fill the disk with it. Where the file system can't, it stays.
            self.read += i64::try_from(new).unwrap_or_default();
            let hole = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
            let _ = fallocate(&self.output, hole, 0, self.read);
        }
        let Some(end) = self.rest.iter().rposition(|&octet| octet == b'\n') else { return Ok(()) };
        let rest = self.rest.split_off(end + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        for line in lines.split(|&octet| octet == b'\n') {
            if let Ok(event) = serde_json::from_slice::<Value>(line) {
                self.started |= event["event"] == "started";
                self.told.take(event, self.gap);
            }
        }
        Ok(())
    }
}

impl Told {
    /// Takes an event in; reports with less than `gap` microseconds between them are of one episode.
    fn take(&mut self, event: Value, gap: f64) {
        match event["event"].as_str() {
            Some("batch_done") => self.batches += 1,
            // A receiver tells its length, a sender how long it took.
            Some("message_done") => {
                if let Some((took, octets)) = event["took"].as_f64().zip(event["octets"].as_u64()) {
                    self.done += 1;
                    if self.took.len() == KEPT {
                        self.took.pop_front();
                    }
                    self.took.push_back((octets, took));
                }
            }
            Some("message_aborted") => self.aborted += 1,
            Some("lines_lost") => self.lines_lost += event["count"].as_u64().unwrap_or_default(),
            Some("report") => {
                let at = event["at"].as_f64();
                // One that was started once more counts its time anew.
                let goes_on =
                    at.zip(self.last_report).is_some_and(|(at, last)| at >= last && at - last < gap);
                self.episodes += u64::from(!goes_on);
                self.last_report = at;
                let depth = event["depth"].as_u64().unwrap_or_default();
                self.deepest = self.deepest.max(depth);
                if event["heard"] == true {
                    self.reports_heard += 1;
                } else {
                    self.reports_ignored += 1;
                }
            }
            Some("summary") => self.summary = Some(event),
            _ => {}
        }
    }
}

impl Orders<'_> {
    fn start(&self, run: &mut Run, name: &str, role: Role, lives: u32) -> Result<Agent> {
        let (command, batches) = self.command(name, role, &run.file(&format!("{name}.epoch")))?;
        let of_life = of_life(name, lives);
        let number = run.spawn(&self.network.host(name), &of_life, &command)?;
        let path = run.file(&format!("{of_life}.out"));
        let output = File::options().read(true).write(true).open(path).into_diagnostic()?;
        let (rest, told) = (Vec::new(), Told::default());
        let gap = sim::episode_gap(Nanos(self.topology.rdcc.base_rtt_ns)).0 as f64 / 1000.0;
        Ok(Agent {
            role,
            number,
            lives,
            output,
            read: 0,
            rest,
            started: false,
            gap,
            batches,
            released: 0,
            told,
        })
    }

    /// The line of a host's agent, and how many batches it sends. A receiver keeps its Epoch in a file: one that is started
    /// once more doesn't take up credit that the one before gave.
    pub fn command(&self, name: &str, role: Role, epoch: &Path) -> Result<(Command, u32)> {
        let Self { topology, file, batches, .. } = self;
        let host = topology.hosts.get(name).ok_or_else(|| miette!("there is no host {name}"))?;
        let workload = workload_of(topology, name).filter(|_| role.sends());
        let batches = workload.map_or(0, |workload| batches.unwrap_or(workload.batches));
        let mut command = command(topology, file, name, host, role)?;
        if let Some(workload) = workload {
            command.arg("--batches").arg(batches.to_string());
            command.arg("--gap").arg(format!("{}ns", workload.gap_ns));
            if self.in_step {
                command.arg("--in-step");
            }
        }
        if role != Role::Sender {
            command.arg("--epoch-file").arg(epoch);
        }
        Ok((command, batches))
    }
}

/// The agent of a host, told everything that was scaled; the rest it reads in the file.
fn command(topology: &Topology, file: &Path, name: &str, host: &Host, role: Role) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().into_diagnostic()?);
    command.arg("agent").arg(role.agent()).arg(file).args(["--host", name, "--json"]);
    let rate = topology.links.get(host.link).map_or(0, |link| link.rate_bps);
    let interval =
        topology.profiles.get(&topology.data_profile).map_or(0, |profile| profile.report_interval_ns);
    let rdcc = &topology.rdcc;
    command.arg("--link-rate").arg(format!("{rate}bps"));
    for (flag, nanos) in [
        ("--base-rtt", rdcc.base_rtt_ns),
        ("--start-jitter", rdcc.start_jitter_ns),
        ("--grant-lifetime", rdcc.grant_lifetime_ns),
        ("--max-delay", rdcc.max_delay_ns),
        ("--report-interval", interval),
    ] {
        command.arg(flag).arg(format!("{nanos}ns"));
    }
    for (flag, octets) in [
        ("--credit-unit", rdcc.credit_unit),
        ("--budget", rdcc.budget),
        ("--unscheduled-budget", rdcc.unscheduled_budget),
        ("--unscheduled-limit", rdcc.unscheduled_limit),
        ("--backlog-threshold", rdcc.backlog_threshold),
    ] {
        // The least that can be written is one octet.
        command.arg(flag).arg(format!("{}B", octets.max(1)));
    }
    Ok(command)
}
