//! Solution 2: a signal's way from the receiver back to the sender, in each of the three forms.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use core::net::{IpAddr, Ipv4Addr};

use scone::bound::Approach;
use scone::receiver::{
    Carrier, FeedbackForm, Receiver, ReceiverConfig, ReceiverQp, ReceiverStats, Unrecorded,
};
use scone::sender::{Advised, ConfigError, Discarded, Sender, SenderConfig, SenderQp, Subject};
use wire::roce::{Aeth, BTH_OCTETS, Bth, Opcode, Psn, Syndrome};
use wire::scone::{DecodeError, Feedback, RateSignal, Unreadable, ack_code};
use wire::units::{BitPerSec, MbitPerSec, Nanos};

const TYPE: u8 = 0xe5;
const PORT: u16 = 50_003;
const A: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const B: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 3));
const FORMS: [FeedbackForm; 3] = [FeedbackForm::Dedicated, FeedbackForm::Cnp, FeedbackForm::Ack];
const US: u64 = 1000;

/// A sends on 0x11, B receives on 0x22.
fn sender_config() -> SenderConfig {
    SenderConfig {
        addresses: [A].into(),
        extension_type: Some(TYPE),
        approach: Approach { step_percent: 100, ..Approach::default() },
        ..SenderConfig::new(BitPerSec(100_000_000_000))
    }
}

fn sender() -> Sender {
    let mut sender = Sender::new(sender_config()).unwrap();
    sender.add_qp(SenderQp { qp: 0x11, local: A, peer: B }, Nanos(0));
    sender
}

fn receiver(form: FeedbackForm) -> Receiver {
    let mut receiver = Receiver::new(ReceiverConfig::new(TYPE, PORT, form)).unwrap();
    receiver.add_qp(ReceiverQp { qp: 0x22, peer: A, peer_qp: 0x11 });
    receiver
}

fn signal(rate: u32) -> RateSignal {
    RateSignal { extension_type: TYPE, rate: MbitPerSec(rate) }
}

fn ack(qp: u32) -> Vec<u8> {
    let aeth = Aeth { syndrome: Syndrome::Ack { credit: 31 }, msn: 1 };
    [&Bth::new(Opcode::ACKNOWLEDGE, qp, Psn::new(7)).to_octets()[..], &aeth.to_octets()].concat()
}

fn cnp(qp: u32) -> Vec<u8> {
    [&Bth::new(Opcode::CNP, qp, Psn::new(0)).to_octets()[..], &[0; 16]].concat()
}

/// A packet, and whether it took feedback along.
type Shown = (bool, Vec<u8>);

/// What B sends back at `now`: a datagram if one is due, and an acknowledgement and a CNP that go anyway.
fn returned(receiver: &mut Receiver, now: Nanos) -> (Option<Vec<u8>>, [Shown; 2]) {
    let datagram = receiver.poll_transmit(now).map(|datagram| {
        assert_eq!(datagram.to.to_string(), "10.0.0.1:50003");
        datagram.octets
    });
    let packets = [ack(0x11), cnp(0x11)].map(|mut packet| (receiver.attach(0x22, &mut packet, now), packet));
    (datagram, packets)
}

//~ SCONE, Feedback Loop: c1cad637 41ec8734 64f5bdf8 6dd699cf 58ed0933 8210a986
//~ SCONE, Solution 2: Per-QP On-Path Endpoint Feedback: 5e1c965b 20babb36 f8da22f7
#[test]
fn a_rate_comes_back_in_each_form_and_the_sender_takes_any() {
    for form in FORMS {
        let (mut sender, mut receiver) = (sender(), receiver(form));
        receiver.record(0x22, A, signal(25_000), Carrier::Request, Nanos(0)).unwrap();
        let (datagram, [(in_ack, ack), (in_cnp, cnp)]) = returned(&mut receiver, Nanos(10));
        let used = [datagram.is_some(), in_cnp, in_ack];
        assert_eq!(used, FORMS.map(|other| other == form), "in that form and no other");
        let mut taken = Vec::new();
        if let Some(octets) = datagram {
            assert_eq!(octets, Feedback { signal: signal(25_000), destination_qp: 0x11 }.to_octets());
            taken.push(sender.handle_datagram(B, &octets, Nanos(20)).unwrap());
        }
        for packet in [&ack, &cnp] {
            taken.extend(sender.handle_packet(B, packet, Nanos(20)).unwrap());
        }
        // An acknowledgement holds 63 rates: the one below.
        let rate = MbitPerSec(if form == FeedbackForm::Ack { 21_544 } else { 25_000 });
        assert_eq!(taken, [Advised { subject: Subject::Qp(0x11), rate }], "{form:?}");
        assert_eq!(sender.bound(0x11, Nanos(20)), Some(rate.into()));
        assert_eq!(sender.poll_change(), Some(0x11));
        let stats = sender.stats();
        assert_eq!([stats.dedicated, stats.cnps, stats.acks], used.map(u64::from));
        // It was returned once.
        let (datagram, packets) = returned(&mut receiver, Nanos(100 * US));
        assert!(datagram.is_none() && packets.iter().all(|(used, _)| !used));
    }
}

