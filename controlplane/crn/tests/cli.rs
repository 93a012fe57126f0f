//! The command as its users meet it: what it prints, where, and with which exit code.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn crn(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crn")).args(args).env("NO_COLOR", "1").output().unwrap()
}

fn topology(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies").join(name)
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// RDCC, Example Exchange and Encodings.
const GRANT: &str = "10 04 00 28 5a 17 c0 de 00 03 00 00 00 00 00 2a 00 00 00 00 00 00 01 01 00 00 00 00 00 04 00 00 \
                     00 01 86 a0 00 00 07 d0";

#[test]
fn decode_prints_the_documents_grant_as_json() {
    let output = crn(&["decode", "--json", "--protocol", "rdcc", GRANT]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let object: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    for (field, value) in [
        ("type", 4),
        ("length", 40),
        ("association_id", 0x5a17_c0de),
        ("epoch", 3),
        ("sequence_number", 42),
        ("message_id", 0x101),
        ("grant_limit", 262_144),
        ("pacing_rate", 100_000),
        ("lifetime", 2000),
    ] {
        assert_eq!(object[field], value, "{field}");
    }
}

#[test]
fn decode_prints_crems_example() {
    let hex = "11 80 00 2c 00 00 be ef 01 01 04 02 00 10 00 00 00 07 00 10 f0 00 00 00 e0 00 00 00
        00 35 4f df 6d 4b 40 b5 7e 5c 40 00 00 00 00 00";
    let output = crn(&["decode", "--protocol", "crem", hex]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for line in
        ["REPAIR\n", "  present_bitmap      f0000000 (all positions)", "(positions 0 1 2)", "(0x80 RETX)"]
    {
        assert!(stdout(&output).contains(line), "{line}: {}", stdout(&output));
    }
    let output = crn(&["decode", "--protocol", "crem", "10 00 00 08 00 00 00 00"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("octet 0: type 0"), "{}", stderr(&output));
}

#[test]
fn decode_prints_rate_advice_and_rocev2() {
    let advice = "00 00 00 01 00 00 61 a8 0a 00 01 01 00 00 00 00";
    let output = crn(&["decode", "--protocol", "scone", advice]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("RATE_ADVICE\n") && text.contains("25000 (Mbit/s)"), "{text}");
    let acknowledgement = "11 40 ff ff 24 00 00 12 00 00 00 07 1f 00 00 01 01 02 03 04";
    let output = crn(&["decode", "--protocol", "roce", acknowledgement]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("RC Acknowledge\n") && text.contains("advised rate 21544 Mbit/s"), "{text}");
    let output = crn(&["decode", "--protocol", "scone", "00 00 00 02 00 00 61 a8 0a 00 01 01 00 00 00 00"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("octet 0: version 2 is unknown; it should be 1"), "{text}");
}

#[test]
fn decode_refuses_with_the_octet_and_the_reason() {
    let unknown_version = GRANT.replacen("10", "20", 1);
    let unknown_type = GRANT.replacen("04", "0b", 1);
    for (hex, reason) in [
        (&*unknown_version, "octet 0"),
        (&unknown_type, "octet 1"),
        ("10 04 00 28", "octet 2"),
        ("1z", "character 2"),
    ] {
        let output = crn(&["decode", "--json", "--protocol", "rdcc", hex]);
        assert_eq!(output.status.code(), Some(1), "{hex}");
        assert!(stdout(&output).is_empty(), "{hex}");
        assert!(stderr(&output).contains(reason), "{hex}: {}", stderr(&output));
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    for args in [
        &["simulate"][..],
        &["decode", "--protocol", "tcp", "00"],
        &["sim"],
        &["sim", "x.yaml", "--scheme", "x"],
    ] {
        assert_eq!(crn(args).status.code(), Some(2), "{args:?}");
    }
}

/// Bad input: a clear error at its line, exit code 1, and nothing started.
#[test]
fn sim_refuses_a_bad_topology_whole() {
    let folder = tempfile::tempdir().unwrap();
    let good = fs::read_to_string(topology("incast-8to1.yaml")).unwrap();
    let line_of = |text: &str, needle: &str| 1 + text.lines().position(|line| line.contains(needle)).unwrap();
    let cases: [(&str, &str, &str); 8] = [
        ("crem: 52101, ", "", "crem"),
        (r#"["s1:1", a1]"#, r#"["s1:1", a11]"#, "a11"),
        ("a2: { address: 10.0.0.2 }", "a2: { address: 10.0.0.1 }", "10.0.0.1"),
        ("data: { b_th: 100kB, ecn_threshold: 100kB,", "data: { b_th: 2MB, ecn_threshold: 2MB,", "b_th"),
        ("{ dscp: 28, role: unscheduled", "{ dscp: 26, role: unscheduled", "26"),
        ("rate: 100Gbps", "rate: -5Gbps", "-5Gbps"),
        ("delay: 2us", "delay: 2", "unit"),
        ("report_interval: 10us }\n  #", "report_interval: 10us \n  #", ""),
    ];
    for (from, to, needle) in cases {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let path = folder.path().join("bad.yaml");
        fs::write(&path, &text).unwrap();
        let out = folder.path().join("out");
        let output = crn(&["sim", path.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{to}: {error}");
        assert!(stdout(&output).is_empty(), "{to}: {}", stdout(&output));
        assert!(!out.exists(), "{to}: something was written");
        assert!(error.contains("bad.yaml:"), "{to}: no file and line in {error}");
        assert!(error.contains(needle), "{to}: {error}");
        if !to.is_empty() && !needle.is_empty() {
            let line = line_of(&text, to.lines().next().unwrap());
            assert!(error.contains(&format!("bad.yaml:{line}:")), "{to}: not at line {line}: {error}");
        }
    }
}

#[test]
fn sim_refuses_what_is_no_text_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    for (name, octets) in [("empty.yaml", &b""[..]), ("binary.yaml", &b"name: \xff\xfe\n"[..])] {
        let path = folder.path().join(name);
        fs::write(&path, octets).unwrap();
        let output = crn(&["sim", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(stderr(&output).contains(name), "{name}: {}", stderr(&output));
    }
    let output = crn(&["sim", "no/such/file.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no/such/file.yaml"), "{}", stderr(&output));
}

#[test]
fn sim_prints_one_object_a_scheme_and_writes_the_figures() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let path = topology("incast-8to1.yaml");
    let path = path.to_str().unwrap();
    let output =
        crn(&["sim", path, "--scheme", "rdcc+crn", "--seed", "3", "--json", "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let object: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(object["scheme"], "rdcc+crn");
    assert_eq!(object["seed"], 3);
    assert_eq!(object["messages"]["sent"], 320);
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["schemes"][0], object);
    assert!(fs::read_to_string(out.join("queue.svg")).unwrap().contains("<svg"));
    assert!(fs::read_to_string(out.join("index.html")).unwrap().contains("rdcc+crn"));
}

/// A run in which messages never arrive is a failure, and says how far it came.
#[test]
fn sim_says_when_messages_never_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let good = fs::read_to_string(topology("incast-8to1.yaml")).unwrap();
    // No data packet fits into a queue of 200 octets; grants and acknowledgements wait elsewhere.
    let text = good.replacen(
        "b_th: 100kB, ecn_threshold: 100kB, q_max: 1MB",
        "b_th: 100B, ecn_threshold: 100B, q_max: 200B",
        1,
    );
    assert_ne!(text, good);
    let path = folder.path().join("stuck.yaml");
    fs::write(&path, text).unwrap();
    let output = crn(&["sim", path.to_str().unwrap(), "--scheme", "rdcc", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("0 of 320 messages"), "{}", stderr(&output));
    let object: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(object["messages"]["completed"], 0);
    assert!(object["messages"]["fct_us"]["p50"].is_null(), "no figure where there is nothing to measure");
}

/// Figures of a port that the messages don't take would look good and say nothing.
#[test]
fn sim_refuses_a_bottleneck_that_nothing_goes_through() {
    let folder = tempfile::tempdir().unwrap();
    let good = fs::read_to_string(topology("incast-8to1.yaml")).unwrap();
    let path = folder.path().join("elsewhere.yaml");
    fs::write(&path, good.replacen("bottleneck: \"s1:9\"", "bottleneck: \"s1:1\"", 1)).unwrap();
    let output = crn(&["sim", path.to_str().unwrap(), "--scheme", "rdcc"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nothing of the workload went through s1:1"), "{}", stderr(&output));
}

/// Names become folders: none may lead elsewhere or be another's.
#[test]
fn sim_writes_nowhere_but_into_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let good = fs::read_to_string(topology("incast-8to1.yaml")).unwrap();
    let out = folder.path().join("out");
    for name in ["../escaped", "/tmp/escaped", "..", "a/b"] {
        let path = folder.path().join("named.yaml");
        fs::write(&path, good.replacen("name: incast-8to1", &format!("name: \"{name}\""), 1)).unwrap();
        let output = crn(&["sim", path.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(stderr(&output).contains("topology's name"), "{name}: {}", stderr(&output));
    }
    let twice = topology("incast-8to1.yaml");
    let twice = twice.to_str().unwrap();
    let output = crn(&["sim", twice, twice, "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("two topologies are named"), "{}", stderr(&output));
    assert!(!out.exists());
}

/// The switches run what the topology says, each its own.
#[test]
fn sim_runs_the_programs_that_the_topology_names() {
    let folder = tempfile::tempdir().unwrap();
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4/bmv2/build");
    let text = fs::read_to_string(topology("incast-8to1.yaml")).unwrap();
    let own = "target: soft, pipeline: { json: other.json, p4info: crn.p4info.txtpb },";
    let path = folder.path().join("own.yaml");
    fs::write(&path, text.replacen("target: soft,", own, 1).replace("batches: 20", "batches: 1")).unwrap();
    let sim = |more: &[&str]| {
        let args = [&["sim", path.to_str().unwrap(), "--scheme", "none", "--json"], more].concat();
        crn(&args)
    };
    let missing = sim(&[]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("the program of `s1`"), "{}", stderr(&missing));
    fs::copy(build.join("crn.p4info.txtpb"), folder.path().join("crn.p4info.txtpb")).unwrap();
    fs::write(folder.path().join("other.json"), "{}").unwrap();
    let no_program = sim(&[]);
    assert_eq!(no_program.status.code(), Some(1));
    assert!(stderr(&no_program).contains("the program of `s1`"), "{}", stderr(&no_program));
    assert!(stderr(&no_program).contains("a program that this target runs"), "{}", stderr(&no_program));
    let overridden = sim(&["--pipeline", build.join("crn.json").to_str().unwrap()]);
    assert_eq!(overridden.status.code(), Some(0), "{}", stderr(&overridden));
    // The same program turned deaf: queues above the threshold are silent.
    let json = fs::read_to_string(build.join("crn.json")).unwrap();
    let mut program: serde_json::Value = serde_json::from_str(&json).unwrap();
    let actions = program["actions"].as_array_mut().unwrap();
    for action in
        actions.iter_mut().filter(|action| action["name"].as_str().unwrap().ends_with("set_profile"))
    {
        action["primitives"].as_array_mut().unwrap().clear();
    }
    fs::write(folder.path().join("other.json"), program.to_string()).unwrap();
    let own = sim(&[]);
    assert_eq!(own.status.code(), Some(0), "{}", stderr(&own));
    assert_ne!(stdout(&own), stdout(&overridden), "without profiles nothing is marked or reported");
}
