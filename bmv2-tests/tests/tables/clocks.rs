//! What depends on the time, at its edges: intervals, a clock that goes backwards, epochs and the wrap of the 32 bits of
//! microseconds that name them, how long PSNs are held.

use bmv2_tests::cases::Bed;
use bmv2_tests::entries;
use bmv2_tests::frames::{Data, PathReport};

use crate::bench::{Bench, QUEUE, current};

/// Microseconds: longer than any test.
const FOR_EVER: u32 = 600_000_000;

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

const INTERVAL_US: u64 = 500;
/// When the clock of a test begins, ns.
const BEGIN_NS: u64 = 1_000_000_000;

/// One kind of report each: what is refused, what is advised, what is reported because it leaves another one behind.
struct Reported {
    kind: u64,
    data: Data,
    behind: bool,
}

const KINDS: [Reported; 3] = [
    Reported { kind: 2, data: Data::roce(1400, 7, 1), behind: false },
    Reported { kind: 3, data: Data::roce(100, 7, 1), behind: false },
    Reported { kind: 1, data: Data::unscheduled(64), behind: true },
];

impl Reported {
    fn bench(&self) -> Bench {
        let interval = u32::try_from(INTERVAL_US).unwrap();
        let more = vec![
            entries::path_report(interval),
            entries::rate_advice(interval, 0),
            entries::source_rate(0, (0, 0), 5),
        ];
        let more = if self.behind { Vec::new() } else { more };
        Bench::new(&Bed { b_th: 50, q_max: 1000, report_interval: interval, more, ..Bed::default() })
    }

    /// Gives the switch its packet, so that what may be reported happens at this time; returns how many reports of its kind have
    /// been sent.
    fn at(&self, bench: &mut Bench, at_us: u64) -> u64 {
        bench.now_ns = BEGIN_NS + at_us * 1000 - if self.behind { 20_000 } else { 10_000 };
        bench.enters(&self.data);
        if self.behind {
            bench.enters(&self.data);
        }
        bench.drain();
        let counter = bench.switch().program().counter("reports_sent").unwrap();
        bench.switch().counter(counter, self.kind << 12 | QUEUE).unwrap().packets
    }
}

/// RDCC, CREM and SCONE: at most one report per interval, so none after exactly one: the clock counts whole microseconds, and
/// a difference of n can be a little less than n.
#[test]
fn an_interval_is_over_after_it_and_not_with_it() {
    for kind in KINDS {
        let mut bench = kind.bench();
        assert_eq!(kind.at(&mut bench, 1000), 1, "kind {}", kind.kind);
        assert_eq!(kind.at(&mut bench, 1000 + INTERVAL_US), 1, "kind {}: with it", kind.kind);
        assert_eq!(kind.at(&mut bench, 1000 + INTERVAL_US + 1), 2, "kind {}: after it", kind.kind);
    }
}

/// BMv2's egress threads read the clock before they take the lock of a slot: the second may have read it first. A time before the
/// last report's is no interval later.
#[test]
fn a_clock_that_was_read_earlier_is_within_the_interval() {
    for kind in KINDS {
        let mut bench = kind.bench();
        assert_eq!(kind.at(&mut bench, 100_000), 1, "kind {}", kind.kind);
        for earlier in [1, INTERVAL_US, INTERVAL_US + 1, 50_000] {
            assert_eq!(kind.at(&mut bench, 100_000 - earlier), 1, "kind {}: {earlier} before", kind.kind);
        }
        assert_eq!(kind.at(&mut bench, 100_000 + INTERVAL_US + 1), 2, "kind {}: after it", kind.kind);
    }
}

/// Epochs are named by 32 bits of microseconds, which wrap after 71 minutes: an epoch that lasts over the wrap goes on, and ends as any other.
#[test]
fn an_epoch_goes_on_over_the_wrap_of_its_clock() {
    let interval = 1000;
    let epoch_us = 256 * u64::from(interval);
    let mut bench = Bench::new(&Bed { report_interval: interval, ..Bed::default() });
    let flow = |flow: u16| Data { ports: (0xc000 + flow, 4791), ..Data::scheduled(64) };
    // Half of the flows enter before the wrap, half after it.
    bench.now_ns = ((1 << 32) - 90) * 1000;
    let begun = bench.now_ns / 1000 + 10;
    for number in 0..16 {
        bench.enters(&flow(number));
        bench.drain();
    }
    assert!(bench.now_ns / 1000 > 1 << 32);
    assert_eq!(bench.register("flow_epoch") >> 16, begun);
    assert_eq!(bench.register("flow_counts"), 16 << 16);
    bench.now_ns = (begun + epoch_us) * 1000 - 10_000;
    bench.enters(&flow(16));
    assert_eq!(bench.register("flow_counts"), 17 << 16, "an epoch lasts that long");
    bench.enters(&flow(0));
    assert_eq!(bench.register("flow_counts"), (1 << 16) + 17, "and not longer");
    assert_eq!(bench.register("flow_epoch") >> 16, (begun + epoch_us + 10) & 0xffff_ffff);
}

