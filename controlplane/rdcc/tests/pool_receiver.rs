//! The receiver's side of pool grants: RDCC, Traffic Classes and Pool Credit; both sides together.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{PORT, RECEIVER, ReceiverBench, UNIT, request, source, us};
use rdcc::receiver::{DataArrival, Receiver};
use rdcc::sender::{Binding, MessageSpec, Sender, SenderConfig, SenderEvent};
use wire::rdcc::{
    Cancel, Capabilities, CreditGrant, CreditRequest, CreditReturn, Flags, Message, MessageId, Reason,
    RoceBinding, TrafficClass,
};
use wire::units::{MbitPerSec, Nanos, Octets};

const MIB: u64 = 1 << 20;
const POOL: MessageId = MessageId(0);

fn bench(capabilities: Capabilities) -> ReceiverBench {
    let mut config = ReceiverBench::config();
    config.pool_grants = true;
    let mut bench = ReceiverBench::new(config);
    bench.capabilities = capabilities;
    let accept = bench.associate(1, Nanos(0));
    assert!(accept.capabilities.contains(Capabilities::POOL));
    bench
}

fn ask(bench: &mut ReceiverBench, id: u64, units: u64, class: u8, now: Nanos) {
    let rdma_messages = u16::try_from(units).unwrap();
    let destination_qp = u32::try_from(id).unwrap();
    let binding = RoceBinding { destination_qp, first_msn: 0, rdma_messages };
    let request = CreditRequest {
        class: TrafficClass(class),
        binding_value: binding.to_value(),
        ..request(id, units * UNIT, 0)
    };
    bench.give(1, &Message::CreditRequest(request), now);
}

/// Grants sent until `until`, with their flags.
fn grants(bench: &mut ReceiverBench, until: Nanos) -> Vec<(Flags, CreditGrant)> {
    bench.run(until);
    let mut grants = Vec::new();
    while let Some((header, message)) = bench.sent(1) {
        if let Message::CreditGrant(grant) = message {
            grants.push((header.flags, grant));
        }
    }
    grants
}

//~ RDCC, Credit Requests and Grants: f92f1bc6 ee9c1c3f 02255bbe
/// One cumulative limit over all messages, never beyond what they need together.
#[test]
fn a_pool_is_granted_what_its_messages_need() {
    let mut bench = bench(Capabilities::STATUS.with(Capabilities::POOL));
    ask(&mut bench, 1, 3, 2, us(1));
    ask(&mut bench, 2, 2, 0, us(1));
    let found = grants(&mut bench, us(60));
    assert!(found.iter().all(|(flags, grant)| flags.contains(Flags::POOL) && grant.message_id == POOL));
    assert!(!found.iter().any(|(flags, _)| flags.contains(Flags::FINAL)));
    assert_eq!(found.last().unwrap().1.grant_limit, Octets(5 * UNIT));
    assert_eq!(bench.receiver.stats().outstanding, 5 * UNIT);
    // Which message uses it is the sender's matter.
    for (qp, msn) in [(2, 0), (2, 1), (1, 0), (1, 1)] {
        bench.data(1, qp, msn, 4096, us(61));
    }
    assert_eq!(bench.receiver.stats().outstanding, UNIT);
    ask(&mut bench, 3, 1, 0, us(62));
    assert_eq!(grants(&mut bench, us(70)).last().unwrap().1.grant_limit, Octets(6 * UNIT));
    bench.data(1, 1, 2, 4096, us(71));
    bench.data(1, 3, 0, 4096, us(71));
    let stats = bench.receiver.stats();
    assert_eq!((stats.outstanding, stats.pending_messages, stats.messages_completed), (0, 0, 3));
    assert_eq!(stats.excess_octets, 0);
}

//~ RDCC, Credit Requests and Grants: f92f1bc6
/// Neither a sender that doesn't say that it takes pool grants gets one ...
#[test]
fn a_sender_without_the_capability_gets_no_pool_grant() {
    let mut bench = bench(Capabilities::STATUS);
    ask(&mut bench, 1, 3, 0, us(1));
    let found = grants(&mut bench, us(60));
    assert!(
        !found.is_empty()
            && found
                .iter()
                .all(|(flags, grant)| { !flags.contains(Flags::POOL) && grant.message_id == MessageId(1) })
    );
    assert_eq!(bench.receiver.stats().pool_grants, 0);
}

/// The class of the most urgent message counts for the pool's place in line.
#[test]
fn a_pool_waits_in_the_class_of_its_most_urgent_message() {
    let mut config = ReceiverBench::config();
    config.pool_grants = true;
    let mut bench = ReceiverBench::new(config);
    bench.capabilities = Capabilities::POOL;
    for from in 1..=4 {
        bench.associate(from, Nanos(0));
    }
    let ask = |bench: &mut ReceiverBench, from: u8, id: u64, class: u8| {
        let destination_qp = u32::try_from(id).unwrap();
        let binding = RoceBinding { destination_qp, first_msn: 0, rdma_messages: 256 };
        let request = CreditRequest {
            class: TrafficClass(class),
            binding_value: binding.to_value(),
            ..request(id, MIB, 0)
        };
        bench.give(from, &Message::CreditRequest(request), us(1));
    };
    // These keep the link busy, so that the others wait.
    ask(&mut bench, 3, 1, 0);
    ask(&mut bench, 4, 1, 0);
    bench.grants();
    ask(&mut bench, 1, 1, 5);
    ask(&mut bench, 2, 1, 6);
    ask(&mut bench, 2, 2, 1);
    bench.run(us(30));
    let after: Vec<u8> = bench.grants().into_iter().map(|(to, _)| to).filter(|&to| to < 3).collect();
    assert_eq!(after.first(), Some(&2), "{after:?}");
}

