//! What nobody well-behaved sends: discarded, counted, and bounded in what it costs.
#![allow(
    clippy::manual_is_multiple_of,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "tests"
)]

mod world;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use crem::code::{Code, Kernel, encode};
use crem::crf::{CrfConfig, Order};
use crem::csf::CsfConfig;
use proptest::prelude::*;
use wire::crem::{
    Bitmap, BlockRequest, Flags, FlowId, Header, Message, PsnRange, RangeRequest, Repair, RepairRequest,
    Scheme,
};
use wire::roce::Psn;
use world::{DELAY, Fate, Leg, PORT, World, crf_address, crf_config, csf_address, csf_config, losing, write};

const FIRST: Psn = Psn::new(0x2000);

fn flow_id(world: &World) -> FlowId {
    world.seen[1].message().0.flow_id
}

fn csf() -> CsfConfig {
    CsfConfig { k: 8, ..csf_config() }
}

/// A flow of which three packets of the first block are lost, with nothing asked for yet.
fn with_a_gap(order: Order) -> World {
    let lost = [1, 2, 5].map(|n| FIRST.plus(n).value());
    let mut lose = losing(lost);
    let mut world = World::established(csf(), crf_config(order), FIRST, move |leg, octets| {
        if leg == Leg::Forth { Fate::Lost } else { lose(leg, octets) }
    });
    world.burst(FIRST, 16);
    world.run_for(DELAY + 30_000);
    world
}

fn good_repair() -> Repair<'static> {
    Repair {
        config_id: 1,
        scheme: Scheme::CAUCHY,
        k: 8,
        index: 0,
        block_start: FIRST,
        session_id: 0,
        present: Bitmap::first(8),
        lost: None,
        symbol: &[7; 312],
    }
}

fn inject_repair(world: &mut World, repair: &Repair<'_>) {
    let header = Header { flags: Flags::NONE, flow_id: flow_id(world) };
    let octets = Message::Repair(*repair).to_octets(&header);
    world.inject_forth(csf_address(), &octets);
}

//~ CREM, Configuration Changes: c3c03329 ea1c9932
//~ CREM, Cauchy Code: f0a922de
#[test]
fn repair_messages_that_contradict_the_flow_are_refused() {
    let mut world = with_a_gap(Order::Pass);
    let good = good_repair();
    let bad = [
        ("an unknown configuration", Repair { config_id: 2, ..good }),
        ("another scheme", Repair { scheme: Scheme::XOR, ..good }),
        ("an unknown scheme", Repair { scheme: Scheme(99), ..good }),
        ("k above the configuration's", Repair { k: 9, ..good }),
        ("T too small", Repair { symbol: &[7; 311], ..good }),
        ("T too large", Repair { symbol: &[7; 313], ..good }),
        ("index + k above 255", Repair { index: 248, ..good }),
        ("nothing present", Repair { present: Bitmap::EMPTY, ..good }),
        (
            "a lost source that isn't present",
            Repair { present: Bitmap::first(4), lost: Some(Bitmap::first(5)), session_id: 1, ..good },
        ),
        ("an empty set", Repair { lost: Some(Bitmap::EMPTY), session_id: 1, ..good }),
        ("a retransmission without session", Repair { lost: Some(Bitmap::first(3)), ..good }),
        ("an ordinary symbol with session", Repair { session_id: 9, ..good }),
        (
            "a copy of an absent position",
            Repair { scheme: Scheme::SOURCE_COPY, index: 9, session_id: 1, ..good },
        ),
        ("a copy nobody asked for", Repair { scheme: Scheme::SOURCE_COPY, index: 1, ..good }),
        ("a block far ahead", Repair { block_start: FIRST.plus(1 << 20), ..good }),
    ];
    for (n, (what, repair)) in bad.iter().enumerate() {
        inject_repair(&mut world, repair);
        assert_eq!(world.crf.stats().refused, n as u64 + 1, "{what}");
    }
    assert_eq!((world.crf.stats().repairs, world.crf.stats().restored), (0, 0));
    inject_repair(&mut world, &Repair { index: 247, ..good });
    assert_eq!(world.crf.stats().repairs, 1, "index + k = 255 is right");
    for (what, repair) in [
        ("overlapping", Repair { block_start: FIRST.plus(4), ..good }),
        ("the same block with another k", Repair { k: 7, present: Bitmap::first(7), ..good }),
        ("with other packets present", Repair { present: Bitmap::first(7), ..good }),
    ] {
        let before = world.crf.stats().refused;
        inject_repair(&mut world, &repair);
        assert_eq!(world.crf.stats().refused, before + 1, "{what}");
    }
}

