//! Round trips, and what is timed by them: RDCC, Association Establishment, Credit Requests and Grants.

use crate::peers::{RECEIVER, SenderBench, UNIT, us};
use rdcc::sender::{Binding, MessageSpec};
use wire::rdcc::{Flags, Message};
use wire::units::{Micros, Nanos, Octets};

const MIB: u64 = 1 << 20;

//~ RDCC, Credit Requests and Grants: 0601b6c8
/// A round trip longer than the first repetition of `ASSOC_REQUEST`: its length isn't known exactly, but requests aren't
/// repeated before an answer can come.
#[test]
fn a_long_round_trip_is_found_although_the_request_was_repeated() {
    let mut bench = SenderBench::new();
    bench.sender.associate(RECEIVER, Nanos(0)).unwrap();
    for at in [us(1000), us(3000)] {
        bench.sender.handle_timeout(at);
    }
    for _ in 0..3 {
        let Some((_, Message::AssocRequest(request))) = bench.sent() else { panic!() };
        bench.accept.sender_nonce = request.sender_nonce;
    }
    bench.give_accept(Flags::NONE, us(5000));
    let id = bench.submit(MIB, false, us(5000));
    bench.requested();
    bench.sender.handle_timeout(us(14_999));
    assert_eq!(bench.sent(), None);
    bench.sender.handle_timeout(us(15_000));
    assert_eq!(bench.requested().message_id, id);
    // The answer to a request that went once counts for itself: 4 ms.
    let second = bench.submit(MIB, false, us(20_000));
    bench.requested();
    bench.grant(second, UNIT, 100_000, us(24_000));
    bench.submit(MIB, false, us(24_000));
    bench.requested();
    bench.sender.handle_timeout(us(31_999));
    assert_eq!(
        std::iter::from_fn(|| bench.sent())
            .filter(|(_, m)| matches!(m, Message::CreditRequest(r) if r.message_id > second))
            .count(),
        0
    );
    bench.sender.handle_timeout(us(32_000));
    assert_eq!(
        std::iter::from_fn(|| bench.sent())
            .filter(|(_, m)| matches!(m, Message::CreditRequest(r) if r.message_id > second))
            .count(),
        1
    );
}

/// A deadline counts from the transmission of the request that carries it.
#[test]
fn a_repeated_request_carries_what_is_left_of_the_deadline() {
    let mut bench = SenderBench::up();
    let deadline = Micros(500);
    let spec = MessageSpec { deadline, ..MessageSpec::new(Octets(MIB), Binding::Opaque(1), 0) };
    bench.sender.submit(RECEIVER, spec, us(10)).unwrap();
    assert_eq!(bench.requested().deadline, Micros(500));
    for (at, left) in [(110, 400), (310, 200), (710, 1)] {
        bench.sender.handle_timeout(us(at));
        assert_eq!(bench.requested().deadline, Micros(left));
    }
}
