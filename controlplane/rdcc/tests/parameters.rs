//! Parameters that change while associations are up, the circuit breaker, and restarts of a receiver.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{EPOCH, ReceiverBench, UNIT, request, source, us};
use rdcc::receiver::{ConfigError, Parameters, Receiver};
use wire::rdcc::{AssocAccept, Epoch, Flags, Header, Message, MessageId, Reason};
use wire::units::{MbitPerSec, Micros, Nanos, Octets, Octets32};

fn bench() -> ReceiverBench {
    bench_with(us(1_000_000))
}

fn bench_with(loss_interval: Nanos) -> ReceiverBench {
    let mut config = ReceiverBench::config();
    config.loss_interval = loss_interval;
    let mut bench = ReceiverBench::new(config);
    bench.associate(1, Nanos(0));
    bench
}

fn update(bench: &mut ReceiverBench) -> Option<(Header, AssocAccept)> {
    match bench.sent(1) {
        Some((header, Message::AssocAccept(accept))) => Some((header, accept)),
        None => None,
        other => panic!("{other:?}"),
    }
}

fn acknowledge(bench: &mut ReceiverBench, now: Nanos) {
    bench.request_association(1, 1, Flags::UPDATE_ACKNOWLEDGMENT, now);
}

/// Asks to send `octets` unscheduled; tells whether the receiver takes that.
fn takes(bench: &mut ReceiverBench, id: u64, octets: u64, now: Nanos) -> bool {
    bench.give(1, &Message::CreditRequest(request(id, octets, octets)), now);
    match bench.sent(1) {
        None => true,
        Some((_, Message::Error(error))) => {
            assert_eq!((error.message_id, error.reason), (MessageId(id), Reason::MESSAGE_TOO_LARGE));
            false
        }
        other => panic!("{other:?}"),
    }
}

//~ RDCC, Association Establishment: 71262ccb 2632e266 968dae47 8aafff24
#[test]
fn an_update_is_repeated_until_acknowledged_and_the_larger_u_counts_until_then() {
    let mut bench = bench();
    let parameters = bench.receiver.parameters();
    bench.receiver.set_parameters(Parameters { unscheduled_limit: Octets(1000), ..parameters }, us(10));
    let (header, accept) = update(&mut bench).unwrap();
    assert!(header.flags.contains(Flags::PARAMETER_UPDATE));
    assert_eq!((accept.unscheduled_limit, accept.sender_nonce), (Octets32(1000), 1));
    for (before, at) in [(Nanos(1_009_999), us(1010)), (Nanos(3_009_999), us(3010))] {
        bench.timeout(before);
        assert!(update(&mut bench).is_none());
        bench.timeout(at);
        assert_eq!(update(&mut bench).unwrap().1.unscheduled_limit, Octets32(1000));
    }
    assert!(takes(&mut bench, 1, 6250, us(3011)));
    acknowledge(&mut bench, us(3100));
    // Ours: a request of before may still come for 2 * D_max.
    assert!(takes(&mut bench, 2, 6250, us(3299)));
    bench.timeout(us(3300));
    assert!(!takes(&mut bench, 3, 1001, us(3301)));
    assert!(takes(&mut bench, 4, 1000, us(3301)));
    bench.run(us(300_000));
    assert!(update(&mut bench).is_none());
    assert_eq!(bench.receiver.stats().parameter_updates, 3);
}

#[test]
fn a_change_during_an_update_follows_it() {
    let mut bench = bench();
    let parameters = bench.receiver.parameters();
    for (limit, at) in [(1000, us(10)), (2000, us(11))] {
        bench.receiver.set_parameters(Parameters { unscheduled_limit: Octets(limit), ..parameters }, at);
    }
    assert_eq!(update(&mut bench).unwrap().1.unscheduled_limit, Octets32(1000));
    assert!(update(&mut bench).is_none());
    acknowledge(&mut bench, us(20));
    bench.timeout(us(220));
    assert_eq!(update(&mut bench).unwrap().1.unscheduled_limit, Octets32(2000));
}

//~ RDCC, Unscheduled Transmission: 95d6b5a9
#[test]
fn u_is_raised_only_while_the_sum_stays_within_g_u() {
    let mut bench = bench();
    for from in 2..=8 {
        bench.associate(from, Nanos(0));
    }
    let parameters = bench.receiver.parameters();
    // Eight times 6250 is all of G_u.
    bench.receiver.set_parameters(Parameters { unscheduled_limit: Octets(6251), ..parameters }, us(10));
    assert_eq!(bench.receiver.poll_transmit(), None);
    bench.receiver.set_parameters(Parameters { start_jitter: Micros(9), ..parameters }, us(10));
    let mut updates = 0;
    while let Some(datagram) = bench.receiver.poll_transmit() {
        let (_, Message::AssocAccept(accept)) = wire::rdcc::decode(&datagram.octets).unwrap() else {
            panic!()
        };
        assert_eq!((accept.start_jitter, accept.unscheduled_limit), (Micros(9), Octets32(6250)));
        updates += 1;
    }
    assert_eq!(updates, 8);
    assert!(bench.receiver.audit());
}

