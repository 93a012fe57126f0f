//! One host: its NIC, its RoCEv2 endpoint, and what its scheme puts in front of them.
//!
//! The NIC sends one frame at a time: control datagrams first, then what the RoCEv2 endpoint has.

mod admitted;
mod advised;
mod credit;
mod gateway;
mod nic;
mod protected;

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};

use controller::topology::{self, MessageShape, Mode, Role, Topology};
use rdcc::receiver::ReceiverStats;
use roce::{Endpoint, QpConfig, Recovery, dcqcn};
use softswitch::Packet;
use wire::frame::{self, Ecn};
use wire::scone::RateSignal;
use wire::units::{BitPerSec, Nanos};

use crate::link::Link;
use crate::run::RunError;
use crate::summary::{Crem, Heard};
use crate::workload::Transfer;
use controller::topology::Scheme;

use admitted::Admitted;
use advised::Advised;
use credit::{Came, Credit};
use gateway::Gate;
use nic::Nic;
use protected::Protected;

/// Queue pairs of pair `i` are `FIRST_QP + 2 i` (scheduled) and the next (unscheduled), on both hosts.
const FIRST_QP: u32 = 0x100;

/// RoCEv2 source ports come from the dynamic range, one a queue pair, so that each is a flow of its own.
const FIRST_SOURCE_PORT: u32 = 49_152;

/// An acknowledgement that takes longer than this, and than four round-trip times, is taken for lost.
const MIN_RETRANSMIT_TIMEOUT: Nanos = Nanos(1_000_000);

/// What a host wants of the fabric.
#[derive(Debug)]
pub enum HostEvent {
    /// Put this frame on the link.
    Transmit(Packet),
    /// A grant was sent or data arrived.
    Activity,
    /// A frame's data was delivered in order.
    Delivered { pair: usize, frame_octets: u64 },
    /// A message's last octet arrived.
    Completed(Transfer),
}

/// The messages that are to arrive on a queue pair, in order.
#[derive(Debug, Default)]
struct Incoming {
    announced: u64,
    received: u64,
    /// (offset behind the last octet, message)
    ends: VecDeque<(u64, Transfer)>,
}

/// A host.
#[derive(Debug)]
pub struct Host {
    nic: Nic,
    roce: Endpoint,
    credit: Option<Credit>,
    retransmit_timeout: Nanos,
    dcqcn: Option<dcqcn::Config>,
    rate_signal: Option<RateSignal>,
    advised: Option<Advised>,
    gate: Option<Gate>,
    admitted: Option<Admitted>,
    protected: Option<Protected>,
    recovery: Recovery,
    rdcc_port: u16,
    timer: Option<Nanos>,
    /// Queue pairs that this host sends on.
    outgoing: Vec<u32>,
    incoming: BTreeMap<u32, Incoming>,
    events: VecDeque<HostEvent>,
}

/// The queue that scheduled data waits in.
pub fn data_queue(topology: &Topology) -> Result<u8, RunError> {
    let entry = topology.domain.dscp.iter().find(|entry| entry.role == Role::Scheduled);
    entry.map(|entry| entry.queue).ok_or(RunError::NoDscp(Role::Scheduled.name()))
}

impl Host {
    /// A host with nothing to do.
    pub fn new(
        topology: &Topology,
        name: &str,
        host: &topology::Host,
        scheme: Scheme,
        payload: u64,
        seed: [u8; 32],
    ) -> Result<Self, RunError> {
        let nic = Nic::new(topology, name, host)?;
        let credit =
            if scheme.uses_credit() { Some(Credit::new(topology, name, &nic, scheme, seed)?) } else { None };
        let bounded = scheme.takes_advice() || scheme.takes_signals();
        let advised = if bounded { Some(Advised::new(topology, name, &nic, scheme)?) } else { None };
        let gate = host
            .gateway_for
            .map(|served| Gate::new(topology, (name, host.address.into()), served))
            .transpose()?;
        let admitted =
            if scheme.uses_admission() { Some(Admitted::new(topology, name, &nic)?) } else { None };
        let line_rate = BitPerSec(nic.uplink().0.rate_bps);
        Ok(Self {
            nic,
            roce: Endpoint::new(),
            credit,
            retransmit_timeout: MIN_RETRANSMIT_TIMEOUT.max(Nanos(4 * topology.rdcc.base_rtt_ns)),
            dcqcn: scheme.uses_dcqcn().then(|| dcqcn::Config::new(line_rate)),
            rate_signal: advised::rate_signal(topology, scheme),
            advised,
            gate,
            admitted,
            protected: scheme.uses_crem().then(|| Protected::new(topology, scheme, payload, seed)),
            recovery: protected::recovery(scheme),
            rdcc_port: topology.domain.ports.rdcc,
            timer: None,
            outgoing: Vec::new(),
            incoming: BTreeMap::new(),
            events: VecDeque::new(),
        })
    }

