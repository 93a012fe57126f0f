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

/// RDCC, Port Configuration: no default, and one port for the domain.
#[test]
fn a_peer_on_another_port_is_refused() {
    let mut bench = SenderBench::new();
    let peer = std::net::SocketAddr::new(RECEIVER.ip(), 1);
    let refused = SubmitError::NotTheRdccPort { peer, rdcc_port: peers::PORT };
    assert_eq!(bench.sender.associate(peer, Nanos(0)), Err(refused));
}

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
    assert_eq!(bench.sender.poll_event(), None);
    bench.sender.handle_timeout(us(100));
    assert_eq!(bench.requested().message_id, id);
    bench.error(MessageId(0), Reason::ASSOC_REFUSED, us(101));
    assert_eq!(bench.sender.poll_event(), Some(SenderEvent::AssociationRefused { peer: RECEIVER }));
    assert!(matches!(bench.sender.poll_event(), Some(SenderEvent::MessageAborted { .. })));
}

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
    assert_eq!((status.unused_credit, status.suggested_rate), (Octets(5 * UNIT), MbitPerSec(100_000)));
    assert!(status.congestion_level > 0);
    assert_eq!(bench.permits(us(1), us(1), 1).len(), 1);
    let Some((_, Message::SenderStatus(status))) = bench.sent() else { panic!() };
    assert_eq!((status.congestion_level, status.suggested_rate), (0, MbitPerSec(0)));
    assert_eq!(bench.sent(), None);
}
