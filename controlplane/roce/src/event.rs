//! What an endpoint tells its user.

use core::net::IpAddr;

use wire::roce::Psn;
use wire::scone::{RateSignal, Unreadable};

/// A data packet was taken in, for the first time. Those of SENDs and RDMA WRITEs come in the order of their numbers, those
/// of RDMA READs in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The local queue pair.
    pub qp: u32,
    /// The sending host.
    pub from: IpAddr,
    /// The message sequence number that this end gives the packet's message, 24 bits: 1 for the first on the queue pair.
    /// It is what RDCC, Transport Bindings calls the number that the responder will assign. Of an RDMA READ's answer, the
    /// number that the other end gave the request.
    pub msn: u32,
    /// Payload octets of the packet.
    pub octets: u32,
    /// The packet met congestion: ECN CE.
    pub ce: bool,
    /// A message starts with this packet.
    pub first: bool,
    /// A message ends with this packet.
    pub last: bool,
    /// The packet's number, by which a caller that keeps payloads finds that of a packet that was held.
    pub psn: Psn,
    /// Where in the message its payload belongs, in octets.
    pub offset: u32,
    /// What it belongs to.
    pub carried: Carried,
    /// The extension that it carried, of whatever type, or what can't be read as one; on queue pairs whose own data has one.
    pub rate_signal: Option<Result<RateSignal, Unreadable>>,
}

/// What a data packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// A SEND, into the receive that was posted under this number.
    Send {
        /// The receive.
        wr_id: u64,
    },
    /// An RDMA WRITE to this address of ours.
    Write {
        /// Where the packet's payload goes.
        address: u64,
        /// The key of the memory.
        key: u32,
    },
    /// The answer to the RDMA READ that was posted under this number.
    ReadResponse {
        /// The work request.
        wr_id: u64,
    },
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Taken: a request in order, an answer, or a CNP.
    Taken,
    /// A request, or a part of a READ's answer, that was taken in before.
    Duplicate,
    /// Behind a gap, and kept until the gap is filled: whoever has its payload keeps it, too.
    Held,
    /// Behind a gap, and dropped.
    OutOfOrder,
    /// The receiver isn't ready for it.
    NotReady,
    /// Makes no sense here. A request has ended the queue pair; an answer is ignored.
    Invalid,
    /// The queue pair failed before.
    Ignored,
}

/// Counts since the endpoint began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Data packets and READ requests given out for the first time.
    pub data_packets: u64,
    /// Data packets and READ requests given out again.
    pub retransmitted_packets: u64,
    /// Packets of answers to RDMA READs given out.
    pub read_response_packets: u64,
    /// Timeouts that went back.
    pub timeouts: u64,
    /// Positive acknowledgements given out.
    pub acks_sent: u64,
    /// Negative acknowledgements given out, those for a receiver that isn't ready included.
    pub naks_sent: u64,
    /// Positive acknowledgements taken in.
    pub acks_received: u64,
    /// Negative acknowledgements taken in, those of a receiver that isn't ready included.
    pub naks_received: u64,
    /// Congestion notifications given out.
    pub cnps_sent: u64,
    /// Congestion notifications taken in.
    pub cnps_received: u64,
    /// Data packets that came marked, in whatever order.
    pub marked_packets: u64,
    /// Data packets taken in, READ requests included.
    pub received_packets: u64,
    /// Data packets that had been taken before.
    pub duplicate_packets: u64,
    /// Data packets dropped because one before them is missing.
    pub out_of_order_packets: u64,
    /// Data packets kept although one before them is missing.
    pub held_packets: u64,
}
