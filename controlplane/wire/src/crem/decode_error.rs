//! Why a datagram is not a CREM message.

use super::codes::MessageType;
use super::path_report::MAX_ENTRIES;
use crate::octets::Ended;

/// Why a datagram is not a CREM message. Each variant carries the value that stood there; [`DecodeError::offset`]
/// says where (in octets from the start of the UDP payload), and the text says what would be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The datagram is shorter than the header, or than the fields that must follow it.
    #[error("octet {offset}: the datagram ends after {available} octets; it should have at least {needed}")]
    TooShort {
        /// The first of Version and Length that is missing or can't be met; behind the header, the field that is missing.
        offset: usize,
        /// Octets that would be there at least.
        needed: usize,
        /// Octets in the datagram.
        available: usize,
    },
    /// CREM, Message Formats: a message with an unknown Version is discarded.
    #[error("octet 0: version {version} is unknown; it should be 1")]
    UnknownVersion {
        /// The four bits of Version.
        version: u8,
    },
    /// CREM, Message Formats: a message with an unknown Type is discarded.
    #[error("octet 0: type {message_type} is unknown; it should be 1 to 9")]
    UnknownType {
        /// The four bits of Type.
        message_type: u8,
    },
    /// Length smaller than the size of the Type.
    #[error("octet 2: length {length} is too small for {message_type}; it should be at least {minimum}")]
    LengthTooSmall {
        /// The Type in question.
        message_type: MessageType,
        /// The value of Length.
        length: u16,
        /// The least size of this Type with these fields.
        minimum: u16,
    },
    /// Length larger than the UDP payload.
    #[error(
        "octet 2: length {length} is larger than the datagram; it should be at most {available}, its octets"
    )]
    LengthBeyondDatagram {
        /// The value of Length.
        length: u16,
        /// Octets in the datagram.
        available: usize,
    },
    /// Length is not what the message's own fields (k, Symbol Length, counts) come to.
    #[error("octet 2: length {length} does not match the fields of {message_type}; they come to {expected}")]
    LengthMismatch {
        /// The Type in question.
        message_type: MessageType,
        /// The value of Length.
        length: u16,
        /// What the fields come to.
        expected: usize,
    },
    /// k is zero.
    #[error("octet {offset}: k is 0; it should be 1 to 255")]
    ZeroK {
        /// Where k stands.
        offset: usize,
    },
    /// A `REPAIR` whose INFO flag and Symbol Length contradict each other.
    #[error("octet 18: symbol length {symbol_length} {}; it should be {}",
        if *info { "with the flag INFO" } else { "without the flag INFO" },
        if *info { "0" } else { "at least 1" })]
    SymbolAndInfo {
        /// The value of Symbol Length.
        symbol_length: u16,
        /// Whether INFO is set.
        info: bool,
    },
    /// An AF that is neither 4 nor 6.
    #[error("octet {offset}: address family {af} is unknown; it should be 4 (IPv4) or 6 (IPv6)")]
    UnknownAddressFamily {
        /// Where it stands: octet 9 of a `HELLO`, octet 10 of a `PATH_REPORT`.
        offset: usize,
        /// The octet of AF.
        af: u8,
    },
    /// A `PATH_REPORT` with more Hop Entries than there may be.
    #[error("octet 9: {count} hop entries; there should be at most {MAX_ENTRIES}")]
    TooManyEntries {
        /// The value of Entry Count.
        count: u8,
    },
}

impl DecodeError {
    /// Where the offending value starts, in octets from the start of the UDP payload.
    pub const fn offset(&self) -> usize {
        match self {
            Self::TooShort { offset, .. }
            | Self::ZeroK { offset }
            | Self::UnknownAddressFamily { offset, .. } => *offset,
            Self::UnknownVersion { .. } | Self::UnknownType { .. } => 0,
            Self::LengthTooSmall { .. } | Self::LengthBeyondDatagram { .. } | Self::LengthMismatch { .. } => {
                2
            }
            Self::SymbolAndInfo { .. } => 18,
            Self::TooManyEntries { .. } => 9,
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
