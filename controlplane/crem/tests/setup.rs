//! Setting flows up, changing configurations, restarts, ends.
#![allow(
    clippy::manual_is_multiple_of,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "tests"
)]

mod world;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeSet;

use crem::FlowKey;
use crem::crf::{CrfConfig, Order};
use crem::csf::CsfConfig;
use wire::crem::{
    CloseReason, Flags, FlowId, FlowKind, Header, Hello, HelloAck, LossReport, Message, ParamAck,
    ParamStatus, ParamUpdate, Repair, Scheme, Schemes,
};
use wire::roce::Psn;
use wire::units::Micros;
use world::{
    DELAY, Fate, Leg, PORT, World, addresses, crf_address, crf_config, csf_address, csf_config, key, losing,
    write,
};

const FIRST: Psn = Psn::new(500);

fn hellos(world: &World) -> Vec<(u64, Hello)> {
    world
        .seen
        .iter()
        .filter_map(|seen| match seen.message().1 {
            Message::Hello(hello) => Some((seen.at, hello)),
            _ => None,
        })
        .collect()
}

fn updates(world: &World) -> Vec<(u64, ParamUpdate)> {
    world
        .seen
        .iter()
        .filter_map(|seen| match seen.message().1 {
            Message::ParamUpdate(update) => Some((seen.at, update)),
            _ => None,
        })
        .collect()
}

fn closes(world: &World) -> Vec<(Leg, CloseReason)> {
    world
        .seen
        .iter()
        .filter_map(|seen| match seen.message().1 {
            Message::Close(close) => Some((seen.leg, close.reason)),
            _ => None,
        })
        .collect()
}

//~ CREM, Flow Establishment: 48384437 3166f60f e523af6a a0d48d54
//~ CREM, Message Formats: 306e7445
//~ CREM, Configuration Changes: f4ca4432 765ba7e6
#[test]
fn hello_acknowledgement_and_first_configuration() {
    let csf = CsfConfig { k: 100, max_m: 9, symbol_octets: 600, ..csf_config() };
    let crf = CrfConfig { max_k: 40, max_m: 12, max_t: 512, max_open_blocks: 20, ..crf_config(Order::Hold) };
    let world = World::established(csf, crf, FIRST, losing([]));
    let hello = hellos(&world)[0].1;
    assert_eq!((hello.flow_kind, hello.flow, hello.flow_label), (FlowKind::ROCEV2, addresses(), world::QP));
    assert_eq!((hello.max_k, hello.max_m, hello.max_t, hello.rdma_mtu), (100, 9, 600, world::MTU));
    assert!(hello.schemes.contains(Scheme::CAUCHY));
    let ack: Vec<(FlowId, HelloAck)> = world.messages(|header, message| match message {
        Message::HelloAck(ack) => Some((header.flow_id, *ack)),
        _ => None,
    });
    let (flow_id, ack) = ack[0];
    assert_ne!(flow_id, FlowId(0));
    assert_eq!(
        (ack.nonce, ack.max_k, ack.max_m, ack.max_t, ack.max_open_blocks),
        (hello.nonce, 40, 12, 512, 20)
    );
    let (_, update) = updates(&world)[0];
    assert_eq!((update.scheme, update.k, update.t), (Scheme::CAUCHY, 40, 512), "the lesser of both limits");
    for seen in &world.seen {
        let (header, message) = seen.message();
        let expected = if matches!(message, Message::Hello(_)) { FlowId(0) } else { flow_id };
        assert_eq!(header.flow_id, expected);
    }
}

