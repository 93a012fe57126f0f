//! `crn up --cli` as somebody types to it: an order, and its answer.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::PATIENCE;
use super::sandbox::Sandbox;

/// A run with its prompt.
pub struct Session {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStderr>,
    asked: u32,
}

/// What `figures` says of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub sends: bool,
    pub batches: u64,
    pub done: u64,
    pub aborted: u64,
    pub reports: u64,
}

impl Session {
    /// A run whose senders don't come to an end; answers stand beside the JSON at its end.
    pub fn start(sandbox: &Sandbox, arguments: &[&str]) -> Session {
        Session::start_of(sandbox, sandbox.topology(), &[&["--batches", "1000000"], arguments].concat())
    }

    pub fn start_of(sandbox: &Sandbox, topology: &str, arguments: &[&str]) -> Session {
        let mut command = sandbox.crn(&["up", topology, "--cli", "--json"]);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stderr.take().unwrap());
        Session { child, orders, answers, asked: 0 }
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The lines that answer an order.
    pub fn ask(&mut self, order: &str) -> Vec<String> {
        self.asked += 1;
        // What no order is called is repeated in the answer.
        let mark = format!("mark-{}", self.asked);
        let orders = self.orders.as_mut().unwrap();
        orders.write_all(format!("{order}\n{mark}\n").as_bytes()).unwrap();
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let octets = self.answers.read_line(&mut line).unwrap();
            assert!(octets > 0, "it ended: {}", lines.join("\n"));
            if line.contains(&mark) {
                return lines;
            }
            lines.push(line.trim_end().to_owned());
        }
    }

    /// The answer in one piece.
    pub fn answer(&mut self, order: &str) -> String {
        self.ask(order).join("\n")
    }

    /// What the hosts have told so far.
    pub fn figures(&mut self) -> BTreeMap<String, Told> {
        let rows = self.ask("figures");
        let row = |row: &String| {
            let words: Vec<&str> = row.split_whitespace().collect();
            let [name, agent, batches, done, aborted, heard, ignored, _] = words.as_slice() else {
                return None;
            };
            let number = |text: &str| text.parse::<u64>().ok();
            let told = Told {
                sends: *agent == "rdcc-sender",
                batches: number(batches)?,
                done: number(done)?,
                aborted: number(aborted)?,
                reports: number(heard)? + number(ignored)?,
            };
            agent.starts_with("rdcc").then(|| ((*name).to_owned(), told))
        };
        rows.iter().filter_map(row).collect()
    }

    /// Waits until the figures are so.
    pub fn until(
        &mut self,
        what: &str,
        so: impl Fn(&BTreeMap<String, Told>) -> bool,
    ) -> BTreeMap<String, Told> {
        let begin = Instant::now();
        loop {
            let figures = self.figures();
            if so(&figures) {
                return figures;
            }
            assert!(begin.elapsed() < PATIENCE, "{what}: {figures:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until these hosts have sent so many messages more.
    pub fn until_more(&mut self, hosts: &[&str], messages: u64) -> BTreeMap<String, Told> {
        let before = self.figures();
        let more = |figures: &BTreeMap<String, Told>| {
            hosts.iter().all(|&host| figures[host].done >= before[host].done + messages)
        };
        self.until(&format!("{hosts:?} send {messages} more"), more)
    }

    /// Ends it; gives its figures.
    pub fn exit(mut self) -> Value {
        self.orders.as_mut().unwrap().write_all(b"exit\n").unwrap();
        let mut said = String::new();
        self.answers.read_to_string(&mut said).unwrap();
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{said}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// No machine of RDCC broke its rules.
pub fn kept_the_rules(figures: &Value) {
    for (name, host) in figures["hosts"].as_object().unwrap() {
        for part in ["sender", "receiver"] {
            let violations = &host["summary"][part]["invariant_violations"];
            assert!(violations.is_null() || violations == 0, "{name}: {host}");
        }
    }
}

/// A counter of a switch, over ports and queues.
pub fn counted(figures: &Value, switch: &str, counter: &str) -> u64 {
    let cells = figures["switches"][switch].as_array().unwrap();
    let cells = cells.iter().filter(|cell| cell["counter"] == counter);
    cells.map(|cell| cell["packets"].as_u64().unwrap()).sum()
}

impl Session {
    /// Gives an order that doesn't end by itself, and asks the run to terminate; gives how that ended.
    pub fn terminated_within(mut self, order: &str) -> (std::process::ExitStatus, String) {
        use nix::sys::signal::{Signal, kill};
        use nix::unistd::Pid;

        let orders = self.orders.as_mut().unwrap();
        orders.write_all(format!("{order}\n").as_bytes()).unwrap();
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        let begin = Instant::now();
        let words = order.split_once(' ').unwrap().1.replace(' ', "\0");
        let runs = || {
            let lines = std::fs::read_dir("/proc").unwrap().flatten();
            let lines = lines.map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
            lines.into_iter().any(|line| String::from_utf8_lossy(&line).trim_end_matches('\0') == words)
        };
        while !runs() {
            assert!(begin.elapsed() < PATIENCE, "{order} doesn't run");
            std::thread::sleep(Duration::from_millis(10));
        }
        kill(pid, Signal::SIGTERM).unwrap();
        let mut said = String::new();
        self.answers.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), said)
    }
}
