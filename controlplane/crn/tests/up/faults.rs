//! What must hold after a switch, the controller or an agent was killed under load, a link flapped, a disk was full.
//!
//! In all of them: traffic goes on, no message is aborted where nothing but the network failed, RDCC's machines keep their
//! rules, the switches hold what they should, and nothing is left of the run.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::sandbox::Sandbox;
use super::session::{Session, counted, kept_the_rules};

const SENDERS: &[&str] = &["a", "b"];

/// What the switch is, as the command line says it.
type Target = &'static [&'static str];

const SOFT: Target = &[];
const BMV2: Target = &["--target", "bmv2"];

/// Each fault under a `crn switch`, and in [`on_bmv2`] under BMv2. Not a link that flaps: while one interface of BMv2 (1.15.5) is down,
/// it hears nothing from the others either.
macro_rules! on_both {
    ($($fault:ident => $with:ident),*) => {
        $(pub fn $fault() {
            $with(SOFT);
        })*

        pub mod on_bmv2 {
            $(pub fn $fault() {
                super::$with(super::BMV2);
            })*
        }
    };
}

on_both! {
    switch_killed => switch_killed_on, controller_killed => controller_killed_on, agents_killed => agents_killed_on,
    disk_full => disk_full_on
}

fn as_it_should_be(session: &mut Session) {
    let tables = session.ask("tables lv1");
    assert!(tables.last().unwrap().ends_with(" entries, as it should hold them"), "{:?}", tables.last());
}

/// Reports that the switch that runs says it sent came to a host; a switch forgets its counts when it ends.
fn reports_came(figures: &serde_json::Value) {
    let hosts = figures["hosts"].as_object().unwrap().values();
    let came: u64 = hosts
        .map(|host| host["reports_heard"].as_u64().unwrap() + host["reports_ignored"].as_u64().unwrap())
        .sum();
    assert!(counted(figures, "lv1", "reports_sent") <= came, "{figures}");
}

/// Ends a session in which every message arrived; gives its figures.
fn nothing_aborted(mut session: Session) -> serde_json::Value {
    as_it_should_be(&mut session);
    let figures = session.figures();
    assert!(figures.values().all(|told| told.aborted == 0), "{figures:?}");
    let figures = session.exit();
    kept_the_rules(&figures);
    figures
}

/// Killed and started again: program and entries are given to it anew, and every message arrives, only later.
fn switch_killed_on(target: Target) {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, target);
    session.until_more(SENDERS, 3);
    for _ in 0..2 {
        assert_eq!(session.answer("kill lv1"), "ended: signal: 9 (SIGKILL)");
        let started = session.answer("start lv1");
        assert!(started.starts_with("lv1 runs, ") && started.ends_with("entries given to it"), "{started}");
        session.until_more(SENDERS, 4);
    }
    reports_came(&nothing_aborted(session));
    sandbox.is_clean();
}

/// Killed: nothing on the way of packets and reports waits for it. Started again: it finds all as it should be and writes
/// nothing. Killed together with a switch: that gets its program when the controller is back.
fn controller_killed_on(target: Target) {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, target);
    session.until_more(SENDERS, 2);
    assert_eq!(session.answer("kill controller"), "ended: signal: 9 (SIGKILL)");
    session.until_more(SENDERS, 4);
    as_it_should_be(&mut session);
    assert_eq!(session.answer("start controller"), "lv1: program as it was, 0 changes written");
    session.until_more(SENDERS, 2);

    session.ask("kill controller");
    session.ask("kill lv1");
    let started = session.answer("start lv1");
    assert!(started.contains("lv1 runs without a program"), "{started}");
    let started = session.answer("start controller");
    assert!(started.starts_with("lv1: program given, ") && !started.contains(" 0 changes"), "{started}");
    session.until_more(SENDERS, 4);
    reports_came(&nothing_aborted(session));
    sandbox.is_clean();
}

