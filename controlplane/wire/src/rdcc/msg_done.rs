//! `MSG_DONE`, Type 0x07.

use super::codes::MessageId;
use crate::octets::{Ended, Reader};
use crate::units::Octets;

/// All octets of a message arrived (RDCC, Credit Requests and Grants).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MsgDone {
    /// The message.
    pub message_id: MessageId,
    /// Octets that the receiver counted for it.
    pub octets_received: Octets,
}

impl MsgDone {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        Ok(Self { message_id: MessageId(body.u64()?), octets_received: Octets(body.u64()?) })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.message_id.0.to_be_bytes());
        out.extend_from_slice(&self.octets_received.0.to_be_bytes());
    }
}
