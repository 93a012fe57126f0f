//! RDCC, Association Establishment: requests and their answers, updates, loss of the receiver's state, sequence numbers.

use crate::peers::{ASSOCIATION, EPOCH, RECEIVER, SenderBench, UNIT, grant, us};
use rdcc::sender::{SenderConfig, SenderEvent, SubmitError};
use wire::rdcc::{
    AssociationId, Epoch, ErrorMessage, Flags, Header, Message, MessageId, Reason, SequenceNumber,
};
use wire::units::{MbitPerSec, Nanos, Octets, Octets32};

const MIB: u64 = 1 << 20;

//~ RDCC, Association Establishment: 6e317d80 ebb42475
/// RDCC, Association Establishment: backoff from 1 ms, doubling, eight attempts, then without RDCC.
#[test]
fn association_requests_double_their_backoff_and_end_after_eight() {
    let mut bench = SenderBench::new();
    let id = bench.submit(MIB, false, Nanos(0));
    let mut at = Nanos(0);
    let mut nonces = Vec::new();
    for attempt in 0..8 {
        bench.sender.handle_timeout(at);
        let Some((header, Message::AssocRequest(request))) = bench.sent() else {
            panic!("attempt {attempt}")
        };
        assert_eq!((header.association_id, header.epoch), (AssociationId(0), Epoch(0)));
        assert_eq!(header.sequence_number, SequenceNumber(attempt + 1));
        nonces.push(request.sender_nonce);
        let next = Nanos(at.0 + (1_000_000 << attempt));
        assert_eq!(bench.sender.poll_timeout(), Some(next));
        bench.sender.handle_timeout(Nanos(next.0 - 1));
        assert_eq!(bench.sent(), None);
        at = next;
    }
    assert!(nonces.iter().all(|&nonce| nonce == nonces[0]));
    assert_eq!(bench.sender.poll_event(), None);
    bench.sender.handle_timeout(at);
    assert_eq!(bench.sender.poll_event(), Some(SenderEvent::AssociationUnanswered { peer: RECEIVER }));
    let event = bench.sender.poll_event();
    assert_eq!(event, Some(SenderEvent::WithoutRdcc { peer: RECEIVER, message: id, tag: MIB }));
    assert_eq!(bench.sender.associate(RECEIVER, at), Err(SubmitError::NotSupported));
    bench.sender.forget(RECEIVER);
    assert_eq!(bench.sender.associate(RECEIVER, at), Ok(()));
}

/// RDCC, Association Establishment: only an answer with the current nonce counts.
#[test]
fn an_answer_with_another_nonce_is_ignored() {
    let mut bench = SenderBench::new();
    bench.sender.associate(RECEIVER, Nanos(0)).unwrap();
    let Some((_, Message::AssocRequest(request))) = bench.sent() else { panic!() };
    bench.accept.sender_nonce = request.sender_nonce ^ 1;
    bench.give_accept(Flags::NONE, us(8));
    assert_eq!(bench.sender.poll_event(), None);
    bench.accept.sender_nonce = request.sender_nonce;
    bench.give_accept(Flags::NONE, us(9));
    assert!(bench.sender.poll_event().is_some());
}

//~ RDCC, Port Configuration: 81175ba1 da4a127b
/// RDCC, Port Configuration: no default, and one port for the domain.
#[test]
fn a_peer_on_another_port_is_refused() {
    let mut bench = SenderBench::new();
    let peer = std::net::SocketAddr::new(RECEIVER.ip(), 1);
    let refused = SubmitError::NotTheRdccPort { peer, rdcc_port: crate::peers::PORT };
    assert_eq!(bench.sender.associate(peer, Nanos(0)), Err(refused));
}

//~ RDCC, Transmission Mode Selection: 0befa1bc
//~ RDCC, Association Establishment: 968dae47
/// RDCC, Association Establishment: a parameter update is acknowledged, and acted on.
#[test]
fn a_parameter_update_is_acknowledged() {
    let mut bench = SenderBench::up();
    bench.accept.unscheduled_limit = Octets32(0);
    bench.give_accept(Flags::PARAMETER_UPDATE, us(1));
    let Some((header, Message::AssocRequest(request))) = bench.sent() else { panic!() };
    assert!(header.flags.contains(Flags::UPDATE_ACKNOWLEDGMENT));
    assert_eq!(request.sender_nonce, bench.accept.sender_nonce);
    // U = 0 disables unscheduled mode.
    bench.submit(1, true, us(2));
    assert_eq!(bench.requested().unscheduled_sent, Octets(0));
}

