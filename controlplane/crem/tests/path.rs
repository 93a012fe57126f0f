//! Redundancy as the path changes: loss, congestion, reports of nodes, the circuit breaker, rate limits, acknowledgements.
#![allow(
    clippy::manual_is_multiple_of,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "tests"
)]

mod world;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use crem::FlowKey;
use crem::crf::{CrfConfig, Order};
use crem::csf::CsfConfig;
use wire::crem::{
    Cause, CloseReason, Flags, Header, HopEntry, LossReport, Message, Method, PathReport, Repair,
};
use wire::roce::Psn;
use wire::units::Micros;
use world::{
    DELAY, Fate, Leg, PORT, World, addresses, crf_address, crf_config, csf_config, key, losing, write,
};

const FIRST: Psn = Psn::new(0x1000);
const REPORTER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn csf() -> CsfConfig {
    CsfConfig { k: 8, reporters: vec![REPORTER], loss_memory: 4000, ..csf_config() }
}

fn m(world: &mut World) -> u8 {
    world.csf.flow(key(), world.time()).unwrap().block.map_or(0, |(_, m)| m)
}

fn one_in(every: u32, fate: Fate) -> impl FnMut(Leg, &[u8]) -> Fate {
    let mut count = 0;
    move |leg, _| {
        count += u32::from(leg == Leg::Source);
        if leg == Leg::Source && count % every == 0 { fate } else { Fate::Arrives }
    }
}

fn reports(world: &World) -> Vec<(u64, LossReport)> {
    world
        .seen
        .iter()
        .filter_map(|seen| match seen.message().1 {
            Message::LossReport(report) => Some((seen.at, report)),
            _ => None,
        })
        .collect()
}

//~ CREM, Redundancy Policy: c4a03a10 81999c92
//~ CREM, Loss Reports: efd8d6b5
#[test]
fn redundancy_follows_the_loss_of_the_path() {
    // The packets here are half as long as the symbols on average: a quarter of their octets would be too little.
    let config = CsfConfig { repair_permille: 1000, ..csf() };
    let mut world = World::established(config, crf_config(Order::Hold), FIRST, one_in(100, Fate::Lost));
    let end = world.burst(FIRST, 20_000);
    world.run_until(end + 10 * DELAY);
    assert_eq!(world.received.len(), 20_000);
    let status = world.csf.flow(key(), world.time()).unwrap();
    assert!((0.008..0.012).contains(&status.loss_rate), "{status:?}");
    assert_eq!(m(&mut world), crem::smallest_m(8, 0.01, 1e-4, 8));
    world.set_channel(losing([]));
    let end = world.burst(FIRST.plus(20_000), 60_000);
    world.run_until(end + 10 * DELAY);
    assert_eq!(m(&mut world), 0, "a clean path costs nothing");
}

//~ CREM, Loss Reports: 24233154 9d8ae561
//~ CREM, Receiver Rules: 39c53332 907ca7f4
#[test]
fn the_receiver_reports_every_round_trip_what_it_saw() {
    // Marked repair messages leave a sixteenth of the share, which must do here.
    let config = CsfConfig { prior_loss: 0.01, loss_memory: 1 << 30, repair_permille: 16_000, ..csf() };
    let mut packets = 0;
    let channel = move |leg, octets: &[u8]| match leg {
        Leg::Source => {
            packets += 1;
            match packets % 50 {
                7 => Fate::Lost,
                8 => Fate::Marked,
                _ => Fate::Arrives,
            }
        }
        Leg::Forth if octets[0] & 0xf == 1 => Fate::Marked,
        _ => Fate::Arrives,
    };
    let mut world = World::established(config, crf_config(Order::Hold), FIRST, channel);
    let end = world.burst(FIRST, 5000);
    world.run_until(end + 10 * DELAY);
    let reports = reports(&world);
    let sum = |field: fn(&LossReport) -> u32| reports.iter().map(|(_, report)| field(report)).sum::<u32>();
    assert_eq!(sum(|r| r.expected), 5000);
    assert_eq!(sum(|r| r.received), 4900, "before restoration");
    assert_eq!(sum(|r| r.restored), 100);
    assert_eq!(sum(|r| r.ce_marked), 100);
    assert_eq!(u64::from(sum(|r| r.repairs_received)), world.csf.stats().ordinary);
    assert_eq!(sum(|r| r.repairs_ce_marked), sum(|r| r.repairs_received));
    assert_eq!(sum(|r| r.incomplete_blocks), 0);
    assert!(reports.iter().all(|(_, report)| report.interval <= Micros(1000)), "{reports:?}");
    assert!(reports.windows(2).all(|pair| pair[1].0 - pair[0].0 <= 2 * DELAY), "{reports:?}");
    // Packets with CE keep it; restored ones have none.
    let marked = world.received.iter().filter(|packet| packet.ip.ecn == wire::frame::Ecn::Ce).count();
    assert_eq!((marked, world.received.len()), (100, 5000));
}

