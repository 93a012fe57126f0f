//! What blocks are coded with (CREM, Configuration Changes).

use crate::code::Code;

/// A configuration that the sender function proposed and the receiver function acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Configuration {
    pub id: u8,
    pub code: Code,
    pub k: u8,
    pub m: u8,
    /// T.
    pub octets: u16,
}
