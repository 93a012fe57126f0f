//! `PARAM_UPDATE`, Type 4, and `PARAM_ACK`, Type 5.

use super::codes::{ParamStatus, Scheme};
use crate::octets::{Ended, Reader};
use crate::roce::Psn;

/// A configuration and the PSN from which it is meant to hold (CREM, Configuration Changes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParamUpdate {
    /// Names the configuration.
    pub config_id: u8,
    /// The code.
    pub scheme: Scheme,
    /// Positions of a block; not checked here, 0 included.
    pub k: u8,
    /// Repair symbols of a block.
    pub m: u8,
    /// Octets of a symbol.
    pub t: u16,
    /// Blocks that start here or later may use it.
    pub effective_psn: Psn,
}

impl ParamUpdate {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        let (config_id, scheme, k, m) = (body.u8()?, Scheme(body.u8()?), body.u8()?, body.u8()?);
        let t = body.u16()?;
        body.skip::<2>()?;
        Ok(Self { config_id, scheme, k, m, t, effective_psn: Psn::new(body.u32()? >> 8) })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.config_id, self.scheme.0, self.k, self.m]);
        out.extend_from_slice(&self.t.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&(self.effective_psn.value() << 8).to_be_bytes());
    }
}

/// Answers `PARAM_UPDATE` (CREM, Configuration Changes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParamAck {
    /// The configuration in question.
    pub config_id: u8,
    /// Accepted, or why not.
    pub status: ParamStatus,
}

impl ParamAck {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        let ack = Self { config_id: body.u8()?, status: ParamStatus(body.u8()?) };
        body.skip::<2>()?;
        Ok(ack)
    }

    pub(super) fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.config_id, self.status.0, 0, 0]);
    }
}