//~ CREM, Redundancy Policy: c3957255
//~ CREM, Congestion: 324628c5
#[test]
fn loss_with_marks_never_raises_m() {
    let mut packets = 0;
    let channel = move |leg, _: &[u8]| {
        packets += u32::from(leg == Leg::Source);
        match packets % 100 {
            _ if leg != Leg::Source => Fate::Arrives,
            3 | 50 => Fate::Lost,
            4 => Fate::Marked,
            _ => Fate::Arrives,
        }
    };
    let mut world = World::established(csf(), crf_config(Order::Hold), FIRST, channel);
    let end = world.burst(FIRST, 40_000);
    world.run_until(end + 10 * DELAY);
    assert_eq!((m(&mut world), world.csf.stats().ordinary), (0, 0));
    assert_eq!(world.received.len(), 40_000, "coded retransmission still repairs");
}

fn report(cause: Cause, lost: u32, delay_change: i32, psns: &[u32]) -> PathReport {
    let psns = psns.iter().map(|n| FIRST.plus(*n)).collect();
    PathReport {
        method: Method::NODE_LOCAL,
        flow: addresses(),
        flow_label: world::QP,
        entries: vec![HopEntry { node_id: 1, period: 0, lost, delay_change, cause, psns }],
    }
}

fn tell(world: &mut World, from: IpAddr, flags: Flags, report: &PathReport) {
    let header = Header { flags, ..Header::default() };
    let octets = Message::PathReport(report.clone()).to_octets(&header);
    world.inject_back(SocketAddr::new(from, 40_000), &octets);
}

//~ CREM, Path Reports: 4d1ea308 8dcd5f63
//~ CREM, Redundancy Policy: c3957255
#[test]
fn loss_that_a_node_calls_congestion_never_raises_m() {
    for (cause, delay, raises) in [
        (Cause::CONGESTION, 0, false),
        (Cause::UNKNOWN, 500, false),
        (Cause::UNKNOWN, 0, true),
        (Cause::CORRUPTION, 500, true),
    ] {
        let mut world = World::established(csf(), crf_config(Order::Hold), FIRST, one_in(50, Fate::Lost));
        for n in 0..40 {
            tell(&mut world, REPORTER, Flags::NONE, &report(cause, 10, delay, &[]));
            world.burst(FIRST.plus(n * 500), 500);
            world.run_for(DELAY);
        }
        assert_eq!(m(&mut world) > 0, raises, "{cause} {delay}");
        assert_eq!(world.csf.stats().path_reports, 40);
    }
}

//~ CREM, Path Reports: 059e134d
#[test]
fn path_reports_of_others_and_about_others_are_refused() {
    let mut world = World::established(csf(), crf_config(Order::Hold), FIRST, losing([]));
    world.burst(FIRST, 8);
    world.run_for(DELAY);
    let named = report(Cause::CORRUPTION, 1, 0, &[3]);
    tell(&mut world, IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), Flags::NONE, &named);
    assert_eq!((world.csf.stats().unknown_reporters, world.csf.stats().ordinary), (1, 0));
    let mut other = named.clone();
    other.flow_label = 0x999;
    tell(&mut world, REPORTER, Flags::NONE, &other);
    assert_eq!((world.csf.stats().refused, world.csf.stats().ordinary), (1, 0));
    tell(&mut world, REPORTER, Flags::TRUNCATED, &named);
    assert_eq!((world.csf.stats().path_reports, world.csf.stats().truncated_reports), (1, 1));
    assert_eq!(world.csf.stats().ordinary, 1);
}

