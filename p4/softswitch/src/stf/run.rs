//! Runs a test.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::commands::{self, Nodes};
use super::expect::{Check, Expected, Failure, compare};
use super::parse::{Command, parse};
use super::{StfError, parse};
use crate::control::{EntryHandle, TableId};
use crate::{Engine, Packet, Program, Switch, SwitchConfig};

/// How a test is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// As `simple_switch` starts without options, one queue: a packet that asks for another is dropped.
    pub priority_queues: u8,
    /// Time between packets, ns.
    pub gap_ns: u64,
    /// What runs the program.
    pub engine: Engine,
}

impl Default for Options {
    fn default() -> Options {
        Options { priority_queues: 1, gap_ns: 1_000_000, engine: Engine::default() }
    }
}

/// What a test came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Packets sent.
    pub sent: usize,
    /// Packets that came out on ports the test names.
    pub received: usize,
    /// What went wrong; empty when the test passed.
    pub failures: Vec<Failure>,
    /// What `counter_read`, `register_read` and the like print.
    pub output: Vec<String>,
}

impl Report {
    /// Whether all expectations held.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

struct Runner {
    switch: Switch,
    now_ns: u64,
    gap_ns: u64,
    nodes: Nodes,
    names: HashMap<String, (TableId, EntryHandle)>,
    expected: BTreeMap<u16, Vec<Expected>>,
    received: BTreeMap<u16, Vec<Vec<u8>>>,
    report: Report,
}

/// Runs a test on a fresh switch.
///
/// # Errors
/// The text isn't STF, or names something the program doesn't have.
pub fn run(program: &Arc<Program>, text: &str, options: &Options) -> Result<Report, StfError> {
    let commands = parse(text)?;
    let config = SwitchConfig {
        priority_queues: options.priority_queues,
        engine: options.engine,
        ..SwitchConfig::default()
    };
    let mut runner = Runner {
        switch: Switch::new(Arc::clone(program), config),
        now_ns: 1_000_000_000,
        gap_ns: options.gap_ns,
        nodes: Nodes::default(),
        names: HashMap::new(),
        expected: BTreeMap::new(),
        received: BTreeMap::new(),
        report: Report::default(),
    };
    // Only ports that the test names have something attached: what leaves elsewhere is gone, as in simple_switch.
    for (_, command) in &commands {
        if let Command::Packet { port, .. } | Command::Expect { port, .. } = command {
            runner.expected.entry(*port).or_default();
        }
    }
    for (line, command) in commands {
        runner.execute(line, command).map_err(|problem| StfError { line, problem })?;
    }
    runner.drain();
    runner.report.failures.extend(compare(&runner.expected, runner.received));
    Ok(runner.report)
}

impl Runner {
    fn execute(&mut self, line: usize, command: Command) -> Result<(), String> {
        if !matches!(command, Command::Packet { .. } | Command::Expect { .. }) {
            self.drain();
        }
        match command {
            Command::Packet { port, octets } => self.send(port, octets),
            Command::Expect { port, packet } => self.expected.entry(port).or_default().push(packet),
            Command::Add(add) => {
                let entry = commands::add(&mut self.switch, &add)?;
                if let Some(name) = add.name {
                    self.names.insert(name, entry);
                }
            }
            Command::SetDefault { table, action, args } => {
                commands::set_default(&mut self.switch, &table, &action, &args)?;
            }
            Command::RemoveAll => commands::remove_all(&mut self.switch)?,
            Command::CheckCounter { counter, index, check } => {
                self.check_counter(line, &counter, &index, &check)?;
            }
            Command::Direct(words) => {
                let printed = commands::direct(&mut self.switch, &mut self.nodes, &words)?;
                self.report.output.extend(printed);
            }
            // Every packet has gone all the way.
            Command::Wait | Command::NoPacket => {}
        }
        Ok(())
    }

    /// A packet enters; what may leave at that moment leaves.
    fn send(&mut self, port: u16, octets: Vec<u8>) {
        self.report.sent += 1;
        self.now_ns += self.gap_ns;
        self.switch.ingress(port, Packet::new(octets), self.now_ns);
        while self.leave(self.now_ns) {}
    }

    /// Everything leaves, whatever time that takes.
    fn drain(&mut self) {
        while self.leave(u64::MAX) {}
    }

    /// The next packet leaves, no later than this; false: none does.
    fn leave(&mut self, until_ns: u64) -> bool {
        let switch = &self.switch;
        let departures = switch.active_ports().filter_map(|port| Some((switch.next_departure(port)?, port)));
        let Some((at_ns, port)) = departures.min().filter(|(at_ns, _)| *at_ns <= until_ns) else {
            return false;
        };
        self.now_ns = self.now_ns.max(at_ns);
        let Some(departure) = self.switch.dequeue(port, self.now_ns) else { return false };
        if let Some(packet) = departure.packet
            && self.expected.contains_key(&port)
        {
            self.report.received += 1;
            self.received.entry(port).or_default().push(packet.to_octets());
        }
        true
    }

    fn check_counter(
        &mut self,
        line: usize,
        counter: &str,
        index: &str,
        check: &Check,
    ) -> Result<(), String> {
        let value = if let Some(name) = index.strip_prefix('$') {
            let (table, handle) =
                self.names.get(name).ok_or_else(|| format!("no entry is named {name:?}"))?;
            self.switch.direct_counter(*table, *handle).map_err(|e| e.to_string())?
        } else {
            let id = self.switch.program().counter(counter).map_err(|e| e.to_string())?;
            self.switch.counter(id, parse::number(index)?).map_err(|e| e.to_string())?
        };
        let got = check.chosen(value.packets, value.octets)?;
        if !check.holds(got)? {
            let Check { unit, op, value } = check;
            let expected = format!("{counter}({index}) {unit} {op} {value} was expected");
            self.report.failures.push(Failure::Counter { line, expected, got });
        }
        Ok(())
    }
}
