//! Two gateways and a lossy path between them, in virtual time: what comes out inside is what went in, octet by octet.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use agent::crem::{Shim, ShimConfig, Side};
use crem::crf::{CrfConfig, Order};
use crem::csf::CsfConfig;
use etherparse::PacketBuilder;
use wire::crem::{
    Cause, Flags, FlowId, Header, HopEntry, Message, MessageType, Method, PathReport, RawHeader,
};
use wire::roce::{Aeth, Bth, Opcode, Psn, Syndrome, UDP_PORT, icrc};
use wire::units::Nanos;

const PORT: u16 = 52_101;
const QP: u32 = 0x1234;
const SENDER_QP: u32 = 0x77;
const MTU: u16 = 1024;
/// One way.
const DELAY: u64 = 500_000;

#[derive(Clone, Copy, PartialEq)]
enum Family {
    V4,
    V6,
}

impl Family {
    fn hosts(self) -> [IpAddr; 2] {
        match self {
            Self::V4 => [Ipv4Addr::new(10, 1, 0, 1).into(), Ipv4Addr::new(10, 2, 0, 2).into()],
            Self::V6 => [1, 2].map(|host| Ipv6Addr::new(0xfd00, host, 0, 0, 0, 0, 0, host).into()),
        }
    }
}

/// A frame from host to host, with a VLAN tag if wanted; the ICRC is right.
fn frame(family: Family, back: bool, bth: &Bth, body: &[u8], identification: u16, vlan: bool) -> Vec<u8> {
    let mut payload = bth.to_octets().to_vec();
    payload.extend_from_slice(body);
    payload.extend_from_slice(&[0; 4]);
    let mut out = datagram(family, back, 49_300, UDP_PORT, &payload, identification, vlan);
    let ip = if vlan { 18 } else { 14 };
    let end = out.len() - 4;
    let crc = icrc(&out[ip..end], 0).unwrap();
    out[end..].copy_from_slice(&crc);
    out
}

/// A datagram; its UDP checksum is zero to the `RoCEv2` port and right elsewhere.
fn datagram(
    family: Family,
    back: bool,
    from: u16,
    to: u16,
    payload: &[u8],
    identification: u16,
    vlan: bool,
) -> Vec<u8> {
    let (mut macs, mut hosts) = ([[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]], family.hosts());
    if back {
        macs.reverse();
        hosts.reverse();
    }
    let mut out = Vec::new();
    match hosts {
        [IpAddr::V4(source), IpAddr::V4(destination)] => {
            let mut header = etherparse::Ipv4Header {
                identification,
                dont_fragment: true,
                time_to_live: 61,
                protocol: etherparse::IpNumber::UDP,
                source: source.octets(),
                destination: destination.octets(),
                ..etherparse::Ipv4Header::default()
            };
            header.ecn = etherparse::IpEcn::Ect0;
            let ip = etherparse::IpHeaders::Ipv4(header, etherparse::Ipv4Extensions::default());
            let ethernet = PacketBuilder::ethernet2(macs[0], macs[1]);
            let builder = if vlan {
                ethernet.single_vlan(5.try_into().unwrap()).ip(ip).udp(from, to)
            } else {
                ethernet.ip(ip).udp(from, to)
            };
            builder.write(&mut out, payload).unwrap();
        }
        [IpAddr::V6(source), IpAddr::V6(destination)] => {
            let header = etherparse::Ipv6Header {
                traffic_class: 0x6a,
                flow_label: 0xabcde.try_into().unwrap(),
                next_header: etherparse::IpNumber::UDP,
                hop_limit: 61,
                source: source.octets(),
                destination: destination.octets(),
                ..etherparse::Ipv6Header::default()
            };
            let ip = etherparse::IpHeaders::Ipv6(header, etherparse::Ipv6Extensions::default());
            PacketBuilder::ethernet2(macs[0], macs[1]).ip(ip).udp(from, to).write(&mut out, payload).unwrap();
        }
        _ => unreachable!(),
    }
    if to == UDP_PORT {
        let at = out.len() - payload.len() - 2;
        out[at..at + 2].fill(0);
    }
    out
}

