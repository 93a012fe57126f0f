//! Solution 1: Rate Advice at the sender.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use core::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use scone::bound::Approach;
use scone::sender::{Cap, ConfigError, Discarded, Sender, SenderConfig, SenderQp, Subject};
use wire::roce::{Bth, Opcode, Psn};
use wire::scone::{Feedback, RateAdvice, RateSignal, ack_code};
use wire::units::{BitPerSec, MbitPerSec, Nanos};

const SWITCH: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 255, 0, 1));
const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9));
const LINE: BitPerSec = BitPerSec(100_000_000_000);
const US: u64 = 1000;
const TYPE: u8 = 0xe5;

/// All of the gap at once, so that shares can be told from steps.
fn config() -> SenderConfig {
    SenderConfig {
        elements: [SWITCH].into(),
        addresses: [OURS, "2001:db8::1".parse().unwrap()].into(),
        approach: Approach { step_percent: 100, release_percent: None, ..Approach::default() },
        ..SenderConfig::new(LINE)
    }
}

fn sender(qps: u32) -> Sender {
    let mut sender = Sender::new(config()).unwrap();
    for qp in 0..qps {
        sender.add_qp(SenderQp { qp, local: OURS, peer: PEER }, Nanos(0));
    }
    sender
}

fn advice(rate: u32, source: IpAddr) -> Vec<u8> {
    RateAdvice { rate: MbitPerSec(rate), source }.to_octets()
}

fn gbit(rate: u64) -> BitPerSec {
    BitPerSec(rate * 1_000_000_000)
}