//~ RDCC, Error Handling and Recovery: f15e4b7f
/// Both sides of the pool's limit.
#[test]
fn data_beyond_the_pools_credit_is_excess() {
    let mut bench = bench(Capabilities::POOL);
    ask(&mut bench, 1, 2, 0, us(1));
    ask(&mut bench, 2, 300, 0, us(1));
    let limit = grants(&mut bench, us(5)).last().unwrap().1.grant_limit.0;
    let units = u32::try_from(limit / UNIT).unwrap();
    for msn in 0..units {
        bench.data(1, 2, msn, 4096, us(5));
    }
    // Refilled meanwhile; none of it is used up by what came within the limit.
    assert_eq!(bench.receiver.stats().excess_octets, 0);
    let held = bench.receiver.stats().outstanding;
    bench.data(1, 2, units, u32::try_from(held).unwrap(), us(5));
    assert_eq!(bench.receiver.stats().excess_octets, 0);
    let held = bench.receiver.stats().outstanding;
    bench.data(1, 2, units + 1, u32::try_from(held + 1).unwrap(), us(5));
    assert_eq!(bench.receiver.stats().excess_octets, 1);
}

//~ RDCC, Receiver Credit Budget: 6fae2f8d
/// Ours: a pool whose credit expired is given up, `Lifetime + 2 * D_max` after its grant; messages get their own grants
/// from then on, and what the pool let go is no offence when it comes late.
#[test]
fn a_pool_whose_credit_expired_is_given_up() {
    let mut bench = bench(Capabilities::POOL);
    ask(&mut bench, 1, 2, 0, us(1));
    let found = grants(&mut bench, us(299));
    assert_eq!(found.last().unwrap().1.grant_limit, Octets(2 * UNIT));
    assert_eq!(bench.receiver.stats().outstanding, 2 * UNIT);
    let after = grants(&mut bench, us(400));
    assert!(
        after.iter().all(|(flags, grant)| !flags.contains(Flags::POOL) && grant.message_id == MessageId(1))
    );
    assert!(!after.is_empty());
    bench.run(us(1000));
    bench.data(1, 1, 0, 4096, us(1000));
    bench.data(1, 1, 1, 4096, us(1000));
    let stats = bench.receiver.stats();
    assert_eq!((stats.messages_completed, stats.excess_octets, stats.outstanding), (1, 0, 0));
}

//~ RDCC, Credit Requests and Grants: 9cfb8b2f
/// A pool's credit comes back with `CREDIT_RETURN` of Message ID 0, once no grant can have crossed it; a `CANCEL` of a
/// message takes nothing of the pool back at once.
#[test]
fn a_pools_credit_is_returned() {
    let mut bench = bench(Capabilities::POOL);
    ask(&mut bench, 1, 2, 0, us(1));
    grants(&mut bench, us(20));
    let cancel = Cancel { message_id: MessageId(1), reason: Reason::APPLICATION_ABORT };
    bench.give(1, &Message::Cancel(cancel), us(21));
    assert_eq!(bench.receiver.stats().outstanding, 2 * UNIT);
    let credit = Message::CreditReturn(CreditReturn { message_id: POOL, new_limit: Octets(0) });
    bench.give(1, &credit, us(22));
    assert_eq!(bench.receiver.stats().outstanding, 2 * UNIT, "a grant may have crossed it");
    bench.give(1, &credit, us(230));
    let stats = bench.receiver.stats();
    assert_eq!((stats.outstanding, stats.credit_returned), (0, 2 * UNIT));
}

