//! RDCC, Sender Backlog Indication and Suggested Rates.

use crate::peers::{ASSOCIATION, EPOCH, SenderBench, UNIT, grant, source, us};
use rdcc::sender::SenderConfig;
use wire::rdcc::{Flags, Header, Message, SequenceNumber};
use wire::units::{MbitPerSec, Nanos, Octets};

const MIB: u64 = 1 << 20;

//~ RDCC, Sender Backlog Indication and Suggested Rates: 941a9ff4 86d48763 9c867116
/// RDCC, Sender Backlog Indication: both sides of the threshold, repetition, and the final zero.
#[test]
fn backlog_above_its_threshold_is_told_and_its_end_too() {
    let mut config = SenderConfig::new(MbitPerSec(100_000), crate::peers::PORT);
    config.backlog_threshold = Some(Octets(4 * UNIT));
    let mut bench = SenderBench::with(config);
    bench.associate(Nanos(0));
    let id = bench.submit(MIB, false, Nanos(0));
    bench.requested();
    bench.grant(id, 4 * UNIT, 100_000, us(1));
    assert_eq!(bench.sent(), None);
    bench.grant(id, 5 * UNIT, 100_000, us(1));
    let Some((_, Message::SenderStatus(status))) = bench.sent() else { panic!() };
    assert_eq!((status.unused_credit, status.suggested_rate), (Octets(5 * UNIT), MbitPerSec(97_663)));
    assert!(status.congestion_level > 0);
    assert_eq!(bench.permits(us(1), us(1), 1).len(), 1);
    let Some((_, Message::SenderStatus(status))) = bench.sent() else { panic!() };
    assert_eq!((status.congestion_level, status.suggested_rate), (0, MbitPerSec(0)));
    assert_eq!(bench.sent(), None);
}

//~ RDCC, Sender Backlog Indication and Suggested Rates: 20ac3191 25f01307 86d48763
/// RDCC, Sender Backlog Indication: every receiver that gave the credit is told its share, by the hints.
#[test]
fn suggested_rates_follow_the_hints_and_stay_within_the_line_rate() {
    use rdcc::sender::{Binding, MessageSpec, Sender};
    use wire::rdcc::ServiceHint;
    let mut config = SenderConfig::new(MbitPerSec(100_000), crate::peers::PORT);
    config.backlog_threshold = Some(Octets(4 * UNIT));
    let mut sender = Sender::new(config, [1; 32]);
    let accept = SenderBench::new().accept;
    let hints = [ServiceHint::LATENCY_SENSITIVE, ServiceHint::NONE, ServiceHint::THROUGHPUT_ORIENTED];
    let give = |sender: &mut Sender, peer, sequence, message: &Message, now| {
        let header = Header {
            association_id: ASSOCIATION,
            epoch: EPOCH,
            flags: Flags::NONE,
            sequence_number: SequenceNumber(sequence),
        };
        sender.handle_datagram(peer, &message.to_octets(&header), now);
    };
    for peer in (1..=3).map(source) {
        sender.associate(peer, Nanos(0)).unwrap();
        let octets = sender.poll_transmit().unwrap().octets;
        let (_, Message::AssocRequest(request)) = wire::rdcc::decode(&octets).unwrap() else { panic!() };
        let mut accept = accept;
        accept.sender_nonce = request.sender_nonce;
        give(&mut sender, peer, 1, &Message::AssocAccept(accept), us(8));
    }
    for (peer, hint) in (1..=3).map(source).zip(hints) {
        let spec = MessageSpec { hint, ..MessageSpec::new(Octets(MIB), Binding::Opaque(1), 0) };
        let id = sender.submit(peer, spec, us(8)).unwrap();
        give(&mut sender, peer, 2, &grant(id, 2 * UNIT, 1000), us(16));
    }
    let statuses = |sender: &mut Sender| {
        let mut found = std::collections::BTreeMap::new();
        while let Some(datagram) = sender.poll_transmit() {
            if let (_, Message::SenderStatus(status)) = wire::rdcc::decode(&datagram.octets).unwrap() {
                found.insert(datagram.to, status);
            }
        }
        found
    };
    let told = statuses(&mut sender);
    let rates: Vec<u32> = told.values().map(|status| status.suggested_rate.0).collect();
    assert_eq!(rates, [97_663 * 4 / 7, 97_663 * 2 / 7, 97_663 / 7]);
    assert!(told.values().zip(hints).all(|(status, hint)| status.service_hint == hint));
    assert!(
        told.values().all(|status| status.unused_credit == Octets(2 * UNIT) && status.congestion_level > 0)
    );
    // Again after a smoothed round trip of 8 us, not before.
    sender.handle_timeout(us(24) - Nanos(1));
    assert!(statuses(&mut sender).is_empty());
    sender.handle_timeout(us(24));
    assert_eq!(statuses(&mut sender).len(), 3);
}

//~ RDCC, Sender Backlog Indication and Suggested Rates: 9c867116 941a9ff4
/// The smallest `N_cu` of all receivers counts, whether they gave credit or not, and at once when it changes.
#[test]
fn the_smallest_threshold_of_all_receivers_counts() {
    let mut bench = SenderBench::up();
    let id = bench.submit(MIB, false, Nanos(0));
    bench.requested();
    bench.grant(id, 4 * UNIT, 1, us(1));
    assert_eq!(bench.sent(), None);
    // Another receiver, which has granted nothing.
    bench.sender.associate(source(5), us(2)).unwrap();
    let octets = bench.sender.poll_transmit().unwrap().octets;
    let (_, Message::AssocRequest(request)) = wire::rdcc::decode(&octets).unwrap() else { panic!() };
    let mut accept = bench.accept;
    accept.sender_nonce = request.sender_nonce;
    let header = Header {
        association_id: ASSOCIATION,
        epoch: EPOCH,
        flags: Flags::NONE,
        sequence_number: SequenceNumber(1),
    };
    let mut threshold = |bench: &mut SenderBench, octets, flags, sequence| {
        accept.backlog_threshold = wire::units::Octets32(octets);
        let header = Header { flags, sequence_number: SequenceNumber(sequence), ..header };
        bench.sender.handle_datagram(source(5), &Message::AssocAccept(accept).to_octets(&header), us(3));
        let told = std::iter::from_fn(|| bench.sender.poll_transmit());
        let told = told.filter_map(|datagram| match wire::rdcc::decode(&datagram.octets).unwrap().1 {
            Message::SenderStatus(status) => Some((datagram.to, status.congestion_level > 0)),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    let peer = crate::peers::RECEIVER;
    let held = u32::try_from(4 * UNIT).unwrap();
    assert_eq!(threshold(&mut bench, held, Flags::NONE, 1), []);
    assert_eq!(threshold(&mut bench, held - 1, Flags::PARAMETER_UPDATE, 2), [(peer, true)]);
    assert_eq!(threshold(&mut bench, held, Flags::PARAMETER_UPDATE, 3), [(peer, false)]);
}
