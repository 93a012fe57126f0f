//! Binding Kind 2: messages in UDP datagrams that carry the message's identifier themselves, each acknowledged.
//!
//! The datagram, in network byte order: kind (1 data, 2 acknowledgement), seven reserved octets, the identifier (64
//! bits), the message's length (64 bits), the offset of the payload's first octet (64 bits), then the payload. An
//! acknowledgement repeats the head of what it acknowledges.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use rdcc::receiver::OpaqueArrival;
use rdcc::sender::{Binding, SendPermit};
use wire::units::Nanos;

use super::{Arrival, Told, TransportStats, Way, fill};
use crate::rdcc::settings::Settings;
use crate::rdcc::{DATA, SOURCES};
use crate::socket::{Arrived, ECT0, Outbox, tos};

const HEAD_OCTETS: usize = 32;
const KIND_DATA: u8 = 1;
const KIND_ACK: u8 = 2;

/// A datagram waits this many base round-trip times for its acknowledgement, ...
const TIMEOUT_RTTS: u64 = 4;
/// ... and at least this long.
const SHORTEST_TIMEOUT: Nanos = Nanos(20_000_000);
/// Complete messages remembered a peer, so that a datagram that comes again isn't counted again.
const REMEMBERED: usize = 4096;
/// Messages under way a peer: more than RDCC lets be pending are a stranger's invention.
const UNDER_WAY: usize = 4096;

/// A piece of a message: peer, identifier, offset.
type Piece = (Ipv4Addr, u64, u64);

#[derive(Clone, Copy, Debug)]
struct Sent {
    octets: u32,
    length: u64,
    dscp: u8,
    unscheduled: bool,
    again: bool,
}

#[derive(Debug)]
pub(super) struct Opaque {
    port: u16,
    ack_dscp: u8,
    timeout: Nanos,
    /// Identifiers given out, by peer.
    values: BTreeMap<Ipv4Addr, u64>,
    to_send: VecDeque<Piece>,
    acks: VecDeque<(SocketAddrV4, [u8; HEAD_OCTETS])>,
    unacknowledged: BTreeMap<Piece, (Sent, Option<Nanos>)>,
    deadlines: BTreeSet<(Nanos, Piece)>,
    coming: BTreeMap<Ipv4Addr, Coming>,
}

/// What comes from a peer.
#[derive(Debug, Default)]
struct Coming {
    /// By identifier: octets there, and the offsets of the pieces.
    under_way: BTreeMap<u64, (u64, BTreeSet<u64>)>,
    complete: BTreeSet<u64>,
    order: VecDeque<u64>,
}

impl Opaque {
    pub(super) fn new(settings: &Settings, port: u16) -> Self {
        Self {
            port,
            ack_dscp: settings.dscp.control,
            timeout: Nanos(settings.receiver.base_rtt.0 * TIMEOUT_RTTS).max(SHORTEST_TIMEOUT),
            values: BTreeMap::new(),
            to_send: VecDeque::new(),
            acks: VecDeque::new(),
            unacknowledged: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            coming: BTreeMap::new(),
        }
    }

    pub(super) fn connect(&mut self, peer: Ipv4Addr, way: Way) {
        if way == Way::In {
            self.coming.insert(peer, Coming::default());
            return;
        }
        let pieces = self.unacknowledged.range((peer, 0, 0)..=(peer, u64::MAX, u64::MAX));
        let pieces: Vec<Piece> = pieces.map(|(&piece, _)| piece).collect();
        for piece in pieces {
            self.forget(piece);
        }
    }

    pub(super) fn next_value(&mut self, peer: Ipv4Addr) -> u64 {
        let value = self.values.entry(peer).or_default();
        *value += 1;
        *value
    }

    pub(super) fn post(&mut self, permit: &SendPermit, dscp: u8) {
        let (IpAddr::V4(peer), Binding::Opaque(value)) = (permit.peer.ip(), permit.binding) else { return };
        let piece = (peer, value, permit.offset);
        let sent = Sent {
            octets: permit.octets,
            length: permit.length,
            dscp,
            unscheduled: !permit.scheduled,
            again: false,
        };
        self.forget(piece);
        self.unacknowledged.insert(piece, (sent, None));
        self.to_send.push_back(piece);
    }

    pub(super) fn abandon(&mut self, peer: Ipv4Addr, value: u64) {
        let pieces = self.unacknowledged.range((peer, value, 0)..=(peer, value, u64::MAX));
        let pieces: Vec<Piece> = pieces.map(|(&piece, _)| piece).collect();
        for piece in pieces {
            self.forget(piece);
        }
    }

    fn forget(&mut self, piece: Piece) {
        if let Some((_, Some(deadline))) = self.unacknowledged.remove(&piece) {
            self.deadlines.remove(&(deadline, piece));
        }
    }