//~ RDCC, Common Header: 2c99ee26
/// RDCC, Common Header: stale and repeated messages are discarded, across the wrap of the sequence number.
#[test]
fn stale_messages_are_discarded() {
    let mut bench = SenderBench::new();
    bench.sequence = u32::MAX - 2;
    bench.associate(Nanos(0));
    let id = bench.submit(MIB, false, Nanos(0));
    let header = |sequence| Header {
        association_id: ASSOCIATION,
        epoch: EPOCH,
        flags: Flags::NONE,
        sequence_number: SequenceNumber(sequence),
    };
    bench.give_with(header(0), &grant(id, UNIT, 100_000), us(1));
    assert_eq!(bench.permits(us(1), us(9), 9).len(), 1);
    for stale in [0, u32::MAX] {
        bench.give_with(header(stale), &grant(id, 2 * UNIT, 100_000), us(10));
    }
    bench.give_with(Header { epoch: Epoch(4), ..header(1) }, &grant(id, 2 * UNIT, 100_000), us(10));
    let other = AssociationId(1);
    bench.give_with(Header { association_id: other, ..header(1) }, &grant(id, 2 * UNIT, 100_000), us(10));
    assert!(bench.permits(us(10), us(20), 9).is_empty());
    bench.give_with(header(1), &grant(id, 2 * UNIT, 100_000), us(20));
    assert_eq!(bench.permits(us(20), us(30), 9).len(), 1);
}

//~ RDCC, Association Establishment: 583f1679
//~ RDCC, Sender Message State Machine: 6b3a5d58
//~ RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: 87d809e2
/// ERROR with `UNKNOWN_ASSOCIATION`: credit is dropped, the association made anew, and credit requested again.
#[test]
fn a_lost_association_is_made_anew_and_its_messages_start_over() {
    let mut bench = SenderBench::up();
    let id = bench.submit(4 * UNIT, false, Nanos(0));
    bench.requested();
    bench.grant(id, 4 * UNIT, 100_000, us(1));
    assert_eq!(bench.permits(us(1), us(1), 1).len(), 1);
    let old = bench.accept.sender_nonce;
    // The error of a receiver that knows nothing: any sequence number, its own epoch.
    let lost = Message::Error(ErrorMessage { reason: Reason::UNKNOWN_ASSOCIATION, message_id: id });
    let header = Header {
        association_id: AssociationId(77),
        epoch: Epoch(4),
        flags: Flags::NONE,
        sequence_number: SequenceNumber(0),
    };
    bench.give_with(header, &lost, us(2));
    assert_eq!(bench.sent(), None, "not our Association ID");
    bench.give_with(Header { association_id: ASSOCIATION, ..header }, &lost, us(2));
    assert!(bench.permits(us(2), us(90), 9).is_empty());
    let Some((_, Message::AssocRequest(request))) = bench.sent() else { panic!() };
    assert_ne!(request.sender_nonce, old);
    bench.accept.sender_nonce = request.sender_nonce;
    let accept = Message::AssocAccept(bench.accept);
    let new = Header { association_id: AssociationId(5), epoch: Epoch(4), ..header };
    bench.give_with(new, &accept, us(91));
    let Some((header, Message::CreditRequest(request))) = bench.sent() else { panic!() };
    assert_eq!((header.association_id, header.epoch), (AssociationId(5), Epoch(4)));
    // One post was made before: the numbers go on from there.
    assert_eq!(request.roce_binding().unwrap().first_msn, 1);
    bench.give_with(
        Header { sequence_number: SequenceNumber(1), ..new },
        &grant(id, 4 * UNIT, 100_000),
        us(92),
    );
    let permits = bench.permits(us(92), us(99), 9);
    assert_eq!(
        permits.iter().map(|(_, p)| (p.offset / UNIT, p.msn)).collect::<Vec<_>>(),
        [(0, 1), (1, 2), (2, 3), (3, 4)]
    );
}

