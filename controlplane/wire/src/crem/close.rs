//! `CLOSE`, Type 9. Its body is our decision: the document gives a reason and no layout.

use super::codes::CloseReason;
use crate::octets::{Ended, Reader};

/// Ends the protection of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Close {
    /// Why.
    pub reason: CloseReason,
}

impl Close {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        let close = Self { reason: CloseReason(body.u8()?) };
        body.skip::<3>()?;
        Ok(close)
    }

    pub(super) fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.reason.0, 0, 0, 0]);
    }
}