//~ SCONE, Sending and Processing: f089254a
//~ SCONE, Payload Format: 0ebc2e91 2eb205f4 d87ba2ff
#[test]
fn the_cap_is_shared_by_active_queue_pairs_in_proportion_to_demand() {
    let mut sender = sender(4);
    for (qp, demand) in [(0, 30), (1, 10), (2, 40)] {
        sender.set_demand(qp, gbit(demand), Nanos(0));
    }
    assert_eq!(sender.bound(0, Nanos(0)), None, "no advice, no bound");
    assert_eq!(sender.poll_timeout(), None);
    let taken = sender.handle_datagram(SWITCH, &advice(8000, OURS), Nanos(0)).unwrap();
    assert_eq!((taken.subject, taken.rate), (Subject::Address(OURS), MbitPerSec(8000)));
    let bounds: Vec<_> = (0..4).map(|qp| sender.bound(qp, Nanos(0))).collect();
    assert_eq!(bounds, [Some(gbit(3)), Some(gbit(1)), Some(gbit(4)), Some(gbit(8))]);
    let changed: Vec<_> = core::iter::from_fn(|| sender.poll_change()).collect();
    assert_eq!(changed, [0, 1, 2], "the fourth has nothing to send");

    // One stops: its own share changes at once, the others are told within a step.
    sender.set_demand(2, BitPerSec(0), Nanos(10 * US));
    assert_eq!(core::iter::from_fn(|| sender.poll_change()).collect::<Vec<_>>(), [2]);
    assert_eq!(sender.poll_timeout(), Some(Nanos(60 * US)));
    sender.handle_timeout(Nanos(60 * US));
    assert_eq!(core::iter::from_fn(|| sender.poll_change()).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(sender.bound(0, Nanos(60 * US)), Some(gbit(6)));
    sender.remove_qp(1, Nanos(60 * US));
    assert_eq!((sender.bound(1, Nanos(60 * US)), sender.bound(0, Nanos(60 * US))), (None, Some(gbit(8))));
}

#[test]
fn advice_expires() {
    let mut sender = sender(1);
    sender.set_demand(0, gbit(50), Nanos(0));
    sender.handle_datagram(SWITCH, &advice(8000, OURS), Nanos(5)).unwrap();
    let expiry = Nanos(5) + config().approach.expiry;
    assert_eq!(sender.poll_timeout(), Some(expiry));
    let cap = Cap { subject: Subject::Address(OURS), advised: gbit(8), bound: gbit(8), expires: expiry };
    assert_eq!(sender.caps(Nanos(expiry.0 - 1)), [cap]);
    assert_eq!(sender.address_bound(OURS, Nanos(expiry.0 - 1)), Some(gbit(8)));
    while sender.poll_change().is_some() {}
    sender.handle_timeout(expiry);
    assert_eq!((sender.poll_change(), sender.bound(0, expiry)), (Some(0), None));
    assert_eq!((sender.caps(expiry), sender.poll_timeout()), (vec![], None));
}

//~ SCONE, Security Considerations: 859e04a0 77faaef6
#[test]
fn only_network_elements_advise_only_our_addresses_and_nothing_below_the_floor() {
    let mut sender = sender(1);
    let floor = MbitPerSec(10);
    let mut refused = |from, octets: &[u8], expected| {
        assert_eq!(sender.handle_datagram(from, octets, Nanos(0)), Err(expected));
        assert_eq!((sender.poll_change(), sender.bound(0, Nanos(0))), (None, None));
        *sender.stats()
    };
    refused(PEER, &advice(1000, OURS), Discarded::NotAnElement(PEER));
    let stats = refused(SWITCH, &advice(1000, OTHER), Discarded::NotOurAddress(OTHER));
    assert_eq!((stats.untrusted, stats.not_ours), (1, 1));
    for rate in [0, 9] {
        let rate = MbitPerSec(rate);
        refused(SWITCH, &advice(rate.0, OURS), Discarded::BelowFloor { rate, floor });
    }
    let mut version = advice(1000, OURS);
    version[3] = 2;
    let error = wire::scone::decode(&version).unwrap_err();
    refused(SWITCH, &version, error.into());
    let error = wire::scone::decode(&version[..12]).unwrap_err();
    let stats = refused(SWITCH, &version[..12], error.into());
    assert_eq!((stats.malformed, stats.below_floor, stats.advice), (2, 2, 0));
    for (rate, source) in [(10, OURS), (11, "2001:db8::1".parse().unwrap())] {
        assert!(sender.handle_datagram(SWITCH, &advice(rate, source), Nanos(0)).is_ok());
    }
    assert_eq!(sender.stats().advice, 2);
}

#[test]
fn a_configuration_that_can_not_be_is_refused() {
    let refused = |config| Sender::new(config).unwrap_err();
    let text = refused(SenderConfig { floor: MbitPerSec(0), ..config() }).to_string();
    assert_eq!(text, "floor of 0 Mbit/s; it should be 1 Mbit/s to the line rate, 100000000000 bit/s");
    assert!(matches!(
        refused(SenderConfig { floor: MbitPerSec(100_001), ..config() }),
        ConfigError::Floor { .. }
    ));
    assert_eq!(refused(SenderConfig { extension_type: Some(0), ..config() }), ConfigError::ExtensionType);
    let approach = Approach { step_percent: 0, ..Approach::default() };
    assert!(matches!(refused(SenderConfig { approach, ..config() }), ConfigError::Approach(_)));
}

proptest! {
    #[test]
    fn shares_sum_to_no_more_than_the_cap_and_no_bound_goes_below_the_floor(
        demands in prop::collection::vec(0u64..200_000_000_000, 1..20),
        rate in 10u32..200_000, at in 0u64..2_000_000,
    ) {
        let mut sender = sender(20);
        for (qp, &demand) in demands.iter().enumerate() {
            sender.set_demand(u32::try_from(qp).unwrap(), BitPerSec(demand), Nanos(0));
        }
        sender.handle_datagram(SWITCH, &advice(rate, OURS), Nanos(0)).unwrap();
        let Some(cap) = sender.address_bound(OURS, Nanos(at)) else {
            prop_assert!(at >= 1_000_000);
            return Ok(());
        };
        let floor = BitPerSec::from(config().floor);
        let mut sum = 0;
        for (qp, &demand) in demands.iter().enumerate() {
            let bound = sender.bound(u32::try_from(qp).unwrap(), Nanos(at)).unwrap();
            prop_assert!(bound >= floor);
            if demand > 0 && bound > floor {
                sum += bound.0;
            }
        }
        prop_assert!(sum <= cap.0);
    }

    #[test]
    fn whatever_comes_no_bound_is_below_the_floor_and_all_are_gone_after_the_longest_time(
        datagrams in prop::collection::vec(
            (0u64..400_000, any::<bool>(), prop_oneof![0u32..30, any::<u32>()], any::<bool>(), 0u8..4), 1..60),
        demands in prop::collection::vec(0u64..100_000_000_000, 3),
        step_percent in 1u8..=100, release_percent in prop::option::of(1u8..100),
    ) {
        let approach = Approach { step_percent, release_percent, ..Approach::default() };
        let mut sender =
            Sender::new(SenderConfig { approach, extension_type: Some(TYPE), ..config() }).unwrap();
        for (qp, &demand) in demands.iter().enumerate() {
            let qp = u32::try_from(qp).unwrap();
            sender.add_qp(SenderQp { qp, local: OURS, peer: PEER }, Nanos(0));
            sender.set_demand(qp, BitPerSec(demand), Nanos(0));
        }
        let floor = config().floor.into();
        let mut now = 0;
        let mut last_taken = 0;
        for (after, trusted, rate, ours, form) in datagrams {
            now += after;
            sender.handle_timeout(Nanos(now));
            // Advice comes from the switch, feedback in its three forms from the other end.
            let from = if trusted == (form == 0) { SWITCH } else { PEER };
            let (source, qp) = if ours { (OURS, 1) } else { (OTHER, 7) };
            let signal = RateSignal { extension_type: TYPE, rate: MbitPerSec(rate) };
            let taken = match form {
                0 => sender.handle_datagram(from, &advice(rate, source), Nanos(now)).is_ok(),
                1 => {
                    let octets = Feedback { signal, destination_qp: qp }.to_octets();
                    sender.handle_datagram(from, &octets, Nanos(now)).is_ok()
                }
                2 => {
                    let cnp = Bth::new(Opcode::CNP, qp, Psn::new(0)).to_octets();
                    let packet = [&cnp[..], &signal.to_cnp()].concat();
                    sender.handle_packet(from, &packet, Nanos(now)).is_ok_and(|taken| taken.is_some())
                }
                _ => {
                    let reserved6 = ack_code::encode(signal.rate);
                    let ack = Bth { reserved6, ..Bth::new(Opcode::ACKNOWLEDGE, qp, Psn::new(0)) };
                    let taken = sender.handle_packet(from, &ack.to_octets(), Nanos(now));
                    taken.is_ok_and(|taken| taken.is_some())
                }
            };
            // The lowest code is above this floor.
            let high_enough = rate >= if form == 3 { 1 } else { 10 };
            prop_assert_eq!(taken, trusted && ours && high_enough);
            if taken {
                last_taken = now;
            }
            for qp in 0..3 {
                let bound = sender.bound(qp, Nanos(now));
                prop_assert!(bound.is_none_or(|bound| bound >= floor), "{bound:?}");
            }
        }
        let end = Nanos(last_taken) + approach.longest(floor, LINE);
        let mut steps = 0;
        while let Some(at) = sender.poll_timeout() {
            prop_assert!(at <= end.max(Nanos(now)), "{at} {end}");
            sender.handle_timeout(at);
            steps += 1;
            prop_assert!(steps < 100_000);
        }
        for qp in 0..3 {
            prop_assert_eq!(sender.bound(qp, end.max(Nanos(now))), None);
        }
    }

    #[test]
    fn no_octets_panic(octets in prop::collection::vec(any::<u8>(), 0..64), from in any::<IpAddr>()) {
        let mut sender = sender(1);
        let _ = sender.handle_datagram(from, &octets, Nanos(0));
        let _ = sender.handle_datagram(SWITCH, &octets, Nanos(0));
        let _ = sender.handle_packet(from, &octets, Nanos(0));
        sender.handle_timeout(Nanos(u64::MAX));
    }
}
