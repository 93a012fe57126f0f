//! What no burst can reach on a switch of whole packets: every edge of every degree, every edge of every delay bin, how many
//! flows and sources are seen, and what depends on the time. The compiled program runs in softswitch; depths are set through
//! its registers.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod bench;
mod clocks;
mod counts;

use std::collections::{BTreeMap, BTreeSet};

use bench::{Bench, PORT};
use bmv2_tests::cases::Bed;
use bmv2_tests::entries;
use bmv2_tests::frames::{Data, Mark};
use bmv2_tests::setup::{Entry, updates};

/// The degree of the report about a packet that leaves so many octets behind; `None`: there is none.
fn degree_at(bench: &mut Bench, depth: u32) -> Option<u8> {
    let data = Data::unscheduled(64);
    bench.enters(&data);
    let stamp = bench.register("queue_enqueued");
    bench.enters(&data);
    bench.set_register("queue_enqueued", u64::from(u32::try_from(stamp).unwrap().wrapping_add(depth)));
    bench.leaves(PORT, 0).unwrap();
    // What is behind it leaves an empty queue, which sets the account right.
    let left = bench.drain();
    let report = left.get(&1)?.first()?;
    // Ethernet, IPv4, UDP and RDCC header are 58 octets; the depth stands at 4 of the body, the degree at 12.
    assert_eq!(report[62..66], depth.to_be_bytes());
    Some(report[70])
}

/// RDCC, On-Path Congestion Reporting: min(255, floor(255 (Q - `B_th`) / (`Q_max` - `B_th`))), strictly above `B_th`.
#[test]
fn every_edge_of_every_degree_of_eight_profiles() {
    let profiles: [(u32, u32); 8] = [
        (0, 255),
        (0, 1000),
        (1, 254),
        (500, 5100),
        (1500, 900_000),
        (100_000, 10_007),
        (150_000, 65_537),
        (1_000_000, 32_000_000),
    ];
    let mut bench = Bench::new(&Bed { report_interval: 1, ..Bed::default() });
    for (&(b_th, span), number) in profiles.iter().zip(10u128..) {
        let arguments = [number, b_th.into(), u32::MAX.into(), 0, 1];
        let degrees = (1..=255).map(|degree| entries::degree(number, degree, span));
        // Narrower than 255 octets, some degrees are never the result.
        let degrees = degrees.filter(|entry| !matches!(entry, Entry::Table { key, .. } if is_empty(&key[1])));
        let degrees: Vec<Entry> = degrees.collect();
        bench.write(&degrees);
        replace_profile(&mut bench, arguments);
        let least = |degree: u64| u32::try_from((degree * u64::from(span)).div_ceil(255)).unwrap();
        let edges = (1..=255).flat_map(|degree| [least(degree) - 1, least(degree)]);
        let excesses: BTreeSet<u32> =
            edges.chain([0, 1, span - 1, span, span + 1, 2 * span, 0x4000_0000]).collect();
        for excess in excesses {
            let formula = u8::try_from((255 * u64::from(excess) / u64::from(span)).min(255)).unwrap();
            let wanted = (excess > 0).then_some(formula);
            assert_eq!(degree_at(&mut bench, b_th + excess), wanted, "{excess} of {span} above {b_th}");
        }
    }
}

fn is_empty(key: &bmv2_tests::setup::Key) -> bool {
    matches!(key, bmv2_tests::setup::Key::Range(_, low, high) if low.0 > high.0)
}

/// Another profile for the queue under test.
fn replace_profile(bench: &mut Bench, arguments: [u128; 5]) {
    use p4runtime::p4::v1::update::Type;
    let entry = entries::profile(PORT, 0, arguments);
    let mut updates = updates(&[entry], &bench.program).unwrap();
    updates[0].r#type = Type::Modify.into();
    let outcomes = bench.runtime.apply(&updates).unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.canonical_code == 0), "{outcomes:?}");
}

/// Bin n holds delays from 2^n up to 2^(n+1) us; bin 0 also those below 1 us, bin 15 all from 32,768 us.
#[test]
fn every_edge_of_every_delay_bin() {
    let flow = entries::with_priority(
        1,
        "marking_flow",
        vec![entries::whole("flow_mon_id", 0x12345, 20)],
        "set_marking",
        &[5],
    );
    let mut bench = Bench::new(&Bed::with(&[], vec![flow]));
    let data = Data { option: Some(Mark::hop_by_hop(0x12345, false, true)), ..Data::scheduled(120).v6() };
    let counter = bench.switch().program().counter("delay_bins").unwrap();
    let mut counted = BTreeMap::<u64, u64>::new();
    let edges = (0..32).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit]);
    for delay in edges.chain([u64::from(u32::MAX)]) {
        bench.enters(&data);
        bench.leaves(PORT, delay).unwrap();
        *counted.entry(u64::from(delay.max(1).ilog2()).min(15)).or_default() += 1;
        for bin in 0..16 {
            let seen = bench.switch().counter(counter, 5 << 4 | bin).unwrap().packets;
            assert_eq!(seen, counted.get(&bin).copied().unwrap_or_default(), "bin {bin} after {delay} us");
        }
    }
}
