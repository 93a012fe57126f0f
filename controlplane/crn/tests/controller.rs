//! `crn controller` as its operator meets it: a process that is watched through its health and metrics, against
//! softswitch's P4Runtime servers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod served;

use std::fs;
use std::path::Path;

use served::proxy::Proxy;
use served::running::{Running, value};
use served::{Served, crn, edited, stderr, stdout, topology};

/// A controller of these switches.
fn start(served: &Served, path: &Path, more: &[&str]) -> Running {
    Running::with(served.args("controller", path.to_str().unwrap()), more)
}

fn nothing_to_do(served: &Served, path: &Path) -> bool {
    stdout(&crn(&served.args("plan", path.to_str().unwrap()))).contains("nothing to do")
}

#[test]
fn it_applies_follows_the_file_refuses_a_bad_edit_and_takes_the_next_good_one() {
    let served = Served::new("uplink.yaml");
    let (folder, path) = edited("uplink.yaml", "name: uplink", "name: uplink-test");
    let running = start(&served, &path, &[]);
    running.healthy();
    running.until("/metrics", |page| value(page, "crn_program_pushes_total{switch=\"leaf1\"}") == Some(1));
    assert!(nothing_to_do(&served, &path));

    let good = fs::read_to_string(&path).unwrap();
    let bad = good.replace("q_max: 4MB", "q_max: 4");
    fs::write(&path, &bad).unwrap();
    let page = running.until("/healthz", |page| page.contains("has no unit"));
    assert!(page.starts_with("HTTP/1.1 503"), "{page}");
    assert!(page.contains("\"state\":\"ready\""), "the switches keep what they have: {page}");
    let written = value(&running.get("/metrics"), "crn_changes_written_total{switch=\"leaf1\"}");

    // Replaced atomically, with another threshold.
    let better = good.replace("q_max: 4MB", "q_max: 8MB");
    let beside = folder.path().join("new.yaml");
    fs::write(&beside, &better).unwrap();
    fs::rename(&beside, &path).unwrap();
    running.until("/metrics", |page| value(page, "crn_changes_written_total{switch=\"leaf1\"}") > written);
    running.healthy();
    assert!(nothing_to_do(&served, &path));
    let page = running.get("/metrics");
    assert_eq!(value(&page, "crn_topology_loads_total{outcome=\"refused\"}"), Some(1), "{page}");
    assert_eq!(value(&page, "crn_topology_loads_total{outcome=\"taken\"}"), Some(1), "{page}");
}