    pub(super) fn handle_datagram(&mut self, arrived: &Arrived<'_>, told: &mut Told<'_>) {
        let IpAddr::V4(from) = arrived.from.ip() else { return };
        let Some(head) = Head::decode(arrived.octets) else {
            told.stats.refused_packets += 1;
            return;
        };
        if head.kind == KIND_ACK {
            self.forget((from, head.value, head.offset));
            return;
        }
        let octets = arrived.octets.len() - HEAD_OCTETS;
        let fits = head.offset.checked_add(octets as u64).is_some_and(|end| end <= head.length);
        let Some(coming) = self.coming.get_mut(&from).filter(|_| octets > 0 && fits) else {
            told.stats.refused_packets += 1;
            return;
        };
        let Some(new) = coming.take(&head, octets as u64) else {
            told.stats.refused_packets += 1;
            return;
        };
        if new {
            let octets = u32::try_from(octets).unwrap_or(u32::MAX);
            told.stats.received_packets += 1;
            told.stats.received_octets += u64::from(octets);
            told.stats.marked_octets += if arrived.ce() { u64::from(octets) } else { 0 };
            told.arrivals.push_back(Arrival::Opaque(OpaqueArrival {
                from: from.into(),
                binding_value: head.value,
                octets,
                ce: arrived.ce(),
                source_port: arrived.from.port(),
            }));
        }
        self.acks.push_back((SocketAddrV4::new(from, self.port), Head { kind: KIND_ACK, ..head }.octets()));
    }

    pub(super) fn handle_timeout(&mut self, now: Nanos) {
        while let Some(&(at, piece)) = self.deadlines.first() {
            if at > now {
                return;
            }
            self.deadlines.pop_first();
            if let Some((sent, deadline)) = self.unacknowledged.get_mut(&piece) {
                sent.again = true;
                *deadline = None;
                self.to_send.push_back(piece);
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    pub(super) fn poll_transmit(&mut self, outbox: &mut Outbox, stats: &mut TransportStats, now: Nanos) {
        while !outbox.is_full() {
            if let Some((to, octets)) = self.acks.pop_front() {
                outbox.push(DATA, to, tos(self.ack_dscp), |out| out.extend_from_slice(&octets));
                continue;
            }
            let Some(piece) = self.to_send.pop_front() else { return };
            // Acknowledged or given up meanwhile.
            let Some((sent, deadline)) = self.unacknowledged.get_mut(&piece) else { continue };
            let at = now + self.timeout;
            if let Some(before) = deadline.replace(at) {
                self.deadlines.remove(&(before, piece));
            }
            self.deadlines.insert((at, piece));
            if sent.again {
                stats.retransmitted_packets += 1;
            } else {
                stats.data_packets += 1;
            }
            let (peer, value, offset) = piece;
            let head = Head { kind: KIND_DATA, value, length: sent.length, offset };
            let to = SocketAddrV4::new(peer, self.port);
            let socket = SOURCES + usize::from(sent.unscheduled);
            let count = sent.octets;
            outbox.push(socket, to, tos(sent.dscp) | ECT0, |out| {
                out.extend_from_slice(&head.octets());
                fill(out, offset, count);
            });
        }
    }
}

impl Coming {
    /// Counts a piece once: whether it is new, or `None` when there is no room for its message.
    fn take(&mut self, head: &Head, octets: u64) -> Option<bool> {
        if self.complete.contains(&head.value) {
            return Some(false);
        }
        if self.under_way.len() >= UNDER_WAY && !self.under_way.contains_key(&head.value) {
            return None;
        }
        let (there, offsets) = self.under_way.entry(head.value).or_default();
        if !offsets.insert(head.offset) {
            return Some(false);
        }
        *there += octets;
        if *there >= head.length {
            self.under_way.remove(&head.value);
            self.complete.insert(head.value);
            self.order.push_back(head.value);
            if self.order.len() > REMEMBERED
                && let Some(oldest) = self.order.pop_front()
            {
                self.complete.remove(&oldest);
            }
        }
        Some(true)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    kind: u8,
    value: u64,
    length: u64,
    offset: u64,
}

impl Head {
    fn octets(self) -> [u8; HEAD_OCTETS] {
        let mut octets = [0; HEAD_OCTETS];
        octets[0] = self.kind;
        octets[8..16].copy_from_slice(&self.value.to_be_bytes());
        octets[16..24].copy_from_slice(&self.length.to_be_bytes());
        octets[24..32].copy_from_slice(&self.offset.to_be_bytes());
        octets
    }

    fn decode(octets: &[u8]) -> Option<Self> {
        let head = octets.first_chunk::<HEAD_OCTETS>()?;
        let word = |at: usize| head.get(at..at + 8)?.first_chunk::<8>().copied().map(u64::from_be_bytes);
        let kind = head[0];
        matches!(kind, KIND_DATA | KIND_ACK).then_some(())?;
        Some(Self { kind, value: word(8)?, length: word(16)?, offset: word(24)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_and_what_is_shorter_does_not() {
        let head = Head { kind: KIND_DATA, value: 7, length: 1 << 33, offset: 4096 };
        let octets = head.octets();
        assert_eq!(Head::decode(&octets), Some(head));
        assert_eq!(Head::decode(&octets[..HEAD_OCTETS - 1]), None);
        assert_eq!(Head::decode(&[0; HEAD_OCTETS]), None);
    }

    #[test]
    fn a_piece_counts_once_also_after_its_message_is_complete() {
        let mut coming = Coming::default();
        let head = |offset| Head { kind: KIND_DATA, value: 1, length: 200, offset };
        assert_eq!(coming.take(&head(0), 100), Some(true));
        assert_eq!(coming.take(&head(0), 100), Some(false));
        assert_eq!(coming.take(&head(100), 100), Some(true));
        assert_eq!(coming.take(&head(100), 100), Some(false));
        assert!(coming.under_way.is_empty());
    }
}