/// Sources are counted in the epochs of flows: what is older than one isn't counted, what is older than two not even as the previous
/// one's.
#[test]
fn sources_are_counted_in_the_epochs_of_flows() {
    let interval = 1000;
    let epoch_us = 256 * u64::from(interval);
    let advice = vec![entries::rate_advice(FOR_EVER, 0)];
    let mut bench = Bench::new(&Bed { report_interval: interval, ..Bed::with(&[], advice) });
    let source = |host: u8| Data { src: 100 + host, ..Data::roce(64, 5, 1) };
    let counts = |bench: &mut Bench| bench.register("source_counts") & 0xffff_ffff;
    for host in 0..16 {
        bench.enters(&source(host));
        bench.drain();
    }
    assert_eq!(counts(&mut bench), 16 << 16);
    let begun = bench.register("flow_epoch") >> 16;
    assert_eq!(bench.register("source_counts") >> 32, begun);
    bench.now_ns = (begun + epoch_us) * 1000 - 10_000;
    bench.enters(&source(16));
    assert_eq!(counts(&mut bench), 17 << 16, "an epoch lasts that long");
    bench.enters(&source(0));
    assert_eq!(counts(&mut bench), (1 << 16) + 17, "and not longer");
    let begun = bench.register("flow_epoch") >> 16;
    assert_eq!(bench.register("source_counts") >> 32, begun);
    bench.now_ns = (begun + 2 * epoch_us + 1) * 1000 - 10_000;
    bench.enters(&source(0));
    assert_eq!(counts(&mut bench), 1 << 16, "after silence nothing is known");
    // The same source twice is one.
    bench.enters(&source(0));
    assert_eq!(counts(&mut bench), 1 << 16);
}

/// A report interval of 0 is none: flows are counted all the same.
#[test]
fn without_an_interval_epochs_end_by_their_packets() {
    let mut bench = Bench::new(&Bed { report_interval: 0, ..Bed::default() });
    let flow = |flow: u16| Data { ports: (0xc000 + flow, 4791), ..Data::scheduled(64) };
    for number in 0..16 {
        bench.enters(&flow(number));
        bench.drain();
    }
    assert_eq!(bench.register("flow_counts"), 16 << 16);
}

/// PSNs are held for 4,096 x 1,024 us, some 4 s: a CSF has given up by then. Those that are too old are counted, not named.
#[test]
fn held_psns_grow_too_old_to_be_named() {
    // A multiple of 1,024 us.
    let held_us = BEGIN_NS / 1000 / 1024 * 1024 + 1024;
    let drop = |psn| Data::roce(1400, 7, psn);
    for (after, held) in [(4096, vec![2]), (4097, Vec::new())] {
        let mut bench = Bench::new(&Bed {
            b_th: 900,
            q_max: 1000,
            more: vec![entries::path_report(FOR_EVER)],
            ..Bed::default()
        });
        let at = |bench: &mut Bench, at_us: u64, psn| {
            bench.now_ns = at_us * 1000 - 10_000;
            bench.enters(&drop(psn));
            bench.drain().remove(&1).unwrap_or_default()
        };
        let first = PathReport::first(drop(1), 1);
        assert_eq!(at(&mut bench, held_us - 1, 1), [first.frame()]);
        assert!(at(&mut bench, held_us, 2).is_empty());
        bench.write(&[entries::path_report(0)]);
        let wanted = PathReport { lost: 2, held: held.clone(), ..PathReport::first(drop(3), 1) };
        assert_eq!(at(&mut bench, held_us + after * 1024, 3), [wanted.frame()], "after {after} units");
        let counter = bench.switch().program().counter("reports_suppressed").unwrap();
        let unnamed = bench.switch().counter(counter, 2 << 12 | QUEUE).unwrap().packets;
        assert_eq!(unnamed, u64::from(held.is_empty()));
    }
}
