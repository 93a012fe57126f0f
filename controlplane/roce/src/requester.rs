//! The half of a queue pair that sends messages and waits for acknowledgements.
//!
//! Packets are counted in 64 bits from the queue pair's start; only the wire sees them modulo 2^24.

use std::collections::VecDeque;

use wire::roce::{Bth, MASK_24, NakCode, Opcode, Position, Psn, Reth};
use wire::units::Nanos;

use crate::config::QpConfig;
use crate::event::{Completion, WcStatus};
use crate::packet::{PacketHead, TxContent, TxPacket, pad_count};

/// A posted message.
#[derive(Clone, Copy, Debug)]
struct Request {
    wr_id: u64,
    octets: u32,
    dscp: u8,
    /// Count of its first packet.
    first: u64,
    packets: u32,
}

impl Request {
    fn end(&self) -> u64 {
        self.first + u64::from(self.packets)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Requester {
    /// Messages not wholly acknowledged, in order. The first unacknowledged packet lies in the front one.
    requests: VecDeque<Request>,
    /// The request in which `next` lies.
    cursor: usize,
    /// First packet not acknowledged.
    unacknowledged: u64,
    /// Next packet to give out; goes back after a gap.
    next: u64,
    /// Behind the last packet ever given out.
    high: u64,
    /// Behind the last packet posted.
    end: u64,
    /// Behind the last packet given out with an acknowledgement asked for.
    asked: u64,
    /// How often in a row it went back without progress.
    retries: u32,
    /// When to go back, if no acknowledgement comes.
    deadline: Option<Nanos>,
    /// Messages posted, for [`Requester::next_msn`].
    posted: u64,
    failed: bool,
}

/// Where a piece goes: the numbers of completions that an event caused.
pub(crate) type Completions = VecDeque<Completion>;

impl Requester {
    pub(crate) const fn deadline(&self) -> Option<Nanos> {
        self.deadline
    }

    pub(crate) const fn failed(&self) -> bool {
        self.failed
    }

    /// Octets of posted messages that are not wholly acknowledged, and how many messages.
    pub(crate) fn pending_messages(&self) -> usize {
        self.requests.len()
    }

    /// The number that the responder will give the next message posted.
    pub(crate) fn next_msn(&self) -> u32 {
        low_24(self.posted + 1)
    }

    pub(crate) fn post(&mut self, config: &QpConfig, wr_id: u64, octets: u32, dscp: u8) {
        // An empty message is one empty packet.
        let packets = octets.div_ceil(config.mtu.into()).max(1);
        self.requests.push_back(Request { wr_id, octets, dscp, first: self.end, packets });
        self.end += u64::from(packets);
        self.posted += 1;
    }

    pub(crate) fn can_send(&self, config: &QpConfig) -> bool {
        !self.failed && self.next < self.end && self.next - self.unacknowledged < config.window()
    }

    pub(crate) fn next_packet(&mut self, config: &QpConfig, now: Nanos) -> Option<TxPacket> {
        if !self.can_send(config) {
            return None;
        }
        let request = *self.requests.get(self.cursor)?;
        let index = low_32(self.next - request.first);
        let position = Position::of(index, request.packets);
        let offset = index * u32::from(config.mtu);
        let payload_octets = (request.octets - offset).min(config.mtu.into());
        let retransmission = self.next < self.high;
        let psn = config.first_psn.plus(low_24(self.next));

        self.next += 1;
        self.high = self.high.max(self.next);
        if position.ends() {
            self.cursor += 1;
        }
        let asks = config.ack_requests;
        let ack_request = asks.every_message && position.ends()
            || self.next - self.asked.max(self.unacknowledged) >= asks.packets.into()
            || !self.can_send(config);
        if ack_request {
            self.asked = self.next;
            if self.deadline.is_none() {
                self.deadline = Some(now + config.retransmit_timeout);
            }
        }

        let bth = Bth {
            pad_count: pad_count(payload_octets),
            ack_request,
            ..Bth::new(Opcode::write(position), config.remote_qp, psn)
        };
        let head = if position.starts() {
            // The address and key of the memory are the application's; only the length matters here.
            PacketHead::with_reth(&bth, &Reth { dma_length: request.octets, ..Reth::default() })
        } else {
            PacketHead::with_bth(&bth)
        };
        Some(TxPacket {
            qp: config.local_qp,
            destination: config.remote,
            source_port: config.source_port,
            dscp: request.dscp,
            head,
            payload_octets,
            content: TxContent::Data { wr_id: request.wr_id, offset, last: position.ends(), retransmission },
        })
    }

    /// The responder has everything up to and with `psn`.
    pub(crate) fn acknowledged(&mut self, config: &QpConfig, psn: Psn, now: Nanos, done: &mut Completions) {
        self.progress(config, psn.plus(1), now, done);
    }

    /// The responder refuses the packet `psn`, and has everything before.
    pub(crate) fn refused(
        &mut self,
        config: &QpConfig,
        psn: Psn,
        code: NakCode,
        now: Nanos,
        done: &mut Completions,
    ) {
        if !self.progress(config, psn, now, done) {
            return;
        }
        match code {
            NakCode::PSN_SEQUENCE_ERROR => self.go_back(config, done),
            NakCode::REMOTE_ACCESS_ERROR => self.fail(config, WcStatus::RemAccessErr, done),
            NakCode::REMOTE_OPERATIONAL_ERROR => self.fail(config, WcStatus::RemOpErr, done),
            _ => self.fail(config, WcStatus::RemInvReqErr, done),
        }
    }

    /// The deadline passed.
    pub(crate) fn timed_out(&mut self, config: &QpConfig, done: &mut Completions) {
        self.go_back(config, done);
    }

    /// Takes `next_expected` as the first packet that the responder lacks. Gives false for one that is old, or that was
    /// never sent: both are ignored, an old acknowledgement says nothing new.
    fn progress(
        &mut self,
        config: &QpConfig,
        next_expected: Psn,
        now: Nanos,
        done: &mut Completions,
    ) -> bool {
        let ahead = u64::from(next_expected.ahead_of(config.first_psn.plus(low_24(self.unacknowledged))));
        if self.failed || ahead > self.high - self.unacknowledged {
            return false;
        }
        if ahead == 0 {
            return true;
        }
        self.unacknowledged += ahead;
        self.retries = 0;
        while let Some(request) = self.requests.front().filter(|front| front.end() <= self.unacknowledged) {
            done.push_back(Completion {
                qp: config.local_qp,
                wr_id: request.wr_id,
                octets: request.octets,
                status: WcStatus::Success,
            });
            self.requests.pop_front();
            self.cursor = self.cursor.saturating_sub(1);
        }
        if self.next < self.unacknowledged {
            // It had gone back for packets that did arrive.
            self.next = self.unacknowledged;
            self.cursor = 0;
        }
        // The timer runs only while an answer is due.
        self.deadline = (self.asked > self.unacknowledged).then_some(now + config.retransmit_timeout);
        true
    }

    fn go_back(&mut self, config: &QpConfig, done: &mut Completions) {
        self.retries += 1;
        if config.retry_limit.is_some_and(|limit| self.retries > limit) {
            self.fail(config, WcStatus::RetryExcErr, done);
            return;
        }
        self.next = self.unacknowledged;
        self.cursor = 0;
        self.asked = self.unacknowledged;
        // Set again with the first packet that asks: it may have to wait for the link.
        self.deadline = None;
    }

    fn fail(&mut self, config: &QpConfig, mut status: WcStatus, done: &mut Completions) {
        self.failed = true;
        self.deadline = None;
        for Request { wr_id, octets, .. } in self.requests.drain(..) {
            done.push_back(Completion { qp: config.local_qp, wr_id, octets, status });
            status = WcStatus::WrFlushErr;
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "masked to 24 bits")]
fn low_24(count: u64) -> u32 {
    (count & u64::from(MASK_24)) as u32
}

/// An index within a message, whose packets are counted in 32 bits.
fn low_32(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
