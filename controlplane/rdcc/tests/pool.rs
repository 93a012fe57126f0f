//! The sender's side of pool grants: RDCC, Traffic Classes and Pool Credit.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{RECEIVER, SenderBench, UNIT, grant, us};
use rdcc::sender::{Binding, MessageSpec, SendPermit};
use wire::rdcc::{Flags, Message, MessageId};
use wire::units::{Nanos, Octets};

const POOL: MessageId = MessageId(0);

fn submit(bench: &mut SenderBench, units: u64, class: u8, weight: u8) -> MessageId {
    let spec = MessageSpec {
        class,
        weight,
        allow_unscheduled: false,
        ..MessageSpec::new(
            Octets(units * UNIT),
            Binding::Opaque(u64::from(class) << 8 | u64::from(weight)),
            0,
        )
    };
    let id = bench.sender.submit(RECEIVER, spec, Nanos(0)).unwrap();
    assert_eq!(bench.requested().message_id, id);
    id
}

fn pool(bench: &mut SenderBench, units: u64, rate: u32, now: Nanos) {
    bench.give_flagged(Flags::POOL, &grant(POOL, units * UNIT, rate), now);
}

fn counts(permits: &[(Nanos, SendPermit)], ids: [MessageId; 2]) -> [usize; 2] {
    ids.map(|id| permits.iter().filter(|(_, permit)| permit.message == id).count())
}

#[test]
fn a_sender_says_that_it_takes_pool_grants() {
    let mut bench = SenderBench::new();
    bench.sender.associate(RECEIVER, Nanos(0)).unwrap();
    let Some((_, Message::AssocRequest(request))) = bench.sent() else { panic!() };
    assert!(request.capabilities.contains(wire::rdcc::Capabilities::POOL));
}

//~ RDCC, Traffic Classes and Pool Credit: 7d0d3db0 07476ba2
//~ RDCC, Credit Requests and Grants: ee9c1c3f
#[test]
fn classes_share_a_pool_in_strict_order() {
    let mut bench = SenderBench::up();
    let later = submit(&mut bench, 4, 1, 255);
    let first = submit(&mut bench, 2, 0, 1);
    pool(&mut bench, 5, 100_000, us(1));
    let permits = bench.permits(us(1), us(50), 99);
    let order: Vec<_> = permits.iter().map(|(_, permit)| permit.message).collect();
    assert_eq!(order, [first, first, later, later, later]);
    assert!(
        permits
            .iter()
            .all(|(_, permit)| permit.scheduled && permit.class == u8::from(permit.message == later))
    );
    // The limit is cumulative over all of them.
    pool(&mut bench, 6, 100_000, us(50));
    assert_eq!(counts(&bench.permits(us(50), us(99), 99), [first, later]), [0, 1]);
}

//~ RDCC, Traffic Classes and Pool Credit: 7d0d3db0
#[test]
fn weights_divide_a_class_and_nothing_is_left_idle() {
    let mut bench = SenderBench::up();
    let heavy = submit(&mut bench, 8, 0, 3);
    let light = submit(&mut bench, 20, 0, 1);
    pool(&mut bench, 8, 100_000, us(1));
    assert_eq!(counts(&bench.permits(us(1), us(50), 99), [heavy, light]), [6, 2]);
    // The heavy one has two units left; the light one takes all the rest.
    pool(&mut bench, 16, 100_000, us(50));
    assert_eq!(counts(&bench.permits(us(50), us(99), 99), [heavy, light]), [2, 6]);
}

//~ RDCC, Credit Requests and Grants: 398e555d 308be8c7
//~ RDCC, CREDIT_GRANT: bfe331a3
#[test]
fn pool_credit_ends_at_its_limit_and_with_its_lifetime() {
    let mut bench = SenderBench::up();
    let id = submit(&mut bench, 40, 0, 1);
    pool(&mut bench, 2, 100_000, us(1));
    assert_eq!(bench.permits(us(1), us(20), 99).len(), 2);
    // WAITING again: it asks after the request timeout, from when the credit was used up.
    bench.sender.handle_timeout(us(200));
    assert_eq!(bench.requested().message_id, id);
    // A smaller limit takes nothing away; void grants give nothing.
    pool(&mut bench, 1, 100_000, us(201));
    pool(&mut bench, 9, 0, us(201));
    bench.give_flagged(Flags::POOL, &grant(id, 9 * UNIT, 100_000), us(201));
    assert!(bench.permits(us(201), us(210), 99).is_empty());
    // Two units at 16 Mbit/s in 2000 us, then the Lifetime is over.
    pool(&mut bench, 40, 16, us(250));
    assert_eq!(bench.permits(us(250), us(2249), 99).len(), 2);
    while bench.sent().is_some() {}
    bench.sender.handle_timeout(us(2250));
    assert_eq!(bench.sender.poll_send(us(2250)), None);
    assert_eq!(bench.requested().message_id, id);
    assert!(bench.permits(us(2250), us(2300), 99).is_empty());
    pool(&mut bench, 1, 100_000, us(2300));
    assert_eq!(bench.permits(us(2300), us(2400), 99).len(), 36, "any newer grant revives what is held");
    assert_eq!(bench.sender.stats().invariant_violations, 0);
}

