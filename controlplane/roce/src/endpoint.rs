//! The queue pairs of a host behind its link.

use core::cmp::Reverse;
use core::net::IpAddr;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use wire::roce::{
    AETH_OCTETS, Aeth, BTH_OCTETS, Bth, DecodeError, ICRC_OCTETS, Opcode, RETH_OCTETS, Reth, Syndrome,
};
use wire::units::{BitPerSec, Nanos};

use crate::config::{QpConfig, QpConfigError};
use crate::event::{Completion, Received, Stats, WcStatus};
use crate::pacing::Pacer;
use crate::packet::{TxContent, TxPacket};
use crate::requester::Requester;
use crate::responder::{Outcome, Responder};

/// The longest message: 2^31 octets, as InfiniBand has it.
const MESSAGE_LIMIT: u32 = 1 << 31;

/// A host's RDMA interface.
///
/// Answers leave before data, data of the queue pairs in turn, a packet each. Every call costs the same however many
/// queue pairs and messages there are, but for the logarithm of the queue pairs' number.
#[derive(Debug, Default)]
pub struct Endpoint {
    qps: Vec<Qp>,
    by_number: BTreeMap<u32, usize>,
    /// Queue pairs with an answer to send.
    replying: VecDeque<usize>,
    /// Queue pairs that may have data to send, in turn.
    sending: VecDeque<usize>,
    /// Queue pairs that have data to send and must not yet.
    paced: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// At most one entry a queue pair, never later than its deadline.
    timers: BinaryHeap<Reverse<(Nanos, usize)>>,
    completions: VecDeque<Completion>,
    received: VecDeque<Received>,
    stats: Stats,
}

#[derive(Debug)]
struct Qp {
    config: QpConfig,
    requester: Requester,
    responder: Responder,
    pacer: Pacer,
    in_replying: bool,
    /// Or in `paced`.
    in_sending: bool,
    in_timers: bool,
}

/// A message that can't be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// There is no such queue pair here.
    #[error("queue pair {0:#x} doesn't exist at this endpoint")]
    UnknownQp(u32),
    /// Longer than an RDMA message can be.
    #[error("a message of {0} octets; it should have at most 2147483648")]
    TooLong(u32),
    /// A DSCP of more than six bits.
    #[error("DSCP {0}; it should be at most 63")]
    Dscp(u8),
}

/// A packet that was not for this endpoint, or is malformed. It had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// A header doesn't fit into the packet.
    #[error(transparent)]
    Header(#[from] DecodeError),
    /// Its destination queue pair doesn't exist here.
    #[error("octet 5: queue pair {0:#x} doesn't exist at this endpoint")]
    UnknownQp(u32),
    /// It comes from another host than the queue pair's other end.
    #[error("queue pair {qp:#x} is connected to {expected}; the packet comes from {from}")]
    WrongSource {
        /// The local queue pair.
        qp: u32,
        /// The packet's source.
        from: IpAddr,
        /// The host of the other end.
        expected: IpAddr,
    },
    /// The UDP payload is shorter than the headers, the padding and the ICRC that it must hold.
    #[error("a UDP payload of {octets} octets; {needed} are needed for headers, padding and ICRC")]
    TooShort {
        /// Octets of the UDP payload.
        octets: usize,
        /// Octets needed.
        needed: usize,
    },
    /// An operation that this endpoint doesn't have.
    #[error("octet 0: {0} is not implemented; it should be an RDMA WRITE, an acknowledgement or a CNP")]
    Unsupported(Opcode),
}

impl Endpoint {
    /// An endpoint without queue pairs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a queue pair, ready to send and to receive.
    ///
    /// # Errors
    /// [`QpConfigError`] for a parameter that can't be, or a number in use.
    pub fn create_qp(&mut self, config: QpConfig) -> Result<(), QpConfigError> {
        config.check()?;
        if self.by_number.contains_key(&config.local_qp) {
            return Err(QpConfigError::InUse(config.local_qp));
        }
        self.by_number.insert(config.local_qp, self.qps.len());
        self.qps.push(Qp {
            config,
            requester: Requester::default(),
            responder: Responder::new(config.first_remote_psn),
            pacer: Pacer::new(config.dcqcn),
            in_replying: false,
            in_sending: false,
            in_timers: false,
        });
        Ok(())
    }

