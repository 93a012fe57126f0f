//! `topologies/mininet_run.py` with Debian's Mininet: the file's network, what its hosts reach, and that nothing stays.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::sandbox::{Sandbox, text};

/// Mininet is a module of the system's own Python.
const PYTHON: &str = "/usr/bin/python3";

fn script(sandbox: &Sandbox, options: &[&str]) -> Command {
    let manifest = env!("CARGO_MANIFEST_DIR");
    let mut command = Command::new(PYTHON);
    command.arg(format!("{manifest}/../../topologies/mininet_run.py"));
    command.arg(format!("{manifest}/tests/up/two-switches.yaml"));
    command.args(["--crn", env!("CARGO_BIN_EXE_crn")]).args(options);
    sandbox.marks(&mut command);
    command
}

fn pingall(options: &[&str]) {
    let sandbox = Sandbox::new();
    let output = script(&sandbox, options).arg("--pingall").output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Applied to 2 switches"), "{said}");
    assert!(said.contains("0% dropped (6/6 received)"), "{said}");
    sandbox.is_clean();
}

pub fn pingall_soft() {
    pingall(&[]);
}

pub fn pingall_bmv2() {
    pingall(&["--target", "bmv2"]);
}

pub fn prompt() {
    let sandbox = Sandbox::new();
    let line = "r echo at 10.0.0.9";
    let mut command = script(&sandbox, &["--cli", "--command", line]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a ping -c 1 -W 5 r\nexit\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("at 10.0.0.9\n"), "{said}");
    assert!(said.contains("1 packets transmitted, 1 received"), "{said}");
    sandbox.is_clean();
}

pub fn terminated() {
    let sandbox = Sandbox::new();
    let mut command = script(&sandbox, &["--command", "a echo begun; sleep 1000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("Applied to") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended by itself");
    }
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    sandbox.is_clean();
}
