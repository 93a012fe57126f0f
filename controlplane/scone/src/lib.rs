//! SCONE for RoCEv2: rate advice from the network, taken as an upper bound of what a sender sends.
//!
//! - [`sender::Sender`] sits beside the RoCEv2 endpoint of a host that sends. It takes Rate Advice (Solution 1) and all three
//!   forms of feedback (Solution 2), and says what bound applies to which queue pair.
//! - [`receiver::Receiver`] sits beside the endpoint of a host that receives. It records the Rate Signals of data packets
//!   and returns them in the configured form.
//! - [`gateway::Gateway`] takes backpressure from remote gateways and advises the senders it serves, and turns what its own
//!   network elements advise for remote senders into backpressure.
//! - [`bound::Bound`] is how one advised rate becomes a bound: approached in steps, dropped after its time. The document
//!   leaves that to us.
//!
//! All are machines without clock, socket or randomness: events go in with the time, transmissions and the next deadline
//! come out. Advice only ever bounds: what is sent is the lower of the bound and what congestion control allows, so a CNP
//! acts at once whatever the advice says (SCONE, Deployment within Intelligent Computing Data Centers).

pub mod bound;
pub mod gateway;
pub mod receiver;
pub mod sender;

use core::net::SocketAddr;

/// A datagram to send from the domain's SCONE port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Where it goes.
    pub to: SocketAddr,
    /// The UDP payload.
    pub octets: Vec<u8>,
}