    /// Posts an RDMA WRITE of `octets` on the local queue pair `qp`; its packets carry `dscp`. It ends with a
    /// [`Completion`] under `wr_id`, which is the caller's and need not be unique. On a queue pair that failed it ends
    /// at once, flushed. Gives the message sequence number that the responder will assign: 1 for the first message of
    /// the queue pair (RDCC, Transport Bindings).
    ///
    /// # Errors
    /// [`PostError`], without effect.
    pub fn post(
        &mut self,
        qp: u32,
        wr_id: u64,
        octets: u32,
        dscp: u8,
        _now: Nanos,
    ) -> Result<u32, PostError> {
        let index = *self.by_number.get(&qp).ok_or(PostError::UnknownQp(qp))?;
        let state = self.qps.get_mut(index).ok_or(PostError::UnknownQp(qp))?;
        if octets > MESSAGE_LIMIT {
            return Err(PostError::TooLong(octets));
        }
        if dscp > 63 {
            return Err(PostError::Dscp(dscp));
        }
        let msn = state.requester.next_msn();
        if state.requester.failed() {
            self.completions.push_back(Completion { qp, wr_id, octets, status: WcStatus::WrFlushErr });
        } else {
            state.requester.post(&state.config, wr_id, octets, dscp);
            self.schedule(index);
        }
        Ok(msn)
    }

    /// The message sequence number that the responder will assign to the next message posted on `qp`; `None` for a queue
    /// pair that doesn't exist.
    pub fn next_msn(&self, qp: u32) -> Option<u32> {
        self.qp(qp).map(|qp| qp.requester.next_msn())
    }

    /// Messages posted on `qp` and not completed yet; `None` for a queue pair that doesn't exist.
    pub fn pending_messages(&self, qp: u32) -> Option<usize> {
        self.qp(qp).map(|qp| qp.requester.pending_messages())
    }

