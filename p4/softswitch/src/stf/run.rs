//! Runs a test.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::commands::{self, Nodes};
use super::expect::{Failure, difference, digits};
use super::parse::{Command, parse};
use super::{StfError, parse};
use crate::control::{EntryHandle, TableId};
use crate::{Packet, Program, Switch, SwitchConfig};

/// How a test is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// As `simple_switch` starts without options, one queue: a packet that asks for another is dropped.
    pub priority_queues: u8,
    /// Time between packets, ns.
    pub gap_ns: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { priority_queues: 1, gap_ns: 1_000_000 }
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

struct Expected {
    line: usize,
    digits: Option<String>,
    exact_length: bool,
}

struct Runner {
    switch: Switch,
    now_ns: u64,
    gap_ns: u64,
    nodes: Nodes,
    names: HashMap<String, (TableId, EntryHandle)>,
    expected: BTreeMap<u16, Vec<Expected>>,
    received: BTreeMap<u16, Vec<String>>,
    report: Report,
}

/// Runs a test on a fresh switch.
///
/// # Errors
/// The text isn't STF, or names something the program doesn't have.
pub fn run(program: &Arc<Program>, text: &str, options: &Options) -> Result<Report, StfError> {
    let commands = parse(text)?;
    let config = SwitchConfig { priority_queues: options.priority_queues, ..SwitchConfig::default() };
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
    runner.compare();
    Ok(runner.report)
}

impl Runner {
    fn execute(&mut self, line: usize, command: Command) -> Result<(), String> {
        match command {
            Command::Packet { port, octets } => self.send(port, octets),
            Command::Expect { port, digits, exact_length } => {
                self.expected.entry(port).or_default().push(Expected { line, digits, exact_length });
            }
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
                self.check_counter(line, &counter, &index, check)?;
            }
            Command::Direct(words) => {
                let printed = commands::direct(&mut self.switch, &mut self.nodes, &words)?;
                self.report.output.extend(printed);
            }
            // Every packet has gone all the way before the next line.
            Command::Wait | Command::NoPacket => {}
        }
        Ok(())
    }

    fn send(&mut self, port: u16, octets: Vec<u8>) {
        self.report.sent += 1;
        self.now_ns += self.gap_ns;
        self.switch.ingress(port, Packet::new(octets), self.now_ns);
        loop {
            let Some(port) = self.switch.active_ports().next() else { return };
            let now_ns = self.switch.next_departure(port).map_or(self.now_ns, |t| t.max(self.now_ns));
            let Some(departure) = self.switch.dequeue(port, now_ns) else { return };
            if let Some(packet) = departure.packet
                && self.expected.contains_key(&port)
            {
                self.report.received += 1;
                self.received.entry(port).or_default().push(digits(&packet.to_octets()));
            }
        }
    }

    fn check_counter(
        &mut self,
        line: usize,
        counter: &str,
        index: &str,
        check: Option<(String, String, u64)>,
    ) -> Result<(), String> {
        let value = if let Some(name) = index.strip_prefix('$') {
            let (table, handle) =
                self.names.get(name).ok_or_else(|| format!("no entry is named {name:?}"))?;
            self.switch.direct_counter(*table, *handle).map_err(|e| e.to_string())?
        } else {
            let id = self.switch.program().counter(counter).map_err(|e| e.to_string())?;
            self.switch.counter(id, parse::number(index)?).map_err(|e| e.to_string())?
        };
        let (unit, op, wanted) = check.unwrap_or_else(|| ("packets".to_owned(), "==".to_owned(), 0));
        let got = match unit.as_str() {
            "packets" => value.packets,
            "bytes" => value.octets,
            other => return Err(format!("packets or bytes expected, not {other:?}")),
        };
        let holds = match op.as_str() {
            "==" => got == wanted,
            "!=" => got != wanted,
            "<" => got < wanted,
            "<=" => got <= wanted,
            ">" => got > wanted,
            ">=" => got >= wanted,
            other => return Err(format!("unknown comparison {other:?}")),
        };
        if !holds {
            let expected = format!("{counter}({index}) {unit} {op} {wanted} was expected");
            self.report.failures.push(Failure::Counter { line, expected, got });
        }
        Ok(())
    }

    fn compare(&mut self) {
        for (&port, expected) in &self.expected {
            let mut got = self.received.remove(&port).unwrap_or_default().into_iter();
            for e in expected {
                let Some(packet) = got.next() else {
                    self.report.failures.push(Failure::Missing { line: e.line, port });
                    continue;
                };
                let Some(digits) = &e.digits else { continue };
                if let Some(at) = difference(digits, e.exact_length, &packet) {
                    let failure =
                        Failure::Differs { line: e.line, port, expected: digits.clone(), got: packet, at };
                    self.report.failures.push(failure);
                }
            }
            self.report.failures.extend(got.map(|got| Failure::Unexpected { port, got }));
        }
    }
}