#[test]
fn only_the_flows_own_address_and_identifier_are_listened_to() {
    let mut world = with_a_gap(Order::Pass);
    let id = flow_id(&world);
    let octets = Message::Repair(good_repair()).to_octets(&Header { flags: Flags::NONE, flow_id: id });
    let elsewhere = SocketAddr::new(IpAddr::V4(world::SENDER), PORT + 1);
    let stranger = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9)), PORT);
    world.inject_forth(elsewhere, &octets);
    world.inject_forth(stranger, &octets);
    let wrong = FlowId(id.0 ^ 1);
    let octets = Message::Repair(good_repair()).to_octets(&Header { flags: Flags::NONE, flow_id: wrong });
    world.inject_forth(csf_address(), &octets);
    assert_eq!((world.crf.stats().refused, world.crf.stats().repairs), (3, 0));

    let request = RepairRequest::Ranges(RangeRequest {
        request_id: 1,
        ranges: vec![PsnRange { start: FIRST, count: 8 }],
    });
    let request = Message::RepairRequest(request).to_octets(&Header { flags: Flags::NONE, flow_id: id });
    world.inject_back(stranger, &request);
    assert_eq!((world.csf.stats().refused, world.csf.stats().answered), (1, 0));
    world.inject_back(crf_address(), &request);
    assert_eq!(world.csf.stats().answered, 1);
}

/// A repair symbol that decodes to octets that are no packet: all of the block's symbols are dropped, nothing is delivered,
/// and what really was lost still comes back.
//~ CREM, Source Blocks: 0420d695
//~ CREM, Security: 61fda37a 823e2359
#[test]
fn symbols_that_decode_to_no_valid_packet_do_no_harm() {
    let mut world = with_a_gap(Order::Hold);
    for index in 0..3 {
        inject_repair(&mut world, &Repair { index, ..good_repair() });
    }
    assert_eq!(world.crf.stats().restored, 0);
    assert!(world.crf.stats().invalid > 0);
    let before = world.received.len();
    assert_eq!(before, 1, "the packets behind the gap are still held");
    world.set_channel(losing([]));
    world.run_for(10 * DELAY);
    world.assert_intact();
    assert_eq!(world.received.len(), 16);
    assert_eq!(world.order(), (0..16).map(|n| FIRST.plus(n).value()).collect::<Vec<_>>());
}

/// What only protection of the messages themselves prevents: somebody who knows the flow, can write to the path with the sender's
/// address and computes valid symbols has the receiver function restore packets of his making. The ICRC is no
/// secret.
//~ CREM, Security: 61fda37a 823e2359
#[test]
fn a_forger_on_the_path_can_have_packets_delivered() {
    let mut world = with_a_gap(Order::Pass);
    let forged: Vec<_> = [1u32, 2, 5]
        .map(|n| {
            let bth = wire::roce::Bth::new(wire::roce::Opcode::WRITE_MIDDLE, world::QP, FIRST.plus(n));
            world::packet(&bth, b"not what was sent", ((FIRST.value() + n) % 65536) as u16)
        })
        .to_vec();
    let symbols: Vec<Vec<u8>> = (0..8u32)
        .map(|n| {
            let packet = match n {
                1 => forged[0].clone(),
                2 => forged[1].clone(),
                5 => forged[2].clone(),
                _ => write(FIRST.plus(n)),
            };
            let mut symbol = u16::try_from(packet.payload.len()).unwrap().to_be_bytes().to_vec();
            symbol.extend_from_slice(&packet.payload);
            symbol.resize(312, 0);
            symbol
        })
        .collect();
    let sources: Vec<&[u8]> = symbols.iter().map(Vec::as_slice).collect();
    for index in 0..3 {
        let mut symbol = vec![0; 312];
        encode(Kernel::best(), Code::Cauchy, index, &[0, 1, 2, 3, 4, 5, 6, 7], &sources, &mut [&mut symbol]);
        inject_repair(&mut world, &Repair { index, symbol: &symbol, ..good_repair() });
    }
    assert_eq!(world.crf.stats().restored, 3);
    for packet in &forged {
        assert!(
            world.received.contains(packet),
            "delivered: only IPsec ESP, or a closed domain, prevents this"
        );
    }
}

