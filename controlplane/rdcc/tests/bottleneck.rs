//! A sender that is the bottleneck itself: RDCC, Sender Backlog Indication and Suggested Rates.

#![allow(clippy::unwrap_used, reason = "tests")]

mod fabric;

use fabric::{Bottleneck, Fabric, SCHEDULED_QP, UNIT, receiver_address};
use rdcc::receiver::{Hear, ReceiverConfig};
use rdcc::sender::{Binding, MessageSpec};
use wire::rdcc::{MessageId, ServiceHint};
use wire::units::{MbitPerSec, Nanos, Octets};

const LINK: MbitPerSec = MbitPerSec(100_000);
const RTT: Nanos = Nanos(8_000);
const LENGTH: u64 = 16 << 20;

/// Four receivers with all of their links free for one sender: its hints divide its link.
//~ RDCC, Sender Backlog Indication and Suggested Rates: 20ac3191 ca41111e
#[test]
fn receivers_follow_the_senders_shares_within_two_round_trips() {
    let hints = [
        (ServiceHint::LATENCY_SENSITIVE, 4),
        (ServiceHint::NONE, 2),
        (ServiceHint::THROUGHPUT_ORIENTED, 1),
        (ServiceHint::THROUGHPUT_ORIENTED, 1),
    ];
    let mut config = ReceiverConfig::new(LINK, RTT, Octets(UNIT));
    config.hear = Hear::NONE;
    let bottleneck = Bottleneck { rate: LINK, b_th: 1 << 40, q_max: 1 << 41, report_interval: Nanos(10_000) };
    let mut fabric = Fabric::new(1, vec![config; 4], RTT, bottleneck);
    for to in 0..4 {
        fabric.senders[0].associate(receiver_address(to), fabric.now).unwrap();
    }
    fabric.associate(|_| 0);
    let start = fabric.now;
    for (to, &(hint, _)) in hints.iter().enumerate() {
        let binding = Binding::RoceV2 { destination_qp: SCHEDULED_QP };
        let spec = MessageSpec {
            hint,
            allow_unscheduled: false,
            ..MessageSpec::new(Octets(LENGTH), binding, to as u64)
        };
        assert_eq!(fabric.submit_spec(0, to, spec), MessageId(1));
    }
    let left = |fabric: &Fabric| {
        [0, 1, 2, 3].map(|to| fabric.senders[0].remaining(receiver_address(to), MessageId(1)).unwrap())
    };
    // A status goes out with the first grants that pass the threshold, after one round trip; two more for the answer.
    while fabric.senders[0].stats().status_sent == 0 {
        let next = fabric.next_event().unwrap();
        fabric.run_until(next);
    }
    println!("first status after {}", fabric.now - start);
    fabric.run_until(fabric.now + RTT + RTT);
    let mut mean = [0.0; 4];
    for window in 0..8 {
        let before = left(&fabric);
        fabric.run_until(fabric.now + Nanos(80_000));
        let after = left(&fabric);
        let sent = [0, 1, 2, 3].map(|to| before[to] - after[to]);
        let all: u64 = sent.iter().sum();
        let shares = sent.map(|octets| octets as f64 / all as f64);
        let used = all as f64 * 8.0 / (80_000.0 * 97.663);
        println!("{window}: {shares:.3?} of {used:.3} of the link");
        assert!(used >= 0.95, "{used}");
        for (mean, share) in mean.iter_mut().zip(shares) {
            *mean += share / 8.0;
        }
        // At once, and again and again: a suggestion expires, and the shares are found anew.
        let tolerance = if window == 0 { 0.05 } else { 0.25 };
        close(shares, hints.map(|(_, weight)| weight), tolerance);
    }
    close(mean, hints.map(|(_, weight)| weight), 0.06);
    println!("mean {mean:.3?}, {} statuses", fabric.senders[0].stats().status_sent);
}

fn close(shares: [f64; 4], weights: [i32; 4], tolerance: f64) {
    for (share, weight) in shares.iter().zip(weights) {
        let wanted = f64::from(weight) / 8.0;
        assert!((share - wanted).abs() <= tolerance * wanted, "{shares:?}");
    }
}
