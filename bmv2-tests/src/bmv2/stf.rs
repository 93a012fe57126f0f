//! STF on the real switch.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use softswitch::Program;
use softswitch::stf::{Expected, Failure, Step, compare, script};

use super::cli::Cli;
use super::process::Process;
use super::wires::Wires;
use super::{Bmv2, Frames, PATIENCE};
use crate::target::TargetError;

/// A packet that is dropped shows itself to nobody: after packets, a line that depends on them waits so long.
const QUIET: Duration = Duration::from_millis(100);

impl Bmv2 {
    /// Runs a test with the program in a JSON file; what went wrong.
    ///
    /// # Errors
    /// The test can't be run: it isn't STF, or the switch couldn't be started or set up.
    pub fn stf(&self, json: &Path, text: &str) -> Result<Vec<Failure>, TargetError> {
        let octets = std::fs::read(json).map_err(|error| TargetError::program(json, &error))?;
        let program = Program::from_json(&octets).map_err(|error| TargetError::program(json, &error))?;
        let steps = script(&program, text).map_err(|error| TargetError::Setup(error.to_string()))?;
        super::alone(|| run(json, &steps))
    }
}

fn run(json: &Path, steps: &[(usize, Step)]) -> Result<Vec<Failure>, TargetError> {
    let mut expected: BTreeMap<u16, Vec<Expected>> = BTreeMap::new();
    for (_, step) in steps {
        if let Step::Packet { port, .. } | Step::Expect { port, .. } = step {
            expected.entry(*port).or_default();
        }
    }
    let ports: Vec<u16> = expected.keys().copied().collect();
    let wires = Wires::new(&ports)?;
    let process = Process::start(&ports, Some(json))?;
    let cli = Cli::start().map_err(|error| TargetError::switch(&process.last_words(), &error))?;
    let mut play = Play {
        wires,
        cli,
        expected,
        frames: Frames::new(),
        queues_stand: false,
        unsettled: false,
        failures: Vec::new(),
    };
    for (line, step) in steps {
        play.step(*line, step)?;
    }
    play.settle()?;
    let received = play
        .frames
        .into_iter()
        .map(|(port, seen)| (port, seen.into_iter().map(|frame| frame.octets).collect()));
    let mut failures = compare(&play.expected, received.collect());
    failures.extend(play.failures);
    Ok(failures)
}

/// A test that is being run.
struct Play {
    wires: Wires,
    cli: Cli,
    expected: BTreeMap<u16, Vec<Expected>>,
    frames: Frames,
    /// Whether the test has given a queue a rate.
    queues_stand: bool,
    /// Whether packets have entered since the last settling.
    unsettled: bool,
    failures: Vec<Failure>,
}

impl Play {
    fn step(&mut self, line: usize, step: &Step) -> Result<(), TargetError> {
        match step {
            Step::Packet { port, octets } => {
                // Between interfaces and between queues the switch keeps no order: where nothing is to wait, one packet
                // after the other goes all the way.
                if !self.queues_stand {
                    self.wait()?;
                }
                self.unsettled = true;
                return self.wires.send(*port, octets);
            }
            Step::Expect { port, packet } => {
                self.expected.entry(*port).or_default().push(packet.clone());
                return Ok(());
            }
            // What waits behind such a line must still find the queue as it was left.
            Step::Wait => return self.wait(),
            Step::Cli(_) | Step::Counter { .. } => self.settle()?,
        }
        match step {
            Step::Cli(command) => {
                self.queues_stand |= command.starts_with("set_queue_rate");
                self.cli.run(command)?;
            }
            Step::Counter { counter, index, check } => {
                let said = self.cli.run(&format!("counter_read {counter} {index}"))?;
                let wrong = |problem: String| TargetError::Setup(format!("line {line}: {problem}"));
                let value =
                    |unit| value_of(&said, unit).ok_or_else(|| wrong(format!("no {unit} in {said:?}")));
                let got = check.chosen(value("packets")?, value("bytes")?).map_err(wrong)?;
                if !check.holds(got).map_err(wrong)? {
                    let expected = format!("{counter}({index}) {} {} {}", check.unit, check.op, check.value);
                    self.failures.push(Failure::Counter { line, expected, got });
                }
            }
            Step::Packet { .. } | Step::Expect { .. } | Step::Wait => {}
        }
        Ok(())
    }

    /// Waits for all packets that were expected so far. What doesn't come in time is told in the end.
    fn wait(&mut self) -> Result<(), TargetError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.wires.collect(&mut self.frames, 0)?;
            let frames = &self.frames;
            let came = |port| frames.get(port).map_or(0, Vec::len);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.expected.iter().all(|(port, wanted)| came(port) >= wanted.len()) {
                return Ok(());
            }
            self.wires.wait(left)?;
        }
    }

    /// Waits for them, and for packets that show themselves to nobody.
    fn settle(&mut self) -> Result<(), TargetError> {
        if !self.unsettled {
            return Ok(());
        }
        self.unsettled = false;
        self.wait()?;
        sleep(QUIET);
        self.wires.collect(&mut self.frames, 0)
    }
}

/// The number that stands beside `packets` or `bytes`, before it or after it.
fn value_of(said: &str, unit: &str) -> Option<u64> {
    let words: Vec<&str> =
        said.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|word| *word == unit)?;
    let after = words.get(at + 1).and_then(|word| word.parse().ok());
    let before = || at.checked_sub(1).and_then(|before| words.get(before)).and_then(|word| word.parse().ok());
    if said.contains('=') && said.contains(&format!("{unit}=")) { after } else { before().or(after) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_printing_a_counter_are_read() {
        for said in
            ["drops[4112]= (340 bytes, 2 packets)", "drops[4112]=  BmCounterValue(bytes=340, packets=2)"]
        {
            assert_eq!((value_of(said, "packets"), value_of(said, "bytes")), (Some(2), Some(340)), "{said}");
        }
        assert_eq!(value_of("nothing", "packets"), None);
    }
}
