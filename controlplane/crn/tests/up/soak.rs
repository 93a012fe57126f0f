//! A long run: memory and descriptors of every process stay as they are, and what one end counts the other does.
//!
//! `SOAK_SECONDS` says how long; `make soak` has an hour.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use super::sandbox::Sandbox;
use super::session::{Session, counted, kept_the_rules};

/// Length where nothing says it, in seconds.
const SHORT: u64 = 15;
/// Eight senders, a receiver, and reports in every batch.
const TOPOLOGY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../topologies/incast-reports.yaml");
/// Batches of ten seconds at most: 8.25 MiB at 100 Mbit/s, and the pause after them.
const BATCHES_IN_TEN_SECONDS: u64 = 14;
/// The controller has compared the switches with the file once by then, and they have made room for its questions.
const WARM: Duration = Duration::from_secs(8);
/// What a process may grow by after its first tenth: buffers that find their size, times of messages that are kept.
const GROWTH_KIB: u64 = 6 * 1024;
/// What a switch may, besides: each of the threads that serve P4Runtime keeps what the largest answer has taken, and which of them
/// is asked first is a matter of chance.
const ANSWERS_KIB: u64 = 64 * 1024;
/// Descriptors that come and go: a look at a file, a read of counters.
const PASSING: usize = 3;
/// Looks at all processes.
const LOOKS: u64 = 40;

/// Memory in KiB, and descriptors.
#[derive(Clone, Copy, Debug)]
struct Use {
    memory: u64,
    descriptors: usize,
}

fn usage(pid: &str) -> Option<Use> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let memory = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
    Some(Use { memory, descriptors })
}

/// Frames that interfaces of the switch refused or lost.
fn lost_on_links(session: &mut Session) -> u64 {
    let lines = session.ask("s1 grep s1-eth /proc/self/net/dev");
    let lost = |line: &String| -> u64 {
        let words: Vec<&str> = line.split_whitespace().collect();
        // The interface, then octets, packets, errors and drops of each direction.
        [3, 4, 11, 12].iter().map(|&at| words[at].parse::<u64>().unwrap()).sum()
    };
    assert_eq!(lines.len(), 9, "{lines:?}");
    lines.iter().map(lost).sum()
}

pub fn flat_and_consistent() {
    let seconds = std::env::var("SOAK_SECONDS").map_or(SHORT, |text| text.parse().unwrap());
    let sandbox = Sandbox::new();
    let planned = (seconds * BATCHES_IN_TEN_SECONDS).div_ceil(10);
    let batches = planned.to_string();
    let mut session = Session::start_of(&sandbox, TOPOLOGY, &["--batches", &batches]);
    let begin = Instant::now();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut uses: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    loop {
        let figures = session.figures();
        let done = figures.values().filter(|told| told.sends).map(|told| told.batches).min().unwrap();
        // Not the first tenth: everything has been used once by then.
        if done * 10 >= planned && begin.elapsed() >= WARM {
            if names.is_empty() {
                for line in session.ask("nodes") {
                    let (pid, name) = line.trim().split_once("  ").unwrap();
                    names.insert(pid.to_owned(), name.to_owned());
                }
                names.insert(session.pid().to_string(), "crn up".to_owned());
            }
            // Senders end with their last batch.
            for (pid, found) in
                names.keys().filter(|_| done < planned).filter_map(|pid| Some((pid, usage(pid)?)))
            {
                uses.entry(pid.clone()).or_default().push(found);
            }
        }
        if done >= planned {
            break;
        }
        session.ask(&format!("wait {}s", (seconds / LOOKS).max(1)));
    }
    println!("{batches} batches in {:.0} s", begin.elapsed().as_secs_f64());
    // A switch, the controller, nine hosts, and the run itself.
    assert_eq!(names.len(), 12, "{names:?}");
    for (pid, uses) in &uses {
        let name = &names[pid];
        // The least of a part: what an answer to the controller takes goes again.
        let part = uses.len().div_ceil(3);
        let least = |uses: &[Use]| uses.iter().map(|found| found.memory).min().unwrap();
        let (first, last) = (least(&uses[..part]), least(&uses[uses.len() - part..]));
        let few = uses.iter().map(|found| found.descriptors).min().unwrap();
        let most = uses.iter().map(|found| found.descriptors).max().unwrap();
        println!("{name}: {first} to {last} KiB, {few} to {most} descriptors, {} looks", uses.len());
        let growth = GROWTH_KIB + if name == "s1" { ANSWERS_KIB } else { 0 };
        assert!(last <= first + growth, "{name} grows: {uses:?}");
        assert!(most <= few + PASSING, "{name} keeps descriptors: {uses:?}");
    }

    let lost = lost_on_links(&mut session);
    let figures = session.exit();
    kept_the_rules(&figures);
    // What the switch says it sent is what the hosts got, but for what links lost.
    let hosts = figures["hosts"].as_object().unwrap();
    let sum = |of: &str| hosts.values().map(|host| host[of].as_u64().unwrap()).sum::<u64>();
    let came = sum("reports_heard") + sum("reports_ignored");
    let sent = counted(&figures, "s1", "reports_sent");
    println!("{sent} reports sent, {came} came, {lost} frames lost on links");
    assert!(sent > 0 && sent >= came && sent <= came + lost, "{sent} sent, {came} came, {lost} frames lost");
    // And what one end says of messages the other does.
    assert_eq!((sum("done"), sum("aborted")), (8 * 2 * planned, 0), "{figures}");
    assert_eq!(figures["hosts"]["r"]["summary"]["receiver"]["messages_completed"], sum("done"), "{figures}");
    sandbox.is_clean();
}
