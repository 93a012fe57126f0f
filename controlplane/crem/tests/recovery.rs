//! Losses are repaired: by redundancy, by coded retransmission, by copies.
#![allow(
    clippy::manual_is_multiple_of,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "tests"
)]

mod world;

use crem::code::Code;
use crem::crf::{CrfConfig, Fallback, Order};
use crem::csf::{CsfConfig, FallbackAnswer};
use wire::crem::{BlockRequest, Flags, Message, Repair, RepairRequest, Scheme};
use wire::roce::Psn;
use world::{DELAY, Fate, GAP, Leg, World, crf_config, csf_config, losing, write};

const FIRST: Psn = Psn::new(0x00ff_fff0);

fn psns(count: u32) -> Vec<u32> {
    (0..count).map(|n| FIRST.plus(n).value()).collect()
}

fn at(positions: &[u32]) -> Vec<u32> {
    positions.iter().map(|n| FIRST.plus(*n).value()).collect()
}

fn run(csf: CsfConfig, crf: CrfConfig, count: u32, lost: &[u32]) -> World {
    let mut world = World::established(csf, crf, FIRST, losing(at(lost)));
    world.burst(FIRST, count);
    world.run_for(20 * DELAY);
    world.assert_intact();
    world
}

/// A block of 8 positions with `m` repair symbols, whatever the losses.
fn fixed(m: u8) -> CsfConfig {
    // A loss rate at which the policy chooses m, and reports that don't change it.
    let prior_loss = [0.0, 1e-4, 2e-3, 8e-3][usize::from(m)];
    let config = CsfConfig { k: 8, prior_loss, loss_memory: 1 << 30, ..csf_config() };
    assert_eq!(crem::smallest_m(8, prior_loss, config.epsilon, config.max_m), m);
    config
}

fn repairs(world: &World) -> Vec<(Flags, Repair<'_>)> {
    world.messages(|header, message| match message {
        Message::Repair(repair) => Some((header.flags, *repair)),
        _ => None,
    })
}

fn block_requests(world: &World) -> Vec<BlockRequest> {
    world.messages(|_, message| match message {
        Message::RepairRequest(RepairRequest::Block(request)) => Some(*request),
        _ => None,
    })
}

#[test]
fn nothing_lost_nothing_asked() {
    let world = run(fixed(2), crf_config(Order::Hold), 80, &[]);
    assert_eq!(world.order(), psns(80));
    assert_eq!(world.csf.stats().ordinary, 20);
    assert_eq!((world.crf.stats().restored, world.crf.stats().held), (0, 0));
    assert!(block_requests(&world).is_empty());
}

//~ CREM, Redundancy Policy: 4dc773fb
//~ CREM, Message Formats: 9f2dd885
//~ CREM, Source Blocks: d619a71a
#[test]
fn losses_within_the_redundancy_come_back_without_a_request() {
    for order in [Order::Hold, Order::Pass] {
        let world = run(fixed(2), crf_config(order), 80, &[0, 9, 15, 30, 79]);
        let mut received = world.order();
        if order == Order::Pass {
            received.sort_by_key(|psn| Psn::new(*psn).ahead_of(FIRST));
        }
        assert_eq!(received, psns(80), "{order:?}");
        assert_eq!(world.crf.stats().restored, 5);
        assert_eq!(world.crf.stats().block_requests + world.crf.stats().range_requests, 0, "{order:?}");
        for (block, repairs) in repairs(&world).chunks(2).enumerate() {
            assert_eq!([repairs[0].1.index, repairs[1].1.index], [0, 1]);
            assert_eq!(repairs[0].1.block_start, FIRST.plus(8 * u32::try_from(block).unwrap()));
            assert_eq!([repairs[0].0, repairs[1].0], [Flags::NONE, Flags::LAST]);
        }
    }
}