fn repairs(world: &World) -> Vec<(u64, Repair<'_>)> {
    world
        .seen
        .iter()
        .filter_map(|seen| match seen.message().1 {
            Message::Repair(repair) if !repair.symbol.is_empty() => Some((seen.at, repair)),
            _ => None,
        })
        .collect()
}

//~ CREM, Path Reports: c2b504b6 dc107319
//~ CREM, Cauchy Code: b42b2c0c
#[test]
fn a_drop_that_a_node_names_is_repaired_at_once() {
    let mut world = World::established(
        csf(),
        crf_config(Order::Hold),
        FIRST,
        losing([3, 4].map(|n| FIRST.plus(n).value())),
    );
    world.burst(FIRST, 16);
    world.run_for(100_000);
    tell(&mut world, REPORTER, Flags::NONE, &report(Cause::CONGESTION, 2, 0, &[3, 4]));
    let sent = repairs(&world);
    assert_eq!(sent.len(), 2);
    assert!(
        sent.iter().all(|(_, repair)| repair.lost.is_none() && repair.session_id == 0),
        "ordinary symbols"
    );
    assert_eq!(sent.iter().map(|(_, repair)| repair.index).collect::<Vec<_>>(), [0, 1]);
    let named = world.now;
    world.run_for(DELAY + 100_000);
    assert_eq!(
        world.received.len(),
        16,
        "half a round trip after the report, before any answer to a request"
    );
    assert!(world.now - named < 2 * DELAY);
    // The same drop named again, a drop that redundancy covers, PSNs that are not sources.
    tell(&mut world, REPORTER, Flags::NONE, &report(Cause::CONGESTION, 2, 0, &[3, 4, 0x00ff_0000, 5000]));
    assert_eq!(repairs(&world).len(), 2);
}

#[test]
fn a_drop_within_an_open_block_is_repaired_when_it_closes() {
    let config = CsfConfig { burst_gap: wire::units::Nanos(200_000), ..csf() };
    let mut world =
        World::established(config, crf_config(Order::Hold), FIRST, losing([FIRST.plus(1).value()]));
    world.burst(FIRST, 4);
    world.run_for(50_000);
    tell(&mut world, REPORTER, Flags::NONE, &report(Cause::CORRUPTION, 1, 0, &[1]));
    assert!(repairs(&world).is_empty());
    world.run_for(DELAY + 400_000);
    assert_eq!((repairs(&world).len(), world.received.len()), (1, 4));
}

#[test]
fn redundancy_that_covers_a_named_drop_is_enough() {
    let config = CsfConfig { prior_loss: 1e-4, loss_memory: 1 << 30, ..csf() };
    let mut world = World::established(config, crf_config(Order::Hold), FIRST, losing([]));
    world.burst(FIRST, 8);
    world.run_for(100_000);
    let before = repairs(&world).len();
    tell(&mut world, REPORTER, Flags::NONE, &report(Cause::CORRUPTION, 1, 0, &[3]));
    assert_eq!(repairs(&world).len(), before);
    tell(&mut world, REPORTER, Flags::NONE, &report(Cause::CORRUPTION, 1, 0, &[4]));
    assert_eq!(repairs(&world).len(), before + 1);
}

//~ CREM, Path Reports: 83ca4c54
#[test]
fn a_gateway_takes_reports_for_the_sources_it_serves() {
    let config = CsfConfig { serves: vec!["10.0.0.0/24".parse().unwrap()], ..csf() };
    let function = crem::csf::Csf::new(config, [0; 32]);
    assert!(function.intercepts(IpAddr::V4(world::SENDER)));
    assert!(!function.intercepts(IpAddr::V4(world::RECEIVER)));
}

fn loss_report(world: &mut World, expected: u32, received: u32, ce_marked: u32) {
    let flow_id = world.seen[1].message().0.flow_id;
    let report =
        LossReport { interval: Micros(1000), expected, received, ce_marked, ..LossReport::default() };
    let octets = Message::LossReport(report).to_octets(&Header { flags: Flags::NONE, flow_id });
    world.inject_back(crf_address(), &octets);
}

