//! The half of a queue pair that takes messages in, answers RDMA READs, and acknowledges.
//!
//! Requests are taken in order only. Behind a gap they are dropped, or, in selective repeat, kept until the gap is filled;
//! a gap is refused once. What is to be answered waits in order ([`reply`]): an acknowledgement says that all before it was
//! answered. A receiver that isn't ready refuses like a gap, but names a time.

mod place;
mod reply;

pub(crate) use place::MESSAGE_LIMIT;

use std::collections::{BTreeMap, VecDeque};

use wire::roce::{Headers, MASK_24, NakCode, Opcode, Psn};

use crate::config::QpConfig;
use crate::event::{Disposition, Received, Stats};
use crate::requester::low_24;
use crate::work::{MemoryRegion, ReceiveCompletion, ReceiveRequest, WcStatus};
use place::{Message, Refusal};
use reply::Reply;

/// The half space of packet numbers: what lies further ahead is really behind.
const BEHIND: u32 = 1 << 23;

/// A request packet, with what the transport needs of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub headers: Headers,
    pub payload_octets: u32,
    pub ce: bool,
}

/// Where events go.
pub(crate) struct Sink<'a> {
    pub received: &'a mut VecDeque<Received>,
    pub receive_completions: &'a mut VecDeque<ReceiveCompletion>,
    pub stats: &'a mut Stats,
    pub memory: &'a BTreeMap<u32, MemoryRegion>,
}

#[derive(Debug)]
pub(crate) struct Responder {
    /// Count of the packet that must come next, from the queue pair's start.
    expected: u64,
    /// Messages taken in, 24 bits.
    msn: u32,
    /// The message at hand; `None` between messages.
    message: Option<Message>,
    /// Packets behind the gap.
    held: BTreeMap<u64, Arrival>,
    /// The present gap has been refused.
    gap_reported: bool,
    replies: VecDeque<Reply>,
    receives: VecDeque<ReceiveRequest>,
    failed: bool,
}

impl Responder {
    pub(crate) const fn new() -> Self {
        Self {
            expected: 0,
            msn: 0,
            message: None,
            held: BTreeMap::new(),
            gap_reported: false,
            replies: VecDeque::new(),
            receives: VecDeque::new(),
            failed: false,
        }
    }

    /// Posts memory for a SEND. Gives it back on a responder that failed: nothing will come.
    pub(crate) fn post_receive(&mut self, receive: ReceiveRequest) -> Option<ReceiveRequest> {
        if self.failed {
            return Some(receive);
        }
        self.receives.push_back(receive);
        None
    }

    /// Takes a request packet: a SEND, an RDMA WRITE or an RDMA READ.
    pub(crate) fn request(
        &mut self,
        config: &QpConfig,
        arrival: Arrival,
        sink: &mut Sink<'_>,
    ) -> Disposition {
        if self.failed {
            return Disposition::Ignored;
        }
        match arrival.headers.bth.psn.ahead_of(psn(config, self.expected)) {
            0 => {}
            ahead if ahead >= BEHIND => return self.again(config, &arrival, sink),
            ahead => return self.behind_gap(config, ahead, arrival, sink),
        }
        let disposition = self.take(config, &arrival, sink);
        // What waited for this one follows it.
        while !self.failed
            && let Some(held) = self.held.remove(&self.expected)
        {
            if self.take(config, &held, sink) != Disposition::Taken {
                break;
            }
        }
        if !self.held.is_empty() {
            // Numbers that a READ's answer took meanwhile can't be requests.
            self.held = self.held.split_off(&self.expected);
            if !self.held.is_empty() && !self.gap_reported {
                self.report_gap();
            }
        }
        disposition
    }

    /// A packet that came before.
    fn again(&mut self, config: &QpConfig, arrival: &Arrival, sink: &mut Sink<'_>) -> Disposition {
        sink.stats.duplicate_packets += 1;
        let Headers { bth, reth, .. } = arrival.headers;
        match reth {
            // Its answer was lost, or part of it: the request says which part is wanted.
            Some(reth) if bth.opcode == Opcode::READ_REQUEST => {
                let behind = u64::from(psn(config, self.expected).ahead_of(bth.psn));
                let packets = u64::from(config.packets(reth.dma_length));
                if behind > self.expected || packets > behind {
                    return Disposition::Invalid;
                }
                if place::read(config, &reth, sink.memory).is_err() {
                    return Disposition::Invalid;
                }
                self.answer_again(self.expected - behind, &reth, config);
            }
            _ if self.refuses() => {}
            // Its acknowledgement may have been lost. A refusal that waits says more.
            _ => self.acknowledge(),
        }
        Disposition::Duplicate
    }

