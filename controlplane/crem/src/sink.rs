//! Where the machines put what they send.

use core::net::SocketAddr;

use crate::packet::Packet;

/// Takes CREM datagrams. They are lent, so that nothing is allocated for them.
pub trait Transmit {
    /// Sends `octets` from the CREM port to `to`.
    fn transmit(&mut self, to: SocketAddr, octets: &[u8]);
}

/// Takes packets for the RDMA receiver as well.
pub trait Deliver: Transmit {
    /// Gives the RDMA receiver a packet that was held or restored, as if it had come from the network.
    fn deliver(&mut self, packet: &Packet<'_>);
}
