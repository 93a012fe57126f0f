//! Senders that say anything at all: whatever they do, what the receiver has granted and announced stays within G, and
//! its accounts add up.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{CRN, EPOCH, ReceiverBench, UNIT, report, source};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use rdcc::receiver::OpaqueArrival;
use wire::rdcc::{
    BindingKind, Cancel, CreditRequest, CreditReturn, Direction, Flags, Message, MessageId, Reason,
    RoceBinding, SenderStatus, ServiceHint, TrafficClass, Weight,
};
use wire::units::{MbitPerSec, Micros, Nanos, Octets};

#[derive(Clone, Debug)]
enum Act {
    Say(u8, Message),
    Data { from: u8, qp: u8, msn: u8, octets: u16 },
    Opaque { from: u8, value: u8, octets: u16 },
    Report { from: u8, degree: u8, suggested: u32 },
    Acknowledge { from: u8 },
    Limit(u16),
    Wait(u32),
}

fn request() -> impl Strategy<Value = Message> {
    let lengths = prop_oneof![1..20_000u64, Just(u64::MAX), 1..1_000_000u64, Just(0)];
    let unscheduled = prop_oneof![4 => Just(0u64), 2 => 0..7000u64, 1 => Just(u64::MAX)];
    (0..12u64, lengths, unscheduled, any::<(u8, u8, u8)>(), 0..4u8, (1..4u32, 0..40u32, 0..30u16), 0..500u32)
        .prop_map(
            |(
                id,
                length,
                unscheduled,
                (class, weight, hint),
                kind,
                (destination_qp, first_msn, rdma_messages),
                deadline,
            )| {
                let binding = RoceBinding { destination_qp, first_msn, rdma_messages };
                Message::CreditRequest(CreditRequest {
                    message_id: MessageId(id),
                    message_length: Octets(length),
                    unscheduled_sent: Octets(unscheduled),
                    class: TrafficClass(class),
                    weight: Weight(weight),
                    service_hint: ServiceHint(hint),
                    binding_kind: BindingKind(kind),
                    deadline: Micros(deadline),
                    binding_value: if kind == 2 { u64::from(destination_qp) } else { binding.to_value() },
                })
            },
        )
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        6 => request(),
        1 => (0..12u64).prop_map(|id| {
            Message::Cancel(Cancel { message_id: MessageId(id), reason: Reason::APPLICATION_ABORT })
        }),
        1 => (0..12u64, any::<u64>(), any::<bool>()).prop_map(|(id, limit, small)| {
            let new_limit = Octets(if small { limit % 100_000 } else { limit });
            Message::CreditReturn(CreditReturn { message_id: MessageId(id), new_limit })
        }),
        1 => any::<(u64, u8, u32)>().prop_map(|(unused, congestion_level, rate)| {
            Message::SenderStatus(SenderStatus {
                unused_credit: Octets(unused),
                congestion_level,
                service_hint: ServiceHint::NONE,
                suggested_rate: MbitPerSec(rate),
            })
        }),
    ]
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        8 => (1..4u8, message()).prop_map(|(from, message)| Act::Say(from, message)),
        8 => (1..4u8, 1..4u8, 0..70u8, any::<u16>())
            .prop_map(|(from, qp, msn, octets)| Act::Data { from, qp, msn, octets }),
        2 => (1..4u8, 1..4u8, any::<u16>()).prop_map(|(from, value, octets)| Act::Opaque { from, value, octets }),
        1 => (1..4u8, any::<u8>(), any::<u32>())
            .prop_map(|(from, degree, suggested)| Act::Report { from, degree, suggested }),
        1 => (1..4u8).prop_map(|from| Act::Acknowledge { from }),
        1 => any::<u16>().prop_map(Act::Limit),
        6 => prop_oneof![1..20_000u32, 1..1_000_000u32].prop_map(Act::Wait),
    ];
    proptest::collection::vec(act, 1..120)
}

fn schedule(acts: Vec<Act>, pool_grants: bool) {
    let mut config = ReceiverBench::config();
    config.pool_grants = pool_grants;
    config.opaque_bindings = true;
    config.association_credit = Some(Octets(20 * UNIT));
    config.max_pending_messages = 8;
    config.loss_interval = Nanos(500_000);
    config.idle_timeout = Nanos(2_000_000);
    let mut bench = ReceiverBench::new(config);
    for from in 1..4 {
        bench.associate(from, Nanos(0));
    }
    let mut now = Nanos(0);
    for act in acts {
        match act {
            Act::Say(from, message) => bench.give(from, &message, now),
            Act::Data { from, qp, msn, octets } => {
                bench.data(from, u32::from(qp), u32::from(msn), u32::from(octets), now);
            }
            Act::Opaque { from, value, octets } => {
                let arrival = OpaqueArrival {
                    from: source(from).ip(),
                    binding_value: u64::from(value),
                    octets: u32::from(octets),
                    ce: octets % 5 == 0,
                    source_port: 49_152,
                };
                bench.receiver.handle_opaque_data(arrival, now);
            }
            Act::Report { from, degree, suggested } => {
                let report = report(Direction::TO_RECEIVER, source(from), degree, suggested);
                bench.receiver.handle_datagram(CRN, &report, now);
            }
            Act::Acknowledge { from } => {
                bench.request_association(from, u64::from(from), Flags::UPDATE_ACKNOWLEDGMENT, now);
            }
            Act::Limit(limit) => {
                let mut parameters = bench.receiver.parameters();
                parameters.unscheduled_limit = Octets(u64::from(limit));
                bench.receiver.set_parameters(parameters, now);
            }
            Act::Wait(nanos) => {
                now += Nanos(u64::from(nanos));
                bench.run(now);
            }
        }
        assert!(bench.receiver.audit());
        while let Some(datagram) = bench.receiver.poll_transmit() {
            let (header, message) = wire::rdcc::decode(&datagram.octets).unwrap();
            assert!(header.epoch == EPOCH);
            if let Message::CreditGrant(grant) = message {
                assert!(grant.pacing_rate.0 > 0);
            }
        }
    }
    // Silence: everything runs out, associations are removed, nothing stays.
    bench.run(now + Nanos(60_000_000));
    let stats = bench.receiver.stats();
    assert_eq!(
        (stats.outstanding, stats.associations, stats.pending_messages, stats.pacing_sum),
        (0, 0, 0, 0)
    );
}

//~ RDCC, Receiver Credit Budget: 784c0926
//~ RDCC, Security Considerations: fe355f68 3a83bfa6
#[test]
fn no_sender_can_break_the_budget() {
    let config = ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]));
    runner
        .run(&(acts(), any::<bool>()), |(acts, pool_grants)| {
            schedule(acts, pool_grants);
            Ok(())
        })
        .unwrap();
}
