//! `simple_switch_CLI`, for what P4Runtime can't do: queue rates and depths, registers, single counters by name.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use super::{PATIENCE, RETRY};
use crate::bmv2::process::THRIFT_PORT;
use crate::target::TargetError;

/// The program.
pub(super) const NAME: &str = "simple_switch_CLI";
/// What it says when it waits for a command.
const PROMPT: &str = "RuntimeCmd: ";
/// Parts of what it says when it refuses; its exit code says nothing.
const REFUSALS: [&str; 5] = ["Error", "Invalid", "Unknown", "not found", "***"];

/// A running `simple_switch_CLI`; ends with this value.
pub(super) struct Cli {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
}

impl Cli {
    /// Connects to the switch, once that listens.
    pub(super) fn start() -> Result<Cli, TargetError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match Cli::attempt() {
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(_) => sleep(RETRY),
                Ok(cli) => return Ok(cli),
            }
        }
    }

    fn attempt() -> Result<Cli, TargetError> {
        let failed = |error: &dyn std::fmt::Display| TargetError::switch(NAME, error);
        let mut child = Command::new(NAME)
            .args(["--thrift-port", THRIFT_PORT])
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(&error))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return Err(failed(&"no pipes")) };
        let mut cli = Cli { child, stdin, stdout };
        cli.answer()?;
        Ok(cli)
    }

    /// Runs a command; what it printed.
    pub(super) fn run(&mut self, command: &str) -> Result<String, TargetError> {
        let failed =
            |error: &dyn std::fmt::Display| TargetError::switch(&format!("{NAME}: {command}"), error);
        writeln!(self.stdin, "{command}").map_err(|error| failed(&error))?;
        let said = self.answer()?;
        if REFUSALS.iter().any(|refusal| said.contains(refusal)) {
            return Err(failed(&said.trim()));
        }
        Ok(said)
    }

    /// What it says until it waits for the next command.
    fn answer(&mut self) -> Result<String, TargetError> {
        let mut said = Vec::new();
        let mut octets = [0; 4096];
        loop {
            let read = self.stdout.read(&mut octets).map_err(|error| TargetError::switch(NAME, &error))?;
            if read == 0 {
                return Err(TargetError::switch(NAME, &String::from_utf8_lossy(&said).trim()));
            }
            said.extend(octets.iter().take(read));
            if said.ends_with(PROMPT.as_bytes()) {
                said.truncate(said.len() - PROMPT.len());
                return Ok(String::from_utf8_lossy(&said).into_owned());
            }
        }
    }
}

impl Drop for Cli {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
