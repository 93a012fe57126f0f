//! `CONGESTION_REPORT`, Type 0x06.

use super::codes::Direction;
use super::decode_error::DecodeError;
use crate::addresses::{AF_IPV4, AF_IPV6, FlowAddresses};
use crate::octets::Reader;
use crate::units::{MbitPerSec, Octets32};

const LENGTH_IPV4: u16 = 48;
const LENGTH_IPV6: u16 = 72;

/// A queue above its threshold, told by an on-path node (RDCC, On-Path Congestion Reporting).
/// The association and the epoch in the header of a report are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CongestionReport {
    /// The node, unique in the domain.
    pub reporter_id: u32,
    /// Occupancy of the queue.
    pub queue_depth: Octets32,
    /// Its threshold `B_th`.
    pub queue_threshold: Octets32,
    /// 0 to 255: how far the queue stands between `B_th` and its capacity.
    pub congestion_degree: u8,
    /// To whom the report is sent.
    pub direction: Direction,
    /// IP protocol of the reported packet; 17 for RoCEv2.
    pub protocol: u8,
    /// Source port of the reported packet.
    pub source_port: u16,
    /// Destination port of the reported packet; 4791 for RoCEv2.
    pub destination_port: u16,
    /// Service rate of the queue divided by the flows seen in it; zero when the node gives none.
    pub suggested_rate: MbitPerSec,
    /// Addresses of the reported packet.
    pub flow: FlowAddresses,
}

impl CongestionReport {
    /// Length of the report in octets, header included: it depends on the family.
    pub const fn message_length(&self) -> u16 {
        match self.flow {
            FlowAddresses::V4 { .. } => LENGTH_IPV4,
            FlowAddresses::V6 { .. } => LENGTH_IPV6,
        }
    }

    pub(super) fn decode(body: &mut Reader<'_>, length: u16) -> Result<Self, DecodeError> {
        let reporter_id = body.u32()?;
        let queue_depth = Octets32(body.u32()?);
        let queue_threshold = Octets32(body.u32()?);
        let congestion_degree = body.u8()?;
        let direction = Direction(body.u8()?);
        let af = body.u8()?;
        let protocol = body.u8()?;
        let source_port = body.u16()?;
        let destination_port = body.u16()?;
        let suggested_rate = MbitPerSec(body.u32()?);
        let (expected, other) = match af {
            AF_IPV4 => (LENGTH_IPV4, LENGTH_IPV6),
            AF_IPV6 => (LENGTH_IPV6, LENGTH_IPV4),
            _ => return Err(DecodeError::UnknownAddressFamily { af }),
        };
        if length < expected || length == other {
            return Err(DecodeError::LengthNotOfFamily { length, af, expected });
        }
        let flow = FlowAddresses::decode(body, af)?.ok_or(DecodeError::UnknownAddressFamily { af })?;
        Ok(Self {
            reporter_id,
            queue_depth,
            queue_threshold,
            congestion_degree,
            direction,
            protocol,
            source_port,
            destination_port,
            suggested_rate,
            flow,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.reporter_id.to_be_bytes());
        out.extend_from_slice(&self.queue_depth.0.to_be_bytes());
        out.extend_from_slice(&self.queue_threshold.0.to_be_bytes());
        out.extend_from_slice(&[self.congestion_degree, self.direction.0, self.flow.af(), self.protocol]);
        out.extend_from_slice(&self.source_port.to_be_bytes());
        out.extend_from_slice(&self.destination_port.to_be_bytes());
        out.extend_from_slice(&self.suggested_rate.0.to_be_bytes());
        self.flow.encode(out);
    }
}
