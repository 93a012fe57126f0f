//! What no burst can reach on a switch of whole packets: every edge of every degree, every edge of every delay bin, and how
//! many flows and sources are seen. The compiled program runs in softswitch; depths are set through its registers.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::collections::{BTreeMap, BTreeSet};

use bmv2_tests::cases::Bed;
use bmv2_tests::entries::{self, mapped};
use bmv2_tests::frames::{Data, Mark, host_address};
use bmv2_tests::program::{CPU_PORT, Program};
use bmv2_tests::setup::{Entry, updates};
use softswitch::runtime::Runtime;
use softswitch::{Packet, Switch, SwitchConfig};

const PORT: u16 = 2;
/// The index of its data queue.
const QUEUE: u64 = (PORT as u64) << 3;

struct Bench {
    runtime: Runtime,
    program: Program,
    now_ns: u64,
}

impl Bench {
    fn new(bed: &Bed) -> Bench {
        let program = Program::load().unwrap();
        let config = SwitchConfig { priority_queues: 8, cpu_port: Some(CPU_PORT), ..SwitchConfig::default() };
        let runtime = Runtime::with_pipeline(1, config, program.pipeline()).unwrap();
        let mut bench = Bench { runtime, program, now_ns: 1_000_000_000 };
        bench.write(&bed.setup().entries);
        bench
    }

    fn write(&mut self, entries: &[Entry]) {
        let updates = updates(entries, &self.program).unwrap();
        let outcomes = self.runtime.apply(&updates).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.canonical_code == 0), "{outcomes:?}");
    }

    fn switch(&mut self) -> &mut Switch {
        self.runtime.switch_mut().unwrap()
    }

    fn enters(&mut self, data: &Data) {
        self.now_ns += 10_000;
        let now_ns = self.now_ns;
        self.switch().ingress(1, Packet::new(data.sent()), now_ns);
    }

    /// The next packet of a port, so many microseconds later.
    fn leaves(&mut self, port: u16, after_us: u64) -> Option<Vec<u8>> {
        self.now_ns += after_us * 1000;
        let now_ns = self.now_ns;
        self.switch().dequeue(port, now_ns)?.packet.map(|packet| packet.to_octets())
    }

    /// All that leaves, clones on their way included.
    fn drain(&mut self) -> BTreeMap<u16, Vec<Vec<u8>>> {
        let mut left = BTreeMap::<u16, Vec<Vec<u8>>>::new();
        loop {
            let next = self.switch().active_ports().next();
            let Some(port) = next else { return left };
            left.entry(port).or_default().extend(self.leaves(port, 0));
        }
    }

    fn register(&mut self, name: &str) -> u64 {
        let register = self.switch().program().register(name).unwrap();
        self.switch().register(register, QUEUE).unwrap().to_u64().unwrap()
    }

    fn set_register(&mut self, name: &str, value: u64) {
        let register = self.switch().program().register(name).unwrap();
        self.switch().set_register(register, QUEUE, &value.into()).unwrap();
    }
}

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

/// Of n flows that fall into M slots by chance, about M (1 - (1 - 1/M)^n) are seen.
fn expected(slots: f64, flows: f64) -> f64 {
    slots * (1.0 - (1.0 - 1.0 / slots).powf(flows))
}

/// The upper half of the counts is this epoch's.
fn current(counts: u64) -> u64 {
    counts >> 16 & 0xffff
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

/// An epoch lasts for 256 report intervals, but no longer than 2^30 us: 2^24 us x 256 would be 0 in 32 bits. The other side:
/// what is older than an epoch isn't counted, what is older than two not even as the previous one's.
#[test]
fn epochs_of_long_intervals_neither_end_at_once_nor_last_for_ever() {
    for interval in [1000, 1 << 22, 1 << 24, 60_000_000] {
        let epoch_us = u64::from(interval).min(1 << 22) << 8;
        let mut bench = Bench::new(&Bed { report_interval: interval, ..Bed::default() });
        let flow = |flow: u16| Data { ports: (0xc000 + flow, 4791), ..Data::scheduled(64) };
        for number in 0..16 {
            bench.enters(&flow(number));
            bench.drain();
        }
        assert_eq!(current(bench.register("flow_counts")), 16, "{interval}");
        // The clock is at 160 us of the epoch, and each packet enters 10 us after the one before.
        let begun = bench.register("flow_epoch") >> 16;
        let at = |age: u64| (begun + age) * 1000 - 10_000;
        bench.now_ns = at(epoch_us);
        bench.enters(&flow(16));
        assert_eq!(bench.register("flow_counts"), 17 << 16, "{interval}: an epoch lasts that long");
        bench.now_ns = at(epoch_us + 1);
        bench.enters(&flow(0));
        assert_eq!(bench.register("flow_counts"), (1 << 16) + 17, "{interval}: and not longer");
        let begun = bench.register("flow_epoch") >> 16;
        bench.now_ns = (begun + 2 * epoch_us + 1) * 1000 - 10_000;
        bench.enters(&flow(0));
        assert_eq!(bench.register("flow_counts"), 1 << 16, "{interval}: after silence nothing is known");
    }
}

/// An epoch ends with its 4,096th packet.
#[test]
fn an_epoch_has_so_many_packets_and_not_one_more() {
    let mut bench = Bench::new(&Bed { report_interval: 10_000_000, ..Bed::default() });
    let flow = |flow: u16| Data { ports: (0xc000 + flow, 4791), ..Data::scheduled(64) };
    for number in 0..4096 {
        bench.enters(&flow(number % 8));
        bench.drain();
    }
    assert_eq!(bench.register("flow_counts"), 8 << 16);
    bench.enters(&flow(0));
    assert_eq!(bench.register("flow_counts"), (1 << 16) + 8);
}

/// RDCC, CREM and SCONE: at most one report per interval, so none after exactly one: the clock counts whole microseconds, and
/// a difference of n can be a little less than n.
#[test]
fn an_interval_is_over_after_it_and_not_with_it() {
    const INTERVAL_US: u64 = 500;
    let interval = u32::try_from(INTERVAL_US).unwrap();
    let more = vec![
        entries::path_report(interval),
        entries::rate_advice(interval, 0),
        entries::source_rate(0, (0, 0), 5),
    ];
    let reports = |bench: &mut Bench, kind: u64| {
        let counter = bench.switch().program().counter("reports_sent").unwrap();
        bench.switch().counter(counter, kind << 12 | QUEUE).unwrap().packets
    };
    // What is refused, what is advised, what is reported because it leaves another one behind.
    let refused = Data::roce(1400, 7, 1);
    let advised = Data::roce(100, 7, 1);
    let congested = Data::unscheduled(64);
    for (kind, data, behind) in [(2, refused, false), (3, advised, false), (1, congested, true)] {
        let bed =
            Bed { b_th: 50, q_max: 1000, report_interval: interval, more: more.clone(), ..Bed::default() };
        let bed = if behind { Bed { more: Vec::new(), ..bed } } else { bed };
        let mut bench = Bench::new(&bed);
        let once = |bench: &mut Bench, at_us: u64| {
            bench.now_ns = 1_000_000_000 + at_us * 1000 - if behind { 20_000 } else { 10_000 };
            bench.enters(&data);
            if behind {
                bench.enters(&data);
            }
            bench.drain();
            reports(bench, kind)
        };
        assert_eq!(once(&mut bench, 1000), 1, "kind {kind}");
        assert_eq!(once(&mut bench, 1000 + INTERVAL_US), 1, "kind {kind}: with it");
        assert_eq!(once(&mut bench, 1000 + INTERVAL_US + 1), 2, "kind {kind}: after it");
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
