//! CANCEL, Type 0x08.

use super::codes::{MessageId, Reason};
use crate::octets::{Ended, Reader};

/// A message is abandoned, by either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cancel {
    /// The message.
    pub message_id: MessageId,
    /// Why.
    pub reason: Reason,
}

impl Cancel {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        let cancel = Self { message_id: MessageId(body.u64()?), reason: Reason(body.u16()?) };
        body.skip::<2>()?;
        Ok(cancel)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.message_id.0.to_be_bytes());
        out.extend_from_slice(&self.reason.0.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
    }
}
