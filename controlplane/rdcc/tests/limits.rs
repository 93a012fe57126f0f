//! What a receiver bounds, refuses and discards: RDCC, Error Handling and Recovery, Security Considerations, Transport
//! Bindings.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{EPOCH, ReceiverBench, SenderBench, UNIT, request, source, us};
use rdcc::receiver::{DataArrival, OpaqueArrival, ReceiverEvent};
use wire::rdcc::{
    AssociationId, BindingKind, CreditRequest, Epoch, Flags, Header, Message, MessageId, MessageType,
    RawHeader, Reason, RoceBinding, SequenceNumber, TrafficClass, Weight,
};
use wire::units::{Nanos, Octets};

const MIB: u64 = 1 << 20;

fn ask(bench: &mut ReceiverBench, from: u8, request: CreditRequest, now: Nanos) {
    bench.give(from, &Message::CreditRequest(request), now);
}

/// A request on a queue pair of its own.
fn on_queue_pair(id: u64, length: u64, destination_qp: u32) -> CreditRequest {
    let rdma_messages = u16::try_from(length.div_ceil(UNIT)).unwrap();
    let binding = RoceBinding { destination_qp, first_msn: 0, rdma_messages };
    CreditRequest { binding_value: binding.to_value(), ..request(id, length, 0) }
}

//~ RDCC, Security Considerations: fe355f68
#[test]
fn an_association_holds_no_more_credit_than_its_cap() {
    let mut config = ReceiverBench::config();
    config.association_credit = Some(Octets(3 * UNIT + 100));
    let mut bench = ReceiverBench::new(config);
    bench.associate(1, Nanos(0));
    ask(&mut bench, 1, on_queue_pair(1, MIB, 1), us(1));
    ask(&mut bench, 1, on_queue_pair(2, MIB, 3), us(1));
    bench.run(us(40));
    assert_eq!(bench.receiver.stats().outstanding, 3 * UNIT);
    // What is used is given again; the audit inside checks the cap at every step.
    bench.data(1, 1, 0, 4096, us(41));
    bench.run(us(60));
    assert_eq!(bench.receiver.stats().outstanding, 3 * UNIT);
    // Others have their own.
    bench.grants();
    bench.associate(2, us(61));
    ask(&mut bench, 2, on_queue_pair(1, MIB, 1), us(61));
    bench.run(us(80));
    assert_eq!(bench.receiver.stats().outstanding, 6 * UNIT);
}

#[test]
fn a_cap_below_a_credit_unit_is_refused() {
    let mut config = ReceiverBench::config();
    config.association_credit = Some(Octets(UNIT - 1));
    assert!(rdcc::receiver::Receiver::new(config.clone(), [0; 32]).is_err());
    config.association_credit = Some(Octets(UNIT));
    assert!(rdcc::receiver::Receiver::new(config, [0; 32]).is_ok());
}

//~ RDCC, Error Handling and Recovery: e0f6794c
//~ RDCC, Security Considerations: fe355f68 3a83bfa6
//~ RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: f233043e
#[test]
fn pending_messages_of_an_association_are_bounded() {
    let mut config = ReceiverBench::config();
    config.max_pending_messages = 2;
    let mut bench = ReceiverBench::new(config);
    bench.associate(1, Nanos(0));
    for id in 1..=3u32 {
        ask(&mut bench, 1, on_queue_pair(u64::from(id), 4 * MIB, id), us(1));
    }
    let mut errors = Vec::new();
    while let Some((_, message)) = bench.sent(1) {
        if let Message::Error(error) = message {
            errors.push((error.message_id, error.reason));
        }
    }
    assert_eq!(errors, [(MessageId(3), Reason::BUDGET_EXHAUSTED)]);
    assert_eq!(bench.receiver.stats().pending_messages, 2);
}

fn of_type(message_type: u8, id: AssociationId, epoch: Epoch, sequence: u32) -> Vec<u8> {
    let header =
        Header { association_id: id, epoch, flags: Flags::NONE, sequence_number: SequenceNumber(sequence) };
    let mut octets = Vec::new();
    RawHeader { version: 1, message_type: MessageType(message_type), length: 16, header }.encode(&mut octets);
    octets
}

