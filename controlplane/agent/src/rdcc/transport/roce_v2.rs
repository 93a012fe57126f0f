//! Binding Kind 1: software `RoCEv2` over UDP sockets, two queue pairs a peer and direction.
//!
//! Which queue pairs two hosts use is a matter of configuration in RDCC. Here they follow from the addresses: the queue
//! pairs for a peer have the low 22 bits of its address, shifted; the next bit tells those that data comes in by from
//! those that it goes out by, and the lowest unscheduled from scheduled ones. So no host is configured with numbers.
//! They begin anew, from packet number 0, with each association, and associations are of one direction: what the other
//! direction's queue pairs are sending goes on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use rdcc::receiver::DataArrival;
use rdcc::sender::SendPermit;
use roce::{Endpoint, QpConfig, TxContent, TxPacket, WcStatus, dcqcn};
use wire::rdcc::MessageId;
use wire::roce::UDP_PORT;
use wire::units::Nanos;

use super::{Arrival, Completed, Told, TransportStats, Way, fill};
use crate::rdcc::SOURCES;
use crate::rdcc::settings::Settings;
use crate::sealed::Seal;
use crate::socket::{Arrived, ECT0, Outbox, tos};

/// Payload sizes of an RDMA packet.
const MTUS: [u16; 5] = [256, 512, 1024, 2048, 4096];
/// An address's part of a queue pair number.
const ADDRESS_BITS: u32 = 0x003f_ffff;
/// A queue pair waits this many base round-trip times for an acknowledgement, ...
const TIMEOUT_RTTS: u64 = 8;
/// ... and at least this long: another process may have the processor.
const SHORTEST_TIMEOUT: Nanos = Nanos(20_000_000);
/// So often it goes back without progress before it gives up.
const RETRIES: u32 = 50;

#[derive(Debug)]
pub(super) struct RoceV2 {
    address: Ipv4Addr,
    source_ports: [u16; 2],
    mtu: u16,
    ack_dscp: u8,
    timeout: Nanos,
    dcqcn: Option<dcqcn::Config>,
    peers: BTreeMap<Towards, Peer>,
    /// Those that may have packets to send, in turn.
    active: VecDeque<Towards>,
    deadlines: BTreeSet<(Nanos, Towards)>,
    seal: Seal,
    /// Counts of endpoints that are gone.
    gone: TransportStats,
}

/// A peer, and which way data goes: the packets of an endpoint that data comes in by are acknowledgements.
type Towards = (Ipv4Addr, Way);

#[derive(Debug)]
struct Peer {
    endpoint: Endpoint,
    active: bool,
    deadline: Option<Nanos>,
}

impl RoceV2 {
    pub(super) fn new(settings: &Settings, source_ports: [u16; 2]) -> Self {
        let unit = settings.receiver.credit_unit.0;
        let mtu = MTUS.into_iter().rev().find(|&mtu| u64::from(mtu) <= unit).unwrap_or(256);
        Self {
            address: settings.address,
            source_ports,
            mtu,
            ack_dscp: settings.dscp.control,
            timeout: Nanos(settings.receiver.base_rtt.0 * TIMEOUT_RTTS).max(SHORTEST_TIMEOUT),
            dcqcn: settings.dcqcn,
            peers: BTreeMap::new(),
            active: VecDeque::new(),
            deadlines: BTreeSet::new(),
            seal: Seal::default(),
            gone: TransportStats::default(),
        }
    }

