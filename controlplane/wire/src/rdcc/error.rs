//! ERROR, Type 0x0A.

use super::codes::{MessageId, Reason};
use crate::octets::{Ended, Reader};

/// Something was refused. Unlike in CANCEL, the reason stands before the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorMessage {
    /// Why.
    pub reason: Reason,
    /// The message; zero when the error concerns the whole association.
    pub message_id: MessageId,
}

impl ErrorMessage {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        let reason = Reason(body.u16()?);
        body.skip::<2>()?;
        Ok(Self { reason, message_id: MessageId(body.u64()?) })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.reason.0.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.message_id.0.to_be_bytes());
    }
}
