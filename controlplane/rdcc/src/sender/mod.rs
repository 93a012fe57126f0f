//! The sending side.

mod config;

pub use config::{Binding, MessageSpec, SendPermit, SenderConfig, SenderEvent, SenderStats, SubmitError};

use core::net::SocketAddr;

use wire::rdcc::MessageId;
use wire::units::Nanos;

use crate::Datagram;

/// The sender's machine: all associations of one host that sends.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
}

#[expect(unused_variables, clippy::unused_self, clippy::missing_errors_doc, reason = "signatures first")]
impl Sender {
    /// A sender without associations. `seed` feeds nonces and start delays: from a secure source in production.
    pub fn new(config: SenderConfig, seed: [u8; 32]) -> Self {
        Self { config }
    }
    /// Starts an association with the receiver at `peer` unless there is one. `submit` does this too.
    pub fn associate(&mut self, peer: SocketAddr, now: Nanos) -> Result<(), SubmitError> {
        Ok(())
    }
    /// Hands over a message.
    pub fn submit(&mut self, peer: SocketAddr, spec: MessageSpec, now: Nanos) -> Result<MessageId, SubmitError> {
        Ok(MessageId(1))
    }
    /// The message sequence number that the next RDMA message on a queue pair will get, where it isn't 0.
    pub fn set_next_msn(&mut self, peer: SocketAddr, destination_qp: u32, msn: u32) {}
    /// Takes a datagram that came to the RDCC port.
    pub fn handle_datagram(&mut self, from: SocketAddr, octets: &[u8], now: Nanos) {}
    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Nanos) {}
    /// When `handle_timeout` (and then `poll_send`) is to be called next.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        None
    }
    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Datagram> {
        None
    }
    /// The next permit to post data, if one is due.
    pub fn poll_send(&mut self, now: Nanos) -> Option<SendPermit> {
        None
    }
    /// The next event.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        None
    }
    /// The counters.
    pub fn stats(&self) -> SenderStats {
        SenderStats::default()
    }
}
