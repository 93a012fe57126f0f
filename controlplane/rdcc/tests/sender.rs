//! The sender's rules: RDCC, Association Establishment to Sender Message State Machine.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{ASSOCIATION, CRN, EPOCH, RECEIVER, STRANGER, SenderBench, UNIT, grant, report, source, us};
use rdcc::sender::{SenderConfig, SenderEvent, SubmitError};
use wire::rdcc::{
    AssociationId, Cancel, Direction, Epoch, ErrorMessage, Flags, Header, Message, MessageId, Reason,
    SequenceNumber,
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
    let refused = SubmitError::NotTheRdccPort { peer, rdcc_port: peers::PORT };
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

//~ RDCC, Credit Requests and Grants: 308be8c7
//~ RDCC, Transmission Mode Selection: 992c3ffc
//~ RDCC, Transport Bindings: 8fd1f8de
//~ RDCC, Sender Message State Machine: 53a28436 51b13510 5c5ad919
/// RDCC, Credit Requests and Grants, rule 2; an RDMA message is posted only when all of it is credited.
#[test]
fn nothing_goes_without_credit_and_only_whole_units_go() {
    let mut bench = SenderBench::up();
    let id = bench.submit(10_000, false, Nanos(0));
    assert!(bench.permits(Nanos(0), us(50), 9).is_empty());
    bench.grant(id, 4095, 100_000, us(50));
    assert!(bench.permits(us(50), us(60), 9).is_empty());
    bench.grant(id, 4096, 100_000, us(60));
    assert_eq!(bench.permits(us(60), us(70), 9).len(), 1);
    bench.grant(id, 9_999, 100_000, us(70));
    assert_eq!(bench.permits(us(70), us(80), 9).len(), 1);
    bench.grant(id, 10_000, 100_000, us(80));
    let permits = bench.permits(us(80), us(90), 9);
    assert_eq!((permits.len(), permits[0].1.octets, permits[0].1.last), (1, 10_000 - 8192, true));
}

//~ RDCC, CREDIT_GRANT: bfe331a3
//~ RDCC, Credit Requests and Grants: 228641b5
/// RDCC, Credit Requests and Grants, rule 1; CREDIT_GRANT with Pacing Rate zero; POOL without the capability.
#[test]
fn a_smaller_grant_reduces_nothing_and_a_void_grant_gives_nothing() {
    let mut bench = SenderBench::up();
    let id = bench.submit(MIB, false, Nanos(0));
    bench.grant(id, 4 * UNIT, 0, us(1));
    bench.give_flagged(Flags::POOL, &grant(id, 4 * UNIT, 1000), us(1));
    assert!(bench.permits(us(1), us(20), 9).is_empty());
    bench.grant(id, 2 * UNIT, 100_000, us(20));
    bench.grant(id, UNIT, 100_000, us(20));
    assert_eq!(bench.permits(us(20), us(30), 9).len(), 2);
}

//~ RDCC, Credit Requests and Grants: 398e555d 13ed15f9
//~ RDCC, Sender Message State Machine: ca110e02
/// RDCC, Credit Requests and Grants, rule 3: both sides of the Lifetime.
#[test]
fn credit_ends_with_its_lifetime() {
    // A unit lasts 993 us at 33 Mbit/s and 2048 us at 16: after a burst of two, more follow at that spacing.
    for (rate, expected) in [(33, 4), (16, 2)] {
        let mut bench = SenderBench::up();
        let id = bench.submit(MIB, false, Nanos(0));
        bench.requested();
        bench.grant(id, 8 * UNIT, rate, us(10));
        let permits = bench.permits(us(10), us(2009), 99);
        assert_eq!(permits.len(), expected, "{rate}");
        assert_eq!(bench.sent(), None);
        bench.sender.handle_timeout(us(2010));
        assert_eq!(bench.sender.poll_send(us(2010)), None);
        assert_eq!(bench.requested().message_id, id);
        // Any newer grant revives what is held.
        bench.grant(id, UNIT, 100_000, us(2020));
        assert_eq!(bench.permits(us(2020), us(2050), 99).len(), 8 - expected);
        assert_eq!(bench.sender.stats().invariant_violations, 0);
    }
}

/// A driver that is late doesn't post under a grant whose Lifetime is over.
#[test]
fn a_late_driver_gets_no_permit_after_the_lifetime() {
    let mut bench = SenderBench::up();
    let id = bench.submit(MIB, false, Nanos(0));
    bench.requested();
    bench.grant(id, 8 * UNIT, 100_000, us(10));
    assert_eq!(bench.sender.poll_send(us(2010)), None);
    assert_eq!(bench.requested().message_id, id);
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

//~ RDCC, Sender Message State Machine: a8757873 41085f65
//~ RDCC, Credit Requests and Grants: 0601b6c8
/// WAITING and DRAINED, request timeout: both sides, doubling.
#[test]
fn requests_are_repeated_while_nothing_comes() {
    let mut bench = SenderBench::up();
    let id = bench.submit(UNIT, false, Nanos(0));
    bench.requested();
    for (before, at) in [(99, 100), (299, 300), (699, 700)] {
        bench.sender.handle_timeout(us(before));
        assert_eq!(bench.sent(), None);
        bench.sender.handle_timeout(us(at));
        assert_eq!(bench.requested().message_id, id);
    }
    bench.grant(id, UNIT, 100_000, us(800));
    assert_eq!(bench.permits(us(800), us(800), 1).len(), 1);
    // DRAINED starts anew.
    bench.sender.handle_timeout(us(899));
    assert_eq!(bench.sent(), None);
    bench.sender.handle_timeout(us(900));
    assert_eq!(bench.requested().message_id, id);
}

//~ RDCC, Sender Message State Machine: 0d9a4006
/// Ours: `MSG_DONE` completes NEW's successors UNSCHED, WAITING, SCHEDULED and DRAINED alike.
#[test]
fn msg_done_completes_any_live_state() {
    for posts in [None, Some(0), Some(1), Some(2)] {
        let mut bench = SenderBench::up();
        let id = bench.submit(2 * UNIT, posts.is_none(), Nanos(0));
        if let Some(posts) = posts {
            if posts > 0 {
                bench.grant(id, 2 * UNIT, 100_000, us(1));
            }
            assert_eq!(bench.permits(us(1), us(1) + Nanos(400), posts).len(), posts);
        }
        bench.done(id, 2 * UNIT, us(2));
        let done = SenderEvent::MessageDone { peer: RECEIVER, message: id, tag: 2 * UNIT, at: us(2) };
        assert_eq!(bench.sender.poll_event(), Some(done));
        while bench.sent().is_some() {}
        assert!(bench.permits(us(2), us(10_000), 9).is_empty());
        assert_eq!(bench.sent(), None);
        assert_eq!(bench.sender.poll_timeout(), None);
    }
}

//~ RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: 16c513f9
//~ RDCC, Sender Message State Machine: 9f0e68bc 86ef7019
/// RDCC, Sender Message State Machine: the rows of CANCEL and ERROR.
#[test]
fn errors_end_a_message_or_leave_it_waiting() {
    for reason in [Reason::MESSAGE_TOO_LARGE, Reason::APPLICATION_ABORT, Reason::UNSUPPORTED_BINDING] {
        for cancel in [false, true] {
            let mut bench = SenderBench::up();
            let id = bench.submit(MIB, false, Nanos(0));
            if cancel {
                bench.give(&Message::Cancel(Cancel { message_id: id, reason }), us(1));
            } else {
                bench.error(id, reason, us(1));
            }
            let aborted = SenderEvent::MessageAborted { peer: RECEIVER, message: id, tag: MIB, reason };
            assert_eq!(bench.sender.poll_event(), Some(aborted));
        }
    }
    let mut bench = SenderBench::up();
    let id = bench.submit(MIB, false, Nanos(0));
    bench.requested();
    bench.error(id, Reason::BUDGET_EXHAUSTED, us(1));
    bench.error(id, Reason::NO_ERROR, us(1));
    assert_eq!(bench.sender.poll_event(), None);
    bench.sender.handle_timeout(us(100));
    assert_eq!(bench.requested().message_id, id);
    bench.error(MessageId(0), Reason::ASSOC_REFUSED, us(101));
    assert_eq!(bench.sender.poll_event(), Some(SenderEvent::AssociationRefused { peer: RECEIVER }));
    assert!(matches!(bench.sender.poll_event(), Some(SenderEvent::MessageAborted { .. })));
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

/// RDCC, Transport Bindings: posts of one queue pair go in the order of their sequence numbers, and a message that
/// ends early leaves no gap.
#[test]
fn messages_of_a_queue_pair_go_in_order_and_close_gaps() {
    let mut bench = SenderBench::up();
    let first = bench.submit(4 * UNIT, false, Nanos(0));
    let second = bench.submit(2 * UNIT, false, Nanos(0));
    assert_eq!(bench.requested().roce_binding().unwrap().first_msn, 0);
    assert_eq!(bench.requested().roce_binding().unwrap().first_msn, 4);
    bench.grant(second, 2 * UNIT, 100_000, us(1));
    assert!(bench.permits(us(1), us(20), 9).is_empty());
    bench.grant(first, UNIT, 100_000, us(20));
    assert_eq!(bench.permits(us(20), us(30), 9).len(), 1);
    bench.sender.cancel(RECEIVER, first, us(31));
    assert!(matches!(bench.sent(), Some((_, Message::Cancel(_)))));
    // The receiver knows the second under its old numbers: it is given up and announced anew.
    let Some((_, Message::Cancel(cancel))) = bench.sent() else { panic!() };
    assert_eq!(cancel.message_id, second);
    let moved = bench.requested();
    assert!(moved.message_id > second);
    assert_eq!(moved.roce_binding().unwrap().first_msn, 1);
    bench.grant(second, 2 * UNIT, 100_000, us(31));
    assert!(bench.permits(us(31), us(32), 9).is_empty(), "a grant of before");
    bench.grant(moved.message_id, 2 * UNIT, 100_000, us(32));
    let permits = bench.permits(us(31), us(40), 9);
    assert_eq!(
        permits.iter().map(|(_, p)| (p.message, p.msn)).collect::<Vec<_>>(),
        [(second, 1), (second, 2)]
    );
}

//~ RDCC, Sender Backlog Indication and Suggested Rates: 941a9ff4 86d48763 9c867116
/// RDCC, Sender Backlog Indication: both sides of the threshold, repetition, and the final zero.
#[test]
fn backlog_above_its_threshold_is_told_and_its_end_too() {
    let mut config = SenderConfig::new(MbitPerSec(100_000), peers::PORT);
    config.backlog_threshold = Some(Octets(4 * UNIT));
    let mut bench = SenderBench::with(config);
    bench.associate(Nanos(0));
    let id = bench.submit(MIB, false, Nanos(0));
    bench.requested();
    bench.grant(id, 4 * UNIT, 100_000, us(1));
    assert_eq!(bench.sent(), None);
    bench.grant(id, 5 * UNIT, 100_000, us(1));
    let Some((_, Message::SenderStatus(status))) = bench.sent() else { panic!() };
    assert_eq!((status.unused_credit, status.suggested_rate), (Octets(5 * UNIT), MbitPerSec(97_663)));
    assert!(status.congestion_level > 0);
    assert_eq!(bench.permits(us(1), us(1), 1).len(), 1);
    let Some((_, Message::SenderStatus(status))) = bench.sent() else { panic!() };
    assert_eq!((status.congestion_level, status.suggested_rate), (0, MbitPerSec(0)));
    assert_eq!(bench.sent(), None);
}

//~ RDCC, Association Establishment: 405bac17
//~ RDCC, Credit Requests and Grants: cacc0909
/// Sender Nonces come from the seeded generator: another seed, another nonce; and Message IDs increase.
#[test]
fn nonces_are_random_and_message_ids_increase() {
    let mut nonces = std::collections::BTreeSet::new();
    for seed in 0..50u8 {
        let mut sender = rdcc::sender::Sender::new(SenderConfig::new(MbitPerSec(1), peers::PORT), [seed; 32]);
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

//~ RDCC, Transmission Mode Selection: 932edb73
/// A message that could go unscheduled may be scheduled all the same.
#[test]
fn scheduled_mode_may_be_chosen_for_any_length() {
    let mut bench = SenderBench::up();
    bench.submit(1, false, Nanos(0));
    assert_eq!(bench.requested().unscheduled_sent, Octets(0));
    assert!(bench.permits(Nanos(0), us(90), 9).is_empty());
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
    let Some((header, Message::CreditRequest(_))) = bench.sent() else { panic!() };
    assert_eq!((header.association_id, header.epoch), (AssociationId(9), Epoch(4)));
}

//~ RDCC, Credit Requests and Grants: 9cfb8b2f
//~ RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: dbfbe6a9
/// `CREDIT_RETURN`: what a message can't use goes back, and no less than was transmitted stays.
#[test]
fn a_paused_message_returns_its_credit_and_asks_again_when_resumed() {
    let mut bench = SenderBench::up();
    let id = bench.submit(MIB, false, Nanos(0));
    bench.requested();
    bench.grant(id, 8 * UNIT, 100_000, us(1));
    assert_eq!(bench.permits(us(1), us(1) + Nanos(400), 2).len(), 2);
    bench.sender.pause(RECEIVER, id, us(2));
    let Some((_, Message::CreditReturn(credit))) = bench.sent() else { panic!() };
    assert_eq!((credit.message_id, credit.new_limit), (id, Octets(2 * UNIT)));
    assert_eq!(bench.sender.stats().credit_returned, 6 * UNIT);
    bench.grant(id, 2 * UNIT, 100_000, us(3));
    assert!(bench.permits(us(3), us(5000), 9).is_empty());
    assert_eq!(bench.sent(), None);
    bench.sender.pause(RECEIVER, id, us(5000));
    assert_eq!(bench.sent(), None);
    bench.sender.resume(RECEIVER, id, us(5001));
    assert_eq!(bench.requested().message_id, id);
    bench.grant(id, 3 * UNIT, 100_000, us(5002));
    assert_eq!(bench.permits(us(5002), us(5050), 9).len(), 1);
}

/// In a long line of senders each turn takes about as long as the one before: no requests are repeated meanwhile.
#[test]
fn requests_are_thinned_to_the_time_that_credit_takes() {
    let mut bench = SenderBench::up();
    let id = bench.submit(MIB, false, Nanos(0));
    bench.requested();
    let mut limit = 0;
    for turn in 1..=10 {
        let at = us(350 * turn);
        bench.permits(us(350 * (turn - 1)), at, 9);
        let repeated = core::iter::from_fn(|| bench.sent()).count();
        assert!(turn == 1 || repeated == 0, "turn {turn}: {repeated}");
        limit += UNIT;
        bench.grant(id, limit, 100_000, at);
    }
}

/// A queue pair's first sequence number may be set before there is an association.
#[test]
fn a_sequence_number_set_early_is_kept() {
    let mut bench = SenderBench::new();
    bench.sender.set_next_msn(RECEIVER, 1, 77);
    bench.associate(Nanos(0));
    bench.submit(UNIT, false, Nanos(0));
    assert_eq!(bench.requested().roce_binding().unwrap().first_msn, 77);
}

//~ RDCC, Sender Backlog Indication and Suggested Rates: 20ac3191 25f01307 86d48763
/// RDCC, Sender Backlog Indication: every receiver that gave the credit is told its share, by the hints.
#[test]
fn suggested_rates_follow_the_hints_and_stay_within_the_line_rate() {
    use rdcc::sender::{Binding, MessageSpec, Sender};
    use wire::rdcc::ServiceHint;
    let mut config = SenderConfig::new(MbitPerSec(100_000), peers::PORT);
    config.backlog_threshold = Some(Octets(4 * UNIT));
    let mut sender = Sender::new(config, [1; 32]);
    let accept = SenderBench::new().accept;
    let hints = [ServiceHint::LATENCY_SENSITIVE, ServiceHint::NONE, ServiceHint::THROUGHPUT_ORIENTED];
    let give = |sender: &mut Sender, peer, sequence, message: &Message, now| {
        let header = Header {
            association_id: ASSOCIATION,
            epoch: EPOCH,
            flags: Flags::NONE,
            sequence_number: SequenceNumber(sequence),
        };
        sender.handle_datagram(peer, &message.to_octets(&header), now);
    };
    for peer in (1..=3).map(source) {
        sender.associate(peer, Nanos(0)).unwrap();
        let octets = sender.poll_transmit().unwrap().octets;
        let (_, Message::AssocRequest(request)) = wire::rdcc::decode(&octets).unwrap() else { panic!() };
        let mut accept = accept;
        accept.sender_nonce = request.sender_nonce;
        give(&mut sender, peer, 1, &Message::AssocAccept(accept), us(8));
    }
    for (peer, hint) in (1..=3).map(source).zip(hints) {
        let spec = MessageSpec { hint, ..MessageSpec::new(Octets(MIB), Binding::Opaque(1), 0) };
        let id = sender.submit(peer, spec, us(8)).unwrap();
        give(&mut sender, peer, 2, &grant(id, 2 * UNIT, 1000), us(16));
    }
    let statuses = |sender: &mut Sender| {
        let mut found = std::collections::BTreeMap::new();
        while let Some(datagram) = sender.poll_transmit() {
            if let (_, Message::SenderStatus(status)) = wire::rdcc::decode(&datagram.octets).unwrap() {
                found.insert(datagram.to, status);
            }
        }
        found
    };
    let told = statuses(&mut sender);
    let rates: Vec<u32> = told.values().map(|status| status.suggested_rate.0).collect();
    assert_eq!(rates, [97_663 * 4 / 7, 97_663 * 2 / 7, 97_663 / 7]);
    assert!(told.values().zip(hints).all(|(status, hint)| status.service_hint == hint));
    assert!(
        told.values().all(|status| status.unused_credit == Octets(2 * UNIT) && status.congestion_level > 0)
    );
    // Again after a smoothed round trip of 8 us, not before.
    sender.handle_timeout(us(24) - Nanos(1));
    assert!(statuses(&mut sender).is_empty());
    sender.handle_timeout(us(24));
    assert_eq!(statuses(&mut sender).len(), 3);
}
