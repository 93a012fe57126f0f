//! The two experiments of the project in small: eight senders to one receiver, and sixteen pairs over one uplink.

#![allow(clippy::unwrap_used, reason = "tests")]

mod fabric;

use fabric::{Bottleneck, CRN, Fabric, UNIT};
use rdcc::receiver::{Hear, ReceiverConfig};
use wire::units::{MbitPerSec, Nanos, Octets};

const LINK: MbitPerSec = MbitPerSec(100_000);
const MIB: u64 = 1 << 20;

fn receiver(rtt: Nanos, reports: bool) -> ReceiverConfig {
    let mut config = ReceiverConfig::new(LINK, rtt, Octets(UNIT));
    config.hear = Hear { reports, ecn: false, delay: false };
    config.crn_addresses = vec![CRN];
    config.report_interval = Nanos(10_000);
    config
}

struct Figures {
    peak: u64,
    mean: u64,
    utilisation: f64,
    slowdown_p99: f64,
    reports: [u64; 2],
}

fn batches(
    fabric: &mut Fabric,
    pairs: &[(usize, usize)],
    lengths: &[(u64, bool)],
    ideal: Nanos,
    count: u64,
) -> Figures {
    let mut slowdowns = Vec::new();
    let (mut peak, mut mean, mut utilisation) = (0, 0, 0.0);
    for batch in 0..count {
        let start = fabric.now;
        fabric.reset_queue_figures();
        for &(from, to) in pairs {
            for (kind, &(length, unscheduled)) in lengths.iter().enumerate() {
                fabric.submit(from, to, length, unscheduled, batch * 10 + kind as u64);
            }
        }
        fabric.run_until_complete(Nanos(start.0 + 1_000_000_000));
        assert_eq!(fabric.completed.len(), fabric.started.len(), "batch {batch}");
        let end = fabric.now;
        peak = peak.max(fabric.peak);
        mean += fabric.mean_queue(start);
        utilisation += fabric.delivered_on_link as f64 * 8.0 / ((end - start).0 as f64 * 100.0);
        for (&(_, tag), &done) in &fabric.completed {
            if tag == batch * 10 {
                slowdowns.push((done - start).0 as f64 / ideal.0 as f64);
            }
        }
        fabric.run_until(Nanos(end.0 + 50_000));
    }
    slowdowns.sort_by(f64::total_cmp);
    let slowdown_p99 = slowdowns[slowdowns.len() * 99 / 100];
    let figures = Figures {
        peak,
        mean: mean / count,
        utilisation: utilisation / count as f64,
        slowdown_p99,
        reports: fabric.reports,
    };
    println!(
        "peak {} mean {} utilisation {:.4} p99 slowdown {:.4} (p50 {:.4}) reports {:?} drops {} control {:?}",
        figures.peak,
        figures.mean,
        figures.utilisation,
        figures.slowdown_p99,
        slowdowns[slowdowns.len() / 2],
        figures.reports,
        fabric.drops,
        fabric.control,
    );
    println!("receiver 0: {:?}", fabric.receivers[0].stats());
    figures
}

fn incast(reports: bool, count: u64) -> Figures {
    let rtt = Nanos(8_000);
    let bottleneck =
        Bottleneck { rate: LINK, b_th: 100_000, q_max: 1_000_000, report_interval: Nanos(10_000) };
    let mut fabric = Fabric::new(8, vec![receiver(rtt, reports)], rtt, bottleneck);
    fabric.associate(|_| 0);
    let pairs: Vec<_> = (0..8).map(|sender| (sender, 0)).collect();
    let ideal = LINK.transmission_time(Octets(8 * (MIB + 256 * 98))).unwrap() + rtt;
    let figures = batches(&mut fabric, &pairs, &[(MIB, false), (2048, true)], ideal, count);
    assert_eq!(fabric.drops, 0);
    figures
}

/// Issue "Incast end to end", incast-8to1: utilisation, completion and queue.
#[test]
fn eight_to_one_keeps_the_link_busy_and_the_queue_short() {
    for reports in [false, true] {
        let figures = incast(reports, 5);
        assert!(figures.utilisation >= 0.95);
        assert!(figures.slowdown_p99 <= 1.1);
        // 1 BDP + G_u.
        assert!(figures.peak <= 150_000);
    }
}

fn uplink(reports: bool, count: u64) -> Figures {
    let rtt = Nanos(12_000);
    let bottleneck =
        Bottleneck { rate: LINK, b_th: 150_000, q_max: 4_000_000, report_interval: Nanos(10_000) };
    let mut config = receiver(rtt, reports);
    config.unscheduled_limit = Octets(16 * 1024);
    let mut fabric = Fabric::new(16, vec![config; 16], rtt, bottleneck);
    fabric.associate(|sender| sender);
    let pairs: Vec<_> = (0..16).map(|sender| (sender, sender)).collect();
    let ideal = LINK.transmission_time(Octets(16 * (MIB + 256 * 98))).unwrap() + rtt;
    let figures = batches(&mut fabric, &pairs, &[(MIB, false), (16 * 1024, true)], ideal, count);
    if reports {
        assert_eq!(fabric.drops, 0);
    }
    figures
}

/// Issue "Incast end to end", uplink: no receiver's budget sees the bottleneck, only reports do.
#[test]
fn reports_halve_the_queue_of_a_shared_uplink() {
    let deaf = uplink(false, 5);
    let hearing = uplink(true, 5);
    assert!(hearing.mean * 2 <= deaf.mean);
    assert!(hearing.utilisation >= 0.90);
    assert!(hearing.reports[0] > 0 && hearing.reports[1] > 0);
}

fn wide(senders: usize, length: u64) -> (Figures, Nanos) {
    let rtt = Nanos(8_000);
    let bottleneck =
        Bottleneck { rate: LINK, b_th: 100_000, q_max: 1_000_000, report_interval: Nanos(10_000) };
    let mut fabric = Fabric::new(senders, vec![receiver(rtt, true)], rtt, bottleneck);
    fabric.audits = senders <= 128;
    fabric.associate(|_| 0);
    let pairs: Vec<_> = (0..senders).map(|sender| (sender, 0)).collect();
    let octets = length + length.div_ceil(UNIT) * 98;
    let ideal = LINK.transmission_time(Octets(senders as u64 * octets)).unwrap() + rtt;
    let figures = batches(&mut fabric, &pairs, &[(length, false)], ideal, 1);
    assert_eq!(fabric.drops, 0);
    (figures, ideal)
}

/// RDCC over more senders than link / `R_min`: they take turns, and the link stays busy.
#[test]
fn many_senders_take_turns() {
    for (senders, length) in [(32, MIB), (128, 64 * 1024), (512, 64 * 1024)] {
        println!("{senders} senders, {length} octets:");
        let (figures, _) = wide(senders, length);
        assert!(figures.utilisation >= 0.95);
        assert!(figures.slowdown_p99 <= 1.1);
        assert!(figures.peak <= 150_000);
    }
}
