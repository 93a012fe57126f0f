//! Does what the prompt of `crn up --cli` is told.

use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use controller::topology::{End, Link, PortRef};
use miette::{IntoDiagnostic as _, Result, miette};
use nix::sys::signal::Signal;

use super::figures::{counters_table, progress};
use super::hosts::Orders;
use super::live::Live;
use super::order::{Deed, HELP, Node, Order};
use super::process::{self, MARK, within};
use super::run::Number;
use super::steward::CALLED;
use crate::output::plural;

/// How often a command in a host is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long a node may take to end.
const FAREWELL: Duration = Duration::from_secs(10);

/// Whether the prompt goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The next line.
    Next,
    /// The run is to end.
    Exit,
}

impl Live<'_> {
    /// Reads a line and does what it says; what goes wrong is said, and ends nothing.
    pub fn act(&mut self, line: &str) -> After {
        let done = match Order::read(line, self.topology) {
            Ok(Order::Exit) => return After::Exit,
            Ok(order) => self.carry_out(order),
            Err(error) => Err(miette!("{error}")),
        };
        if let Err(error) = done {
            self.voice.answer(&format!("error: {error}"));
        }
        After::Next
    }

    fn carry_out(&mut self, order: Order) -> Result<()> {
        match order {
            Order::Nothing | Order::Exit => Ok(()),
            Order::Help => {
                self.tell(HELP);
                Ok(())
            }
            Order::Nodes => {
                self.nodes();
                Ok(())
            }
            Order::Links => {
                let lines: Vec<String> = self.topology.links.iter().map(link_line).collect();
                self.tell(&lines.join("\n"));
                Ok(())
            }
            Order::Ping(from, to) => self.ping(&from, &to),
            Order::PingAll => self.ping_all(),
            Order::Tables(switches, table) => {
                switches.iter().try_for_each(|switch| self.tables(switch, table.as_deref()))
            }
            Order::Counters(switches) => switches.iter().try_for_each(|switch| self.counters(switch)),
            Order::Figures => {
                self.hosts.hear()?;
                self.tell(&progress(&self.hosts));
                Ok(())
            }
            Order::Do(Deed::Kill, node) => self.end_node(&node, Signal::SIGKILL),
            Order::Do(Deed::Stop, node) => self.end_node(&node, Signal::SIGTERM),
            Order::Do(Deed::Start, node) => self.start_node(&node),
            Order::Cable { ends, up } => self.cable(&ends, up),
            Order::Wait(time) => self.wait(|_| false, time),
            Order::WaitDone => self.wait(|live| live.hosts.finished(live.run), Duration::MAX),
            Order::Run(host, line) => {
                let namespace = host.map_or_else(|| self.network.switches(), |host| self.network.host(&host));
                let status = self.in_host(&namespace, &line)?;
                if !status.success() {
                    self.tell(&format!("({status})"));
                }
                Ok(())
            }
        }
    }

    fn tell(&self, text: &str) {
        self.voice.answer(text);
    }

    fn nodes(&self) {
        let lines: Vec<String> =
            self.run.running().map(|(identity, name)| format!("{:>8}  {name}", identity.pid)).collect();
        self.tell(&lines.join("\n"));
    }

    /// Runs a line in a namespace, with the terminal if there is one, to its end or the run's.
    fn in_host(&mut self, namespace: &str, line: &str) -> Result<ExitStatus> {
        let _ = io::stdout().flush();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).env(MARK, self.run.id());
        // A script on our standard input is ours.
        command.stdin(if io::stdin().is_terminal() { Stdio::inherit() } else { Stdio::null() });
        if self.voice.is_json() {
            command.stdout(io::stderr().as_fd().try_clone_to_owned().into_diagnostic()?);
        }
        let mut child = within(namespace, || command.spawn().into_diagnostic())?;
        self.stop.lend_interrupts(true);
        let status = loop {
            if let Some(status) = child.try_wait().into_diagnostic()? {
                break status;
            }
            if self.stop.is_requested() {
                // What else it started is found by the run's mark.
                let _ = child.kill();
            }
            self.tick()?;
            thread::sleep(LOOK);
        };
        self.stop.lend_interrupts(false);
        Ok(status)
    }

    /// Whether an echo request is answered.
    fn answers(&self, from: &str, to: &str) -> Result<bool> {
        let address = self.topology.hosts.get(to).map(|host| host.address.to_string()).unwrap_or_default();
        let program = process::find("ping")
            .ok_or_else(|| miette!(help = "apt-get install iputils-ping", "not found: ping"))?;
        let mut command = Command::new(program);
        command.args(["-c", "1", "-W", "2", "-n", "-q", &address]).env(MARK, self.run.id());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        within(&self.network.host(from), || Ok(command.status().into_diagnostic()?.success()))
    }

    fn ping(&self, from: &str, to: &str) -> Result<()> {
        let begin = Instant::now();
        let answer = if self.answers(from, to)? {
            format!(
                "{from} -> {to}: answered, {:.1} ms with ping's own",
                begin.elapsed().as_secs_f64() * 1000.0
            )
        } else {
            format!("{from} -> {to}: no answer")
        };
        self.tell(&answer);
        Ok(())
    }

    fn ping_all(&mut self) -> Result<()> {
        let (mut sent, mut lost) = (0, 0);
        let names: Vec<&String> = self.topology.hosts.keys().collect();
        for from in &names {
            let mut line = format!("{from} ->");
            for to in names.iter().filter(|to| *to != from) {
                self.stop.check()?;
                let answered = self.answers(from, to)?;
                sent += 1;
                lost += usize::from(!answered);
                line.push(' ');
                line.push_str(if answered { to } else { "X" });
                self.tick()?;
            }
            self.tell(&line);
        }
        self.tell(&format!("{} of {sent} answered", sent - lost));
        Ok(())
    }

    fn tables(&self, switch: &str, table: Option<&str>) -> Result<()> {
        let (lines, changes) = self.fabric.tables(self.topology, switch)?;
        let is_wanted = |line: &&String| table.is_none_or(|table| line.split(' ').next() == Some(table));
        let wanted: Vec<&String> = lines.iter().filter(is_wanted).collect();
        if let Some(table) = table.filter(|_| wanted.is_empty()) {
            let mut tables: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
            tables.dedup();
            return Err(miette!("{switch} holds nothing in {table}; it does in {}", tables.join(", ")));
        }
        for line in wanted {
            self.tell(&format!("{switch}  {line}"));
        }
        let state = match changes {
            0 => "as it should hold them".to_owned(),
            _ => format!("{} away from what it should hold", plural(changes, "change")),
        };
        self.tell(&format!("{switch}: {}, {state}", plural(lines.len(), "entry")));
        Ok(())
    }

    fn counters(&self, switch: &str) -> Result<()> {
        let cells = self.fabric.counters_of(switch)?;
        self.tell(&if cells.is_empty() {
            format!("{switch}: all counters are 0")
        } else {
            counters_table([(switch, cells.as_slice())].into_iter()).to_string()
        });
        Ok(())
    }

    fn number(&self, node: &Node) -> Result<Number> {
        let (name, number) = match node {
            Node::Switch(name) => (name.as_str(), self.fabric.number(name)),
            Node::Host(name) => (name.as_str(), self.hosts.number(name)),
            Node::Controller => (CALLED, Some(self.steward.number())),
        };
        number.ok_or_else(|| miette!("{name} runs nothing: it has no part in the workload"))
    }

    fn end_node(&mut self, node: &Node, signal: Signal) -> Result<()> {
        let number = self.number(node)?;
        if self.run.status(number).is_some() {
            return Err(miette!("it has ended already"));
        }
        self.run.signal(number, signal);
        let status = self.run.wait(number, FAREWELL).ok_or_else(|| miette!("it doesn't end"))?;
        // Meant to be: nobody has to be told.
        self.mourned.insert(number);
        self.tell(&format!("ended: {status}"));
        Ok(())
    }

    fn start_node(&mut self, node: &Node) -> Result<()> {
        let number = self.number(node)?;
        if self.run.status(number).is_none() {
            return Err(miette!("it runs"));
        }
        match node {
            Node::Switch(name) => {
                self.fabric.restart(self.run, &self.network, self.topology, name)?;
                if self.run.status(self.steward.number()).is_some() {
                    self.tell(&format!(
                        "{name} runs without a program: the {CALLED}, which gives it one, doesn't"
                    ));
                    return Ok(());
                }
                let entries = self.fabric.wait_for(self.run, self.topology, name, self.stop)?;
                self.tell(&format!("{name} runs, {} given to it", plural(entries, "entry")));
            }
            Node::Host(name) => {
                let (network, topology, file) = (&self.network, self.topology, &*self.file);
                let orders = Orders {
                    network,
                    topology,
                    file,
                    batches: self.args.batches,
                    in_step: self.args.compare,
                };
                self.hosts.restart(self.run, &orders, name, self.stop)?;
                self.tell(&format!("{name} runs"));
            }
            Node::Controller => {
                let (network, fabric, file) = (&self.network, &self.fabric, &self.file);
                self.steward.restart(self.run, network, fabric, file, self.scale.factor)?;
                for found in self.steward.wait(self.run, fabric, self.stop)? {
                    if found.pushed {
                        // It has lost what it knew of its queues, too.
                        fabric.set_queues_of(self.topology, &found.switch)?;
                    }
                    let program = if found.pushed { "program given" } else { "program as it was" };
                    let written = usize::try_from(found.written).unwrap_or(usize::MAX);
                    self.tell(&format!("{}: {program}, {} written", found.switch, plural(written, "change")));
                }
            }
        }
        Ok(())
    }

    fn cable(&self, ends: &[String; 2], up: bool) -> Result<()> {
        let [one, other] = ends;
        let between = |link: &&Link| {
            let [a, b] = &link.ends;
            (is_called(a, one) && is_called(b, other)) || (is_called(a, other) && is_called(b, one))
        };
        let found: Vec<&Link> = self.topology.links.iter().filter(between).collect();
        match found.as_slice() {
            [link] => {
                // A host's interface forgets its routes when it goes down; a switch's has none.
                let port = port_of(link).ok_or_else(|| miette!("no switch is at that link"))?;
                self.network.set_link(port, up)?;
                self.tell(&format!("{} {}", link_line(link), if up { "up" } else { "down" }));
                Ok(())
            }
            [] => Err(miette!("no link is between {one} and {other}; links lists them")),
            several => {
                let lines: Vec<String> = several.iter().map(|link| link_line(link)).collect();
                Err(miette!("say which, by a port: {}", lines.join(", ")))
            }
        }
    }

    /// Waits until something is so, a time has gone by, or the run is to end.
    fn wait(&mut self, over: impl Fn(&mut Self) -> bool, time: Duration) -> Result<()> {
        let begin = Instant::now();
        while !self.is_over() && begin.elapsed() < time {
            self.tick()?;
            if over(self) {
                break;
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// Whether an end is called so: a host, a switch, or a port of it.
fn is_called(end: &End, name: &str) -> bool {
    match end {
        End::Host(host) => host == name,
        End::Port(port) => port.switch == name || port.to_string() == name,
    }
}

fn port_of(link: &Link) -> Option<&PortRef> {
    link.ends.iter().find_map(|end| match end {
        End::Port(port) => Some(port),
        End::Host(_) => None,
    })
}

fn link_line(link: &Link) -> String {
    let name = |end: &End| match end {
        End::Host(host) => host.clone(),
        End::Port(port) => port.to_string(),
    };
    let [one, other] = &link.ends;
    format!("{} -- {}", name(one), name(other))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn ends_are_called_by_host_switch_or_port() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies/uplink.yaml");
        let topology = controller::topology::load(&path).unwrap();
        let between = |a: &str, b: &str| {
            let found = topology.links.iter().filter(|link| {
                let [one, other] = &link.ends;
                is_called(one, a) && is_called(other, b)
            });
            found.map(link_line).collect::<Vec<_>>()
        };
        assert_eq!(between("leaf1", "leaf2"), ["leaf1:17 -- leaf2:17"]);
        assert_eq!(between("leaf1:3", "s3"), ["leaf1:3 -- s3"]);
        assert_eq!(between("leaf1", "r1"), Vec::<String>::new());
    }
}
