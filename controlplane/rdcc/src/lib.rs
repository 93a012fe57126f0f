//! Receiver-Driven Credit Control: the sender's and the receiver's state machine.
//!
//! Both are pure: no clock, socket, thread or randomness of their own. The caller gives the time
//! ([`wire::units::Nanos`], from an origin of its choice) and a seed, hands in what arrived, and takes out what is to
//! be sent:
//!
//! - `handle_datagram` takes the UDP payload of one datagram that came to the RDCC port;
//! - `poll_transmit` gives datagrams to send, until it gives none;
//! - `poll_timeout` gives the time of the next `handle_timeout`, which may be called early or late;
//! - `poll_event` tells the application what happened;
//! - [`sender::Sender::poll_send`] gives permits to post data, [`receiver::Receiver::handle_data`] takes data that
//!   arrived: RDCC leaves the data itself to an existing transport (RDCC, Protocol Overview).
//!
//! After any call the caller drains the `poll_` functions and asks for the timeout again.

pub mod receiver;
pub mod sender;

mod addressee;
mod datagram;
mod timers;

pub use addressee::{Addressee, addressee};
pub use datagram::Datagram;
pub use wire::rdcc::{AssociationId, Epoch, MessageId, ServiceHint};

/// Octets that a RoCEv2 packet takes on an Ethernet link beside its payload: Ethernet 14, IPv4 20, UDP 8, BTH 12,
/// RETH 16, ICRC 4, FCS 4, preamble 8, gap 12. Right for a Credit Unit of one packet.
pub const DEFAULT_UNIT_OVERHEAD: u64 = 98;