//~ RDCC, Association Establishment: 405bac17
//~ RDCC, Credit Requests and Grants: cacc0909
/// Sender Nonces come from the seeded generator: another seed, another nonce; and Message IDs increase.
#[test]
fn nonces_are_random_and_message_ids_increase() {
    let mut nonces = std::collections::BTreeSet::new();
    for seed in 0..50u8 {
        let mut sender =
            rdcc::sender::Sender::new(SenderConfig::new(MbitPerSec(1), crate::peers::PORT), [seed; 32]);
        sender.associate(RECEIVER, Nanos(0)).unwrap();
        let octets = sender.poll_transmit().unwrap().octets;
        let (_, Message::AssocRequest(request)) = wire::rdcc::decode(&octets).unwrap() else { panic!() };
        nonces.insert(request.sender_nonce);
    }
    assert_eq!(nonces.len(), 50);
    let mut bench = SenderBench::up();
    let mut last = MessageId(0);
    for round in 0..20 {
        let id = bench.submit(UNIT, false, us(round));
        assert!(id > last);
        last = id;
        if round % 3 == 0 {
            bench.sender.cancel(RECEIVER, id, us(round));
        }
    }
}

//~ RDCC, Sender Message State Machine: 6b3a5d58
//~ RDCC, Association Establishment: 65456b12
/// A new Epoch in an `ASSOC_ACCEPT` with the current nonce voids all credit; one with another nonce doesn't.
#[test]
fn a_new_epoch_counts_only_with_the_current_nonce() {
    let mut bench = SenderBench::up();
    let id = bench.submit(4 * UNIT, false, Nanos(0));
    bench.requested();
    bench.grant(id, 4 * UNIT, 100_000, us(1));
    let restarted = Header {
        association_id: AssociationId(9),
        epoch: Epoch(4),
        flags: Flags::NONE,
        sequence_number: SequenceNumber(1),
    };
    let mut forged = bench.accept;
    forged.sender_nonce ^= 1;
    bench.give_with(restarted, &Message::AssocAccept(forged), us(2));
    assert_eq!(bench.permits(us(2), us(2), 1).len(), 1);
    let accept = Message::AssocAccept(bench.accept);
    bench.give_with(restarted, &accept, us(3));
    assert!(bench.permits(us(3), us(50), 9).is_empty());
    // Established again: the transport is told, and may begin anew before the messages are numbered.
    assert_eq!(bench.sender.poll_event(), Some(SenderEvent::AssociationLost { peer: RECEIVER }));
    bench.sender.set_next_msn(RECEIVER, 1, 100);
    let Some((_, Message::AssocRequest(request))) = bench.sent() else { panic!() };
    assert_eq!(request.sender_nonce, bench.accept.sender_nonce);
    bench.give_with(restarted, &accept, us(51));
    let Some((header, Message::CreditRequest(request))) = bench.sent() else { panic!() };
    assert_eq!(request.roce_binding().unwrap().first_msn, 100);
    assert_eq!((header.association_id, header.epoch), (AssociationId(9), Epoch(4)));
}

/// A transport whose state went with the receiver's starts anew: told in time, the sender numbers its posts from there.
#[test]
fn a_lost_association_lets_the_transport_begin_anew() {
    let mut bench = SenderBench::up();
    let id = bench.submit(4 * UNIT, false, Nanos(0));
    bench.requested();
    bench.grant(id, 4 * UNIT, 100_000, us(1));
    assert_eq!(bench.permits(us(1), us(20), 3).len(), 3);
    let lost = Message::Error(ErrorMessage { reason: Reason::UNKNOWN_ASSOCIATION, message_id: id });
    bench.give(&lost, us(21));
    assert_eq!(bench.sender.poll_event(), Some(SenderEvent::AssociationLost { peer: RECEIVER }));
    bench.sender.set_next_msn(RECEIVER, 1, 100);
    let Some((_, Message::AssocRequest(request))) = bench.sent() else { panic!() };
    bench.accept.sender_nonce = request.sender_nonce;
    bench.give_accept(Flags::NONE, us(22));
    assert_eq!(bench.requested().roce_binding().unwrap().first_msn, 100);
}
