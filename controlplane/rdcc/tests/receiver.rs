//! The receiver's rules: RDCC, Association Establishment, Receiver Credit Budget, Credit Allocation, Reports, Errors.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{EPOCH, ReceiverBench, STRANGER, UNIT, request, source, us};
use rdcc::receiver::{ConfigError, DataArrival, Receiver, ReceiverEvent};
use wire::rdcc::{
    AssociationId, BindingKind, Cancel, CreditRequest, CreditReturn, Epoch, Flags, Message, MessageId,
    Reason, SenderStatus, ServiceHint, TrafficClass, Weight,
};
use wire::units::{MbitPerSec, Micros, Nanos, Octets, Octets32};

const MIB: u64 = 1 << 20;
const UNIT32: u32 = 4096;

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

/// Runs timers until the receiver has granted one message up to at least `limit`.
fn grant_up_to(bench: &mut ReceiverBench, limit: u64, until: Nanos) {
    let mut reached = 0;
    while reached < limit {
        reached =
            bench.grants().into_iter().map(|(_, grant)| grant.grant_limit.0).max().unwrap_or(0).max(reached);
        let Some(at) = bench.receiver.poll_timeout().filter(|&at| at <= until && reached < limit) else {
            break;
        };
        bench.timeout(at);
    }
    assert!(reached >= limit, "{reached}");
}

