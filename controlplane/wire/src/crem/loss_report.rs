//! `LOSS_REPORT`, Type 7.

use crate::octets::{Ended, Reader};
use crate::units::Micros;

/// What the receiver saw in an interval (CREM, Loss Reports).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LossReport {
    /// How long the interval was.
    pub interval: Micros,
    /// Source packets that should have come.
    pub expected: u32,
    /// Source packets that came, before restoration.
    pub received: u32,
    /// Packets restored by decoding.
    pub restored: u32,
    /// Blocks incomplete after the first attempt to decode.
    pub incomplete_blocks: u32,
    /// Source packets with ECN's CE.
    pub ce_marked: u32,
    /// `REPAIR` messages that came.
    pub repairs_received: u32,
    /// `REPAIR` messages with ECN's CE.
    pub repairs_ce_marked: u32,
}

impl LossReport {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        Ok(Self {
            interval: Micros(body.u32()?),
            expected: body.u32()?,
            received: body.u32()?,
            restored: body.u32()?,
            incomplete_blocks: body.u32()?,
            ce_marked: body.u32()?,
            repairs_received: body.u32()?,
            repairs_ce_marked: body.u32()?,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for word in [
            self.interval.0,
            self.expected,
            self.received,
            self.restored,
            self.incomplete_blocks,
            self.ce_marked,
            self.repairs_received,
            self.repairs_ce_marked,
        ] {
            out.extend_from_slice(&word.to_be_bytes());
        }
    }
}
