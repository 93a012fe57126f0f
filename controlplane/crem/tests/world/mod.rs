//! A sender function, a receiver function and the path between them, in virtual time.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "helpers of tests")]

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;

use crem::crf::{Crf, CrfConfig, Order, Verdict};
use crem::csf::{Csf, CsfConfig};
use crem::{Deliver, FlowKey, IpFields, Packet, Transmit};
use wire::crem::{FlowAddresses, Header, Message, decode};
use wire::frame::{Datagram, ETHERNET_OCTETS, Ecn, UdpChecksum};
use wire::roce::{Aeth, Bth, Opcode, Psn, Reth, Syndrome, icrc};
use wire::units::Nanos;

pub const PORT: u16 = 50_000;
pub const MTU: u16 = 256;
pub const QP: u32 = 0x1234;
pub const SENDER_QP: u32 = 0x77;
pub const SENDER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 2);
pub const SOURCE_PORT: u16 = 49_300;

/// One way takes so long: a round trip is 1 ms.
pub const DELAY: u64 = 500_000;
/// Between two packets of a burst.
pub const GAP: u64 = 1000;

pub fn addresses() -> FlowAddresses {
    FlowAddresses::V4 { source: SENDER, destination: RECEIVER }
}

pub fn key() -> FlowKey {
    FlowKey::requests(addresses(), QP)
}

pub fn csf_address() -> SocketAddr {
    SocketAddr::new(IpAddr::V4(SENDER), PORT)
}

pub fn crf_address() -> SocketAddr {
    SocketAddr::new(IpAddr::V4(RECEIVER), PORT)
}

/// A packet that owns its octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    pub addresses: FlowAddresses,
    pub ip: IpFields,
    pub payload: Vec<u8>,
}

impl Owned {
    pub fn packet(&self) -> Packet<'_> {
        Packet { addresses: self.addresses, ip: self.ip, payload: &self.payload }
    }

    pub fn of(packet: &Packet<'_>) -> Self {
        Self { addresses: packet.addresses, ip: packet.ip, payload: packet.payload.to_vec() }
    }

    pub fn psn(&self) -> Psn {
        Bth::decode(&self.payload).unwrap().psn
    }
}

/// A packet with valid headers and ICRC, whose identification is `identification`.
pub fn packet(bth: &Bth, body: &[u8], identification: u16) -> Owned {
    let mut payload = bth.to_octets().to_vec();
    payload.extend_from_slice(body);
    sealed(payload, identification)
}

/// Adds the ICRC. The frame is built by `wire::frame`, not by the code that is tested.
pub fn sealed(mut payload: Vec<u8>, identification: u16) -> Owned {
    let datagram = Datagram {
        source_mac: [2; 6],
        destination_mac: [4; 6],
        source: SENDER,
        destination: RECEIVER,
        source_port: SOURCE_PORT,
        destination_port: wire::roce::UDP_PORT,
        dscp: 26,
        ecn: Ecn::Ect0,
        time_to_live: 64,
        identification,
    };
    let mut frame = datagram.frame(&[&*payload, &[0; 4]].concat(), 0, UdpChecksum::Zero).unwrap();
    let octets = frame.split_off(ETHERNET_OCTETS);
    payload.extend_from_slice(&icrc(&octets[..octets.len() - 4], 0).unwrap());
    let ip = IpFields {
        source_port: SOURCE_PORT,
        identification,
        dont_fragment: true,
        dscp: 26,
        ecn: Ecn::Ect0,
        hop_limit: 64,
    };
    Owned { addresses: addresses(), ip, payload }
}

/// A WRITE's middle packet; its octets and length depend on the number.
pub fn write(psn: Psn) -> Owned {
    let n = psn.value() as usize;
    let body: Vec<u8> = (0..16 + n * 13 % usize::from(MTU)).map(|o| ((o * 7 + n * 3) % 256) as u8).collect();
    packet(&Bth::new(Opcode::WRITE_MIDDLE, QP, psn), &body, (n % 65536) as u16)
}

pub fn read_request(psn: Psn, responses: u32) -> Owned {
    let reth = Reth { dma_length: responses * u32::from(MTU), ..Reth::default() };
    packet(&Bth::new(Opcode::READ_REQUEST, QP, psn), &reth.to_octets(), (psn.value() % 65536) as u16)
}

/// An acknowledgement of `psn`, as it comes back.
pub fn ack(psn: Psn) -> Owned {
    let mut owned = packet(
        &Bth::new(Opcode::ACKNOWLEDGE, SENDER_QP, psn),
        &Aeth { syndrome: Syndrome::Ack { credit: 31 }, msn: 1 }.to_octets(),
        0,
    );
    owned.addresses = FlowAddresses::V4 { source: RECEIVER, destination: SENDER };
    owned
}

/// Part of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// RDMA packets.
    Source,
    /// CREM messages of the sender function.
    Forth,
    /// CREM messages of the receiver function.
    Back,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    /// So many nanoseconds later than the others.
    Late(u64),
    /// A second time after so many nanoseconds.
    Twice(u64),
    Lost,
    /// With CE.
    Marked,
}