//~ CREM, Coded Retransmission: 92b27ad9
//~ CREM, Message Formats: 4555a71c c5cf3ad9
#[test]
fn request_floods_get_one_answer_per_block_and_round_trip() {
    let mut world = with_a_gap(Order::Pass);
    let header = Header { flags: Flags::NONE, flow_id: flow_id(&world) };
    let before = *world.csf.stats();
    for n in 1..20_000u16 {
        let block = BlockRequest {
            config_id: 1,
            scheme: Scheme::CAUCHY,
            k: 8,
            repairs_held: 0,
            block_start: FIRST,
            suggested: 255,
            request_id: n,
            lost: Bitmap::first(8),
        };
        let ranges = vec![PsnRange { start: FIRST, count: 255 }; 300];
        let request = if n % 50 == 0 {
            RepairRequest::Ranges(RangeRequest { request_id: n, ranges })
        } else {
            RepairRequest::Block(block)
        };
        let octets = Message::RepairRequest(request).to_octets(&header);
        world.inject_back(crf_address(), &octets);
    }
    let stats = *world.csf.stats();
    assert!(stats.answered - before.answered <= 2, "{stats:?}");
    assert!(stats.retransmissions <= 16, "at most X symbols for each of two blocks");
    assert!(stats.too_soon > 19_000);
}

#[test]
fn requests_that_contradict_the_block_are_refused() {
    let mut world = with_a_gap(Order::Pass);
    let header = Header { flags: Flags::NONE, flow_id: flow_id(&world) };
    let good = BlockRequest {
        config_id: 1,
        scheme: Scheme::CAUCHY,
        k: 8,
        repairs_held: 0,
        block_start: FIRST,
        suggested: 1,
        request_id: 3,
        lost: Bitmap::first(1),
    };
    let bad = [
        BlockRequest { config_id: 2, ..good },
        BlockRequest { scheme: Scheme::XOR, ..good },
        BlockRequest { k: 9, ..good },
        BlockRequest { block_start: FIRST.plus(1), ..good },
        BlockRequest { lost: Bitmap::EMPTY, ..good },
        BlockRequest { request_id: 0, ..good },
    ];
    for (n, request) in bad.into_iter().enumerate() {
        let octets = Message::RepairRequest(RepairRequest::Block(request)).to_octets(&header);
        world.inject_back(crf_address(), &octets);
        assert_eq!(world.csf.stats().refused, n as u64 + 1, "{request:?}");
    }
    let unknown = BlockRequest { block_start: FIRST.plus(1 << 20), ..good };
    let octets = Message::RepairRequest(RepairRequest::Block(unknown)).to_octets(&header);
    world.inject_back(crf_address(), &octets);
    assert_eq!((world.csf.stats().unanswerable, world.csf.stats().answered), (1, 0));
    // M is at most X, whatever is suggested.
    let greedy = BlockRequest { suggested: 200, lost: Bitmap::first(3), ..good };
    let octets = Message::RepairRequest(RepairRequest::Block(greedy)).to_octets(&header);
    world.inject_back(crf_address(), &octets);
    assert_eq!((world.csf.stats().answered, world.csf.stats().retransmissions), (1, 3));
}

/// Memory at its bounds: the window of PSNs, the repair symbols.
#[test]
fn the_window_bounds_what_is_held() {
    let crf = CrfConfig { max_open_blocks: 4, max_k: 8, ..crf_config(Order::Hold) };
    let mut world = World::established(csf(), crf, FIRST, |leg, octets| {
        let lost = leg == Leg::Forth || leg == Leg::Source && octets[11] % 64 == 3;
        if lost { Fate::Lost } else { Fate::Arrives }
    });
    world.burst(FIRST, 256);
    world.run_for(DELAY + 256_000);
    let stats = *world.crf.stats();
    assert_eq!(stats.given_up, 4, "{stats:?}");
    let order = world.order();
    assert!(order.windows(2).all(|pair| pair[0] < pair[1]), "what was held came out in order");
    assert!(order.len() >= 252 - 32);
}