#[test]
fn the_forms_interoperate_on_one_queue_pair() {
    let mut sender = sender();
    let mut now = 0;
    for (form, rate) in FORMS.into_iter().zip([40_000, 30_000, 100]).cycle().take(6) {
        let mut receiver = receiver(form);
        now += 100 * US;
        receiver.record(0x22, A, signal(rate), Carrier::Request, Nanos(now)).unwrap();
        let (datagram, packets) = returned(&mut receiver, Nanos(now));
        if let Some(octets) = datagram {
            sender.handle_datagram(B, &octets, Nanos(now)).unwrap();
        }
        for (_, packet) in packets {
            sender.handle_packet(B, &packet, Nanos(now)).unwrap();
        }
        // The newest advice counts; it is reached with the next step.
        now += 100 * US;
        assert_eq!(sender.bound(0x11, Nanos(now)), Some(MbitPerSec(rate).into()));
    }
}

#[test]
fn the_lowest_rate_is_returned_and_no_advice_is_none() {
    let mut receiver = receiver(FeedbackForm::Cnp);
    for rate in [30_000, 0, 20_000, 25_000] {
        receiver.record(0x22, A, signal(rate), Carrier::Request, Nanos(0)).unwrap();
    }
    let mut packet = cnp(0x11);
    assert!(receiver.attach(0x22, &mut packet, Nanos(0)));
    let reserved = packet[BTH_OCTETS..].first_chunk().unwrap();
    assert_eq!(RateSignal::in_cnp(reserved), Ok(Some(signal(20_000))));
    receiver.record(0x22, A, signal(0), Carrier::Request, Nanos(0)).unwrap();
    assert!(!receiver.attach(0x22, &mut cnp(0x11), Nanos(0)));
    assert_eq!(receiver.stats().recorded, 3);
}

#[test]
fn a_rate_that_waited_too_long_is_not_returned() {
    for form in [FeedbackForm::Ack, FeedbackForm::Cnp] {
        for (age, used) in [(999_999, true), (1_000_000, false)] {
            let mut receiver = receiver(form);
            receiver.record(0x22, A, signal(1000), Carrier::Request, Nanos(5)).unwrap();
            let (_, packets) = returned(&mut receiver, Nanos(5 + age));
            assert_eq!(packets.iter().any(|(used, _)| *used), used);
        }
    }
}

/// What is recorded later doesn't keep what was recorded before: each rate has its own time.
#[test]
fn a_rate_is_returned_no_longer_than_its_time_whatever_is_recorded_after_it() {
    let returned_at = |at: u64| {
        let mut receiver = receiver(FeedbackForm::Cnp);
        receiver.record(0x22, A, signal(1000), Carrier::Request, Nanos(0)).unwrap();
        for now in (10 * US..=at).step_by(10_000) {
            // Higher ones, rising.
            let rate = 20_000 + u32::try_from(now / US).unwrap();
            receiver.record(0x22, A, signal(rate), Carrier::Request, Nanos(now)).unwrap();
        }
        let mut packet = cnp(0x11);
        assert!(receiver.attach(0x22, &mut packet, Nanos(at)));
        let returned = RateSignal::in_cnp(packet[BTH_OCTETS..].first_chunk().unwrap()).unwrap().unwrap();
        returned.rate.0
    };
    assert_eq!([returned_at(500 * US), returned_at(1000 * US - 1)], [1000, 1000]);
    // The lowest of the last millisecond, an eighth of it more or less.
    for at in [1000, 1001, 1500, 2500, 9999] {
        let rate = u64::from(returned_at(at * US)) - 20_000;
        assert!(rate > at.saturating_sub(1000) && rate <= at - 1000 + 125 + 10, "{at}: {rate}");
    }
}