//~ CREM, Congestion: 598880b9 d6cb2c28 42f46571
#[test]
fn the_circuit_breaker_stops_repair_resumes_it_and_ends_the_flow() {
    const SECOND: u64 = 1_000_000_000;
    let config = CsfConfig { prior_loss: 0.01, loss_memory: 1 << 30, ..csf() };
    let mut world = World::established(config, crf_config(Order::Hold), FIRST, |leg, octets| {
        // The receiver's own reports are replaced by the test's.
        if leg == Leg::Back && octets[0] & 0xf == 7 { Fate::Lost } else { Fate::Arrives }
    });
    let mut psn = FIRST;
    let mut send = |world: &mut World| {
        world.burst(psn, 16);
        psn = psn.plus(16);
        world.run_for(5_000_000);
    };
    send(&mut world);
    let before = world.csf.stats().ordinary;
    assert!(before > 0);
    for _ in 0..12 {
        loss_report(&mut world, 1000, 800, 0);
        world.run_for(SECOND / 10);
    }
    assert!(world.csf.flow(key(), world.time()).unwrap().breaker_open);
    let before = world.csf.stats().ordinary;
    send(&mut world);
    assert_eq!(world.csf.stats().ordinary, before, "m is zero");
    // A request gets nothing, and the flow stays open.
    let flow_id = world.seen[1].message().0.flow_id;
    let ranges = vec![wire::crem::PsnRange { start: FIRST.plus(16), count: 4 }];
    let request = wire::crem::RepairRequest::Ranges(wire::crem::RangeRequest { request_id: 5, ranges });
    let octets = Message::RepairRequest(request).to_octets(&Header { flags: Flags::NONE, flow_id });
    world.inject_back(crf_address(), &octets);
    assert_eq!((world.csf.stats().retransmissions, world.csf.stats().unanswerable), (0, 1));
    // Ten clean seconds.
    for _ in 0..115 {
        loss_report(&mut world, 1000, 1000, 0);
        world.run_for(SECOND / 10);
    }
    assert!(!world.csf.flow(key(), world.time()).unwrap().breaker_open);
    send(&mut world);
    assert!(world.csf.stats().ordinary > before, "{:?}", world.csf.flow(key(), world.time()));
    // More than a minute of marks.
    for n in 0..700 {
        if n % 100 == 0 {
            send(&mut world);
        }
        loss_report(&mut world, 1000, 1000, 600);
        world.run_for(SECOND / 10);
    }
    let closes = world.messages(|_, message| match message {
        Message::Close(close) => Some(close.reason),
        _ => None,
    });
    assert_eq!(closes, [CloseReason::PERSISTENT_LOSS]);
}

//~ CREM, Congestion: dd0a4b7d 54a5ce46
//~ CREM, Redundancy Policy: fe351ce6
#[test]
fn repair_traffic_stays_within_its_share() {
    let mut state = 1u32;
    let channel = move |leg, _: &[u8]| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if leg == Leg::Source && state >> 24 < 26 { Fate::Lost } else { Fate::Arrives }
    };
    let config = CsfConfig { prior_loss: 0.1, repair_allowance: 2, ..csf() };
    let crf = CrfConfig { fallback: crem::crf::Fallback::Request, ..crf_config(Order::Pass) };
    let mut world = World::established(config.clone(), crf, FIRST, channel);
    let end = world.burst(FIRST, 30_000);
    world.run_until(end + 100 * DELAY);
    let stats = *world.csf.stats();
    let allowance = u64::from(config.repair_allowance) * u64::from(config.symbol_octets);
    let round_trips = (30_000 * world::GAP + 100 * DELAY) / (2 * DELAY);
    assert!(stats.repair_octets <= stats.source_octets / 4 + round_trips * allowance, "{stats:?}");
    assert!(stats.repair_octets > stats.source_octets / 8, "{stats:?}");
    assert!(stats.suppressed > 0, "more was wanted: {stats:?}");
}

