//! SCONE, Rate Advice Message: every message there and back, the layouts octet by octet, and no octets that panic.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use wire::roce::CNP_RESERVED_OCTETS;
use wire::scone::{DecodeError, Feedback, RateAdvice, RateSignal, SconeDatagram, decode};
use wire::units::MbitPerSec;

const RATE: MbitPerSec = MbitPerSec(0x0001_86a0);

//~ SCONE, Payload Format: d0a59170 475df380
#[test]
fn rate_advice_octet_by_octet() {
    let advice = RateAdvice { rate: RATE, source: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)) };
    let octets = [0, 0, 0, 1, 0, 1, 0x86, 0xa0, 10, 0, 0, 1, 0, 0, 0, 0];
    assert_eq!(advice.to_octets(), octets);
    let mut reserved = octets;
    reserved[12..].fill(0xff);
    for octets in [octets, reserved] {
        assert_eq!(decode(&octets), Ok(SconeDatagram::RateAdvice(advice)), "Reserved is ignored");
    }

    let source = "2001:db8::1".parse::<Ipv6Addr>().unwrap();
    let advice = RateAdvice { rate: RATE, source: source.into() };
    let octets = advice.to_octets();
    assert_eq!((octets.len(), &octets[8..24], &octets[24..]), (28, &source.octets()[..], &[0; 4][..]));
    assert_eq!(decode(&octets), Ok(SconeDatagram::RateAdvice(advice)));
}

#[test]
fn rate_signal_octet_by_octet() {
    let signal = RateSignal { extension_type: 0xe5, rate: RATE };
    let octets = [0xe5, 10, 0, 1, 0x86, 0xa0, 0, 0, 0, 1];
    assert_eq!(signal.to_octets(), octets);
    assert_eq!(RateSignal::decode(&octets), Ok(signal));
    let mut cnp = [0; CNP_RESERVED_OCTETS];
    cnp[..10].copy_from_slice(&octets);
    assert_eq!(signal.to_cnp(), cnp);
    assert_eq!(RateSignal::in_cnp(&cnp), Ok(Some(signal)));
    assert_eq!(RateSignal::in_cnp(&[0; CNP_RESERVED_OCTETS]), Ok(None), "an ordinary CNP");

    let feedback = Feedback { signal, destination_qp: 0x0012_3456 };
    let octets = [0xe5, 14, 0, 1, 0x86, 0xa0, 0, 0, 0, 1, 0, 0x12, 0x34, 0x56];
    assert_eq!(feedback.to_octets(), octets);
    let mut reserved = octets;
    reserved[10] = 0xff;
    for octets in [octets, reserved] {
        assert_eq!(decode(&octets), Ok(SconeDatagram::Feedback(feedback)), "the reserved octet is ignored");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let advice = RateAdvice { rate: RATE, source: Ipv4Addr::LOCALHOST.into() }.to_octets();
    let with = |offset: usize, octet: u8, octets: &[u8]| {
        let mut octets = octets.to_vec();
        octets[offset] = octet;
        octets
    };
    let says = |error: DecodeError| (error.offset(), error.to_string());
    let (offset, text) = says(decode(&with(3, 2, &advice)).unwrap_err());
    assert_eq!((offset, text.as_str()), (0, "octet 0: version 2 is unknown; it should be 1"));
    for (octets, offset) in [(0, 0), (13, 13), (15, 14), (17, 16), (27, 16), (29, 28), (1500, 28)] {
        let error = decode(&vec![0; octets]).unwrap_err();
        assert_eq!(error, DecodeError::DatagramLength { offset, available: octets });
        assert!(error.to_string().contains("should have 14 (feedback), 16 or 28"), "{error}");
    }
    assert_eq!(RateAdvice::decode(&advice[..15]).unwrap_err().offset(), 12);
    let surplus = [&advice[..], &[0; 13]].concat();
    assert_eq!(
        RateAdvice::decode(&surplus).unwrap_err(),
        DecodeError::DatagramLength { offset: 28, available: 29 }
    );

    let signal = RateSignal { extension_type: 1, rate: RATE };
    let octets = signal.to_octets();
    let error = RateSignal::decode(&with(1, 8, &octets)).unwrap_err();
    assert_eq!(error.to_string(), "octet 1: length 8; it should be 10, the octets of the extension");
    assert_eq!(RateSignal::decode(&with(6, 1, &octets)).unwrap_err().offset(), 6);
    assert_eq!(RateSignal::decode(&octets[..9]).unwrap_err().offset(), 6);
    let feedback = Feedback { signal, destination_qp: 1 }.to_octets();
    let short = with(1, 10, &feedback);
    assert_eq!(decode(&short).unwrap_err(), DecodeError::ExtensionLength { length: 10, expected: 14 });
}

proptest! {
    #[test]
    fn every_message_comes_back(
        rate in any::<u32>(), source in any::<IpAddr>(), extension_type in 1u8.., qp in 0u32..1 << 24,
    ) {
        let rate = MbitPerSec(rate);
        let advice = RateAdvice { rate, source };
        prop_assert_eq!(decode(&advice.to_octets()), Ok(SconeDatagram::RateAdvice(advice)));
        let signal = RateSignal { extension_type, rate };
        prop_assert_eq!(RateSignal::decode(&signal.to_octets()), Ok(signal));
        prop_assert_eq!(RateSignal::in_cnp(&signal.to_cnp()), Ok(Some(signal)));
        let feedback = Feedback { signal, destination_qp: qp };
        prop_assert_eq!(decode(&feedback.to_octets()), Ok(SconeDatagram::Feedback(feedback)));
    }

    #[test]
    fn no_octets_panic_and_what_decodes_encodes(octets in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = RateSignal::decode(&octets);
        let _ = RateAdvice::decode(&octets);
        let _ = Feedback::decode(&octets);
        if let Ok(SconeDatagram::RateAdvice(advice)) = decode(&octets) {
            prop_assert_eq!(RateAdvice::decode(&advice.to_octets()), Ok(advice));
        }
    }

    #[test]
    fn right_versions_with_any_rest(rest in prop::collection::vec(any::<u8>(), 0..30)) {
        let octets = [&[0, 0, 0, 1][..], &rest].concat();
        let decodes = matches!(octets.len(), 16 | 28);
        prop_assert_eq!(matches!(decode(&octets), Ok(SconeDatagram::RateAdvice(_))), decodes);
    }
}
