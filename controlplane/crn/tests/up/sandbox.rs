//! Runs that write themselves down in a folder of a test's own, and what is left of them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::PATIENCE;

/// The switch's name in the topology: nothing else on a machine is called so.
const INTERFACE: &str = "lv1-eth";

/// Nobody.
const NOBODY: u32 = 65_534;

/// A folder in which runs write themselves down.
pub struct Sandbox {
    folder: tempfile::TempDir,
    /// Where in it runs write themselves down.
    written: PathBuf,
    topology: String,
}

/// A run under way.
pub struct Live {
    pub child: Child,
    pub out: BufReader<ChildStdout>,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        let topology = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/up/two-to-one.yaml").to_owned();
        let folder = tempfile::tempdir().unwrap();
        let written = folder.path().to_owned();
        Sandbox { folder, written, topology }
    }

    /// Has runs write themselves down in a folder within.
    pub fn writing_to(self, name: &str) -> Sandbox {
        Sandbox { written: self.folder.path().join(name), ..self }
    }

    pub fn topology(&self) -> &str {
        &self.topology
    }

    /// A place in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A `crn` that knows of this folder's runs only.
    pub fn crn(&self, line: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crn"));
        command.args(line);
        self.marks(&mut command);
        command
    }

    /// Has a command, and all that it starts, use this folder; they are known by that.
    pub fn marks(&self, command: &mut Command) {
        command.env("XDG_RUNTIME_DIR", &self.written).env("TMPDIR", &self.written);
        command.env("NO_COLOR", "1").stdin(Stdio::null());
    }

    /// The same by somebody who isn't root; everything it reads is in the folder, so that it may.
    pub fn as_nobody(&self, command: &str) -> Command {
        let place = |name: &str| self.folder.path().join(name);
        fs::copy(env!("CARGO_BIN_EXE_crn"), place("crn")).unwrap();
        fs::copy(&self.topology, place("topology.yaml")).unwrap();
        fs::set_permissions(self.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut line = Command::new(place("crn"));
        line.arg(command).uid(NOBODY).gid(NOBODY).current_dir("/").env("XDG_RUNTIME_DIR", self.folder.path());
        if command == "up" {
            line.arg(place("topology.yaml"));
        }
        line
    }

    /// A run of the usual topology under way.
    pub fn start(&self, arguments: &[&str]) -> Live {
        self.start_of(self.topology(), arguments)
    }

    /// A run under way.
    pub fn start_of(&self, topology: &str, arguments: &[&str]) -> Live {
        let mut command = self.crn(&["up", topology]);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Live { child, out }
    }

    /// The run's id, when its hosts have what they need.
    pub fn run_of(&self, _: &Live) -> String {
        let begin = Instant::now();
        loop {
            let found = self.runs().into_iter().next();
            if let Some(run) = found.filter(|run| namespaces(run).len() == 4) {
                return run;
            }
            assert!(begin.elapsed() < PATIENCE, "it doesn't begin");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ids of the runs that are written down.
    pub fn runs(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.written.join("crn-runs"));
        let names = entries.into_iter().flatten().flatten();
        names.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    /// Processes that were started by runs of this folder.
    pub fn processes(&self) -> Vec<String> {
        let mark = format!("XDG_RUNTIME_DIR={}", self.written.display());
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let bears = |folder: &PathBuf| {
            let environment = fs::read(folder.join("environ")).unwrap_or_default();
            environment.split(|&octet| octet == 0).any(|variable| variable == mark.as_bytes())
        };
        let line =
            |folder: PathBuf| text(&fs::read(folder.join("cmdline")).unwrap_or_default()).replace('\0', " ");
        entries.map(|entry| entry.path()).filter(bears).map(line).collect()
    }

    /// Checks that nothing is left.
    pub fn is_clean(&self) {
        self.is_clean_of(&BTreeSet::new());
    }

    /// Checks that nothing is left, of these runs either.
    pub fn is_clean_of(&self, runs: &BTreeSet<String>) {
        // A process that has ended is there until somebody buries it.
        let begin = Instant::now();
        while !self.processes().is_empty() && begin.elapsed() < Duration::from_secs(2) {
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.processes(), Vec::<String>::new());
        assert_eq!(self.runs(), BTreeSet::new());
        for run in runs {
            assert_eq!(namespaces(run), Vec::<String>::new());
        }
        let interfaces = fs::read_dir("/sys/class/net").unwrap().flatten();
        let names = interfaces.filter_map(|entry| entry.file_name().into_string().ok());
        assert_eq!(
            names.filter(|name| name.starts_with(INTERFACE)).collect::<Vec<_>>(),
            Vec::<String>::new()
        );
    }
}

impl Live {
    /// A line of its output.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "it has ended");
        line
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// Waits until it has ended; how, and what it said of errors.
    pub fn finish(mut self) -> (ExitStatus, String) {
        let begin = Instant::now();
        // Read to its end, so that it isn't held up.
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        while self.child.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < PATIENCE, "it doesn't end");
            thread::sleep(Duration::from_millis(10));
        }
        let output = self.child.wait_with_output().unwrap();
        (output.status, text(&output.stderr))
    }
}

/// A run's namespaces.
pub fn namespaces(run: &str) -> Vec<String> {
    let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("crn-{run}"))).collect()
}

pub fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

pub fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]).any(|folder| folder.join(name).is_file())
}