//~ CREM, Flow Establishment: 515340b8
#[test]
fn hello_is_repeated_eight_times_with_growing_waits() {
    let mut world = World::new(csf_config(), crf_config(Order::Hold), |leg, _| match leg {
        Leg::Source => Fate::Arrives,
        _ => Fate::Lost,
    });
    world.send(write(FIRST));
    world.run_for(1_000_000_000);
    let times: Vec<_> = hellos(&world).iter().map(|(at, _)| at / 1_000_000).collect();
    assert_eq!(times, [0, 1, 3, 7, 15, 31, 63, 127]);
    world.burst(FIRST.plus(1), 100);
    world.run_for(DELAY * 4);
    assert_eq!(world.csf.stats().protected, 0, "without an answer the flow is not protected");
    assert_eq!(world.received.len(), 101, "and passes");
    // Later it is tried again, with another nonce.
    world.set_channel(losing([]));
    world.run_for(CsfConfig::new(PORT, 256).retry.0);
    world.send(write(FIRST.plus(101)));
    world.run_for(DELAY * 4);
    let nonces: BTreeSet<_> = hellos(&world).iter().map(|(_, hello)| hello.nonce).collect();
    assert_eq!(nonces.len(), 2);
    assert!(world.csf.flow(key(), world.time()).unwrap().established);
}

//~ CREM, Flow Establishment: a9e02837
#[test]
fn flow_ids_are_random_and_unique() {
    let mut world = World::new(csf_config(), crf_config(Order::Hold), losing([]));
    for qp in 0..500u32 {
        world.inject_forth(csf_address(), &hello(qp, u64::from(qp) + 1));
    }
    let ids: Vec<_> =
        world.messages(|header, message| matches!(message, Message::HelloAck(_)).then_some(header.flow_id.0));
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 500);
    let ones: u32 = ids.iter().map(|id| id.count_ones()).sum();
    assert!((7500..8500).contains(&ones), "{ones} of 16,000 bits");
    assert!(ids.windows(2).filter(|pair| pair[0] < pair[1]).count() < 300, "not counted");
}

fn hello(qp: u32, nonce: u64) -> Vec<u8> {
    let hello = Hello {
        flow_kind: FlowKind::ROCEV2,
        schemes: Schemes(6),
        max_k: 32,
        max_m: 8,
        max_t: 512,
        rdma_mtu: 256,
        nonce,
        flow: addresses(),
        flow_label: qp,
    };
    Message::Hello(hello).to_octets(&Header::default())
}

fn acks(world: &World) -> Vec<ParamAck> {
    world.messages(|_, message| match message {
        Message::ParamAck(ack) => Some(*ack),
        _ => None,
    })
}

//~ CREM, Configuration Changes: ea1c9932
//~ CREM, Message Formats: 625fb5ce
#[test]
fn a_configuration_is_accepted_or_refused_with_the_reason() {
    let crf = CrfConfig { memory: 2 << 20, max_open_blocks: 32, ..crf_config(Order::Hold) };
    let mut world = World::new(csf_config(), crf, losing([]));
    world.inject_forth(csf_address(), &hello(1, 7));
    let flow_id = world.seen[0].message().0.flow_id;
    let good =
        ParamUpdate { config_id: 0, scheme: Scheme::CAUCHY, k: 32, m: 8, t: 512, effective_psn: FIRST };
    let cases = [
        (ParamUpdate { scheme: Scheme(3), ..good }, ParamStatus::UNSUPPORTED_SCHEME),
        (ParamUpdate { scheme: Scheme::SOURCE_COPY, ..good }, ParamStatus::UNSUPPORTED_SCHEME),
        (ParamUpdate { k: 0, ..good }, ParamStatus::LIMITS_EXCEEDED),
        (ParamUpdate { k: 33, ..good }, ParamStatus::LIMITS_EXCEEDED),
        (ParamUpdate { m: 9, ..good }, ParamStatus::LIMITS_EXCEEDED),
        (ParamUpdate { t: 513, ..good }, ParamStatus::LIMITS_EXCEEDED),
        (ParamUpdate { t: 17, ..good }, ParamStatus::LIMITS_EXCEEDED),
        (ParamUpdate { scheme: Scheme::XOR, m: 2, ..good }, ParamStatus::LIMITS_EXCEEDED),
        (ParamUpdate { scheme: Scheme::XOR, m: 1, ..good }, ParamStatus::ACCEPTED),
        (good, ParamStatus::ACCEPTED),
        (good, ParamStatus::ACCEPTED),
    ];
    for (n, (update, _)) in (0..).zip(cases) {
        // The last one repeats the one before.
        let update = ParamUpdate { config_id: n.min(9), ..update };
        let octets = Message::ParamUpdate(update).to_octets(&Header { flags: Flags::NONE, flow_id });
        world.inject_forth(csf_address(), &octets);
    }
    let found: Vec<_> = acks(&world).iter().map(|ack| (ack.config_id, ack.status)).collect();
    let expected: Vec<_> = (0..).zip(cases).map(|(n, (_, status))| (n.min(9), status)).collect();
    assert_eq!(found, expected);

    // Configurations that may still be used are kept, up to a bound.
    for n in 10..40 {
        let update = ParamUpdate { config_id: n, effective_psn: FIRST.plus(n.into()), ..good };
        let octets = Message::ParamUpdate(update).to_octets(&Header { flags: Flags::NONE, flow_id });
        world.inject_forth(csf_address(), &octets);
    }
    assert_eq!(acks(&world).last().unwrap().status, ParamStatus::RESOURCES_EXHAUSTED);
    // A second flow finds no memory.
    world.inject_forth(csf_address(), &hello(2, 8));
    let flow_id = world.seen.last().unwrap().message().0.flow_id;
    world.inject_forth(
        csf_address(),
        &Message::ParamUpdate(good).to_octets(&Header { flags: Flags::NONE, flow_id }),
    );
    assert_eq!(acks(&world).last().unwrap().status, ParamStatus::RESOURCES_EXHAUSTED);
    assert!(world.crf.memory() <= 2 << 20);
}

