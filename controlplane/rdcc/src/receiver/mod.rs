//! The receiving side.

mod config;

pub use config::{ConfigError, DataArrival, Hear, ReceiverConfig, ReceiverEvent, ReceiverStats};

use core::net::SocketAddr;

use wire::units::Nanos;

use crate::Datagram;

/// The receiver's machine: the budget of one access link and all associations under it.
#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
}

#[expect(unused_variables, clippy::unused_self, clippy::missing_errors_doc, reason = "signatures first")]
impl Receiver {
    /// A receiver without associations. `seed` feeds Association IDs.
    pub fn new(config: ReceiverConfig, seed: [u8; 32]) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { config })
    }
    /// Takes a datagram that came to the RDCC port.
    pub fn handle_datagram(&mut self, from: SocketAddr, octets: &[u8], now: Nanos) {}
    /// Takes note of data that arrived.
    pub fn handle_data(&mut self, arrival: DataArrival, now: Nanos) {}
    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Nanos) {}
    /// When `handle_timeout` is to be called next.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        None
    }
    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Datagram> {
        None
    }
    /// The next event.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        None
    }
    /// The counters.
    pub fn stats(&self) -> ReceiverStats {
        ReceiverStats::default()
    }
}
