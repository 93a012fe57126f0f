//! The commands that talk to switches, against softswitch's P4Runtime server on the loopback address.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod served;

use std::fs;

use served::proxy::Proxy;
use served::{Served, crn, edited, stderr, stdout, topology};

#[test]
fn plan_says_everything_apply_writes_it_and_the_second_apply_writes_nothing() {
    let served = Served::new("uplink.yaml");
    let path = topology("uplink.yaml");
    let path = path.to_str().unwrap();
    let plan = crn(&served.args("plan", path));
    assert_eq!(plan.status.code(), Some(0), "{}", stderr(&plan));
    let text = stdout(&plan);
    assert!(text.contains("runs no program: ours will be pushed"), "{text}");
    assert!(text.contains("+ dscp_map dscp 26: set_class(traffic_class 0, role 1, queue 0)"), "{text}");
    assert!(text.contains("line 10"), "the DSCP's line: {text}");
    assert!(text.lines().all(|line| line.chars().count() <= 200), "{text}");

    let apply = crn(&served.args("apply", path));
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    assert!(stdout(&apply).contains("program pushed, "), "{}", stdout(&apply));
    assert!(stdout(&apply).contains("Applied to 2 switches: "), "{}", stdout(&apply));

    let again = crn(&served.args("apply", path));
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(stdout(&again).contains("nothing to do: it holds what the topology says"), "{}", stdout(&again));
    assert!(stdout(&again).ends_with("Nothing was written.\n"), "{}", stdout(&again));
    let plan = crn(&served.args("plan", path));
    assert!(stdout(&plan).contains("nothing to do"), "{}", stdout(&plan));

    let status = crn(&served.args("status", path));
    assert_eq!(status.status.code(), Some(0), "{}", stderr(&status));
    assert!(stdout(&status).contains("nobody"), "apply has given primaryship back: {}", stdout(&status));
    assert!(stdout(&status).contains("All counters are 0."), "{}", stdout(&status));
}

#[test]
fn a_changed_threshold_is_planned_as_a_change_and_only_on_the_switch_asked_for() {
    let served = Served::new("uplink.yaml");
    let path = topology("uplink.yaml");
    crn(&served.args("apply", path.to_str().unwrap()));
    let (_folder, changed) = edited("uplink.yaml", "q_max: 4MB", "q_max: 8MB");
    let changed = changed.to_str().unwrap();
    let plan = crn(&served.args("plan", changed));
    let text = stdout(&plan);
    assert!(text.contains("~ queue_profile egress_port 1, queue 0: q_max 4000000 => 8000000"), "{text}");
    assert!(text.contains("line 21"), "the profile's line: {text}");
    assert!(text.contains("Plan for 2 switches: "), "{text}");

    let mut only = served.args("apply", changed);
    only.extend(["--target-only".to_owned(), "leaf1".to_owned()]);
    let mut dry = only.clone();
    dry.push("--dry-run".to_owned());
    assert!(stdout(&crn(&dry)).contains("Plan for 1 switch: "));
    let applied = crn(&only);
    assert_eq!(applied.status.code(), Some(0), "{}", stderr(&applied));
    let mut json = served.args("plan", changed);
    json.push("--json".to_owned());
    let plan = crn(&json);
    let object: serde_json::Value = serde_json::from_str(stdout(&plan)).unwrap();
    assert_eq!(object["switches"][0]["changes"].as_array().unwrap().len(), 0, "leaf1 has it");
    let changes = object["switches"][1]["changes"].as_array().unwrap();
    let change = changes.iter().find(|change| change["change"] == "change").unwrap();
    assert_eq!(change["object"], "queue_profile");
    assert_eq!(change["before"]["params"]["q_max"], "4000000");
    assert_eq!(change["after"]["params"]["q_max"], "8000000");
    assert_eq!(change["line"], 21);
}

