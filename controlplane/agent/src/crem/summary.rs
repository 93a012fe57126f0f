//! The gateway's figures.

use crem::crf::CrfStats;
use crem::csf::CsfStats;
use serde::Serialize;
use wire::units::Nanos;

use super::shim::Shim;
use crate::rdcc::summary::{Counters, counter, gauge, micros};

/// What an interface took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Frames.
    pub frames: u64,
    /// Their octets.
    pub octets: u64,
    /// Frames that it refused: longer than its MTU, or it is down or full.
    pub refused: u64,
}

/// What a gateway did. Times in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How long it ran.
    pub ran: f64,
    /// The sender function's counters.
    pub sender: Counters,
    /// The receiver function's counters.
    pub receiver: Counters,
    /// The gateway's own.
    pub gateway: Counters,
}

impl Summary {
    /// The figures at `now`; `passed` are what the interfaces inside and outside took.
    pub(super) fn of(shim: &Shim, passed: [Passed; 2], now: Nanos) -> Self {
        Self {
            ran: micros(now),
            sender: sender(shim.sender()),
            receiver: receiver(shim.receiver(), shim.held()),
            gateway: gateway(shim, passed),
        }
    }
}

fn sender(stats: &CsfStats) -> Counters {
    Counters(vec![
        counter("sources", "Source packets seen", stats.sources),
        counter("source_octets", "Octets of their UDP payloads", stats.source_octets),
        counter("protected", "Source packets put into a block", stats.protected),
        counter("retransmitted", "Source packets with a PSN that was there before", stats.retransmitted),
        counter("oversize", "Source packets longer than a symbol", stats.oversize),
        counter("unprotected_flows", "Packets of flows beyond the limit", stats.unprotected_flows),
        counter("blocks", "Blocks closed", stats.blocks),
        counter("ordinary", "Ordinary repair symbols sent", stats.ordinary),
        counter("retransmissions", "Symbols of coded retransmissions sent", stats.retransmissions),
        counter("copies", "Source Copy symbols sent", stats.copies),
        counter("infos", "INFO messages sent", stats.infos),
        counter("repair_octets", "Octets of all repair messages sent", stats.repair_octets),
        counter("suppressed", "Repair symbols that the rate limits kept back", stats.suppressed),
        counter("answered", "Requests answered, by block", stats.answered),
        counter("too_soon", "Requests within a round trip of the last answer", stats.too_soon),
        counter("unanswerable", "Requests for blocks that are not held", stats.unanswerable),
        counter("given_up", "Blocks given up before they were acknowledged", stats.given_up),
        counter("acknowledged", "Blocks released by an acknowledgement", stats.acknowledged),
        counter("malformed", "Datagrams that are no messages", stats.malformed),
        counter("refused", "Messages of unknown flows or from elsewhere", stats.refused),
        counter("unknown_reporters", "Path reports of unknown reporters", stats.unknown_reporters),
        counter("path_reports", "Path reports used", stats.path_reports),
        counter("truncated_reports", "Of these, with lists that were cut", stats.truncated_reports),
    ])
}

fn receiver(stats: &CrfStats, (flows, memory): (usize, usize)) -> Counters {
    Counters(vec![
        gauge("flows", "Flows protected", flows as u64),
        gauge("memory", "Octets that symbols take", memory as u64),
        counter("sources", "Source packets of established flows", stats.sources),
        counter("duplicates", "Of these, with a PSN that was there before", stats.duplicates),
        counter("late", "Packets that were missing and came after all", stats.late),
        counter("held", "Packets held behind a gap", stats.held),
        counter("restored", "Packets restored and verified", stats.restored),
        counter("invalid", "Symbols that decoded to no valid packet", stats.invalid),
        counter("repairs", "Repair messages taken", stats.repairs),
        counter("needless", "Repair messages of complete blocks", stats.needless),
        counter("crowded_out", "Repair symbols without room", stats.crowded_out),
        counter("block_requests", "Block requests sent", stats.block_requests),
        counter("range_requests", "Range requests sent", stats.range_requests),
        counter("fallback_requests", "Of both, for the packets themselves", stats.fallback_requests),
        counter("given_up", "Packets left to the RDMA transport", stats.given_up),
        counter("refusals", "Packets that went on before their turn, for the receiver's NAK", stats.refusals),
        counter("jumps", "Jumps of the PSN", stats.jumps),
        counter("malformed", "Datagrams that are no messages", stats.malformed),
        counter("refused", "Messages of unknown flows or from elsewhere", stats.refused),
        counter("turned_away", "Flows and configurations without room", stats.turned_away),
        counter("short", "Source packets too short to be RoCEv2", stats.short),
    ])
}

fn gateway(shim: &Shim, [inside, outside]: [Passed; 2]) -> Counters {
    let stats = shim.stats();
    Counters(vec![
        counter("from_inside", "Frames from inside", stats.frames[0]),
        counter("from_outside", "Frames from outside", stats.frames[1]),
        counter("packets_out", "RoCEv2 packets of hosts inside", stats.packets[0]),
        counter("packets_in", "RoCEv2 packets to hosts inside", stats.packets[1]),
        counter("messages", "CREM messages that came", stats.messages),
        counter("damaged", "Of these, with a wrong UDP checksum", stats.damaged),
        counter("messages_sent", "CREM messages sent", stats.sent),
        counter("delivered", "Packets delivered after being held or restored", stats.delivered),
        counter("untracked", "Packets beyond what is kept in mind; they pass unprotected", stats.untracked),
        counter("unsent", "Frames that couldn't be made", stats.unsent),
        counter("to_inside", "Frames that the interface inside took", inside.frames),
        counter("to_outside", "Frames that the interface outside took", outside.frames),
        counter("refused_inside", "Frames that the interface inside refused", inside.refused),
        counter("refused_outside", "Frames that the interface outside refused", outside.refused),
    ])
}
