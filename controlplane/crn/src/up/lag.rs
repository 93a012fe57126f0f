//! Whether the machine keeps up: how long switches and agents have waited for a processor that others had.
//!
//! A run divides rates and multiplies times so that the machine can carry it, but a processor that others use is another
//! matter: a switch or a sender that has its turn late sends late, and the queue that follows isn't the topology's. The
//! kernel knows: it counts for each thread how long it was ready and not running (`schedstat`). A window, one base round-trip
//! time long, in which a thread waited for more than half of it is one in which the machine didn't keep up.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::process::Identity;

/// A thread, and when its process was started.
type Thread = (Identity, i32);

/// How long the threads of a run's processes have waited.
#[derive(Debug)]
pub struct Lag {
    /// The shortest window.
    window: Duration,
    since: Instant,
    /// What the kernel had counted then, in nanoseconds.
    before: BTreeMap<Thread, u64>,
    /// Windows that were looked at.
    windows: u64,
    late: u64,
    /// The longest wait of a window, and whose it was.
    longest: Option<(Duration, String)>,
}

impl Lag {
    /// Windows are one base round-trip time long, or as long as it takes until the next look.
    pub fn new(base_rtt_ns: u64) -> Self {
        let window = Duration::from_nanos(base_rtt_ns);
        let (since, before) = (Instant::now(), BTreeMap::new());
        Self { window, since, before, windows: 0, late: 0, longest: None }
    }

    /// Looks at the processes that run, if a window is over.
    pub fn look<'a>(&mut self, running: impl Iterator<Item = (Identity, &'a str)>) {
        let length = self.since.elapsed();
        if length >= self.window || self.before.is_empty() {
            let all = running
                .flat_map(|(process, name)| waited(process).into_iter().map(move |found| (name, found)));
            self.take(length, all.collect());
            self.since = Instant::now();
        }
    }

    /// Takes in what the kernel has counted at the end of a window.
    fn take(&mut self, length: Duration, counted: Vec<(&str, (Thread, u64))>) {
        let before = std::mem::take(&mut self.before);
        let mut is_late = false;
        for (name, (thread, waited)) in counted {
            self.before.insert(thread, waited);
            // What one that is new waited for was its beginning.
            let Some(before) = before.get(&thread) else { continue };
            let wait = Duration::from_nanos(waited.saturating_sub(*before));
            is_late |= wait > length / 2;
            if self.longest.as_ref().is_none_or(|(longest, _)| wait > *longest) {
                self.longest = Some((wait, name.to_owned()));
            }
        }
        self.windows += u64::from(!before.is_empty());
        self.late += u64::from(is_late);
    }

    /// Whether it kept up in all windows.
    pub fn kept_up(&self) -> bool {
        self.late == 0
    }

    /// What has to be known about it.
    pub fn said(&self) -> Option<String> {
        let (longest, name) = self.longest.as_ref()?;
        let longest = format!("{name} waited {:.1} ms for a processor", longest.as_secs_f64() * 1000.0);
        Some(if self.kept_up() {
            format!("the machine kept up: at most {longest} within a round trip")
        } else {
            format!(
                "the machine couldn't keep up in {} of {} round trips, {longest}: what depends on time isn't the topology's",
                self.late, self.windows
            )
        })
    }

    /// One object.
    pub fn json(&self) -> Value {
        let (longest, name) = self.longest.clone().unzip();
        json!({
            "kept_up": self.kept_up(), "windows": self.windows, "late": self.late,
            "longest_ms": longest.map(|longest| longest.as_secs_f64() * 1000.0), "longest_of": name,
        })
    }
}

/// The threads of a process, and how long each was ready and didn't run, in nanoseconds; nothing where the kernel doesn't count.
fn waited(process: Identity) -> Vec<(Thread, u64)> {
    let folder = format!("/proc/{}/task", process.pid);
    let threads = fs::read_dir(&folder).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| {
        let thread = entry.file_name().to_str()?.parse().ok()?;
        let text = fs::read_to_string(entry.path().join("schedstat")).ok()?;
        // Time on a processor, time ready for one, and how often.
        Some(((process, thread), text.split(' ').nth(1)?.parse().ok()?))
    };
    threads.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_for_more_than_half_a_window_is_late() {
        let mut lag = Lag::new(80_000_000);
        let (one, other) = ((Identity { pid: 1, start: 1 }, 1), (Identity { pid: 2, start: 1 }, 2));
        let window = Duration::from_millis(80);
        let mut take = |counted: [(&'static str, (Thread, u64)); 2]| {
            lag.take(window, counted.to_vec());
            (lag.windows, lag.late, lag.said())
        };
        // What came before isn't known.
        assert_eq!(take([("s1", (one, 500_000_000)), ("a", (other, 0))]), (0, 0, None));
        let (windows, late, said) = take([("s1", (one, 540_000_000)), ("a", (other, 1_000_000))]);
        assert_eq!((windows, late), (1, 0), "just half");
        let kept_up = "the machine kept up: at most s1 waited 40.0 ms for a processor within a round trip";
        assert_eq!(said.as_deref(), Some(kept_up));
        let (windows, late, said) = take([("s1", (one, 540_000_000)), ("a", (other, 41_000_001))]);
        assert_eq!((windows, late), (2, 1), "more than half");
        let said = said.unwrap();
        assert!(
            said.starts_with("the machine couldn't keep up in 1 of 2 round trips, a waited 40.0 ms"),
            "{said}"
        );
        assert!(!lag.kept_up() && lag.json()["kept_up"] == false);
    }

    #[test]
    fn the_kernel_counts_for_each_thread() {
        assert!(!waited(Identity::own().unwrap()).is_empty());
    }
}