//~ CREM, Configuration Changes: 673c6fa3
#[test]
fn param_update_is_repeated_with_growing_waits_then_the_flow_is_closed() {
    let mut world = World::new(csf_config(), crf_config(Order::Hold), |leg, octets| {
        if leg == Leg::Back && octets[0] & 0xf == 5 { Fate::Lost } else { Fate::Arrives }
    });
    world.send(write(FIRST));
    world.run_for(3_000_000_000);
    let start = updates(&world)[0].0;
    let times: Vec<_> = updates(&world).iter().map(|(at, _)| (at - start) / 1_000_000).collect();
    assert_eq!(times, [0, 2, 6, 14, 30, 62, 126, 254], "twice the round trip of 1 ms at first");
    assert_eq!(closes(&world), [(Leg::Forth, CloseReason::NO_ANSWER)]);
    assert_eq!(world.crf.flows(), 0, "the receiver forgets the flow");
}

//~ CREM, Message Formats: 570c57df
#[test]
fn a_refused_configuration_leaves_the_current_one() {
    let mut world = World::established(csf_config(), crf_config(Order::Hold), FIRST, losing([]));
    let before = world.csf.flow(key(), world.time()).unwrap().block;
    let flow_id = world.seen[1].message().0.flow_id;
    let header = Header { flags: Flags::NONE, flow_id };
    world.set_channel(|leg, _| if leg == Leg::Forth { Fate::Lost } else { Fate::Arrives });
    world.burst(FIRST, 64);
    world.run_for(DELAY);
    // Loss makes it ask for more redundancy.
    let report =
        LossReport { interval: Micros(1000), expected: 1000, received: 990, ..LossReport::default() };
    world.inject_back(crf_address(), &Message::LossReport(report).to_octets(&header));
    let (_, update) = *updates(&world).last().unwrap();
    assert!(update.m > 0);
    let refusal = ParamAck { config_id: update.config_id, status: ParamStatus::RESOURCES_EXHAUSTED };
    world.inject_back(crf_address(), &Message::ParamAck(refusal).to_octets(&header));
    world.burst(FIRST.plus(64), 200);
    world.run_for(DELAY);
    assert_eq!(before, None, "nothing was sent before");
    assert_eq!(world.csf.flow(key(), world.time()).unwrap().block, Some((32, 0)));
    assert_eq!(world.csf.stats().ordinary, 0);
}

