//! `CREDIT_GRANT`, Type 0x04.

use super::codes::MessageId;
use crate::octets::{Ended, Reader};
use crate::units::{MbitPerSec, Micros, Octets};

/// Permission to transmit (RDCC, Credit Requests and Grants). [`super::Flags::POOL`] and [`super::Flags::FINAL`] stand
/// in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CreditGrant {
    /// The message; zero in a pool grant.
    pub message_id: MessageId,
    /// Cumulative offset, exclusive, up to which the sender may transmit.
    pub grant_limit: Octets,
    /// No faster than this. Zero makes the grant one to ignore.
    pub pacing_rate: MbitPerSec,
    /// How long the grant holds after its reception; zero for the association's default.
    pub lifetime: Micros,
}

impl CreditGrant {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        Ok(Self {
            message_id: MessageId(body.u64()?),
            grant_limit: Octets(body.u64()?),
            pacing_rate: MbitPerSec(body.u32()?),
            lifetime: Micros(body.u32()?),
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.message_id.0.to_be_bytes());
        out.extend_from_slice(&self.grant_limit.0.to_be_bytes());
        out.extend_from_slice(&self.pacing_rate.0.to_be_bytes());
        out.extend_from_slice(&self.lifetime.0.to_be_bytes());
    }
}
