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
    /// The program that it ran before, without its clone sessions and multicast groups: ours was refused after they had been
    /// deleted.
    CopiesDeleted {
        /// How many.
        deleted: usize,
    },
    /// The connection was lost on the way: up to so many changes may have been made. The next apply completes them.
    Unknown {
        /// Whether our program was pushed before.
        pushed: bool,
        /// How many.
        of: usize,
    },
    /// Changes were made that couldn't be taken back. The next apply completes them.
    Partly {
        /// Whether our program was pushed before.
        pushed: bool,
        /// Why they couldn't.
        reason: RequestError,
    },
}

impl Remains {
    /// What an attempt has left after another that had left `earlier`: the worst of both. An attempt that got nowhere says
    /// nothing of what an earlier one did.
    #[must_use]
    pub fn after(self, earlier: Option<&Self>) -> Self {
        let Some(earlier) = earlier else { return self };
        let any_pushed = self.pushed() || earlier.pushed();
        // A program that has been pushed since says more than that the one before had lost its copies.
        let outdated = matches!(earlier, Self::CopiesDeleted { .. }) && self.pushed();
        let worst = if earlier.rank() > self.rank() && !outdated { earlier.clone() } else { self.clone() };
        match worst {
            Self::Unknown { of, .. } => {
                // A second attempt writes what the first left: together no more than the larger of both.
                let counted = |other: &Self| if let Self::Unknown { of, .. } = other { *of } else { 0 };
                let of = of.max(counted(&self)).max(counted(earlier));
                Self::Unknown { pushed: any_pushed, of }
            }
            Self::Partly { reason, .. } => Self::Partly { pushed: any_pushed, reason },
            other => other,
        }
    }

    /// Whether an apply has to be run again for the switch to be whole.
    pub fn is_incomplete(&self) -> bool {
        matches!(self, Self::CopiesDeleted { .. } | Self::Unknown { .. } | Self::Partly { .. })
    }

    /// Whether our program was pushed for sure.
    pub(super) fn pushed(&self) -> bool {
        match self {
            Self::ProgramOnly => true,
            Self::Unknown { pushed, .. } | Self::Partly { pushed, .. } => *pushed,
            Self::Untouched | Self::RolledBack { .. } | Self::CopiesDeleted { .. } => false,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Untouched => 0,
            Self::RolledBack { .. } => 1,
            Self::ProgramOnly => 2,
            Self::CopiesDeleted { .. } => 3,
            Self::Unknown { .. } => 4,
            Self::Partly { .. } => 5,
        }
    }
}

impl Failure {
    /// What an operator can do about it, where that is known.
    pub fn help(&self) -> Option<&'static str> {
        use p4runtime::status::Code;
        match (self.state, &self.error) {
            // P4Runtime, Rules for Handling `MasterArbitrationUpdate` Messages: an id that another client has.
            (State::Arbitrating, RequestError::Refused { code, .. })
                if *code == Code::InvalidArgument as i32 =>
            {
                Some(
                    "another controller has this election id already, or the switch doesn't take it: give another \
                 `--election-id`; the highest is primary, lower ones stand by",
                )
            }
            (State::PushingProgram, RequestError::Refused { message, .. })
                if message.contains(BMV2_OTHER_DEVICE) =>
            {
                Some(
                    "BMv2 says this about a device id that isn't its own: `device_id` has to be what `--device-id` gave it",
                )
            }
            _ => None,
        }
    }
}

/// How BMv2 answers a push to a device that it isn't; nothing before says so.
const BMV2_OTHER_DEVICE: &str = "trying to assign device";

impl fmt::Display for Remains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untouched => f.write_str("nothing was changed"),
            Self::RolledBack { made: 1 } => f.write_str("the 1 change already made was rolled back"),
            Self::RolledBack { made } => write!(f, "the {made} changes already made were rolled back"),
            Self::ProgramOnly => f.write_str("the program was pushed, no entries are left in it"),
            Self::CopiesDeleted { deleted } => write!(
                f,
                "incomplete: it runs the program that it ran before, without its {deleted} clone sessions and multicast groups; \
                 apply again to complete it"
            ),
            Self::Unknown { pushed: false, of: 0 } => f.write_str(
                "it isn't known which program it runs now; apply again to find out and complete it",
            ),
            Self::Unknown { pushed: true, of: 0 } => {
                f.write_str("incomplete: the program was pushed; apply again to complete its entries")
            }
            Self::Unknown { pushed: true, of } => write!(
                f,
                "incomplete: the program was pushed, and up to {of} changes may have been made; apply again to complete them"
            ),
            Self::Unknown { pushed: false, of } => {
                write!(f, "incomplete: up to {of} changes may have been made; apply again to complete them")
            }
            Self::Partly { pushed, reason } => {
                let program = if *pushed { "the program was pushed, and " } else { "" };
                write!(
                    f,
                    "incomplete: {program}rolling back failed too ({reason}); apply again to complete it"
                )
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
        RequestError::Updates { .. } | RequestError::TooMuch(_) | RequestError::NotAll => false,
    }
}