//~ RDCC, Error Handling and Recovery: 1b56e178
//~ RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: c9a4079a
#[test]
fn an_unknown_type_is_answered_only_within_its_association() {
    let mut bench = ReceiverBench::new(ReceiverBench::config());
    bench.associate(1, Nanos(0));
    let id = bench.ids[&1];
    ask(&mut bench, 1, request(1, UNIT, 0), us(1));
    bench.grants();
    bench.receiver.handle_datagram(source(1), &of_type(0x0b, id, EPOCH, 50), us(1));
    let Some((_, Message::Error(error))) = bench.sent(1) else { panic!() };
    assert_eq!((error.reason, error.message_id), (Reason::UNSUPPORTED_TYPE, MessageId(0)));
    let stale = 1;
    for (from, octets) in [
        (source(2), of_type(0x0b, id, EPOCH, 51)),
        (source(1), of_type(0x0b, AssociationId(id.0 ^ 1), EPOCH, 51)),
        (source(1), of_type(0x0b, id, Epoch(EPOCH.0 + 1), 51)),
        (source(1), of_type(0x0b, id, EPOCH, stale)),
    ] {
        bench.receiver.handle_datagram(from, &octets, us(2));
        assert_eq!(bench.receiver.poll_transmit(), None);
    }
}

//~ RDCC, Error Handling and Recovery: c70ea12f 05f5e7bb
#[test]
fn what_cannot_be_decoded_changes_nothing_at_either_end() {
    let mut bench = ReceiverBench::new(ReceiverBench::config());
    bench.associate(1, Nanos(0));
    let header = Header {
        association_id: bench.ids[&1],
        epoch: EPOCH,
        flags: Flags::NONE,
        sequence_number: SequenceNumber(9),
    };
    let good = Message::CreditRequest(request(1, MIB, 0)).to_octets(&header);
    let changed = |at: usize, value: u8| {
        let mut octets = good.clone();
        octets[at] = value;
        octets
    };
    // Version 0 and 2; Length below the Type's and beyond the datagram; less than a header; nothing.
    let bad =
        [changed(0, 0), changed(0, 0x20), changed(3, 55), changed(3, 57), good[..15].to_vec(), Vec::new()];
    for octets in &bad {
        bench.receiver.handle_datagram(source(1), octets, us(1));
        assert_eq!(bench.receiver.poll_transmit(), None);
    }
    let stats = bench.receiver.stats();
    assert_eq!((stats.pending_messages, stats.datagrams_ignored), (0, bad.len() as u64));
    // The reserved four bits and undefined flags are ignored.
    let mut odd = changed(0, 0x1f);
    odd[10] = 0xff;
    bench.receiver.handle_datagram(source(1), &odd, us(1));
    assert_eq!(bench.receiver.stats().pending_messages, 1);

    let mut bench = SenderBench::up();
    let id = bench.submit(MIB, false, Nanos(0));
    for octets in &bad {
        bench.sender.handle_datagram(peers::RECEIVER, octets, us(1));
    }
    bench.grant(id, UNIT, 100_000, us(2));
    assert_eq!(bench.permits(us(2), us(9), 9).len(), 1);
}

//~ RDCC, Transport Bindings: d0340a15 878ec657
#[test]
fn an_opaque_binding_is_served_where_it_is_configured() {
    let mut config = ReceiverBench::config();
    config.opaque_bindings = true;
    let mut bench = ReceiverBench::new(config);
    bench.associate(1, Nanos(0));
    let from = source(1).ip();
    let value = 0xfeed_0000_0000_0007;
    // Data may overtake the request; other identifiers and queue pairs have nothing to do with it.
    let arrive =
        |binding_value, octets| OpaqueArrival { from, binding_value, octets, ce: false, source_port: 49_152 };
    bench.receiver.handle_opaque_data(arrive(value, 1000), us(1));
    let opaque =
        CreditRequest { binding_kind: BindingKind::OPAQUE, binding_value: value, ..request(1, 2000, 1000) };
    ask(&mut bench, 1, opaque, us(2));
    bench.run(us(3));
    assert_eq!(bench.grants()[0].1.grant_limit, Octets(2000));
    bench.receiver.handle_opaque_data(arrive(value + 1, 1000), us(4));
    let roce = DataArrival { from, qp: 7, msn: 0, octets: 1000, ce: false, source_port: 49_152 };
    bench.receiver.handle_data(roce, us(4));
    assert_eq!(bench.receiver.poll_transmit(), None);
    bench.receiver.handle_opaque_data(arrive(value, 1000), us(5));
    assert!(matches!(bench.sent(1), Some((_, Message::MsgDone(_)))));
    assert!(bench.receiver.audit());
    let unknown = CreditRequest { binding_kind: BindingKind(3), ..request(2, 2000, 0) };
    ask(&mut bench, 1, unknown, us(6));
    let Some((_, Message::Error(error))) = bench.sent(1) else { panic!() };
    assert_eq!(error.reason, Reason::UNSUPPORTED_BINDING);
}

