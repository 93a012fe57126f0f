//! Unscheduled data at the receiver: whose part of `G_u` it takes, and its time on the link. RDCC, Unscheduled Transmission.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{ReceiverBench, UNIT, request, us};
use rdcc::receiver::Parameters;
use wire::rdcc::{Cancel, CreditRequest, Flags, Message, MessageId, Reason, RoceBinding};
use wire::units::{Nanos, Octets};

const MIB: u64 = 1 << 20;

fn ask(bench: &mut ReceiverBench, from: u8, request: CreditRequest, now: Nanos) {
    bench.give(from, &Message::CreditRequest(request), now);
}

/// An unscheduled message with numbers of its own.
fn unscheduled(id: u64, octets: u64) -> CreditRequest {
    let first_msn = 16 * u32::try_from(id).unwrap();
    let binding = RoceBinding { destination_qp: 2, first_msn, rdma_messages: 2 };
    CreditRequest { binding_value: binding.to_value(), ..request(id, octets, octets) }
}

//~ RDCC, Unscheduled Transmission: 95d6b5a9
/// A sender with more than one unscheduled message outstanding takes nothing of what others were promised.
#[test]
fn no_sender_takes_more_of_g_u_than_its_own_u() {
    let mut bench = ReceiverBench::new(ReceiverBench::config());
    for from in 1..=8 {
        bench.associate(from, Nanos(0));
    }
    for id in 1..=20 {
        ask(&mut bench, 1, unscheduled(id, 3000), us(1));
    }
    assert_eq!(bench.receiver.stats().outstanding, 6000);
    for from in 2..=8 {
        ask(&mut bench, from, unscheduled(1, 6250), us(1));
    }
    assert_eq!(bench.receiver.stats().outstanding, 6000 + 7 * 6250);
    // What came of the first makes room for the next.
    bench.data(1, 2, 16, 3000, us(2));
    ask(&mut bench, 1, unscheduled(21, 3000), us(2));
    assert_eq!(bench.receiver.stats().outstanding, 6000 + 7 * 6250);
}

/// Octets granted to a scheduled message within 4 us, beside an unscheduled one of which `tell` tells.
fn granted_beside(tell: impl FnOnce(&mut ReceiverBench)) -> u64 {
    let mut config = ReceiverBench::config();
    config.unscheduled_limit = config.unscheduled_budget;
    let mut bench = ReceiverBench::new(config);
    bench.associate(1, Nanos(0));
    bench.associate(2, Nanos(0));
    tell(&mut bench);
    ask(&mut bench, 2, request(1, MIB, 0), us(1));
    bench.run(us(4));
    bench.receiver.stats().credit_granted
}

/// Announced octets take their time on the link; those that don't come give it back.
#[test]
fn credit_leaves_room_for_unscheduled_octets_as_long_as_they_may_come() {
    let announced = request(1, 50_000, 50_000);
    let kept = granted_beside(|bench| ask(bench, 1, announced, us(1)));
    let lowered = granted_beside(|bench| {
        ask(bench, 1, announced, us(1));
        ask(bench, 1, CreditRequest { unscheduled_sent: Octets(0), ..announced }, us(1));
        let cancel = Cancel { message_id: MessageId(1), reason: Reason::APPLICATION_ABORT };
        bench.give(1, &Message::Cancel(cancel), us(1));
    });
    let cancelled = granted_beside(|bench| {
        for id in 1..=20 {
            ask(bench, 1, CreditRequest { message_id: MessageId(id), ..announced }, us(1));
            let cancel = Cancel { message_id: MessageId(id), reason: Reason::APPLICATION_ABORT };
            bench.give(1, &Message::Cancel(cancel), us(1));
        }
    });
    let alone = granted_beside(|_| {});
    assert_eq!(cancelled, alone);
    assert!(lowered + UNIT >= alone, "{lowered} {alone}");
    assert!(kept + 6 * UNIT < alone, "{kept} {alone}");
}

//~ RDCC, Unscheduled Transmission: 95d6b5a9
//~ RDCC, Association Establishment: 2632e266
/// A lowered U refuses nothing that was sent under the one before, known or not, and what it frees is promised to others
/// only when that has come.
#[test]
fn a_lowered_u_aborts_no_message_of_before() {
    let mut config = ReceiverBench::config();
    config.unscheduled_limit = config.unscheduled_budget;
    let mut bench = ReceiverBench::new(config);
    bench.associate(1, Nanos(0));
    assert_eq!(bench.associate(2, Nanos(0)).unscheduled_limit.0, 0);
    let parameters = bench.receiver.parameters();
    bench.receiver.set_parameters(Parameters { unscheduled_limit: Octets(25_000), ..parameters }, us(1));
    bench.grants();
    ask(&mut bench, 1, request(1, 40_000, 40_000), us(150));
    bench.request_association(1, 1, Flags::UPDATE_ACKNOWLEDGMENT, us(151));
    // Settled after 2 * D_max, but for what was announced before: until J + Lifetime + 2 * D_max after its request.
    let told = |bench: &mut ReceiverBench| {
        let datagrams = std::iter::from_fn(|| bench.receiver.poll_transmit());
        datagrams
            .filter_map(|datagram| match wire::rdcc::decode(&datagram.octets).unwrap().1 {
                Message::AssocAccept(accept) => Some(accept.unscheduled_limit.0),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    bench.run(us(450));
    assert!(told(&mut bench).is_empty());
    bench.run(us(600));
    assert_eq!(told(&mut bench), [25_000]);
    // Known, and unknown because its request got lost.
    ask(&mut bench, 1, request(1, 40_000, 40_000), us(601));
    let other = CreditRequest { message_id: MessageId(2), ..unscheduled(2, 50_000) };
    ask(&mut bench, 1, other, us(601));
    assert_eq!(bench.receiver.poll_transmit(), None);
    assert_eq!(bench.receiver.stats().pending_messages, 2);
    ask(&mut bench, 1, unscheduled(3, 50_001), us(602));
    let Some((_, Message::Error(error))) = bench.sent(1) else { panic!() };
    assert_eq!(error.reason, Reason::MESSAGE_TOO_LARGE);
}
