//! Congestion reports at the receiver: who is believed, about what, and what follows.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{CRN, ReceiverBench, STRANGER, report, report_with, request, source, us};
use rdcc::receiver::DataArrival;
use wire::rdcc::{
    AssociationId, CongestionReport, CreditRequest, Direction, Flags, FlowAddresses, Message, RoceBinding,
};
use wire::units::{MbitPerSec, Nanos};

const MIB: u64 = 1 << 20;

fn bench(senders: u8) -> ReceiverBench {
    let mut bench = ReceiverBench::new(ReceiverBench::config());
    for sender in 1..=senders {
        bench.associate(sender, Nanos(0));
    }
    bench
}

fn ask(bench: &mut ReceiverBench, from: u8, request: CreditRequest, now: Nanos) {
    bench.give(from, &Message::CreditRequest(request), now);
}

//~ RDCC, Credit Allocation: c2b49b43
//~ RDCC, On-Path Congestion Reporting: a1d27b43 bec94080
/// RDCC, On-Path Congestion Reporting: who is believed, for whom, and that a decrease is told at once.
#[test]
fn a_report_lowers_the_rate_of_its_sender_only_and_only_from_a_configured_node() {
    let mut bench = bench(2);
    ask(&mut bench, 1, request(1, MIB, 0), us(1));
    ask(&mut bench, 2, request(1, MIB, 0), us(1));
    bench.run(us(9));
    bench.grants();
    let before = bench.receiver.stats().pacing_sum;
    let mut give = |from, report: &[u8]| {
        bench.receiver.handle_datagram(from, report, us(10));
        assert!(bench.receiver.audit());
        bench.grants().into_iter().filter(|(_, grant)| grant.pacing_rate.0 < 40_000).collect::<Vec<_>>()
    };
    assert!(give(STRANGER, &report(Direction::TO_RECEIVER, source(1), 255, 0)).is_empty());
    assert!(give(CRN, &report(Direction::TO_SENDER, source(1), 255, 0)).is_empty());
    assert!(give(CRN, &report(Direction::TO_RECEIVER, source(3), 255, 0)).is_empty());
    let lowered = give(CRN, &report(Direction::TO_RECEIVER, source(1), 255, 0));
    assert_eq!(lowered.iter().map(|&(to, _)| to).collect::<Vec<_>>(), [1]);
    let stats = bench.receiver.stats();
    assert_eq!((stats.reports_heard, stats.reports_ignored, stats.decreases), (1, 3, 1));
    assert!(stats.pacing_sum < before);
}

/// Ours: a report of degree 0 still lowers; and its Suggested Rate, which counts whole packets, caps.
#[test]
fn a_report_of_degree_zero_with_a_suggestion_caps_the_rate() {
    let mut bench = bench(1);
    ask(&mut bench, 1, request(1, MIB, 0), us(1));
    bench.run(us(9));
    bench.grants();
    bench.receiver.handle_datagram(CRN, &report(Direction::TO_RECEIVER, source(1), 0, 10_000), us(10));
    let grants = bench.grants();
    assert_eq!(grants.len(), 1);
    assert_eq!(grants[0].1.pacing_rate, MbitPerSec(10_000 * 4096 / 4194));
}

//~ RDCC, Credit Allocation: c2b49b43
/// A report counts only about a flow of the data transport from a sender to this receiver.
#[test]
fn a_report_about_another_flow_is_ignored() {
    let mut config = ReceiverBench::config();
    config.addresses = vec![peers::RECEIVER.ip()];
    let mut bench = ReceiverBench::new(config);
    bench.associate(1, Nanos(0));
    ask(&mut bench, 1, request(1, MIB, 0), us(1));
    bench.run(us(9));
    let mut heard = |change: fn(&mut CongestionReport)| {
        let before = bench.receiver.stats().reports_heard;
        let octets = report_with(Direction::TO_RECEIVER, source(1), 255, 0, change);
        bench.receiver.handle_datagram(CRN, &octets, us(10));
        bench.receiver.stats().reports_heard > before
    };
    assert!(!heard(|report| report.protocol = 6));
    assert!(!heard(|report| report.destination_port = 4790));
    assert!(!heard(|report| report.flow =
        FlowAddresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 8].into() }));
    assert!(heard(|_| {}));
}

/// The associations that are told of another rate after a report about a source port.
fn lowered(bench: &mut ReceiverBench, source_port: u16, now: Nanos) -> Vec<AssociationId> {
    while bench.receiver.poll_transmit().is_some() {}
    let octets = report_with(Direction::TO_RECEIVER, source(1), 255, 0, |report| {
        report.source_port = source_port;
    });
    bench.receiver.handle_datagram(CRN, &octets, now);
    let told = std::iter::from_fn(|| bench.receiver.poll_transmit());
    told.map(|datagram| wire::rdcc::decode(&datagram.octets).unwrap().0.association_id).collect()
}

//~ RDCC, Credit Allocation: c2b49b43
/// Two senders on one host: a report concerns the one whose data came from the flow's port, and both if that isn't known.
#[test]
fn a_report_finds_the_association_of_its_flow() {
    let mut bench = bench(1);
    let first = bench.ids[&1];
    // Another association of the same address and port, by another nonce.
    bench.request_association(1, 77, Flags::NONE, us(1));
    let Some((header, Message::AssocAccept(_))) = bench.sent(1) else { panic!() };
    let second = header.association_id;
    for (id, destination_qp) in [(first, 1), (second, 3)] {
        bench.ids.insert(1, id);
        let binding = RoceBinding { destination_qp, first_msn: 0, rdma_messages: 256 };
        let request = CreditRequest { binding_value: binding.to_value(), ..request(1, MIB, 0) };
        ask(&mut bench, 1, request, us(1));
    }
    bench.run(us(9));
    let mut both = vec![first, second];
    both.sort_unstable();
    let mut found = lowered(&mut bench, 50_001, us(10));
    found.sort_unstable();
    assert_eq!(found, both, "no data has come from anywhere");
    for (qp, source_port) in [(1, 50_001), (3, 50_003)] {
        let arrival = DataArrival { from: source(1).ip(), qp, msn: 0, octets: 4096, ce: false, source_port };
        bench.receiver.handle_data(arrival, us(30));
    }
    assert_eq!(lowered(&mut bench, 50_003, us(50)), [second]);
    assert_eq!(lowered(&mut bench, 50_001, us(70)), [first]);
}
