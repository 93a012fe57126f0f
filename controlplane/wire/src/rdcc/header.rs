//! The sixteen octets at the start of every message.

use super::codes::{AssociationId, Epoch, Flags, MessageType, SequenceNumber};
use super::decode_error::DecodeError;
use crate::octets::Reader;

/// The version that this crate speaks.
pub const VERSION: u8 = 1;

/// Octets of the common header.
pub const HEADER_OCTETS: usize = 16;

/// What the common header says beyond Version, Type and Length, which follow from the message
/// (RDCC, Common Header).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header {
    /// The association; zero in `ASSOC_REQUEST` and in reports of CRNs.
    pub association_id: AssociationId,
    /// The receiver's incarnation; zero in `ASSOC_REQUEST` and in reports of CRNs.
    pub epoch: Epoch,
    /// Flags, to be read by the Type.
    pub flags: Flags,
    /// The originator's count of messages.
    pub sequence_number: SequenceNumber,
}

/// The common header with every field, as it stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawHeader {
    /// Four bits of Version, not checked.
    pub version: u8,
    /// The Type, perhaps an unknown one.
    pub message_type: MessageType,
    /// Length of the message in octets, header included, not checked.
    pub length: u16,
    /// The rest.
    pub header: Header,
}

impl RawHeader {
    /// Reads the header and checks only that it is there. An endpoint that wants to know which association a message
    /// of unknown Type belongs to reads it so.
    ///
    /// # Errors
    /// [`DecodeError::TooShort`] when there are fewer than sixteen octets.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let available = octets.len();
        if available < HEADER_OCTETS {
            return Err(DecodeError::TooShort { offset: available.min(2), needed: HEADER_OCTETS, available });
        }
        let mut reader = Reader::new(octets);
        Ok(Self {
            // The four bits beside Version are ignored on receipt.
            version: reader.u8()? >> 4,
            message_type: MessageType(reader.u8()?),
            length: reader.u16()?,
            header: Header {
                association_id: AssociationId(reader.u32()?),
                epoch: Epoch(reader.u16()?),
                flags: Flags(reader.u16()?),
                sequence_number: SequenceNumber(reader.u32()?),
            },
        })
    }

    /// Appends the sixteen octets.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.version << 4);
        out.push(self.message_type.0);
        out.extend_from_slice(&self.length.to_be_bytes());
        out.extend_from_slice(&self.header.association_id.0.to_be_bytes());
        out.extend_from_slice(&self.header.epoch.0.to_be_bytes());
        out.extend_from_slice(&self.header.flags.0.to_be_bytes());
        out.extend_from_slice(&self.header.sequence_number.0.to_be_bytes());
    }
}
