//! A small fabric in virtual time: senders, one bottleneck queue that reports, receivers. Control datagrams have
//! their own way with a fixed delay.

#![allow(dead_code, reason = "each test file uses its part of the harness")]
#![allow(clippy::unwrap_used, reason = "a test harness: a failure here fails the test")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rdcc::receiver::{DataArrival, Receiver, ReceiverConfig, ReceiverEvent};
use rdcc::sender::{Binding, MessageSpec, SendPermit, Sender, SenderConfig, SenderEvent};
use rdcc::{DEFAULT_UNIT_OVERHEAD, Datagram};
use wire::rdcc::{
    AssociationId, CongestionReport, Direction, Epoch, Flags, FlowAddresses, Header, Message, MessageId,
    SequenceNumber,
};
use wire::units::{MbitPerSec, Nanos, Octets, Octets32};

pub const PORT: u16 = 52_100;
pub const UNIT: u64 = 4096;
pub const CRN: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 255, 0, 1));
pub const SCHEDULED_QP: u32 = 0x100;
pub const UNSCHEDULED_QP: u32 = 0x200;

pub fn sender_address(index: usize) -> SocketAddr {
    address(1, index)
}

pub fn receiver_address(index: usize) -> SocketAddr {
    address(2, index)
}

fn address(kind: u8, index: usize) -> SocketAddr {
    let [high, low] = u16::try_from(index).unwrap().to_be_bytes();
    SocketAddr::from(([10, kind, high, low], PORT))
}

/// Whether an address is a sender's, and its index.
fn host(address: IpAddr) -> (bool, usize) {
    let IpAddr::V4(address) = address else { panic!("{address}") };
    let [_, kind, high, low] = address.octets();
    (kind == 1, usize::from(u16::from_be_bytes([high, low])))
}

/// What the bottleneck does.
pub struct Bottleneck {
    pub rate: MbitPerSec,
    pub b_th: u64,
    pub q_max: u64,
    pub report_interval: Nanos,
}

#[derive(Debug)]
struct Packet {
    permit: SendPermit,
    from: usize,
    to: usize,
}

impl Packet {
    fn octets_on_link(&self) -> u64 {
        u64::from(self.permit.octets) + DEFAULT_UNIT_OVERHEAD
    }
}

#[derive(Debug)]
enum Event {
    Control { from: SocketAddr, datagram: Datagram },
    AtQueue(Packet),
    QueueServes,
    AtReceiver(Packet),
    Wake { sender: bool, index: usize },
}

/// One run.
pub struct Fabric {
    pub now: Nanos,
    pub senders: Vec<Sender>,
    pub receivers: Vec<Receiver>,
    bottleneck: Bottleneck,
    one_way: Nanos,
    events: BinaryHeap<Reverse<(Nanos, u64)>>,
    bodies: BTreeMap<u64, Event>,
    sequence: u64,
    woken: BTreeMap<(bool, usize), Nanos>,
    nic_free: Vec<Nanos>,
    queue: VecDeque<Packet>,
    occupancy: u64,
    serving: bool,
    last_change: Nanos,
    occupancy_time: u128,
    pub peak: u64,
    pub drops: u64,
    pub delivered_on_link: u64,
    reported: BTreeMap<(usize, bool), Nanos>,
    seen: VecDeque<(Nanos, (usize, bool))>,
    pub reports: [u64; 2],
    pub control: BTreeMap<u8, u64>,
    pub started: BTreeMap<(usize, u64), Nanos>,
    pub completed: BTreeMap<(usize, u64), Nanos>,
    pub sender_events: Vec<(usize, SenderEvent)>,
    pub audits: bool,
}

impl Fabric {
    pub fn new(senders: usize, receivers: Vec<ReceiverConfig>, rtt: Nanos, bottleneck: Bottleneck) -> Self {
        let line = MbitPerSec(100_000);
        let mut config = SenderConfig::new(line, PORT);
        config.crn_addresses = vec![CRN];
        let seed = |kind: u8, index: usize| {
            let mut seed = [kind; 32];
            seed[..8].copy_from_slice(&(index as u64).to_be_bytes());
            seed
        };
        Self {
            now: Nanos(0),
            senders: (0..senders).map(|index| Sender::new(config.clone(), seed(1, index))).collect(),
            receivers: receivers
                .into_iter()
                .enumerate()
                .map(|(index, config)| Receiver::new(config, seed(2, index)).unwrap())
                .collect(),
            bottleneck,
            one_way: Nanos(rtt.0 / 2),
            events: BinaryHeap::new(),
            bodies: BTreeMap::new(),
            sequence: 0,
            woken: BTreeMap::new(),
            nic_free: vec![Nanos(0); senders],
            queue: VecDeque::new(),
            occupancy: 0,
            serving: false,
            last_change: Nanos(0),
            occupancy_time: 0,
            peak: 0,
            drops: 0,
            delivered_on_link: 0,
            reported: BTreeMap::new(),
            seen: VecDeque::new(),
            reports: [0; 2],
            control: BTreeMap::new(),
            started: BTreeMap::new(),
            completed: BTreeMap::new(),
            sender_events: Vec::new(),
            audits: true,
        }
    }