fn config(order: Order) -> ShimConfig {
    let mut csf = CsfConfig::new(PORT, MTU);
    csf.prior_loss = 0.02;
    csf.reporters = vec![Family::V4.hosts()[1]];
    let crf = CrfConfig::new(PORT, order);
    ShimConfig { csf, crf, addresses: Vec::new(), dscp: 48 }
}

/// Two gateways; on the way from the first to the second frames may be lost.
struct World {
    near: Shim,
    far: Shim,
    now: u64,
    /// (due, goes to the far gateway, frame).
    way: Vec<(u64, bool, Vec<u8>)>,
    /// What hosts behind the far gateway, and before the near one, got.
    received: Vec<Vec<u8>>,
    returned: Vec<Vec<u8>>,
    /// CREM messages seen on the way, by type.
    seen: BTreeSet<u8>,
}

impl World {
    fn new(order: Order) -> Self {
        Self {
            near: Shim::new(config(order), [[1; 32], [2; 32]]),
            far: Shim::new(config(order), [[3; 32], [4; 32]]),
            now: 1,
            way: Vec::new(),
            received: Vec::new(),
            returned: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    fn collect(&mut self, lost: bool) {
        while let Some(frame) = self.near.poll_frame(Side::Outside) {
            let message = is_message(&frame);
            self.seen.extend(message);
            if !(lost && message.is_none()) {
                self.way.push((self.now + DELAY, true, frame));
            }
        }
        while let Some(frame) = self.far.poll_frame(Side::Outside) {
            self.seen.extend(is_message(&frame));
            self.way.push((self.now + DELAY, false, frame));
        }
        self.received.extend(std::iter::from_fn(|| self.far.poll_frame(Side::Inside)));
        self.returned.extend(std::iter::from_fn(|| self.near.poll_frame(Side::Inside)));
    }

    /// Goes on until `until`.
    fn run(&mut self, until: u64) {
        loop {
            let arrival = self.way.iter().map(|(due, ..)| *due).min();
            let timers =
                [self.near.next_timeout(), self.far.next_timeout()].into_iter().flatten().map(|at| at.0);
            let Some(next) = timers.chain(arrival).min().filter(|next| *next <= until) else { break };
            self.now = self.now.max(next);
            let (due, later): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.way).into_iter().partition(|(due, ..)| *due <= self.now);
            self.way = later;
            for (_, to_far, frame) in due {
                let shim = if to_far { &mut self.far } else { &mut self.near };
                shim.frame(Side::Outside, frame, Nanos(self.now));
            }
            self.near.timeout(Nanos(self.now));
            self.far.timeout(Nanos(self.now));
            self.collect(false);
        }
        self.now = until;
    }

    fn send(&mut self, frame: Vec<u8>, lost: bool) {
        self.near.frame(Side::Inside, frame, Nanos(self.now));
        self.collect(lost);
    }
}

/// The type of a CREM message.
fn is_message(frame: &[u8]) -> Option<u8> {
    let seen = agent::crem::frame::Seen::of(frame)?;
    (seen.destination_port == PORT).then(|| RawHeader::decode(seen.payload).unwrap().message_type.0)
}

/// Sends packets with losses every so many once the flow is set up; gives what was sent and how many were lost.
fn transfer(world: &mut World, family: Family, vlan: bool, counting: bool) -> (Vec<Vec<u8>>, u64) {
    let (mut sent, mut lost) = (Vec::new(), 0);
    for psn in 0..2000u32 {
        let body: Vec<u8> =
            (0..MTU).map(|octet| u8::try_from((u32::from(octet) * 7 + psn * 13) % 251).unwrap()).collect();
        let bth = Bth::new(Opcode::SEND_ONLY, QP, Psn::new(psn));
        let identification = if counting { u16::try_from(psn & 0xffff).unwrap() } else { 7 };
        let frame = frame(family, false, &bth, &body, identification, vlan);
        let drop = psn > 600 && psn < 1900 && (psn % 40 == 0 || psn % 40 == 1);
        lost += u64::from(drop);
        world.send(frame.clone(), drop);
        sent.push(frame);
        let next = world.now + 10_000;
        world.run(next);
    }
    let end = world.now + 50_000_000;
    world.run(end);
    (sent, lost)
}

fn all_is_restored(family: Family, order: Order, vlan: bool, counting: bool) {
    let mut world = World::new(order);
    let (sent, lost) = transfer(&mut world, family, vlan, counting);
    assert!(lost > 60);
    let stats = *world.far.receiver();
    assert_eq!((stats.restored, stats.invalid), (lost, 0), "{stats:?} {:?}", world.near.sender());
    assert_eq!(world.received.len(), sent.len());
    if order == Order::Hold {
        assert!(world.received == sent, "in order, and unchanged");
    } else {
        let (received, sent) =
            (world.received.iter().collect::<BTreeSet<_>>(), sent.iter().collect::<BTreeSet<_>>());
        assert!(received == sent, "unchanged");
    }
    assert_eq!(world.far.stats().unsent + world.near.stats().unsent, 0);
}

#[test]
fn ipv4_packets_are_restored_in_order() {
    all_is_restored(Family::V4, Order::Hold, false, false);
}

#[test]
fn ipv4_packets_with_vlan_tags_and_counted_identifications_are_restored() {
    all_is_restored(Family::V4, Order::Hold, true, true);
}

#[test]
fn ipv6_packets_are_restored_in_order() {
    all_is_restored(Family::V6, Order::Hold, false, false);
}

#[test]
fn ipv6_packets_are_restored_in_any_order() {
    all_is_restored(Family::V6, Order::Pass, false, false);
}

/// What isn't `RoCEv2` goes on as it came, both ways, whatever it is.
#[test]
fn other_frames_pass_unchanged() {
    let mut shim = Shim::new(config(Order::Hold), [[1; 32], [2; 32]]);
    let tcp_like = datagram(Family::V4, false, 1000, 80, b"hello", 3, false);
    let mut fragment =
        frame(Family::V4, false, &Bth::new(Opcode::SEND_ONLY, 1, Psn::new(1)), &[0; 32], 1, false);
    fragment[20] = 0x20;
    let mut random = 0x1234_5678_9abc_def1u64;
    let mut frames = vec![Vec::new(), vec![0; 5], vec![0xff; 14], tcp_like, fragment];
    // Frames of RoCEv2 and CREM, cut off anywhere: no whole datagram is in them.
    let whole = frame(Family::V4, false, &Bth::new(Opcode::SEND_ONLY, 1, Psn::new(1)), &[0; 32], 1, true);
    frames.extend((0..whole.len() - 1).map(|length| whole[..length].to_vec()));
    for length in 0..400usize {
        frames.push(
            (0..length)
                .map(|_| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    random.to_be_bytes()[0]
                })
                .collect(),
        );
    }
    for from in [Side::Inside, Side::Outside] {
        for frame in &frames {
            shim.frame(from, frame.clone(), Nanos(1));
            let to = if from == Side::Inside { Side::Outside } else { Side::Inside };
            assert_eq!(shim.poll_frame(to).as_ref(), Some(frame), "{frame:02x?}");
            assert_eq!((shim.poll_frame(Side::Inside), shim.poll_frame(Side::Outside)), (None, None));
        }
    }
    assert_eq!(shim.sender().sources + shim.receiver().sources, 0);
}