#[test]
fn a_rate_at_the_floor_survives_the_codes_of_acknowledgements_and_one_below_is_not_returned() {
    let floor = MbitPerSec(500);
    let config = SenderConfig { floor, ..sender_config() };
    let mut sender = Sender::new(config).unwrap();
    sender.add_qp(SenderQp { qp: 0x11, local: A, peer: B }, Nanos(0));
    let config = ReceiverConfig { floor, ..ReceiverConfig::new(TYPE, PORT, FeedbackForm::Ack) };
    let mut receiver = Receiver::new(config).unwrap();
    receiver.add_qp(ReceiverQp { qp: 0x22, peer: A, peer_qp: 0x11 });
    // 464 Mbit/s is the code of both: full congestion must not read as none.
    for rate in [500, 540] {
        receiver.record(0x22, A, signal(rate), Carrier::Request, Nanos(0)).unwrap();
        let mut packet = ack(0x11);
        assert!(receiver.attach(0x22, &mut packet, Nanos(0)));
        assert_eq!(ack_code::decode(packet[4]), Some(MbitPerSec(464)));
        let taken = sender.handle_packet(B, &packet, Nanos(0)).unwrap().unwrap();
        assert_eq!(taken.rate, floor);
        assert_eq!(sender.bound(0x11, Nanos(0)), Some(floor.into()));
    }
    let mut below = ack(0x11);
    below[4] |= ack_code::encode(MbitPerSec(463));
    let rate = MbitPerSec(398);
    assert_eq!(sender.handle_packet(B, &below, Nanos(0)), Err(Discarded::BelowFloor { rate, floor }));
    // Somebody on the way writes what no switch gives: as a code it would be 100 Mbit/s.
    let rate = MbitPerSec(499);
    let refused = receiver.record(0x22, A, signal(499), Carrier::Request, Nanos(0));
    assert_eq!(refused, Err(Unrecorded::BelowFloor { rate, floor }));
    assert!(!receiver.attach(0x22, &mut ack(0x11), Nanos(0)));
    let mut receiver = self::receiver(FeedbackForm::Ack);
    assert!(receiver.record(0x22, A, signal(1), Carrier::Request, Nanos(0)).is_err());
    assert!(receiver.record(0x22, A, signal(10), Carrier::Request, Nanos(0)).is_ok());
    assert_eq!((receiver.stats().recorded, receiver.stats().unrecorded), (1, 1));
}

#[test]
fn extensions_of_another_version_length_or_type_are_counted() {
    let (mut sender, mut receiver) = (sender(), receiver(FeedbackForm::Cnp));
    let with = |octet: usize, value: u8| {
        let mut packet = cnp(0x11);
        packet[BTH_OCTETS..].copy_from_slice(&signal(1000).to_cnp());
        packet[BTH_OCTETS + octet] = value;
        packet
    };
    let version = DecodeError::UnknownVersion { offset: 6, version: 2 };
    let length = DecodeError::ExtensionLength { length: 11, expected: 10 };
    let cases = [(9, 2, version.into()), (1, 11, length.into()), (0, 1, Discarded::WrongType(1))];
    for (octet, value, discarded) in cases {
        assert_eq!(sender.handle_packet(B, &with(octet, value), Nanos(0)), Err(discarded));
    }
    let mut foreign = with(0, 1);
    foreign[BTH_OCTETS + 1] = 4;
    assert_eq!(sender.handle_packet(B, &foreign, Nanos(0)), Err(Discarded::WrongType(1)));
    assert_eq!((sender.stats().malformed, sender.stats().not_ours), (2, 2));
    let unreadable = Unreadable { extension_type: TYPE, length: 11, error: length };
    assert_eq!(receiver.record_unreadable(unreadable), Unrecorded::Malformed(length));
    let foreign = Unreadable { extension_type: 1, ..unreadable };
    assert_eq!(receiver.record_unreadable(foreign), Unrecorded::WrongType(1));
    assert_eq!((receiver.stats().recorded, receiver.stats().unrecorded), (0, 2));
}

#[test]
fn datagrams_keep_their_interval() {
    let mut receiver = receiver(FeedbackForm::Dedicated);
    let mut at = |now, rate| {
        receiver.record(0x22, A, signal(rate), Carrier::Request, Nanos(now)).unwrap();
        let sent = receiver
            .poll_transmit(Nanos(now))
            .map(|datagram| Feedback::decode(&datagram.octets).unwrap().signal.rate.0);
        (sent, receiver.poll_timeout())
    };
    assert_eq!(at(0, 9000), (Some(9000), None));
    assert_eq!(at(10 * US, 8000), (None, Some(Nanos(50 * US))));
    assert_eq!(at(50 * US - 1, 7000), (None, Some(Nanos(50 * US))));
    assert_eq!(at(50 * US, 8500), (Some(7000), None), "the lowest of three");
    assert_eq!(at(200 * US, 6000), (Some(6000), None));
}