    /// The next packet for the link, which is free now; `None` when there is nothing to send.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<TxPacket> {
        while let Some(index) = self.replying.pop_front() {
            let Some(qp) = self.qps.get_mut(index) else { continue };
            qp.in_replying = false;
            if let Some(packet) = qp.pacer.take_cnp(&qp.config) {
                self.stats.cnps_sent += 1;
                self.schedule(index);
                return Some(packet);
            }
            if let Some(packet) = qp.responder.take_reply(&qp.config) {
                if packet.content == TxContent::Ack {
                    self.stats.acks_sent += 1;
                } else {
                    self.stats.naks_sent += 1;
                }
                return Some(packet);
            }
        }
        self.release(now);
        while let Some(index) = self.sending.pop_front() {
            let Some(qp) = self.qps.get_mut(index) else { continue };
            if qp.pacer.free_at() > now {
                self.paced.push(Reverse((qp.pacer.free_at(), index)));
                continue;
            }
            qp.in_sending = false;
            if let Some(packet) = qp.requester.next_packet(&qp.config, now) {
                qp.pacer.sent(packet.udp_payload_octets(), now);
                if let TxContent::Data { retransmission: true, .. } = packet.content {
                    self.stats.retransmitted_packets += 1;
                } else {
                    self.stats.data_packets += 1;
                }
                self.schedule(index);
                return Some(packet);
            }
        }
        None
    }

    /// Takes a datagram that came to port 4791 from the host `from`. `head` is what of the UDP payload is at hand, at least
    /// the transport headers; `udp_payload_octets` counts all of it, padding and ICRC included; `ce` says whether the
    /// packet was marked. Whether the ICRC is right is for the caller to check, who has the octets.
    ///
    /// # Errors
    /// [`PacketError`], without effect.
    pub fn handle_packet(
        &mut self,
        from: IpAddr,
        head: &[u8],
        udp_payload_octets: usize,
        ce: bool,
        now: Nanos,
    ) -> Result<(), PacketError> {
        let bth = Bth::decode(head)?;
        let unknown = PacketError::UnknownQp(bth.destination_qp);
        let index = *self.by_number.get(&bth.destination_qp).ok_or(unknown)?;
        let qp = self.qps.get_mut(index).ok_or(unknown)?;
        if from != qp.config.remote {
            return Err(PacketError::WrongSource {
                qp: qp.config.local_qp,
                from,
                expected: qp.config.remote,
            });
        }
        let behind_bth = head.get(BTH_OCTETS..).unwrap_or_default();
        if bth.opcode.is_write() && !bth.opcode.has_immediate() {
            let reth = bth.opcode.has_reth().then(|| Reth::decode(behind_bth)).transpose()?;
            let header_octets = BTH_OCTETS + if reth.is_some() { RETH_OCTETS } else { 0 };
            let needed = header_octets + usize::from(bth.pad_count) + ICRC_OCTETS;
            let too_short = PacketError::TooShort { octets: udp_payload_octets, needed };
            let payload_octets = udp_payload_octets.checked_sub(needed).ok_or(too_short)?;
            let payload_octets = u32::try_from(payload_octets).unwrap_or(u32::MAX);
            if ce {
                self.stats.marked_packets += 1;
                qp.pacer.marked(now);
            }
            match qp.responder.request(&qp.config, &bth, reth.as_ref(), payload_octets) {
                Outcome::Accepted { msn, position } => {
                    self.stats.received_packets += 1;
                    self.received.push_back(Received {
                        qp: qp.config.local_qp,
                        from,
                        msn,
                        octets: payload_octets,
                        ce,
                        first: position.starts(),
                        last: position.ends(),
                    });
                }
                Outcome::Duplicate => self.stats.duplicate_packets += 1,
                Outcome::OutOfOrder => self.stats.out_of_order_packets += 1,
                Outcome::Invalid | Outcome::Ignored => {}
            }
        } else if bth.opcode == Opcode::ACKNOWLEDGE {
            let needed = BTH_OCTETS + AETH_OCTETS + ICRC_OCTETS;
            if udp_payload_octets < needed {
                return Err(PacketError::TooShort { octets: udp_payload_octets, needed });
            }
            match Aeth::decode(behind_bth)?.syndrome {
                Syndrome::Ack { .. } => {
                    self.stats.acks_received += 1;
                    qp.requester.acknowledged(&qp.config, bth.psn, now, &mut self.completions);
                }
                Syndrome::Nak(code) => {
                    self.stats.naks_received += 1;
                    qp.requester.refused(&qp.config, bth.psn, code, now, &mut self.completions);
                }
                // No responder here is ever not ready; the timer covers one that says so.
                Syndrome::RnrNak { .. } | Syndrome::Reserved(_) => {}
            }
        } else if bth.opcode == Opcode::CNP {
            self.stats.cnps_received += 1;
            qp.pacer.notified(now);
        } else {
            return Err(PacketError::Unsupported(bth.opcode));
        }
        self.schedule(index);
        Ok(())
    }

    /// Bounds the rate of what the queue pair sends, beside whatever congestion control it has: the lower applies, from the
    /// next packet on. `None` takes the bound away; a bound of 0 counts as 1 bit/s.
    ///
    /// # Errors
    /// [`PostError::UnknownQp`].
    pub fn set_bound(&mut self, qp: u32, bound: Option<BitPerSec>) -> Result<(), PostError> {
        self.qp_mut(qp)?.pacer.set_bound(bound);
        Ok(())
    }

    /// The rate at which the queue pair may send at `now`, headers and all that a packet takes of the link included; `None`
    /// when nothing but the link limits it.
    ///
    /// # Errors
    /// [`PostError::UnknownQp`].
    pub fn rate(&mut self, qp: u32, now: Nanos) -> Result<Option<BitPerSec>, PostError> {
        Ok(self.qp_mut(qp)?.pacer.rate(now))
    }

    /// The rate that DCQCN allows the queue pair at `now`, whatever the bound; `None` where it doesn't run.
    ///
    /// # Errors
    /// [`PostError::UnknownQp`].
    pub fn dcqcn_rate(&mut self, qp: u32, now: Nanos) -> Result<Option<BitPerSec>, PostError> {
        Ok(self.qp_mut(qp)?.pacer.dcqcn_rate(now))
    }

    /// When to call [`Endpoint::handle_timeout`] next; `None` when nothing is waited for. It changes with every call of
    /// another method. A queue pair that is paced may send then: [`Endpoint::poll_transmit`] is to be asked, too.
    pub fn poll_timeout(&mut self) -> Option<Nanos> {
        let paced = self.paced.peek().map(|Reverse((time, _))| *time);
        [self.retransmission(), paced].into_iter().flatten().min()
    }

    /// When the next acknowledgement is overdue.
    fn retransmission(&mut self) -> Option<Nanos> {
        while let Some(&Reverse((time, index))) = self.timers.peek() {
            let deadline = self.qps.get(index).and_then(|qp| qp.requester.deadline());
            if deadline == Some(time) {
                return deadline;
            }
            // Entries are put right only when they come up: an acknowledgement moves a deadline, and costs nothing.
            self.timers.pop();
            if let Some(qp) = self.qps.get_mut(index) {
                qp.in_timers = false;
            }
            self.schedule(index);
        }
        None
    }

    /// Lets paced queue pairs send whose time has come.
    fn release(&mut self, now: Nanos) {
        while let Some(&Reverse((time, index))) = self.paced.peek() {
            if time > now {
                return;
            }
            self.paced.pop();
            self.sending.push_back(index);
        }
    }

    /// Goes back on every queue pair whose acknowledgement is overdue at `now`, and lets those send that were held back until
    /// `now`.
    pub fn handle_timeout(&mut self, now: Nanos) {
        self.release(now);
        while self.retransmission().is_some_and(|time| time <= now) {
            let Some(Reverse((_, index))) = self.timers.pop() else { return };
            let Some(qp) = self.qps.get_mut(index) else { continue };
            qp.in_timers = false;
            self.stats.timeouts += 1;
            qp.requester.timed_out(&qp.config, &mut self.completions);
            self.schedule(index);
        }
    }

    /// The next work request that is over.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// The next data packet that was taken in.
    pub fn poll_receive(&mut self) -> Option<Received> {
        self.received.pop_front()
    }

    /// Counts since the endpoint began.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    fn qp_mut(&mut self, number: u32) -> Result<&mut Qp, PostError> {
        let index = self.by_number.get(&number);
        index.and_then(|&index| self.qps.get_mut(index)).ok_or(PostError::UnknownQp(number))
    }

    fn qp(&self, number: u32) -> Option<&Qp> {
        self.by_number.get(&number).and_then(|&index| self.qps.get(index))
    }

    /// Puts the queue pair into the queues where its state belongs.
    fn schedule(&mut self, index: usize) {
        let Some(qp) = self.qps.get_mut(index) else { return };
        if !qp.in_replying && (qp.pacer.cnp_due() || qp.responder.has_reply()) {
            qp.in_replying = true;
            self.replying.push_back(index);
        }
        if !qp.in_sending && qp.requester.can_send(&qp.config) {
            qp.in_sending = true;
            self.sending.push_back(index);
        }
        if !qp.in_timers
            && let Some(deadline) = qp.requester.deadline()
        {
            qp.in_timers = true;
            self.timers.push(Reverse((deadline, index)));
        }
    }
}
