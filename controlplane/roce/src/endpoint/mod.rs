//! The queue pairs of a host behind its link.

mod error;
mod qp;
mod receive;

pub use error::{PacketError, PostError};

use core::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use wire::units::{BitPerSec, Nanos};

use crate::config::{QpConfig, QpConfigError, WINDOW_LIMIT};
use crate::event::{Received, Stats};
use crate::packet::{TxContent, TxPacket};
use crate::responder::MESSAGE_LIMIT;
use crate::work::{
    Completion, MemoryRegion, Operation, ReceiveCompletion, ReceiveRequest, RemoteMemory, WcStatus,
    WorkRequest,
};
use qp::Qp;

/// A host's RDMA interface.
///
/// Answers leave before data, data of the queue pairs in turn, a packet each. Every call costs the same however many
/// queue pairs and messages there are, but for the logarithm of the queue pairs' number.
#[derive(Debug, Default)]
pub struct Endpoint {
    qps: Vec<Qp>,
    by_number: BTreeMap<u32, usize>,
    memory: BTreeMap<u32, MemoryRegion>,
    /// Queue pairs with an acknowledgement, refusal or CNP to send.
    replying: VecDeque<usize>,
    /// Queue pairs that may have data to send now, in turn.
    sending: VecDeque<usize>,
    /// Entries that a queue pair's `timer` doesn't confirm are stale.
    timers: BinaryHeap<Reverse<(Nanos, usize)>>,
    completions: VecDeque<Completion>,
    receive_completions: VecDeque<ReceiveCompletion>,
    received: VecDeque<Received>,
    stats: Stats,
    /// The latest time that was given.
    latest: Nanos,
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
        self.qps.push(Qp::new(config));
        Ok(())
    }

    /// Lets other ends access memory under `key`, on queue pairs with `check_memory`. Another region under that key is
    /// replaced.
    pub fn register_memory(&mut self, key: u32, region: MemoryRegion) {
        self.memory.insert(key, region);
    }

    /// Takes memory back. Gives whether there was some.
    pub fn deregister_memory(&mut self, key: u32) -> bool {
        self.memory.remove(&key).is_some()
    }

    /// Posts an RDMA WRITE of `octets` to address 0 on the local queue pair `qp`: [`Endpoint::submit`] for whom only the count
    /// of octets matters.
    ///
    /// # Errors
    /// [`PostError`], without effect.
    pub fn post(&mut self, qp: u32, wr_id: u64, octets: u32, dscp: u8, now: Nanos) -> Result<u32, PostError> {
        let operation = Operation::Write { to: RemoteMemory::default(), immediate: None };
        self.submit(qp, WorkRequest { wr_id, operation, octets, dscp }, now)
    }

    /// Posts a work request on the local queue pair `qp`. It ends with a [`Completion`]. On a queue pair that failed it ends
    /// at once, flushed. Gives the message sequence number that the responder will assign: 1 for the first message of
    /// the queue pair (RDCC, Transport Bindings).
    ///
    /// # Errors
    /// [`PostError`], without effect.
    pub fn submit(&mut self, qp: u32, work: WorkRequest, now: Nanos) -> Result<u32, PostError> {
        let index = *self.by_number.get(&qp).ok_or(PostError::UnknownQp(qp))?;
        let state = self.qps.get_mut(index).ok_or(PostError::UnknownQp(qp))?;
        let WorkRequest { wr_id, operation, octets, dscp } = work;
        if octets > MESSAGE_LIMIT {
            return Err(PostError::TooLong(octets));
        }
        if dscp > 63 {
            return Err(PostError::Dscp(dscp));
        }
        if operation.is_read() {
            let packets = state.config.packets(octets);
            if packets > WINDOW_LIMIT {
                return Err(PostError::TooManyPackets(packets));
            }
            if state.config.read_depth == 0 {
                return Err(PostError::NoReads);
            }
        }
        let msn = state.requester.next_msn();
        if state.requester.failed() {
            self.completions.push_back(Completion { qp, wr_id, octets, status: WcStatus::WrFlushErr });
        } else {
            state.requester.post(&state.config, work);
            self.schedule(index, now);
        }
        Ok(msn)
    }

    /// Posts memory for a SEND, or for the completion of an RDMA WRITE with immediate. It ends with a [`ReceiveCompletion`];
    /// on a queue pair that failed at once, flushed.
    ///
    /// # Errors
    /// [`PostError::UnknownQp`].
    pub fn post_receive(&mut self, qp: u32, receive: ReceiveRequest) -> Result<(), PostError> {
        let index = *self.by_number.get(&qp).ok_or(PostError::UnknownQp(qp))?;
        let state = self.qps.get_mut(index).ok_or(PostError::UnknownQp(qp))?;
        if let Some(ReceiveRequest { wr_id, .. }) = state.responder.post_receive(receive) {
            let status = WcStatus::WrFlushErr;
            let flushed = ReceiveCompletion { qp, wr_id, octets: 0, immediate: None, status };
            self.receive_completions.push_back(flushed);
        }
        Ok(())
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

    /// Whether `qp` has data to send: messages that aren't completed, or answers to READs. With [`Endpoint::dcqcn_rate`] it
    /// is a queue pair's demand.
    pub fn is_active(&self, qp: u32) -> bool {
        self.qp(qp).is_some_and(|qp| qp.requester.pending_messages() > 0 || qp.responder.has_answer())
    }

    /// Bounds the rate of what the queue pair sends, beside whatever congestion control it has: the lower applies, from the
    /// next packet on; one that waits for its time already is put to its new time. `None` takes the bound away; a bound of 0
    /// counts as 1 bit/s.
    ///
    /// # Errors
    /// [`PostError::UnknownQp`].
    pub fn set_bound(&mut self, qp: u32, bound: Option<BitPerSec>) -> Result<(), PostError> {
        let now = self.latest;
        self.qp_mut(qp)?.pacer.set_bound(bound, now);
        if let Some(&index) = self.by_number.get(&qp) {
            self.schedule(index, now);
        }
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

    /// The next packet for the link, which is free now; `None` when there is nothing to send.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<TxPacket> {
        self.handle_timeout(now);
        while let Some(index) = self.replying.pop_front() {
            let Some(qp) = self.qps.get_mut(index) else { continue };
            qp.in_replying = false;
            if let Some(packet) = qp.next_reply() {
                self.sent(&packet, index, now);
                return Some(packet);
            }
        }
        while let Some(index) = self.sending.pop_front() {
            let Some(qp) = self.qps.get_mut(index) else { continue };
            qp.in_sending = false;
            if let Some(packet) = qp.next_data(now) {
                self.sent(&packet, index, now);
                return Some(packet);
            }
            // A CNP or a refusal has put its time off meanwhile.
            if qp.data_at().is_some_and(|at| at > now) {
                self.schedule(index, now);
            }
        }
        None
    }

    fn sent(&mut self, packet: &TxPacket, index: usize, now: Nanos) {
        let stats = &mut self.stats;
        let counter = match packet.content {
            TxContent::Data { retransmission: false, .. }
            | TxContent::ReadRequest { retransmission: false, .. } => &mut stats.data_packets,
            TxContent::Data { .. } | TxContent::ReadRequest { .. } => &mut stats.retransmitted_packets,
            TxContent::ReadResponse { .. } => &mut stats.read_response_packets,
            TxContent::Ack => &mut stats.acks_sent,
            TxContent::Nak => &mut stats.naks_sent,
            TxContent::Cnp => &mut stats.cnps_sent,
        };
        *counter += 1;
        self.schedule(index, now);
    }

    /// When to call [`Endpoint::handle_timeout`] next; `None` when nothing is waited for. It changes with every call of
    /// another method. A queue pair that is paced may send then: [`Endpoint::poll_transmit`] is to be asked, too.
    pub fn poll_timeout(&mut self) -> Option<Nanos> {
        while let Some(&Reverse((time, index))) = self.timers.peek() {
            let Some(qp) = self.qps.get_mut(index).filter(|qp| qp.timer == Some(time)) else {
                self.timers.pop();
                continue;
            };
            let wanted = qp.next_timer(None);
            if wanted == Some(time) {
                return wanted;
            }
            // Put right only when it comes up: an acknowledgement moves a deadline, and costs nothing.
            qp.timer = wanted;
            self.timers.pop();
            self.timers.extend(wanted.map(|at| Reverse((at, index))));
        }
        None
    }

    /// Goes back on every queue pair whose acknowledgement is overdue at `now`, and readies those whose time to send has come;
    /// [`Endpoint::poll_transmit`] has their packets.
    pub fn handle_timeout(&mut self, now: Nanos) {
        while self.poll_timeout().is_some_and(|time| time <= now) {
            let Some(Reverse((_, index))) = self.timers.pop() else { return };
            let Some(qp) = self.qps.get_mut(index) else { continue };
            qp.timer = None;
            if qp.requester.deadline().is_some_and(|deadline| deadline <= now) {
                self.stats.timeouts += 1;
                qp.requester.timed_out(&qp.config, &mut self.completions);
            }
            self.schedule(index, now);
        }
    }

    /// The next work request that is over.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// The next receive that is over.
    pub fn poll_receive_completion(&mut self) -> Option<ReceiveCompletion> {
        self.receive_completions.pop_front()
    }

    /// The next data packet that was taken in.
    pub fn poll_receive(&mut self) -> Option<Received> {
        self.received.pop_front()
    }

    /// Counts since the endpoint began.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    fn qp(&self, number: u32) -> Option<&Qp> {
        self.by_number.get(&number).and_then(|&index| self.qps.get(index))
    }

    fn qp_mut(&mut self, number: u32) -> Result<&mut Qp, PostError> {
        let index = self.by_number.get(&number);
        index.and_then(|&index| self.qps.get_mut(index)).ok_or(PostError::UnknownQp(number))
    }

    /// Puts the queue pair into the queues where its state belongs.
    fn schedule(&mut self, index: usize, now: Nanos) {
        self.latest = self.latest.max(now);
        let Some(qp) = self.qps.get_mut(index) else { return };
        qp.fail_wholly(&mut self.completions, &mut self.receive_completions);
        if !qp.in_replying && qp.has_reply() {
            qp.in_replying = true;
            self.replying.push_back(index);
        }
        if !qp.in_sending && qp.data_at().is_some_and(|at| at <= now) {
            qp.in_sending = true;
            self.sending.push_back(index);
        }
        if let Some(at) = qp.next_timer(Some(now))
            && qp.timer.is_none_or(|timer| at < timer)
        {
            qp.timer = Some(at);
            self.timers.push(Reverse((at, index)));
        }
    }
}
