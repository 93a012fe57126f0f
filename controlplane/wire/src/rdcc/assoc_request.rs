//! `ASSOC_REQUEST`, Type 0x01.

use super::codes::Capabilities;
use crate::octets::{Ended, Reader};
use crate::units::MbitPerSec;

/// Opens an association, or acknowledges a parameter update with [`super::Flags::UPDATE_ACKNOWLEDGMENT`]
/// (RDCC, Association Establishment).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AssocRequest {
    /// Random; the answer echoes it, which keeps off-path answers out.
    pub sender_nonce: u64,
    /// What the sender can do.
    pub capabilities: Capabilities,
    /// The rate of the sender's link.
    pub line_rate: MbitPerSec,
}

impl AssocRequest {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        let request = Self {
            sender_nonce: body.u64()?,
            capabilities: Capabilities(body.u32()?),
            line_rate: MbitPerSec(body.u32()?),
        };
        body.skip::<16>()?;
        Ok(request)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sender_nonce.to_be_bytes());
        out.extend_from_slice(&self.capabilities.0.to_be_bytes());
        out.extend_from_slice(&self.line_rate.0.to_be_bytes());
        // Four reserved words: the request is as large as its answer, so nothing is amplified.
        out.extend_from_slice(&[0; 16]);
    }
}
