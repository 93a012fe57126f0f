//! `crn agent` in network namespaces of its own, through `crn switch` with the project's program: reports arrive, and
//! grants fall. Needs root, iproute2 and ethtool; without, it is listed as absent.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod living;

use std::path::Path;
use std::process::{Command, Output};

use libtest_mimic::{Arguments, Failed, Trial};
use living::{Network, Running, page, unbroken};
use nix::sys::signal::Signal;
use serde_json::Value;

/// The receiver is told four times what the switch's port toward it carries: it grants too much, until it hears reports.
const PORT_RATE: &str = "3=50Mbps";
const TOLD: &[&str] = &["--link-rate", "200Mbps", "--base-rtt", "30ms"];

const TOPOLOGY: &str = "
name: live
domain:
  ports: { rdcc: 52100, crem: 52101, scone: 52102 }
  dscp:
    - { dscp: 26, role: scheduled, class: 0, queue: 0 }
    - { dscp: 28, role: unscheduled, class: 0, queue: 0 }
    - { dscp: 48, role: control, class: 7, queue: 7 }
defaults:
  link: { rate: 50Mbps, delay: 100us }
  profile: data
  control_profile: control
profiles:
  data: { b_th: 30kB, ecn_threshold: 30kB, q_max: 3MB, report_interval: 1ms }
  control: { b_th: 900kB, q_max: 1MB, report_interval: 1ms }
switches:
  s1: { target: soft, device_id: 3, reporter_id: 1, address: 10.255.0.1 }
hosts:
  h1: { address: 10.0.0.1 }
  h2: { address: 10.0.0.2 }
  h3: { address: 10.0.0.3 }
