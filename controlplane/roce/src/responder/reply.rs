//! What a responder has to answer, in order.

use wire::roce::{Aeth, Bth, Headers, NakCode, Opcode, Position, Reth, Syndrome};

use super::{Responder, psn};
use crate::config::QpConfig;
use crate::packet::{TxContent, TxPacket, pad_count};

/// An answer that waits for the link. Packets are counted from the queue pair's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Everything before `end` came.
    Ack {
        /// Behind the last packet acknowledged.
        end: u64,
    },
    /// Everything before `at` came, and `at` is refused.
    Nak {
        /// Why.
        code: NakCode,
        /// The packet refused.
        at: u64,
    },
    /// Everything before `at` came, and the receiver isn't ready for it.
    NotReady {
        /// The packet refused.
        at: u64,
    },
    /// The answer to a READ, from `sent` on.
    Read(ReadJob),
}

/// The answer to a READ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadJob {
    /// Of its first packet.
    first: u64,
    /// Packets given out.
    sent: u32,
    packets: u32,
    reth: Reth,
    msn: u32,
}

/// Answers that wait at most, beyond the agreed depth: parts that are asked for again.
const AGAIN_LIMIT: usize = 64;

impl ReadJob {
    fn end(&self) -> u64 {
        self.first + u64::from(self.packets)
    }
}

impl Responder {
    /// Whether something waits that is sent at once.
    pub(crate) fn has_reply(&self) -> bool {
        self.replies.front().is_some_and(|reply| !matches!(reply, Reply::Read(_)))
    }

    /// Whether the next thing to send is a packet of an answer, which is data and waits for its turn and its time.
    pub(crate) fn has_answer(&self) -> bool {
        matches!(self.replies.front(), Some(Reply::Read(_)))
    }

    pub(super) fn acknowledge(&mut self) {
        let end = self.expected;
        match self.replies.back_mut() {
            // A later acknowledgement contains an earlier one.
            Some(Reply::Ack { end: before }) => *before = end,
            _ => self.replies.push_back(Reply::Ack { end }),
        }
    }

    /// Answers a READ. Beyond the agreed depth the requester has what was asked for first: that isn't answered again.
    pub(super) fn answer(&mut self, first: u64, reth: &Reth, config: &QpConfig) {
        while self.reads() >= usize::from(config.read_depth.max(1)) + AGAIN_LIMIT {
            let oldest = self.replies.iter().position(|reply| matches!(reply, Reply::Read(_)));
            oldest.and_then(|oldest| self.replies.remove(oldest));
        }
        let job = self.job(first, reth, config);
        self.replies.push_back(Reply::Read(job));
    }

    /// Answers a READ, or a part of it, again. Where the rest of it is asked for and its answer isn't at its end yet, that goes
    /// back.
    pub(super) fn answer_again(&mut self, first: u64, reth: &Reth, config: &QpConfig) {
        let again = self.job(first, reth, config);
        let waiting = self.reads();
        let under_way = self.replies.iter_mut().find_map(|reply| match reply {
            Reply::Read(job) if job.first <= first && job.end() == again.end() => Some(job),
            _ => None,
        });
        match under_way {
            Some(job) => *job = again,
            // The requester's timer asks once more.
            None if waiting >= usize::from(config.read_depth) + AGAIN_LIMIT => {}
            None => self.replies.push_back(Reply::Read(again)),
        }
    }

    fn job(&self, first: u64, reth: &Reth, config: &QpConfig) -> ReadJob {
        let packets = config.packets(reth.dma_length);
        ReadJob { first, sent: 0, packets, reth: *reth, msn: self.msn }
    }

    /// READs that are not wholly answered.
    fn reads(&self) -> usize {
        self.replies.iter().filter(|reply| matches!(reply, Reply::Read(_))).count()
    }

    /// The acknowledgement or refusal that goes next.
    pub(crate) fn take_reply(&mut self, config: &QpConfig) -> Option<TxPacket> {
        if !self.has_reply() {
            return None;
        }
        let reply = self.replies.pop_front()?;
        let (syndrome, count, content) = match reply {
            Reply::Nak { code, at } => (Syndrome::Nak(code), at, TxContent::Nak),
            Reply::NotReady { at } => (Syndrome::RnrNak { timer: config.rnr_timer }, at, TxContent::Nak),
            Reply::Ack { end } => (ACK, end.wrapping_sub(1), TxContent::Ack),
            Reply::Read(_) => return None,
        };
        let bth = Bth::new(Opcode::ACKNOWLEDGE, config.remote_qp, psn(config, count));
        let headers = Headers { aeth: Some(Aeth { syndrome, msn: self.msn }), ..Headers::new(bth) };
        Some(reply_packet(config, &headers, config.ack_dscp, 0, content))
    }

    /// The packet of an answer that goes next.
    pub(crate) fn take_answer(&mut self, config: &QpConfig) -> Option<TxPacket> {
        let Some(Reply::Read(job)) = self.replies.front_mut() else { return None };
        let ReadJob { first, sent, packets, reth, msn } = *job;
        let position = Position::of(sent, packets);
        let offset = sent * u32::from(config.mtu);
        let payload_octets = (reth.dma_length - offset).min(config.mtu.into());
        job.sent += 1;
        if position.ends() {
            self.replies.pop_front();
        }
        let opcode = Opcode::read_response(position);
        let bth = Bth {
            pad_count: pad_count(payload_octets),
            ..Bth::new(opcode, config.remote_qp, psn(config, first + u64::from(sent)))
        };
        let headers = Headers {
            rate_signal: config.rate_signal,
            aeth: opcode.has_aeth().then_some(Aeth { syndrome: ACK, msn }),
            ..Headers::new(bth)
        };
        let address = reth.virtual_address.wrapping_add(offset.into());
        let content = TxContent::ReadResponse { address, key: reth.remote_key };
        Some(reply_packet(config, &headers, config.read_response_dscp, payload_octets, content))
    }
}

const ACK: Syndrome = Syndrome::Ack { credit: Syndrome::NO_CREDIT_LIMIT };

fn reply_packet(
    config: &QpConfig,
    headers: &Headers,
    dscp: u8,
    payload_octets: u32,
    content: TxContent,
) -> TxPacket {
    TxPacket {
        qp: config.local_qp,
        destination: config.remote,
        source_port: config.source_port,
        dscp,
        head: headers.to_octets(),
        payload_octets,
        content,
    }
}