    /// The link to the switch, the switch's index, and the port there.
    pub fn uplink(&self) -> (Link, usize, u16) {
        self.nic.uplink()
    }

    /// The counters of the RDCC receiver, where there is one.
    pub fn receiver_stats(&self) -> Option<ReceiverStats> {
        self.credit.as_ref().map(Credit::receiver_stats)
    }

    /// The congestion reports that came, where there is RDCC.
    pub fn reports_that_came(&self) -> Option<&Came> {
        self.credit.as_ref().map(Credit::reports_that_came)
    }

    /// What moved the windows of admission, where there is one.
    pub fn heard(&self) -> Option<Heard> {
        self.admitted.as_ref().map(Admitted::heard)
    }

    /// Adds what this host's CREM functions counted, and the octets of packets and repair.
    pub fn add_repair(&self, all: &mut Crem, octets: &mut [u64; 2]) {
        if let Some(protected) = &self.protected {
            protected.add_to(all, octets);
        }
    }

    /// Packets that the transport sent again.
    pub fn sent_again(&self) -> u64 {
        self.roce.stats().retransmitted_packets
    }

    /// Whether DCQCN or advice holds a queue pair below the link's rate, or a window is below its largest.
    pub fn is_slowed(&mut self, now: Nanos) -> bool {
        if let Some(admitted) = &self.admitted {
            return admitted.is_slowed();
        }
        let line_rate = BitPerSec(self.nic.uplink().0.rate_bps);
        let roce = &mut self.roce;
        let mut slowed = |&qp: &u32| roce.rate(qp, now).ok().flatten().is_some_and(|rate| rate < line_rate);
        self.outgoing.iter().any(&mut slowed)
    }

    /// Whether the host took any advice so far.
    pub fn was_advised(&self) -> bool {
        self.advised.as_ref().is_some_and(Advised::was_advised)
    }

    /// Makes the queue pairs and the association of a pair of hosts.
    pub fn connect(
        hosts: &mut [Self],
        from: usize,
        to: usize,
        pair: usize,
        payload: u64,
        now: Nanos,
    ) -> Result<(), RunError> {
        let (source, destination) = (hosts[from].nic.address, hosts[to].nic.address);
        let peer = SocketAddr::new(destination.into(), hosts[to].rdcc_port);
        if let Some(credit) = &mut hosts[from].credit {
            credit.associate(peer, now).map_err(|reason| hosts[from].refused(&reason))?;
        }
        for mode in [Mode::Scheduled, Mode::Unscheduled] {
            let qp = queue_pair(pair, mode);
            hosts[from].create_qp(qp, destination, payload)?;
            hosts[to].create_qp(qp, source, payload)?;
            hosts[from].outgoing.push(qp);
            hosts[to].incoming.insert(qp, Incoming::default());
            let first_msn = hosts[from].roce.next_msn(qp).unwrap_or(0);
            if let Some(credit) = &mut hosts[from].credit {
                credit.set_next_msn(peer, qp, first_msn);
            }
            if let Some(advised) = &mut hosts[from].advised {
                advised.add_qp(qp, destination.into(), now);
            }
            if let Some(admitted) = &mut hosts[from].admitted {
                let added = admitted.add_qp(qp, destination.into(), now);
                added.map_err(|reason| hosts[from].refused(&reason))?;
            }
            if let Some(advised) = &mut hosts[to].advised {
                advised.add_receiving_qp(qp, source.into());
            }
        }
        Ok(())
    }

    fn create_qp(&mut self, qp: u32, peer: Ipv4Addr, payload: u64) -> Result<(), RunError> {
        let ports = u32::from(u16::MAX) + 1 - FIRST_SOURCE_PORT;
        let config = QpConfig {
            mtu: u16::try_from(payload).unwrap_or(u16::MAX),
            source_port: u16::try_from(FIRST_SOURCE_PORT + qp % ports).unwrap_or(u16::MAX),
            ack_dscp: self.nic.dscp.control,
            retransmit_timeout: self.retransmit_timeout,
            // Without reports a fabric may be full for any number of timeouts: what that costs is to be seen, not an end of it.
            retry_limit: None,
            dcqcn: self.dcqcn,
            recovery: self.recovery,
            rate_signal: self.rate_signal,
            ..QpConfig::new(qp, qp, peer.into())
        };
        self.roce.create_qp(config).map_err(|error| self.refused(&error))
    }

    fn refused(&self, reason: &dyn std::fmt::Display) -> RunError {
        RunError::Parameters { host: self.nic.address.to_string(), reason: reason.to_string() }
    }

