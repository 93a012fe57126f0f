//! `SENDER_STATUS`, Type 0x05.

use super::codes::ServiceHint;
use crate::octets::{Ended, Reader};
use crate::units::{MbitPerSec, Octets};

/// What a sender with too much unused credit tells its receivers (RDCC, Sender Backlog Indication and Suggested Rates).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SenderStatus {
    /// Credit held on this association and not used yet.
    pub unused_credit: Octets,
    /// 0 none to 255 saturated.
    pub congestion_level: u8,
    /// The dominant hint of the messages pending toward this receiver.
    pub service_hint: ServiceHint,
    /// The rate that the sender would like to be granted; zero for no suggestion.
    pub suggested_rate: MbitPerSec,
}

impl SenderStatus {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        let unused_credit = Octets(body.u64()?);
        let congestion_level = body.u8()?;
        let service_hint = ServiceHint(body.u8()?);
        body.skip::<2>()?;
        Ok(Self { unused_credit, congestion_level, service_hint, suggested_rate: MbitPerSec(body.u32()?) })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.unused_credit.0.to_be_bytes());
        out.extend_from_slice(&[self.congestion_level, self.service_hint.0, 0, 0]);
        out.extend_from_slice(&self.suggested_rate.0.to_be_bytes());
    }
}
