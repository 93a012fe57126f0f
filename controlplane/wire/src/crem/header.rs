//! The eight octets at the start of every message.

use super::codes::{Flags, FlowId, MessageType};
use super::decode_error::DecodeError;
use crate::octets::Reader;

/// The version that this crate speaks.
pub const VERSION: u8 = 1;

/// Octets of the common header.
pub const HEADER_OCTETS: usize = 8;

/// What the common header says beyond Version, Type and Length, which follow from the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header {
    /// Flags, to be read by the Type.
    pub flags: Flags,
    /// The flow; zero in `HELLO` and `PATH_REPORT`.
    pub flow_id: FlowId,
}

/// The common header with every field, as it stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawHeader {
    /// Four bits of Version, not checked.
    pub version: u8,
    /// Four bits of Type, perhaps an unknown one.
    pub message_type: MessageType,
    /// Length of the message in octets, header included, not checked.
    pub length: u16,
    /// The rest.
    pub header: Header,
}

impl RawHeader {
    /// Reads the header and checks only that it is there.
    ///
    /// # Errors
    /// [`DecodeError::TooShort`] when there are fewer than eight octets.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let available = octets.len();
        if available < HEADER_OCTETS {
            return Err(DecodeError::TooShort { offset: available.min(2), needed: HEADER_OCTETS, available });
        }
        let mut reader = Reader::new(octets);
        let first = reader.u8()?;
        let flags = Flags(reader.u8()?);
        let length = reader.u16()?;
        Ok(Self {
            version: first >> 4,
            message_type: MessageType(first & 0xf),
            length,
            header: Header { flags, flow_id: FlowId(reader.u32()?) },
        })
    }

    /// Appends the eight octets. Bits beyond a field's width are cut off.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.version << 4 | self.message_type.0 & 0xf);
        out.push(self.header.flags.0);
        out.extend_from_slice(&self.length.to_be_bytes());
        out.extend_from_slice(&self.header.flow_id.0.to_be_bytes());
    }
}