//~ CREM, Requests: 8c4bbe61 7fb3589d 323438d5
//~ CREM, Coded Retransmission: badaeeec 77a91ece d9bb65d4
//~ CREM, Cauchy Code: f0a922de 84631fc2
//~ CREM, Message Formats: 9dc03915
#[test]
fn more_losses_than_repair_symbols_take_a_coded_retransmission() {
    let world = run(fixed(2), crf_config(Order::Hold), 80, &[16, 17, 20, 22, 23]);
    assert_eq!(world.order(), psns(80));
    let requests = block_requests(&world);
    assert_eq!(requests.len(), 1);
    let request = requests[0];
    assert_eq!((request.block_start, request.k, request.repairs_held), (FIRST.plus(16), 8, 2));
    assert_eq!(request.lost.iter().collect::<Vec<_>>(), [0, 1, 4, 6, 7]);
    assert_eq!(request.suggested, 3, "X - r");
    let answer: Vec<_> = repairs(&world).into_iter().filter(|(_, repair)| repair.session_id != 0).collect();
    assert_eq!(answer.len(), 3, "fewer than the five packets lost");
    for (n, (flags, repair)) in answer.iter().enumerate() {
        assert_eq!(usize::from(repair.index), 2 + n, "indices never used before");
        assert_eq!((repair.session_id, repair.lost), (request.request_id, Some(request.lost)));
        assert_eq!(flags.contains(Flags::LAST), n == 2);
    }
}

//~ CREM, Requests: c5cc3717 20449aef
//~ CREM, Source Blocks: 70c89bd2
//~ CREM, Message Formats: c5cf3ad9
#[test]
fn without_repair_messages_losses_are_asked_for_by_range() {
    let world = run(fixed(0), crf_config(Order::Hold), 80, &[16, 17, 18, 40]);
    assert_eq!(world.order(), psns(80));
    let ranges = world.messages(|_, message| match message {
        Message::RepairRequest(RepairRequest::Ranges(request)) => Some(request.ranges.clone()),
        _ => None,
    });
    let found: Vec<_> = ranges.iter().flatten().map(|range| (range.start, range.count)).collect();
    assert_eq!(found, [(FIRST.plus(16), 3), (FIRST.plus(40), 1)]);
    let stats = *world.csf.stats();
    assert_eq!((stats.retransmissions, stats.ordinary, stats.answered), (4, 0, 2), "r is zero: M = X");
}

#[test]
fn the_last_packet_of_a_burst_is_missed_too() {
    for m in 0..=1 {
        let world = run(fixed(m), crf_config(Order::Hold), 13, &[12]);
        assert_eq!(world.order(), psns(13), "m = {m}");
        assert_eq!(world.csf.stats().infos, u64::from(m == 0));
    }
}

//~ CREM, Source Blocks: b301c120
#[test]
fn a_block_ends_with_the_burst_and_says_its_k() {
    let mut world = World::established(fixed(1), crf_config(Order::Hold), FIRST, losing(at(&[2, 5])));
    for start in [0, 3] {
        world.burst(FIRST.plus(start), 3);
        world.run_for(DELAY);
    }
    world.run_for(4 * DELAY);
    assert_eq!(world.order(), psns(6));
    let blocks: Vec<_> = repairs(&world).iter().map(|(_, repair)| (repair.block_start, repair.k)).collect();
    assert_eq!(blocks, [(FIRST, 3), (FIRST.plus(3), 3)]);
}

/// Reports say nothing between packets closer than the configured gap.
#[test]
fn both_sides_of_the_burst_gap() {
    let gap = csf_config().burst_gap.0;
    for (pause, blocks) in [(gap - 1, 1), (gap + 1, 2)] {
        let mut world = World::established(fixed(1), crf_config(Order::Hold), FIRST, losing([]));
        world.send_at(world.now, write(FIRST));
        world.send_at(world.now + pause, write(FIRST.plus(1)));
        world.run_for(4 * DELAY);
        assert_eq!(world.csf.stats().blocks, blocks, "pause {pause}");
    }
}

//~ CREM, Redundancy Policy: 8a3c8b0d
#[test]
fn repair_symbols_may_be_spread_over_the_next_packets() {
    for spread in [true, false] {
        let config = CsfConfig { spread, ..fixed(2) };
        let mut world = World::established(config, crf_config(Order::Hold), FIRST, losing([]));
        let start = world.now;
        world.burst(FIRST, 16);
        world.run_for(4 * DELAY);
        let times: Vec<_> = world
            .seen
            .iter()
            .filter(|seen| matches!(seen.message().1, Message::Repair(_)))
            .map(|seen| (seen.at - start) / GAP)
            .collect();
        let expected = if spread { [7, 8, 15, 35] } else { [7, 7, 15, 15] };
        assert_eq!(times[..2], expected[..2], "spread {spread}");
        assert_eq!(times[2..], expected[2..], "spread {spread}: the burst's end");
    }
}

