//! RDCC, Sender Message State Machine: how messages end, and what that leaves on their queue pair.

use crate::peers::{RECEIVER, SenderBench, UNIT, us};
use rdcc::sender::SenderEvent;
use wire::rdcc::{Cancel, Message, MessageId, Reason};
use wire::units::Nanos;

const MIB: u64 = 1 << 20;

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

/// A queue pair's first sequence number may be set before there is an association.
#[test]
fn a_sequence_number_set_early_is_kept() {
    let mut bench = SenderBench::new();
    bench.sender.set_next_msn(RECEIVER, 1, 77);
    bench.associate(Nanos(0));
    bench.submit(UNIT, false, Nanos(0));
    assert_eq!(bench.requested().roce_binding().unwrap().first_msn, 77);
}
