//! What is wrong with the file, for logs and for /healthz.

use controller::topology::{Problem, SHOWN, TopologyErrors};
use serde_json::Value;
use tracing::{error, warn};

use crate::output::{self, complain_as_is};

/// Problems of the file that /healthz lists.
const LISTED: usize = 20;

/// Why the file that is there now isn't in force.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The first problem in a line: file, line, what is wrong; and how many more there are.
    pub reason: String,
    /// The problems, [`LISTED`] of them at most.
    pub problems: Vec<Value>,
}

impl Refusal {
    /// For problems of a file.
    pub fn of(file: &str, problems: &[Problem]) -> Self {
        let first = problems.first().map_or_else(
            || format!("{file}: it can't be used"),
            |problem| match problem.line() {
                Some(line) => format!("{file}: line {line}: {}", problem.message),
                None if problem.message.contains(file) => problem.message.clone(),
                None => format!("{file}: {}", problem.message),
            },
        );
        let more = match problems.len() {
            0 | 1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        let problems = problems.iter().take(LISTED).map(output::problem_json).collect();
        Self { reason: first + &more, problems }
    }

    /// Where it is no problem of the file itself.
    pub fn because(reason: String) -> Self {
        Self { reason, problems: Vec::new() }
    }
}

/// How problems are logged: for people with the lines that they are about, for programs as fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As every command shows them.
    Text,
    /// An entry each.
    Fields,
}

impl Form {
    /// Logs a file's errors and warnings.
    pub fn errors(self, errors: &TopologyErrors) {
        match self {
            Self::Text => {
                complain_as_is!("{}", errors.render(output::width(), output::color_stderr()));
            }
            Self::Fields => {
                let all = errors.errors.iter().chain(&errors.warnings);
                all.take(SHOWN).for_each(|problem| fields(&errors.file, problem));
                let more = (errors.errors.len() + errors.warnings.len()).saturating_sub(SHOWN);
                if more > 0 {
                    error!(file = errors.file, more, "more problems than are logged");
                }
            }
        }
    }

    /// Logs problems that were found after the file had been read.
    pub fn problems(self, file: &str, problems: &[Problem]) {
        match self {
            Self::Text => problems.iter().for_each(output::show),
            Self::Fields => problems.iter().take(SHOWN).for_each(|problem| fields(file, problem)),
        }
    }
}

fn fields(file: &str, problem: &Problem) {
    let (line, column) = (problem.line(), problem.column());
    let Problem { code, message, hint, warning, .. } = problem;
    if *warning {
        warn!(file, line, column, code, hint, "{message}");
    } else {
        error!(file, line, column, code, hint, "{message}");
    }
}