    /// Hands a message to its sender, and tells its receiver's bookkeeping what to wait for.
    pub fn send(
        hosts: &mut [Self],
        (from, to): (usize, usize),
        transfer: Transfer,
        shape: MessageShape,
        now: Nanos,
    ) -> Result<(), RunError> {
        let qp = queue_pair(transfer.pair, shape.mode);
        let incoming = hosts[to].incoming.entry(qp).or_default();
        incoming.announced += shape.size;
        incoming.ends.push_back((incoming.announced, transfer));
        let peer = SocketAddr::new(hosts[to].nic.address.into(), hosts[to].rdcc_port);
        let host = &mut hosts[from];
        match (&mut host.credit, &mut host.admitted) {
            (Some(credit), _) => {
                credit.submit(peer, qp, shape.size, shape.mode, now).map_err(|reason| host.refused(&reason))
            }
            (None, Some(admitted)) => {
                // As unscheduled data, because reports about scheduled data go to the receiver.
                admitted.submit(qp, shape.size, host.nic.dscp.unscheduled);
                Ok(())
            }
            (None, None) => host.post(qp, shape.size, host.nic.dscp.of_mode(shape.mode), now),
        }
    }

    fn post(&mut self, qp: u32, octets: u64, dscp: u8, now: Nanos) -> Result<(), RunError> {
        let octets =
            u32::try_from(octets).map_err(|_| self.refused(&"an RDMA message has at most 2^31 octets"))?;
        self.roce.post(qp, 0, octets, dscp, now).map_err(|error| self.refused(&error))?;
        Ok(())
    }

    /// Takes a frame from the link.
    pub fn receive(&mut self, frame: &Packet, now: Nanos) {
        // What isn't ours or is broken is dropped, as a NIC does.
        let Ok(parsed) = frame::parse(frame.head()) else { return };
        let from = SocketAddr::new(parsed.datagram.source.into(), parsed.datagram.source_port);
        let port = parsed.datagram.destination_port;
        if let Some(gate) = self.gate.as_mut().filter(|gate| gate.port() == port) {
            gate.take_datagram(from, parsed.payload_head, now);
            return;
        }
        if parsed.datagram.destination != self.nic.address {
            return;
        }
        if port == wire::roce::UDP_PORT {
            let ce = parsed.datagram.ecn == Ecn::Ce;
            let source = parsed.datagram.source.into();
            if let Some(advised) = &mut self.advised {
                advised.take_packet(source, parsed.payload_head, now);
            }
            if let Some(admitted) = &mut self.admitted {
                admitted.take_packet(source, parsed.payload_head);
            }
            if self.protected.as_mut().is_none_or(|protected| protected.arrives(&parsed, now)) {
                // A refused packet is counted by the endpoint; there is nobody else to tell.
                let _ = self.roce.handle_packet(source, parsed.payload_head, parsed.payload_octets, ce, now);
                self.take_data(frame.len() as u64, parsed.datagram.source_port, now);
            }
            self.take_delivered(now);
            return;
        }
        if let Some(protected) = self.protected.as_mut().filter(|protected| protected.port() == port) {
            protected.take_datagram(from, &parsed, now);
            self.take_delivered(now);
            return;
        }
        if let Some(credit) = self.credit.as_mut().filter(|credit| credit.port() == port) {
            credit.take_datagram(from, parsed.payload_head, now);
        } else if let Some(advised) = self.advised.as_mut().filter(|advised| advised.port() == port) {
            advised.take_datagram(from, parsed.payload_head, now);
        }
        // Beside credit: a lower grant presses on the route as well.
        if let Some(admitted) = &mut self.admitted {
            admitted.take_datagram(from.ip(), port, parsed.payload_head);
        }
    }

    /// Packets that CREM held or restored.
    fn take_delivered(&mut self, now: Nanos) {
        while let Some(packet) = self.protected.as_mut().and_then(Protected::poll_delivered) {
            let _ = self.roce.handle_packet(packet.from, &packet.head, packet.octets, false, now);
            self.take_data((frame::HEADERS_OCTETS + packet.octets) as u64, packet.source_port, now);
        }
    }

    /// Data that the endpoint accepted from the frame that just came.
    fn take_data(&mut self, frame_octets: u64, source_port: u16, now: Nanos) {
        let mut delivered = None;
        while let Some(received) = self.roce.poll_receive() {
            delivered = Some(pair_of(received.qp));
            let incoming = self.incoming.entry(received.qp).or_default();
            incoming.received += u64::from(received.octets);
            while let Some(&(end, transfer)) = incoming.ends.front() {
                if incoming.received < end {
                    break;
                }
                incoming.ends.pop_front();
                self.events.push_back(HostEvent::Completed(transfer));
            }
            if let Some(credit) = &mut self.credit {
                credit.take_data(&received, source_port, now);
            }
            if let Some(advised) = &mut self.advised {
                advised.take_data(&received, now);
            }
        }
        if let Some(pair) = delivered {
            // Before the completion that it may have caused, or the batch would end without this frame.
            self.events.push_front(HostEvent::Delivered { pair, frame_octets });
            self.events.push_front(HostEvent::Activity);
        }
    }

