//! What a run has made, written down before it is made, so that it can be removed by somebody else.
//!
//! A run is a folder with the run's id as its name; in it, a journal with one JSON object a line. A line that was cut off
//! by a sudden end is about something that wasn't made yet.
//!
//! Somebody may clean up the folder for temporary files while a run is under way. So each run also has a sign beside the
//! namespaces themselves, which says where its folder is: a sign whose folder has gone is enough to find the rest, by names.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use serde_json::{Value, json};

use super::network;
use super::process::Identity;

/// The folder of all runs, in the one for such things.
const FOLDER: &str = "crn-runs";
/// The journal's name in a run's folder.
const JOURNAL: &str = "journal";
/// Where the signs of runs are: what is there goes when namespaces do, with the machine.
const SIGNS: &str = "/run/crn-up";

/// What is in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The `crn up` of the run, and its topology.
    Run(Identity, String),
    /// A network namespace.
    Namespace(String),
    /// A process that was started.
    Process(Identity),
}

impl Record {
    fn to_json(&self) -> Value {
        let identity = |who: &Identity| json!({ "pid": who.pid, "start": who.start });
        match self {
            Self::Run(who, topology) => json!({ "run": identity(who), "topology": topology }),
            Self::Namespace(name) => json!({ "namespace": name }),
            Self::Process(who) => json!({ "process": identity(who) }),
        }
    }

    fn from_json(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let identity = |value: &Value| {
            Some(Identity {
                pid: value.get("pid")?.as_i64()?.try_into().ok()?,
                start: value.get("start")?.as_u64()?,
            })
        };
        if let Some(who) = value.get("run") {
            let topology = value.get("topology").and_then(Value::as_str).unwrap_or_default();
            return Some(Self::Run(identity(who)?, topology.to_owned()));
        }
        if let Some(name) = value.get("namespace") {
            return Some(Self::Namespace(name.as_str()?.to_owned()));
        }
        Some(Self::Process(identity(value.get("process")?)?))
    }
}

/// A run's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
    id: String,
}

/// A run's folder, to be written.
#[derive(Debug)]
pub struct Journal {
    /// The folder.
    pub folder: Folder,
    file: File,
    /// Of whole records.
    octets: u64,
    /// What it says, should it go away.
    noted: Vec<Record>,
}

impl Journal {
    /// A new run's.
    pub fn create() -> Result<Self> {
        let base = base(&places()[0])?;
        loop {
            // Seeded by the system, differently in each process.
            let id = format!("{:06x}", RandomState::new().build_hasher().finish() & 0xff_ffff);
            let path = base.join(&id);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let journal = path.join(JOURNAL);
                    let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&journal);
                    let file = file.into_diagnostic().wrap_err_with(|| journal.display().to_string())?;
                    return Ok(Self { folder: Folder { path, id }, file, octets: 0, noted: Vec::new() });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).into_diagnostic().wrap_err_with(|| path.display().to_string());
                }
            }
        }
    }

    /// Adds a record: whole, or not at all, so that the next one has a line of its own.
    pub fn note(&mut self, record: &Record) -> Result<()> {
        let line = format!("{}\n", record.to_json());
        let written = self.file.write_all(line.as_bytes());
        match written {
            Ok(()) => {
                self.octets += line.len() as u64;
                self.noted.push(record.clone());
            }
            Err(_) => self.file.set_len(self.octets).into_diagnostic().wrap_err("the run's journal")?,
        }
        written.into_diagnostic().wrap_err("the run's journal")
    }

    /// What was written so far, whatever has become of the folder.
    pub fn noted(&self) -> &[Record] {
        &self.noted
    }

    /// Puts the run's sign up: who it is, and where its folder is.
    pub fn put_sign(&self, owner: &Record) -> Result<()> {
        let signs = own_folder(Path::new(SIGNS))?;
        let path = signs.join(self.folder.id());
        let mut sign = owner.to_json();
        sign["folder"] = json!(self.folder.path);
        fs::write(&path, sign.to_string()).into_diagnostic().wrap_err_with(|| path.display().to_string())
    }
}