/// Only hosts that are served are protected, and only messages to them are taken.
#[test]
fn hosts_that_are_not_served_are_left_alone() {
    let mut config = config(Order::Hold);
    config.csf.serves = vec!["10.9.0.0/16".parse().unwrap()];
    let mut shim = Shim::new(config, [[1; 32], [2; 32]]);
    let packet = frame(Family::V4, false, &Bth::new(Opcode::SEND_ONLY, QP, Psn::new(1)), &[0; 64], 1, false);
    let message = datagram(Family::V4, true, PORT, PORT, &[0x19; 12], 0, false);
    shim.frame(Side::Inside, packet.clone(), Nanos(1));
    shim.frame(Side::Outside, message.clone(), Nanos(1));
    assert_eq!(
        (shim.poll_frame(Side::Outside), shim.poll_frame(Side::Inside)),
        (Some(packet), Some(message))
    );
    assert_eq!((shim.stats().packets, shim.stats().messages), ([0, 0], 0));
}

/// Whatever comes to the CREM port from outside: counted, answered at most once each, and the flow goes on.
#[test]
fn a_flood_of_hostile_messages_changes_nothing() {
    let mut world = World::new(Order::Hold);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    for round in 0..4000u64 {
        let kind = u8::try_from(next() % 16).unwrap();
        let length = usize::try_from(next() % 90).unwrap();
        let mut message: Vec<u8> = (0..length).map(|_| u8::try_from(next() & 0xff).unwrap()).collect();
        if let Some(first) = message.first_mut() {
            *first = 0x10 | kind;
        }
        if round % 2 == 0 && length >= 8 {
            message[2..4].copy_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
        }
        let mut hostile = datagram(Family::V4, false, PORT, PORT, &message, 0, false);
        if round % 5 == 0 {
            let last = hostile.len() - 1;
            hostile[last] ^= 1;
        }
        world.far.frame(Side::Outside, hostile, Nanos(world.now));
        world.collect(false);
    }
    let stats = world.far.stats();
    let (sender, receiver) = (world.far.sender(), world.far.receiver());
    assert_eq!(stats.messages, 4000);
    assert!(stats.damaged > 0);
    let taken = stats.damaged
        + sender.malformed
        + sender.refused
        + sender.unknown_reporters
        + receiver.malformed
        + receiver.refused;
    assert!(taken + receiver.turned_away <= 4000 && taken > 3900, "{stats:?} {sender:?} {receiver:?}");
    assert!(stats.sent <= 100, "HELLOs with a right form are answered, nothing else: {stats:?}");
    let (sent, lost) = transfer(&mut world, Family::V4, false, false);
    assert!(world.received == sent, "{lost} lost");
}

