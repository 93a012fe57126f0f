//! What the real switch did, kept in `recordings/`: one pcapng and one JSON file per case.
//!
//! The pcapng holds every frame that entered (inbound) and left (outbound), with its port's interface; Wireshark reads it.
//! The JSON says what was set up, what was done when, which counters moved, and what all that was recorded from: the
//! target with its version, and the SHA-256 of the program. `cargo run -p bmv2-tests --bin record` writes both.

mod capture;
mod sheet;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::case::{Await, Case, Expected, Step, counter_differences, frame_differences};
use crate::program::Program;
use crate::setup::{Entry, Port, Setup};
use crate::target::{Count, Observed};
use capture::Captured;

/// How recordings are made again.
pub const HOW_TO_RECORD: &str = "cargo run -p bmv2-tests --bin record";

/// Why a recording can't be used or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's word.
        source: std::io::Error,
    },
    /// A file isn't what it should be.
    #[error("{path}: {message}")]
    Content {
        /// The file.
        path: String,
        /// What is wrong.
        message: String,
    },
}

impl RecordingError {
    fn content(path: &Path, message: &dyn Display) -> RecordingError {
        RecordingError::Content { path: path.display().to_string(), message: message.to_string() }
    }
}

/// The JSON file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sheet {
    case: String,
    rule: String,
    target: String,
    target_version: String,
    crn_json_sha256: String,
    ports: Vec<Port>,
    entries: Vec<Entry>,
    script: Vec<RecordedStep>,
    counters: Vec<Cell>,
}

/// A step of the script; its frames are the capture's inbound ones, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedStep {
    Send { port: u16, frames: usize },
    Await(Await),
    Write(Vec<Entry>),
}

/// A counter cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Cell {
    counter: String,
    index: u64,
    packets: u64,
    octets: u64,
}

/// One case as the real switch ran it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    sheet: Sheet,
    captured: Captured,
}

/// Where the recordings are.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings")
}

/// The names of all recordings in a folder, sorted.
///
/// # Errors
/// The folder can't be read.
pub fn names(folder: &Path) -> Result<Vec<String>, RecordingError> {
    let unreadable = |source| RecordingError::File { path: folder.display().to_string(), source };
    let mut names = Vec::new();
    for file in fs::read_dir(folder).map_err(unreadable)? {
        let path = file.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "json")
            && let Some(name) = path.file_stem()
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

impl Recording {
    /// What a target showed of a case.
    #[must_use]
    pub fn new(
        case: &Case,
        observed: &Observed,
        target: &str,
        version: &str,
        program: &Program,
    ) -> Recording {
        let counters = observed
            .counters
            .iter()
            .map(|((counter, index), count)| Cell {
                counter: counter.clone(),
                index: *index,
                packets: count.packets,
                octets: count.octets,
            })
            .collect();
        let sheet = Sheet {
            case: case.name.clone(),
            rule: case.rule.clone(),
            target: target.to_owned(),
            target_version: version.to_owned(),
            crn_json_sha256: program.sha256.clone(),
            ports: case.setup.ports.clone(),
            entries: case.setup.entries.clone(),
            script: case.script.iter().map(recorded_step).collect(),
            counters,
        };
        Recording { sheet, captured: Captured::new(&case.script, observed) }
    }

    /// Writes both files.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn save(&self, folder: &Path) -> Result<(), RecordingError> {
        sheet::save(&self.sheet, &folder.join(format!("{}.json", self.sheet.case)))?;
        self.captured.save(&folder.join(format!("{}.pcapng", self.sheet.case)), &self.sheet.ports)
    }

    /// Reads both files.
    ///
    /// # Errors
    /// A file can't be read or isn't a recording.
    pub fn load(folder: &Path, name: &str) -> Result<Recording, RecordingError> {
        let path = folder.join(format!("{name}.json"));
        let sheet: Sheet = sheet::load(&path)?;
        let captured = Captured::load(&folder.join(format!("{name}.pcapng")))?;
        let sent: usize = sheet
            .script
            .iter()
            .map(|step| if let RecordedStep::Send { frames, .. } = step { *frames } else { 0 })
            .sum();
        if sent != captured.inbound.len() {
            let message = format!("{sent} frames sent by the script, {} captured", captured.inbound.len());
            return Err(RecordingError::content(&path, &message));
        }
        Ok(Recording { sheet, captured })
    }

    /// The target and version it was recorded from.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("{} {}", self.sheet.target, self.sheet.target_version)
    }

    /// Why it has to be made again: program or case have changed since. `None`: it holds.
    #[must_use]
    pub fn stale(&self, case: Option<&Case>, program: &Program) -> Option<String> {
        let why = match case {
            None => "there is no such case any more".to_owned(),
            Some(_) if self.sheet.crn_json_sha256 != program.sha256 => format!(
                "it was made with a crn.json of SHA-256 {}, now it is {}",
                self.sheet.crn_json_sha256, program.sha256
            ),
            Some(case) => {
                let now = self.to_case();
                if now.setup == case.setup && now.script == case.script {
                    return None;
                }
                "the case has another setup or script now".to_owned()
            }
        };
        Some(format!(
            "the recording `{}` is out of date: {why}. Where simple_switch_grpc is installed, as root: `{HOW_TO_RECORD}`",
            self.sheet.case
        ))
    }

    /// The case that was run, with what the real switch did as its expectation.
    #[must_use]
    pub fn to_case(&self) -> Case {
        let mut inbound = self.captured.inbound.iter();
        let script = self
            .sheet
            .script
            .iter()
            .map(|step| match step {
                RecordedStep::Send { port, frames } => Step::Send {
                    port: *port,
                    frames: inbound.by_ref().take(*frames).map(|(_, _, octets)| octets.clone()).collect(),
                },
                RecordedStep::Await(wanted) => Step::Await(*wanted),
                RecordedStep::Write(entries) => Step::Write(entries.clone()),
            })
            .collect();
        let counters =
            self.sheet.counters.iter().map(|cell| ((cell.counter.clone(), cell.index), cell.packets));
        Case {
            name: self.sheet.case.clone(),
            rule: self.sheet.rule.clone(),
            setup: Setup { ports: self.sheet.ports.clone(), entries: self.sheet.entries.clone() },
            script,
            expected: Expected { frames: Some(self.frames()), counters: counters.collect() },
        }
    }

    /// What differs between the real switch and another target: frames octet for octet per port in order, counters in
    /// packets and octets.
    #[must_use]
    pub fn differences(&self, observed: &Observed) -> Vec<String> {
        let mut found = frame_differences(&self.frames(), &observed.octets());
        let cell = |cell: &Cell| {
            let count = Count { packets: cell.packets, octets: cell.octets };
            ((cell.counter.clone(), cell.index), count)
        };
        let recorded: BTreeMap<_, _> = self.sheet.counters.iter().map(cell).collect();
        found.extend(counter_differences(&recorded, &observed.counters));
        found
    }

    fn frames(&self) -> BTreeMap<u16, Vec<Vec<u8>>> {
        let mut frames: BTreeMap<u16, Vec<Vec<u8>>> = BTreeMap::new();
        for (port, _, octets) in &self.captured.outbound {
            frames.entry(*port).or_default().push(octets.clone());
        }
        frames
    }
}