    pub(super) fn connect(&mut self, peer: Ipv4Addr, way: Way) {
        let there = match way {
            Way::Out => Way::In,
            Way::In => Way::Out,
        };
        let mut endpoint = Endpoint::new();
        for (unscheduled, source_port) in [false, true].into_iter().zip(self.source_ports) {
            let config = QpConfig {
                mtu: self.mtu,
                source_port,
                retransmit_timeout: self.timeout,
                retry_limit: Some(RETRIES),
                ack_dscp: self.ack_dscp,
                dcqcn: self.dcqcn,
                ..QpConfig::new(
                    number(peer, way, unscheduled),
                    number(self.address, there, unscheduled),
                    IpAddr::V4(peer),
                )
            };
            // Numbers have 24 bits and differ, the MTU is one of RDMA's, a DSCP was checked.
            let created = endpoint.create_qp(config);
            debug_assert!(created.is_ok(), "{created:?}");
        }
        let towards = (peer, way);
        let before = self.peers.insert(towards, Peer { endpoint, active: false, deadline: None });
        if let Some(before) = before {
            self.gone = added(self.gone, &before.endpoint);
            if let Some(deadline) = before.deadline {
                self.deadlines.remove(&(deadline, towards));
            }
        }
        self.active.retain(|&other| other != towards);
    }

    /// The number of this host's queue pair at a peer.
    pub(super) fn remote_qp(&self, unscheduled: bool) -> u32 {
        number(self.address, Way::In, unscheduled)
    }

    pub(super) fn numbering(&self, peer: Ipv4Addr) -> Vec<(u32, u32)> {
        let Some(state) = self.peers.get(&(peer, Way::Out)) else { return Vec::new() };
        let next =
            |unscheduled| state.endpoint.next_msn(number(peer, Way::Out, unscheduled)).unwrap_or_default();
        [false, true].map(|unscheduled| (self.remote_qp(unscheduled), next(unscheduled))).to_vec()
    }

    pub(super) fn post(&mut self, permit: &SendPermit, dscp: u8, told: &mut Told<'_>, now: Nanos) {
        let IpAddr::V4(peer) = permit.peer.ip() else { return };
        let towards = (peer, Way::Out);
        let unscheduled =
            permit.binding == rdcc::sender::Binding::RoceV2 { destination_qp: self.remote_qp(true) };
        let Some(state) = self.peers.get_mut(&towards) else { return };
        let qp = number(peer, Way::Out, unscheduled);
        let posted = state.endpoint.post(qp, permit.message.0, permit.octets, dscp, now);
        debug_assert!(posted.is_ok_and(|msn| msn == permit.msn), "{posted:?} {permit:?}");
        self.touched(towards, told);
    }

    pub(super) fn handle_datagram(&mut self, arrived: &Arrived<'_>, told: &mut Told<'_>, now: Nanos) {
        let SocketAddr::V4(source) = arrived.from else { return };
        let from = *source.ip();
        let to = SocketAddrV4::new(self.address, UDP_PORT);
        let intact = self.seal.is_intact(source, to, arrived.octets);
        let towards = destination_way(arrived.octets).filter(|_| intact).map(|way| (from, way));
        let Some((towards, state)) = towards.and_then(|to| Some((to, self.peers.get_mut(&to)?))) else {
            told.stats.refused_packets += 1;
            return;
        };
        let octets = arrived.octets;
        let cnps = state.endpoint.stats().cnps_received;
        if state.endpoint.handle_packet(from.into(), octets, octets.len(), arrived.ce(), now).is_err() {
            told.stats.refused_packets += 1;
        }
        if state.endpoint.stats().cnps_received > cnps {
            told.notified.push_back(from);
        }
        while let Some(received) = state.endpoint.poll_receive() {
            told.stats.received_packets += 1;
            told.stats.received_octets += u64::from(received.octets);
            told.stats.marked_octets += if received.ce { u64::from(received.octets) } else { 0 };
            told.arrivals.push_back(Arrival::RoceV2(DataArrival {
                from: received.from,
                qp: received.qp,
                msn: received.msn,
                octets: received.octets,
                ce: received.ce,
                source_port: arrived.from.port(),
            }));
        }
        self.touched(towards, told);
    }

