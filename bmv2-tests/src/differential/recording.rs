//! What BMv2 let out, as a digest of each round: enough to hold softswitch against it where BMv2 isn't installed.
//!
//! A text file per plan in `differential/`: what it was made from, which entries BMv2 took, and 32 bits for each round.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use softswitch::Engine;

use super::draw::Draw;
use super::plan::Plan;
use super::soft::Soft;
use super::{Outputs, live};
use crate::target::TargetError;

/// How recordings are made again.
pub const HOW_TO_RECORD: &str = "cargo run -p bmv2-tests --bin differential -- --record";

/// Digests in a line.
const IN_A_LINE: usize = 12;

/// One plan's recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The target and its version.
    pub target: String,
    /// SHA-256 of the program's JSON.
    pub program: String,
    /// What entries and frames are drawn from.
    pub seed: u64,
    /// Which entries BMv2 took.
    pub taken: Vec<bool>,
    /// What left in each round.
    pub digests: Vec<u32>,
}

/// Where a plan's recording is.
#[must_use]
pub fn path(plan: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("differential").join(format!("{plan}.txt"))
}

/// The digest of a round: ports, lengths and octets.
#[must_use]
pub fn digest(outputs: &Outputs) -> u32 {
    let mut hash = Sha256::new();
    for (port, frames) in outputs {
        for frame in frames {
            hash.update(port.to_be_bytes());
            hash.update((frame.len() as u64).to_be_bytes());
            hash.update(frame);
        }
    }
    let hash = hash.finalize();
    hash.iter().take(4).fold(0, |digest, octet| digest << 8 | u32::from(*octet))
}

impl Recording {
    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let taken: String = self.taken.iter().map(|taken| if *taken { '1' } else { '0' }).collect();
        let mut text = format!(
            "target {}\nprogram {}\nseed {}\nentries {taken}\n",
            self.target, self.program, self.seed
        );
        for line in self.digests.chunks(IN_A_LINE) {
            let words: Vec<String> = line.iter().map(|digest| format!("{digest:08x}")).collect();
            let _ = writeln!(text, "{}", words.join(" "));
        }
        text
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It isn't there, or isn't a recording.
    pub fn load(path: &Path) -> Result<Recording, TargetError> {
        let text = fs::read_to_string(path).map_err(|error| TargetError::program(path, &error))?;
        Recording::parse(&text).ok_or_else(|| TargetError::program(path, &"not a recording"))
    }

    fn parse(text: &str) -> Option<Recording> {
        let mut lines = text.lines();
        let mut named = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
        let (target, program) = (named("target")?, named("program")?);
        let seed = named("seed")?.parse().ok()?;
        let taken = named("entries")?.chars().map(|c| c == '1').collect();
        let digests = lines
            .flat_map(str::split_whitespace)
            .map(|word| u32::from_str_radix(word, 16).ok())
            .collect::<Option<_>>()?;
        Some(Recording { target, program, seed, taken, digests })
    }

    /// Runs the same on softswitch and says what differs.
    ///
    /// # Errors
    /// The recording is of another program, or softswitch refuses the program.
    pub fn differences(&self, plan: &Plan, engine: Engine) -> Result<Vec<String>, TargetError> {
        if self.program != plan.program.sha256 {
            let message =
                format!("made with another program; as root, with BMv2: `{HOW_TO_RECORD} {}`", plan.name);
            return Err(TargetError::program(&path(&plan.name), &message));
        }
        let updates = plan.updates(self.seed)?;
        if updates.len() != self.taken.len() {
            let message = "the entries are drawn otherwise now".to_owned();
            return Err(TargetError::program(&path(&plan.name), &message));
        }
        let (mut soft, taken) = Soft::new(plan, &live::made(updates, &self.taken), engine)?;
        let mut found = Vec::new();
        if taken.contains(&false) {
            found.push("softswitch refused an entry that BMv2 took".to_owned());
        }
        let mut draw = Draw::new(!self.seed);
        for (place, recorded) in self.digests.iter().enumerate() {
            if let Some(primer) = plan.primer() {
                soft.round(&primer)?;
            }
            let round = plan.round(&mut draw);
            if digest(&soft.round(&round)?) != *recorded {
                found.push(format!("round {place}: {round:?}"));
            }
        }
        Ok(found)
    }
}