fn recorded_step(step: &Step) -> RecordedStep {
    match step {
        Step::Send { port, frames } => RecordedStep::Send { port: *port, frames: frames.len() },
        Step::Await(wanted) => RecordedStep::Await(*wanted),
        Step::Write(entries) => RecordedStep::Write(entries.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;
    use crate::target::Seen;

    #[test]
    fn what_was_written_is_read_back() {
        let program = Program::load().unwrap();
        let case = &cases::all()[0];
        let mut observed = Observed::default();
        let frames = case.expected.frames.as_ref().unwrap();
        for (&port, frames) in frames {
            let seen =
                frames.iter().zip(1000..).map(|(octets, at_us)| Seen { octets: octets.clone(), at_us });
            observed.frames.insert(port, seen.collect());
        }
        for ((counter, index), packets) in &case.expected.counters {
            observed
                .counters
                .insert((counter.clone(), *index), Count { packets: *packets, octets: 60 * packets });
        }
        let folder = tempfile::tempdir().unwrap();
        let recording = Recording::new(case, &observed, "a target", "1.2.3", &program);
        recording.save(folder.path()).unwrap();
        let read = Recording::load(folder.path(), &case.name).unwrap();
        assert_eq!(read, recording);
        assert_eq!(names(folder.path()).unwrap(), [case.name.as_str()]);
        assert_eq!(read.differences(&observed), Vec::<String>::new());
        assert_eq!(read.stale(Some(case), &program), None);
        assert_eq!(read.to_case().differences(&observed), Vec::<String>::new());
    }

    #[test]
    fn a_changed_program_and_a_changed_case_are_noticed() {
        let mut program = Program::load().unwrap();
        let mut case = cases::all().remove(0);
        let recording = Recording::new(&case, &Observed::default(), "a target", "1.2.3", &program);
        case.setup.ports[0].depth_packets += 1;
        assert!(recording.stale(Some(&case), &program).unwrap().contains("another setup"));
        case.setup.ports[0].depth_packets -= 1;
        program.sha256.replace_range(..1, "x");
        assert!(recording.stale(Some(&case), &program).unwrap().contains(HOW_TO_RECORD));
        assert!(recording.stale(None, &program).unwrap().contains("no such case"));
    }
}