//~ RDCC, Traffic Classes and Pool Credit: 7d0d3db0
/// Both machines: the sender serves its classes in order from the receiver's pool grants, and everything is done.
#[test]
fn both_sides_of_a_pool() {
    let mut config = ReceiverBench::config();
    config.pool_grants = true;
    let mut receiver = Receiver::new(config, [1; 32]).unwrap();
    let mut sender = Sender::new(SenderConfig::new(MbitPerSec(100_000), PORT), [2; 32]);
    let mut now = Nanos(0);
    for (qp, class) in [(1, 3), (2, 0), (3, 3)] {
        let binding = Binding::RoceV2 { destination_qp: qp };
        let mut spec = MessageSpec::new(Octets(20 * UNIT + 10), binding, u64::from(qp));
        (spec.class, spec.allow_unscheduled) = (class, false);
        sender.submit(RECEIVER, spec, now).unwrap();
    }
    let (mut order, mut done) = (Vec::new(), 0);
    while done < 3 {
        assert!(now < us(10_000), "{order:?}");
        while let Some(datagram) = sender.poll_transmit() {
            receiver.handle_datagram(source(1), &datagram.octets, now);
        }
        while let Some(permit) = sender.poll_send(now) {
            let Binding::RoceV2 { destination_qp: qp } = permit.binding else { panic!() };
            order.push(permit.tag);
            let (msn, octets) = (permit.msn, permit.octets);
            let arrival =
                DataArrival { from: source(1).ip(), qp, msn, octets, ce: false, source_port: 49_152 };
            receiver.handle_data(arrival, now);
        }
        while let Some(datagram) = receiver.poll_transmit() {
            sender.handle_datagram(RECEIVER, &datagram.octets, now);
        }
        while let Some(event) = sender.poll_event() {
            done += usize::from(matches!(event, SenderEvent::MessageDone { .. }));
        }
        assert!(receiver.audit());
        now += Nanos(100);
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
    }
    let last_urgent = order.iter().rposition(|&tag| tag == 2).unwrap();
    let others_before = order.iter().take(last_urgent).filter(|&&tag| tag != 2).count();
    assert!(others_before <= 1, "{order:?}");
    let stats = receiver.stats();
    assert_eq!((stats.outstanding, stats.excess_octets, stats.messages_completed), (0, 0, 3));
    assert!(stats.pool_grants > 0 && stats.pool_grants == stats.grants);
    assert_eq!(sender.stats().invariant_violations, 0);
}

/// A request for `units` from number `first_msn` on queue pair 1.
fn ask_from(bench: &mut ReceiverBench, id: u64, first_msn: u32, units: u64, now: Nanos) {
    let rdma_messages = u16::try_from(units).unwrap();
    let binding = RoceBinding { destination_qp: 1, first_msn, rdma_messages };
    let request = CreditRequest { binding_value: binding.to_value(), ..request(id, units * UNIT, 0) };
    bench.give(1, &Message::CreditRequest(request), now);
}

fn granted_to(found: &[(Flags, CreditGrant)]) -> Vec<MessageId> {
    let mut ids: Vec<_> = found.iter().map(|(_, grant)| grant.message_id).collect();
    ids.dedup();
    ids
}

/// Ours: a message that takes over numbers of one that was given up gets grants of its own, the first beyond them the
/// pool's. The CANCEL may have come (message 2) or not (message 3).
#[test]
fn numbers_of_a_message_that_was_given_up_are_granted_by_name() {
    let mut bench = bench(Capabilities::STATUS.with(Capabilities::POOL));
    ask_from(&mut bench, 1, 0, 3, us(1));
    assert_eq!(granted_to(&grants(&mut bench, us(2))), [POOL]);
    bench.data(1, 1, 0, 4096, us(3));
    let cancel = Cancel { message_id: MessageId(1), reason: Reason::APPLICATION_ABORT };
    bench.give(1, &Message::Cancel(cancel), us(4));
    ask_from(&mut bench, 2, 1, 1, us(5));
    assert_eq!(granted_to(&grants(&mut bench, us(6))).last(), Some(&MessageId(2)));
    ask_from(&mut bench, 3, 1, 2, us(7));
    assert_eq!(granted_to(&grants(&mut bench, us(8))).last(), Some(&MessageId(3)));
    bench.data(1, 1, 1, 4096, us(9));
    bench.data(1, 1, 2, 4096, us(9));
    assert_eq!(bench.receiver.stats().messages_completed, 1);
    // The first number that was never another's: the pool's credit is for it again, what is left of it included.
    ask_from(&mut bench, 4, 3, 1, us(10));
    ask_from(&mut bench, 4, 3, 1, us(30));
    assert_eq!(granted_to(&grants(&mut bench, us(31))), [POOL]);
    bench.data(1, 1, 3, 4096, us(32));
    let stats = bench.receiver.stats();
    assert_eq!((stats.messages_completed, stats.excess_octets), (2, 0));
}

/// Ours: the receiver may not have heard of the message that was given up. Who asks for the third time while the pool has
/// credit can't use it.
#[test]
fn a_member_that_asks_in_vain_gets_grants_of_its_own() {
    let mut bench = bench(Capabilities::STATUS.with(Capabilities::POOL));
    ask_from(&mut bench, 1, 7, 1, us(1));
    for repetition in 1..3 {
        ask_from(&mut bench, 1, 7, 1, us(repetition * 20));
        assert_eq!(granted_to(&grants(&mut bench, us(repetition * 20 + 1))), [POOL], "{repetition}");
    }
    ask_from(&mut bench, 1, 7, 1, us(60));
    assert!(granted_to(&grants(&mut bench, us(61))).contains(&MessageId(1)));
    // What the sender may have let go under the pool all the same is no offence.
    bench.data(1, 1, 7, 4096, us(62));
    let stats = bench.receiver.stats();
    assert_eq!((stats.messages_completed, stats.excess_octets), (1, 0));
}