enum Event {
    Leaves(Owned),
    Arrives(Owned),
    Forth(Vec<u8>, Ecn),
    Back(Vec<u8>),
    Acknowledges(Owned),
}

#[derive(Default)]
struct Out {
    datagrams: Vec<(SocketAddr, Vec<u8>)>,
    delivered: Vec<Owned>,
}

impl Transmit for Out {
    fn transmit(&mut self, _: &FlowKey, to: SocketAddr, octets: &[u8]) {
        self.datagrams.push((to, octets.to_vec()));
    }
}

impl Deliver for Out {
    fn deliver(&mut self, packet: &Packet<'_>) {
        self.delivered.push(Owned::of(packet));
    }
}

/// A message and its header, as seen on the path.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: u64,
    pub leg: Leg,
    pub octets: Vec<u8>,
}

impl Seen {
    pub fn message(&self) -> (Header, Message<'_>) {
        decode(&self.octets).unwrap()
    }
}

type Channel = Box<dyn FnMut(Leg, &[u8]) -> Fate>;

pub struct World {
    pub csf: Csf,
    pub crf: Crf,
    pub now: u64,
    /// What the RDMA receiver got, in its order.
    pub received: Vec<Owned>,
    /// All CREM messages that were sent, lost ones too.
    pub seen: Vec<Seen>,
    /// Whether everything that arrives in order is acknowledged.
    pub acknowledge: bool,
    next_expected: Psn,
    events: BTreeMap<(u64, u64), Event>,
    order: u64,
    channel: Channel,
}

pub fn csf_config() -> CsfConfig {
    CsfConfig { window: 4096, ..CsfConfig::new(PORT, MTU) }
}

pub fn crf_config(order: Order) -> CrfConfig {
    CrfConfig { max_t: 512, ..CrfConfig::new(PORT, order) }
}

impl World {
    pub fn new(csf: CsfConfig, crf: CrfConfig, channel: impl FnMut(Leg, &[u8]) -> Fate + 'static) -> Self {
        Self {
            csf: Csf::new(csf, [1; 32]),
            crf: Crf::new(crf, [2; 32]),
            now: 0,
            received: Vec::new(),
            seen: Vec::new(),
            acknowledge: false,
            next_expected: Psn::new(0),
            events: BTreeMap::new(),
            order: 0,
            channel: Box::new(channel),
        }
    }

    /// A world with a flow set up, whose next PSN is `first`: a packet before it starts the exchange.
    pub fn established(
        csf: CsfConfig,
        crf: CrfConfig,
        first: Psn,
        channel: impl FnMut(Leg, &[u8]) -> Fate + 'static,
    ) -> Self {
        let mut world = Self::new(csf, crf, |_, _| Fate::Arrives);
        world.send(write(first.plus(0x00ff_ffff)));
        world.run_for(10 * DELAY);
        assert!(world.csf.flow(key(), world.time()).unwrap().established);
        world.received.clear();
        world.next_expected = first;
        world.channel = Box::new(channel);
        world
    }

    pub fn time(&self) -> Nanos {
        Nanos(self.now)
    }

    pub fn set_channel(&mut self, channel: impl FnMut(Leg, &[u8]) -> Fate + 'static) {
        self.channel = Box::new(channel);
    }

    fn schedule(&mut self, at: u64, event: Event) {
        self.order += 1;
        self.events.insert((at, self.order), event);
    }

    /// The sender's interface sends a packet now.
    pub fn send(&mut self, packet: Owned) {
        self.send_at(self.now, packet);
    }

    pub fn send_at(&mut self, at: u64, packet: Owned) {
        self.schedule(at, Event::Leaves(packet));
    }

    /// A burst of `count` WRITE packets; returns when it ends.
    pub fn burst(&mut self, first: Psn, count: u32) -> u64 {
        for n in 0..count {
            self.send_at(self.now + u64::from(n) * GAP, write(first.plus(n)));
        }
        self.now + u64::from(count) * GAP
    }

    /// A CREM message arrives at the sender function, wherever it is from.
    pub fn inject_back(&mut self, from: SocketAddr, octets: &[u8]) {
        let mut out = Out::default();
        self.csf.datagram(from, octets, Nanos(self.now), &mut out);
        self.take(out, true);
    }

    /// A CREM message arrives at the receiver function, wherever it is from.
    pub fn inject_forth(&mut self, from: SocketAddr, octets: &[u8]) {
        let mut out = Out::default();
        self.crf.datagram(from, octets, Ecn::Ect0, Nanos(self.now), &mut out);
        self.take(out, false);
    }

    pub fn run_for(&mut self, nanos: u64) {
        self.run_until(self.now + nanos);
    }