    /// A packet before this one is missing.
    fn behind_gap(
        &mut self,
        config: &QpConfig,
        ahead: u32,
        arrival: Arrival,
        sink: &mut Sink<'_>,
    ) -> Disposition {
        // One refusal a gap: every packet behind it would give another.
        if !self.gap_reported {
            self.report_gap();
        }
        if ahead <= config.reorder_packets() {
            let count = self.expected + u64::from(ahead);
            if self.held.contains_key(&count) {
                sink.stats.duplicate_packets += 1;
                return Disposition::Duplicate;
            }
            self.held.insert(count, arrival);
            sink.stats.held_packets += 1;
            return Disposition::Held;
        }
        sink.stats.out_of_order_packets += 1;
        Disposition::OutOfOrder
    }

    fn report_gap(&mut self) {
        self.gap_reported = true;
        self.replies.push_back(Reply::Nak { code: NakCode::PSN_SEQUENCE_ERROR, at: self.expected });
    }

    /// Takes the packet that must come next.
    fn take(&mut self, config: &QpConfig, arrival: &Arrival, sink: &mut Sink<'_>) -> Disposition {
        let bth = &arrival.headers.bth;
        match self.placed(config, arrival, sink) {
            Ok(()) => {
                self.gap_reported = false;
                sink.stats.received_packets += 1;
                // A refusal that still waits is overtaken: the packet came.
                let overtaken = self.refuses();
                if overtaken {
                    self.replies.pop_back();
                }
                if bth.opcode == Opcode::READ_REQUEST {
                    if let Some(reth) = &arrival.headers.reth {
                        let first = self.expected;
                        self.expected += u64::from(config.packets(reth.dma_length));
                        self.answer(first, reth, config);
                    }
                } else {
                    self.expected += 1;
                    if bth.ack_request || overtaken {
                        self.acknowledge();
                    }
                }
                Disposition::Taken
            }
            Err(Refusal::NotReady) => {
                // What follows is behind a gap, and says nothing new.
                self.gap_reported = true;
                if !self.refuses() {
                    self.replies.push_back(Reply::NotReady { at: self.expected });
                }
                Disposition::NotReady
            }
            Err(Refusal::Nak(code)) => {
                self.fail(config, code, sink);
                Disposition::Invalid
            }
        }
    }

    fn fail(&mut self, config: &QpConfig, code: NakCode, sink: &mut Sink<'_>) {
        self.flush(config, sink.receive_completions);
        self.replies.push_back(Reply::Nak { code, at: self.expected });
    }

    pub(crate) const fn failed(&self) -> bool {
        self.failed
    }

    /// Ends all receives, and takes no more requests. What waits to be answered still is.
    fn flush(&mut self, config: &QpConfig, done: &mut VecDeque<ReceiveCompletion>) {
        self.failed = true;
        self.held.clear();
        let taking = self.message.take().and_then(|message| message.receive);
        for receive in taking.into_iter().chain(self.receives.drain(..)) {
            let ReceiveRequest { wr_id, .. } = receive;
            let status = WcStatus::WrFlushErr;
            done.push_back(ReceiveCompletion {
                qp: config.local_qp,
                wr_id,
                octets: 0,
                immediate: None,
                status,
            });
        }
    }

    /// The other half failed: nothing is taken or answered any more.
    pub(crate) fn end(&mut self, config: &QpConfig, done: &mut VecDeque<ReceiveCompletion>) {
        self.flush(config, done);
        self.replies.clear();
    }

    /// A refusal waits to be sent.
    fn refuses(&self) -> bool {
        matches!(self.replies.back(), Some(Reply::Nak { .. } | Reply::NotReady { .. }))
    }

    fn count_message(&mut self) {
        self.msn = self.msn.wrapping_add(1) & MASK_24;
    }
}

/// The number of a packet of the other end.
fn psn(config: &QpConfig, count: u64) -> Psn {
    config.first_remote_psn.plus(low_24(count))
}