/// Acknowledgements that pass release blocks, a report addressed to the source is taken, and ends are told.
#[test]
fn acknowledgements_reports_and_ends() {
    let mut world = World::new(Order::Hold);
    transfer(&mut world, Family::V4, false, false);
    for psn in (0..2000).step_by(50) {
        let ack = Aeth { syndrome: Syndrome::Ack { credit: Syndrome::NO_CREDIT_LIMIT }, msn: 1 };
        let bth = Bth::new(Opcode::ACKNOWLEDGE, SENDER_QP, Psn::new(psn));
        let frame = frame(Family::V4, true, &bth, &ack.to_octets(), 1, false);
        world.far.frame(Side::Inside, frame, Nanos(world.now));
        world.collect(false);
        let next = world.now + 1000;
        world.run(next);
    }
    let end = world.now + 2 * DELAY;
    world.run(end);
    assert_eq!(world.returned.len(), 40, "acknowledgements pass");
    let [source, destination] = Family::V4.hosts();
    let report = PathReport {
        method: Method::ALTERNATE_MARKING,
        flow: wire::crem::FlowAddresses::new(source, destination).unwrap(),
        flow_label: 0,
        entries: vec![HopEntry {
            node_id: 1,
            period: 1,
            lost: 1,
            delay_change: 0,
            cause: Cause::CONGESTION,
            psns: Vec::new(),
        }],
    };
    let header = Header { flags: Flags::NONE, flow_id: FlowId(0) };
    let octets = Message::PathReport(report).to_octets(&header);
    world.near.frame(
        Side::Outside,
        datagram(Family::V4, true, PORT, PORT, &octets, 0, false),
        Nanos(world.now),
    );
    assert_eq!(world.near.sender().path_reports, 1, "about all queue pairs of the two hosts");
    world.near.end(Nanos(world.now));
    world.collect(false);
    let end = world.now + 2 * DELAY;
    world.run(end);
    assert_eq!(world.far.held().0, 0, "the receiver function has heard of the end");
    for kind in [
        MessageType::HELLO,
        MessageType::HELLO_ACK,
        MessageType::REPAIR,
        MessageType::LOSS_REPORT,
        MessageType::CLOSE,
    ] {
        assert!(world.seen.contains(&kind.0), "{kind:?}");
    }
}
