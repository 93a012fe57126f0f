//! How a receiver function is set up, and what it counts.

use wire::crem::Schemes;
use wire::units::Nanos;

use crate::code::Kernel;
use crate::csf::SCHEMES;

/// What the RDMA receiver makes of a gap, and so what the receiver function does with the packets behind one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It answers a gap with a NAK (go-back-N): packets behind the gap are held until it is filled, or until a repair that was
    /// asked for must have come.
    Hold,
    /// It takes packets in any order (selective repeat): all pass at once.
    Pass,
}

/// What is done about a block that two coded retransmissions left incomplete (CREM, Fallback).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// The lost packets themselves are asked for, once.
    Request,
    /// The RDMA transport notices the loss and retransmits.
    Transport,
}

/// The setting of a receiver function. [`CrfConfig::new`] takes what has no default.
#[derive(Clone, Debug)]
pub struct CrfConfig {
    /// The CREM port of the domain.
    pub port: u16,
    /// What the RDMA receivers expect.
    pub order: Order,
    /// What follows two coded retransmissions.
    pub fallback: Fallback,
    /// The schemes that are announced.
    pub schemes: Schemes,
    /// The most positions of a block.
    pub max_k: u8,
    /// The most repair symbols of a block.
    pub max_m: u8,
    /// The longest symbol in octets.
    pub max_t: u16,
    /// Blocks of `max_k` positions that a flow can hold: with it, the PSNs that are tracked.
    pub max_open_blocks: u16,
    /// Repair symbols of incomplete blocks that a flow can hold.
    pub repair_symbols: u16,
    /// The most flows.
    pub max_flows: usize,
    /// Octets for the symbols of all flows together; a configuration that needs more is refused.
    pub memory: usize,
    /// How long packets may overtake each other: after the last repair symbol of a block, late packets are waited for so
    /// long.
    pub reorder: Nanos,
    /// How long to wait for the next repair symbol of a block.
    pub repair_wait: Nanos,
    /// When no packet came for so long, the burst is over: gaps outside of known blocks are asked for.
    pub idle_wait: Nanos,
    /// The round-trip time to assume before the first measurement.
    pub initial_rtt: Nanos,
    /// A flow of which nothing came for so long is closed.
    pub idle_timeout: Nanos,
    /// The kernel for the codes.
    pub kernel: Kernel,
}

impl CrfConfig {
    //= CREM, Port: ff28588d
    /// The defaults for a domain's port and what its RDMA receivers expect.
    pub fn new(port: u16, order: Order) -> Self {
        Self {
            port,
            order,
            fallback: Fallback::Request,
            schemes: SCHEMES,
            max_k: 64,
            max_m: 32,
            max_t: 4160,
            max_open_blocks: 256,
            repair_symbols: 1024,
            max_flows: 1024,
            memory: 1 << 30,
            reorder: Nanos(5_000),
            repair_wait: Nanos(60_000),
            idle_wait: Nanos(60_000),
            initial_rtt: Nanos(1_000_000),
            idle_timeout: Nanos(60_000_000_000),
            kernel: Kernel::best(),
        }
    }

    /// PSNs that a flow tracks.
    pub(super) fn window(&self) -> usize {
        usize::from(self.max_open_blocks) * usize::from(self.max_k)
    }
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrfStats {
    /// Source packets of established flows.
    pub sources: u64,
    /// Of these, with a PSN that had come or been restored before, or that is no longer tracked.
    pub duplicates: u64,
    /// Packets that were missing and came after all.
    pub late: u64,
    /// Packets that were held.
    pub held: u64,
    /// Packets restored and verified.
    pub restored: u64,
    /// Symbols that decoded to no valid packet of their position: the whole block's symbols are dropped then.
    pub invalid: u64,
    /// Repair messages taken.
    pub repairs: u64,
    /// Repair messages of blocks that are complete or no longer tracked.
    pub needless: u64,
    /// Repair symbols for which there was no room; the oldest block's are dropped first.
    pub crowded_out: u64,
    /// Block requests sent.
    pub block_requests: u64,
    /// Range requests sent.
    pub range_requests: u64,
    /// Of both, those for the packets themselves.
    pub fallback_requests: u64,
    /// Packets given up: left to the RDMA transport.
    pub given_up: u64,
    /// Gaps behind which one packet went on before its turn, and so twice, for the receiver's NAK.
    pub refusals: u64,
    /// Jumps of the PSN beyond what is tracked.
    pub jumps: u64,
    /// Datagrams that are no CREM messages.
    pub malformed: u64,
    /// Messages of unknown flows, from other addresses, or with contents that contradict the flow.
    pub refused: u64,
    /// `HELLO`s for which there is no room, and configurations refused.
    pub turned_away: u64,
    /// Source packets too short to be RoCEv2.
    pub short: u64,
}
