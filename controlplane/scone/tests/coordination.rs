//! SCONE, Sender-Side Rate Coordination: advice beside DCQCN on a real endpoint, and Solution 2 from end to end.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use core::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use roce::{Carried, Endpoint, Operation, QpConfig, RemoteMemory, TxContent, TxPacket, WorkRequest, dcqcn};
use scone::bound::Approach;
use scone::receiver::{Carrier, FeedbackForm, Receiver, ReceiverConfig, ReceiverQp};
use scone::sender::{Sender, SenderConfig, SenderQp};
use wire::roce::{BTH_OCTETS, Bth, Headers, HeadersOctets, Opcode, Psn};
use wire::scone::{Feedback, RateAdvice, RateSignal, ack_code};
use wire::units::{BitPerSec, MbitPerSec, Nanos};

const SWITCH: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 255, 0, 1));
const A: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const B: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const LINE: BitPerSec = BitPerSec(100_000_000_000);
const QP: u32 = 0x11;
const TYPE: u8 = 0xe5;
const US: u64 = 1000;

fn endpoint(local_qp: u32, remote_qp: u32, remote: IpAddr, probe: Option<u32>) -> Endpoint {
    let signal = |rate| RateSignal { extension_type: TYPE, rate: MbitPerSec(rate) };
    let config = QpConfig {
        mtu: 1024,
        dcqcn: Some(dcqcn::Config::new(LINE)),
        rate_signal: probe.map(signal),
        ..QpConfig::new(local_qp, remote_qp, remote)
    };
    let mut endpoint = Endpoint::new();
    endpoint.create_qp(config).unwrap();
    endpoint
}

fn sender(approach: Approach) -> Sender {
    let config = SenderConfig {
        elements: [SWITCH].into(),
        addresses: [A].into(),
        extension_type: Some(TYPE),
        approach,
        ..SenderConfig::new(LINE)
    };
    let mut sender = Sender::new(config).unwrap();
    sender.add_qp(SenderQp { qp: QP, local: A, peer: B }, Nanos(0));
    sender
}

fn notify(endpoint: &mut Endpoint, now: u64) {
    let cnp = HeadersOctets::cnp(&Bth::new(Opcode::CNP, QP, Psn::new(0)));
    endpoint.handle_packet(B, &cnp, cnp.len() + 4, false, Nanos(now)).unwrap();
}

/// As a driver does after every event: demand there, bounds here.
fn coordinate(sender: &mut Sender, endpoint: &mut Endpoint, now: u64) {
    let demand = if endpoint.is_active(QP) { endpoint.dcqcn_rate(QP, Nanos(now)).unwrap() } else { None };
    sender.set_demand(QP, demand.unwrap_or_default(), Nanos(now));
    sender.handle_timeout(Nanos(now));
    while let Some(qp) = sender.poll_change() {
        endpoint.set_bound(qp, sender.bound(qp, Nanos(now))).unwrap();
    }
}

