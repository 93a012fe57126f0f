//! RDCC, Transmission Mode Selection and Unscheduled Transmission.

use crate::peers::{CRN, RECEIVER, STRANGER, SenderBench, report, report_with, source, us};
use rdcc::sender::{Binding, MessageSpec};
use wire::rdcc::{Direction, Flags, FlowAddresses, Message};
use wire::units::{Nanos, Octets, Octets32};

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

//~ RDCC, Unscheduled Transmission: 01a18bc4
/// RDCC, Unscheduled Transmission, rule 3: only `MSG_DONE` or a grant ends its being outstanding, not its cancellation.
/// Ours: it ends with the receiver's reservation, J 8 + three Lifetimes of 2000.
#[test]
fn a_cancelled_unscheduled_message_is_still_outstanding() {
    let mut bench = SenderBench::up();
    let unscheduled = |bench: &mut SenderBench, now| {
        // No queue pair: its numbers would come again, which keeps a message scheduled too.
        let spec = MessageSpec::new(Octets(4096), Binding::Opaque(9), 0);
        let id = bench.sender.submit(RECEIVER, spec, now).unwrap();
        let sent = std::iter::from_fn(|| bench.sent()).find_map(|(_, message)| match message {
            Message::CreditRequest(request) if request.message_id == id => Some(request.unscheduled_sent),
            _ => None,
        });
        (id, sent == Some(Octets(4096)))
    };
    let (first, goes) = unscheduled(&mut bench, Nanos(0));
    assert!(goes);
    bench.sender.cancel(RECEIVER, first, us(1));
    for (at, expected) in [(us(1), false), (us(6009) - Nanos(1), false), (us(6009), true)] {
        let (id, goes) = unscheduled(&mut bench, at);
        assert_eq!(goes, expected, "{at}");
        if !goes {
            bench.done(id, 4096, at);
        }
    }
    // A cancelled one that came all the same.
    let mut bench = SenderBench::up();
    let (first, _) = unscheduled(&mut bench, Nanos(0));
    bench.sender.cancel(RECEIVER, first, us(1));
    bench.done(first, 4096, us(2));
    assert!(unscheduled(&mut bench, us(2)).1);
}

//~ RDCC, Association Establishment: 968dae47
/// A lowered U stops a message that is longer: from the acknowledgment on the receiver counts on the new one.
#[test]
fn a_lowered_u_converts_the_message_under_way() {
    for (limit, converts) in [(8192, false), (8191, true)] {
        let mut bench = SenderBench::up();
        let id = bench.submit(8192, true, Nanos(0));
        bench.requested();
        let (at, _) = bench.permits(Nanos(0), us(50), 1)[0];
        bench.accept.unscheduled_limit = Octets32(limit);
        bench.give_accept(Flags::PARAMETER_UPDATE, at);
        if converts {
            let request = bench.requested();
            assert_eq!((request.message_id, request.unscheduled_sent), (id, Octets(4096)));
        }
        let Some((header, Message::AssocRequest(_))) = bench.sent() else { panic!() };
        assert!(header.flags.contains(Flags::UPDATE_ACKNOWLEDGMENT));
        assert_eq!(bench.permits(at, us(90), 9).len(), usize::from(!converts));
    }
}

//~ RDCC, Unscheduled Transmission: 5eaf5cf3
/// A report stops the messages to the receiver whose flow it names, and all of them if we have none there.
#[test]
fn a_report_stops_the_flow_that_it_names() {
    for (destination, stops) in [(5, false), (9, true), (77, true)] {
        let mut bench = SenderBench::up();
        bench.sender.associate(source(5), Nanos(0)).unwrap();
        bench.sender.poll_transmit();
        let id = bench.submit(16_384, true, Nanos(0));
        bench.requested();
        let flow =
            FlowAddresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, destination].into() };
        let octets = report_with(Direction::TO_SENDER, source(1), 9, 0, |report| report.flow = flow);
        bench.sender.handle_datagram(CRN, &octets, Nanos(0));
        let asked = bench.sent().map(|(_, message)| message);
        let converted = matches!(asked, Some(Message::CreditRequest(request)) if request.message_id == id);
        assert_eq!(converted, stops, "{destination}");
    }
}