//~ CREM, Fallback: f39c397e
//~ CREM, Message Formats: cb9435c6
//~ CREM, FEC Schemes: 277d8371 bc2b41ab
#[test]
fn after_two_coded_retransmissions_copies_are_asked_for() {
    let mut lose = losing(at(&[3]));
    let channel = move |leg, octets: &[u8]| match leg {
        // Coded retransmissions never arrive.
        Leg::Forth if octets[1] & 0x80 != 0 => Fate::Lost,
        _ => lose(leg, octets),
    };
    let mut world = World::established(fixed(0), crf_config(Order::Pass), FIRST, channel);
    world.burst(FIRST, 16);
    world.run_for(40 * DELAY);
    world.assert_intact();
    assert_eq!(world.received.len(), 16);
    let stats = *world.crf.stats();
    assert_eq!((stats.range_requests + stats.block_requests, stats.fallback_requests), (3, 1));
    let copies: Vec<_> =
        repairs(&world).into_iter().filter(|(_, repair)| repair.scheme == Scheme::SOURCE_COPY).collect();
    assert_eq!(copies.len(), 1);
    assert_eq!((copies[0].1.index, copies[0].1.lost), (3, None));
    assert!(copies[0].0.contains(Flags::LAST));
}

//~ CREM, Fallback: ccd420e1 b91625b5
#[test]
fn the_fallback_can_be_left_to_the_transport_on_either_side() {
    for (answer, ask) in
        [(FallbackAnswer::SourceCopy, Fallback::Transport), (FallbackAnswer::Transport, Fallback::Request)]
    {
        let mut lose = losing(at(&[3]));
        let channel = move |leg, octets: &[u8]| match leg {
            Leg::Forth if octets[1] & 0x80 != 0 => Fate::Lost,
            _ => lose(leg, octets),
        };
        let csf = CsfConfig { fallback: answer, ..fixed(0) };
        let crf = CrfConfig { fallback: ask, ..crf_config(Order::Hold) };
        let mut world = World::established(csf, crf, FIRST, channel);
        world.burst(FIRST, 16);
        world.run_for(40 * DELAY);
        assert_eq!(world.crf.stats().given_up, 1);
        assert_eq!(world.received.len(), 16, "what was held is delivered, the one behind the gap twice");
        // The transport sends it again: it passes, at its old position.
        world.send(write(FIRST.plus(3)));
        world.run_for(4 * DELAY);
        assert_eq!(world.received.len(), 17);
        assert_eq!((world.crf.stats().late, world.csf.stats().retransmitted), (1, 1));
    }
}

/// Ours: a go-back-N receiver drops all that comes behind a gap, so only the packet that makes it ask goes on, and the rest as
/// soon as the transport's retransmission has come.
#[test]
fn what_is_held_behind_a_gap_that_the_transport_fills_need_not_cross_the_path_again() {
    for comes in [true, false] {
        let mut lose = losing(at(&[3]));
        let channel = move |leg, octets: &[u8]| match leg {
            Leg::Forth if octets[1] & 0x80 != 0 => Fate::Lost,
            _ => lose(leg, octets),
        };
        let crf = CrfConfig { fallback: Fallback::Transport, ..crf_config(Order::Hold) };
        let mut world = World::established(fixed(0), crf, FIRST, channel);
        world.burst(FIRST, 16);
        // The request leaves at the burst's end; a round trip and a quarter later the wait is over.
        world.run_for(DELAY + 5 * 2 * DELAY / 4 + 200_000);
        let asks = [psns(3), at(&[4])].concat();
        assert_eq!(world.order(), asks, "the packet behind the gap, for the receiver's NAK");
        if comes {
            world.send(write(FIRST.plus(3)));
            world.run_for(DELAY + 1);
            assert_eq!(world.order(), [asks, (3..16).map(|n| FIRST.plus(n).value()).collect()].concat());
            assert_eq!(world.crf.stats().late, 1);
        } else {
            // Two round trips for it, and no more.
            world.run_for(4 * DELAY - 300_000);
            assert_eq!(world.order(), asks);
            world.run_for(400_000);
            assert_eq!(world.order(), [asks, (4..16).map(|n| FIRST.plus(n).value()).collect()].concat());
        }
        world.assert_intact();
    }
}