//~ SCONE, Deployment within Intelligent Computing Data Centers: 92548bab
#[test]
fn a_cnp_acts_at_once_and_advice_in_steps() {
    let mut endpoint = endpoint(QP, 0x22, B, None);
    let mut sender = sender(Approach::default());
    endpoint.post(QP, 1, 1 << 20, 0, Nanos(0)).unwrap();
    coordinate(&mut sender, &mut endpoint, 0);
    let advice = RateAdvice { rate: MbitPerSec(20_000), source: A }.to_octets();
    sender.handle_datagram(SWITCH, &advice, Nanos(0)).unwrap();
    let gbit = |endpoint: &mut Endpoint, sender: &mut Sender, now| {
        coordinate(sender, endpoint, now);
        endpoint.rate(QP, Nanos(now)).unwrap().unwrap().0 / 1_000_000_000
    };
    // Half of the gap a step, the first one at once.
    let rates: Vec<_> = [0, 49, 50, 100].map(|us| gbit(&mut endpoint, &mut sender, us * US)).into();
    assert_eq!(rates, [60, 60, 40, 30]);
    // Two CNPs: DCQCN is at 25 then, below the bound, and applies; when it has recovered, the bound does.
    notify(&mut endpoint, 110 * US);
    assert_eq!(gbit(&mut endpoint, &mut sender, 110 * US), 30, "50 from DCQCN");
    notify(&mut endpoint, 111 * US);
    assert_eq!(gbit(&mut endpoint, &mut sender, 111 * US), 25);
    assert_eq!(gbit(&mut endpoint, &mut sender, 600 * US), 20);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn advice_never_raises_a_rate_and_never_holds_it_under_the_floor_beyond_its_time(
        events in prop::collection::vec((0u64..150, 0u8..7, 0u32..120_000, any::<bool>()), 1..80),
        step_percent in 1u8..=100, release_percent in prop::option::of(1u8..50),
    ) {
        let approach = Approach { step_percent, release_percent, ..Approach::default() };
        let (mut advised, mut alone) = (endpoint(QP, 0x22, B, None), endpoint(QP, 0x22, B, None));
        let mut sender = sender(approach);
        let floor = BitPerSec::from(MbitPerSec(10));
        let minimum = dcqcn::Config::new(LINE).minimum_rate;
        let (mut now, mut last) = (0, 0);
        for endpoint in [&mut advised, &mut alone] {
            endpoint.post(QP, 1, 1 << 20, 0, Nanos(0)).unwrap();
        }
        let check = |sender: &mut Sender, advised: &mut Endpoint, alone: &mut Endpoint, now| {
            coordinate(sender, advised, now);
            let rate = advised.rate(QP, Nanos(now)).unwrap().unwrap();
            let without = alone.rate(QP, Nanos(now)).unwrap().unwrap();
            let bound = sender.bound(QP, Nanos(now));
            prop_assert_eq!(rate, bound.map_or(without, |bound| bound.min(without)));
            prop_assert!(rate >= floor.min(minimum));
            Ok(())
        };
        for (after, what, rate, trusted) in events {
            now += after * US;
            match what {
                0 => {
                    notify(&mut advised, now);
                    notify(&mut alone, now);
                }
                1 | 2 => {
                    let octets = RateAdvice { rate: MbitPerSec(rate), source: A }.to_octets();
                    let from = if trusted { SWITCH } else { B };
                    if sender.handle_datagram(from, &octets, Nanos(now)).is_ok() {
                        last = now;
                    }
                }
                // Feedback in its three forms; a CNP is a notification besides.
                3..=5 => {
                    let from = if trusted { B } else { SWITCH };
                    let signal = RateSignal { extension_type: TYPE, rate: MbitPerSec(rate) };
                    let taken = if what == 3 {
                        let octets = Feedback { signal, destination_qp: QP }.to_octets();
                        sender.handle_datagram(from, &octets, Nanos(now)).is_ok()
                    } else {
                        let mut bth = Bth::new(Opcode::ACKNOWLEDGE, QP, Psn::new(0));
                        bth.reserved6 = ack_code::encode(signal.rate);
                        if what == 4 {
                            bth = Bth::new(Opcode::CNP, QP, Psn::new(0));
                            notify(&mut advised, now);
                            notify(&mut alone, now);
                        }
                        let head = [&bth.to_octets()[..], &signal.to_cnp()].concat();
                        sender.handle_packet(from, &head, Nanos(now)).is_ok_and(|taken| taken.is_some())
                    };
                    prop_assert!(trusted || !taken);
                    if taken {
                        last = now;
                    }
                }
                _ => {}
            }
            check(&mut sender, &mut advised, &mut alone, now)?;
        }
        // After its time nothing is left of it: what is sent is what would be without.
        let end = (last + approach.longest(floor, LINE).0).max(now);
        while let Some(at) = sender.poll_timeout().filter(|at| at.0 <= end) {
            check(&mut sender, &mut advised, &mut alone, at.0)?;
        }
        check(&mut sender, &mut advised, &mut alone, end)?;
        prop_assert_eq!(advised.rate(QP, Nanos(end)), alone.rate(QP, Nanos(end)));
    }
}