fn error(bench: &mut ReceiverBench, to: u8) -> (AssociationId, Reason) {
    match bench.sent(to) {
        Some((header, Message::Error(error))) => (header.association_id, error.reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_budget_without_room_for_a_unit_is_refused() {
    let mut config = ReceiverBench::config();
    config.unscheduled_budget = Octets(config.budget.0 - UNIT);
    assert!(Receiver::new(config.clone(), [0; 32]).is_ok());
    config.unscheduled_budget = Octets(config.budget.0 - UNIT + 1);
    assert!(matches!(Receiver::new(config, [0; 32]), Err(ConfigError::Budget { .. })));
}

//~ RDCC, Association Establishment: 0e584cb0
/// RDCC, Association Establishment: a repeated request gives the same Association ID; another nonce is another one.
#[test]
fn association_requests_are_idempotent() {
    let mut bench = bench(1);
    bench.request_association(1, 1, Flags::NONE, us(1));
    let Some((again, Message::AssocAccept(accept))) = bench.sent(1) else { panic!() };
    assert_eq!((again.association_id, again.epoch, accept.sender_nonce), (bench.ids[&1], EPOCH, 1));
    bench.request_association(1, 2, Flags::NONE, us(2));
    let Some((other, _)) = bench.sent(1) else { panic!() };
    assert_ne!(other.association_id, again.association_id);
    assert_ne!(other.association_id, AssociationId(0));
    bench.request_association(1, 1, Flags::UPDATE_ACKNOWLEDGMENT, us(3));
    assert_eq!(bench.sent(1), None);
}

//~ RDCC, Unscheduled Transmission: 95d6b5a9
//~ RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: 86829dd5
//~ RDCC, Association Establishment: cfb817c6
//~ RDCC, Security Considerations: 3a83bfa6
/// RDCC, Unscheduled Transmission: the sum of U stays within `G_u`; Security Considerations: associations are bounded.
#[test]
fn u_is_given_while_g_u_lasts_and_associations_while_there_is_room() {
    let mut config = ReceiverBench::config();
    config.max_associations = 10;
    let mut bench = ReceiverBench::new(config);
    let limits: Vec<u32> = (1..=10).map(|from| bench.associate(from, Nanos(0)).unscheduled_limit.0).collect();
    assert_eq!(limits, [6250, 6250, 6250, 6250, 6250, 6250, 6250, 6250, 0, 0]);
    bench.request_association(11, 11, Flags::NONE, Nanos(0));
    assert_eq!(error(&mut bench, 11), (AssociationId(0), Reason::ASSOC_REFUSED));
}

//~ RDCC, Association Establishment: 020c8cf4
/// RDCC, Association Establishment: removal after the idle time, both sides; what it held is given back.
#[test]
fn an_idle_association_is_removed() {
    let mut bench = bench(1);
    ask(&mut bench, 1, request(1, MIB, 0), us(10));
    let idle = ReceiverBench::config().idle_timeout;
    bench.run(Nanos(us(10).0 + idle.0 - 1));
    assert_eq!(bench.receiver.stats().associations, 1);
    bench.run(us(10) + idle);
    let stats = bench.receiver.stats();
    assert_eq!((stats.associations, stats.pending_messages, stats.outstanding), (0, 0, 0));
    bench.grants();
    assert_eq!(bench.associate(2, us(11) + idle).unscheduled_limit, Octets32(6250));
}

//~ RDCC, Credit Allocation: 86d7a7ec
//~ RDCC, Error Handling and Recovery: 0e5d708c
//~ RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: 87d809e2
/// RDCC, Credit Allocation, rule 4, and Error Handling: unknown association or epoch; another address is ignored.
#[test]
fn requests_of_unknown_associations_are_answered_with_an_error() {
    let mut bench = bench(1);
    let message = Message::CreditRequest(request(1, MIB, 0));
    let id = bench.ids[&1];
    bench.give_with(1, AssociationId(7), EPOCH, Flags::NONE, &message, us(1));
    let Some((header, Message::Error(answer))) = bench.sent(1) else { panic!() };
    // It concerns the whole association.
    assert_eq!((answer.reason, answer.message_id), (Reason::UNKNOWN_ASSOCIATION, MessageId(0)));
    assert_eq!(header.association_id, AssociationId(7));
    bench.give_with(1, id, Epoch(4), Flags::NONE, &message, us(1));
    assert_eq!(error(&mut bench, 1), (id, Reason::UNKNOWN_ASSOCIATION));
    bench.give_with(2, id, EPOCH, Flags::NONE, &message, us(1));
    assert_eq!(bench.receiver.poll_transmit(), None);
    assert_eq!(bench.receiver.stats().pending_messages, 0);
}

//~ RDCC, Common Header: 2c99ee26
/// RDCC, Common Header: a repeated datagram changes nothing.
#[test]
fn a_repeated_datagram_is_discarded() {
    let mut bench = bench(1);
    ask(&mut bench, 1, request(1, MIB, 0), us(1));
    bench.grants();
    bench.sequence -= 1;
    ask(&mut bench, 1, request(2, MIB, 0), us(2));
    assert_eq!(bench.receiver.stats().pending_messages, 1);
    assert_eq!(bench.receiver.stats().datagrams_ignored, 1);
}

//~ RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: 02e3c4ac fc69c784
//~ RDCC, Transport Bindings: 878ec657
/// RDCC, Transport Bindings: an unsupported kind; more announced than U.
#[test]
fn what_cannot_be_served_is_refused() {
    let mut bench = bench(1);
    let opaque = CreditRequest { binding_kind: BindingKind::OPAQUE, ..request(1, MIB, 0) };
    ask(&mut bench, 1, opaque, us(1));
    assert_eq!(error(&mut bench, 1).1, Reason::UNSUPPORTED_BINDING);
    ask(&mut bench, 1, request(2, 6250, 6250), us(1));
    assert_eq!(bench.receiver.poll_transmit(), None);
    ask(&mut bench, 1, request(3, 6251, 6251), us(1));
    assert_eq!(error(&mut bench, 1).1, Reason::MESSAGE_TOO_LARGE);
}

//~ RDCC, Credit Requests and Grants: 02255bbe 6537a5ca 4f27a04b
/// RDCC, Credit Requests and Grants, rule 5, `MSG_DONE`, and the answer to a request for a completed message.
#[test]
fn a_message_is_granted_to_its_end_and_done_as_often_as_asked() {
    let mut bench = bench(1);
    ask(&mut bench, 1, request(1, UNIT + 100, 0), us(1));
    let Some((header, Message::CreditGrant(grant))) = bench.sent(1) else { panic!() };
    assert!(header.flags.contains(Flags::FINAL));
    assert_eq!((grant.grant_limit, grant.message_id), (Octets(UNIT + 100), MessageId(1)));
    bench.data(1, 1, 0, UNIT32, us(10));
    bench.data(1, 1, 1, 99, us(11));
    assert_eq!(bench.sent(1), None);
    bench.data(1, 1, 1, 1, us(12));
    for now in [us(12), us(500)] {
        let Some((_, Message::MsgDone(done))) = bench.sent(1) else { panic!() };
        assert_eq!((done.message_id, done.octets_received), (MessageId(1), Octets(UNIT + 100)));
        ask(&mut bench, 1, request(1, UNIT + 100, 0), now);
    }
    assert_eq!(bench.receiver.poll_event(), Some(ReceiverEvent::AssociationUp { from: source(1) }));
    assert!(matches!(bench.receiver.poll_event(), Some(ReceiverEvent::MessageCompleted { .. })));
    assert_eq!(bench.receiver.stats().outstanding, 0);
}

//~ RDCC, Receiver Credit Budget: 6fae2f8d
/// RDCC, Receiver Credit Budget: an expired grant is reclaimed Lifetime + 2 * `D_max` after it was sent, not before;
/// what the sender may still hold is charged in full when it gets credit again.
#[test]
fn expired_credit_is_reclaimed_and_charged_again_with_any_later_grant() {
    let mut bench = bench(2);
    ask(&mut bench, 1, request(1, MIB, 0), us(1));
    grant_up_to(&mut bench, 8 * UNIT, us(50));
    let held = bench.receiver.stats().outstanding;
    bench.run(us(90));
    let limit = bench.receiver.stats().outstanding;
    assert!(limit >= held && limit <= 150_000);
    // The last grant went when the budget was full, some 12 us after the request.
    bench.run(us(300));
    assert_eq!(bench.receiver.stats().outstanding, limit);
    bench.run(us(320));
    let stats = bench.receiver.stats();
    assert_eq!((stats.outstanding, stats.credit_reclaimed), (0, limit));
    // Nobody asked again, so nothing is granted.
    bench.grants();
    bench.timeout(us(400));
    assert!(bench.grants().is_empty());
    ask(&mut bench, 1, request(1, MIB, 0), us(401));
    let grants = bench.grants();
    assert!(grants[0].1.grant_limit.0 >= limit);
    assert!(bench.receiver.stats().outstanding >= limit);
}

//~ RDCC, Unscheduled Transmission: c53a0b0d dca002e6
/// RDCC, Unscheduled Transmission: a reservation is released when its octets came, or J + Lifetime + 2 * `D_max` after the request.
#[test]
fn an_unscheduled_reservation_ends_with_its_data_or_its_time() {
    let mut bench = bench(2);
    ask(&mut bench, 1, request(1, 6000, 6000), us(1));
    ask(&mut bench, 2, request(1, 6000, 6000), us(1));
    assert_eq!(bench.receiver.stats().outstanding, 12_000);
    bench.data(1, 2, 0, UNIT32, us(2));
    assert_eq!(bench.receiver.stats().outstanding, 12_000 - UNIT);
    bench.data(1, 2, 1, 1904, us(3));
    assert_eq!(bench.receiver.stats().outstanding, 6000);
    assert!(matches!(bench.sent(1), Some((_, Message::MsgDone(_)))));
    // J 8 + Lifetime 100 + 2 * 100.
    bench.timeout(Nanos(309_000 - 1));
    assert_eq!(bench.receiver.stats().outstanding, 6000);
    bench.timeout(us(309));
    assert_eq!((bench.receiver.stats().outstanding, bench.receiver.stats().unscheduled_expired), (0, 6000));
    // Late data still completes the message.
    bench.data(2, 2, 0, UNIT32, us(310));
    bench.data(2, 2, 1, 1904, us(310));
    assert!(matches!(bench.sent(2), Some((_, Message::MsgDone(_)))));
}

/// RDCC, Unscheduled Transmission: a conversion shrinks the reservation to what was sent; the rest is granted.
#[test]
fn a_converted_message_is_granted_after_what_was_sent() {
    let mut bench = bench(1);
    ask(&mut bench, 1, request(1, 6000, 6000), us(1));
    ask(&mut bench, 1, CreditRequest { unscheduled_sent: Octets(UNIT), ..request(1, 6000, 6000) }, us(2));
    assert_eq!(bench.receiver.stats().outstanding, UNIT);
    assert_eq!(bench.receiver.poll_transmit(), None);
    bench.data(1, 2, 0, UNIT32, us(9));
    let grants = bench.grants();
    assert_eq!((grants.len(), grants[0].1.grant_limit), (1, Octets(6000)));
    assert_eq!(bench.receiver.stats().outstanding, 6000 - UNIT);
}

//~ RDCC, Credit Requests and Grants: d3c17bd0
//~ RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: 8d856703
//~ RDCC, Receiver Credit Budget: 6fae2f8d
/// RDCC, Receiver Credit Budget: the credit of a cancelled message, 2 * `D_max` after the CANCEL; both sides.
#[test]
fn a_cancelled_message_keeps_its_credit_for_two_delays() {
    let mut bench = bench(1);
    ask(&mut bench, 1, request(1, UNIT, 0), us(1));
    let cancel = Cancel { message_id: MessageId(1), reason: Reason::APPLICATION_ABORT };
    bench.give(1, &Message::Cancel(cancel), us(10));
    bench.timeout(Nanos(210_000 - 1));
    assert_eq!(bench.receiver.stats().outstanding, UNIT);
    bench.timeout(us(210));
    let stats = bench.receiver.stats();
    assert_eq!((stats.outstanding, stats.pending_messages), (0, 0));
}

/// `CREDIT_RETURN`: releases what will not be used, unless a grant may have crossed it.
#[test]
fn returned_credit_is_released_when_no_grant_can_have_crossed_it() {
    let mut bench = bench(1);
    ask(&mut bench, 1, request(1, 2 * UNIT, 0), us(1));
    let credit = Message::CreditReturn(CreditReturn { message_id: MessageId(1), new_limit: Octets(UNIT) });
    bench.give(1, &credit, Nanos(201_000 - 1));
    assert_eq!(bench.receiver.stats().outstanding, 2 * UNIT);
    bench.give(1, &credit, us(201));
    assert_eq!((bench.receiver.stats().outstanding, bench.receiver.stats().credit_returned), (UNIT, UNIT));
}

//~ RDCC, Error Handling and Recovery: f15e4b7f
/// RDCC, Error Handling: data beyond credit is counted, and the message gets no more.
#[test]
fn a_sender_beyond_its_credit_gets_no_more_for_that_message() {
    let mut bench = bench(1);
    ask(&mut bench, 1, request(1, MIB, 0), us(1));
    bench.grants();
    let granted = u32::try_from(bench.receiver.stats().outstanding).unwrap();
    bench.receiver.poll_event();
    bench.data(1, 1, 0, granted, us(2));
    assert_eq!(bench.receiver.poll_event(), None);
    bench.grants();
    let more = u32::try_from(bench.receiver.stats().outstanding).unwrap();
    bench.data(1, 1, 1, more + 1, us(3));
    assert!(matches!(bench.receiver.poll_event(), Some(ReceiverEvent::BeyondCredit { octets: 1, .. })));
    bench.grants();
    bench.run(us(90));
    ask(&mut bench, 1, request(1, MIB, 0), us(100));
    assert!(bench.grants().is_empty());
    assert_eq!(bench.receiver.stats().excess_octets, 1);
}

/// RDCC, Transport Bindings: data may overtake its request.
#[test]
fn data_before_its_request_counts() {
    let mut bench = bench(1);
    bench.data(1, 2, 0, 2048, us(1));
    ask(&mut bench, 1, request(1, 2048, 2048), us(2));
    assert!(matches!(bench.sent(1), Some((_, Message::MsgDone(_)))));
    let stranger =
        DataArrival { from: STRANGER.ip(), qp: 2, msn: 0, octets: 10, ce: false, source_port: 49_152 };
    bench.receiver.handle_data(stranger, us(3));
    assert_eq!(bench.receiver.stats().unmatched_octets, 10);
}

//~ RDCC, Credit Allocation: 4436d84d cba9fe27
/// RDCC, Credit Allocation: class first, then the earlier deadline, then weight.
#[test]
fn credit_goes_by_class_then_deadline_then_weight() {
    let asks: [(u8, TrafficClass, Micros, Weight); 5] = [
        (1, TrafficClass(3), Micros(0), Weight(1)),
        (2, TrafficClass(1), Micros(0), Weight(1)),
        (3, TrafficClass(1), Micros(0), Weight(3)),
        (4, TrafficClass(1), Micros(500), Weight(1)),
        (5, TrafficClass(0), Micros(0), Weight(1)),
    ];
    let mut bench = bench(5);
    // All of them have asked before the clock lets more credit out.
    for (from, class, deadline, weight) in asks {
        let length = if from >= 4 { 8 * UNIT } else { MIB };
        ask(&mut bench, from, CreditRequest { class, deadline, weight, ..request(1, length, 0) }, us(1));
    }
    let mut given = [0u64; 6];
    for (to, grant) in bench.grants() {
        given[usize::from(to)] = grant.grant_limit.0;
    }
    let mut order = Vec::new();
    while let Some(at) = bench.receiver.poll_timeout().filter(|&at| at < us(12)) {
        bench.timeout(at);
        for (to, grant) in bench.grants() {
            let before = core::mem::replace(&mut given[usize::from(to)], grant.grant_limit.0);
            if grant.grant_limit.0 > before {
                order.push(to);
            }
        }
    }
    let last = |who: u8| order.iter().rposition(|&to| to == who).unwrap_or(0);
    let first = |who: u8| order.iter().position(|&to| to == who).unwrap_or(usize::MAX);
    assert!(last(5) < first(4).max(1), "{order:?}");
    assert!(last(4) < first(3).min(first(2)), "{order:?}");
    // Weight 3 against 1, in grants of two units.
    assert!(given[3] >= 2 * given[2], "{given:?}");
    assert!(!order.contains(&1), "{order:?}");
}

//~ RDCC, Credit Requests and Grants: a099e355
//~ RDCC, Credit Allocation: 3b6e70aa
/// RDCC, Credit Allocation, rule 1, and `R_min` against it: with more messages than fit, the rest waits.
#[test]
fn the_sum_of_pacing_rates_stays_within_the_link() {
    let mut bench = bench(60);
    for from in 1..=60 {
        ask(&mut bench, from, request(1, MIB, 0), us(1));
    }
    let mut rates = std::collections::BTreeMap::new();
    for step in 0..200 {
        for (to, grant) in bench.grants() {
            rates.insert(to, u64::from(grant.pacing_rate.0));
            assert!(grant.pacing_rate.0 > 0);
        }
        assert!(bench.receiver.stats().pacing_sum <= u64::from(ReceiverBench::config().payload_capacity().0));
        bench.timeout(us(1) + Nanos(step * 328));
    }
    let minimum = u64::from(ReceiverBench::config().minimum_rate().0);
    assert!(rates.len() as u64 <= 100_000 / minimum, "{}", rates.len());
    assert!(bench.receiver.stats().pending_messages == 60);
}

//~ RDCC, Credit Allocation: 972521b8
//~ RDCC, Sender Backlog Indication and Suggested Rates: ad62ef6d
/// RDCC, Credit Allocation, rule 3, and Sender Backlog Indication: both sides of four Grant Lifetimes.
#[test]
fn a_senders_suggestion_caps_its_rate_for_four_lifetimes() {
    for (at, capped) in [(us(10 + 400), true), (Nanos(410_001), false)] {
        let mut bench = bench(1);
        ask(&mut bench, 1, request(1, MIB, 0), us(1));
        bench.run(us(9));
        bench.grants();
        let status = SenderStatus {
            unused_credit: Octets(100_000),
            congestion_level: 200,
            service_hint: ServiceHint::NONE,
            suggested_rate: MbitPerSec(7000),
        };
        bench.give(1, &Message::SenderStatus(status), us(10));
        assert_eq!(bench.grants()[0].1.pacing_rate, MbitPerSec(7000));
        bench.run(at);
        bench.grants();
        ask(&mut bench, 1, request(1, MIB, 0), at);
        let rate = bench.grants()[0].1.pacing_rate;
        assert_eq!(rate == MbitPerSec(7000), capped, "{rate}");
        assert!(capped || rate > MbitPerSec(90_000));
    }
}

//~ RDCC, Credit Allocation: c2b49b43
//~ RDCC, On-Path Congestion Reporting: e5bde4be
/// RDCC, Credit Allocation, rule 2: marks lower the rate at the end of an update interval.
#[test]
fn marks_lower_the_rate_in_proportion() {
    let mut bench = bench(1);
    ask(&mut bench, 1, request(1, MIB, 0), us(1));
    bench.run(us(9));
    let mut arrive = |msn, ce, at| {
        let arrival =
            DataArrival { from: source(1).ip(), qp: 1, msn, octets: UNIT32, ce, source_port: 49_152 };
        bench.receiver.handle_data(arrival, at);
        assert!(bench.receiver.audit());
        bench.grants().last().map(|(_, grant)| grant.pacing_rate.0)
    };
    arrive(0, false, us(9));
    arrive(1, true, us(10));
    arrive(2, false, us(11));
    arrive(3, false, us(12));
    let rate = arrive(4, false, us(17)).unwrap();
    // One of four in the interval: a quarter of beta.
    let capacity = ReceiverBench::config().payload_capacity().0;
    assert!(rate.abs_diff(capacity - capacity / 8) < capacity / 20, "{rate}");
}
