//! The prompt of `crn up --cli`: lines of a person, or of a script.
//!
//! Reading waits, and the run goes on meanwhile: a thread reads, one line for each that was dealt with. The terminal is given
//! back as it was, however the run ends.

use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread;

use miette::{IntoDiagnostic as _, Result};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Config, Editor};

/// What stands before a line that somebody types.
const MARK: &str = "crn> ";

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A line.
    Line(String),
    /// Nothing more will come.
    End,
}

/// The reading thread.
#[derive(Debug)]
pub struct Prompt {
    lines: Receiver<Input>,
    next: SyncSender<()>,
    /// How the terminal was.
    before: Option<Termios>,
}

impl Prompt {
    /// Begins to read.
    pub fn start() -> Result<Self> {
        let before = io::stdin().is_terminal().then(|| tcgetattr(io::stdin().as_fd()).ok()).flatten();
        let config = Config::builder().auto_add_history(true).build();
        let history = MemHistory::with_config(&config);
        let mut editor: Editor<(), MemHistory> = Editor::with_history(config, history).into_diagnostic()?;
        let mark = if before.is_some() { MARK } else { "" };
        let (found, lines) = channel();
        let (next, wanted) = sync_channel::<()>(1);
        let read = move || {
            while wanted.recv().is_ok() {
                let input = loop {
                    match editor.readline(mark) {
                        Ok(line) => break Input::Line(line),
                        // Ctrl-C takes a line back; it ends nothing.
                        Err(ReadlineError::Interrupted) => {}
                        Err(_) => break Input::End,
                    }
                };
                if found.send(input).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("prompt".to_owned()).spawn(read).into_diagnostic()?;
        let prompt = Self { lines, next, before };
        prompt.ask();
        Ok(prompt)
    }

    /// Has the next line read.
    pub fn ask(&self) {
        // The thread is gone only when nothing more comes, and that has been said.
        let _ = self.next.try_send(());
    }

    /// What was read meanwhile, if anything was.
    pub fn heard(&self) -> Option<Input> {
        match self.lines.try_recv() {
            Ok(input) => Some(input),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Input::End),
        }
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin().as_fd(), SetArg::TCSANOW, before);
        }
    }
}
