//! The ways in which a run ends before its time.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::unix::process::ExitStatusExt as _;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::sandbox::{Sandbox, text};

/// Kills, and interrupts, of one test.
const TIMES: u32 = 8;

/// How long a run takes from its start to its first message, about: after that, nothing is made any more.
fn beginning() -> Duration {
    let sandbox = Sandbox::new();
    let begin = Instant::now();
    let output = sandbox.crn(&["up", sandbox.topology(), "--batches", "1"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    begin.elapsed()
}

/// A random moment in each of so many equal parts of a time, so that all parts have one.
fn moments(time: Duration, parts: u32) -> Vec<Duration> {
    let part = time / parts;
    let random = || RandomState::new().build_hasher().finish() % 1000;
    (0..parts).map(|number| part * number + part.mul_f64(random() as f64 / 1000.0)).collect()
}

pub fn killed_at_any_moment() {
    let sandbox = Sandbox::new();
    for moment in moments(beginning(), TIMES) {
        let live = sandbox.start(&["--batches", "1000000"]);
        thread::sleep(moment);
        live.signal(Signal::SIGKILL);
        let (status, _) = live.finish();
        assert_eq!(status.signal(), Some(9), "killed after {moment:?}");
        let runs = sandbox.runs();
        let down = sandbox.crn(&["down"]).output().unwrap();
        assert!(down.status.success(), "killed after {moment:?}: {}", text(&down.stderr));
        sandbox.is_clean_of(&runs);
    }
}

pub fn interrupted_at_any_moment() {
    let sandbox = Sandbox::new();
    for (number, moment) in moments(beginning(), TIMES).into_iter().enumerate() {
        let live = sandbox.start(&["--batches", "1000000"]);
        thread::sleep(moment);
        let runs: BTreeSet<String> = sandbox.runs();
        let signal = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP][number % 3];
        live.signal(signal);
        let (status, said) = live.finish();
        // Before it listens for signals it has made nothing, and just ends; later it says that it was interrupted, or its
        // figures.
        let early = status.signal().is_some() && runs.is_empty();
        let said_so = status.code() == Some(1) && said.contains("interrupted");
        assert!(early || said_so || status.success(), "{signal} after {moment:?}: {status} {said}");
        sandbox.is_clean_of(&runs);
    }
}

/// Whoever reads what it prints goes away, and printing panics.
pub fn panicked() {
    let sandbox = Sandbox::new();
    let mut live = sandbox.start(&["--batches", "1000000", "--duration", "1s"]);
    assert!(live.line().starts_with("run "));
    let run = sandbox.run_of(&live);
    drop(live.out);
    let output = live.child.wait_with_output().unwrap();
    assert!(!output.status.success());
    sandbox.is_clean_of(&BTreeSet::from([run]));
}

pub fn switch_died() {
    let sandbox = Sandbox::new();
    let mut live = sandbox.start(&["--batches", "1000000"]);
    while !live.line().starts_with("switches in namespace") {}
    let run = sandbox.run_of(&live);
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_switch = |pid: &i32| {
        let read = |what: &str| text(&std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default());
        read("environ").contains(&format!("CRN_RUN={run}")) && read("cmdline").contains("\0switch\0")
    };
    let switch = pids.into_iter().find(is_switch).unwrap();
    kill(Pid::from_raw(switch), Signal::SIGKILL).unwrap();
    let (status, said) = live.finish();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("it ended by itself: lv1"), "{said}");
    sandbox.is_clean_of(&BTreeSet::from([run]));
}
