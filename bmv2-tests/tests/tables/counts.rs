//! How many flows and sources are seen.

use std::collections::BTreeSet;

use bmv2_tests::cases::Bed;
use bmv2_tests::entries::{self, mapped};
use bmv2_tests::frames::{Data, host_address};

use crate::bench::{Bench, current};

/// Of n flows that fall into M slots by chance, about M (1 - (1 - 1/M)^n) are seen.
fn expected(slots: f64, flows: f64) -> f64 {
    slots * (1.0 - (1.0 - 1.0 / slots).powf(flows))
}

/// Exactly as many flows are seen as have slots of their own: 126 of 128, 906 of 1,024, give or take a few.
#[test]
fn as_many_flows_are_seen_as_the_documentation_says() {
    for (flows, published) in [(1u16, 1.0), (16, 16.0), (128, 126.0), (1024, 906.0)] {
        let mut bench = Bench::new(&Bed { q_max: 10_000_000, report_interval: 10_000_000, ..Bed::default() });
        // Hosts and ports as if drawn by lot (Knuth's multiplicative hashing).
        let lot = |flow: u16| (u32::from(flow) + 1).wrapping_mul(2_654_435_761).to_be_bytes();
        let data: Vec<Data> = (0..flows)
            .map(lot)
            .map(|[a, b, host, _]| Data {
                src: host,
                ports: (0xc000 | u16::from_be_bytes([a, b]), 4791),
                ..Data::scheduled(64)
            })
            .collect();
        for data in data.iter().chain(&data) {
            bench.enters(data);
            bench.drain();
        }
        let slots: BTreeSet<u32> = data.iter().map(|data| data.flow_hash() & 0xfff).collect();
        let seen = current(bench.register("flow_counts"));
        assert_eq!(seen, slots.len() as u64, "{flows} flows");
        assert!((expected(4096.0, f64::from(flows)) - published).abs() < 1.0, "{flows}");
        assert!(
            seen <= u64::from(flows) && (seen as f64 - published).abs() <= 0.04 * published + 1.0,
            "{seen}"
        );
    }
}

/// The same for sources, of which there are fewer slots.
#[test]
fn as_many_sources_are_seen_as_the_documentation_says() {
    for (sources, published) in [(1u8, 1.0), (64, 63.0), (128, 124.0)] {
        let bed = Bed {
            q_max: 10_000_000,
            report_interval: 10_000_000,
            ..Bed::with(&[], vec![entries::rate_advice(1, 0)])
        };
        let mut bench = Bench::new(&bed);
        let data = |host| Data { src: 100 + host, ..Data::roce(64, 5, 1) };
        for host in (0..sources).chain(0..sources) {
            bench.enters(&data(host));
            bench.drain();
        }
        let slot = |host| crc32fast::hash(&mapped(host_address(host)).to_be_bytes()) & 0x7ff;
        let slots: BTreeSet<u32> = (0..sources).map(|host| slot(100 + host)).collect();
        let seen = current(bench.register("source_counts"));
        assert_eq!(seen, slots.len() as u64, "{sources} sources");
        assert!((expected(2048.0, f64::from(sources)) - published).abs() < 1.5, "{sources}");
        assert!(
            seen <= u64::from(sources) && (seen as f64 - published).abs() <= 0.06 * published + 1.0,
            "{seen}"
        );
    }
}