/// Blocks use a configuration only from its Effective PSN on and after its acknowledgement; a late acknowledgement leads to a
/// later Effective PSN.
//~ CREM, Configuration Changes: c65c22fb 3fd98f11 c3c03329
//~ CREM, Cauchy Code: 78fb80b7
#[test]
fn configurations_hold_from_their_effective_psn_on() {
    for lost_acks in 0..3 {
        let mut acks_seen = 0;
        let channel = move |leg, octets: &[u8]| {
            if leg == Leg::Back && octets[0] & 0xf == 5 {
                acks_seen += 1;
                if acks_seen <= lost_acks {
                    return Fate::Lost;
                }
            }
            // One packet in fifty is lost.
            let lost = leg == Leg::Source && octets[11] % 50 == 7;
            if lost { Fate::Lost } else { Fate::Arrives }
        };
        let csf = CsfConfig { k: 8, loss_memory: 2000, repair_permille: 1000, ..csf_config() };
        let mut world = World::established(csf, crf_config(Order::Hold), FIRST, channel);
        let end = world.burst(FIRST, 20_000);
        world.run_until(end + 20 * DELAY);
        assert_eq!(world.received.len(), 20_000, "{:?}", world.crf.stats());
        let updates = updates(&world);
        assert!(updates.len() > 1);
        let mut acknowledged = std::collections::BTreeMap::new();
        for seen in &world.seen {
            match seen.message().1 {
                Message::ParamAck(ack) => {
                    // It arrives half a round trip later, if it does.
                    acknowledged.entry(ack.config_id).or_insert(seen.at + DELAY);
                }
                Message::Repair(Repair { config_id, block_start, .. }) => {
                    let (_, update) =
                        updates.iter().find(|(_, update)| update.config_id == config_id).unwrap();
                    assert!(
                        block_start.ahead_of(update.effective_psn) < 1 << 23,
                        "{block_start}: {update:?}"
                    );
                    assert!(acknowledged[&config_id] <= seen.at);
                }
                _ => {}
            }
        }
        if lost_acks > 0 {
            let ids: BTreeSet<_> = updates.iter().map(|(_, update)| update.config_id).collect();
            assert!(ids.len() > 2, "the Effective PSN had passed: a new one was asked for");
        }
    }
}

//~ CREM, Configuration Changes: af8b50a7 ea1c9932
#[test]
fn many_changes_never_exhaust_the_receiver() {
    let mut phase = 0u32;
    let channel = move |leg, _: &[u8]| {
        phase += u32::from(leg == Leg::Source);
        let every = if phase / 4000 % 2 == 0 { 1000 } else { 30 };
        if leg == Leg::Source && phase % every == 0 { Fate::Lost } else { Fate::Arrives }
    };
    let csf = CsfConfig { loss_memory: 500, repair_permille: 1000, ..csf_config() };
    let mut world = World::established(csf, crf_config(Order::Hold), FIRST, channel);
    let end = world.burst(FIRST, 60_000);
    world.run_until(end + 20 * DELAY);
    assert!(updates(&world).len() > 18, "{}", updates(&world).len());
    assert!(acks(&world).iter().all(|ack| ack.status == ParamStatus::ACCEPTED));
    assert_eq!(world.received.len(), 60_000);
    assert_eq!(world.crf.stats().refused, 0, "every repair message was taken");
}

#[test]
fn a_receiver_that_restarts_is_noticed_and_greeted_again() {
    let csf = CsfConfig { retry: wire::units::Nanos(1_000_000), ..csf_config() };
    let mut world = World::established(csf, crf_config(Order::Hold), FIRST, losing([]));
    world.crf = crem::crf::Crf::new(crf_config(Order::Hold), [9; 32]);
    for n in 0..3000 {
        world.send_at(world.now + u64::from(n) * 1_000_000, write(FIRST.plus(n)));
    }
    world.run_for(3_100_000_000);
    assert_eq!(closes(&world), [(Leg::Forth, CloseReason::NO_ANSWER)]);
    assert_eq!((hellos(&world).len(), world.crf.flows()), (2, 1));
    assert!(world.csf.flow(key(), world.time()).unwrap().established);
    assert_eq!(world.received.len(), 3000);
}

