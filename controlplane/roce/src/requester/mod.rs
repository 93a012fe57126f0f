//! The half of a queue pair that posts: it sends messages and asks for RDMA READs, and waits until the other end has them.
//!
//! Packets are counted in 64 bits from the queue pair's start; only the wire sees them modulo 2^24. A READ takes as many
//! numbers as its answer has packets.
//!
//! ```text
//!    unacknowledged        next        high         end
//! ---------|--------------|-----------|------------|---->
//!  done    |  in flight   | goes again| never sent | not posted
//! ```
//!
//! `answers` has what comes back, `recovery` what is done about gaps.

mod answers;
mod recovery;

pub(crate) use answers::Answered;

use core::ops::Range;
use std::collections::{BTreeSet, VecDeque};

use wire::roce::{Bth, Headers, ImmDt, MASK_24, Position, Psn, Reth};
use wire::units::Nanos;

use crate::config::{QpConfig, WINDOW_LIMIT};
use crate::packet::{TxContent, TxPacket, pad_count};
use crate::work::{Completion, Operation, WorkRequest};

/// A posted message.
#[derive(Clone, Copy, Debug)]
struct Request {
    work: WorkRequest,
    /// Count of its first packet.
    first: u64,
    packets: u32,
    /// The number that the responder gives it, 24 bits.
    msn: u32,
}

impl Request {
    fn end(&self) -> u64 {
        self.first + u64::from(self.packets)
    }

    fn contains(&self, count: u64) -> bool {
        (self.first..self.end()).contains(&count)
    }

