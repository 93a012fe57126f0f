//! A software RoCEv2 reliable-connection transport as a pure state machine.
//!
//! An [`Endpoint`] is what a host's RDMA interface keeps: its queue pairs and what each has to send. The caller is the
//! link: it asks [`Endpoint::poll_transmit`] for the next packet whenever it is free, gives every packet that arrives
//! to [`Endpoint::handle_packet`], and calls [`Endpoint::handle_timeout`] at the time that [`Endpoint::poll_timeout`]
//! names. Nothing here knows the time, a socket or the payload: packets carry a count of payload octets and the caller
//! fills them in, if it has any.
//!
//! - [`QpConfig`] is what two hosts agree on before a queue pair works; RoCEv2 leaves that to the application.
//! - [`WorkRequest`] is what is posted: SEND, RDMA WRITE, both with or without immediate, and RDMA READ. [`Completion`] and
//!   [`ReceiveCompletion`] say how it ended, with the names of ibverbs.
//! - The requester half segments messages and recovers from gaps by go-back-N or selective repeat ([`Recovery`]). The
//!   responder half takes requests in order only, answers READs, acknowledges, and refuses a gap once.
//! - With [`QpConfig::dcqcn`] both ends run [`dcqcn`]; [`Endpoint::set_bound`] bounds a queue pair besides, as advice
//!   from the network does.

mod config;
pub mod dcqcn;
mod endpoint;
mod event;
mod pacing;
mod packet;
mod requester;
mod responder;
mod work;

pub use config::{AckRequests, QpConfig, QpConfigError, Recovery};
pub use endpoint::{Endpoint, PacketError, PostError};
pub use event::{Carried, Disposition, Received, Stats};
pub use packet::{PacketHead, TxContent, TxPacket};
pub use work::{
    Completion, MemoryRegion, Operation, ReceiveCompletion, ReceiveRequest, RemoteMemory, WcStatus,
    WorkRequest,
};