impl Folder {
    /// The run's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What the journal says; nothing if the run ended before it had one. Where the folder has gone, what the run's sign says,
    /// and which namespaces have the run's name.
    pub fn records(&self) -> Vec<Record> {
        if !self.path.exists() {
            let sign = fs::read_to_string(Path::new(SIGNS).join(&self.id)).unwrap_or_default();
            let namespaces = network::namespaces_of(&self.id).into_iter().map(Record::Namespace);
            return Record::from_json(&sign).into_iter().chain(namespaces).collect();
        }
        let text = fs::read_to_string(self.file(JOURNAL)).unwrap_or_default();
        text.lines().filter_map(Record::from_json).collect()
    }

    /// Removes it: nothing of the run is left. The sign first: as long as the folder is there, that is enough.
    pub fn remove(&self) -> Result<()> {
        let sign = Path::new(SIGNS).join(&self.id);
        let gone = |path: &Path, removed: io::Result<()>| match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).into_diagnostic().wrap_err_with(|| path.display().to_string())
            }
            _ => Ok(()),
        };
        gone(&sign, fs::remove_file(&sign))?;
        gone(&self.path, fs::remove_dir_all(&self.path))
    }

    /// All runs that have left something, or are running.
    pub fn all() -> Result<Vec<Self>> {
        let mut found = Vec::new();
        for place in places() {
            if !place.join(FOLDER).exists() {
                continue;
            }
            for entry in fs::read_dir(base(&place)?).into_diagnostic()?.flatten() {
                if let Ok(id) = entry.file_name().into_string() {
                    found.push(Self { path: entry.path(), id });
                }
            }
        }
        found.extend(Self::vanished());
        found.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(found)
    }

    /// Those that have a sign, and no folder any more. Whose folder is elsewhere isn't ours.
    fn vanished() -> Vec<Self> {
        let entries = fs::read_dir(SIGNS).into_iter().flatten().flatten();
        let vanished = entries.filter_map(|entry| {
            let id = entry.file_name().into_string().ok()?;
            let sign: Value = serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()?;
            let path = PathBuf::from(sign.get("folder")?.as_str()?);
            (!path.exists()).then_some(Self { path, id })
        });
        vanished.collect()
    }
}

/// Where runs are written down: in the first; they are looked for in all, since `sudo` may have a different environment.
fn places() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let mut places: Vec<PathBuf> = runtime.into_iter().chain([std::env::temp_dir()]).collect();
    places.dedup();
    places
}

/// The folder of all runs in a place. It must be ours alone: what is written there is what `crn down` ends and removes.
fn base(place: &Path) -> Result<PathBuf> {
    own_folder(&place.join(FOLDER))
}

fn own_folder(path: &Path) -> Result<PathBuf> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(error).into_diagnostic().wrap_err_with(|| path.display().to_string());
        }
        _ => {}
    }
    let found = fs::symlink_metadata(path).into_diagnostic()?;
    let mine = found.uid() == nix::unistd::geteuid().as_raw();
    if !found.is_dir() || !mine || found.mode() & 0o022 != 0 {
        return Err(miette!(
            help = "remove it if you know whose it is, or set XDG_RUNTIME_DIR to a folder of your own",
            "{} isn't a folder that only you can write to",
            path.display()
        ));
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_a_line_that_was_cut_off_is_nothing() {
        let who = Identity { pid: 7, start: 99 };
        for record in [
            Record::Run(who, "a.yaml".to_owned()),
            Record::Namespace("crn-1-h".to_owned()),
            Record::Process(who),
        ] {
            let line = record.to_json().to_string();
            assert_eq!(Record::from_json(&line), Some(record));
            for end in 0..line.len() {
                assert_eq!(Record::from_json(&line[..end]), None);
            }
        }
        assert_eq!(Record::from_json(r#"{"process":{"pid":-1e99,"start":1}}"#), None);
    }
}
