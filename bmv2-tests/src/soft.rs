//! softswitch in this process, in virtual time.

use crate::case::Case;
use crate::target::{Observed, Presence, Target, TargetError};

/// softswitch behind its P4Runtime layer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Soft;

impl Target for Soft {
    fn name(&self) -> &'static str {
        "softswitch"
    }

    fn presence(&self) -> Presence {
        Presence::Present { version: "in process".to_owned() }
    }

    fn run(&self, _case: &Case) -> Result<Observed, TargetError> {
        Err(TargetError::Switch("not attached yet".to_owned()))
    }
}