#[test]
fn repair_symbols_of_the_oldest_block_make_room() {
    let crf = CrfConfig { repair_symbols: 4, ..crf_config(Order::Pass) };
    let lost: Vec<u32> =
        (0..4).flat_map(|block| (0..4).map(move |n| FIRST.plus(8 * block + n).value())).collect();
    let config = CsfConfig { prior_loss: 8e-3, loss_memory: 1 << 30, ..csf() };
    let mut world = World::established(config, crf, FIRST, losing(lost));
    world.burst(FIRST, 32);
    world.run_for(40 * DELAY);
    world.assert_intact();
    assert!(world.crf.stats().crowded_out > 0);
    let given_up = usize::try_from(world.crf.stats().given_up).unwrap();
    assert!(given_up < 16, "some blocks still decode");
    assert_eq!(world.received.len(), 32 - given_up, "the rest is left to the transport");
}

#[test]
fn a_jump_beyond_the_window_starts_anew() {
    let mut world = World::established(csf(), crf_config(Order::Hold), FIRST, losing([]));
    world.burst(FIRST, 10);
    world.run_for(DELAY * 2);
    for n in 0..5 {
        let packet = write(FIRST.plus((1 << 22) + n));
        if world.crf.source(&packet.packet(), world.time(), &mut Nothing) == crem::crf::Verdict::Pass {
            world.received.push(packet);
        }
    }
    assert_eq!((world.crf.stats().jumps, world.received.len()), (1, 15));
}

struct Nothing;
impl crem::Transmit for Nothing {
    fn transmit(&mut self, _: &crem::FlowKey, _: SocketAddr, _: &[u8]) {}
}
impl crem::Deliver for Nothing {
    fn deliver(&mut self, _: &crem::Packet<'_>) {}
}

/// A valid message with some octets changed, or any octets.
fn mutations() -> impl Strategy<Value = Vec<(u8, u16, u8, u8)>> {
    prop::collection::vec(any::<(u8, u16, u8, u8)>(), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 100 } else { 3000 }))]

    /// Messages of a real exchange, mutated and replayed at both functions in the middle of it: no panic, no packet that wasn't
    /// sent, and a message that is left alone still works.
    #[test]
    fn mutated_messages_do_no_harm(mutations in mutations(), seed in any::<u64>()) {
        let order = if seed % 2 == 0 { Order::Hold } else { Order::Pass };
        let config = CsfConfig { prior_loss: if seed % 3 == 0 { 0.0 } else { 1e-2 }, reporters: vec![IpAddr::V4(world::RECEIVER)], ..csf() };
        let mut count = seed;
        let mut world = World::established(config, crf_config(order), FIRST, move |leg, _| {
            count = count.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if leg == Leg::Source && count >> 59 == 0 { Fate::Lost } else { Fate::Arrives }
        });
        let mut psn = FIRST;
        for (which, offset, value, burst) in mutations {
            world.burst(psn, u32::from(burst % 32));
            psn = psn.plus(u32::from(burst % 32));
            world.run_for(DELAY / 4);
            let mut seen = world.seen[usize::from(which) * 7 % world.seen.len()].clone();
            let offset = usize::from(offset) % seen.octets.len().min(40);
            seen.octets[offset] ^= value;
            if value % 5 == 0 {
                seen.octets.truncate(offset);
            }
            if value % 2 == 0 {
                world.inject_forth(csf_address(), &seen.octets);
            } else {
                world.inject_back(crf_address(), &seen.octets);
            }
        }
        world.run_for(30 * DELAY);
        // A changed symbol can change what the ICRC leaves out: FECN, BECN and the six bits beside them.
        for packet in &mut world.received {
            packet.payload[4] = 0;
        }
        world.assert_intact();
        prop_assert!(world.crf.memory() <= 1 << 30);
    }

    #[test]
    fn any_packet_and_any_datagram_can_be_shown(octets in prop::collection::vec(any::<u8>(), 0..80), crem in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut world = World::established(csf(), crf_config(Order::Hold), FIRST, losing([]));
        let packet = world::Owned { addresses: world::addresses(), ip: crem::IpFields::default(), payload: octets };
        let now = world.time();
        world.csf.source(&packet.packet(), now, &mut Nothing);
        world.csf.reverse(&packet.packet(), now);
        world.crf.source(&packet.packet(), now, &mut Nothing);
        world.inject_forth(csf_address(), &crem);
        world.inject_back(crf_address(), &crem);
        world.run_for(10 * DELAY);
    }
}
