//! `ASSOC_ACCEPT`, Type 0x02.

use super::codes::Capabilities;
use crate::octets::{Ended, Reader};
use crate::units::{Micros, Octets32};

/// Answers `ASSOC_REQUEST`, or changes the parameters with [`super::Flags::PARAMETER_UPDATE`]
/// (RDCC, Association Establishment).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AssocAccept {
    /// The nonce of the request, echoed.
    pub sender_nonce: u64,
    /// What the receiver can do.
    pub capabilities: Capabilities,
    /// U: octets of a message that may go before there is credit. Zero disables unscheduled mode.
    pub unscheduled_limit: Octets32,
    /// J: upper bound of the random delay before an unscheduled transmission.
    pub start_jitter: Micros,
    /// `N_cu`: unused credit above which the sender reports its own congestion.
    pub backlog_threshold: Octets32,
    /// The lifetime of grants that state none.
    pub grant_lifetime: Micros,
    /// The Credit Unit, typically the path MTU's payload.
    pub credit_unit: Octets32,
}

impl AssocAccept {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        Ok(Self {
            sender_nonce: body.u64()?,
            capabilities: Capabilities(body.u32()?),
            unscheduled_limit: Octets32(body.u32()?),
            start_jitter: Micros(body.u32()?),
            backlog_threshold: Octets32(body.u32()?),
            grant_lifetime: Micros(body.u32()?),
            credit_unit: Octets32(body.u32()?),
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sender_nonce.to_be_bytes());
        out.extend_from_slice(&self.capabilities.0.to_be_bytes());
        out.extend_from_slice(&self.unscheduled_limit.0.to_be_bytes());
        out.extend_from_slice(&self.start_jitter.0.to_be_bytes());
        out.extend_from_slice(&self.backlog_threshold.0.to_be_bytes());
        out.extend_from_slice(&self.grant_lifetime.0.to_be_bytes());
        out.extend_from_slice(&self.credit_unit.0.to_be_bytes());
    }
}
