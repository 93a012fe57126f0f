//! The ways in which a run ends before its time.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use super::sandbox::{Sandbox, namespaces, text};

/// Kills, and interrupts, of one test, where `END_TIMES` doesn't say.
const TIMES: u64 = 8;
/// The moments are those of this seed, where `END_SEED` doesn't say.
const SEED: u64 = 8;

/// How long a run takes from its start to its first message, about: after that, nothing is made any more.
fn beginning() -> Duration {
    let sandbox = Sandbox::new();
    let begin = Instant::now();
    let output = sandbox.crn(&["up", sandbox.topology(), "--batches", "1"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    begin.elapsed()
}

fn given(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// A random moment in each of as many equal parts of a time as there are kills, so that all parts have one.
pub fn moments(time: Duration) -> Vec<Duration> {
    let (seed, times) = (given("END_SEED", SEED), given("END_TIMES", TIMES));
    println!("{times} moments within {time:?}, seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let part = time.div_f64(times as f64);
    (0..times)
        .map(|number| part.mul_f64(number as f64 + (random.next_u64() % 1000) as f64 / 1000.0))
        .collect()
}

pub fn killed_at_any_moment() {
    let sandbox = Sandbox::new();
    for moment in moments(beginning()) {
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
    for (number, moment) in moments(beginning()).into_iter().enumerate() {
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

/// Somebody cleans up the folder for temporary files, and then the run is killed, or asked to end, or `crn down` ends it: what
/// else it has made is found all the same.
pub fn folder_gone() {
    for (killed, signal) in [(true, Signal::SIGKILL), (false, Signal::SIGTERM), (false, Signal::SIGCONT)] {
        let sandbox = Sandbox::new();
        let mut live = sandbox.start(&["--batches", "1000000"]);
        while !live.line().starts_with("switches in namespace") {}
        let run = sandbox.run_of(&live);
        let folder = sandbox.path("crn-runs");
        let has_begun = |host: &str| {
            fs::metadata(folder.join(&run).join(format!("{host}.out"))).is_ok_and(|found| found.len() > 0)
        };
        let begin = Instant::now();
        while !["a", "b", "r"].into_iter().all(has_begun) {
            assert!(begin.elapsed() < super::PATIENCE, "the hosts don't begin");
            thread::sleep(Duration::from_millis(1));
        }
        // What is written meanwhile stays in the way.
        while fs::remove_dir_all(&folder).is_err() {}
        live.signal(signal);
        if killed {
            let (status, _) = live.finish();
            assert_eq!(status.signal(), Some(9));
            assert!(
                !sandbox.processes().is_empty() && !namespaces(&run).is_empty(),
                "there is something to remove"
            );
        } else if signal == Signal::SIGTERM {
            live.finish();
            assert_eq!((sandbox.processes(), namespaces(&run)), (Vec::new(), Vec::new()));
        } else {
            // It goes on until it is asked.
            let down = sandbox.crn(&["down", &run]).output().unwrap();
            assert!(down.status.success(), "{}", text(&down.stderr));
            live.finish();
        }
        let down = sandbox.crn(&["down"]).output().unwrap();
        assert!(down.status.success(), "{}", text(&down.stderr));
        let said = text(&down.stdout);
        assert_eq!(said.contains(&format!("run {run} (")), killed, "{said}");
        sandbox.is_clean_of(&BTreeSet::from([run.clone()]));
        assert!(!Path::new("/run/crn-up").join(&run).exists());
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
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_switch = |pid: &i32| {
        let read = |what: &str| text(&fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default());
        read("environ").contains(&format!("CRN_RUN={run}")) && read("cmdline").contains("\0switch\0")
    };
    let switch = pids.into_iter().find(is_switch).unwrap();
    kill(Pid::from_raw(switch), Signal::SIGKILL).unwrap();
    let (status, said) = live.finish();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("it ended by itself: lv1"), "{said}");
    sandbox.is_clean_of(&BTreeSet::from([run]));
}
