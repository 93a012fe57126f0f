//! RDCC, Credit Requests and Grants: what a grant allows, and how it is asked for.

use crate::peers::{RECEIVER, SenderBench, UNIT, grant, us};
use wire::rdcc::{Flags, Message};
use wire::units::{Nanos, Octets};

const MIB: u64 = 1 << 20;

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
    // A grant that crossed the pause goes back too.
    bench.grant(id, 9 * UNIT, 100_000, us(5000));
    let Some((_, Message::CreditReturn(credit))) = bench.sent() else { panic!() };
    assert_eq!((credit.message_id, credit.new_limit), (id, Octets(2 * UNIT)));
    assert_eq!(bench.sender.stats().credit_returned, 13 * UNIT);
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

/// A message that the application holds back stays so when the receiver loses its state: nobody can send it.
#[test]
fn a_paused_message_stays_paused_through_a_restart_of_the_receiver() {
    let mut bench = SenderBench::up();
    let id = bench.submit(MIB, false, Nanos(0));
    bench.requested();
    bench.sender.pause(RECEIVER, id, us(2));
    bench.error(wire::rdcc::MessageId(0), wire::rdcc::Reason::UNKNOWN_ASSOCIATION, us(3));
    let Some((_, Message::AssocRequest(request))) = bench.sent() else { panic!() };
    bench.accept.sender_nonce = request.sender_nonce;
    bench.give_accept(Flags::NONE, us(4));
    bench.sender.handle_timeout(us(5000));
    assert_eq!(bench.sent(), None);
    bench.sender.resume(RECEIVER, id, us(5001));
    assert_eq!(bench.requested().message_id, id);
}
