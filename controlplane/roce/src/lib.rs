//! A software RoCEv2 reliable-connection transport as a pure state machine.
//!
//! An [`Endpoint`] is what a host's RDMA interface keeps: its queue pairs and what each has to send. The caller is the
//! link: it asks [`Endpoint::poll_transmit`] for the next packet whenever it is free, gives every packet that arrives
//! to [`Endpoint::handle_packet`], and calls [`Endpoint::handle_timeout`] at the time that [`Endpoint::poll_timeout`]
//! names. Nothing here knows the time, a socket or the payload: packets carry a count of payload octets and the caller
//! fills them in, if it has any.
//!
//! - [`QpConfig`] is what two hosts agree on before a queue pair works; RoCEv2 leaves that to the application.
//! - The requester half segments messages and goes back to the first unacknowledged packet after a gap or a timeout.
//! - The responder half takes packets in order only, acknowledges, and reports one gap once.
//!
//! - With [`QpConfig::dcqcn`] both ends run [`dcqcn`]; [`Endpoint::set_bound`] bounds a queue pair besides, as advice
//!   from the network does.
//!
//! RDMA WRITE without immediate is what there is so far; its place in the message decides its opcode.

mod config;
pub mod dcqcn;
mod endpoint;
mod event;
mod pacing;
mod packet;
mod requester;
mod responder;

pub use config::{AckRequests, QpConfig, QpConfigError};
pub use endpoint::{Endpoint, PacketError, PostError};
pub use event::{Completion, Received, Stats, WcStatus};
pub use packet::{PacketHead, TxContent, TxPacket};
