//! Why a datagram is not an RDCC message.

use super::codes::{AssociationId, MessageType};
use crate::octets::Ended;

/// Why a datagram is not an RDCC message. Each variant carries the value that stood there; [`DecodeError::offset`]
/// says where (in octets from the start of the UDP payload), and the text says what would be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The datagram is shorter than the header, or than the fields that must follow it.
    #[error("octet {offset}: the datagram ends after {available} octets; it should have at least {needed}")]
    TooShort {
        /// The first of Version, Type and Length that is missing or can't be met; behind the header, the field that
        /// is missing.
        offset: usize,
        /// Octets that would be there at least.
        needed: usize,
        /// Octets in the datagram.
        available: usize,
    },
    /// RDCC, Error Handling and Recovery: a message with an unknown Version is discarded.
    #[error("octet 0: version {version} is unknown; it should be 1")]
    UnknownVersion {
        /// The four bits of Version.
        version: u8,
    },
    /// RDCC, Error Handling and Recovery: a message with an unknown Type is discarded; a receiver may answer
    /// `UNSUPPORTED_TYPE` when the message belongs to an association, hence the identifier.
    #[error("octet 1: type {message_type:#04x} is unknown; it should be one of 0x01 to 0x0a")]
    UnknownType {
        /// The octet of Type.
        message_type: u8,
        /// The association that the header names.
        association_id: AssociationId,
    },
    /// RDCC, Error Handling and Recovery: Length smaller than the size of the Type.
    #[error("octet 2: length {length} is too small for {message_type}; it should be at least {minimum}")]
    LengthTooSmall {
        /// The Type in question.
        message_type: MessageType,
        /// The value of Length.
        length: u16,
        /// The size that the document defines for this Type.
        minimum: u16,
    },
    /// RDCC, Error Handling and Recovery: Length larger than the UDP payload.
    #[error(
        "octet 2: length {length} is larger than the datagram; it should be at most {available}, its octets"
    )]
    LengthBeyondDatagram {
        /// The value of Length.
        length: u16,
        /// Octets in the datagram.
        available: usize,
    },
    /// A `CONGESTION_REPORT` whose AF is neither 4 nor 6.
    #[error("octet 30: address family {af} is unknown; it should be 4 (IPv4) or 6 (IPv6)")]
    UnknownAddressFamily {
        /// The octet of AF.
        af: u8,
    },
    /// A `CONGESTION_REPORT` whose Length is smaller than its AF asks for, or is the Length of the other family.
    #[error(
        "octet 2: length {length} does not match address family {af}; a report with that family has {expected} octets"
    )]
    LengthNotOfFamily {
        /// The value of Length.
        length: u16,
        /// The octet of AF, 4 or 6.
        af: u8,
        /// The Length that goes with that AF: 48 or 72.
        expected: u16,
    },
}

impl DecodeError {
    /// Where the offending value starts, in octets from the start of the UDP payload.
    pub const fn offset(&self) -> usize {
        match self {
            Self::TooShort { offset, .. } => *offset,
            Self::UnknownVersion { .. } => 0,
            Self::UnknownType { .. } => 1,
            Self::LengthTooSmall { .. }
            | Self::LengthBeyondDatagram { .. }
            | Self::LengthNotOfFamily { .. } => 2,
            Self::UnknownAddressFamily { .. } => 30,
        }
    }
}

impl From<Ended> for DecodeError {
    fn from(ended: Ended) -> Self {
        Self::TooShort {
            offset: ended.offset,
            needed: ended.offset + ended.needed,
            available: ended.available,
        }
    }
}