    pub(super) fn handle_timeout(&mut self, told: &mut Told<'_>, now: Nanos) {
        while let Some(&(at, towards)) = self.deadlines.first() {
            if at > now {
                return;
            }
            let Some(state) = self.peers.get_mut(&towards) else { return };
            state.endpoint.handle_timeout(now);
            self.touched(towards, told);
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    pub(super) fn poll_transmit(&mut self, outbox: &mut Outbox, now: Nanos) {
        while !outbox.is_full() {
            let Some(towards) = self.active.pop_front() else { return };
            let Some(state) = self.peers.get_mut(&towards) else { continue };
            match state.endpoint.poll_transmit(now) {
                Some(packet) => {
                    self.active.push_back(towards);
                    self.put(towards.0, &packet, outbox);
                }
                None => state.active = false,
            }
            self.rescheduled(towards);
        }
    }

    fn put(&mut self, peer: Ipv4Addr, packet: &TxPacket, outbox: &mut Outbox) {
        let unscheduled = usize::from(packet.source_port != self.source_ports[0]);
        let from = SocketAddrV4::new(self.address, packet.source_port);
        let to = SocketAddrV4::new(peer, UDP_PORT);
        let ecn = if packet.is_data() { ECT0 } else { 0 };
        let seal = &mut self.seal;
        outbox.push(SOURCES + unscheduled, to, tos(packet.dscp) | ecn, |octets| {
            let payload = |octets: &mut Vec<u8>| {
                if let TxContent::Data { offset, .. } = packet.content {
                    fill(octets, u64::from(offset), packet.payload_octets);
                }
            };
            seal.write((from, to), packet, payload, octets);
        });
    }

    /// Something happened with a peer's endpoint: it may have packets, completions and another deadline.
    fn touched(&mut self, towards: Towards, told: &mut Told<'_>) {
        let Some(state) = self.peers.get_mut(&towards) else { return };
        let peer = towards.0;
        while let Some(completion) = state.endpoint.poll_completion() {
            let message = MessageId(completion.wr_id);
            // The lowest bit tells the kinds apart at both ends.
            let destination_qp = number(self.address, Way::In, completion.qp & 1 == 1);
            told.completions.push_back(Completed {
                peer,
                destination_qp,
                message,
                status: completion.status,
            });
            if completion.status != WcStatus::Success {
                told.failures.push_back((peer, message));
            }
        }
        if !core::mem::replace(&mut state.active, true) {
            self.active.push_back(towards);
        }
        self.rescheduled(towards);
    }

    fn rescheduled(&mut self, towards: Towards) {
        let Some(state) = self.peers.get_mut(&towards) else { return };
        let deadline = state.endpoint.poll_timeout();
        let before = core::mem::replace(&mut state.deadline, deadline);
        if before == deadline {
            return;
        }
        if let Some(before) = before {
            self.deadlines.remove(&(before, towards));
        }
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, towards));
        }
    }

    /// The counters of all endpoints, beside those given.
    pub(super) fn add_to(&self, stats: TransportStats) -> TransportStats {
        let mut sum = stats;
        sum.data_packets += self.gone.data_packets;
        sum.retransmitted_packets += self.gone.retransmitted_packets;
        sum.cnps_sent += self.gone.cnps_sent;
        sum.cnps_received += self.gone.cnps_received;
        self.peers.values().fold(sum, |sum, peer| added(sum, &peer.endpoint))
    }
}

fn added(sum: TransportStats, endpoint: &Endpoint) -> TransportStats {
    let stats = endpoint.stats();
    TransportStats {
        data_packets: sum.data_packets + stats.data_packets,
        retransmitted_packets: sum.retransmitted_packets + stats.retransmitted_packets,
        cnps_sent: sum.cnps_sent + stats.cnps_sent,
        cnps_received: sum.cnps_received + stats.cnps_received,
        ..sum
    }
}

/// The number of a host's queue pair for its peer `address`, of data that goes the `way` as seen from that host.
fn number(address: Ipv4Addr, way: Way, unscheduled: bool) -> u32 {
    ((u32::from(address) & ADDRESS_BITS) << 2) | u32::from(way == Way::In) << 1 | u32::from(unscheduled)
}

/// Which of a peer's endpoints a packet is for: the second lowest bit of its destination queue pair's number tells.
fn destination_way(packet: &[u8]) -> Option<Way> {
    let bth = wire::roce::Bth::decode(packet).ok()?;
    Some(if bth.destination_qp & 2 == 0 { Way::Out } else { Way::In })
}
