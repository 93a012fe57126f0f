//! Interoperation with clients nobody here wrote: `p4runtime-shell` and `finsy`, from `PyPI`.
//!
//! They need Python 3 and, the first time, the network; without, they are listed as absent. The scripts and how to run
//! them by hand are in `bmv2-tests/interop`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::{Arguments, Trial};

#[path = "switch/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;

use process::{DEVICE, Process, bmv2, text};

/// Set to a folder, the virtual environments are kept there.
const KEPT: &str = "CRN_INTEROP_VENVS";

fn interop(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bmv2-tests/interop").join(name)
}

fn succeeds(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = text(&output.stderr);
    Err(said.lines().last().unwrap_or("no reason given").to_owned())
}

/// A Python that has the client, or why there is none.
fn python(client: &str, folder: &Path) -> Result<PathBuf, String> {
    let venv = folder.join(client);
    let python = venv.join("bin/python");
    if succeeds(Command::new(&python).args(["-m", "pip", "show", "--quiet", client])).is_ok() {
        return Ok(python);
    }
    succeeds(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"];
    succeeds(Command::new(&python).args(install).arg("-r").arg(interop(&format!("{client}.txt"))))?;
    Ok(python)
}

fn drive(client: &str, script: &str, python: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path(), &["--no-p4", "--cpu-port", "509"]);
    let output = Command::new(python)
        .arg(interop(script))
        .args([&process.address, &DEVICE.to_string()])
        .args([bmv2("build/crn.p4info.txtpb"), bmv2("build/crn.json")])
        .output()
        .unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.ends_with("done\n"), "{client}:\n{out}{err}");
    println!("{client}: {} checks", out.lines().filter(|line| line.starts_with("ok ")).count());
}

/// Its own harness: a client that can't be had is listed as absent and ignored, not as passed.
fn main() {
    let folder = tempfile::tempdir().unwrap();
    let kept = std::env::var_os(KEPT).map_or_else(|| folder.path().to_owned(), PathBuf::from);
    let clients = [("p4runtime-shell", "with_p4runtime_shell.py"), ("finsy", "with_finsy.py")];
    let trial = |(client, script): (&'static str, &'static str)| match python(client, &kept) {
        Ok(python) => Trial::test(client, move || {
            drive(client, script, &python);
            Ok(())
        }),
        Err(reason) => Trial::test(format!("[{client} ABSENT: {reason}]"), || Ok(())).with_ignored_flag(true),
    };
    let conclusion = libtest_mimic::run(&Arguments::from_args(), clients.map(trial).into());
    drop(folder);
    conclusion.exit();
}
