//! What a receiver says of messages that ended, and of those that didn't: RDCC, Sender Message State Machine.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{ReceiverBench, UNIT, request, source, us};
use rdcc::receiver::{OpaqueArrival, ReceiverEvent};
use wire::rdcc::{
    BindingKind, Cancel, CreditRequest, Message, MessageId, MsgDone, Reason, SenderStatus, ServiceHint,
};
use wire::units::{MbitPerSec, Nanos, Octets};

const MIB: u64 = 1 << 20;

fn ask(bench: &mut ReceiverBench, request: CreditRequest, now: Nanos) {
    bench.give(1, &Message::CreditRequest(request), now);
}

/// What the receiver says next.
fn said(bench: &mut ReceiverBench) -> Option<Message> {
    bench.sent(1).map(|(_, message)| message)
}

/// Whether the receiver says next that a message is done, with its length.
fn says_done(bench: &mut ReceiverBench, id: u64, octets: u64) -> bool {
    let done = MsgDone { message_id: MessageId(id), octets_received: Octets(octets) };
    said(bench) == Some(Message::MsgDone(done))
}

//~ RDCC, Credit Requests and Grants: 4f27a04b
/// `MSG_DONE` is for what came, however many messages complete meanwhile: not for one that still waits, and not for one
/// whose first request got lost.
#[test]
fn a_message_that_others_overtake_is_not_done() {
    let mut bench = ReceiverBench::new(ReceiverBench::config());
    bench.associate(1, Nanos(0));
    ask(&mut bench, request(1, MIB, 0), us(1));
    bench.grants();
    for id in (2..=2500).filter(|&id| id != 5) {
        ask(&mut bench, request(id, UNIT, UNIT), us(1));
        bench.data(1, 2, 0, 4096, us(1));
        assert!(says_done(&mut bench, id, UNIT));
    }
    ask(&mut bench, request(1, MIB, 0), us(2));
    assert!(matches!(said(&mut bench), Some(Message::CreditGrant(_))));
    ask(&mut bench, request(5, UNIT, UNIT), us(2));
    assert_eq!(said(&mut bench), None);
    bench.data(1, 2, 0, 4096, us(3));
    assert!(says_done(&mut bench, 5, UNIT));
    for id in [2, 4, 6, 2500] {
        ask(&mut bench, request(id, UNIT, UNIT), us(4));
        assert!(says_done(&mut bench, id, UNIT));
    }
}

/// Ours: a message that holds nothing and that its sender doesn't talk of any more, although it talks, is given up: its
/// `CANCEL` got lost. Asked again, the receiver says so again.
#[test]
fn a_message_whose_cancel_got_lost_does_not_stay() {
    let mut config = ReceiverBench::config();
    (config.opaque_bindings, config.max_pending_messages) = (true, 1);
    config.idle_timeout = us(1000);
    let mut bench = ReceiverBench::new(config);
    bench.associate(1, Nanos(0));
    let opaque =
        |id| CreditRequest { binding_kind: BindingKind::OPAQUE, binding_value: id, ..request(id, UNIT, 0) };
    ask(&mut bench, opaque(1), us(1));
    bench.grants();
    let status = SenderStatus {
        unused_credit: Octets(0),
        congestion_level: 0,
        service_hint: ServiceHint::NONE,
        suggested_rate: MbitPerSec(0),
    };
    let mut cancelled = Vec::new();
    for step in 1..=30u64 {
        bench.run(us(step * 100));
        bench.give(1, &Message::SenderStatus(status), us(step * 100));
        while let Some(message) = said(&mut bench) {
            let Message::Cancel(cancel) = message else { panic!("{message:?}") };
            cancelled.push((step, cancel));
        }
    }
    let [(at, cancel)] = cancelled[..] else { panic!("{cancelled:?}") };
    assert_eq!(cancel, Cancel { message_id: MessageId(1), reason: Reason::APPLICATION_ABORT });
    assert!((10..=20).contains(&at), "{at}");
    assert_eq!(bench.receiver.stats().pending_messages, 0);
    let told = std::iter::from_fn(|| bench.receiver.poll_event()).last();
    assert_eq!(told, Some(ReceiverEvent::MessageCancelled { from: source(1), message: MessageId(1) }));
    ask(&mut bench, opaque(1), us(3001));
    let Some(Message::Error(error)) = said(&mut bench) else { panic!() };
    assert_eq!((error.message_id, error.reason), (MessageId(1), Reason::APPLICATION_ABORT));
    ask(&mut bench, opaque(2), us(3002));
    assert!(matches!(said(&mut bench), Some(Message::CreditGrant(_))));
}

/// One that its sender or its data tells of stays.
#[test]
fn a_message_that_is_asked_for_or_arrives_stays() {
    for asks in [true, false] {
        let mut config = ReceiverBench::config();
        config.opaque_bindings = true;
        config.idle_timeout = us(1000);
        let mut bench = ReceiverBench::new(config);
        bench.associate(1, Nanos(0));
        let request =
            CreditRequest { binding_kind: BindingKind::OPAQUE, binding_value: 7, ..request(1, MIB, 0) };
        ask(&mut bench, request, us(1));
        for step in 1..=30u64 {
            bench.run(us(step * 100));
            if asks {
                ask(&mut bench, request, us(step * 100));
            } else {
                let arrival = OpaqueArrival {
                    from: source(1).ip(),
                    binding_value: 7,
                    octets: 9,
                    ce: false,
                    source_port: 49_152,
                };
                bench.receiver.handle_opaque_data(arrival, us(step * 100));
            }
        }
        assert_eq!(bench.receiver.stats().pending_messages, 1);
        while let Some(message) = said(&mut bench) {
            assert!(matches!(message, Message::CreditGrant(_)), "{message:?}");
        }
    }
}

/// Data of a message that was cancelled, and numbers that come again when 24 bits have gone round.
#[test]
fn data_of_a_cancelled_message_is_nobodys() {
    let mut bench = ReceiverBench::new(ReceiverBench::config());
    bench.associate(1, Nanos(0));
    ask(&mut bench, request(1, 4 * UNIT, 0), us(1));
    let cancel = Cancel { message_id: MessageId(1), reason: Reason::APPLICATION_ABORT };
    bench.give(1, &Message::Cancel(cancel), us(10));
    bench.data(1, 1, 0, 4096, us(20));
    assert_eq!(bench.receiver.stats().unmatched_octets, UNIT);
    // Later than anything of it can come, but it came: not from this message's turn of the circle either.
    bench.run(us(400));
    bench.data(1, 1, 1, 4096, us(400));
    bench.grants();
    ask(&mut bench, request(2, 4 * UNIT, 0), us(500));
    bench.run(us(510));
    assert_eq!(bench.grants().last().unwrap().1.grant_limit, Octets(4 * UNIT));
    for msn in 0..4 {
        assert_eq!(said(&mut bench), None);
        bench.data(1, 1, msn, 4096, us(511));
    }
    assert!(says_done(&mut bench, 2, 4 * UNIT));
    let stats = bench.receiver.stats();
    assert_eq!((stats.unmatched_octets, stats.excess_octets), (2 * UNIT, 0));
}