/// A sender killed: the other one goes on meanwhile, and credit that the dead one had doesn't stay away for good. A receiver
/// killed: its senders associate anew, and go on.
fn agents_killed_on(target: Target) {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, target);
    session.until_more(SENDERS, 2);
    assert_eq!(session.answer("kill a"), "ended: signal: 9 (SIGKILL)");
    session.until_more(&["b"], 4);
    assert_eq!(session.answer("start a"), "a runs");
    session.until_more(SENDERS, 4);
    for _ in 0..2 {
        assert_eq!(session.answer("kill r"), "ended: signal: 9 (SIGKILL)");
        assert_eq!(session.answer("start r"), "r runs");
        session.until_more(SENDERS, 4);
    }
    as_it_should_be(&mut session);
    let figures = session.exit();
    kept_the_rules(&figures);
    // The receiver's last life had both senders, each with one association.
    let receiver = &figures["hosts"]["r"]["summary"]["receiver"];
    assert!(receiver["messages_completed"].as_u64().unwrap() >= 8, "{receiver}");
    sandbox.is_clean();
}

/// A cable out and in, a sender's and the receiver's: every message arrives.
pub fn link_flapped() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, SOFT);
    session.until_more(SENDERS, 2);
    for host in ["a", "r", "a", "r"] {
        assert!(session.answer(&format!("link lv1 {host} down")).ends_with(" down"));
        let others: &[&str] = if host == "a" { &["b"] } else { &[] };
        session.until_more(others, 2);
        let ping = session.answer(&format!("ping {host} b"));
        assert!(ping.ends_with("no answer"), "{ping}");
        assert!(session.answer(&format!("link lv1 {host} up")).ends_with(" up"));
        session.until_more(SENDERS, 2);
    }
    nothing_aborted(session);
    sandbox.is_clean();
}

/// A small disk of our own, mounted.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: &Path) -> Disk {
        fs::create_dir(at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m,mode=700", "crn-test"]).arg(at);
        assert!(mount.status().unwrap().success());
        Disk(at.to_owned())
    }

    /// Takes what room there is.
    fn fill(&self) {
        let mut file = File::options().create(true).append(true).open(self.0.join("filler")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() || file.write_all(&[0]).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Octets that have left toward the receiver.
fn carried(session: &mut Session) -> u64 {
    let answer = session.answer("lv1 grep lv1-eth3: /proc/self/net/dev");
    // The interface, eight figures of what came in, and the octets of what left.
    answer.split_whitespace().nth(9).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}

/// The folder that everything of the run is written to is full: packets go on, what couldn't be told is counted and said,
/// and with room again all is as before.
fn disk_full_on(target: Target) {
    let sandbox = Sandbox::new();
    let disk = Disk::mount(&sandbox.path("small"));
    let sandbox = sandbox.writing_to("small");
    let mut session = Session::start(&sandbox, target);
    session.until_more(SENDERS, 2);
    // Full when nobody can tell anything any more, for a while in which data went on.
    let (mut still, mut before) = (0, session.figures());
    while still < 3 {
        disk.fill();
        let (octets, figures) = (carried(&mut session), session.figures());
        session.ask("wait 1s");
        still = if figures == before { still + 1 } else { 0 };
        before = figures;
        assert!(carried(&mut session) > octets, "data goes on");
    }
    session.ask("kill b");
    disk.free();
    session.until_more(&["a"], 4);
    assert_eq!(session.answer("start b"), "b runs");
    session.until_more(SENDERS, 2);
    as_it_should_be(&mut session);
    let figures = session.exit();
    kept_the_rules(&figures);
    let lost = figures["hosts"]["a"]["lines_lost"].as_u64().unwrap();
    assert!(lost > 0, "{figures}");
    let notes = figures["notes"].to_string();
    assert!(notes.contains("lines of agents couldn't be written"), "{notes}");
    assert_eq!(figures["hosts"]["a"]["summary"]["sender"]["invariant_violations"], 0, "{figures}");
    sandbox.is_clean();
}