//~ RDCC, Congestion Control Considerations: 89a3dcd3
#[test]
fn lost_unscheduled_data_sets_u_to_zero_for_everybody_until_it_stops() {
    let mut bench = bench_with(us(1000));
    assert!(takes(&mut bench, 1, 6000, us(1)));
    // J + Lifetime + 2 * D_max later the data counts as lost, and a window later the breaker opens.
    bench.timeout(us(309));
    bench.timeout(us(1308));
    assert!(!bench.receiver.stats().breaker_open);
    assert!(update(&mut bench).is_none());
    bench.timeout(us(1309));
    assert!(bench.receiver.stats().breaker_open);
    assert_eq!(update(&mut bench).unwrap().1.unscheduled_limit, Octets32(0));
    assert_eq!(bench.associate(2, us(1310)).unscheduled_limit, Octets32(0));
    acknowledge(&mut bench, us(1400));
    bench.timeout(us(1600));
    assert!(!takes(&mut bench, 2, 1, us(1700)));
    bench.timeout(us(2308));
    assert!(bench.receiver.poll_transmit().is_none());
    // A window without loss closes it.
    bench.timeout(us(2309));
    let stats = bench.receiver.stats();
    assert_eq!((stats.breaker_open, stats.breaker_openings), (false, 1));
    let (header, accept) = update(&mut bench).unwrap();
    assert!(header.flags.contains(Flags::PARAMETER_UPDATE));
    assert_eq!(accept.unscheduled_limit, Octets32(6250));
}

#[test]
fn data_that_arrives_keeps_the_breaker_closed() {
    let mut bench = bench_with(us(1000));
    assert!(takes(&mut bench, 1, 6000, us(1)));
    bench.data(1, 2, 0, 4096, us(5));
    bench.data(1, 2, 1, 1904, us(6));
    assert!(matches!(bench.sent(1), Some((_, Message::MsgDone(_)))));
    bench.run(us(5000));
    assert!(!bench.receiver.stats().breaker_open);
}

//~ RDCC, Association Establishment: d40442a1
#[test]
fn a_restarted_receiver_has_another_epoch_and_is_silent_until_old_credit_has_expired() {
    let config = ReceiverBench::config();
    let same = Receiver::restarted(config.clone(), Some(EPOCH), [1; 32], Nanos(0));
    assert!(matches!(same, Err(ConfigError::Epoch { epoch: EPOCH })));
    let receiver = Receiver::restarted(config, Some(Epoch(2)), [1; 32], us(50)).unwrap();
    let mut bench = ReceiverBench::of(receiver);
    // Lifetime 100 + 2 * 100.
    bench.request_association(1, 1, Flags::NONE, Nanos(350_000 - 1));
    assert_eq!(bench.receiver.poll_transmit(), None);
    bench.associate(1, us(350));
}

//~ RDCC, Association Establishment: 020c8cf4
//~ RDCC, Operational Considerations: 3ece9df8 e66dcc37 11a2ad92 68a20b80 dab358a0 a7df5152
//~ RDCC, Operational Considerations: 79d1cc08
//~ RDCC, Receiver Credit Budget: 4b855951
//~ RDCC, Credit Allocation: 91349aea
#[test]
fn defaults_follow_the_documents_guidance() {
    let (link, rtt) = (MbitPerSec(100_000), us(8));
    let config = rdcc::receiver::ReceiverConfig::new(link, rtt, Octets(UNIT));
    let bdp = 100_000;
    assert!((bdp..=2 * bdp).contains(&config.budget.0));
    assert!(config.unscheduled_budget.0 <= config.budget.0 / 4);
    assert!(config.unscheduled_limit.0 <= bdp && config.unscheduled_limit.0 < config.unscheduled_budget.0);
    assert!((8..=16).contains(&config.start_jitter.0));
    assert_eq!(config.backlog_threshold, Octets(2 * bdp));
    assert_eq!((config.grant_lifetime, config.credit_unit), (Micros(100), Octets(UNIT)));
    let far = rdcc::receiver::ReceiverConfig::new(link, us(26), Octets(UNIT));
    assert_eq!(far.grant_lifetime, Micros(104));
    assert!(config.idle_timeout >= Nanos(10_000_000_000));
    assert_eq!((config.loss_threshold_ppm, config.loss_interval), (10_000, Nanos(1_000_000_000)));
    assert_eq!(config.alpha, MbitPerSec(1000));
    assert_eq!((config.beta_permille, config.update_interval), (500, rtt));
    assert_ne!(source(1), source(2));
}
