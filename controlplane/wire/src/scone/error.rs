//! Why octets are not a message of SCONE.

use crate::octets::Ended;

/// Why octets are not a message of SCONE; the text says where and what would be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A field is missing.
    #[error("octet {offset}: the message ends after {available} octets; it should have at least {needed}")]
    TooShort {
        /// Where the missing field would start.
        offset: usize,
        /// Octets that would be there at least.
        needed: usize,
        /// Octets that are there.
        available: usize,
    },
    /// A datagram to the SCONE port that is none of the three.
    #[error(
        "octet {offset}: a datagram of {available} octets; it should have 14 (feedback), 16 or 28 (Rate Advice with an \
         IPv4 or IPv6 address)"
    )]
    DatagramLength {
        /// The first octet that is too many, or missing.
        offset: usize,
        /// Octets of the datagram.
        available: usize,
    },
    /// The Length of a Rate Signal extension is not its length.
    #[error("octet 1: length {length}; it should be {expected}, the octets of the extension")]
    ExtensionLength {
        /// The value of Length.
        length: u8,
        /// What it should be.
        expected: u8,
    },
    /// Another version.
    #[error("octet {offset}: version {version} is unknown; it should be 1")]
    UnknownVersion {
        /// Where Version stands.
        offset: usize,
        /// What stands there.
        version: u32,
    },
}

/// An extension that is no Rate Signal of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("extension of type {extension_type:#04x}: {error}")]
pub struct Unreadable {
    /// Its type octet: perhaps somebody else's extension.
    pub extension_type: u8,
    /// Its length octet.
    pub length: u8,
    /// What is wrong with it, with offsets from its own start.
    pub error: DecodeError,
}

impl DecodeError {
    /// Where the fault is, in octets from the start of the message.
    pub const fn offset(self) -> usize {
        match self {
            Self::TooShort { offset, .. }
            | Self::DatagramLength { offset, .. }
            | Self::UnknownVersion { offset, .. } => offset,
            Self::ExtensionLength { .. } => 1,
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
