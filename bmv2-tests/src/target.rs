//! What runs a case, and what it saw.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use p4runtime::p4::v1::{Entity, entity};

use crate::case::Case;

/// Whether a target can be used on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It can; the version that it says it has.
    Present {
        /// Version.
        version: String,
    },
    /// It can't, and why. Its cases are listed as absent, never as passed.
    Absent {
        /// Why.
        reason: String,
    },
}

/// A frame that left the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// From the destination address on, without FCS.
    pub octets: Vec<u8>,
    /// Microseconds since the script began, of the target's clock. Informative: no expectation depends on it.
    pub at_us: u64,
}

/// A counter cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Octets of those packets as they entered the switch.
    pub octets: u64,
}

/// All that a target shows of one case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Frames that left, by port, in order.
    pub frames: BTreeMap<u16, Vec<Seen>>,
    /// When each sent frame was given to the switch, in the order of the script, microseconds.
    pub sent_us: Vec<u64>,
    /// All counter cells that aren't 0, by counter and index.
    pub counters: BTreeMap<(String, u64), Count>,
}

/// Runs cases. Each run begins with a switch that nothing was ever written to.
pub trait Target {
    /// Its name, as in lists and recordings.
    fn name(&self) -> &'static str;

    /// Whether it can be used here.
    fn presence(&self) -> Presence;

    /// Sets a fresh switch up, plays the case's script, and reads the counters. Bounded in time.
    ///
    /// # Errors
    /// The switch couldn't be started or set up, or a frame that the script waits for didn't come.
    fn run(&self, case: &Case) -> Result<Observed, TargetError>;
}

/// Says all that is wrong with a run: why it ended early, and what differs from what was wanted.
///
/// # Errors
/// The text, if anything is wrong.
pub fn judge(
    result: &Result<Observed, TargetError>,
    differences: impl Fn(&Observed) -> Vec<String>,
) -> Result<(), String> {
    let wrong = match result {
        Ok(observed) => differences(observed),
        Err(error) => {
            let mut wrong = vec![error.to_string()];
            wrong.extend(error.observed().map(differences).unwrap_or_default());
            wrong
        }
    };
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n  ")) }
}

/// Why a case couldn't be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The compiled program can't be used.
    #[error("{path}: {message} (`make p4` compiles it)")]
    Program {
        /// The file.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// The case names something that the program doesn't have.
    #[error("setup: {0}")]
    Setup(String),
    /// The switch refused, or couldn't be started.
    #[error("{0}")]
    Switch(String),
    /// A frame that the script waits for didn't come in time.
    #[error("{wanted} frames expected at port {port}, {got} came{}", said(.log))]
    Missing {
        /// Port.
        port: u16,
        /// How many should have come so far.
        wanted: usize,
        /// How many came.
        got: usize,
        /// What had been seen until then.
        observed: Box<Observed>,
        /// The last lines that the switch said, if any.
        log: String,
    },
    /// This machine was too busy for the depths to be what the arithmetic says: the run means nothing.
    #[error("a burst took {took_us} us to enter; the switch's queues wait only for {limit_us} us")]
    Disturbed {
        /// What it took.
        took_us: u64,
        /// What it may take.
        limit_us: u64,
    },
}

impl TargetError {
    /// What had been seen when a frame was missing.
    #[must_use]
    pub fn observed(&self) -> Option<&Observed> {
        if let TargetError::Missing { observed, .. } = self { Some(observed) } else { None }
    }

    pub(crate) fn program(path: &Path, error: &dyn Display) -> TargetError {
        TargetError::Program { path: path.display().to_string(), message: error.to_string() }
    }

    pub(crate) fn switch(what: &str, error: &dyn Display) -> TargetError {
        TargetError::Switch(format!("{what}: {error}"))
    }
}

fn said(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("; the switch said:\n{log}") }
}

/// A counter cell as P4Runtime gives it, unless it is 0.
pub(crate) fn counted(entity: &Entity, counter: &str) -> Option<((String, u64), Count)> {
    let Some(entity::Entity::CounterEntry(entry)) = &entity.entity else { return None };
    let (index, data) = (entry.index.as_ref()?, entry.data.as_ref()?);
    let count = Count {
        packets: u64::try_from(data.packet_count).unwrap_or_default(),
        octets: u64::try_from(data.byte_count).unwrap_or_default(),
    };
    let index = u64::try_from(index.index).unwrap_or_default();
    (count != Count::default()).then(|| ((counter.to_owned(), index), count))
}