//~ CREM, FEC Schemes: 013faeb9 d0332b7a
//~ CREM, Fallback: f39c397e
#[test]
fn the_single_symbol_scheme_has_no_coded_retransmission() {
    let csf = CsfConfig { scheme: Scheme::XOR, ..fixed(1) };
    let world = run(csf, crf_config(Order::Hold), 32, &[2, 17, 18]);
    assert_eq!(world.order(), psns(32));
    let stats = *world.csf.stats();
    assert_eq!((stats.retransmissions, stats.copies), (0, 2), "one loss by the symbol, two by copies");
    assert!(repairs(&world).iter().all(|(_, repair)| repair.scheme != Scheme::CAUCHY));
    assert!(!Code::Xor.has_retransmission());
}

//~ CREM, Coded Retransmission: 31fc2512
#[test]
fn a_packet_that_comes_late_helps_to_decode() {
    // Two of three lost packets come late, after the request; the retransmission loses two of its symbols.
    let mut symbols = 0;
    let channel = move |leg, octets: &[u8]| match leg {
        Leg::Source => {
            match Psn::new(u32::from_be_bytes([0, octets[9], octets[10], octets[11]])).ahead_of(FIRST) {
                8 => Fate::Lost,
                9 | 10 => Fate::Late(2 * DELAY + 50_000),
                _ => Fate::Arrives,
            }
        }
        Leg::Forth if octets[1] & 0x80 != 0 => {
            symbols += 1;
            if symbols > 1 { Fate::Lost } else { Fate::Arrives }
        }
        _ => Fate::Arrives,
    };
    let mut world = World::established(fixed(0), crf_config(Order::Pass), FIRST, channel);
    world.burst(FIRST, 24);
    world.run_for(20 * DELAY);
    world.assert_intact();
    assert_eq!(world.received.len(), 24);
    assert_eq!((world.crf.stats().late, world.crf.stats().restored), (2, 1));
    assert_eq!(world.crf.stats().block_requests, 0, "one round was enough");
}

/// The transport sends a lost packet again with another `AckReq`, which the document doesn't expect. Where the symbols suffice, the
/// block is solved without it; where they don't, nothing wrong is delivered.
//~ CREM, Source Blocks: b3c7295f 0420d695
#[test]
fn a_retransmission_that_differs_does_not_spoil_its_block() {
    let again = |psn: Psn| {
        let original = write(psn);
        let mut payload = original.payload[..original.payload.len() - 4].to_vec();
        payload[8] |= 0x80;
        world::sealed(payload, original.ip.identification)
    };
    for (m, lost) in [(2, &[3, 5][..]), (1, &[3, 5])] {
        let mut lose = losing(at(lost));
        let channel = move |leg, octets: &[u8]| match leg {
            // The symbols come after the retransmission.
            Leg::Forth if octets[0] & 0xf == 1 => Fate::Late(400_000),
            _ => lose(leg, octets),
        };
        let mut world = World::established(fixed(m), crf_config(Order::Pass), FIRST, channel);
        world.burst(FIRST, 16);
        world.send_at(world.now + 50_000, again(FIRST.plus(3)));
        world.run_for(20 * DELAY);
        let mut received = world.order();
        received.sort_by_key(|psn| Psn::new(*psn).ahead_of(FIRST));
        assert_eq!(received, psns(16), "m = {m}: {:?}", world.crf.stats());
        for packet in &world.received {
            let expected =
                if packet.psn() == FIRST.plus(3) { again(packet.psn()) } else { write(packet.psn()) };
            assert_eq!(packet.payload, expected.payload);
        }
        assert_eq!(world.crf.stats().block_requests, u64::from(m == 1), "{:?}", world.crf.stats());
    }
}