//~ RDCC, CREDIT_REQUEST: 404c4441 96287222
#[test]
fn class_above_seven_is_seven_and_weight_zero_is_one() {
    let mut bench = ReceiverBench::new(ReceiverBench::config());
    for from in 1..=3 {
        bench.associate(from, Nanos(0));
    }
    // The first takes the link for a moment, so that the others wait in line.
    ask(&mut bench, 1, request(1, 16 * UNIT, 0), us(1));
    let odd = CreditRequest { class: TrafficClass(255), weight: Weight(0), ..request(1, 8 * UNIT, 0) };
    ask(&mut bench, 2, odd, us(1));
    ask(&mut bench, 3, CreditRequest { class: TrafficClass(6), ..request(1, 8 * UNIT, 0) }, us(1));
    let mut order = Vec::new();
    while order.len() < 3 {
        order.extend(bench.grants().into_iter().map(|(to, _)| to).filter(|&to| to != 1));
        let at = bench.receiver.poll_timeout().unwrap();
        bench.timeout(at);
    }
    assert_eq!(order[0], 3, "class 6 before 255: {order:?}");
}

//~ RDCC, Credit Requests and Grants: f92f1bc6 02255bbe 6537a5ca
#[test]
fn no_pool_grant_is_issued() {
    let mut bench = ReceiverBench::new(ReceiverBench::config());
    bench.associate(1, Nanos(0));
    ask(&mut bench, 1, request(1, MIB, 0), us(1));
    bench.run(us(50));
    let mut grants = 0;
    while let Some((header, message)) = bench.sent(1) {
        let Message::CreditGrant(grant) = message else { panic!("{message:?}") };
        assert!(!header.flags.contains(Flags::POOL) && grant.message_id == MessageId(1));
        assert!(
            grant.grant_limit.0 <= MIB && (grant.grant_limit.0 < MIB || header.flags.contains(Flags::FINAL))
        );
        grants += 1;
    }
    assert!(grants > 1);
}

//~ RDCC, Credit Allocation: c2b49b43
/// The delay of a round trip: at the target nothing happens, above it the rate falls.
#[test]
fn a_round_trip_above_its_target_lowers_the_rate() {
    for (arrival, decreases) in [(us(17), 0), (us(17) + Nanos(1), 1)] {
        let mut config = ReceiverBench::config();
        config.hear.delay = true;
        assert_eq!(config.delay_target, us(16));
        let mut bench = ReceiverBench::new(config);
        bench.associate(1, Nanos(0));
        ask(&mut bench, 1, request(1, MIB, 0), us(1));
        bench.data(1, 1, 0, 4096, arrival);
        assert_eq!(bench.receiver.stats().decreases, decreases);
    }
}

//~ RDCC, Operational Considerations: a04cab46
#[test]
fn what_a_receiver_did_can_be_counted() {
    let mut bench = ReceiverBench::new(ReceiverBench::config());
    bench.associate(1, Nanos(0));
    ask(&mut bench, 1, request(1, 2 * UNIT, 0), us(1));
    ask(&mut bench, 1, request(2, 6000, 6000), us(1));
    bench.receiver.handle_datagram(
        peers::CRN,
        &peers::report(wire::rdcc::Direction::TO_RECEIVER, source(1), 9, 0),
        us(2),
    );
    bench.run(us(400));
    let stats = bench.receiver.stats();
    assert_eq!(
        (stats.credit_granted, stats.credit_reclaimed, stats.unscheduled_octets),
        (2 * UNIT, 2 * UNIT, 6000)
    );
    assert_eq!((stats.reports_heard, stats.invariant_violations, stats.unscheduled_expired), (1, 0, 6000));
    assert!(matches!(bench.receiver.poll_event(), Some(ReceiverEvent::AssociationUp { .. })));
}
