//! `CREDIT_RETURN`, Type 0x09.

use super::codes::MessageId;
use crate::octets::{Ended, Reader};
use crate::units::Octets;

/// Credit that the sender will not use (RDCC, Credit Requests and Grants).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CreditReturn {
    /// The message.
    pub message_id: MessageId,
    /// The offset beyond which the sender will not transmit; never below what it transmitted already.
    pub new_limit: Octets,
}

impl CreditReturn {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        Ok(Self { message_id: MessageId(body.u64()?), new_limit: Octets(body.u64()?) })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.message_id.0.to_be_bytes());
        out.extend_from_slice(&self.new_limit.0.to_be_bytes());
    }
}