    /// Until then, everything that is due.
    pub fn run_until(&mut self, end: u64) {
        let mut steps = 0u64;
        loop {
            let event = self.events.first_key_value().map(|(&(at, _), _)| at);
            let csf = self.csf.next_timeout().map(|at| at.0);
            let crf = self.crf.next_timeout().map(|at| at.0);
            let Some(at) = [event, csf, crf].into_iter().flatten().min().filter(|at| *at <= end) else {
                break;
            };
            steps += 1;
            assert!(steps < 10_000_000, "time stands still at {}", self.now);
            self.now = self.now.max(at);
            if event == Some(at) {
                let (_, event) = self.events.pop_first().unwrap();
                self.handle(event);
            } else {
                let mut out = Out::default();
                let sender = csf == Some(at);
                if sender {
                    self.csf.timeout(Nanos(self.now), &mut out);
                } else {
                    self.crf.timeout(Nanos(self.now), &mut out);
                }
                self.take(out, sender);
            }
        }
        self.now = end;
    }

    fn handle(&mut self, event: Event) {
        let now = Nanos(self.now);
        let mut out = Out::default();
        match event {
            Event::Leaves(packet) => {
                self.csf.source(&packet.packet(), now, &mut out);
                self.cross(Leg::Source, packet.payload.clone(), |payload, ecn| {
                    Event::Arrives(Owned { payload, ip: IpFields { ecn, ..packet.ip }, ..packet.clone() })
                });
                self.take(out, true);
            }
            Event::Arrives(packet) => {
                let verdict = self.crf.source(&packet.packet(), now, &mut out);
                if verdict == Verdict::Pass {
                    self.deliver(packet);
                }
                self.take(out, false);
            }
            Event::Forth(octets, ecn) => {
                self.crf.datagram(csf_address(), &octets, ecn, now, &mut out);
                self.take(out, false);
            }
            Event::Back(octets) => {
                self.csf.datagram(crf_address(), &octets, now, &mut out);
                self.take(out, true);
            }
            Event::Acknowledges(packet) => self.csf.reverse(&packet.packet(), now),
        }
    }

    fn deliver(&mut self, packet: Owned) {
        if self.acknowledge && packet.psn() == self.next_expected {
            self.schedule(self.now + DELAY, Event::Acknowledges(ack(self.next_expected)));
            self.next_expected = self.next_expected.plus(1);
        }
        self.received.push(packet);
    }

    fn take(&mut self, out: Out, sender: bool) {
        for packet in out.delivered {
            self.deliver(packet);
        }
        for (to, octets) in out.datagrams {
            let (leg, expected) =
                if sender { (Leg::Forth, crf_address()) } else { (Leg::Back, csf_address()) };
            assert_eq!(to, expected);
            self.seen.push(Seen { at: self.now, leg, octets: octets.clone() });
            self.cross(
                leg,
                octets,
                |octets, ecn| {
                    if sender { Event::Forth(octets, ecn) } else { Event::Back(octets) }
                },
            );
        }
    }

    fn cross(&mut self, leg: Leg, octets: Vec<u8>, event: impl Fn(Vec<u8>, Ecn) -> Event) {
        let at = self.now + DELAY;
        match (self.channel)(leg, &octets) {
            Fate::Arrives => self.schedule(at, event(octets, Ecn::Ect0)),
            Fate::Late(by) => self.schedule(at + by, event(octets, Ecn::Ect0)),
            Fate::Twice(after) => {
                self.schedule(at, event(octets.clone(), Ecn::Ect0));
                self.schedule(at + after, event(octets, Ecn::Ect0));
            }
            Fate::Lost => {}
            Fate::Marked => self.schedule(at, event(octets, Ecn::Ce)),
        }
    }

    /// PSNs in the order of delivery.
    pub fn order(&self) -> Vec<u32> {
        self.received.iter().map(|packet| packet.psn().value()).collect()
    }

    /// Whether the packets are those that were sent, octet for octet.
    pub fn assert_intact(&self) {
        for packet in &self.received {
            let sent = write(packet.psn());
            assert_eq!(packet.payload, sent.payload, "PSN {}", packet.psn());
            assert_eq!(packet.ip, IpFields { ecn: packet.ip.ecn, ..sent.ip }, "PSN {}", packet.psn());
        }
    }

    /// The CREM messages of one kind that were sent.
    pub fn messages<'a, R>(&'a self, pick: impl Fn(&Header, &Message<'a>) -> Option<R>) -> Vec<R> {
        self.seen
            .iter()
            .filter_map(|seen| {
                let (header, message) = seen.message();
                pick(&header, &message)
            })
            .collect()
    }
}

/// A channel that loses the source packets with these PSNs, the first time.
pub fn losing(psns: impl IntoIterator<Item = u32>) -> impl FnMut(Leg, &[u8]) -> Fate + 'static {
    let mut left: std::collections::BTreeSet<u32> = psns.into_iter().collect();
    move |leg, octets| {
        let lost = leg == Leg::Source && left.remove(&Bth::decode(octets).unwrap().psn.value());
        if lost { Fate::Lost } else { Fate::Arrives }
    }
}
