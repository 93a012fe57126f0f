//! How a sender function is set up, and what it counts.

use core::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use wire::crem::Scheme;
use wire::units::Nanos;

use crate::code::Kernel;
use crate::packet::FlowKey;

/// What a sender function does with a request for the lost packets themselves (CREM, Fallback).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackAnswer {
    /// Sends them as Source Copy symbols.
    SourceCopy,
    /// Nothing: the RDMA transport retransmits.
    Transport,
}

/// The setting of a sender function. [`CsfConfig::new`] takes what has no default.
#[derive(Clone, Debug)]
pub struct CsfConfig {
    /// The CREM port of the domain.
    pub port: u16,
    /// Octets of RDMA payload in a full packet.
    pub mtu: u16,
    /// T; at least the longest UDP payload plus 2. [`CsfConfig::new`] takes it from the MTU.
    pub symbol_octets: u16,
    /// The scheme to use where the receiver supports it; Cauchy where it doesn't.
    pub scheme: Scheme,
    /// Positions of a block.
    pub k: u8,
    /// The most repair symbols of a block.
    pub max_m: u8,
    /// The probability that a block loses more than it has repair symbols for (CREM, Redundancy Policy: 10^-4).
    pub epsilon: f64,
    /// The loss rate to assume before there are reports.
    pub prior_loss: f64,
    /// Packets after which an observed loss counts 1/e in the estimate.
    pub loss_memory: u32,
    /// A burst has ended when no source packet came for so long: the block is closed.
    pub burst_gap: Nanos,
    /// Whether the repair symbols of a block are spread over the next source packets.
    pub spread: bool,
    /// Ours: a block that a burst's end closed without repair symbols is announced with an INFO message, so that the
    /// receiver sees when its last packets are lost.
    pub announce_ends: bool,
    /// PSNs whose symbols are kept for retransmission.
    pub window: u32,
    /// The most flows that are protected.
    pub max_flows: usize,
    /// Repair octets per 1000 source octets.
    pub repair_permille: u32,
    /// Symbols that a flow may send before it earned any.
    pub repair_allowance: u32,
    /// The round-trip time to assume before the first measurement.
    pub initial_rtt: Nanos,
    /// Without acknowledgements in sight, blocks are given up after so many round-trip times.
    pub retention_rtts: u64,
    /// What a fallback request gets.
    pub fallback: FallbackAnswer,
    /// A flow whose receiver sends no report for so long (and at least 16 round-trip times), while it sends, is closed.
    pub report_timeout: Nanos,
    /// A flow without source packets for so long is closed.
    pub idle_timeout: Nanos,
    /// After a refusal, a closure or no answer: when protection is asked for again.
    pub retry: Nanos,
    /// A queueing delay that rose by more than this, with a loss of unknown cause, makes it congestion.
    pub congestion_delay: i32,
    /// From whom path reports are believed (CREM, Path Reports).
    pub reporters: Vec<IpAddr>,
    /// The sources that this function serves as a gateway: it takes the reports addressed to them.
    pub serves: Vec<IpNet>,
    /// Receiver functions that are not at the flow's destination: the first prefix that contains it counts.
    pub receivers: Vec<(IpNet, IpAddr)>,
    /// Queue pairs known in advance: the flow, and the sender's queue pair that its acknowledgements go to.
    pub pairs: Vec<(FlowKey, u32)>,
    /// The kernel for the codes.
    pub kernel: Kernel,
}

/// Octets of the longest RoCEv2 headers and trailers around the payload: BTH 12, Rate Signal 10, RETH 16, immediate 4, padding 3, ICRC 4.
const OVERHEAD: u16 = 49;

impl CsfConfig {
    //= CREM, Port: ff28588d
    /// The defaults for a domain's port and an RDMA MTU.
    pub fn new(port: u16, mtu: u16) -> Self {
        let longest = mtu.saturating_add(OVERHEAD + 2);
        Self {
            port,
            mtu,
            symbol_octets: longest.checked_next_multiple_of(8).unwrap_or(u16::MAX),
            scheme: Scheme::CAUCHY,
            k: 32,
            max_m: 8,
            epsilon: 1e-4,
            prior_loss: 0.0,
            loss_memory: 1 << 15,
            burst_gap: Nanos(20_000),
            spread: true,
            announce_ends: true,
            window: 1 << 13,
            max_flows: 1024,
            repair_permille: 250,
            repair_allowance: 16,
            initial_rtt: Nanos(1_000_000),
            retention_rtts: 4,
            fallback: FallbackAnswer::SourceCopy,
            report_timeout: Nanos(1_000_000_000),
            idle_timeout: Nanos(60_000_000_000),
            retry: Nanos(10_000_000_000),
            congestion_delay: 100,
            reporters: Vec::new(),
            serves: Vec::new(),
            receivers: Vec::new(),
            pairs: Vec::new(),
            kernel: Kernel::best(),
        }
    }

    /// Where a flow toward `destination` is announced.
    pub(super) fn receiver_of(&self, destination: IpAddr) -> SocketAddr {
        let configured = self.receivers.iter().find(|(prefix, _)| prefix.contains(&destination));
        SocketAddr::new(configured.map_or(destination, |(_, address)| *address), self.port)
    }
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsfStats {
    /// Source packets seen.
    pub sources: u64,
    /// Octets of their UDP payloads.
    pub source_octets: u64,
    /// Source packets that were put into a block.
    pub protected: u64,
    /// Source packets with a PSN that was there before.
    pub retransmitted: u64,
    /// Source packets longer than a symbol.
    pub oversize: u64,
    /// Packets of flows that were more than `max_flows`.
    pub unprotected_flows: u64,
    /// Blocks closed.
    pub blocks: u64,
    /// Ordinary repair symbols sent.
    pub ordinary: u64,
    /// Symbols of coded retransmissions sent.
    pub retransmissions: u64,
    /// Source Copy symbols sent.
    pub copies: u64,
    /// INFO messages sent.
    pub infos: u64,
    /// Octets of all repair messages sent.
    pub repair_octets: u64,
    /// Repair symbols that the rate limits kept back for good.
    pub suppressed: u64,
    /// Requests answered, by block.
    pub answered: u64,
    /// Requests for a block within a round-trip time of the last answer.
    pub too_soon: u64,
    /// Requests for a block that is not held, or by the breaker's state not to be answered.
    pub unanswerable: u64,
    /// Blocks given up before they were acknowledged.
    pub given_up: u64,
    /// Blocks released by an acknowledgement.
    pub acknowledged: u64,
    /// Datagrams that are no CREM messages.
    pub malformed: u64,
    /// Messages of unknown flows, from other addresses, or with contents that contradict the flow.
    pub refused: u64,
    /// Path reports from others than the configured reporters.
    pub unknown_reporters: u64,
    /// Path reports used.
    pub path_reports: u64,
    /// Of these, with lists that were cut.
    pub truncated_reports: u64,
}