//~ CREM, Congestion: dd0a4b7d
#[test]
fn marks_on_repair_messages_halve_repair_traffic() {
    let mut sent = Vec::new();
    for marked in [false, true] {
        let config = CsfConfig { prior_loss: 0.05, loss_memory: 1 << 30, repair_permille: 800, ..csf() };
        let mut world = World::established(config, crf_config(Order::Hold), FIRST, move |leg, octets| {
            if marked && leg == Leg::Forth && octets[0] & 0xf == 1 { Fate::Marked } else { Fate::Arrives }
        });
        let end = world.burst(FIRST, 30_000);
        world.run_until(end + 10 * DELAY);
        sent.push(world.csf.stats().repair_octets);
    }
    assert!(sent[1] * 3 < sent[0], "{sent:?}");
}

//~ CREM, Coded Retransmission: edc5a3c8
#[test]
fn blocks_are_kept_until_acknowledged_or_given_up() {
    let configured = CsfConfig { pairs: vec![(key(), world::SENDER_QP)], ..csf() };
    for (config, acknowledge, released) in
        [(configured.clone(), true, 10), (csf(), true, 9), (configured, false, 0), (csf(), false, 0)]
    {
        let mut world = World::established(config, crf_config(Order::Hold), FIRST, losing([]));
        world.acknowledge = acknowledge;
        world.burst(FIRST, 80);
        world.run_for(3 * DELAY);
        assert_eq!(
            world.csf.flow(key(), world.time()).unwrap().blocks_kept,
            10 - usize::try_from(world.csf.stats().acknowledged).unwrap()
        );
        // What is learnt takes eight acknowledgements, then all but what came before is known.
        assert!(
            world.csf.stats().acknowledged >= released,
            "{acknowledge} {released} {:?}",
            world.csf.stats()
        );
        // After four round trips without an acknowledgement in sight, the next packet finds them gone.
        world.run_for(10 * DELAY);
        world.burst(FIRST.plus(80), 1);
        world.run_for(DELAY);
        let expected = if acknowledge { 0 } else { 10 };
        assert_eq!(world.csf.stats().given_up, expected);
    }
}

#[test]
fn acknowledgements_of_what_was_never_sent_and_of_strangers_release_nothing() {
    let config = CsfConfig { pairs: vec![(key(), world::SENDER_QP)], ..csf() };
    let mut world = World::established(config, crf_config(Order::Hold), FIRST, losing([]));
    world.burst(FIRST, 80);
    world.run_for(DELAY);
    let now = world.time();
    world.csf.reverse(&world::ack(FIRST.plus(80)).packet(), now);
    world.csf.reverse(&world::ack(FIRST.plus(1 << 22)).packet(), now);
    world.csf.reverse(&world::ack(FIRST.plus(0x00ff_ffff)).packet(), now);
    assert_eq!(world.csf.stats().acknowledged, 0);
    world.csf.reverse(&world::ack(FIRST.plus(15)).packet(), now);
    assert_eq!(world.csf.stats().acknowledged, 2);
    let mut other = world::ack(FIRST.plus(79));
    other.addresses = addresses();
    world.csf.reverse(&other.packet(), now);
    assert_eq!(world.csf.stats().acknowledged, 2);
}

#[test]
fn two_flows_between_two_hosts_are_told_apart() {
    let config = CsfConfig { max_flows: 8, ..csf() };
    let mut world = World::established(config, crf_config(Order::Hold), FIRST, losing([]));
    let other = |n: u32| {
        let bth = wire::roce::Bth::new(wire::roce::Opcode::WRITE_MIDDLE, 0x9999, Psn::new(0x80_0000 + n));
        world::packet(&bth, &[1; 30], 0)
    };
    world.send(other(0));
    world.run_for(10 * DELAY);
    for n in 0..40 {
        world.send_at(world.now + u64::from(n) * 1000, write(FIRST.plus(n)));
        world.send_at(world.now + u64::from(n) * 1000, other(n + 1));
    }
    world.run_for(200_000);
    for n in 0..40 {
        world.csf.reverse(&world::ack(FIRST.plus(n)).packet(), world.time());
    }
    let second = FlowKey::requests(addresses(), 0x9999);
    assert_eq!(world.csf.flow(key(), world.time()).unwrap().blocks_kept, 0);
    assert_eq!(world.csf.flow(second, world.time()).unwrap().blocks_kept, 5);
    let _ = PORT;
}
