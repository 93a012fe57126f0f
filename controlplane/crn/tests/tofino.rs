//! `target: tofino`: applied to a server with Stratum's limits, and its chassis configuration.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod served;

use std::fs;

use served::{Served, crn, edited, stderr, stdout, topology};

/// The incast with a Tofino for its switch. Its program is the embedded one, packed like a Tofino's: the server behind
/// runs the binary, which is BMv2's JSON.
fn incast(tofino: &str) -> (tempfile::TempDir, String) {
    let switch = format!(
        "target: tofino, tofino: {tofino}, \
         pipeline: {{ p4info: crn.p4info.txtpb, binary: tofino.bin, context: context.json, bfrt: bfrt.json }},"
    );
    let (folder, path) = edited("incast-8to1.yaml", "target: soft,", &switch);
    let build = topology("../p4/bmv2/build");
    fs::copy(build.join("crn.p4info.txtpb"), folder.path().join("crn.p4info.txtpb")).unwrap();
    fs::copy(build.join("crn.json"), folder.path().join("tofino.bin")).unwrap();
    fs::write(folder.path().join("context.json"), "{}").unwrap();
    fs::write(folder.path().join("bfrt.json"), "{}").unwrap();
    (folder, path.to_str().unwrap().to_owned())
}

#[test]
fn apply_keeps_stratums_limits_and_the_second_apply_writes_nothing() {
    let served = Served::stratum("incast-8to1.yaml");
    let (_folder, path) = incast("{ chip: tofino2 }, clone_port: 134");
    let plan = crn(&served.args("plan", &path));
    let text = stdout(&plan);
    // 100 kB, 1 MB of 176 octets each; 10 us of 1,024 ns.
    let cells = "b_th 568, q_max 5681, ecn_threshold 568, report_interval 10";
    assert!(text.contains("+ queue_profile egress_port 1, queue 0"), "{text}{}", stderr(&plan));
    assert!(text.contains(cells), "{text}");
    assert!(text.contains("clone_session id 1: port 134, octets 124"), "{text}");
    let apply = crn(&served.args("apply", &path));
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    assert!(stdout(&apply).contains("program pushed, "), "{}", stdout(&apply));
    let again = crn(&served.args("apply", &path));
    assert!(stdout(&again).ends_with("Nothing was written.\n"), "{}{}", stdout(&again), stderr(&again));
}

/// What another target is given, Stratum refuses: the mode does enforce something.
#[test]
fn another_targets_program_and_session_are_refused_by_that_server() {
    let served = Served::stratum("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    let apply = crn(&served.args("apply", path.to_str().unwrap()));
    assert_eq!(apply.status.code(), Some(1));
    assert!(stderr(&apply).contains("unknown format for p4_device_config"), "{}", stderr(&apply));
    // The program is there, the entries are another target's.
    let (_folder, tofino) = incast("{}");
    assert_eq!(crn(&served.args("apply", &tofino)).status.code(), Some(0));
    let text = fs::read_to_string(&tofino).unwrap();
    fs::write(&tofino, text.replace("device_id: 1,", "device_id: 1, clone_port: 0,")).unwrap();
    let apply = crn(&served.args("apply", &tofino));
    assert_eq!(apply.status.code(), Some(1), "{}", stdout(&apply));
    assert!(stderr(&apply).contains("invalid egress port in replica"), "{}", stderr(&apply));
}

#[test]
fn a_tofino_without_a_program_is_refused_with_what_to_do() {
    let served = Served::stratum("incast-8to1.yaml");
    let (_folder, path) = edited("incast-8to1.yaml", "target: soft", "target: tofino");
    let apply = crn(&served.args("apply", path.to_str().unwrap()));
    assert_eq!(apply.status.code(), Some(1));
    assert!(stderr(&apply).contains("give it a `pipeline`"), "{}", stderr(&apply));
    let (_folder, path) = edited(
        "incast-8to1.yaml",
        "target: soft,",
        "target: tofino, pipeline: { p4info: crn.p4info.txtpb, json: crn.json },",
    );
    let apply = crn(&served.args("apply", path.to_str().unwrap()));
    for wanted in ["`pipeline` lacks `binary`", "`pipeline` lacks `context`", "doesn't run `crn.json`"] {
        assert!(stderr(&apply).contains(wanted), "{wanted}: {}", stderr(&apply));
    }
}

#[test]
fn the_chassis_has_ports_queues_and_limits() {
    let panel: Vec<String> = (1..=9).map(|port| format!("{port}: {port}/0")).collect();
    let tofino = format!("{{ buffer: 16MB, front_panel: {{ {} }} }}", panel.join(", "));
    let (_folder, path) = incast(&tofino);
    let text = fs::read_to_string(&path).unwrap();
    let reports = text.replace("domain:\n", "domain:\n  reports: { path: { interval: 100us } }\n");
    assert_ne!(reports, text);
    fs::write(&path, reports).unwrap();
    let chassis = crn(&["chassis".to_owned(), path.clone(), "s1".to_owned()]);
    assert_eq!(chassis.status.code(), Some(0), "{}", stderr(&chassis));
    let wanted = fs::read_to_string(topology("../controlplane/crn/tests/chassis.txtpb")).unwrap();
    assert_eq!(stdout(&chassis), wanted);
    let (_folder, path) = incast("{ front_panel: { 1: 1/0 } }");
    let chassis = crn(&["chassis".to_owned(), path, "s1".to_owned()]);
    assert_eq!(chassis.status.code(), Some(1));
    assert!(
        stderr(&chassis).contains("nothing says where port 2 of `s1` is plugged in"),
        "{}",
        stderr(&chassis)
    );
    let path = topology("incast-8to1.yaml").to_str().unwrap().to_owned();
    let chassis = crn(&["chassis".to_owned(), path, "s1".to_owned()]);
    assert!(stderr(&chassis).contains("`s1` is no Tofino"), "{}", stderr(&chassis));
}
