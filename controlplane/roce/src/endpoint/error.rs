//! What an endpoint refuses.

use core::net::IpAddr;

use wire::roce::{HeadersError, Opcode};

/// A message that can't be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// There is no such queue pair here.
    #[error("queue pair {0:#x} doesn't exist at this endpoint")]
    UnknownQp(u32),
    /// Longer than an RDMA message can be.
    #[error("a message of {0} octets; it should have at most 2147483648")]
    TooLong(u32),
    /// A READ whose answer has more packets than packet numbers can tell apart.
    #[error("an RDMA READ of {0} packets; it should have at most 8388607")]
    TooManyPackets(u32),
    /// A READ on a queue pair that may have none outstanding.
    #[error("an RDMA READ on a queue pair with read depth 0; the depth should be at least 1")]
    NoReads,
    /// A DSCP of more than six bits.
    #[error("DSCP {0}; it should be at most 63")]
    Dscp(u8),
}

/// A packet that was not for this endpoint, or is malformed. It had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// A header doesn't fit into the packet.
    #[error(transparent)]
    Header(#[from] HeadersError),
    /// Its destination queue pair doesn't exist here.
    #[error("octet 5: queue pair {0:#x} doesn't exist at this endpoint")]
    UnknownQp(u32),
    /// It comes from another host than the queue pair's other end.
    #[error("queue pair {qp:#x} is connected to {expected}; the packet comes from {from}")]
    WrongSource {
        /// The local queue pair.
        qp: u32,
        /// The packet's source.
        from: IpAddr,
        /// The host of the other end.
        expected: IpAddr,
    },
    /// The UDP payload is shorter than the headers, the padding and the ICRC that it must hold.
    #[error("a UDP payload of {octets} octets; {needed} are needed for headers, padding and ICRC")]
    TooShort {
        /// Octets of the UDP payload.
        octets: usize,
        /// Octets needed.
        needed: usize,
    },
    /// An operation that this endpoint doesn't have.
    #[error(
        "octet 0: {0} is not implemented; it should be a SEND, an RDMA WRITE or READ, an acknowledgement or a CNP"
    )]
    Unsupported(Opcode),
}
