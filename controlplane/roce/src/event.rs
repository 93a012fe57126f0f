//! What an endpoint tells its user.

use core::fmt;
use core::net::IpAddr;

/// How a work request ended, named as ibverbs names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WcStatus {
    /// `IBV_WC_SUCCESS`: the responder acknowledged all of it.
    Success,
    /// `IBV_WC_WR_FLUSH_ERR`: the queue pair failed before, or meanwhile, through another request.
    WrFlushErr,
    /// `IBV_WC_RETRY_EXC_ERR`: no progress after the configured number of attempts.
    RetryExcErr,
    /// `IBV_WC_REM_INV_REQ_ERR`: the responder found the request invalid.
    RemInvReqErr,
    /// `IBV_WC_REM_ACCESS_ERR`: the responder's memory may not be accessed so.
    RemAccessErr,
    /// `IBV_WC_REM_OP_ERR`: the responder failed.
    RemOpErr,
}

impl WcStatus {
    /// The name of the status in ibverbs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "IBV_WC_SUCCESS",
            Self::WrFlushErr => "IBV_WC_WR_FLUSH_ERR",
            Self::RetryExcErr => "IBV_WC_RETRY_EXC_ERR",
            Self::RemInvReqErr => "IBV_WC_REM_INV_REQ_ERR",
            Self::RemAccessErr => "IBV_WC_REM_ACCESS_ERR",
            Self::RemOpErr => "IBV_WC_REM_OP_ERR",
        }
    }
}

impl fmt::Display for WcStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A work request is over. On one queue pair they come in the order of posting, each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The local queue pair.
    pub qp: u32,
    /// The number under which the request was posted.
    pub wr_id: u64,
    /// Its length in octets.
    pub octets: u32,
    /// How it ended.
    pub status: WcStatus,
}

/// A data packet was taken in, in order and for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The local queue pair.
    pub qp: u32,
    /// The sending host.
    pub from: IpAddr,
    /// The message sequence number that this end gives the packet's message, 24 bits: 1 for the first on the queue pair.
    /// It is what RDCC, Transport Bindings calls the number that the responder will assign.
    pub msn: u32,
    /// Payload octets of the packet.
    pub octets: u32,
    /// The packet met congestion: ECN CE.
    pub ce: bool,
    /// A message starts with this packet.
    pub first: bool,
    /// A message ends with this packet.
    pub last: bool,
}

/// Counts since the endpoint began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Data packets given out for the first time.
    pub data_packets: u64,
    /// Data packets given out again.
    pub retransmitted_packets: u64,
    /// Timeouts that went back.
    pub timeouts: u64,
    /// Positive acknowledgements given out.
    pub acks_sent: u64,
    /// Negative acknowledgements given out.
    pub naks_sent: u64,
    /// Positive acknowledgements taken in.
    pub acks_received: u64,
    /// Negative acknowledgements taken in.
    pub naks_received: u64,
    /// Congestion notifications given out.
    pub cnps_sent: u64,
    /// Congestion notifications taken in.
    pub cnps_received: u64,
    /// Data packets that came marked, in whatever order.
    pub marked_packets: u64,
    /// Data packets taken in order.
    pub received_packets: u64,
    /// Data packets that had been taken before.
    pub duplicate_packets: u64,
    /// Data packets refused because one before them is missing.
    pub out_of_order_packets: u64,
}
