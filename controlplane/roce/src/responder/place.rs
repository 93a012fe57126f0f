//! Where a request packet belongs: its message, its memory.

use std::collections::BTreeMap;

use wire::roce::{Headers, MASK_24, NakCode, Opcode, Reth};

use wire::scone::{RateSignal, Unreadable};

use super::{Arrival, Responder, Sink};
use crate::config::QpConfig;
use crate::event::{Carried, Received};
use crate::work::{MemoryRegion, ReceiveCompletion, ReceiveRequest, WcStatus};

/// The longest message: 2^31 octets, as InfiniBand has it.
pub(crate) const MESSAGE_LIMIT: u32 = 1 << 31;

/// The message at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    /// Octets that came.
    octets: u32,
    /// Of a WRITE: what the first packet said.
    reth: Option<Reth>,
    /// Of a SEND: where it goes.
    pub receive: Option<ReceiveRequest>,
}

/// Why a packet can't be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No receive is posted for it.
    NotReady,
    /// It makes no sense, or touches what it may not.
    Nak(NakCode),
}

const INVALID: Refusal = Refusal::Nak(NakCode::INVALID_REQUEST);

impl Responder {
    /// Takes the packet into its message, if it fits there.
    pub(super) fn placed(
        &mut self,
        config: &QpConfig,
        arrival: &Arrival,
        sink: &mut Sink<'_>,
    ) -> Result<(), Refusal> {
        let Headers { bth, reth, immediate, .. } = arrival.headers;
        if bth.opcode == Opcode::READ_REQUEST {
            let reth = reth.filter(|_| self.message.is_none()).ok_or(INVALID)?;
            read(config, &reth, sink.memory)?;
            self.count_message();
            return Ok(());
        }
        let position = bth.opcode.position().ok_or(INVALID)?;
        let write = bth.opcode.is_write();
        let before = match self.message {
            None if position.starts() => self.begun(config, arrival, write, sink)?,
            // A message is of one kind from its first packet to its last.
            Some(message) if !position.starts() && message.reth.is_some() == write => message,
            _ => return Err(INVALID),
        };
        let octets = before.octets.checked_add(arrival.payload_octets).ok_or(INVALID)?;
        // All packets but the last are full, and a WRITE ends with what it announced.
        let mtu = u32::from(config.mtu);
        let full = arrival.payload_octets == mtu || position.ends() && arrival.payload_octets < mtu;
        let announced = before.reth.is_none_or(|reth| {
            if position.ends() { octets == reth.dma_length } else { octets < reth.dma_length }
        });
        if !full || !announced || octets > MESSAGE_LIMIT {
            return Err(INVALID);
        }
        if let Some(receive) = before.receive
            && octets > receive.octets
        {
            if self.message.take().is_none() {
                self.receives.pop_front();
            }
            complete(config, receive, octets, None, WcStatus::LocLenErr, sink);
            return Err(INVALID);
        }
        // An immediate uses a receive up: a SEND has its own.
        let used = match (write, immediate) {
            (true, Some(_)) => Some(self.receives.pop_front().ok_or(Refusal::NotReady)?),
            _ => before.receive.filter(|_| position.ends()),
        };
        if !write && position.starts() {
            self.receives.pop_front();
        }
        self.message = (!position.ends()).then_some(Message { octets, ..before });
        let msn = self.msn.wrapping_add(1) & MASK_24;
        if position.ends() {
            self.count_message();
        }
        sink.received.push_back(Received {
            qp: config.local_qp,
            from: config.remote,
            msn,
            octets: arrival.payload_octets,
            ce: arrival.ce,
            first: position.starts(),
            last: position.ends(),
            psn: bth.psn,
            offset: before.octets,
            carried: before.carried(),
            rate_signal: arrival.signal(config),
        });
        if let Some(receive) = used {
            let immediate = immediate.map(|immediate| immediate.0);
            complete(config, receive, octets, immediate, WcStatus::Success, sink);
        }
        Ok(())
    }

    /// The message that begins with this packet. A SEND's is the receive that waits longest; it is used once the packet is
    /// taken.
    fn begun(
        &self,
        config: &QpConfig,
        arrival: &Arrival,
        write: bool,
        sink: &Sink<'_>,
    ) -> Result<Message, Refusal> {
        if !write {
            let receive = self.receives.front().copied().ok_or(Refusal::NotReady)?;
            return Ok(Message { octets: 0, reth: None, receive: Some(receive) });
        }
        let reth = arrival.headers.reth.ok_or(INVALID)?;
        if reth.dma_length > MESSAGE_LIMIT || arrival.payload_octets > reth.dma_length {
            return Err(INVALID);
        }
        may_access(config, &reth, true, sink.memory)?;
        Ok(Message { octets: 0, reth: Some(reth), receive: None })
    }
}

impl Message {
    /// What the packet belongs to whose payload starts at `self.octets`.
    fn carried(&self) -> Carried {
        match (self.reth, self.receive) {
            (Some(reth), _) => Carried::Write {
                address: reth.virtual_address.wrapping_add(self.octets.into()),
                key: reth.remote_key,
            },
            (None, receive) => Carried::Send { wr_id: receive.map_or(0, |receive| receive.wr_id) },
        }
    }
}

impl Arrival {
    /// The packet's extension, on a queue pair that has them.
    pub(crate) fn signal(&self, config: &QpConfig) -> Option<Result<RateSignal, Unreadable>> {
        config.rate_signal?;
        let Headers { rate_signal, unreadable, .. } = self.headers;
        rate_signal.map(Ok).or(unreadable.map(Err))
    }
}

/// Whether a READ may be answered.
pub(super) fn read(
    config: &QpConfig,
    reth: &Reth,
    memory: &BTreeMap<u32, MemoryRegion>,
) -> Result<(), Refusal> {
    if reth.dma_length > MESSAGE_LIMIT {
        return Err(INVALID);
    }
    may_access(config, reth, false, memory)
}

fn may_access(
    config: &QpConfig,
    reth: &Reth,
    write: bool,
    memory: &BTreeMap<u32, MemoryRegion>,
) -> Result<(), Refusal> {
    // A message of no octets touches nothing.
    let allowed = !config.check_memory
        || reth.dma_length == 0
        || memory
            .get(&reth.remote_key)
            .is_some_and(|region| region.allows(reth.virtual_address, reth.dma_length, write));
    if allowed { Ok(()) } else { Err(Refusal::Nak(NakCode::REMOTE_ACCESS_ERROR)) }
}

fn complete(
    config: &QpConfig,
    receive: ReceiveRequest,
    octets: u32,
    immediate: Option<u32>,
    status: WcStatus,
    sink: &mut Sink<'_>,
) {
    sink.receive_completions.push_back(ReceiveCompletion {
        qp: config.local_qp,
        wr_id: receive.wr_id,
        octets,
        immediate,
        status,
    });
}
