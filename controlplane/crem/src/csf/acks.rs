//! Which blocks the RDMA transport has acknowledged.
//!
//! The acknowledgements of a flow go to the sender's queue pair, which the flow's own packets don't name. The pair is configured, or
//! learnt: when acknowledgements to a queue pair fall again and again into the kept PSNs of one flow between the two hosts
//! and of no other, they are that flow's.

use std::collections::BTreeMap;

use wire::crem::FlowAddresses;
use wire::roce::{Aeth, BTH_OCTETS, Bth, Opcode, Psn, Syndrome};

use super::flow::{Flow, HALF};
use crate::packet::{FlowKey, MIN_PAYLOAD, Packet};

/// Unanimous acknowledgements after which a pair is taken for learnt.
const UNANIMOUS: u32 = 8;

/// The sender's queue pair, with the addresses as the acknowledgements carry them.
type Pair = (FlowAddresses, u32);

/// Known and presumed pairs.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    known: BTreeMap<Pair, FlowKey>,
    presumed: BTreeMap<Pair, (FlowKey, u32)>,
}

impl Pairs {
    pub(super) fn new(configured: &[(FlowKey, u32)]) -> Self {
        let known = configured.iter().map(|(key, qp)| ((reversed(key.addresses), *qp), *key)).collect();
        Self { known, presumed: BTreeMap::new() }
    }

    /// The flow that an acknowledgement belongs to, if that is known by now. At most `limit` pairs are presumed at a time.
    pub(super) fn flow_of(
        &mut self,
        pair: Pair,
        acknowledged: Psn,
        flows: &BTreeMap<FlowKey, Flow>,
        limit: usize,
    ) -> Option<FlowKey> {
        if let Some(key) = self.known.get(&pair) {
            return Some(*key);
        }
        let addresses = reversed(pair.0);
        let between = FlowKey { addresses, label: 0 }..=FlowKey { addresses, label: u32::MAX };
        let mut candidates = flows.range(between).filter(|(_, flow)| flow.keeps(acknowledged));
        let only = candidates.next().map(|(key, _)| *key).filter(|_| candidates.next().is_none());
        let Some(key) = only else {
            self.presumed.remove(&pair);
            return None;
        };
        if self.presumed.len() >= limit && !self.presumed.contains_key(&pair) {
            return None;
        }
        let (presumed, count) = self.presumed.entry(pair).or_insert((key, 0));
        *count = if *presumed == key { *count + 1 } else { 1 };
        *presumed = key;
        if *count >= UNANIMOUS {
            self.presumed.remove(&pair);
            self.known.insert(pair, key);
            return Some(key);
        }
        None
    }

    /// A flow is gone: what was learnt about it is forgotten, what is configured stays.
    pub(super) fn forget(&mut self, key: FlowKey, configured: &[(FlowKey, u32)]) {
        self.known.retain(|(_, qp), known| *known != key || configured.contains(&(key, *qp)));
        self.presumed.retain(|_, (presumed, _)| *presumed != key);
    }
}

fn reversed(addresses: FlowAddresses) -> FlowAddresses {
    match addresses {
        FlowAddresses::V4 { source, destination } => {
            FlowAddresses::V4 { source: destination, destination: source }
        }
        FlowAddresses::V6 { source, destination } => {
            FlowAddresses::V6 { source: destination, destination: source }
        }
    }
}

/// The last PSN that a packet acknowledges, with the queue pair that it goes to.
pub(super) fn acknowledgement(packet: &Packet<'_>) -> Option<(Pair, Psn)> {
    if packet.payload.len() < MIN_PAYLOAD {
        return None;
    }
    let bth = Bth::decode(packet.payload).ok()?;
    let before = bth.psn.plus(wire::roce::MASK_24);
    let acknowledged = match bth.opcode {
        Opcode::ACKNOWLEDGE => {
            match Aeth::decode(packet.payload.get(BTH_OCTETS..)?).ok()?.syndrome {
                Syndrome::Ack { .. } => bth.psn,
                // The named packet is what didn't get through.
                _ => before,
            }
        }
        Opcode::ATOMIC_ACKNOWLEDGE => bth.psn,
        // A response answers its request; all before it has arrived.
        Opcode::READ_RESPONSE_FIRST
        | Opcode::READ_RESPONSE_MIDDLE
        | Opcode::READ_RESPONSE_LAST
        | Opcode::READ_RESPONSE_ONLY => before,
        _ => return None,
    };
    Some(((packet.addresses, bth.destination_qp), acknowledged))
}

impl Flow {
    /// Whether `psn` lies between the oldest kept block and the newest packet.
    fn keeps(&self, psn: Psn) -> bool {
        let first = self.closed.front().or(self.open.as_ref());
        let (Some(first), Some(next)) = (first, self.next) else { return false };
        psn.ahead_of(first.start) < next.ahead_of(first.start)
    }

    //= CREM, Coded Retransmission: edc5a3c8
    /// Everything up to `psn` has arrived; says how many blocks are released.
    pub(super) fn acknowledge(&mut self, psn: Psn) -> u64 {
        // An acknowledgement of something never sent means nothing.
        if self.next.is_none_or(|next| psn.plus(1).ahead_of(next) < HALF && psn.plus(1) != next) {
            return 0;
        }
        self.acknowledged = true;
        let mut released = 0;
        while self.closed.front().is_some_and(|block| psn.plus(1).ahead_of(block.end()) < HALF) {
            self.closed.pop_front();
            released += 1;
        }
        released
    }
}