#[test]
fn a_sender_that_restarts_takes_its_flow_over_and_somebody_else_cannot() {
    let mut world = World::established(csf_config(), crf_config(Order::Hold), FIRST, losing([]));
    let stranger = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 9, 9, 9)), PORT);
    let before = world.seen.len();
    world.inject_forth(stranger, &hello(world::QP, 99));
    assert_eq!((world.seen.len(), world.crf.stats().refused), (before, 1));
    world.csf = crem::csf::Csf::new(csf_config(), [5; 32]);
    world.burst(FIRST, 100);
    world.run_for(DELAY * 4);
    world.burst(FIRST.plus(100), 400);
    world.run_for(DELAY * 4);
    assert_eq!((world.crf.flows(), world.received.len()), (1, 500));
    assert!(world.csf.stats().protected >= 100);
}

#[test]
fn idle_flows_end_on_both_sides() {
    let mut world = World::established(csf_config(), crf_config(Order::Hold), FIRST, losing([]));
    world.run_for(70_000_000_000);
    assert_eq!(world.csf.flow(key(), world.time()), None);
    assert_eq!(world.crf.flows(), 0);
    assert!(closes(&world).contains(&(Leg::Forth, CloseReason::FLOW_ENDED)));
}

#[test]
fn an_end_by_choice_is_told_and_what_is_held_is_delivered() {
    let mut world = World::established(csf_config(), crf_config(Order::Hold), FIRST, losing([FIRST.value()]));
    world.burst(FIRST, 4);
    world.run_for(DELAY + 10_000);
    assert_eq!(world.received.len(), 0);
    let close = wire::crem::Close { reason: CloseReason::NORMAL };
    let flow_id = world.seen[1].message().0.flow_id;
    world.inject_forth(
        csf_address(),
        &Message::Close(close).to_octets(&Header { flags: Flags::NONE, flow_id }),
    );
    assert_eq!((world.received.len(), world.crf.flows()), (3, 0));
    let mut out = Datagrams::default();
    world.csf.close(key(), world.time(), &mut out);
    assert_eq!(out.0.len(), 1);
    assert_eq!(world.csf.flow(key(), world.time()), None);
}

#[derive(Default)]
struct Datagrams(Vec<Vec<u8>>);
impl crem::Transmit for Datagrams {
    fn transmit(&mut self, _: &FlowKey, _: SocketAddr, octets: &[u8]) {
        self.0.push(octets.to_vec());
    }
}

/// The receiver function of a gateway, and the port of the domain.
//~ CREM, Architecture: 6a59be03
//~ CREM, Port: ff28588d
#[test]
fn hello_goes_to_the_configured_receiver_function_at_the_domains_port() {
    let gateway = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9));
    for (prefix, expected) in [("10.0.1.0/24", gateway), ("10.0.2.0/24", IpAddr::V4(world::RECEIVER))] {
        let csf = CsfConfig {
            receivers: vec![(prefix.parse().unwrap(), gateway)],
            ..CsfConfig::new(61_234, world::MTU)
        };
        let mut function = crem::csf::Csf::new(csf, [0; 32]);
        let mut out = Addressed::default();
        function.source(&write(FIRST).packet(), wire::units::Nanos(0), &mut out);
        assert_eq!(out.0, [SocketAddr::new(expected, 61_234)]);
    }
}

#[derive(Default)]
struct Addressed(Vec<SocketAddr>);
impl crem::Transmit for Addressed {
    fn transmit(&mut self, _: &FlowKey, to: SocketAddr, _: &[u8]) {
        self.0.push(to);
    }
}

#[test]
fn more_flows_than_there_is_room_for_pass_unprotected() {
    let csf = CsfConfig { max_flows: 1, ..csf_config() };
    let crf = CrfConfig { max_flows: 1, ..crf_config(Order::Hold) };
    let mut world = World::established(csf, crf, FIRST, losing([]));
    let bth = wire::roce::Bth::new(wire::roce::Opcode::WRITE_ONLY, 0x99, FIRST);
    world.send(world::packet(&bth, &[1; 40], 0));
    world.run_for(DELAY * 4);
    assert_eq!((world.csf.stats().unprotected_flows, world.received.len()), (1, 1));
    world.inject_forth(csf_address(), &hello(0x99, 1));
    assert_eq!((world.crf.stats().turned_away, world.crf.flows()), (1, 1));
    assert_eq!(world.csf.flow(FlowKey::requests(addresses(), 0x99), world.time()), None);
}
