//! What all commands share about printing: width, colour, plurals, and loading a topology.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::path::Path;

use comfy_table::{ContentArrangement, Table, presets};
use controller::topology::{self, Problem, SHOWN, Topology};
use miette::{Diagnostic, Report, Result};

/// Columns where nothing says how many there are.
const WIDTH: usize = 100;
/// Columns that there are in any case.
const LEAST_WIDTH: usize = 40;

/// Exit code of a command whose reader has gone: what a shell makes of a process that SIGPIPE (13) has ended.
const READER_GONE: i32 = 128 + 13;

/// Prints a line to standard output.
macro_rules! say {
    ($($argument:tt)*) => { $crate::output::out(format_args!("{}\n", format_args!($($argument)*))) };
}
/// Prints to standard output.
macro_rules! say_as_is {
    ($($argument:tt)*) => { $crate::output::out(format_args!($($argument)*)) };
}
/// Prints a line to standard error.
macro_rules! complain {
    ($($argument:tt)*) => { $crate::output::err(format_args!("{}\n", format_args!($($argument)*))) };
}
/// Prints to standard error.
macro_rules! complain_as_is {
    ($($argument:tt)*) => { $crate::output::err(format_args!($($argument)*)) };
}
pub(crate) use {complain, complain_as_is, say, say_as_is};

/// Prints to standard output. Whoever has read enough (`head`) ends the command quietly; a full disk ends it with a word.
pub fn out(text: fmt::Arguments<'_>) {
    let mut stdout = io::stdout().lock();
    let Err(error) = stdout.write_fmt(text).and_then(|()| stdout.flush()) else { return };
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(READER_GONE);
    }
    err(format_args!("error: can't print: {error}\n"));
    std::process::exit(1);
}

/// Prints to standard error. That nobody can read it is no reason to end: the exit code says the rest.
pub fn err(text: fmt::Arguments<'_>) {
    let _ = io::stderr().lock().write_fmt(text);
}

/// Columns of the terminal; where output goes elsewhere, `COLUMNS` or 100.
pub fn width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| columns.into());
    asked.or_else(terminal).unwrap_or(WIDTH).max(LEAST_WIDTH)
}

/// A table for people, no wider than the terminal: long cells are broken.
pub fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width()).unwrap_or(u16::MAX));
    table.set_header(headings.iter().copied());
    table
}

/// Whether errors are coloured: on a terminal, unless `NO_COLOR` is set.
pub fn color_stderr() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// `1 host`, `2 hosts`, `2 switches`.
pub fn plural(count: usize, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "switch") => format!("{count} switches"),
        (_, "entry") => format!("{count} entries"),
        _ => format!("{count} {what}s"),
    }
}

/// Text broken at spaces, every line indented.
pub fn wrapped(indent: &str, text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && indent.len() + line.chars().count() + 1 + word.chars().count() > width() {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines.iter().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
}

/// Loads a topology, its warnings to standard error.
///
/// # Errors
/// The file's errors, printed already.
pub fn load(path: &Path) -> Result<Topology> {
    load_for(path, false)
}

/// As [`load`]; with `json`, what is refused is printed to standard output as JSON besides.
///
/// # Errors
/// As [`load`].
pub fn load_for(path: &Path, json: bool) -> Result<Topology> {
    match topology::load(path) {
        Ok(topology) => {
            topology.warnings.iter().for_each(show);
            Ok(topology)
        }
        Err(errors) => {
            complain_as_is!("{}", errors.render(width(), color_stderr()));
            if json {
                say!("{}", checked(&errors.file, false, &errors.errors, &errors.warnings));
            }
            Err(said())
        }
    }
}

/// What a check of a file came to, as `--json` says it: at most [`SHOWN`] errors and as many warnings.
pub fn checked(file: &str, ok: bool, errors: &[Problem], warnings: &[Problem]) -> serde_json::Value {
    let list = |problems: &[Problem]| -> Vec<serde_json::Value> {
        problems.iter().take(SHOWN).map(problem_json).collect()
    };
    let more: usize = [errors, warnings].iter().map(|list| list.len().saturating_sub(SHOWN)).sum();
    serde_json::json!({
        "file": file, "ok": ok, "errors": list(errors), "warnings": list(warnings), "more": more,
    })
}

/// A problem as JSON; line and column from 1, null where it isn't about a place.
pub fn problem_json(problem: &Problem) -> serde_json::Value {
    serde_json::json!({
        "code": problem.code, "message": problem.message, "hint": problem.hint, "line": problem.line(),
        "column": problem.column(),
    })
}

/// Shows an error or a warning on standard error.
pub fn show(problem: &Problem) {
    complain_as_is!("{}", problem.render(width(), color_stderr()));
}

/// A failure that has been printed already: only the exit code is missing.
#[derive(Debug)]
struct Said;

impl fmt::Display for Said {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl std::error::Error for Said {}

impl Diagnostic for Said {}

/// Ends a command with exit code 1 after it has said why.
pub fn said() -> Report {
    Report::new(Said)
}

/// Whether a failure has been printed already.
pub fn was_said(report: &Report) -> bool {
    report.downcast_ref::<Said>().is_some()
}
