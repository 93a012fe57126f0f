//! The data transport under RDCC, in software: what posts become, and what arrives.

mod opaque;
mod roce_v2;

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use rdcc::receiver::{DataArrival, OpaqueArrival};
use rdcc::sender::{Binding, SendPermit};
use roce::WcStatus;
use wire::rdcc::MessageId;
use wire::units::Nanos;

use crate::socket::{Arrived, Outbox};
use opaque::Opaque;
use roce_v2::RoceV2;

use super::settings::{Carrier, Settings};

/// Data that arrived, each octet once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// On a queue pair.
    RoceV2(DataArrival),
    /// Under an identifier of its own.
    Opaque(OpaqueArrival),
}

/// A work request that is over. Those of a queue pair come in the order of posting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The receiver.
    pub peer: Ipv4Addr,
    /// The queue pair, by its number at the receiver.
    pub destination_qp: u32,
    /// The message.
    pub message: MessageId,
    /// How it ended.
    pub status: WcStatus,
}

/// Which way data goes. Each has an association of its own in RDCC, and with it a beginning of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// To a receiver.
    Out,
    /// From a sender.
    In,
}

/// Counters of a transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransportStats {
    /// Data packets sent for the first time.
    pub data_packets: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Data packets taken in.
    pub received_packets: u64,
    /// Payload octets taken in.
    pub received_octets: u64,
    /// Octets of those that were marked Congestion Experienced.
    pub marked_octets: u64,
    /// Packets that were refused: malformed, of strangers, or with a wrong ICRC.
    pub refused_packets: u64,
    /// CNPs sent.
    pub cnps_sent: u64,
    /// CNPs that came.
    pub cnps_received: u64,
}

/// A transport of either kind.
#[derive(Debug)]
pub struct Transport {
    kind: Kind,
    arrivals: VecDeque<Arrival>,
    failures: VecDeque<(Ipv4Addr, MessageId)>,
    completions: VecDeque<Completed>,
    notified: VecDeque<Ipv4Addr>,
    stats: TransportStats,
}

#[derive(Debug)]
enum Kind {
    RoceV2(RoceV2),
    Opaque(Opaque),
}

/// What a transport tells.
struct Told<'a> {
    arrivals: &'a mut VecDeque<Arrival>,
    failures: &'a mut VecDeque<(Ipv4Addr, MessageId)>,
    completions: &'a mut VecDeque<Completed>,
    notified: &'a mut VecDeque<Ipv4Addr>,
    stats: &'a mut TransportStats,
}

impl Transport {
    /// A transport without peers; `source_ports` are those of the sockets that scheduled and unscheduled data leave by.
    pub fn new(settings: &Settings, source_ports: [u16; 2]) -> Self {
        let kind = match settings.carrier {
            Carrier::RoceV2 => Kind::RoceV2(RoceV2::new(settings, source_ports)),
            Carrier::Opaque { port } => Kind::Opaque(Opaque::new(settings, port)),
        };
        Self {
            kind,
            arrivals: VecDeque::new(),
            failures: VecDeque::new(),
            completions: VecDeque::new(),
            notified: VecDeque::new(),
            stats: TransportStats::default(),
        }
    }

    /// Begins anew with a peer in one direction: it is new, or has lost its state. Data in the other goes on.
    pub fn connect(&mut self, peer: Ipv4Addr, way: Way) {
        match &mut self.kind {
            Kind::RoceV2(transport) => transport.connect(peer, way),
            Kind::Opaque(transport) => transport.connect(peer, way),
        }
    }

    /// How the next message to a peer is bound.
    pub fn binding(&mut self, peer: Ipv4Addr, unscheduled: bool) -> Binding {
        match &mut self.kind {
            Kind::RoceV2(transport) => Binding::RoceV2 { destination_qp: transport.remote_qp(unscheduled) },
            Kind::Opaque(transport) => Binding::Opaque(transport.next_value(peer)),
        }
    }

    /// Queue pair numbers at a peer with the message sequence number that the next post there gets.
    pub fn numbering(&self, peer: Ipv4Addr) -> Vec<(u32, u32)> {
        match &self.kind {
            Kind::RoceV2(transport) => transport.numbering(peer),
            Kind::Opaque(_) => Vec::new(),
        }
    }

    /// Sends what a permit allows.
    pub fn post(&mut self, permit: &SendPermit, dscp: u8, now: Nanos) {
        let (kind, mut told) = self.parts();
        match kind {
            Kind::RoceV2(transport) => transport.post(permit, dscp, &mut told, now),
            Kind::Opaque(transport) => transport.post(permit, dscp),
        }
    }

    /// Forgets what isn't sent yet of a message that its sender gave up.
    pub fn abandon(&mut self, peer: Ipv4Addr, binding: Binding) {
        if let (Kind::Opaque(transport), Binding::Opaque(value)) = (&mut self.kind, binding) {
            transport.abandon(peer, value);
        }
    }

    /// Takes a datagram that came to the data port.
    pub fn handle_datagram(&mut self, arrived: &Arrived<'_>, now: Nanos) {
        let (kind, mut told) = self.parts();
        match kind {
            Kind::RoceV2(transport) => transport.handle_datagram(arrived, &mut told, now),
            Kind::Opaque(transport) => transport.handle_datagram(arrived, &mut told),
        }
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Nanos) {
        let (kind, mut told) = self.parts();
        match kind {
            Kind::RoceV2(transport) => transport.handle_timeout(&mut told, now),
            Kind::Opaque(transport) => transport.handle_timeout(now),
        }
    }

    /// When to call [`Transport::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Nanos> {
        match &self.kind {
            Kind::RoceV2(transport) => transport.poll_timeout(),
            Kind::Opaque(transport) => transport.poll_timeout(),
        }
    }

    /// Adds packets to the outbox until it is full or nothing is left.
    pub fn poll_transmit(&mut self, outbox: &mut Outbox, now: Nanos) {
        let (kind, told) = self.parts();
        match kind {
            Kind::RoceV2(transport) => transport.poll_transmit(outbox, now),
            Kind::Opaque(transport) => transport.poll_transmit(outbox, told.stats, now),
        }
    }

    /// The next data that arrived.
    pub fn poll_arrival(&mut self) -> Option<Arrival> {
        self.arrivals.pop_front()
    }

    /// The next message that the transport couldn't deliver.
    pub fn poll_failure(&mut self) -> Option<(Ipv4Addr, MessageId)> {
        self.failures.pop_front()
    }

    /// The next work request that is over; of queue pairs only.
    pub fn poll_completion(&mut self) -> Option<Completed> {
        self.completions.pop_front()
    }

    /// The next receiver that a CNP came from.
    pub fn poll_notified(&mut self) -> Option<Ipv4Addr> {
        self.notified.pop_front()
    }

    /// The counters.
    pub fn stats(&self) -> TransportStats {
        match &self.kind {
            Kind::RoceV2(transport) => transport.add_to(self.stats),
            Kind::Opaque(_) => self.stats,
        }
    }

    fn parts(&mut self) -> (&mut Kind, Told<'_>) {
        let Self { kind, arrivals, failures, completions, notified, stats } = self;
        (kind, Told { arrivals, failures, completions, notified, stats })
    }
}

/// The payload of a post: counts octets from the start of the message, so that a mix-up shows in a recording.
fn fill(octets: &mut Vec<u8>, offset: u64, count: u32) {
    let start = offset.to_le_bytes()[0];
    octets.extend((0..count).map(|index| start.wrapping_add(index.to_le_bytes()[0])));
}
