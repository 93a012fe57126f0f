//! All messages of one sender together keep to what it may have: RDCC, Credit Allocation, rules 2 and 3.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{ReceiverBench, UNIT, request, us};
use wire::rdcc::{CreditRequest, Message, RoceBinding, SenderStatus, ServiceHint};
use wire::units::{MbitPerSec, Nanos, Octets};

const MIB: u64 = 1 << 20;

fn ask(bench: &mut ReceiverBench, from: u8, id: u32, now: Nanos) {
    let binding = RoceBinding { destination_qp: id, first_msn: 0, rdma_messages: 256 };
    let request = CreditRequest { binding_value: binding.to_value(), ..request(u64::from(id), MIB, 0) };
    bench.give(from, &Message::CreditRequest(request), now);
}

fn suggest(bench: &mut ReceiverBench, rate: u32, now: Nanos) {
    let status = SenderStatus {
        unused_credit: Octets(100_000),
        congestion_level: 200,
        service_hint: ServiceHint::NONE,
        suggested_rate: MbitPerSec(rate),
    };
    bench.give(1, &Message::SenderStatus(status), now);
}

//~ RDCC, Credit Allocation: 972521b8
/// A suggestion is for the sender: however many messages it has, and whichever came first, their rates add up to it.
#[test]
fn the_messages_of_a_sender_share_its_suggestion() {
    for suggestion_first in [true, false] {
        let mut bench = ReceiverBench::new(ReceiverBench::config());
        bench.associate(1, Nanos(0));
        if suggestion_first {
            suggest(&mut bench, 100, us(1));
        }
        for id in 1..=8 {
            ask(&mut bench, 1, id, us(u64::from(id)));
        }
        if !suggestion_first {
            suggest(&mut bench, 100, us(9));
        }
        for step in 9..400 {
            bench.run(us(step));
            let sum = bench.receiver.stats().pacing_sum;
            assert!(sum <= 100, "{sum} after {step} us");
            assert!(step != 50 || sum >= 80, "{sum}");
        }
    }
}

/// Less than 1 Mbit/s for each: some wait, and nobody else does.
#[test]
fn a_suggestion_below_one_for_each_message_keeps_some_waiting() {
    let mut bench = ReceiverBench::new(ReceiverBench::config());
    bench.associate(1, Nanos(0));
    bench.associate(2, Nanos(0));
    suggest(&mut bench, 3, us(1));
    for id in 1..=8 {
        ask(&mut bench, 1, id, us(1));
    }
    ask(&mut bench, 2, 1, us(1));
    bench.run(us(100));
    let grants = bench.grants();
    let rates: std::collections::BTreeMap<_, _> =
        grants.iter().map(|(to, grant)| ((*to, grant.message_id), grant.pacing_rate.0)).collect();
    let first: u32 = rates.iter().filter(|((to, _), _)| *to == 1).map(|(_, rate)| rate).sum();
    assert!(first <= 3, "{rates:?}");
    let second: u32 = rates.iter().filter(|((to, _), _)| *to == 2).map(|(_, rate)| rate).sum();
    assert!(second > 10_000, "{rates:?}");
}

//~ RDCC, Security Considerations: fe355f68
/// Without a configured cap one association holds 3/4 of `G_s`.
#[test]
fn one_sender_leaves_credit_to_others() {
    let mut bench = ReceiverBench::new(ReceiverBench::config());
    bench.associate(1, Nanos(0));
    ask(&mut bench, 1, 1, us(1));
    bench.run(us(60));
    let held = bench.receiver.stats().outstanding;
    assert!((112_500 - UNIT..=112_500).contains(&held), "{held}");
}
