//! What went wrong with a switch, and what it holds now.

use std::fmt;

use crate::client::{FailedUpdate, RequestError};
use crate::diff::Change;

use super::State;

/// Why a switch doesn't hold what it should.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What was being done.
    pub state: State,
    /// Why it failed.
    pub error: RequestError,
    /// The changes that the switch refused, each with its reason; empty unless single changes were refused.
    pub refused: Vec<(Change, FailedUpdate)>,
    /// What the switch holds now.
    pub remains: Remains,
}

/// What a failed apply has left in a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remains {
    /// What it held before: nothing was changed.
    Untouched,
    /// What it held before: so many changes had been made and were taken back.
    RolledBack {
        /// How many.
        made: usize,
    },
    /// Our program with no entry of ours, or as many as were there before: it was pushed, and no change was kept.
    ProgramOnly,
    /// The connection was lost on the way: up to so many changes may have been made. The next apply completes them.
    Unknown {
        /// How many.
        of: usize,
    },
    /// Changes were made that couldn't be taken back. The next apply completes them.
    Partly {
        /// Why they couldn't.
        reason: RequestError,
    },
}

impl fmt::Display for Remains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untouched => f.write_str("nothing was changed"),
            Self::RolledBack { made: 1 } => f.write_str("the 1 change already made was rolled back"),
            Self::RolledBack { made } => write!(f, "the {made} changes already made were rolled back"),
            Self::ProgramOnly => f.write_str("the program was pushed, no entries are left in it"),
            Self::Unknown { of } => {
                write!(f, "incomplete: up to {of} changes may have been made; apply again to complete them")
            }
            Self::Partly { reason } => {
                write!(f, "incomplete: rolling back failed too ({reason}); apply again to complete it")
            }
        }
    }
}

/// Whether a switch may have made changes although the call as a whole failed: everything that a broken
/// connection shows as.
pub(super) fn uncertain(error: &RequestError) -> bool {
    use p4runtime::status::Code;
    match error {
        RequestError::Unreachable(_) => true,
        RequestError::Refused { code, .. } => {
            let broken =
                [Code::Cancelled, Code::Unknown, Code::DeadlineExceeded, Code::Internal, Code::Unavailable];
            broken.iter().any(|known| *known as i32 == *code)
        }
        RequestError::Updates { .. } | RequestError::NotAll => false,
    }
}