    /// The next thing the host wants of the fabric; `None` when there is nothing now.
    pub fn pump(&mut self, now: Nanos) -> Option<HostEvent> {
        if self.events.is_empty() {
            self.work(now);
        }
        self.events.pop_front()
    }

    /// Calls the machines and, if the NIC is free, takes the next frame.
    fn work(&mut self, now: Nanos) {
        if self.roce.poll_timeout().is_some_and(|at| at <= now) {
            self.roce.handle_timeout(now);
        }
        if let Some(protected) = &mut self.protected {
            protected.work(now);
            self.take_delivered(now);
        }
        if self.work_credit(now) {
            self.events.push_back(HostEvent::Activity);
        }
        if let Some(advised) = &mut self.advised {
            advised.work(&mut self.nic, &mut self.roce, now);
        }
        if let Some(gate) = &mut self.gate {
            gate.work(&mut self.nic, now);
        }
        while let Some(completion) = self.roce.poll_completion() {
            if let Some(admitted) = &mut self.admitted {
                admitted.completed(completion, now);
            }
        }
        if let Some(admitted) = &mut self.admitted {
            admitted.work(&mut self.roce, now);
        }
        if self.nic.is_free(now)
            && let Some(frame) = self.next_frame(now)
        {
            self.events.push_back(HostEvent::Transmit(frame));
        }
    }

    /// What has credit is posted, or goes to admission before that. True when a grant went out.
    fn work_credit(&mut self, now: Nanos) -> bool {
        let Self { nic, roce, credit: Some(credit), admitted, .. } = self else { return false };
        let mut over = Vec::new();
        let post = |qp, permit: &rdcc::sender::SendPermit, dscp| {
            if let Some(admitted) = admitted {
                admitted.submit_whole(qp, permit.octets, dscp);
            } else {
                // The queue pair exists and a Credit Unit is a packet: nothing is left to refuse.
                let _ = roce.post(qp, permit.tag, permit.octets, dscp, now);
            }
        };
        let granted = credit.work(nic, post, |peer, message| over.push((peer.ip(), message)), now);
        if let Some(admitted) = admitted {
            for (peer, message) in over {
                admitted.message_ended(peer, message);
            }
        }
        granted
    }

    fn next_frame(&mut self, now: Nanos) -> Option<Packet> {
        if let Some(frame) = self.nic.next_control() {
            return Some(frame);
        }
        if let Some(protected) = &mut self.protected
            && let Some(message) = protected.poll_message()
        {
            return self.nic.repair_frame(protected.port(), &message);
        }
        let mut packet = self.roce.poll_transmit(now)?;
        if let Some(advised) = &mut self.advised {
            advised.attach(&mut packet, now);
        }
        let frame = self.nic.roce_frame(&packet)?;
        if let Some(protected) = &mut self.protected
            && let Ok(parsed) = frame::parse(frame.head())
        {
            protected.leaves(&parsed, now);
        }
        Some(frame)
    }

    /// The NIC sends until `at`.
    pub fn nic_busy_until(&mut self, at: Nanos) {
        self.nic.busy_until(at);
    }

    /// When the machines want to be called, if that isn't planned already.
    pub fn arm_timer(&mut self, now: Nanos) -> Option<Nanos> {
        let next = [
            self.roce.poll_timeout(),
            self.credit.as_ref().and_then(Credit::poll_timeout),
            self.advised.as_ref().and_then(Advised::poll_timeout),
            self.gate.as_ref().and_then(Gate::poll_timeout),
            self.admitted.as_ref().and_then(Admitted::poll_timeout),
            self.protected.as_ref().and_then(Protected::poll_timeout),
        ];
        // A machine that wants to be called at once is called a nanosecond later: time must move.
        let at = next.into_iter().flatten().min()?.max(now + Nanos(1));
        if self.timer.is_some_and(|planned| planned <= at) {
            return None;
        }
        self.timer = Some(at);
        Some(at)
    }

    /// Whether a timer event is the planned one; it is then done with.
    pub fn timer_due(&mut self, now: Nanos) -> bool {
        if self.timer == Some(now) {
            self.timer = None;
            return true;
        }
        false
    }
}

/// The pair that a queue pair belongs to.
fn pair_of(qp: u32) -> usize {
    (qp.saturating_sub(FIRST_QP) / 2) as usize
}

fn queue_pair(pair: usize, mode: Mode) -> u32 {
    FIRST_QP + 2 * u32::try_from(pair).unwrap_or(u32::MAX / 4) + u32::from(mode == Mode::Unscheduled)
}