/// What a switch does to a data packet whose queue is congested: lowers a rate that is set, sets one that is 0.
fn congested(packet: &mut TxPacket, rate: u32) {
    let (headers, _) = Headers::decode(&packet.head).unwrap();
    if let Some(signal) = headers.rate_signal {
        let lowered = if signal.rate.0 == 0 { rate } else { signal.rate.0.min(rate) };
        packet.head[BTH_OCTETS + 2..BTH_OCTETS + 6].copy_from_slice(&lowered.to_be_bytes());
    }
}

//~ SCONE, Feedback Loop: 3cd4917d 5bb82472
//~ SCONE, Solution 2: Per-QP On-Path Endpoint Feedback: c62c7042 5bc3a3c9
//~ SCONE, Rate Signal Bearer: 70564ad7
#[test]
fn a_switchs_rate_comes_back_to_the_senders_queue_pair_in_every_form_and_for_every_verb() {
    for form in [FeedbackForm::Dedicated, FeedbackForm::Cnp, FeedbackForm::Ack] {
        for (probe, read) in [(0, false), (100_000, false), (0, true)] {
            // A has the queue pair 0x11, B 0x22. Data flows to B, or by a READ of A's from B to A.
            let mut ends = [endpoint(QP, 0x22, B, Some(probe)), endpoint(0x22, QP, A, Some(probe))];
            let (data, acks) = if read { (1, 0) } else { (0, 1) };
            let mut sender = if read {
                let config = SenderConfig { extension_type: Some(TYPE), ..SenderConfig::new(LINE) };
                let mut sender = Sender::new(config).unwrap();
                sender.add_qp(SenderQp { qp: 0x22, local: B, peer: A }, Nanos(0));
                sender
            } else {
                sender(Approach::default())
            };
            let mut receiver = Receiver::new(ReceiverConfig::new(TYPE, 50_003, form)).unwrap();
            let (peer, peer_qp) = if read { (B, 0x22) } else { (A, QP) };
            receiver.add_qp(ReceiverQp { qp: if read { QP } else { 0x22 }, peer, peer_qp });
            let memory = RemoteMemory::default();
            let operation = if read {
                Operation::Read { from: memory }
            } else {
                Operation::Write { to: memory, immediate: None }
            };
            let work = WorkRequest { wr_id: 0, operation, octets: 8192, dscp: 0 };
            ends[0].submit(QP, work, Nanos(0)).unwrap();
            let (mut signals, mut advised) = (0, Vec::new());
            for tick in 0..200 {
                let now = Nanos(tick * US);
                for from in 0..2 {
                    let Some(mut packet) = ends[from].poll_transmit(now) else { continue };
                    let (source, to) = ([A, B][from], 1 - from);
                    if from == data {
                        congested(&mut packet, 25_000);
                    } else {
                        receiver.attach(packet.qp, &mut packet.head, now);
                        advised.extend(sender.handle_packet(source, &packet.head, now).unwrap());
                    }
                    let marked =
                        matches!(packet.content, TxContent::Data { .. } | TxContent::ReadResponse { .. });
                    let octets = packet.udp_payload_octets();
                    ends[to].handle_packet(source, &packet.head, octets, marked, now).unwrap();
                    while let Some(received) = ends[to].poll_receive() {
                        let signal = received.rate_signal.unwrap().unwrap();
                        signals += 1;
                        let carrier = match received.carried {
                            Carried::ReadResponse { .. } => Carrier::ReadResponse,
                            _ => Carrier::Request,
                        };
                        receiver.record(received.qp, received.from, signal, carrier, now).unwrap();
                    }
                }
                while let Some(datagram) = receiver.poll_transmit(now) {
                    advised.push(sender.handle_datagram([A, B][acks], &datagram.octets, now).unwrap());
                }
            }
            assert_eq!(signals, 8, "every data packet carries one");
            // An acknowledgement's code rounds down.
            let expected = if form == FeedbackForm::Ack && !read { 21_544 } else { 25_000 };
            assert!(!advised.is_empty(), "{form:?} {read}");
            assert!(advised.iter().all(|advised| advised.rate == MbitPerSec(expected)), "{advised:?}");
            let done = ends[0].poll_completion().unwrap();
            assert_eq!(done.status.name(), "IBV_WC_SUCCESS");
        }
    }
}