#[test]
fn what_read_responses_bring_goes_back_by_datagram_whatever_the_form() {
    for form in FORMS {
        let mut receiver = receiver(form);
        receiver.record(0x22, A, signal(1000), Carrier::ReadResponse, Nanos(0)).unwrap();
        assert!(receiver.poll_transmit(Nanos(0)).is_some());
    }
    let mut receiver = receiver(FeedbackForm::Ack);
    receiver.record(0x22, A, signal(1000), Carrier::ReadResponse, Nanos(0)).unwrap();
    assert!(receiver.attach(0x22, &mut ack(0x11), Nanos(0)), "an acknowledgement that goes anyway takes it");
    assert_eq!((receiver.poll_transmit(Nanos(0)), receiver.poll_timeout()), (None, None));
}

//~ SCONE, Security Considerations: 940ef1bd
#[test]
fn signals_and_feedback_of_others_have_no_effect() {
    let mut receiver = receiver(FeedbackForm::Ack);
    let mut record =
        |qp, from, signal| receiver.record(qp, from, signal, Carrier::Request, Nanos(0)).unwrap_err();
    let foreign = RateSignal { extension_type: 1, ..signal(1000) };
    assert_eq!(record(0x22, A, foreign), Unrecorded::WrongType(1));
    assert_eq!(record(0x23, A, signal(1000)), Unrecorded::UnknownQp(0x23));
    let wrong = Unrecorded::WrongPeer { qp: 0x22, from: STRANGER, peer: A };
    assert_eq!(record(0x22, STRANGER, signal(1000)), wrong);
    let (datagram, packets) = returned(&mut receiver, Nanos(0));
    assert!(datagram.is_none() && packets.iter().all(|(used, _)| !used));
    assert_eq!(*receiver.stats(), ReceiverStats { unrecorded: 3, ..ReceiverStats::default() });

    let mut sender = sender();
    let feedback = |signal, qp| Feedback { signal, destination_qp: qp }.to_octets();
    let cases = [
        (B, feedback(foreign, 0x11), Discarded::WrongType(1)),
        (B, feedback(signal(1000), 0x12), Discarded::UnknownQp(0x12)),
        (STRANGER, feedback(signal(1000), 0x11), Discarded::WrongPeer { qp: 0x11, from: STRANGER, peer: B }),
        (B, feedback(signal(0), 0x11), Discarded::BelowFloor { rate: MbitPerSec(0), floor: MbitPerSec(10) }),
    ];
    for (from, octets, discarded) in cases {
        assert_eq!(sender.handle_datagram(from, &octets, Nanos(0)), Err(discarded));
    }
    let mut foreign_cnp = cnp(0x11);
    foreign_cnp[BTH_OCTETS..].copy_from_slice(&foreign.to_cnp());
    assert_eq!(sender.handle_packet(B, &foreign_cnp, Nanos(0)), Err(Discarded::WrongType(1)));
    let mut coded = ack(0x12);
    coded[4] |= 5;
    assert_eq!(sender.handle_packet(B, &coded, Nanos(0)), Err(Discarded::UnknownQp(0x12)));
    assert_eq!(
        sender.handle_packet(B, &ack(0x12), Nanos(0)),
        Ok(None),
        "without feedback it is the endpoint's"
    );
    assert_eq!(sender.bound(0x11, Nanos(0)), None);
    let stats = sender.stats();
    assert_eq!((stats.not_ours, stats.untrusted, stats.below_floor), (4, 1, 1));
}

#[test]
fn without_solution_2_packets_mean_nothing_and_type_0_is_refused() {
    let config = SenderConfig { extension_type: None, ..SenderConfig::new(BitPerSec(1_000_000_000)) };
    let mut sender = Sender::new(config).unwrap();
    sender.add_qp(SenderQp { qp: 0x11, local: A, peer: B }, Nanos(0));
    let mut coded = ack(0x11);
    coded[4] |= 5;
    assert_eq!(sender.handle_packet(B, &coded, Nanos(0)), Ok(None));
    let refused = Receiver::new(ReceiverConfig::new(0, PORT, FeedbackForm::Ack)).unwrap_err();
    assert_eq!(refused, ConfigError::ExtensionType);
}