    /// Where in the message the packet `count` starts.
    fn offset(&self, config: &QpConfig, count: u64) -> u32 {
        low_32(count - self.first) * u32::from(config.mtu)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Requester {
    /// Messages not wholly done, in order. The first unacknowledged packet lies in the front one.
    requests: VecDeque<Request>,
    /// The request in which `next` lies.
    cursor: usize,
    /// First packet that isn't done: not acknowledged, or of a READ not answered.
    unacknowledged: u64,
    /// Behind the last packet that the responder said it has. Beyond `unacknowledged` while an answer is missing.
    acknowledged: u64,
    /// Packets of answers that came behind a gap.
    answered: BTreeSet<u64>,
    /// Next packet to give out; goes back after a gap.
    next: u64,
    /// To give out before `next`: gaps, in selective repeat.
    again: VecDeque<Range<u64>>,
    /// What the last gap was taken for, in selective repeat: see [`recovery`].
    gap: Range<u64>,
    /// The present gap in answers was asked for again, in go-back-N.
    gap_asked: bool,
    /// Behind the last answer that came, or was asked for again, in selective repeat.
    answers_until: u64,
    /// Behind the last packet ever given out.
    high: u64,
    /// Behind the last packet posted.
    end: u64,
    /// Behind the last packet given out with an acknowledgement asked for.
    asked: u64,
    /// READs given out and not wholly answered.
    reads: u32,
    /// READs posted and not wholly answered.
    reads_posted: usize,
    /// How often in a row it went back without progress.
    retries: u32,
    /// How often in a row the receiver wasn't ready.
    rnr_retries: u32,
    /// When the receiver may be ready.
    ready_at: Nanos,
    /// When to go back, if no acknowledgement comes.
    deadline: Option<Nanos>,
    /// Messages posted, for [`Requester::next_msn`].
    posted: u64,
    failed: bool,
}

/// Completions that an event caused.
pub(crate) type Completions = VecDeque<Completion>;

impl Requester {
    pub(crate) const fn deadline(&self) -> Option<Nanos> {
        self.deadline
    }

    pub(crate) const fn failed(&self) -> bool {
        self.failed
    }

    /// Until when nothing may be given out, because the receiver isn't ready.
    pub(crate) const fn ready_at(&self) -> Nanos {
        self.ready_at
    }

    /// How many messages are not wholly done.
    pub(crate) fn pending_messages(&self) -> usize {
        self.requests.len()
    }

    /// The number that the responder will give the next message posted.
    pub(crate) fn next_msn(&self) -> u32 {
        low_24(self.posted + 1)
    }

    pub(crate) fn post(&mut self, config: &QpConfig, work: WorkRequest) {
        let packets = config.packets(work.octets);
        let msn = self.next_msn();
        self.requests.push_back(Request { work, first: self.end, packets, msn });
        self.end += u64::from(packets);
        self.posted += 1;
        if work.operation.is_read() {
            self.reads_posted += 1;
        }
    }

    /// Whether there is something to give out, but for the time.
    pub(crate) fn can_send(&self, config: &QpConfig) -> bool {
        if self.failed {
            return false;
        }
        if !self.again.is_empty() {
            return true;
        }
        let in_flight = self.next - self.unacknowledged;
        if self.next >= self.end || in_flight >= config.window() {
            return false;
        }
        self.requests.get(self.cursor).is_some_and(|request| {
            !request.work.operation.is_read()
                || self.reads < u32::from(config.read_depth)
                    && in_flight + (request.end() - self.next) <= WINDOW_LIMIT.into()
        })
    }

    pub(crate) fn next_packet(&mut self, config: &QpConfig, now: Nanos) -> Option<TxPacket> {
        if !self.can_send(config) {
            return None;
        }
        let again = self.again.pop_front();
        let (count, request) = match &again {
            Some(again) => (again.start, *self.requests.get(self.place_of(again.start)?)?),
            None => (self.next, *self.requests.get(self.cursor)?),
        };
        let read = request.work.operation.is_read();
        let end = match &again {
            _ if !read => count + 1,
            Some(again) => again.end.min(request.end()),
            None => request.end(),
        };
        let retransmission = count < self.high;
        if let Some(again) = &again {
            if end < again.end {
                self.again.push_front(end..again.end);
            }
        } else {
            self.next = end;
            self.high = self.high.max(end);
            if end == request.end() {
                self.cursor += 1;
                self.reads += u32::from(read);
            }
        }
        let asks = config.ack_requests;
        let ack_request = read
            || asks.every_message && end == request.end()
            || end.saturating_sub(self.asked.max(self.unacknowledged)) >= asks.packets.into()
            || !self.can_send(config)
            || again.is_some() && self.again.is_empty();
        if ack_request {
            self.asked = self.asked.max(end);
            if self.deadline.is_none() {
                self.deadline = Some(now + config.retransmit_timeout);
            }
        }
        Some(packet(config, &request, count..end, ack_request, retransmission))
    }

    /// Which request a packet belongs to.
    fn place_of(&self, count: u64) -> Option<usize> {
        let behind = self.requests.partition_point(|request| request.first <= count);
        behind.checked_sub(1).filter(|&place| self.requests.get(place).is_some_and(|r| r.contains(count)))
    }

    fn psn(config: &QpConfig, count: u64) -> Psn {
        config.first_psn.plus(low_24(count))
    }
}

//= SCONE, Feedback Loop: 3cd4917d 5bb82472
//= SCONE, Solution 2: Per-QP On-Path Endpoint Feedback: c62c7042
/// The packet `counts.start` of a request; of a READ, the one that asks for all of `counts`.
fn packet(
    config: &QpConfig,
    request: &Request,
    counts: Range<u64>,
    ack_request: bool,
    retransmission: bool,
) -> TxPacket {
    let Request { work, first, packets, .. } = *request;
    let offset = request.offset(config, counts.start);
    let position = Position::of(low_32(counts.start - first), packets);
    let bth = |payload_octets| Bth {
        pad_count: pad_count(payload_octets),
        ack_request,
        ..Bth::new(work.operation.opcode(position), config.remote_qp, Requester::psn(config, counts.start))
    };
    let (headers, payload_octets, content) = match work.operation {
        Operation::Read { from } => {
            let asked_for = low_32(counts.end - counts.start).saturating_mul(config.mtu.into());
            let reth = Reth {
                virtual_address: from.address.wrapping_add(offset.into()),
                remote_key: from.key,
                dma_length: (work.octets - offset).min(asked_for),
            };
            let headers = Headers { reth: Some(reth), ..Headers::new(bth(0)) };
            (headers, 0, TxContent::ReadRequest { wr_id: work.wr_id, retransmission })
        }
        Operation::Send { immediate } | Operation::Write { immediate, .. } => {
            let payload_octets = (work.octets - offset).min(config.mtu.into());
            let reth = match work.operation {
                Operation::Write { to, .. } if position.starts() => {
                    Some(Reth { virtual_address: to.address, remote_key: to.key, dma_length: work.octets })
                }
                _ => None,
            };
            let headers = Headers {
                rate_signal: config.rate_signal,
                reth,
                immediate: immediate.filter(|_| position.ends()).map(ImmDt),
                ..Headers::new(bth(payload_octets))
            };
            let last = position.ends();
            (headers, payload_octets, TxContent::Data { wr_id: work.wr_id, offset, last, retransmission })
        }
    };
    TxPacket {
        qp: config.local_qp,
        destination: config.remote,
        source_port: config.source_port,
        dscp: work.dscp,
        head: headers.to_octets(),
        payload_octets,
        content,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "masked to 24 bits")]
pub(crate) fn low_24(count: u64) -> u32 {
    (count & u64::from(MASK_24)) as u32
}

/// An index within a message, whose packets are counted in 32 bits.
pub(crate) fn low_32(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
