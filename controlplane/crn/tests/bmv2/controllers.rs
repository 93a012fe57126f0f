//! Several controllers, and a switch that is started anew. BMv2's arbitration isn't the specification's: it promotes the next
//! by itself when the primary goes, and doesn't answer a client that asks again with the id it has.

use std::path::Path;

use crate::process::{Bmv2, free_port};
use crate::served::running::{Running, value};
use crate::served::{crn, edited, stderr, stdout, topology};

fn controller(switch: &Bmv2, path: &Path, election_id: &str) -> Running {
    Running::with(switch.args("controller", path), &["--election-id", election_id])
}

fn written(running: &Running) -> Option<u64> {
    value(&running.get("/metrics"), "crn_changes_written_total{switch=\"s1\"}")
}

fn nothing_to_do(switch: &Bmv2, path: &Path) -> bool {
    stdout(&crn(&switch.args("plan", path))).contains("nothing to do")
}

/// Primaryship goes down, up and down again; only the first controller had anything to write.
pub fn a_backup_takes_over_without_a_write() {
    let mut switch = Bmv2::start();
    let path = topology("incast-8to1.yaml");
    let seven = controller(&switch, &path, "7");
    seven.healthy();
    assert!(written(&seven) > Some(0));
    let three = controller(&switch, &path, "3");
    let standing_by = |page: &str| page.contains("\"state\":\"backup\"") && page.contains("\"ok\":true");
    three.until("/healthz", standing_by);
    let apply = crn(&switch.args("apply", &path));
    assert_eq!(apply.status.code(), Some(1), "nor may an apply write");
    assert!(stderr(&apply).contains("another controller is primary"), "{}", stderr(&apply));
    assert!(stderr(&apply).contains("--election-id"), "{}", stderr(&apply));
    let status = crn(&switch.args("status", &path));
    assert!(stdout(&status).contains("election id 7"), "{}", stdout(&status));

    drop(seven);
    three.healthy();
    let nine = controller(&switch, &path, "9");
    nine.healthy();
    three.until("/healthz", standing_by);
    drop(nine);
    three.healthy();
    let primary = |page: &str| value(page, "crn_switch_primary{switch=\"s1\"}") == Some(1);
    let page = three.until("/metrics", primary);
    assert_eq!(value(&page, "crn_changes_written_total{switch=\"s1\"}"), Some(0), "{page}");
    assert_eq!(value(&page, "crn_program_pushes_total{switch=\"s1\"}").unwrap_or(0), 0, "{page}");
    assert!(nothing_to_do(&switch, &path));
    assert!(switch.lives());
}

pub fn an_election_id_that_is_taken_is_named() {
    let mut switch = Bmv2::start();
    let path = topology("incast-8to1.yaml");
    let first = controller(&switch, &path, "7");
    first.healthy();
    let mut args = switch.args("apply", &path);
    args.extend(["--election-id".to_owned(), "7".to_owned()]);
    let apply = crn(&args);
    assert_eq!(apply.status.code(), Some(1));
    assert!(stderr(&apply).contains("INVALID_ARGUMENT: Election id already exists"), "{}", stderr(&apply));
    assert!(stderr(&apply).contains("help: another controller has this election id"), "{}", stderr(&apply));
    assert!(stderr(&apply).contains("give another `--election-id`"), "{}", stderr(&apply));
    let second = controller(&switch, &path, "7");
    second.until("/healthz", |page| page.contains("give another `--election-id`"));
    first.healthy();
    drop(first);
    second.healthy();
    assert_eq!(written(&second), Some(0));
    assert!(switch.lives());
}

/// An apply with a higher id takes the switch for its time; the controller takes it back and puts it as its own file says.
pub fn what_a_higher_apply_changed_is_put_back() {
    let switch = Bmv2::start();
    let path = topology("incast-8to1.yaml");
    let running = controller(&switch, &path, "7");
    running.healthy();
    let before = written(&running);
    let (_folder, other) = edited("incast-8to1.yaml", "q_max: 1MB", "q_max: 2MB");
    let mut args = switch.args("apply", &other);
    args.extend(["--election-id".to_owned(), "9".to_owned()]);
    let apply = crn(&args);
    assert!(stdout(&apply).contains("Applied to 1 switch"), "{}{}", stdout(&apply), stderr(&apply));
    running.until("/metrics", |page| value(page, "crn_changes_written_total{switch=\"s1\"}") > before);
    running.healthy();
    assert!(nothing_to_do(&switch, &path));
}

pub fn a_switch_that_restarts_gets_program_and_entries_again() {
    let (port, thrift) = (free_port(), free_port());
    let path = topology("incast-8to1.yaml");
    let switch = Bmv2::at(port, thrift, 1, &[]);
    let running = controller(&switch, &path, "7");
    running.healthy();
    drop(switch);
    running.until("/healthz", |page| page.starts_with("HTTP/1.1 503"));
    let switch = Bmv2::at(port, thrift, 1, &[]);
    running.until("/metrics", |page| value(page, "crn_program_pushes_total{switch=\"s1\"}") == Some(2));
    running.healthy();
    assert!(nothing_to_do(&switch, &path));
}
