//! What an apply would do to a switch, found out by reading only.

use std::time::Duration;

use p4runtime::client::Address;

use crate::client::{Observer, RequestError};
use crate::desired::Desired;
use crate::diff::{self, Change};
use crate::pipeline::Pipeline;

/// Which program a switch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// This build of ours.
    Ours,
    /// None.
    Missing,
    /// Another, with this cookie; 0 if it has none.
    Other(u64),
}

impl Program {
    /// From what a switch says about the program it runs.
    pub fn of(cookie: Option<u64>, pipeline: &Pipeline) -> Self {
        match cookie {
            None => Self::Missing,
            Some(cookie) if cookie == pipeline.cookie => Self::Ours,
            Some(cookie) => Self::Other(cookie),
        }
    }
}

/// The difference between a switch and what it should hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The program it runs. Unless it is ours, ours will be pushed and everything it holds is lost.
    pub program: Program,
    /// The changes, in the order in which they will be written.
    pub changes: Vec<Change>,
}

impl Plan {
    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.program == Program::Ours && self.changes.is_empty()
    }
}

/// Compares a switch with what it should hold. Writes nothing, and needs no primaryship.
///
/// # Errors
/// The switch can't be reached or refuses to be read.
pub async fn plan(
    address: &Address,
    device_id: u64,
    timeout: Duration,
    pipeline: &Pipeline,
    desired: &Desired,
) -> Result<Plan, RequestError> {
    let mut observer = Observer::connect(address, device_id, timeout).await?;
    let program = Program::of(observer.cookie().await?, pipeline);
    let held = match program {
        Program::Ours => observer.read(diff::read_request(&pipeline.index)).await?,
        // A push leaves nothing of it.
        Program::Missing | Program::Other(_) => Vec::new(),
    };
    Ok(Plan { program, changes: diff::changes(desired, &held) })
}