    /// Brings all associations up: sender `i` with receiver `to(i)`.
    pub fn associate(&mut self, to: impl Fn(usize) -> usize) {
        for index in 0..self.senders.len() {
            self.senders[index].associate(receiver_address(to(index)), self.now).unwrap();
            self.service(true, index);
        }
        self.run_until(Nanos(self.now.0 + 1_000_000));
    }

    pub fn submit(&mut self, from: usize, to: usize, length: u64, unscheduled: bool, tag: u64) {
        let destination_qp = if unscheduled { UNSCHEDULED_QP } else { SCHEDULED_QP };
        let mut spec = MessageSpec::new(Octets(length), Binding::RoceV2 { destination_qp }, tag);
        spec.allow_unscheduled = unscheduled;
        self.submit_spec(from, to, spec);
    }

    pub fn submit_spec(&mut self, from: usize, to: usize, spec: MessageSpec) -> MessageId {
        let id = self.senders[from].submit(receiver_address(to), spec, self.now).unwrap();
        self.started.insert((from, spec.tag), self.now);
        self.service(true, from);
        id
    }

    fn push(&mut self, at: Nanos, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence)));
        self.bodies.insert(self.sequence, event);
    }

    pub fn next_event(&self) -> Option<Nanos> {
        self.events.peek().map(|Reverse((at, _))| *at)
    }

    pub fn run_until(&mut self, end: Nanos) {
        while let Some(&Reverse((at, sequence))) = self.events.peek() {
            if at > end {
                break;
            }
            self.events.pop();
            self.now = at;
            let event = self.bodies.remove(&sequence).unwrap();
            self.handle(event);
        }
        self.now = end;
    }

    /// Runs until nothing is pending, at most until `end`.
    pub fn run_until_complete(&mut self, end: Nanos) {
        while self.completed.len() < self.started.len() && self.next_event().is_some_and(|at| at <= end) {
            let next = self.next_event().unwrap();
            self.run_until(next);
        }
    }

    pub fn mean_queue(&mut self, since: Nanos) -> u64 {
        self.account_occupancy();
        u64::try_from(self.occupancy_time / u128::from((self.now - since).0.max(1))).unwrap()
    }

    pub fn reset_queue_figures(&mut self) {
        self.account_occupancy();
        self.occupancy_time = 0;
        self.peak = 0;
        self.delivered_on_link = 0;
    }

    fn account_occupancy(&mut self) {
        self.occupancy_time += u128::from(self.occupancy) * u128::from((self.now - self.last_change).0);
        self.last_change = self.now;
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Control { from, datagram } => {
                let (sender, index) = host(datagram.to.ip());
                if sender {
                    self.senders[index].handle_datagram(from, &datagram.octets, self.now);
                } else {
                    self.receivers[index].handle_datagram(from, &datagram.octets, self.now);
                }
                self.service(sender, index);
            }
            Event::AtQueue(packet) => self.enqueue(packet),
            Event::QueueServes => self.dequeue(),
            Event::AtReceiver(packet) => {
                let Binding::RoceV2 { destination_qp: qp } = packet.permit.binding else { return };
                let from = sender_address(packet.from).ip();
                let arrival = DataArrival {
                    from,
                    qp,
                    msn: packet.permit.msn,
                    octets: packet.permit.octets,
                    ce: false,
                    source_port: 49_152,
                };
                self.receivers[packet.to].handle_data(arrival, self.now);
                if packet.permit.last {
                    self.completed.insert((packet.from, packet.permit.tag), self.now);
                }
                self.service(false, packet.to);
            }
            Event::Wake { sender, index } => {
                if self.woken.get(&(sender, index)) == Some(&self.now) {
                    self.woken.remove(&(sender, index));
                }
                if sender {
                    self.senders[index].handle_timeout(self.now);
                } else {
                    self.receivers[index].handle_timeout(self.now);
                }
                self.service(sender, index);
            }
        }
    }

    /// Drains a machine and sets its next wake-up.
    fn service(&mut self, sender: bool, index: usize) {
        let address = if sender { sender_address(index) } else { receiver_address(index) };
        loop {
            let datagram = if sender {
                self.senders[index].poll_transmit()
            } else {
                self.receivers[index].poll_transmit()
            };
            let Some(datagram) = datagram else { break };
            *self.control.entry(datagram.octets[1]).or_default() += 1;
            self.push(self.now + self.one_way, Event::Control { from: address, datagram });
        }
        if sender {
            while let Some(permit) = self.senders[index].poll_send(self.now) {
                let packet = Packet { permit, from: index, to: host(permit.peer.ip()).1 };
                let on_link = packet.octets_on_link();
                let busy = MbitPerSec(100_000).transmission_time(Octets(on_link)).unwrap();
                let sent = self.nic_free[index].max(self.now) + busy;
                self.nic_free[index] = sent;
                self.push(Nanos(sent.0 + self.one_way.0 / 2), Event::AtQueue(packet));
            }
            while let Some(event) = self.senders[index].poll_event() {
                self.sender_events.push((index, event));
            }
            assert_eq!(self.senders[index].stats().invariant_violations, 0);
        } else {
            while let Some(event) = self.receivers[index].poll_event() {
                assert!(!matches!(event, ReceiverEvent::BeyondCredit { .. }), "{event:?}");
            }
            if self.audits {
                assert!(self.receivers[index].audit());
            }
        }
        let timeout =
            if sender { self.senders[index].poll_timeout() } else { self.receivers[index].poll_timeout() };
        if let Some(at) = timeout {
            let at = at.max(self.now);
            if self.woken.get(&(sender, index)).is_none_or(|&set| at < set || set < self.now) {
                self.woken.insert((sender, index), at);
                self.push(at, Event::Wake { sender, index });
            }
        }
    }

    fn enqueue(&mut self, packet: Packet) {
        self.account_occupancy();
        let octets = packet.octets_on_link();
        if self.occupancy + octets > self.bottleneck.q_max {
            self.drops += 1;
            return;
        }
        self.occupancy += octets;
        self.peak = self.peak.max(self.occupancy);
        self.queue.push_back(packet);
        if !self.serving {
            self.serve();
        }
    }

    fn serve(&mut self) {
        let Some(packet) = self.queue.front() else {
            self.serving = false;
            return;
        };
        self.serving = true;
        let busy = self.bottleneck.rate.transmission_time(Octets(packet.octets_on_link())).unwrap();
        self.push(self.now + busy, Event::QueueServes);
    }

    fn dequeue(&mut self) {
        let Some(packet) = self.queue.pop_front() else { return };
        self.report(&packet);
        self.account_occupancy();
        self.occupancy -= packet.octets_on_link();
        self.delivered_on_link += packet.octets_on_link();
        self.push(Nanos(self.now.0 + self.one_way.0 / 2), Event::AtReceiver(packet));
        self.serve();
    }

    /// The reporting node: RDCC, On-Path Congestion Reporting.
    fn report(&mut self, packet: &Packet) {
        let flow = (packet.from, packet.permit.scheduled);
        self.seen.push_back((self.now, flow));
        while self.seen.front().is_some_and(|&(at, _)| at.0 + 50_000 < self.now.0) {
            self.seen.pop_front();
        }
        let Bottleneck { rate, b_th, q_max, report_interval } = self.bottleneck;
        if self.occupancy <= b_th
            || self.reported.get(&flow).is_some_and(|&last| self.now < last + report_interval)
        {
            return;
        }
        self.reported.insert(flow, self.now);
        let flows = self.seen.iter().map(|&(_, flow)| flow).collect::<BTreeSet<_>>().len();
        let degree = (255 * (self.occupancy - b_th) / (q_max - b_th)).min(255);
        let (source, destination) = (sender_address(packet.from), receiver_address(packet.to));
        let (IpAddr::V4(source_v4), IpAddr::V4(destination_v4)) = (source.ip(), destination.ip()) else {
            return;
        };
        let (direction, to) = if packet.permit.scheduled {
            (Direction::TO_RECEIVER, destination)
        } else {
            (Direction::TO_SENDER, source)
        };
        self.reports[usize::from(direction.0) - 1] += 1;
        let message = Message::CongestionReport(CongestionReport {
            reporter_id: 1,
            queue_depth: Octets32(u32::try_from(self.occupancy).unwrap()),
            queue_threshold: Octets32(u32::try_from(b_th).unwrap()),
            congestion_degree: u8::try_from(degree).unwrap(),
            direction,
            protocol: 17,
            source_port: 49_152,
            destination_port: 4791,
            suggested_rate: MbitPerSec(rate.0 / u32::try_from(flows).unwrap()),
            flow: FlowAddresses::V4 { source: source_v4, destination: destination_v4 },
        });
        let header = Header {
            association_id: AssociationId(0),
            epoch: Epoch(0),
            flags: Flags::NONE,
            sequence_number: SequenceNumber(0),
        };
        let datagram = Datagram { to, octets: message.to_octets(&header) };
        let from = SocketAddr::new(CRN, PORT);
        self.push(self.now + Nanos(self.one_way.0 / 2), Event::Control { from, datagram });
    }
}