links:
  - { endpoints: [\"s1:1\", h1] }
  - { endpoints: [\"s1:2\", h2] }
  - { endpoints: [\"s1:3\", h3] }
rdcc:
  base_rtt: 30ms
  credit_unit: 4096B
workloads:
  - name: incast
    senders: [h1, h2]
    receivers: [h3]
    batches: 2
    gap: 1ms
    payload: 4096B
    bottleneck: \"s1:3\"
    messages:
      - { size: 1MiB, mode: scheduled }
      - { size: 2KiB, mode: unscheduled }
";

/// The switch with the topology's entries.
fn switch(network: &Network, topology: &Path) -> Running {
    let ports =
        ["-i", "1@s1", "-i", "2@s2", "-i", "3@s3", "--queue-rate", PORT_RATE, "--queue-depth", "3000"];
    let rest = ["--device-id", "3", "--grpc-server-addr", "127.0.0.1:9559"];
    let switch = network.crn(0, &[&["switch", "--no-p4"][..], &ports, &rest].concat());
    assert!(switch.line().starts_with("P4Runtime on "));
    let (code, _, error) =
        network.crn(0, &["apply", topology.to_str().unwrap(), "--at", "s1=127.0.0.1:9559"]).wait();
    assert_eq!(code, Some(0), "{error}");
    switch
}

fn events(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

/// RDCC, On-Path Congestion Reporting, on the wire: the switch's queue passes its threshold, its reports come to the
/// receiver, and the grants to the senders that they name fall.
fn reports_arrive_and_grants_fall() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("live.yaml");
    std::fs::write(&path, TOPOLOGY)?;
    let network = Network::new(3);
    let switch = switch(&network, &path);
    let file = path.to_str().unwrap();
    let agent = |n: usize, kind: &str, more: &[&str]| {
        let host = format!("h{n}");
        network.crn(n, &[&["agent", kind, file, "--host", &host, "--json"], more].concat())
    };
    let receiver = agent(3, "rdcc-receiver", &[TOLD, &["--grants"]].concat());
    let started: Value = serde_json::from_str(&receiver.line())?;
    assert_eq!(started["event"], "started");
    let senders = [1, 2].map(|n| agent(n, "rdcc-sender", &[]));
    for sender in senders {
        let (code, said, error) = sender.wait();
        assert_eq!(code, Some(0), "{error}{said}");
        let events = events(&said);
        let summary = events.last().unwrap();
        assert_eq!(summary["event"], "summary");
        let messages = &summary["messages"];
        assert_eq!((&messages["done"], &messages["aborted"]), (&Value::from(4), &Value::from(0)));
        assert_eq!(messages["octets"], 2 * ((1 << 20) + 2048));
        assert_eq!(summary["sender"]["invariant_violations"], 0);
        assert_eq!(of(&events, "batch_done").len(), 2);
    }
    receiver.signal(Signal::SIGTERM);
    let (code, said, error) = receiver.wait();
    assert_eq!(code, Some(0), "{error}");
    let events = events(&said);
    let summary = events.last().unwrap();
    let counters = &summary["receiver"];
    assert_eq!((&counters["messages_completed"], &counters["invariant_violations"]), (&8.into(), &0.into()));
    assert_eq!(summary["transport"]["received_octets"], 4 * ((1 << 20) + 2048));
    assert_eq!(summary["transport"]["refused_packets"], 0, "an ICRC that the way changed");

    let heard: Vec<_> = of(&events, "report").into_iter().filter(|report| report["heard"] == true).collect();
    let first = heard.first().ok_or("no report was heard")?;
    assert!(first["from"].as_str().unwrap().starts_with("10.255.0.1:"), "{first}");
    assert!(first["depth"].as_u64() > first["threshold"].as_u64(), "{first}");
    let source = first["source"].as_str().unwrap().split(':').next().unwrap();
    let rates = |after: bool| {
        let at = first["at"].as_f64();
        let side = move |event: &&&Value| (event["at"].as_f64() > at) == after;
        let to = |event: &&Value| event["peer"].as_str().unwrap().starts_with(source);
        of(&events, "grant")
            .iter()
            .filter(side)
            .copied()
            .filter(to)
            .map(|e| e["rate"].as_u64().unwrap())
            .collect()
    };
    let (before, after): (Vec<u64>, Vec<u64>) = (rates(false), rates(true));
    assert!(after.iter().min() < before.iter().min(), "{before:?} {after:?}");
    assert!(counters["decreases"].as_u64() > Some(0));
    switch.signal(Signal::SIGTERM);
    assert_eq!(switch.wait().0, Some(0));
    Ok(())
}

/// Admission in front of the senders' posts, turned on by the environment: the receiver's lower grants and the CNPs of what the
/// switch marked move its windows, everything arrives, and while it runs the queries answer.
fn windows_follow_what_the_network_says() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("live.yaml");
    std::fs::write(&path, TOPOLOGY)?;
    let network = Network::new(3);
    let switch = switch(&network, &path);
    let file = path.to_str().unwrap();
    let listen = "127.0.0.1:9465";
    let agent = |n: usize, kind: &str, more: &[&str]| {
        let host = format!("h{n}");
        let line = [&["agent", kind, file, "--host", &host, "--json", "--dcqcn"], more].concat();
        let mut command = network.command(n, env!("CARGO_BIN_EXE_crn"), &line);
        command.env("MC_ADAPTIVE_CC_MODE", "enforce").env("MC_ADAPTIVE_CC_MIN_WINDOW_BYTES", "65536");
        Running::start(command)
    };
    let receiver = agent(3, "rdcc-receiver", TOLD);
    receiver.event("started", |_| true);
    let senders = [1, 2].map(|n| agent(n, "rdcc-sender", &["--listen", listen]));
    let mut asked = String::new();
    while !asked.contains("\"peer\":\"10.0.0.3\"") {
        asked = network.within(1, move || page(listen.parse().unwrap(), "/admission"));
    }
    assert!(asked.contains("\"mode\":\"enforce\"") && asked.contains("\"window\":"), "{asked}");
    let metrics = network.within(1, move || page(listen.parse().unwrap(), "/metrics"));
    assert!(metrics.contains("crn_rdcc_admission_window_octets{domain=\"10.0.0.3\"}"), "{metrics}");
    let mut heard = [0, 0];
    for sender in senders {
        let (code, said, error) = sender.wait();
        assert_eq!(code, Some(0), "{error}{said}");
        let summary: Value = serde_json::from_str(said.lines().last().unwrap())?;
        assert_eq!((&summary["messages"]["done"], &summary["messages"]["aborted"]), (&4.into(), &0.into()));
        let admission = &summary["admission"];
        // The last MSG_DONE may overtake the last acknowledgement: then a slice is still out when the sender ends.
        let route = &admission["routes"][0];
        let posted =
            route["completed"].as_u64().zip(route["in_flight"].as_u64()).map(|(one, other)| one + other);
        assert_eq!(posted, Some(2 * ((1 << 20) + 2048)), "{admission}");
        for (sum, name) in heard.iter_mut().zip(["cnps", "lower_grants"]) {
            *sum += admission["counters"][name].as_u64().unwrap();
        }
    }
    assert!(heard.iter().all(|&count| count > 0), "{heard:?}");
    receiver.signal(Signal::SIGTERM);
    let (code, said, error) = receiver.wait();
    assert_eq!(code, Some(0), "{error}");
    let summary: Value = serde_json::from_str(said.lines().last().unwrap())?;
    assert_eq!(summary["transport"]["received_octets"], 4 * ((1 << 20) + 2048));
    assert!(summary["transport"]["cnps_sent"].as_u64() > Some(0), "{summary}");
    switch.signal(Signal::SIGTERM);
    assert_eq!(switch.wait().0, Some(0));
    Ok(())
}

/// A bad environment ends the agent at its start, and names the variable.
fn a_bad_environment_is_refused() {
    let line =
        ["agent", "rdcc-sender", "--address", "127.66.0.4", "--rdcc-port", "52100", "--link-rate", "1Gbps"];
    let rest = ["--base-rtt", "1ms", "--to", "127.66.0.5", "--message", "1MiB"];
    for (name, value, text) in [
        ("MC_ADAPTIVE_CC_MODE", "on", "off, observe or enforce"),
        ("MC_ADAPTIVE_CC_MIN_WINDOW_BYTES", "0", "from 1 to"),
        ("MC_ADAPTIVE_CONGESTION_CONTROL_WINDOW", "1", "MIN_WINDOW_BYTES"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crn"));
        let output = command.args(line).args(rest).env(name, value).env("NO_COLOR", "1").output().unwrap();
        let error = unbroken(&String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(name) && error.contains(text), "{error}");
    }
}

fn crn(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crn")).args(arguments).env("NO_COLOR", "1").output().unwrap()
}

/// What is missing or wrong is named, with what would be right.
fn what_is_missing_is_named() {
    let address = ["--address", "127.66.0.1"];
    let cases: [(&[&str], i32, &str); 6] = [
        (&["rdcc-receiver"], 1, "--address"),
        (&[&["rdcc-receiver"][..], &address].concat(), 1, "RDCC port, which has no default"),
        (&["rdcc-sender", "--link-rate", "1"], 2, "Gbps"),
        (&["rdcc-sender", "--message", "1MiB:urgent"], 2, "class=0..7"),
        (&["rdcc-receiver", "--host", "h1"], 2, "TOPOLOGY"),
        (
            &[
                &["rdcc-sender", "--rdcc-port", "52100", "--link-rate", "1Gbps", "--base-rtt", "1ms"][..],
                &address,
            ]
            .concat(),
            1,
            "--to",
        ),
    ];
    for (arguments, code, text) in cases {
        let output = crn(&[&["agent"], arguments].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(text), "{arguments:?}: {error}");
    }
}

/// A sender whose receiver doesn't answer ends by itself, says so, and fails; an interrupted one says what it did.
fn a_sender_without_a_receiver_ends() {
    let common =
        ["--rdcc-port", "52100", "--link-rate", "1Gbps", "--base-rtt", "1ms", "--address", "127.66.0.2"];
    let sender = ["agent", "rdcc-sender", "--to", "127.66.0.3", "--message", "1MiB", "--json"];
    let output = crn(&[&sender[..], &common].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 of 1 messages weren't delivered"));
    let events = events(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(of(&events, "association_failed").len(), 1);
    assert_eq!(events.last().unwrap()["messages"]["without_rdcc"], 1);
}

fn main() {
    let arguments = Arguments::from_args();
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let able = nix::unistd::geteuid().is_root() && has("ip") && has("ethtool");
    let live = "reports arrive and grants fall (needs root, iproute2, ethtool)";
    let trials = vec![
        Trial::test(live, reports_arrive_and_grants_fall).with_ignored_flag(!able),
        Trial::test(
            "windows follow what the network says (needs root, iproute2, ethtool)",
            windows_follow_what_the_network_says,
        )
        .with_ignored_flag(!able),
        Trial::test("a bad environment is refused", || {
            a_bad_environment_is_refused();
            Ok(())
        }),
        Trial::test("what is missing is named", || {
            what_is_missing_is_named();
            Ok(())
        }),
        Trial::test("a sender without a receiver ends", || {
            a_sender_without_a_receiver_ends();
            Ok(())
        }),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}