//~ CREM, Source Blocks: 1c653e3d bffddbe3 761be8dc 89a5aaf6
#[test]
fn positions_of_read_responses_are_absent() {
    let mut world = World::established(fixed(1), crf_config(Order::Hold), FIRST, losing(at(&[9])));
    // A READ takes positions 1 to 4, another one far more than a block.
    for packet in
        [write(FIRST), world::read_request(FIRST.plus(1), 4), write(FIRST.plus(5)), write(FIRST.plus(6))]
    {
        world.send(packet);
    }
    for packet in [
        write(FIRST.plus(7)),
        world::read_request(FIRST.plus(8), 1),
        write(FIRST.plus(9)),
        world::read_request(FIRST.plus(10), 1000),
        write(FIRST.plus(1010)),
    ] {
        world.send_at(world.now + 10 * GAP, packet);
    }
    world.run_for(20 * DELAY);
    let order: Vec<_> = world.order().iter().map(|psn| Psn::new(*psn).ahead_of(FIRST)).collect();
    assert_eq!(order, [0, 1, 5, 6, 7, 8, 9, 10, 1010]);
    assert_eq!((world.crf.stats().restored, world.crf.stats().given_up), (1, 0));
    let present: Vec<_> = repairs(&world)
        .iter()
        .map(|(_, repair)| (repair.block_start.ahead_of(FIRST), repair.present.iter().collect::<Vec<_>>()))
        .collect();
    assert_eq!(present, [(0, vec![0, 1, 5, 6, 7]), (8, vec![0, 1, 2]), (1010, vec![0])]);
}

//~ CREM, Source Blocks: 98c3ca0a
#[test]
fn a_lost_read_request_is_repaired_and_its_positions_become_absent() {
    for m in 0..=1 {
        let mut world = World::established(fixed(m), crf_config(Order::Hold), FIRST, losing(at(&[1])));
        for packet in [write(FIRST), world::read_request(FIRST.plus(1), 20), write(FIRST.plus(21))] {
            world.send(packet);
        }
        world.run_for(20 * DELAY);
        let order: Vec<_> = world.order().iter().map(|psn| Psn::new(*psn).ahead_of(FIRST)).collect();
        assert_eq!(order, [0, 1, 21], "m = {m}");
        assert_eq!(world.crf.stats().given_up, 0);
    }
}

#[test]
fn a_rate_signal_may_change_on_the_way() {
    use wire::roce::{Bth, Opcode};
    let signalled = |psn: Psn, rate: u8| {
        let bth = Bth { reserved7: 1, ..Bth::new(Opcode::WRITE_MIDDLE, world::QP, psn) };
        let mut body = vec![9, 10, 0, 0, 0, rate, 0, 0, 0, 1];
        body.extend_from_slice(&[psn.value().to_le_bytes()[0]; 50]);
        world::packet(&bth, &body, 7)
    };
    let channel = |leg, octets: &[u8]| {
        let lost = leg == Leg::Source && octets[11] == FIRST.plus(3).value().to_le_bytes()[0];
        if lost { Fate::Lost } else { Fate::Arrives }
    };
    let mut world = World::established(fixed(1), crf_config(Order::Hold), FIRST, channel);
    // The sender function sees 100, and a switch writes 50 into what arrives.
    let mut out = Collected::default();
    for n in 0..8 {
        world.csf.source(&signalled(FIRST.plus(n), 100).packet(), world.time(), &mut out);
    }
    let mut delivered = Collected::default();
    for n in (0..8).filter(|n| *n != 3) {
        let packet = signalled(FIRST.plus(n), 50);
        if world.crf.source(&packet.packet(), world.time(), &mut delivered) == crem::crf::Verdict::Pass {
            delivered.0.push(packet);
        }
    }
    let now = wire::units::Nanos(world.now + 1_000_000);
    world.csf.timeout(now, &mut out);
    for octets in out.1 {
        world.crf.datagram(world::csf_address(), &octets, wire::frame::Ecn::Ect0, now, &mut delivered);
    }
    let rates: Vec<_> = delivered.0.iter().map(|packet| packet.payload[17]).collect();
    assert_eq!(rates, [50, 50, 50, 0, 50, 50, 50, 50], "a restored packet has rate 0, held ones keep theirs");
    let mut zero = signalled(FIRST.plus(3), 0);
    zero.ip = delivered.0[3].ip;
    assert_eq!(delivered.0[3], zero, "and the ICRC, which takes the rate as ones, is valid");
}

#[derive(Default)]
struct Collected(Vec<world::Owned>, Vec<Vec<u8>>);
impl crem::Transmit for Collected {
    fn transmit(&mut self, _: &crem::FlowKey, _: core::net::SocketAddr, octets: &[u8]) {
        self.1.push(octets.to_vec());
    }
}
impl crem::Deliver for Collected {
    fn deliver(&mut self, packet: &crem::Packet<'_>) {
        self.0.push(world::Owned::of(packet));
    }
}