//~ RDCC, Credit Requests and Grants: 9cfb8b2f
//~ RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: dbfbe6a9
#[test]
fn what_nobody_needs_of_a_pool_is_returned() {
    let mut bench = SenderBench::up();
    let id = submit(&mut bench, 2, 0, 1);
    pool(&mut bench, 5, 100_000, us(1));
    assert_eq!(bench.permits(us(1), us(20), 99).len(), 2);
    let Some((_, Message::CreditReturn(credit))) = bench.sent() else { panic!() };
    assert_eq!((credit.message_id, credit.new_limit), (POOL, Octets(2 * UNIT)));
    assert_eq!(bench.sender.stats().credit_returned, 3 * UNIT);
    bench.done(id, 2 * UNIT, us(21));
    assert_eq!((bench.sent(), bench.sender.poll_timeout()), (None, None));
}

#[test]
fn a_messages_own_credit_is_used_first() {
    let mut bench = SenderBench::up();
    let own = submit(&mut bench, 4, 0, 1);
    let other = submit(&mut bench, 4, 0, 2);
    bench.grant(own, 2 * UNIT, 100_000, us(1));
    pool(&mut bench, 4, 100_000, us(1));
    let permits = bench.permits(us(1), us(50), 99);
    assert_eq!(permits.len(), 6);
    let [own, other] = counts(&permits, [own, other]);
    assert!(own >= 2 && other >= 2, "{own} {other}");
}

#[test]
fn a_lost_association_takes_its_pool_with_it() {
    let mut bench = SenderBench::up();
    let id = submit(&mut bench, 8, 0, 1);
    pool(&mut bench, 8, 100_000, us(1));
    assert_eq!(bench.permits(us(1), us(1), 1).len(), 1);
    bench.error(id, wire::rdcc::Reason::UNKNOWN_ASSOCIATION, us(2));
    assert!(bench.permits(us(2), us(90), 9).is_empty());
}

/// Ours: a message behind one that was given up takes over its numbers. The receiver may not have heard of either, and
/// would take the newer one's data for the older one's; a grant for the newer one shows that it knows, a pool's doesn't.
#[test]
fn numbers_that_were_announced_before_need_a_grant_of_their_own() {
    let mut bench = SenderBench::up();
    let first = bench.submit(4 * UNIT, false, Nanos(0));
    assert_eq!(bench.requested().roce_binding().unwrap().first_msn, 0);
    pool(&mut bench, 9, 100_000, us(1));
    assert_eq!(bench.permits(us(1), us(1), 1).len(), 1);
    bench.sender.cancel(RECEIVER, first, us(2));
    while bench.sent().is_some() {}
    // Numbers 1 to 3, and 4: the one that is new.
    let reusing = bench.submit(3 * UNIT, false, us(2));
    let fresh = bench.submit(UNIT, false, us(2));
    let firsts =
        [bench.requested(), bench.requested()].map(|request| request.roce_binding().unwrap().first_msn);
    assert_eq!(firsts, [1, 4]);
    pool(&mut bench, 9, 100_000, us(3));
    assert_eq!(bench.permits(us(3), us(40), 99), [], "pool credit isn't for it");
    bench.grant(reusing, 2 * UNIT, 100_000, us(40));
    let permits = bench.permits(us(40), us(45), 99);
    assert_eq!(counts(&permits, [reusing, fresh]), [2, 0]);
    bench.grant(reusing, 3 * UNIT, 100_000, us(45));
    pool(&mut bench, 9, 100_000, us(45));
    assert_eq!(counts(&bench.permits(us(45), us(60), 99), [reusing, fresh]), [1, 1]);
    assert_eq!(bench.sender.stats().invariant_violations, 0);
}

/// With nobody but such a message, pool credit goes back.
#[test]
fn pool_credit_that_no_message_may_use_is_returned() {
    let mut bench = SenderBench::up();
    let first = bench.submit(4 * UNIT, false, Nanos(0));
    bench.sender.cancel(RECEIVER, first, us(1));
    bench.submit(UNIT, false, us(1));
    while bench.sent().is_some() {}
    pool(&mut bench, 2, 100_000, us(2));
    let Some((_, Message::CreditReturn(credit))) = bench.sent() else { panic!() };
    assert_eq!((credit.message_id, credit.new_limit), (POOL, Octets(0)));
}