#[test]
fn a_switch_that_restarts_gets_program_and_entries_again() {
    let mut served = Served::new("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    let running = start(&served, &path, &[]);
    running.healthy();
    served.stop();
    running.until("/healthz", |page| page.starts_with("HTTP/1.1 503"));
    served.restart("incast-8to1.yaml");
    running.until("/metrics", |page| value(page, "crn_program_pushes_total{switch=\"s1\"}") == Some(2));
    running.healthy();
    assert!(nothing_to_do(&served, &path));
}

/// What somebody else has changed on a switch is put right by the next check.
#[test]
fn drift_is_corrected() {
    let served = Served::new("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    let running = start(&served, &path, &[]);
    running.healthy();
    let written = value(&running.get("/metrics"), "crn_changes_written_total{switch=\"s1\"}");
    // For the time of this apply the higher election id takes the switch from the controller.
    let (_folder, other) = edited("incast-8to1.yaml", "q_max: 1MB", "q_max: 2MB");
    let mut args = served.args("apply", other.to_str().unwrap());
    args.extend(["--election-id".to_owned(), "9".to_owned()]);
    assert!(stdout(&crn(&args)).contains("Applied to 1 switch"));
    running.until("/metrics", |page| value(page, "crn_changes_written_total{switch=\"s1\"}") > written);
    running.healthy();
    assert!(nothing_to_do(&served, &path));
}

/// Two controllers with one election id: the switch ends the stream of the second, which says why and keeps trying.
#[test]
fn two_controllers_with_the_same_id_do_not_fight() {
    let served = Served::new("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    let first = start(&served, &path, &[]);
    first.healthy();
    let second = start(&served, &path, &[]);
    let page = second.until("/healthz", |page| page.contains("election id 1 is used by another client"));
    assert!(page.contains("give another `--election-id`"), "{page}");
    let apply = crn(&served.args("apply", path.to_str().unwrap()));
    assert_eq!(apply.status.code(), Some(1));
    assert!(stderr(&apply).contains("help: another controller has this election id"), "{}", stderr(&apply));
    first.healthy();
    drop(first);
    second.healthy();
    assert_eq!(value(&second.get("/metrics"), "crn_changes_written_total{switch=\"s1\"}"), Some(0));
}

/// Of two controllers one stands by, and takes over without a write when the other is gone.
#[test]
fn a_backup_takes_over_without_a_write() {
    let served = Served::new("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    let first = start(&served, &path, &["--election-id", "7"]);
    first.healthy();
    let second = start(&served, &path, &["--election-id", "3"]);
    second.until("/healthz", |page| page.contains("\"state\":\"backup\"") && page.contains("\"ok\":true"));
    let apply = crn(&served.args("apply", path.to_str().unwrap()));
    assert_eq!(apply.status.code(), Some(1), "neither may an apply write");
    assert!(stderr(&apply).contains("another controller is primary"), "{}", stderr(&apply));
    drop(first);
    second.healthy();
    let page = second.until("/metrics", |page| value(page, "crn_switch_primary{switch=\"s1\"}") == Some(1));
    assert_eq!(value(&page, "crn_changes_written_total{switch=\"s1\"}"), Some(0), "{page}");
}

/// The wire is cut and comes back; the switch has kept everything, so that nothing is written.
#[test]
fn a_wire_that_is_cut_and_back_costs_no_write() {
    let served = Served::new("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    let proxy = Proxy::new(&served.addresses["s1"], None);
    let args = ["controller", path.to_str().unwrap(), "--at", &format!("s1={}", proxy.address)];
    let running = Running::with(args.map(str::to_owned).to_vec(), &[]);
    running.healthy();
    let written = value(&running.get("/metrics"), "crn_changes_written_total{switch=\"s1\"}");
    for cuts in 1..=2 {
        proxy.cut();
        let metric = "crn_switch_failures_total{switch=\"s1\"}";
        running.until("/metrics", |page| value(page, metric) >= Some(cuts));
        running.healthy();
    }
    let page = running.get("/metrics");
    assert_eq!(value(&page, "crn_changes_written_total{switch=\"s1\"}"), written, "{page}");
    assert_eq!(value(&page, "crn_program_pushes_total{switch=\"s1\"}"), Some(1), "{page}");
}

/// Somebody else pushes another program; the next check puts ours and its entries back.
#[test]
fn a_program_that_somebody_else_pushed_is_replaced() {
    let served = Served::new("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    let running = start(&served, &path, &[]);
    running.healthy();
    let own = "target: soft, pipeline: { json: other.json, p4info: crn.p4info.txtpb },";
    let (folder, other) = edited("incast-8to1.yaml", "target: soft,", own);
    let build = topology("../p4/bmv2/build");
    fs::copy(build.join("crn.p4info.txtpb"), folder.path().join("crn.p4info.txtpb")).unwrap();
    let json = fs::read_to_string(build.join("crn.json")).unwrap() + "\n";
    fs::write(folder.path().join("other.json"), json).unwrap();
    let mut args = served.args("apply", other.to_str().unwrap());
    args.extend(["--election-id".to_owned(), "9".to_owned()]);
    let apply = crn(&args);
    assert!(stdout(&apply).contains("program pushed"), "{}{}", stdout(&apply), stderr(&apply));
    running.until("/metrics", |page| value(page, "crn_program_pushes_total{switch=\"s1\"}") == Some(2));
    running.healthy();
    assert!(nothing_to_do(&served, &path));
}

/// A controller that is killed while it writes leaves what its successor completes.
#[test]
fn a_controller_killed_while_it_writes_is_completed_by_its_successor() {
    let served = Served::new("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    assert!(stdout(&crn(&served.args("apply", path.to_str().unwrap()))).contains("program pushed"));
    let (_folder, changed) = edited("incast-8to1.yaml", "q_max: 1MB", "q_max: 2MB");
    // Its wire breaks amid the batch, between deletions and insertions; and it is gone before it can try again.
    let proxy = Proxy::new(&served.addresses["s1"], Some(20_000));
    let args = ["controller", changed.to_str().unwrap(), "--at", &format!("s1={}", proxy.address)];
    let first = Running::with(args.map(str::to_owned).to_vec(), &[]);
    first.until("/metrics", |page| value(page, "crn_switch_failures_total{switch=\"s1\"}") >= Some(1));
    drop(first);
    let second = start(&served, &changed, &["--election-id", "2"]);
    second.healthy();
    assert!(nothing_to_do(&served, &changed));
}
