//! What all commands share when they print: readers that go away, and the width of a page.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod served;

use std::io::pipe;
use std::process::{Command, Stdio};

use served::{Served, crn, stderr, stdout, topology};

/// As a shell says of a process that SIGPIPE has ended.
const READER_GONE: Option<i32> = Some(141);

fn command(args: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crn"));
    command.args(args).env("NO_COLOR", "1").env_remove("COLUMNS").stdin(Stdio::null());
    command
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// `crn inspect X | head -1`: the command ends quietly when nobody reads any more.
#[test]
fn a_reader_that_has_seen_enough_ends_every_command_quietly() {
    let served = Served::new("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    let path = path.to_str().unwrap();
    let hex = "10040028 5a17c0de 00030000 0000002a 0000000000000101 0000000000040000 000186a0 000007d0";
    let mut commands = vec![
        words(&["schema"]),
        words(&["decode", "--protocol", "rdcc", hex]),
        words(&["validate", path]),
        words(&["validate", "--json", path]),
        words(&["inspect", path]),
        words(&["inspect", "--json", path]),
        words(&["graph", path]),
    ];
    commands.extend(["plan", "apply", "status"].map(|command| served.args(command, path)));
    for args in commands {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let output =
            command(&args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), READER_GONE, "{args:?}: {}", stderr(&output));
        assert_eq!(stderr(&output), "", "{args:?}");
    }
}

/// `crn validate BAD 2>&1 | head -1`: the exit code still says that the file was refused.
#[test]
fn nobody_reading_errors_changes_no_exit_code() {
    for (args, code) in [
        (words(&["validate", "no/such/file.yaml"]), Some(1)),
        (words(&["plan", topology("incast-8to1.yaml").to_str().unwrap()]), Some(1)),
    ] {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let status = command(&args).stdout(Stdio::null()).stderr(writer).status().unwrap();
        assert_eq!(status.code(), code, "{args:?}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(&words(&["schema"])).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("can't print"), "{}", stderr(&output));
}

/// A hundred columns where nothing says how wide the page is; what is longer is broken.
#[test]
fn everything_for_people_fits_a_hundred_columns() {
    let served = Served::new("uplink.yaml");
    let path = topology("uplink.yaml");
    let path = path.to_str().unwrap();
    let mut commands = vec![
        words(&["validate", path]),
        words(&["inspect", path]),
        words(&["inspect", topology("leaf-spine.yaml").to_str().unwrap()]),
        words(&["validate", topology("leaf-spine.yaml").to_str().unwrap()]),
    ];
    commands.extend(["plan", "apply", "plan", "status"].map(|command| served.args(command, path)));
    for args in commands {
        let output = command(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        for line in stdout(&output).lines().chain(stderr(&output).lines()) {
            assert!(line.chars().count() <= 100, "{args:?}: {} columns: {line}", line.chars().count());
        }
    }
    let wide = crn(&words(&["inspect", path]));
    assert!(stdout(&wide).lines().all(|line| line.chars().count() <= 200));
}
