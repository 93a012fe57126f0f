//! RoCEv2: the InfiniBand transport headers that stand in a UDP datagram to port 4791.
//!
//! A packet is the base transport header ([`Bth`]), the extension headers that its [`Opcode`] calls for ([`Reth`],
//! [`Aeth`], [`ImmDt`]; all together: [`Headers`]), the payload, zero to three octets of padding, and the ICRC ([`icrc`]). The layouts are those
//! of the InfiniBand Architecture Specification, volume 1, chapter 9, and its annex A17 (RoCEv2). Reserved bits are
//! kept: SCONE's Rate Signal lives in them.

mod bth;
mod extension;
mod headers;
mod icrc;
mod opcode;
mod psn;

pub use bth::{BTH_OCTETS, Bth, DEFAULT_PARTITION_KEY};
pub use extension::{
    AETH_OCTETS, Aeth, CNP_RESERVED_OCTETS, IMM_DT_OCTETS, ImmDt, NakCode, RETH_OCTETS, Reth, Syndrome,
};
pub use headers::{Headers, HeadersError, HeadersOctets, MAX_HEADERS_OCTETS};
pub use icrc::{ICRC_OCTETS, icrc};
pub use opcode::{Opcode, Position};
pub use psn::Psn;

use crate::octets::Ended;

/// The UDP destination port of RoCEv2.
pub const UDP_PORT: u16 = 4791;

/// The low 24 bits, the width of queue pair, packet and message sequence numbers.
pub const MASK_24: u32 = 0x00ff_ffff;

/// A header doesn't fit into the octets that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("octet {offset}: the packet ends after {available} octets; it should have at least {needed}")]
pub struct DecodeError {
    /// Where the field that is missing would start, in octets from the start of the header that was read.
    pub offset: usize,
    /// Octets that would be there at least.
    pub needed: usize,
    /// Octets that are there.
    pub available: usize,
}

impl From<Ended> for DecodeError {
    fn from(ended: Ended) -> Self {
        Self { offset: ended.offset, needed: ended.offset + ended.needed, available: ended.available }
    }
}
