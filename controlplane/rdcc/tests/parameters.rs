//! Parameters that change while associations are up, the circuit breaker, and restarts of a receiver.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{EPOCH, ReceiverBench, UNIT, request, source, us};
use rdcc::receiver::{ConfigError, Parameters, Receiver};
use wire::rdcc::{AssocAccept, Epoch, Flags, Header, Message, MessageId};
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

/// Asks to send `octets` unscheduled; tells whether the receiver keeps a part of `G_u` for that.
fn takes(bench: &mut ReceiverBench, id: u64, octets: u64, now: Nanos) -> bool {
    let before = bench.receiver.stats().outstanding;
    bench.give(1, &Message::CreditRequest(request(id, octets, octets)), now);
    assert_eq!(bench.sent(1), None);
    bench.receiver.stats().outstanding - before == octets
}

/// The octets of an unscheduled message of 6250 come.
fn comes(bench: &mut ReceiverBench, now: Nanos) {
    bench.data(1, 2, 0, 4096, now);
    bench.data(1, 2, 1, 2154, now);
    assert!(matches!(bench.sent(1), Some((_, Message::MsgDone(_)))));
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
    comes(&mut bench, us(3012));
    acknowledge(&mut bench, us(3100));
    // Ours: a request of before may still come for 2 * D_max.
    assert!(takes(&mut bench, 2, 6250, us(3299)));
    comes(&mut bench, us(3299));
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
fn a_restarted_receiver_has_another_epoch_and_allows_nothing_until_old_credit_has_expired() {
    let config = ReceiverBench::config();
    let same = Receiver::restarted(config.clone(), Some(EPOCH), [1; 32], Nanos(0));
    assert!(matches!(same, Err(ConfigError::Epoch { epoch: EPOCH })));
    let receiver = Receiver::restarted(config, Some(Epoch(2)), [1; 32], us(50)).unwrap();
    let mut bench = ReceiverBench::of(receiver);
    // Senders are answered at once, so that they don't go on without RDCC; but nothing is allowed for Lifetime 100 + 2 * 100.
    assert_eq!(bench.associate(1, us(60)).unscheduled_limit, Octets32(0));
    bench.give(1, &Message::CreditRequest(request(1, UNIT, 0)), us(61));
    bench.give(1, &Message::CreditRequest(request(1, UNIT, 0)), us(200));
    bench.run(Nanos(350_000 - 1));
    assert_eq!(bench.receiver.poll_transmit(), None);
    bench.run(us(350));
    assert_eq!(update(&mut bench).unwrap().1.unscheduled_limit, Octets32(6250));
    let Some((_, Message::CreditGrant(grant))) = bench.sent(1) else { panic!() };
    assert_eq!((grant.message_id, grant.grant_limit), (MessageId(1), Octets(UNIT)));
}

//~ RDCC, Association Establishment: 020c8cf4
/// What an association that is removed had of `G_u` goes to those that wait for it.
#[test]
fn the_u_of_a_removed_association_is_handed_on() {
    let mut bench = bench();
    for from in 2..=8 {
        bench.associate(from, Nanos(0));
    }
    assert_eq!(bench.associate(9, Nanos(0)).unscheduled_limit, Octets32(0));
    let idle = ReceiverBench::config().idle_timeout;
    let status = wire::rdcc::SenderStatus {
        unused_credit: Octets(0),
        congestion_level: 0,
        service_hint: wire::rdcc::ServiceHint::NONE,
        suggested_rate: MbitPerSec(0),
    };
    bench.give(9, &Message::SenderStatus(status), us(5));
    bench.run(idle);
    let Some((header, Message::AssocAccept(accept))) = bench.sent(9) else { panic!() };
    assert!(header.flags.contains(Flags::PARAMETER_UPDATE));
    assert_eq!(accept.unscheduled_limit, Octets32(6250));
}

//~ RDCC, Operational Considerations: dab358a0
/// `N_cu` is for the sender's own bandwidth-delay product.
#[test]
fn a_slower_sender_is_told_a_smaller_backlog_threshold() {
    let mut bench = bench();
    for (from, line_rate, threshold) in [(2, 100_000, 200_000), (3, 25_000, 50_000), (4, 400_000, 800_000)] {
        let request = wire::rdcc::AssocRequest {
            sender_nonce: 7,
            capabilities: wire::rdcc::Capabilities::STATUS,
            line_rate: MbitPerSec(line_rate),
        };
        let outside = wire::rdcc::AssociationId(0);
        bench.give_with(from, outside, Epoch(0), Flags::NONE, &Message::AssocRequest(request), us(1));
        let Some((_, Message::AssocAccept(accept))) = bench.sent(from) else { panic!() };
        assert_eq!(accept.backlog_threshold, Octets32(threshold));
    }
}

#[test]
fn parameters_that_cannot_work_are_refused() {
    let new = |change: fn(&mut rdcc::receiver::ReceiverConfig)| {
        let mut config = ReceiverBench::config();
        change(&mut config);
        Receiver::new(config, [0; 32]).map(|_| ())
    };
    assert_eq!(new(|config| config.unscheduled_limit = config.unscheduled_budget), Ok(()));
    let above = new(|config| config.unscheduled_limit = Octets(config.unscheduled_budget.0 + 1));
    assert!(matches!(above, Err(ConfigError::UnscheduledLimit { .. })), "{above:?}");
    assert_eq!(new(|config| config.grant_lifetime = Micros(1)), Ok(()));
    assert_eq!(new(|config| config.grant_lifetime = Micros(0)), Err(ConfigError::GrantLifetime));
}

//~ RDCC, Association Establishment: 020c8cf4
//~ RDCC, Operational Considerations: 3ece9df8 e66dcc37 11a2ad92 68a20b80 a7df5152
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
