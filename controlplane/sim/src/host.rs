//! One host: its NIC, its RoCEv2 endpoint, and its RDCC machines where the scheme has them.
//!
//! The NIC sends one frame at a time: RDCC's control datagrams first, then what the RoCEv2 endpoint has.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use controller::topology::{self, MessageShape, Mode, Role, Topology};
use rdcc::Addressee;
use rdcc::receiver::{DataArrival, Receiver, ReceiverStats};
use rdcc::sender::{Binding, MessageSpec, Sender};
use roce::{Endpoint, QpConfig};
use softswitch::Packet;
use wire::frame::{self, Datagram, Ecn, UdpChecksum};
use wire::rdcc::MessageType;
use wire::units::{Nanos, Octets};

use crate::link::Link;
use crate::parameters;
use crate::run::RunError;
use crate::scheme::Scheme;
use crate::workload::Transfer;

/// Queue pairs of pair `i` are `FIRST_QP + 2 i` (scheduled) and the next (unscheduled), on both hosts.
const FIRST_QP: u32 = 0x100;

/// RoCEv2 source ports come from the dynamic range, one a queue pair, so that each is a flow of its own.
const FIRST_SOURCE_PORT: u32 = 49_152;

/// What a host wants of the fabric.
#[derive(Debug)]
pub enum HostEvent {
    /// Put this frame on the link.
    Transmit(Packet),
    /// A grant was sent or data arrived.
    Activity,
    /// A frame's data was delivered in order.
    Delivered { frame_octets: u64 },
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
    address: Ipv4Addr,
    mac: [u8; 6],
    uplink: (Link, usize, u16),
    rdcc_port: u16,
    dscp: Dscp,
    nic_free_at: Nanos,
    timer: Option<Nanos>,
    roce: Endpoint,
    sender: Option<Sender>,
    receiver: Option<Receiver>,
    control: VecDeque<Packet>,
    incoming: BTreeMap<u32, Incoming>,
    events: VecDeque<HostEvent>,
    identification: u16,
}

/// The codepoints that a host marks its packets with.
#[derive(Clone, Copy, Debug)]
struct Dscp {
    scheduled: u8,
    unscheduled: u8,
    control: u8,
}

impl Dscp {
    fn of(topology: &Topology) -> Result<Self, RunError> {
        let role = |role: Role| topology.dscp_of(role).ok_or(RunError::NoDscp(role.name()));
        Ok(Self {
            scheduled: role(Role::Scheduled)?,
            unscheduled: role(Role::Unscheduled)?,
            control: role(Role::Control)?,
        })
    }

