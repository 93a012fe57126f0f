//! The half of a queue pair that takes messages in and acknowledges them.

use wire::roce::{Aeth, Bth, MASK_24, NakCode, Opcode, Position, Psn, Reth, Syndrome};

use crate::config::QpConfig;
use crate::packet::{PacketHead, TxContent, TxPacket};

/// The half space of packet numbers: what lies further ahead is really behind.
const BEHIND: u32 = 1 << 23;

#[derive(Debug)]
pub(crate) struct Responder {
    /// The packet that must come next.
    expected: Psn,
    /// Messages completed, 24 bits.
    msn: u32,
    /// Octets that the message at hand still lacks; `None` between messages.
    missing: Option<u32>,
    /// The present gap has been reported.
    gap_reported: bool,
    /// What to answer, when the link is free. Later answers contain earlier ones, so one is enough.
    reply: Option<Reply>,
    failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Ack,
    Nak(NakCode),
}

/// What became of a request packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Taken in.
    Accepted {
        /// The number of its message.
        msn: u32,
        /// Its place in the message.
        position: Position,
    },
    /// Taken in before.
    Duplicate,
    /// One before it is missing.
    OutOfOrder,
    /// Makes no sense here; the queue pair's responder has failed.
    Invalid,
    /// The responder failed before.
    Ignored,
}

impl Responder {
    pub(crate) const fn new(expected: Psn) -> Self {
        Self { expected, msn: 0, missing: None, gap_reported: false, reply: None, failed: false }
    }

    /// Takes an RDMA WRITE packet with `payload_octets`, and its RETH where the opcode has one.
    pub(crate) fn request(
        &mut self,
        config: &QpConfig,
        bth: &Bth,
        reth: Option<&Reth>,
        payload_octets: u32,
    ) -> Outcome {
        if self.failed {
            return Outcome::Ignored;
        }
        match bth.psn.ahead_of(self.expected) {
            0 => {}
            ahead if ahead >= BEHIND => {
                // Its acknowledgement may have been lost. A refusal that waits says more and goes first.
                self.reply.get_or_insert(Reply::Ack);
                return Outcome::Duplicate;
            }
            _ => {
                // One report a gap: every packet behind the gap would give another.
                if !self.gap_reported {
                    self.gap_reported = true;
                    self.reply = Some(Reply::Nak(NakCode::PSN_SEQUENCE_ERROR));
                }
                return Outcome::OutOfOrder;
            }
        }
        let Some((position, missing)) = self.placed(config, bth.opcode, reth, payload_octets) else {
            self.failed = true;
            self.reply = Some(Reply::Nak(NakCode::INVALID_REQUEST));
            return Outcome::Invalid;
        };
        self.missing = (!position.ends()).then_some(missing);
        self.expected = self.expected.plus(1);
        self.gap_reported = false;
        let msn = self.msn.wrapping_add(1) & MASK_24;
        if position.ends() {
            self.msn = msn;
        }
        // A refusal that still waits is overtaken: the packet came.
        if bth.ack_request || self.reply.is_some() {
            self.reply = Some(Reply::Ack);
        }
        Outcome::Accepted { msn, position }
    }

    /// The packet's place in its message and the octets missing after it; `None` if it doesn't fit there.
    fn placed(
        &self,
        config: &QpConfig,
        opcode: Opcode,
        reth: Option<&Reth>,
        payload_octets: u32,
    ) -> Option<(Position, u32)> {
        let position = opcode.position().filter(|_| opcode.is_write() && !opcode.has_immediate())?;
        let before = match (self.missing, reth) {
            (None, Some(reth)) if position.starts() => reth.dma_length,
            (Some(missing), None) if !position.starts() => missing,
            _ => return None,
        };
        let missing = before.checked_sub(payload_octets)?;
        // All packets but the last are full, and the last brings what was left.
        let mtu = u32::from(config.mtu);
        let fits =
            if position.ends() { missing == 0 && payload_octets <= mtu } else { payload_octets == mtu };
        fits.then_some((position, missing))
    }

    pub(crate) const fn has_reply(&self) -> bool {
        self.reply.is_some()
    }

    pub(crate) fn take_reply(&mut self, config: &QpConfig) -> Option<TxPacket> {
        let reply = self.reply.take()?;
        let (syndrome, psn, content) = match reply {
            Reply::Ack => {
                let credit = Syndrome::NO_CREDIT_LIMIT;
                (Syndrome::Ack { credit }, self.expected.plus(MASK_24), TxContent::Ack)
            }
            Reply::Nak(code) => (Syndrome::Nak(code), self.expected, TxContent::Nak),
        };
        let bth = Bth::new(Opcode::ACKNOWLEDGE, config.remote_qp, psn);
        Some(TxPacket {
            qp: config.local_qp,
            destination: config.remote,
            source_port: config.source_port,
            dscp: config.ack_dscp,
            head: PacketHead::with_aeth(&bth, Aeth { syndrome, msn: self.msn }),
            payload_octets: 0,
            content,
        })
    }
}
