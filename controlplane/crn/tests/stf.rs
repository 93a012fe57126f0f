//! `crn stf`: packet tests from the command line.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn crn(args: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crn")).arg("stf").args(args).env("NO_COLOR", "1").output().unwrap()
}

fn bmv2(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4/bmv2").join(name)
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// The packet tests of the project's own program hold.
#[test]
fn all_expectations_hold_and_the_exit_code_is_0() {
    let mut tests = 0;
    for entry in fs::read_dir(bmv2("tests")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "stf") {
            continue;
        }
        tests += 1;
        let output = crn(&[&bmv2("build/crn.json"), &path]);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{}: {out}{err}", path.display());
        assert!(out.contains("pass"), "{out}");
    }
    assert!(tests > 0, "no packet tests in p4/bmv2/tests");
}

/// A packet that differs is shown beside what was expected, with the digits marked.
#[test]
fn a_difference_is_shown_in_hexadecimal_and_the_exit_code_is_1() {
    let good = fs::read_to_string(bmv2("tests/routing.stf")).unwrap();
    // The first expectation's last digit before the end mark.
    let line = good.lines().find(|line| line.starts_with("expect") && line.ends_with('$')).unwrap();
    let at = line.len() - 2;
    let other = if line.as_bytes()[at] == b'0' { "1" } else { "0" };
    let bad = format!("{}{other}$", &line[..at]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.stf");
    fs::write(&path, good.replacen(line, &bad, 1)).unwrap();
    let output = crn(&[&bmv2("build/crn.json"), &path]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    let number = 1 + good.lines().position(|other| other == line).unwrap();
    assert!(out.contains(&format!("line {number}:")), "{out}");
    let expected = out.lines().find(|line| line.contains("expected ")).unwrap();
    let got = out.lines().find(|line| line.contains("got ")).unwrap();
    let marks = out.lines().find(|line| line.trim_end().ends_with('^')).unwrap();
    assert_eq!(expected.len(), got.len(), "the two stand above each other: {out}");
    assert_eq!(marks.trim_end().len(), expected.len(), "the last digit is marked: {out}");
}

#[test]
fn what_is_no_test_or_no_program_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let program = bmv2("build/crn.json");
    let good = bmv2("tests/routing.stf");
    let cases: [(&Path, &Path, &str); 5] = [
        (&program, &file("unknown.stf", "\nfrobnicate 1\n"), "line 2"),
        (&program, &file("table.stf", "add no_such_table a:1 b()\n"), "no_such_table"),
        (&program, Path::new("no/such.stf"), "no/such.stf"),
        (&file("empty.json", ""), &good, "empty.json"),
        (&file("other.json", "{\"a\": 1}"), &good, "other.json"),
    ];
    for (program, test, needle) in cases {
        let output = crn(&[program, test]);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(err.contains(needle), "{needle} not in {err}");
    }
    let output = crn(&[&program, &good, Path::new("--p4info"), &file("bad.p4info.txtpb", "tables {")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("bad.p4info.txtpb"), "{}", text(&output.stderr));
}
