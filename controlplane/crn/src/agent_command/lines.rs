//! Lines for standard output, by a thread of their own: a reader that pauses stops that thread, and never the agent.
//!
//! Lines wait in a bounded queue. What comes while it is full is lost, and counted: the next line that finds room is preceded
//! by one that says how many.

use std::fs::File;
use std::future::pending;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use miette::{IntoDiagnostic as _, Result};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use wire::units::Nanos;

use super::interrupted;

/// Lines that wait at most, beside what the pipe holds.
const WAITING: usize = 1024;

/// Octets written at once, some more or less.
const CHUNK: usize = 1 << 14;

/// How long an agent that was asked to end waits for whoever reads its lines.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Standard output of an agent.
pub struct Output {
    lines: Lines,
    written: oneshot::Receiver<()>,
}

/// Where an agent's lines go; each copy is the same. All but the one of [`Output`] must be gone when that is finished.
#[derive(Clone)]
pub struct Lines {
    json: bool,
    queue: SyncSender<String>,
    lost: Lost,
}

/// How many lines nobody took in time.
#[derive(Clone, Default)]
pub struct Lost(Arc<Counts>);

#[derive(Default)]
struct Counts {
    total: AtomicU64,
    /// Of those, how many a line has told of.
    told: AtomicU64,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    /// Lines that should stand here.
    LinesLost { count: u64 },
}

impl Output {
    /// `json`: a JSON object a line, else lines for people.
    pub fn start(json: bool) -> Result<Self> {
        let (queue, waiting) = sync_channel(WAITING);
        let (done, written) = oneshot::channel();
        let lost = Lost::default();
        let counted = lost.clone();
        let write = move || {
            // Whoever read the output has gone: the agent goes on without.
            let _ = write_all(&waiting, &counted);
            drop(done);
        };
        std::thread::Builder::new().name("output".to_owned()).spawn(write).into_diagnostic()?;
        Ok(Self { lines: Lines { json, queue, lost }, written })
    }

    /// To print with.
    pub fn lines(&self) -> Lines {
        self.lines.clone()
    }

    /// Adds the last words, and waits until all is written, or until there is no more use in waiting: for a second where the
    /// agent was `asked` to end, else until somebody asks. Within a runtime.
    pub async fn finish(self, last: String, asked: bool) {
        let Self { lines, written } = self;
        let all = async {
            let mut last = lines.notice(None).unwrap_or_default() + &last;
            while let Err(TrySendError::Full(back)) = lines.queue.try_send(last) {
                last = back;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            drop(lines);
            // Its sender is dropped.
            let _ = written.await;
        };
        let no_more_use = async {
            if asked {
                tokio::time::sleep(LAST_WORDS).await;
            } else if let Ok(interrupt) = interrupted() {
                interrupt.await;
            } else {
                pending::<()>().await;
            }
        };
        tokio::select! {
            () = all => {}
            () = no_more_use => {}
        }
    }
}

impl Lines {
    /// Prints what happened at `now`: as a JSON object with the time in microseconds, or for people in the words of `told`.
    pub fn line<E: Serialize>(&self, now: Nanos, event: &E, told: impl FnOnce(&E) -> String) {
        let Some(line) = self.text(Some(now), event, told) else { return };
        if let Some(notice) = self.notice(Some(now)) {
            let count = self.lost.untold();
            if self.queue.try_send(notice).is_err() {
                self.lost.0.total.fetch_add(1, Ordering::Relaxed);
                return;
            }
            self.lost.0.told.fetch_add(count, Ordering::Relaxed);
        }
        if let Err(TrySendError::Full(_)) = self.queue.try_send(line) {
            self.lost.0.total.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What counts the lines that are lost.
    pub fn lost(&self) -> Lost {
        self.lost.clone()
    }

    /// The line about lines that are lost and that nobody was told of.
    fn notice(&self, now: Option<Nanos>) -> Option<String> {
        let count = Some(self.lost.untold()).filter(|&count| count > 0)?;
        self.text(now, &Event::LinesLost { count }, |_| {
            format!("{count} lines are lost here: whoever reads them took none meanwhile")
        })
    }

    fn text<E: Serialize>(
        &self,
        now: Option<Nanos>,
        event: &E,
        told: impl FnOnce(&E) -> String,
    ) -> Option<String> {
        if !self.json {
            let at = now.map_or_else(String::new, |now| format!("{:.6} s", now.0 as f64 / 1e9));
            return Some(format!("{at:>14}  {}\n", told(event)));
        }
        let mut value = serde_json::to_value(event).ok()?;
        if let Value::Object(fields) = &mut value
            && let Some(now) = now
        {
            fields.insert("at".to_owned(), json!(now.0 as f64 / 1000.0));
        }
        Some(format!("{value}\n"))
    }
}

impl Lost {
    /// Since the start.
    pub fn total(&self) -> u64 {
        self.0.total.load(Ordering::Relaxed)
    }

    fn untold(&self) -> u64 {
        self.total().saturating_sub(self.0.told.load(Ordering::Relaxed))
    }
}

/// Writes what comes. A disk that is full costs lines, which are counted, and is no reason to write no more: it may have room
/// again.
fn write_all(waiting: &Receiver<String>, lost: &Lost) -> io::Result<()> {
    // Without a buffer that would keep what couldn't be written, and write it later.
    let mut out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // Where the last line was cut off, the next one begins a new one.
    let mut cut = false;
    while let Ok(mut text) = waiting.recv() {
        while text.len() < CHUNK
            && let Ok(line) = waiting.try_recv()
        {
            text.push_str(&line);
        }
        if cut {
            text.insert(0, '\n');
        }
        match out.write_all(text.as_bytes()) {
            Ok(()) => cut = false,
            Err(error) if is_full(&error) => {
                let lines = text.matches('\n').count() - usize::from(cut);
                cut = true;
                lost.0.total.fetch_add(u64::try_from(lines).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether there is no room now, and may be later.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
