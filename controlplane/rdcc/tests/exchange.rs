//! RDCC, Example Exchange and Encodings: the document's scenario between the two machines.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use peers::{PORT, RECEIVER, source};
use rdcc::receiver::{DataArrival, Receiver, ReceiverConfig};
use rdcc::sender::{Binding, MessageSpec, Sender, SenderConfig, SenderEvent};
use wire::rdcc::{Flags, Message, ServiceHint};
use wire::units::{MbitPerSec, Micros, Nanos, Octets};

const UNIT: u64 = 256 * 1024;

/// The hex of the document, as far as it doesn't depend on numbers that our machines choose (association, epoch,
/// sequence number, Message ID): the body of the request from Message Length on.
const REQUEST_BODY: &str = "0000000000400000 0000000000000000 02040101 00000000 000123 000005 0010";

#[test]
fn the_documents_example_exchange() {
    let rtt = Nanos(500_000);
    let mut config = ReceiverConfig::new(MbitPerSec(100_000), rtt, Octets(UNIT));
    config.unscheduled_limit = Octets(16 * 1024);
    // Less than the message, so that it takes more than one round of grants.
    (config.budget, config.unscheduled_budget) = (Octets(2 << 20), Octets(1 << 19));
    config.grant_lifetime = Micros(2000);
    let mut receiver = Receiver::new(config, [3; 32]).unwrap();
    let mut sender = Sender::new(SenderConfig::new(MbitPerSec(100_000), PORT), [4; 32]);
    let from = source(1);
    let half = Nanos(rtt.0 / 2);

    sender.associate(RECEIVER, Nanos(0)).unwrap();
    sender.set_next_msn(RECEIVER, 0x123, 5);
    let dispatch = MessageSpec::new(Octets(2048), Binding::RoceV2 { destination_qp: 0x124 }, 1);
    let cache = MessageSpec {
        class: 2,
        weight: 4,
        hint: ServiceHint::LATENCY_SENSITIVE,
        ..MessageSpec::new(Octets(4 << 20), Binding::RoceV2 { destination_qp: 0x123 }, 2)
    };
    sender.submit(RECEIVER, dispatch, Nanos(0)).unwrap();
    sender.submit(RECEIVER, cache, Nanos(0)).unwrap();

    // (time, to the receiver?, datagram or data)
    let mut flying: Vec<(Nanos, bool, Result<Vec<u8>, DataArrival>)> = Vec::new();
    let mut log = Vec::new();
    let mut request = Vec::new();
    let mut now = Nanos(0);
    let mut done = Vec::new();
    loop {
        while let Some(datagram) = sender.poll_transmit() {
            let (_, message) = wire::rdcc::decode(&datagram.octets).unwrap();
            log.push(message.message_type().name().unwrap().to_owned());
            if matches!(message, Message::CreditRequest(ref ask) if ask.message_length == Octets(4 << 20)) {
                request = datagram.octets.clone();
            }
            flying.push((now + half, true, Ok(datagram.octets)));
        }
        while let Some(permit) = sender.poll_send(now) {
            log.push(format!("data {}", permit.message.0));
            let Binding::RoceV2 { destination_qp: qp } = permit.binding else { panic!() };
            let arrival = DataArrival {
                from: from.ip(),
                qp,
                msn: permit.msn,
                octets: permit.octets,
                ce: false,
                source_port: 49_152,
            };
            flying.push((now + half, true, Err(arrival)));
        }
        while let Some(datagram) = receiver.poll_transmit() {
            let (header, message) = wire::rdcc::decode(&datagram.octets).unwrap();
            let last = matches!(message, Message::CreditGrant(_)) && header.flags.contains(Flags::FINAL);
            log.push(format!(
                "{}{}",
                message.message_type().name().unwrap(),
                if last { " FINAL" } else { "" }
            ));
            flying.push((now + half, false, Ok(datagram.octets)));
        }
        while let Some(event) = sender.poll_event() {
            if let SenderEvent::MessageDone { tag, .. } = event {
                done.push(tag);
            }
        }
        if done.len() == 2 {
            break;
        }
        let timers = [sender.poll_timeout(), receiver.poll_timeout()];
        let next = flying.iter().map(|&(at, ..)| at).chain(timers.into_iter().flatten()).min().unwrap();
        now = now.max(next);
        let (due, rest) = flying.into_iter().partition(|&(at, ..)| at <= now);
        flying = rest;
        for (_, to_receiver, what) in due {
            match what {
                Ok(octets) if to_receiver => receiver.handle_datagram(from, &octets, now),
                Ok(octets) => sender.handle_datagram(RECEIVER, &octets, now),
                Err(arrival) => receiver.handle_data(arrival, now),
            }
            assert!(receiver.audit());
        }
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        assert!(now < Nanos(20_000_000), "{log:?}");
    }

    assert_eq!(done, [1, 2]);
    let at = |what: &str| log.iter().position(|entry| entry == what).unwrap();
    assert!(at("ASSOC_REQUEST") < at("ASSOC_ACCEPT") && at("ASSOC_ACCEPT") < at("CREDIT_REQUEST"));
    // Ours: the request leaves before the start delay, the document's after it; both precede the data.
    assert!(at("CREDIT_REQUEST") < at("data 1") && at("CREDIT_GRANT") < at("data 2"));
    assert_eq!(log.iter().filter(|entry| *entry == "data 2").count(), 16);
    assert!(at("CREDIT_GRANT FINAL") > at("data 2"));
    assert_eq!(log.last().unwrap(), "MSG_DONE");
    let expected: String = REQUEST_BODY.split_whitespace().collect();
    let octets =
        (0..expected.len()).step_by(2).map(|at| u8::from_str_radix(&expected[at..at + 2], 16).unwrap());
    assert_eq!(request[24..], octets.collect::<Vec<_>>());
}
