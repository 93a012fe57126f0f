//! `REPAIR_REQUEST`, Type 6, in its two forms.

use super::bitmap::Bitmap;
use super::codes::{Flags, MessageType, Scheme};
use super::decode_error::DecodeError;
use super::header::HEADER_OCTETS;
use crate::octets::Reader;
use crate::roce::Psn;

/// Where k stands in the block form.
const K_OFFSET: usize = 10;

/// What is lost (CREM, Requests).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RepairRequest {
    /// Of a block whose structure the receiver knows.
    Block(BlockRequest),
    /// By PSN, with the flag RANGES: the receiver knows no block there.
    Ranges(RangeRequest),
}

/// The block form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockRequest {
    /// The configuration of the block.
    pub config_id: u8,
    /// Its scheme.
    pub scheme: Scheme,
    /// Its positions, 1 to 255.
    pub k: u8,
    /// r: repair symbols that the receiver holds for it.
    pub repairs_held: u8,
    /// The PSN of position 0.
    pub block_start: Psn,
    /// `M_s`: how many symbols would do.
    pub suggested: u8,
    /// Distinguishes successive requests for a block.
    pub request_id: u16,
    /// The set L.
    pub lost: Bitmap,
}

/// The range form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RangeRequest {
    /// Distinguishes successive requests.
    pub request_id: u16,
    /// The lost PSNs; at most 65535 ranges have an encoding.
    pub ranges: Vec<PsnRange>,
}

/// Consecutive PSNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PsnRange {
    /// The first.
    pub start: Psn,
    /// How many.
    pub count: u8,
}

impl RepairRequest {
    /// Length of the message in octets, header included; more than 65535 has no encoding.
    #[expect(clippy::len_without_is_empty, reason = "no message is empty")]
    pub fn len(&self) -> usize {
        HEADER_OCTETS
            + match self {
                Self::Block(request) => 12 + Bitmap::octets(request.k),
                Self::Ranges(request) => 4 + 4 * request.ranges.len(),
            }
    }

    pub(super) const fn flags(&self, flags: Flags) -> Flags {
        flags.set(Flags::RANGES, matches!(self, Self::Ranges(_)))
    }

    pub(super) fn decode(body: &mut Reader<'_>, length: u16, flags: Flags) -> Result<Self, DecodeError> {
        let check = |octets: usize| {
            let expected = HEADER_OCTETS + octets;
            if expected == usize::from(length) {
                Ok(())
            } else {
                Err(DecodeError::LengthMismatch {
                    message_type: MessageType::REPAIR_REQUEST,
                    length,
                    expected,
                })
            }
        };
        if flags.contains(Flags::RANGES) {
            let request_id = body.u16()?;
            let count = usize::from(body.u16()?);
            check(4 + 4 * count)?;
            let mut ranges = Vec::with_capacity(count);
            for _ in 0..count {
                let [p0, p1, p2, count] = body.array()?;
                ranges.push(PsnRange { start: Psn::new(u32::from_be_bytes([0, p0, p1, p2])), count });
            }
            return Ok(Self::Ranges(RangeRequest { request_id, ranges }));
        }
        let [config_id, scheme, k, repairs_held] = body.array()?;
        if k == 0 {
            return Err(DecodeError::ZeroK { offset: K_OFFSET });
        }
        check(12 + Bitmap::octets(k))?;
        let [p0, p1, p2, suggested] = body.array()?;
        let request_id = body.u16()?;
        body.skip::<2>()?;
        Ok(Self::Block(BlockRequest {
            config_id,
            scheme: Scheme(scheme),
            k,
            repairs_held,
            block_start: Psn::new(u32::from_be_bytes([0, p0, p1, p2])),
            suggested,
            request_id,
            lost: Bitmap::decode(body, k)?,
        }))
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let psn_and = |psn: Psn, octet: u8| (psn.value() << 8 | u32::from(octet)).to_be_bytes();
        match self {
            Self::Block(request) => {
                out.extend_from_slice(&[
                    request.config_id,
                    request.scheme.0,
                    request.k,
                    request.repairs_held,
                ]);
                out.extend_from_slice(&psn_and(request.block_start, request.suggested));
                out.extend_from_slice(&request.request_id.to_be_bytes());
                out.extend_from_slice(&[0; 2]);
                request.lost.encode(request.k, out);
            }
            Self::Ranges(request) => {
                out.extend_from_slice(&request.request_id.to_be_bytes());
                let count = u16::try_from(request.ranges.len()).unwrap_or(u16::MAX);
                out.extend_from_slice(&count.to_be_bytes());
                for range in request.ranges.iter().take(count.into()) {
                    out.extend_from_slice(&psn_and(range.start, range.count));
                }
            }
        }
    }
}
