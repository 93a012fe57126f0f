//! RDCC, Transmission Mode Selection and Unscheduled Transmission.

use crate::peers::{CRN, STRANGER, SenderBench, report, source, us};
use wire::rdcc::Direction;
use wire::units::{Nanos, Octets};

//~ RDCC, Transmission Mode Selection: 7d96fb3b 992c3ffc
//~ RDCC, Sender Message State Machine: 07d60f08 7b355fbd
/// RDCC, Transmission Mode Selection: both sides of U.
#[test]
fn unscheduled_mode_ends_at_u() {
    let mut bench = SenderBench::up();
    bench.submit(16_384, true, Nanos(0));
    assert_eq!(bench.requested().unscheduled_sent, Octets(16_384));
    let mut bench = SenderBench::up();
    bench.submit(16_385, true, Nanos(0));
    assert_eq!(bench.requested().unscheduled_sent, Octets(0));
    assert!(bench.permits(Nanos(0), us(90), 9).is_empty());
}

//~ RDCC, Unscheduled Transmission: dcd81fe4 8b1d1b42 01a18bc4 24170a25
//~ RDCC, Sender Message State Machine: c32ce1b3
/// RDCC, Unscheduled Transmission, rules 1 to 3.
#[test]
fn unscheduled_data_waits_for_its_delay_follows_its_request_and_goes_alone() {
    let mut bench = SenderBench::up();
    let first = bench.submit(8192, true, Nanos(0));
    let request = bench.requested();
    assert_eq!((request.message_id, request.unscheduled_sent), (first, Octets(8192)));
    let second = bench.submit(4096, true, Nanos(0));
    assert_eq!(bench.requested().unscheduled_sent, Octets(0));
    let permits = bench.permits(Nanos(0), us(50), 9);
    assert_eq!(permits.len(), 2);
    assert!(permits.iter().all(|(at, permit)| at.0 <= 9_000 && !permit.scheduled && permit.message == first));
    assert!(permits[1].1.last && !permits[0].1.last);
    // Still outstanding after the last octet; not after MSG_DONE.
    bench.submit(4096, true, us(50));
    assert_eq!(bench.requested().unscheduled_sent, Octets(0));
    bench.done(first, 8192, us(60));
    bench.submit(4096, true, us(60));
    assert_eq!(bench.requested().unscheduled_sent, Octets(4096));
    assert_ne!(first, second);
}

//~ RDCC, Unscheduled Transmission: 5eaf5cf3 a77612f9
//~ RDCC, Sender Message State Machine: 37009f5c
//~ RDCC, On-Path Congestion Reporting: a1d27b43 bec94080
/// RDCC, Unscheduled Transmission, rule 5, and the conversion.
#[test]
fn a_report_stops_unscheduled_transmission_and_converts_the_rest() {
    let mut bench = SenderBench::up();
    let id = bench.submit(16_384, true, Nanos(0));
    bench.requested();
    let (at, _) = bench.permits(Nanos(0), us(50), 1)[0];
    // Not from a configured node; not for a sender.
    bench.sender.handle_datagram(STRANGER, &report(Direction::TO_SENDER, source(1), 9, 0), at);
    bench.sender.handle_datagram(CRN, &report(Direction::TO_RECEIVER, source(1), 9, 0), at);
    assert_eq!(bench.sender.stats().reports_ignored, 2);
    assert_eq!(bench.sent(), None);
    bench.sender.handle_datagram(CRN, &report(Direction::TO_SENDER, source(1), 9, 0), at);
    let request = bench.requested();
    assert_eq!((request.message_id, request.unscheduled_sent), (id, Octets(4096)));
    assert!(bench.permits(at, us(90), 9).is_empty());
    // The remainder goes under credit, and a new unscheduled message may start.
    bench.grant(id, 16_384, 100_000, us(91));
    let permits = bench.permits(us(91), us(99), 9);
    assert_eq!(permits.iter().map(|(_, permit)| permit.offset).collect::<Vec<_>>(), [4096, 8192, 12_288]);
    assert!(permits.iter().all(|(_, permit)| permit.scheduled));
    bench.submit(4096, true, us(99));
    assert_eq!(bench.requested().unscheduled_sent, Octets(4096));
}

//~ RDCC, Unscheduled Transmission: 5eaf5cf3
/// RDCC, Unscheduled Transmission, rule 5: a link pause does the same; and during the start delay nothing was sent.
#[test]
fn a_link_pause_converts_a_message_that_has_not_started() {
    let mut bench = SenderBench::up();
    bench.submit(16_384, true, Nanos(0));
    bench.requested();
    bench.sender.handle_link_pause(Nanos(0));
    assert_eq!(bench.requested().unscheduled_sent, Octets(0));
    assert!(bench.permits(Nanos(0), us(90), 9).is_empty());
}

//~ RDCC, Transmission Mode Selection: 932edb73
/// A message that could go unscheduled may be scheduled all the same.
#[test]
fn scheduled_mode_may_be_chosen_for_any_length() {
    let mut bench = SenderBench::up();
    bench.submit(1, false, Nanos(0));
    assert_eq!(bench.requested().unscheduled_sent, Octets(0));
    assert!(bench.permits(Nanos(0), us(90), 9).is_empty());
}