/// A failed update names the line it came from and the switch's own reason; what was made is taken back.
#[test]
fn a_refused_entry_is_named_with_its_line_and_the_rest_is_rolled_back() {
    let served = Served::refusing("incast-8to1.yaml", "ipv4_route");
    let path = topology("incast-8to1.yaml");
    let apply = crn(&served.args("apply", path.to_str().unwrap()));
    assert_eq!(apply.status.code(), Some(1));
    let text = stderr(&apply);
    assert!(text.contains("9 of "), "{text}");
    assert!(text.contains("the program was pushed, no entries are left in it"), "{text}");
    assert!(text.contains("ipv4_route dst_addr 10.0.0.1/32"), "{text}");
    assert!(text.contains("RESOURCE_EXHAUSTED: no room for that"), "{text}");
    assert!(text.contains("incast-8to1.yaml:31"), "{text}");
    let plan = crn(&served.args("plan", path.to_str().unwrap()));
    assert!(stdout(&plan).contains("runs our program"), "{}", stdout(&plan));
    assert!(
        stdout(&plan).contains("+ reporter: set_reporter("),
        "everything is gone again: {}",
        stdout(&plan)
    );
}

#[test]
fn a_switch_without_an_address_and_one_that_does_not_answer_are_named() {
    let path = topology("incast-8to1.yaml");
    let path = path.to_str().unwrap();
    let plan = crn(&["plan".to_owned(), path.to_owned()]);
    assert_eq!(plan.status.code(), Some(1));
    assert!(stderr(&plan).contains("switch `s1` has no P4Runtime address"), "{}", stderr(&plan));
    assert!(stderr(&plan).contains("incast-8to1.yaml:28:"), "{}", stderr(&plan));
    let nobody = nobody();
    for command in ["plan", "apply", "status"] {
        let output = crn(&[command.to_owned(), path.to_owned(), "--at".to_owned(), format!("s1={nobody}")]);
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(stderr(&output).contains("Connection refused"), "{command}: {}", stderr(&output));
        assert!(!stdout(&output).contains("counters"), "nothing is known of them: {}", stdout(&output));
    }
    let output = crn(&["plan".to_owned(), path.to_owned(), "--target-only".to_owned(), "s2".to_owned()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("there is no switch `s2`"), "{}", stderr(&output));
    for wrong in
        ["s1", "s1=nowhere", "s1=:9559", "s1=http://127.0.0.1:9559", "s1=::1:9559", "s1=a b:9559", "s1=a:0"]
    {
        let output = crn(&["plan".to_owned(), path.to_owned(), "--at".to_owned(), wrong.to_owned()]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
    let twice = ["plan", path, "--at", "s1=127.0.0.1:1", "--at", "s1=127.0.0.1:2"].map(str::to_owned);
    let output = crn(&twice);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("`--at` says twice where s1 is"), "{}", stderr(&output));
    let output = crn(&["controller", path, "--listen", "localhost:9464"].map(str::to_owned));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("write an IP address and a port"), "{}", stderr(&output));
}

/// Nothing listens there.
fn nobody() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// With `--all-or-nothing` one switch that can't be reached keeps the other as it is; without, the other is applied.
#[test]
fn all_or_nothing_leaves_every_switch_as_it_was() {
    let served = Served::new("uplink.yaml");
    let path = topology("uplink.yaml");
    let path = path.to_str().unwrap();
    let leaf1 = format!("leaf1={}", served.addresses["leaf1"]);
    let leaf2 = format!("leaf2={}", nobody());
    let args = ["apply", path, "--at", &leaf1, "--at", &leaf2].map(str::to_owned).to_vec();
    let mut together = args.clone();
    together.push("--all-or-nothing".to_owned());
    let apply = crn(&together);
    assert_eq!(apply.status.code(), Some(1));
    assert!(
        stderr(&apply).contains("not all switches could be changed; nothing was changed"),
        "{}",
        stderr(&apply)
    );
    assert!(stderr(&apply).contains("Connection refused"), "{}", stderr(&apply));
    let only = ["plan", path, "--at", &leaf1, "--target-only", "leaf1"].map(str::to_owned);
    assert!(stdout(&crn(&only)).contains("runs no program"), "{}", stdout(&crn(&only)));
    let apply = crn(&args);
    assert_eq!(apply.status.code(), Some(1));
    assert!(stdout(&apply).contains("Applied to 1 switch"), "{}", stdout(&apply));
    assert!(stdout(&crn(&only)).contains("nothing to do"));

    let mut all = served.args("apply", path);
    all.push("--all-or-nothing".to_owned());
    let apply = crn(&all);
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    assert!(stdout(&apply).contains("Applied to 2 switches"), "{}", stdout(&apply));
}

/// A switch that dies while entries are being written: the apply reconnects and completes what was begun.
#[test]
fn a_connection_that_breaks_mid_batch_is_completed() {
    let served = Served::new("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    let path = path.to_str().unwrap();
    let apply = crn(&served.args("apply", path));
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    // The program is there: what goes over the wire now are the questions, some hundred octets, and the entries.
    let (_folder, changed) = edited("incast-8to1.yaml", "q_max: 1MB", "q_max: 2MB");
    let changed = changed.to_str().unwrap();
    let proxy = Proxy::new(&served.addresses["s1"], Some(20_000));
    let args = ["apply", changed, "--at", &format!("s1={}", proxy.address)].map(str::to_owned);
    let apply = crn(&args);
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    assert!(stdout(&apply).contains("Applied to 1 switch"), "{}", stdout(&apply));
    assert!(stdout(&crn(&served.args("plan", changed))).contains("nothing to do"));
}

/// A switch that dies while entries are being written, and isn't back for any further attempt: what it may hold is said.
#[test]
fn a_switch_that_dies_mid_batch_and_stays_away_is_called_incomplete() {
    let served = Served::new("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    assert_eq!(crn(&served.args("apply", path.to_str().unwrap())).status.code(), Some(0));
    for (more, (from, to)) in [
        (&[][..], ("q_max: 1MB", "q_max: 2MB")),
        (&["--json"][..], ("q_max: 1MB", "q_max: 3MB")),
        (&["--all-or-nothing"][..], ("q_max: 1MB", "q_max: 4MB")),
    ] {
        let (_folder, changed) = edited("incast-8to1.yaml", from, to);
        let proxy = Proxy::dying(&served.addresses["s1"], 20_000);
        let at = format!("s1={}", proxy.address);
        let mut args = ["apply", changed.to_str().unwrap(), "--at", &at].map(str::to_owned).to_vec();
        args.extend(more.iter().map(|word| (*word).to_owned()));
        let apply = crn(&args);
        let text = stderr(&apply);
        assert_eq!(apply.status.code(), Some(1), "{more:?}");
        assert!(text.contains("incomplete: up to "), "{more:?}: {text}");
        assert!(!text.contains("nothing was changed"), "{more:?}: {text}");
        if more == ["--json"] {
            let object: serde_json::Value = serde_json::from_str(stdout(&apply)).unwrap();
            assert_eq!(object["switches"][0]["outcome"], "incomplete", "{object}");
            assert!(object["switches"][0]["remains"].as_str().unwrap().contains("up to "), "{object}");
        }
    }
}

/// Ctrl-C, or a request to terminate, amid an apply: what every switch holds is said.
#[test]
fn an_apply_that_is_interrupted_says_what_the_switches_hold() {
    use nix::sys::signal::{Signal, kill};
    let path = topology("incast-8to1.yaml");
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // A switch that takes the connection and says nothing.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = format!("s1={}", listener.local_addr().unwrap());
        let child = std::process::Command::new(env!("CARGO_BIN_EXE_crn"))
            .args(["apply", path.to_str().unwrap(), "--timeout", "600", "--at", &at])
            .env("NO_COLOR", "1")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let _connection = listener.accept().unwrap();
        kill(nix::unistd::Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{signal}: {output:?}");
        let text = stderr(&output);
        assert!(text.contains("error: s1  ") && text.contains("interrupted; nothing was changed"), "{text}");
    }
}

/// What is refused is said as JSON too where that was asked for, with line and column.
#[test]
fn a_refused_file_is_json_with_json() {
    let (_folder, bad) = edited("incast-8to1.yaml", "rate: 100Gbps", "rate: 100");
    let (_other, no_address) = edited("incast-8to1.yaml", "name: incast-8to1", "name: edited");
    for (command, file, code) in [
        ("plan", &bad, "topology::quantity"),
        ("apply", &bad, "topology::quantity"),
        ("status", &bad, "topology::quantity"),
        ("inspect", &bad, "topology::quantity"),
        ("plan", &no_address, "topology::p4runtime"),
    ] {
        let output = crn(&[command.to_owned(), file.to_str().unwrap().to_owned(), "--json".to_owned()]);
        assert_eq!(output.status.code(), Some(1), "{command}");
        let object: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
        let error = &object["errors"][0];
        assert_eq!((&object["ok"], &error["code"]), (&false.into(), &code.into()), "{command}: {object}");
        assert!(error["line"].as_u64() > Some(1) && error["column"].as_u64() > Some(1), "{error}");
    }
}

/// One of two switches is dead: that isn't a plan to be pleased with.
#[test]
fn a_plan_without_one_switch_is_incomplete() {
    let served = Served::new("uplink.yaml");
    let path = topology("uplink.yaml");
    let path = path.to_str().unwrap();
    assert_eq!(crn(&served.args("apply", path)).status.code(), Some(0));
    let leaf1 = format!("leaf1={}", served.addresses["leaf1"]);
    let leaf2 = format!("leaf2={}", nobody());
    let plan = crn(&["plan", path, "--at", &leaf1, "--at", &leaf2].map(str::to_owned));
    assert_eq!(plan.status.code(), Some(1));
    let said = "The plan is incomplete: 1 of 2 switches hold what the topology says. 1 switch couldn't be read: leaf2.";
    assert!(stdout(&plan).contains(said), "{}", stdout(&plan));
}

/// `pipeline` gives a switch another build of the program; who then applies without it pushes ours again.
#[test]
fn a_switch_may_have_a_program_of_its_own() {
    let served = Served::new("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    let path = path.to_str().unwrap();
    let build = topology("../p4/bmv2/build");
    let own = "target: soft, pipeline: { json: other.json, p4info: crn.p4info.txtpb },";
    let (folder, other) = edited("incast-8to1.yaml", "target: soft,", own);
    let other = other.to_str().unwrap();
    let missing = crn(&served.args("apply", other));
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("crn.p4info.txtpb can't be read"), "{}", stderr(&missing));
    let validate = crn(&["validate".to_owned(), other.to_owned()]);
    assert_eq!(validate.status.code(), Some(1));
    assert!(stderr(&validate).contains("the program of `s1`"), "{}", stderr(&validate));
    let p4info = "crn.p4info.txtpb";
    fs::copy(build.join(p4info), folder.path().join(p4info)).unwrap();
    let json = fs::read_to_string(build.join("crn.json")).unwrap() + "\n";
    fs::write(folder.path().join("other.json"), json).unwrap();
    assert_eq!(crn(&served.args("apply", path)).status.code(), Some(0));
    let plan = crn(&served.args("plan", other));
    assert!(stdout(&plan).contains("runs another program"), "{}", stdout(&plan));
    let apply = crn(&served.args("apply", other));
    assert!(stdout(&apply).contains("program pushed"), "{}{}", stdout(&apply), stderr(&apply));
    assert!(stdout(&crn(&served.args("plan", other))).contains("nothing to do"));
    let status = crn(&served.args("status", other));
    assert!(stdout(&status).contains("ours ("), "{}", stdout(&status));
    assert!(stdout(&crn(&served.args("plan", path))).contains("runs another program"));
}

#[test]
fn a_tofino_gets_no_program_of_another_target() {
    let served = Served::new("incast-8to1.yaml");
    let (_folder, path) = edited("incast-8to1.yaml", "target: soft", "target: tofino");
    let validate = crn(&["validate".to_owned(), path.to_str().unwrap().to_owned()]);
    assert_eq!(validate.status.code(), Some(0), "{}", stderr(&validate));
    let said = "there is no program for the Tofino `s1` in this build: `plan` and `apply` will refuse it";
    assert!(stderr(&validate).contains(said), "{}", stderr(&validate));
    for command in ["plan", "apply", "status", "controller"] {
        let output = crn(&served.args(command, path.to_str().unwrap()));
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(stderr(&output).contains("no program for the Tofino `s1`"), "{command}: {}", stderr(&output));
        assert!(stderr(&output).contains("incast-8to1.yaml:28"), "{command}: {}", stderr(&output));
    }
}

#[test]
fn a_bad_file_changes_nothing_on_any_switch() {
    let served = Served::new("uplink.yaml");
    let path = topology("uplink.yaml");
    crn(&served.args("apply", path.to_str().unwrap()));
    let (_folder, bad) = edited("uplink.yaml", "address: 10.0.2.16", "address: 10.0.2.15");
    let apply = crn(&served.args("apply", bad.to_str().unwrap()));
    assert_eq!(apply.status.code(), Some(1));
    assert!(stderr(&apply).contains("10.0.2.15"), "{}", stderr(&apply));
    assert!(stdout(&crn(&served.args("plan", path.to_str().unwrap()))).contains("nothing to do"));
}

#[test]
fn validate_says_what_it_checked_and_reports_every_error() {
    let good = topology("incast-8to1.yaml");
    let output = crn(&["validate".to_owned(), good.to_str().unwrap().to_owned()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("incast-8to1.yaml: ok"), "{text}");
    assert!(
        text.contains("1 switch (1 soft), 9 hosts, 9 links (100Gbps), 2 profiles, 1 workload (8 pairs)"),
        "{text}"
    );
    assert!(text.contains("Checked: "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 200));
    let (_folder, bad) = edited("incast-8to1.yaml", "rate: 100Gbps", "rate: 100");
    fs::write(&bad, fs::read_to_string(&bad).unwrap().replace("reporter_id: 1", "reporter_id: 0")).unwrap();
    let output =
        crn(&["validate".to_owned(), good.to_str().unwrap().to_owned(), bad.to_str().unwrap().to_owned()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("ok"));
    assert!(stderr(&output).contains("`100` has no unit"), "{}", stderr(&output));
    assert!(stderr(&output).contains("0 is out of range"), "both: {}", stderr(&output));
    assert!(stderr(&output).contains("1 of 2 files refused"), "{}", stderr(&output));
    let output = crn(&["validate".to_owned(), "--json".to_owned(), bad.to_str().unwrap().to_owned()]);
    let object: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(object["ok"], false);
    assert_eq!(object["errors"].as_array().unwrap().len(), 2);
}

#[test]
fn graph_and_inspect_show_every_node() {
    let path = topology("uplink.yaml");
    let path = path.to_str().unwrap();
    for format in ["svg", "mermaid", "dot"] {
        let output = crn(&["graph".to_owned(), path.to_owned(), "--format".to_owned(), format.to_owned()]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        for name in ["leaf1", "leaf2", "s16", "r16"] {
            assert!(stdout(&output).contains(name), "{format} lacks {name}");
        }
    }
    let output = crn(&["inspect".to_owned(), path.to_owned()]);
    for what in ["leaf1:17", "leaf2:17", "10.0.2.16", "02:00:0a:00:02:10", "rdcc 52100"] {
        assert!(stdout(&output).contains(what), "{what}: {}", stdout(&output));
    }
    let output = crn(&["inspect".to_owned(), "--json".to_owned(), path.to_owned()]);
    let object: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(object["switches"][0]["ports"].as_array().unwrap().len(), 17);
}

/// What an operator looks up: both addresses of a node, aggregated links, the groups that flows are spread over, limits of
/// reports as the switch's meter counts them, and marked flows.
#[test]
fn inspect_lists_groups_limits_of_reports_and_marked_flows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.yaml");
    fs::write(&path, EVERYTHING).unwrap();
    let path = path.to_str().unwrap();
    let output = crn(&["inspect".to_owned(), path.to_owned()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(words).collect();
    for line in [
        "l1 soft 1 1 10.255.0.1 fd00::ff01 510 -",
        "l1:1 a 100Gbps 1us data trusted 500Mbps, 359195/s",
        "l1:9 s1:1 400Gbps 1us data boundary 1Gbps, 718390/s",
        "0 l1:1 - a, l1:2 - a 200Gbps",
        "l1 1 aggregated links 1 2 a 10.0.1.1 fd01::1",
        "l1 2 equal paths 9 10 s1:1 s2:1 10.0.2.1 10.255.0.2 fd00::ff02 fd02::1",
        "a 10.0.1.1 fd01::1 02:00:0a:00:01:01 l1:1, l1:2",
        "bulk 0 7 a b protocol 17, to port 4791 every 1048576us",
        "back 1 2 b a all every 1048576us",
    ] {
        assert!(lines.iter().any(|other| other == line), "{line}: {text}");
    }
    let output = crn(&["inspect".to_owned(), "--json".to_owned(), path.to_owned()]);
    let object: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    let l1 = &object["switches"][0];
    assert_eq!(l1["ipv6"], "fd00::ff01");
    assert_eq!(l1["groups"][1]["ports"], serde_json::json!([9, 10]));
    assert_eq!(l1["groups"][1]["over"], "equal paths");
    let port = l1["ports"].as_array().unwrap().iter().find(|port| port["port"] == 9).unwrap();
    assert_eq!(
        (&port["report_limit_bps"], &port["reports_per_second"]),
        (&1_000_000_000_u64.into(), &718_390.into())
    );
    assert_eq!((&port["trust"], &port["lag"]), (&"boundary".into(), &serde_json::Value::Null));
    assert_eq!(object["aggregated"][0]["members"], serde_json::json!([["l1:1", "a"], ["l1:2", "a"]]));
    assert_eq!(object["marking"]["flows"][0]["flow_mon_id"], 7);
    assert_eq!(object["marking"]["period_us"], 1_048_576);
}

const EVERYTHING: &str = "\
name: everything
domain:
  ports: { rdcc: 52100, crem: 52101, scone: 52102 }
  dscp:
    - { dscp: 26, role: scheduled, queue: 0 }
    - { dscp: 48, role: control, class: 7, queue: 7 }
  reports: { path: { interval: 100us } }
defaults: { link: { rate: 100Gbps, delay: 1us }, profile: data, control_profile: control }
profiles:
  data: { ecn_threshold: 100kB, q_max: 1MB, report_interval: 50us }
  control: { ecn_threshold: 900kB, q_max: 1MB, report_interval: 50us }
switches:
  l1: { target: soft, device_id: 1, reporter_id: 1, address: 10.255.0.1, ipv6: \"fd00::ff01\",
        ports: { 9: { trust: boundary, report_limit: 1Gbps } } }
  l2: { target: soft, device_id: 2, reporter_id: 2, address: 10.255.0.2, ipv6: \"fd00::ff02\" }
  s1: { target: soft, device_id: 3, reporter_id: 3, address: 10.255.0.3 }
  s2: { target: soft, device_id: 4, reporter_id: 4, address: 10.255.0.4 }
hosts:
  a: { address: 10.0.1.1, ipv6: \"fd01::1\" }
  b: { address: 10.0.2.1, ipv6: \"fd02::1\" }
links:
  - { members: [[\"l1:1\", a], [\"l1:2\", a]] }
  - { endpoints: [\"l2:1\", b] }
  - { endpoints: [\"l1:9\", \"s1:1\"], rate: 400Gbps }
  - { endpoints: [\"l1:10\", \"s2:1\"], rate: 400Gbps }
  - { endpoints: [\"l2:9\", \"s1:2\"], rate: 400Gbps }
  - { endpoints: [\"l2:10\", \"s2:2\"], rate: 400Gbps }
marking:
  period: 1048576us
  flows:
    - { name: bulk, from: a, to: b, flow_mon_id: 7, protocol: udp, destination_port: 4791 }
    - { name: back, from: b, to: a }
";
