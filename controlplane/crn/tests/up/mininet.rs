//! `topologies/mininet_run.py` with Debian's Mininet: the file's network, what its hosts reach, and that nothing stays.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::sandbox::{Sandbox, text};

/// Mininet is a module of the system's own Python.
const PYTHON: &str = "/usr/bin/python3";

fn script(sandbox: &Sandbox, options: &[&str]) -> Command {
    script_of(sandbox, "two-switches.yaml", options)
}

fn script_of(sandbox: &Sandbox, topology: &str, options: &[&str]) -> Command {
    let manifest = env!("CARGO_MANIFEST_DIR");
    let mut command = Command::new(PYTHON);
    command.arg(format!("{manifest}/../../topologies/mininet_run.py"));
    command.arg(format!("{manifest}/tests/up/{topology}"));
    command.args(["--crn", env!("CARGO_BIN_EXE_crn")]).args(options);
    sandbox.marks(&mut command);
    command
}

fn pingall(options: &[&str]) {
    let sandbox = Sandbox::new();
    let output = script(&sandbox, options).arg("--pingall").output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("controller: 2 switches ready"), "{said}");
    assert!(said.contains("0% dropped (6/6 received)"), "{said}");
    sandbox.is_clean();
}

pub fn pingall_soft() {
    pingall(&[]);
}

pub fn pingall_bmv2() {
    pingall(&["--target", "bmv2"]);
}

/// The file's workload between Mininet's hosts, its rates scaled, its reports heard.
fn agents(options: &[&str]) {
    let sandbox = Sandbox::new();
    let options = [&["--agents", "--batches", "3"], options].concat();
    let output = script_of(&sandbox, "two-to-one.yaml", &options).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("rates are the file's / "), "{said}");
    assert!(said.contains("3 agents started"), "{said}");
    for line in
        ["a (rdcc-sender): 6 done, 0 aborted", "b (rdcc-sender): 6 done", "r (rdcc-receiver): 12 done"]
    {
        assert!(said.contains(line), "{said}");
    }
    sandbox.is_clean();
}

pub fn agents_soft() {
    agents(&[]);
}

pub fn agents_bmv2() {
    agents(&["--target", "bmv2"]);
}

/// Mininet's `xterm HOST` starts that program in the host; here is no display, so a script stands in its place and says where
/// it runs.
pub fn xterm() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("bin");
    std::fs::create_dir(&folder).unwrap();
    let said_by_xterm = sandbox.path("xterm-said");
    for (name, line) in [
        (
            "xterm",
            format!(
                "ip -br -4 address show scope global > {}.part; mv {0}.part {0}",
                said_by_xterm.display()
            ),
        ),
        ("xhost", "true".to_owned()),
        ("socat", "true".to_owned()),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{line}\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = script(&sandbox, &["--cli"]);
    command.env("PATH", path).env("DISPLAY", ":99");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut orders = child.stdin.take().unwrap();
    orders.write_all(b"xterm b\n").unwrap();
    let begin = std::time::Instant::now();
    while !said_by_xterm.exists() {
        assert!(begin.elapsed() < super::PATIENCE, "xterm wasn't started");
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    orders.write_all(b"exit\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = std::fs::read_to_string(&said_by_xterm).unwrap();
    assert!(said.contains("10.0.0.2/32"), "{said}");
    sandbox.is_clean();
}

pub fn prompt() {
    let sandbox = Sandbox::new();
    let line = "r echo at 10.0.0.9";
    let mut command = script(&sandbox, &["--cli", "--command", line]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a ping -c 1 -W 5 r\npingall\nexit\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("at 10.0.0.9\n"), "{said}");
    assert!(said.contains("1 packets transmitted, 1 received"), "{said}");
    assert!(said.contains("0% dropped (6/6 received)"), "{said}");
    sandbox.is_clean();
}

/// What the file says of loss is so in Mininet as well: pings of a whole minute at a packet in two lost are answered in part.
pub fn lossy() {
    let sandbox = Sandbox::new();
    let topology = super::lossy::topology(&sandbox);
    let mut command = Command::new(PYTHON);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../topologies/mininet_run.py")).arg(topology);
    command.args([
        "--crn",
        env!("CARGO_BIN_EXE_crn"),
        "--command",
        "a ping -c 100 -i 0.01 -W 1 -q 10.0.0.9; true",
    ]);
    sandbox.marks(&mut command);
    let output = command.output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    super::lossy::a_third_is_answered(&said);
    sandbox.is_clean();
}

/// A script in the place of `mnexec`, which enters a host late: what a busy machine does now and then.
fn late_mnexec(sandbox: &Sandbox) -> String {
    let folder = sandbox.path("late");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("mnexec");
    let line = "case \"$1\" in -a|-da) sleep 0.5 ;; esac; exec /usr/bin/mnexec \"$@\"";
    std::fs::write(&path, format!("#!/bin/sh\n{line}\n")).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// Signals at any moment from before the first namespace to within the workload.
pub fn ended_at_any_moment() {
    let sandbox = Sandbox::new();
    let options = ["--agents", "--pingall"];
    let begin = std::time::Instant::now();
    let output = script_of(&sandbox, "two-to-one.yaml", &options).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    for (number, moment) in super::ends::moments(begin.elapsed()).into_iter().enumerate() {
        let mut command = script_of(&sandbox, "two-to-one.yaml", &options);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(moment);
        let signal = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP][number % 3];
        if child.try_wait().unwrap().is_none() {
            kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stderr);
        // Before it listens it has made nothing, and Python itself may have something to say; at its end nothing is left to do.
        let code = output.status.code();
        assert!(
            [None, Some(0), Some(128 + signal as i32)].contains(&code),
            "{signal} after {moment:?}: {said}"
        );
        assert!(code.is_none() || !said.contains("Traceback"), "{signal} after {moment:?}: {said}");
        assert!(!said.contains("while taking down"), "{signal} after {moment:?}: {said}");
        sandbox.is_clean();
    }
}

/// At the prompt, within a command that takes no interrupt, and with something in the background.
pub fn ended_within_a_command() {
    let sandbox = Sandbox::new();
    let mut command = script(&sandbox, &["--cli"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = sandbox.path("begun");
    let mut orders = child.stdin.take().unwrap();
    let line =
        format!("a setsid sleep 1000 & sh -c 'trap \"\" INT; touch {}; sleep 1000'\n", begun.display());
    orders.write_all(line.as_bytes()).unwrap();
    let begin = std::time::Instant::now();
    while !begun.exists() {
        assert!(begin.elapsed() < super::PATIENCE, "the command doesn't begin");
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(143), "{said}");
    assert!(!said.contains("while taking down"), "{said}");
    sandbox.is_clean();
}

/// Also where a host's command hasn't yet had its turn on a processor when the signal comes.
pub fn terminated() {
    let sandbox = Sandbox::new();
    let mut command = script(&sandbox, &["--command", "a echo begun; sleep 1000"]);
    command.env("PATH", late_mnexec(&sandbox));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("controller: ") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended by itself");
    }
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    sandbox.is_clean();
}
