//! Where the machines put what they send.

use core::net::SocketAddr;

use crate::packet::{FlowKey, Packet};

/// Takes CREM datagrams. They are lent, so that nothing is allocated for them.
pub trait Transmit {
    /// Sends `octets` from the CREM port to `to`. They concern `flow`: a gateway without an address of its own sends them
    /// from the flow's source if they are the sender function's, from its destination if they are the receiver
    /// function's.
    fn transmit(&mut self, flow: &FlowKey, to: SocketAddr, octets: &[u8]);
}

/// Takes packets for the RDMA receiver as well.
pub trait Deliver: Transmit {
    /// Gives the RDMA receiver a packet that was held or restored, as if it had come from the network.
    fn deliver(&mut self, packet: &Packet<'_>);
}
