//! The controller that stays for as long as a run does: `crn controller` as a process of its own.
//!
//! Program and entries have been given before it is started, so that what a switch refuses is said at once. It gives them
//! again to a switch that was started once more, follows the file, and reads the counters of marked flows.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use miette::{IntoDiagnostic as _, Result};
use serde_json::Value;

use super::fabric::Fabric;
use super::network::Network;
use super::run::{Number, Run, of_life};
use super::stop::Stop;

/// Its name in the run; no node of a topology can be called so.
const NAME: &str = "crn controller";
/// How it is called in the prompt.
pub const CALLED: &str = "controller";

/// How often it looks whether the switches still hold what they should, in seconds.
const CHECK_SECONDS: &str = "5";

/// The controller's process.
#[derive(Debug)]
pub struct Steward {
    number: Number,
    lives: u32,
}

/// What the controller found at a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The switch.
    pub switch: String,
    /// Whether the program had to be given to it.
    pub pushed: bool,
    /// How many changes were written.
    pub written: u64,
}

impl Steward {
    /// Starts it.
    pub fn start(
        run: &mut Run,
        network: &Network,
        fabric: &Fabric,
        file: &Path,
        factor: u64,
    ) -> Result<Self> {
        let number = spawn(run, network, fabric, file, factor, 1)?;
        Ok(Self { number, lives: 1 })
    }

    /// Starts one that has ended once more.
    pub fn restart(
        &mut self,
        run: &mut Run,
        network: &Network,
        fabric: &Fabric,
        file: &Path,
        factor: u64,
    ) -> Result<()> {
        let lives = self.lives + 1;
        let number = spawn(run, network, fabric, file, factor, lives)?;
        (self.number, self.lives) = (number, lives);
        Ok(())
    }

    /// Its process.
    pub fn number(&self) -> Number {
        self.number
    }

    /// Waits until it says that every switch is ready; gives what it found.
    pub fn wait(&self, run: &mut Run, fabric: &Fabric, stop: &Stop) -> Result<Vec<Found>> {
        let begin = Instant::now();
        let path = said(run, self.lives);
        loop {
            let found = found(&fs::read_to_string(&path).unwrap_or_default());
            if fabric.addresses().all(|(name, _)| found.iter().any(|found| found.switch == name)) {
                return Ok(found);
            }
            run.wait_on(self.number, begin, ("it ended by itself", "not all switches are ready"), stop)?;
        }
    }
}

fn said(run: &Run, lives: u32) -> PathBuf {
    run.file(&format!("{}.err", of_life(NAME, lives)))
}

fn spawn(
    run: &mut Run,
    network: &Network,
    fabric: &Fabric,
    file: &Path,
    factor: u64,
    lives: u32,
) -> Result<Number> {
    let command = command(file, factor, fabric.addresses())?;
    run.spawn(&network.switches(), &of_life(NAME, lives), &command)
}

/// Its line, for switches at these addresses.
pub fn command<'a>(
    file: &Path,
    factor: u64,
    switches: impl Iterator<Item = (&'a str, SocketAddr)>,
) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().into_diagnostic()?);
    command.arg("controller").arg(file).args(["--log", "json", "--check", CHECK_SECONDS]);
    command.arg("--scale").arg(factor.to_string());
    for (switch, address) in switches {
        command.arg("--at").arg(format!("{switch}={address}"));
    }
    Ok(command)
}

/// The switches that a log says are ready, the first time each.
fn found(log: &str) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    for event in log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let Some((switch, pushed)) = event["switch"].as_str().zip(event["pushed"].as_bool()) else {
            continue;
        };
        if all.iter().all(|found| found.switch != switch) {
            let written = event["written"].as_u64().unwrap_or_default();
            all.push(Found { switch: switch.to_owned(), pushed, written });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_ready_when_the_log_says_what_was_written() {
        let log = "\
            {\"level\":\"INFO\",\"message\":\"started\",\"switches\":2}\n\
            {\"level\":\"ERROR\",\"switch\":\"s1\",\"doing\":\"connecting\",\"message\":\"nobody listens\"}\n\
            {\"level\":\"INFO\",\"message\":\"ready\",\"switch\":\"s1\",\"pushed\":true,\"written\":7}\n\
            {\"level\":\"INFO\",\"message\":\"ready\",\"switch\":\"s1\",\"pushed\":false,\"written\":0}\n\
            cut off {\"switch";
        assert_eq!(found(log), [Found { switch: "s1".to_owned(), pushed: true, written: 7 }]);
    }
}