    fn of_mode(self, mode: Mode) -> u8 {
        match mode {
            Mode::Scheduled => self.scheduled,
            Mode::Unscheduled => self.unscheduled,
        }
    }
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
        seed: [u8; 32],
    ) -> Result<Self, RunError> {
        let missing = |what: &str| RunError::Missing(what.to_owned());
        let link = topology.links.get(host.link).ok_or_else(|| missing(name))?;
        let uplink = Link { rate_bps: link.rate_bps, delay: Nanos(link.delay_ns) };
        let switch = topology
            .switches
            .keys()
            .position(|switch| *switch == host.attachment.switch)
            .ok_or_else(|| missing(&host.attachment.switch))?;
        let (sender, receiver) = if scheme.uses_credit() {
            let sender = Sender::new(parameters::sender(topology, &uplink, scheme), seed);
            let mut receiver_seed = seed;
            receiver_seed[31] = 1;
            let receiver = Receiver::new(parameters::receiver(topology, &uplink, scheme), receiver_seed)
                .map_err(|error| RunError::Parameters { host: name.to_owned(), reason: error.to_string() })?;
            (Some(sender), Some(receiver))
        } else {
            (None, None)
        };
        Ok(Self {
            address: host.address,
            mac: host.mac,
            uplink: (uplink, switch, host.attachment.port),
            rdcc_port: topology.domain.ports.rdcc,
            dscp: Dscp::of(topology)?,
            nic_free_at: Nanos(0),
            timer: None,
            roce: Endpoint::new(),
            sender,
            receiver,
            control: VecDeque::new(),
            incoming: BTreeMap::new(),
            events: VecDeque::new(),
            identification: 0,
        })
    }

    /// The link to the switch, the switch's index, and the port there.
    pub fn uplink(&self) -> (Link, usize, u16) {
        self.uplink
    }

    /// The counters of the RDCC receiver, where there is one.
    pub fn receiver_stats(&self) -> Option<ReceiverStats> {
        self.receiver.as_ref().map(Receiver::stats)
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
        let (source, destination) = (hosts[from].address, hosts[to].address);
        let peer = SocketAddr::new(destination.into(), hosts[to].rdcc_port);
        // The association first: sequence numbers are kept in it.
        if let Some(sender) = &mut hosts[from].sender {
            sender.associate(peer, now).map_err(|error| hosts[from].refused(&error))?;
        }
        for mode in [Mode::Scheduled, Mode::Unscheduled] {
            let qp = queue_pair(pair, mode);
            hosts[from].create_qp(qp, destination, payload)?;
            hosts[to].create_qp(qp, source, payload)?;
            hosts[to].incoming.insert(qp, Incoming::default());
            let first_msn = hosts[from].roce.next_msn(qp).unwrap_or(0);
            if let Some(sender) = &mut hosts[from].sender {
                sender.set_next_msn(peer, qp, first_msn);
            }
        }
        Ok(())
    }

    fn create_qp(&mut self, qp: u32, peer: Ipv4Addr, payload: u64) -> Result<(), RunError> {
        let ports = u32::from(u16::MAX) + 1 - FIRST_SOURCE_PORT;
        let config = QpConfig {
            mtu: u16::try_from(payload).unwrap_or(u16::MAX),
            source_port: u16::try_from(FIRST_SOURCE_PORT + qp % ports).unwrap_or(u16::MAX),
            ack_dscp: self.dscp.control,
            ..QpConfig::new(qp, qp, peer.into())
        };
        self.roce.create_qp(config).map_err(|error| self.refused(&error))
    }

    fn refused(&self, reason: &dyn std::fmt::Display) -> RunError {
        RunError::Parameters { host: self.address.to_string(), reason: reason.to_string() }
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
        let peer = SocketAddr::new(hosts[to].address.into(), hosts[to].rdcc_port);
        let host = &mut hosts[from];
        if let Some(sender) = &mut host.sender {
            let mut spec =
                MessageSpec::new(Octets(shape.size), Binding::RoceV2 { destination_qp: qp }, u64::from(qp));
            spec.allow_unscheduled = shape.mode == Mode::Unscheduled;
            sender.submit(peer, spec, now).map_err(|error| host.refused(&error))?;
        } else {
            host.post(qp, shape.size, host.dscp.of_mode(shape.mode), now)?;
        }
        Ok(())
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
        if parsed.datagram.destination != self.address {
            return;
        }
        if parsed.datagram.destination_port == wire::roce::UDP_PORT {
            let ce = parsed.datagram.ecn == Ecn::Ce;
            let source = parsed.datagram.source.into();
            // A refused packet is counted by the endpoint; there is nobody else to tell.
            let _ = self.roce.handle_packet(source, parsed.payload_head, parsed.payload_octets, ce, now);
            self.take_data(frame.len() as u64, now);
            while self.roce.poll_completion().is_some() {}
        } else if parsed.datagram.destination_port == self.rdcc_port {
            let from = SocketAddr::new(parsed.datagram.source.into(), parsed.datagram.source_port);
            self.take_control(from, parsed.payload_head, now);
        }
    }

    /// Data that the endpoint accepted from the frame that just came.
    fn take_data(&mut self, frame_octets: u64, now: Nanos) {
        let mut delivered = false;
        while let Some(received) = self.roce.poll_receive() {
            delivered = true;
            let incoming = self.incoming.entry(received.qp).or_default();
            incoming.received += u64::from(received.octets);
            while let Some(&(end, transfer)) = incoming.ends.front() {
                if incoming.received < end {
                    break;
                }
                incoming.ends.pop_front();
                self.events.push_back(HostEvent::Completed(transfer));
            }
            if let Some(receiver) = &mut self.receiver {
                let arrival = DataArrival {
                    from: received.from,
                    qp: received.qp,
                    msn: received.msn,
                    octets: received.octets,
                    ce: received.ce,
                };
                receiver.handle_data(arrival, now);
            }
        }
        if delivered {
            // Before the completion that it may have caused, or the batch would end without this frame.
            self.events.push_front(HostEvent::Delivered { frame_octets });
            self.events.push_front(HostEvent::Activity);
        }
    }

    /// An RDCC datagram: some types are for the sender, some for the receiver, some for either.
    fn take_control(&mut self, from: SocketAddr, octets: &[u8], now: Nanos) {
        let (Some(sender), Some(receiver)) = (&mut self.sender, &mut self.receiver) else { return };
        let addressee = rdcc::addressee(octets);
        if addressee != Addressee::Receiver {
            sender.handle_datagram(from, octets, now);
        }
        if addressee != Addressee::Sender {
            receiver.handle_datagram(from, octets, now);
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
        self.work_sender(now);
        self.work_receiver(now);
        if self.nic_free_at <= now
            && let Some(frame) = self.next_frame(now)
        {
            self.events.push_back(HostEvent::Transmit(frame));
        }
    }

    fn work_sender(&mut self, now: Nanos) {
        let Some(sender) = &mut self.sender else { return };
        if sender.poll_timeout().is_some_and(|at| at <= now) {
            sender.handle_timeout(now);
        }
        while let Some(permit) = sender.poll_send(now) {
            let Binding::RoceV2 { destination_qp } = permit.binding else { continue };
            let dscp = if permit.scheduled { self.dscp.scheduled } else { self.dscp.unscheduled };
            // The queue pair exists and a Credit Unit is a packet: nothing is left to refuse.
            let _ = self.roce.post(destination_qp, permit.tag, permit.octets, dscp, now);
        }
        let mut datagrams = Vec::new();
        while let Some(datagram) = sender.poll_transmit() {
            datagrams.push(datagram);
        }
        while sender.poll_event().is_some() {}
        for datagram in datagrams {
            self.queue_control(&datagram);
        }
    }

    fn work_receiver(&mut self, now: Nanos) {
        let Some(receiver) = &mut self.receiver else { return };
        if receiver.poll_timeout().is_some_and(|at| at <= now) {
            receiver.handle_timeout(now);
        }
        let mut datagrams = Vec::new();
        while let Some(datagram) = receiver.poll_transmit() {
            datagrams.push(datagram);
        }
        while receiver.poll_event().is_some() {}
        for datagram in datagrams {
            if datagram.octets.get(1) == Some(&MessageType::CREDIT_GRANT.0) {
                self.events.push_back(HostEvent::Activity);
            }
            self.queue_control(&datagram);
        }
    }

    fn queue_control(&mut self, datagram: &rdcc::Datagram) {
        let IpAddr::V4(destination) = datagram.to.ip() else { return };
        let header =
            self.header(destination, self.rdcc_port, datagram.to.port(), self.dscp.control, Ecn::NotEct);
        // Control messages are far smaller than a frame may be.
        if let Ok(head) = header.frame(&datagram.octets, 0, UdpChecksum::Computed) {
            self.control.push_back(Packet::new(head));
        }
    }

    fn next_frame(&mut self, now: Nanos) -> Option<Packet> {
        if let Some(frame) = self.control.pop_front() {
            return Some(frame);
        }
        let packet = self.roce.poll_transmit(now)?;
        let IpAddr::V4(destination) = packet.destination else { return None };
        let ecn = if packet.is_data() { Ecn::Ect0 } else { Ecn::NotEct };
        let header = self.header(destination, packet.source_port, wire::roce::UDP_PORT, packet.dscp, ecn);
        let behind_head = packet.octets_behind_head();
        let head = header.frame(&packet.head, behind_head, UdpChecksum::Zero).ok()?;
        Some(Packet::with_virtual_payload(head, behind_head))
    }

    fn header(
        &mut self,
        destination: Ipv4Addr,
        source_port: u16,
        destination_port: u16,
        dscp: u8,
        ecn: Ecn,
    ) -> Datagram {
        self.identification = self.identification.wrapping_add(1);
        Datagram {
            source_mac: self.mac,
            // The switch is a router: it takes frames whatever their destination MAC and writes the next hop's.
            destination_mac: [0x02, 0, 0, 0, 0, 1],
            source: self.address,
            destination,
            source_port,
            destination_port,
            dscp,
            ecn,
            time_to_live: 64,
            identification: self.identification,
        }
    }

    /// The NIC sends until `at`.
    pub fn nic_busy_until(&mut self, at: Nanos) {
        self.nic_free_at = at;
    }

    /// When the machines want to be called, if that isn't planned already.
    pub fn arm_timer(&mut self, now: Nanos) -> Option<Nanos> {
        let next = [
            self.roce.poll_timeout(),
            self.sender.as_ref().and_then(Sender::poll_timeout),
            self.receiver.as_ref().and_then(Receiver::poll_timeout),
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

fn queue_pair(pair: usize, mode: Mode) -> u32 {
    FIRST_QP + 2 * u32::try_from(pair).unwrap_or(u32::MAX / 4) + u32::from(mode == Mode::Unscheduled)
}
