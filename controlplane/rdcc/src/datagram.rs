//! One UDP datagram to send.

use core::net::SocketAddr;

//= RDCC, Message Formats: 04fd89be
/// A datagram to send from the RDCC port, with the UDP checksum set (RDCC, Message Formats).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Where it goes.
    pub to: SocketAddr,
    /// The UDP payload: one RDCC message.
    pub octets: Vec<u8>,
}
