//! Processes by what doesn't change hands: their number together with when they were started.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Every process of a run has the run's id in its environment under this name, so that also one whose start couldn't be
/// written down any more is found.
pub const MARK: &str = "CRN_RUN";

/// How long processes may take to end when asked.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Its number; another process may have it later.
    pub pid: i32,
    /// When it was started, in clock ticks since the machine was.
    pub start: u64,
}

impl Identity {
    /// The process that has a number now.
    pub fn of(pid: i32) -> Option<Self> {
        let (_, start) = stat(pid)?;
        Some(Self { pid, start })
    }

    /// The calling process.
    pub fn own() -> Result<Self> {
        let pid = Pid::this().as_raw();
        Self::of(pid).ok_or_else(|| miette!("/proc doesn't show this process; crn up needs /proc"))
    }

    /// Whether it is still there and hasn't ended; one that waits to be buried has.
    pub fn is_running(self) -> bool {
        stat(self.pid).is_some_and(|(state, start)| start == self.start && state != 'Z' && state != 'X')
    }

    /// Sends a signal, if it is still the same process.
    pub fn signal(self, signal: Signal) {
        if self.is_running() {
            let _ = kill(Pid::from_raw(self.pid), signal);
        }
    }

    /// Whether it ended within a time.
    pub fn ends_within(self, time: Duration) -> bool {
        let begin = Instant::now();
        while self.is_running() {
            if begin.elapsed() > time {
                return false;
            }
            thread::sleep(LOOK);
        }
        true
    }
}

/// State and start of a process.
fn stat(pid: i32) -> Option<(char, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it stands in brackets and may hold anything, brackets too.
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    // The 22nd field; the state is the third.
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// The processes that bear a run's mark.
pub fn marked(run: &str) -> Vec<Identity> {
    let mark = format!("{MARK}={run}");
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let bears = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&octet| octet == 0).any(|variable| variable == mark.as_bytes())
    };
    pids.filter(bears).filter_map(Identity::of).filter(|found| found.is_running()).collect()
}

/// Ends processes: asks them, and after a while doesn't ask any more. Gives those that are still there.
pub fn end(processes: &[Identity]) -> Vec<Identity> {
    let mut left = processes.to_vec();
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        for process in &left {
            process.signal(signal);
        }
        let begin = Instant::now();
        left.retain(|process| !process.ends_within(PATIENCE.saturating_sub(begin.elapsed())));
    }
    left
}

/// Does something within a network namespace, in a thread of its own: processes started there are in it as well.
pub fn within<T: Send>(namespace: &str, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let path = Path::new("/run/netns").join(namespace);
    let enter = || -> Result<T> {
        let file = File::open(&path).into_diagnostic().wrap_err_with(|| path.display().to_string())?;
        setns(file, CloneFlags::CLONE_NEWNET).into_diagnostic().wrap_err("can't enter a namespace")?;
        work()
    };
    thread::scope(|scope| scope.spawn(enter).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Where a program is; Debian's users don't have root's folders on their path.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_known_by_its_number_and_its_start_and_ended_only_by_both() {
        let mut child =
            Command::new("sleep").arg("60").env(MARK, "test-0").stdin(Stdio::null()).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let right = Identity::of(pid).unwrap();
        let wrong = Identity { start: right.start + 1, ..right };
        assert!(right.is_running() && !wrong.is_running());
        assert!(end(&[wrong]).is_empty());
        assert!(right.is_running());
        // Its environment is there as soon as it is `sleep`.
        while marked("test-0").is_empty() {
            thread::sleep(LOOK);
        }
        assert_eq!(marked("test-0"), [right]);
        assert!(marked("test-").is_empty());
        assert!(end(&[right]).is_empty());
        child.wait().unwrap();
        assert!(!right.is_running());
    }
}
