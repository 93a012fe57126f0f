//! The largest values of every field, twice, at both sides: nothing overflows, and the accounts add up.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{RECEIVER, ReceiverBench, SenderBench, UNIT, request, source, us};
use rdcc::receiver::OpaqueArrival;
use rdcc::sender::{Binding, MessageSpec};
use wire::rdcc::{
    BindingKind, Cancel, Capabilities, CreditGrant, CreditRequest, CreditReturn, ErrorMessage, Flags,
    Message, MessageId, MsgDone, Reason, SenderStatus, ServiceHint, TrafficClass, Weight,
};
use wire::units::{MbitPerSec, Micros, Nanos, Octets, Octets32};

const MOST: u64 = u64::MAX;

fn largest_request(id: u64, unscheduled: u64, kind: BindingKind) -> CreditRequest {
    CreditRequest {
        message_id: MessageId(id),
        message_length: Octets(MOST),
        unscheduled_sent: Octets(unscheduled),
        class: TrafficClass(u8::MAX),
        weight: Weight(u8::MAX),
        binding_kind: kind,
        deadline: Micros(u32::MAX),
        binding_value: MOST - id,
        ..request(1, 1, 0)
    }
}

//~ RDCC, Receiver Credit Budget: 784c0926
#[test]
fn a_receiver_takes_the_largest_values() {
    for pool_grants in [false, true] {
        let mut config = ReceiverBench::config();
        (config.pool_grants, config.opaque_bindings) = (pool_grants, true);
        let mut bench = ReceiverBench::new(config);
        bench.capabilities = Capabilities::STATUS.with(Capabilities::POOL);
        for from in 1..=2 {
            bench.associate(from, Nanos(0));
        }
        for (step, from) in [1, 2, 1, 2].into_iter().enumerate() {
            let now = us(1 + step as u64);
            for (id, kind) in
                [(MOST, BindingKind::ROCEV2), (MOST - 1, BindingKind::OPAQUE), (1, BindingKind::OPAQUE)]
            {
                for unscheduled in [0, MOST] {
                    bench.give(from, &Message::CreditRequest(largest_request(id, unscheduled, kind)), now);
                }
            }
            for id in [MOST, 0, 1] {
                let credit = CreditReturn { message_id: MessageId(id), new_limit: Octets(MOST) };
                bench.give(from, &Message::CreditReturn(credit), now);
            }
            let status = SenderStatus {
                unused_credit: Octets(MOST),
                congestion_level: u8::MAX,
                service_hint: ServiceHint(u8::MAX),
                suggested_rate: MbitPerSec(u32::MAX),
            };
            bench.give(from, &Message::SenderStatus(status), now);
            bench.run(now);
            for value in [MOST - 1, 0] {
                let from = source(from).ip();
                let arrival =
                    OpaqueArrival { from, binding_value: value, octets: u32::MAX, ce: true, source_port: 1 };
                bench.receiver.handle_opaque_data(arrival, now);
                assert!(bench.receiver.audit());
            }
        }
        for from in [1, 2] {
            for id in [MOST, MOST - 1] {
                let cancel = Cancel { message_id: MessageId(id), reason: Reason(u16::MAX) };
                bench.give(from, &Message::Cancel(cancel), us(9));
            }
        }
        bench.run(us(30_000_000));
        let stats = bench.receiver.stats();
        assert_eq!((stats.outstanding, stats.pending_messages, stats.associations), (0, 0, 0));
    }
}

#[test]
fn a_sender_takes_the_largest_values() {
    let mut bench = SenderBench::new();
    let most = Octets32(u32::MAX);
    (bench.accept.unscheduled_limit, bench.accept.backlog_threshold) = (most, Octets32(1));
    (bench.accept.start_jitter, bench.accept.grant_lifetime) = (Micros(u32::MAX), Micros(u32::MAX));
    bench.associate(Nanos(0));
    let ids = [1, 2].map(|value| {
        let mut spec = MessageSpec::new(Octets(MOST), Binding::Opaque(value), value);
        (spec.deadline, spec.weight, spec.class) = (Micros(u32::MAX), u8::MAX, u8::MAX);
        bench.sender.submit(RECEIVER, spec, Nanos(0)).unwrap()
    });
    let grant = |id| {
        Message::CreditGrant(CreditGrant {
            message_id: id,
            grant_limit: Octets(MOST),
            pacing_rate: MbitPerSec(u32::MAX),
            lifetime: Micros(u32::MAX),
        })
    };
    for now in [us(1), us(2)] {
        for id in ids {
            bench.give(&grant(id), now);
        }
        bench.give_flagged(Flags::POOL, &grant(MessageId(0)), now);
        bench.give(&grant(MessageId(MOST)), now);
        let done = MsgDone { message_id: MessageId(MOST), octets_received: Octets(MOST) };
        bench.give(&Message::MsgDone(done), now);
        let cancel = Cancel { message_id: MessageId(MOST), reason: Reason(u16::MAX) };
        bench.give(&Message::Cancel(cancel), now);
        let error = ErrorMessage { reason: Reason(u16::MAX), message_id: MessageId(MOST) };
        bench.give(&Message::Error(error), now);
        assert!(bench.permits(now, now + Nanos(400), 3).len() <= 3);
    }
    let told = std::iter::from_fn(|| bench.sent()).filter_map(|(_, message)| match message {
        Message::SenderStatus(status) => Some(status),
        _ => None,
    });
    assert_eq!(
        told.map(|status| (status.unused_credit, status.congestion_level)).last(),
        Some((Octets(MOST), 255))
    );
    // All of it goes back, and the sums with it: the next message starts from nothing.
    for id in ids {
        bench.sender.cancel(RECEIVER, id, us(3));
    }
    while bench.sent().is_some() {}
    bench.submit(UNIT, false, us(4));
    assert!(bench.permits(us(4), us(9), 9).is_empty());
    assert_eq!(bench.sender.stats().invariant_violations, 0);
}
