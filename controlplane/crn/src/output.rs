//! What all commands share about printing: width, colour, plurals, and loading a topology.

use std::io::IsTerminal as _;
use std::path::Path;

use controller::topology::{self, Topology};
use miette::{Diagnostic, Report, Result};

/// Columns where the terminal doesn't say.
const WIDTH: usize = 100;

/// Columns of the terminal.
pub fn width() -> usize {
    std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok())
        .map_or(WIDTH, |width: usize| width.max(40))
}

/// Whether errors are coloured: on a terminal, unless `NO_COLOR` is set.
pub fn color_stderr() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
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
    match topology::load(path) {
        Ok(topology) => {
            for warning in &topology.warnings {
                eprint!("{}", warning.render(width(), color_stderr()));
            }
            Ok(topology)
        }
        Err(errors) => {
            eprint!("{}", errors.render(width(), color_stderr()));
            Err(said())
        }
    }
}

/// A failure that has been printed already: only the exit code is missing.
#[derive(Debug)]
struct Said;

impl std::fmt::Display for Said {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
