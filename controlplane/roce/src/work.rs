//! What is posted on a queue pair, and how it ends.

use core::fmt;

use wire::roce::Opcode;
use wire::roce::Position;

/// A place in the other end's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteMemory {
    /// The address.
    pub address: u64,
    /// The key of the memory there.
    pub key: u32,
}

/// What a work request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// SEND into what the other end posted to receive.
    Send {
        /// 32 bits for the other end's completion.
        immediate: Option<u32>,
    },
    /// RDMA WRITE.
    Write {
        /// Where to.
        to: RemoteMemory,
        /// 32 bits for a completion at the other end, which uses up a receive that is posted there.
        immediate: Option<u32>,
    },
    /// RDMA READ.
    Read {
        /// Where from.
        from: RemoteMemory,
    },
}

impl Operation {
    /// The opcode of the packet at `position`; that of a READ's one request packet.
    pub(crate) const fn opcode(&self, position: Position) -> Opcode {
        match self {
            Self::Send { immediate } => Opcode::send(position, immediate.is_some()),
            Self::Write { immediate: Some(_), .. } => Opcode::write_immediate(position),
            Self::Write { immediate: None, .. } => Opcode::write(position),
            Self::Read { .. } => Opcode::READ_REQUEST,
        }
    }

    pub(crate) const fn is_read(&self) -> bool {
        matches!(self, Self::Read { .. })
    }
}

/// A work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkRequest {
    /// The poster's number for it; need not be unique.
    pub wr_id: u64,
    /// What it does.
    pub operation: Operation,
    /// Octets of the message.
    pub octets: u32,
    /// DSCP of its packets.
    pub dscp: u8,
}

/// Memory that waits for a SEND. An RDMA WRITE with immediate uses one up, too, without writing to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// The poster's number for it; need not be unique.
    pub wr_id: u64,
    /// Octets that it can take.
    pub octets: u32,
}

/// How a work request ended, named as ibverbs names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WcStatus {
    /// `IBV_WC_SUCCESS`: the responder acknowledged all of it, or, of a receive, all of it came.
    Success,
    /// `IBV_WC_LOC_LEN_ERR`: a message came that was longer than the receive.
    LocLenErr,
    /// `IBV_WC_WR_FLUSH_ERR`: the queue pair failed before, or meanwhile, through another request.
    WrFlushErr,
    /// `IBV_WC_RETRY_EXC_ERR`: no progress after the configured number of attempts.
    RetryExcErr,
    /// `IBV_WC_RNR_RETRY_EXC_ERR`: the receiver wasn't ready the configured number of times.
    RnrRetryExcErr,
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
            Self::LocLenErr => "IBV_WC_LOC_LEN_ERR",
            Self::WrFlushErr => "IBV_WC_WR_FLUSH_ERR",
            Self::RetryExcErr => "IBV_WC_RETRY_EXC_ERR",
            Self::RnrRetryExcErr => "IBV_WC_RNR_RETRY_EXC_ERR",
            Self::RemInvReqErr => "IBV_WC_REM_INV_REQ_ERR",
            Self::RemAccessErr => "IBV_WC_REM_ACCESS_ERR",
            Self::RemOpErr => "IBV_WC_REM_OP_ERR",
        }
    }

    /// Its value in ibverbs' `enum ibv_wc_status`.
    pub const fn number(self) -> u32 {
        match self {
            Self::Success => 0,
            Self::LocLenErr => 1,
            Self::WrFlushErr => 5,
            Self::RemInvReqErr => 9,
            Self::RemAccessErr => 10,
            Self::RemOpErr => 11,
            Self::RetryExcErr => 12,
            Self::RnrRetryExcErr => 13,
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

/// A receive is over. On one queue pair they come in the order of posting, each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveCompletion {
    /// The local queue pair.
    pub qp: u32,
    /// The number under which the receive was posted.
    pub wr_id: u64,
    /// Octets of the message that came.
    pub octets: u32,
    /// The immediate, if the message had one.
    pub immediate: Option<u32>,
    /// How it ended.
    pub status: WcStatus,
}

/// Memory that the other end may access by RDMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRegion {
    /// Its first address.
    pub address: u64,
    /// Its length.
    pub octets: u64,
    /// Whether RDMA WRITE may write to it.
    pub remote_write: bool,
    /// Whether RDMA READ may read from it.
    pub remote_read: bool,
}

impl MemoryRegion {
    /// Whether `octets` from `address` lie in it and may be accessed so. Nothing at all may be accessed anywhere.
    pub(crate) fn allows(&self, address: u64, octets: u32, write: bool) -> bool {
        let allowed = if write { self.remote_write } else { self.remote_read };
        let end = address.checked_add(octets.into());
        allowed && address >= self.address && end.is_some_and(|end| end - self.address <= self.octets)
    }
}
