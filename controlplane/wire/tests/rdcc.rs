//! RDCC, Message Formats: the document's own examples, every message there and back, and no octets that panic.

use core::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use wire::rdcc::{
    AssocAccept, AssocRequest, AssociationId, BindingKind, Cancel, Capabilities, CongestionReport,
    CreditGrant, CreditRequest, CreditReturn, DecodeError, Direction, Epoch, ErrorMessage, Flags,
    FlowAddresses, Header, Message, MessageId, MessageType, MsgDone, RawHeader, Reason, RoceBinding,
    SenderStatus, SequenceNumber, ServiceHint, TrafficClass, Weight, decode,
};
use wire::units::{MbitPerSec, Micros, Octets, Octets32};

/// The example's CREDIT_REQUEST (RDCC, Example Exchange and Encodings).
const CREDIT_REQUEST: [u8; 56] = [
    0x10, 0x03, 0x00, 0x38, 0x5a, 0x17, 0xc0, 0xde, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x04, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x23,
    0x00, 0x00, 0x05, 0x00, 0x10,
];

/// The example's first CREDIT_GRANT.
const CREDIT_GRANT: [u8; 40] = [
    0x10, 0x04, 0x00, 0x28, 0x5a, 0x17, 0xc0, 0xde, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x01,
    0x86, 0xa0, 0x00, 0x00, 0x07, 0xd0,
];

fn header(sequence_number: u32) -> Header {
    Header {
        association_id: AssociationId(0x5A17_C0DE),
        epoch: Epoch(3),
        flags: Flags::NONE,
        sequence_number: SequenceNumber(sequence_number),
    }
}

#[test]
fn the_documents_credit_request() {
    let binding = RoceBinding { destination_qp: 0x123, first_msn: 5, rdma_messages: 16 };
    let request = CreditRequest {
        message_id: MessageId(0x101),
        message_length: Octets(4 << 20),
        unscheduled_sent: Octets(0),
        class: TrafficClass(2),
        weight: Weight(4),
        service_hint: ServiceHint::LATENCY_SENSITIVE,
        binding_kind: BindingKind::ROCEV2,
        deadline: Micros(0),
        binding_value: binding.to_value(),
    };
    assert_eq!(request.roce_binding(), Some(binding));
    let message = Message::CreditRequest(request);
    assert_eq!(message.to_octets(&header(7)), CREDIT_REQUEST);
    assert_eq!(decode(&CREDIT_REQUEST), Ok((header(7), message)));
}

#[test]
fn the_documents_credit_grant() {
    let message = Message::CreditGrant(CreditGrant {
        message_id: MessageId(0x101),
        grant_limit: Octets(262_144),
        pacing_rate: MbitPerSec(100_000),
        lifetime: Micros(2000),
    });
    assert_eq!(message.to_octets(&header(42)), CREDIT_GRANT);
    assert_eq!(decode(&CREDIT_GRANT), Ok((header(42), message)));
}

/// RDCC, Error Handling and Recovery: discarded below the size of the Type and above the UDP payload, not between.
#[test]
fn length_may_lie_between_the_size_of_the_type_and_the_payload() {
    let mut octets = CREDIT_GRANT.to_vec();
    octets.extend_from_slice(&[0xee; 8]);
    for length in 0..=60u8 {
        octets[3] = length;
        match (length, decode(&octets)) {
            (0..40, result) => assert_eq!(
                result,
                Err(DecodeError::LengthTooSmall {
                    message_type: MessageType::CREDIT_GRANT,
                    length: length.into(),
                    minimum: 40
                })
            ),
            (40..=48, result) => assert!(result.is_ok(), "{length}"),
            (_, result) => assert_eq!(
                result,
                Err(DecodeError::LengthBeyondDatagram { length: length.into(), available: 48 })
            ),
        }
    }
}

/// Our reading of RDCC, CONGESTION_REPORT: the Length of the other family contradicts AF.
#[test]
fn length_of_a_report_must_not_contradict_its_family() {
    let report = |af: u8, length: u16| {
        let mut octets = vec![0; 80];
        RawHeader {
            version: 1,
            message_type: MessageType::CONGESTION_REPORT,
            length,
            header: Header::default(),
        }
        .encode(&mut octets);
        let mut octets = octets.split_off(80);
        octets.resize(80, 0);
        octets[30] = af;
        decode(&octets)
    };
    for length in [48, 49, 71, 73, 80] {
        assert!(report(4, length).is_ok(), "{length}");
    }
    assert_eq!(report(4, 72), Err(DecodeError::LengthNotOfFamily { length: 72, af: 4, expected: 48 }));
    for length in [72, 73, 80] {
        assert!(report(6, length).is_ok(), "{length}");
    }
    for length in [48, 49, 71] {
        assert_eq!(report(6, length), Err(DecodeError::LengthNotOfFamily { length, af: 6, expected: 72 }));
    }
}

#[test]
fn an_error_says_what_where_and_what_would_be_right() {
    let mut octets = CREDIT_GRANT;
    octets[1] = 0x0b;
    let error = decode(&octets).unwrap_err();
    assert_eq!(error.to_string(), "octet 1: type 0x0b is unknown; it should be one of 0x01 to 0x0a");
    // RDCC, Error Handling and Recovery: an answer is allowed only if the message belongs to an association.
    assert_eq!(
        error,
        DecodeError::UnknownType { message_type: 0x0b, association_id: AssociationId(0x5A17_C0DE) }
    );
    let text = decode(&CREDIT_GRANT[..39]).unwrap_err().to_string();
    assert_eq!(text, "octet 2: length 40 is larger than the datagram; it should be at most 39, its octets");
}

fn addresses() -> impl Strategy<Value = FlowAddresses> {
    prop_oneof![
        any::<[u32; 2]>().prop_map(|[source, destination]| FlowAddresses::V4 {
            source: Ipv4Addr::from(source),
            destination: Ipv4Addr::from(destination)
        }),
        any::<[u128; 2]>().prop_map(|[source, destination]| FlowAddresses::V6 {
            source: Ipv6Addr::from(source),
            destination: Ipv6Addr::from(destination)
        }),
    ]
}

/// Every message, with every value that fits into each field.
fn messages() -> impl Strategy<Value = Message> {
    let words = || any::<([u64; 4], [u32; 6], [u16; 2], [u8; 4])>();
    prop_oneof![
        words().prop_map(|(d, w, ..)| Message::AssocRequest(AssocRequest {
            sender_nonce: d[0],
            capabilities: Capabilities(w[0]),
            line_rate: MbitPerSec(w[1]),
        })),
        words().prop_map(|(d, w, ..)| Message::AssocAccept(AssocAccept {
            sender_nonce: d[0],
            capabilities: Capabilities(w[0]),
            unscheduled_limit: Octets32(w[1]),
            start_jitter: Micros(w[2]),
            backlog_threshold: Octets32(w[3]),
            grant_lifetime: Micros(w[4]),
            credit_unit: Octets32(w[5]),
        })),
        words().prop_map(|(d, w, _, b)| Message::CreditRequest(CreditRequest {
            message_id: MessageId(d[0]),
            message_length: Octets(d[1]),
            unscheduled_sent: Octets(d[2]),
            class: TrafficClass(b[0]),
            weight: Weight(b[1]),
            service_hint: ServiceHint(b[2]),
            binding_kind: BindingKind(b[3]),
            deadline: Micros(w[0]),
            binding_value: d[3],
        })),
        words().prop_map(|(d, w, ..)| Message::CreditGrant(CreditGrant {
            message_id: MessageId(d[0]),
            grant_limit: Octets(d[1]),
            pacing_rate: MbitPerSec(w[0]),
            lifetime: Micros(w[1]),
        })),
        words().prop_map(|(d, w, _, b)| Message::SenderStatus(SenderStatus {
            unused_credit: Octets(d[0]),
            congestion_level: b[0],
            service_hint: ServiceHint(b[1]),
            suggested_rate: MbitPerSec(w[0]),
        })),
        (words(), addresses()).prop_map(|((_, w, h, b), flow)| Message::CongestionReport(CongestionReport {
            reporter_id: w[0],
            queue_depth: Octets32(w[1]),
            queue_threshold: Octets32(w[2]),
            congestion_degree: b[0],
            direction: Direction(b[1]),
            protocol: b[2],
            source_port: h[0],
            destination_port: h[1],
            suggested_rate: MbitPerSec(w[3]),
            flow,
        })),
        words().prop_map(|(d, ..)| Message::MsgDone(MsgDone {
            message_id: MessageId(d[0]),
            octets_received: Octets(d[1])
        })),
        words().prop_map(|(d, _, h, _)| Message::Cancel(Cancel {
            message_id: MessageId(d[0]),
            reason: Reason(h[0])
        })),
        words().prop_map(|(d, ..)| Message::CreditReturn(CreditReturn {
            message_id: MessageId(d[0]),
            new_limit: Octets(d[1])
        })),
        words().prop_map(|(d, _, h, _)| Message::Error(ErrorMessage {
            reason: Reason(h[0]),
            message_id: MessageId(d[0])
        })),
    ]
}

fn headers() -> impl Strategy<Value = Header> {
    any::<(u32, u16, u16, u32)>().prop_map(|(association, epoch, flags, sequence)| Header {
        association_id: AssociationId(association),
        epoch: Epoch(epoch),
        flags: Flags(flags),
        sequence_number: SequenceNumber(sequence),
    })
}

proptest! {
    /// Also: unknown codes and undefined flags survive, since every value of every field is drawn.
    #[test]
    fn every_message_comes_back(header in headers(), message in messages(), behind in any::<Vec<u8>>()) {
        let mut octets = message.to_octets(&header);
        prop_assert_eq!(octets.len(), usize::from(message.len()));
        prop_assert_eq!(decode(&octets), Ok((header, message)));
        let described = wire::describe::rdcc(&octets).unwrap();
        prop_assert_eq!(Some(described.message), message.message_type().name());
        octets.extend(behind);
        prop_assert_eq!(decode(&octets), Ok((header, message)), "octets behind Length are ignored");
    }

    #[test]
    fn every_message_cut_short_is_refused(header in headers(), message in messages(), at in any::<prop::sample::Index>()) {
        let octets = message.to_octets(&header);
        prop_assert!(decode(&octets[..at.index(octets.len())]).is_err());
    }

    #[test]
    fn no_octets_panic(octets in any::<Vec<u8>>()) {
        let _ = wire::describe::rdcc(&octets);
    }

    /// Octets that get past the checks of the header.
    #[test]
    fn no_body_panics(message_type in 0u8..12, length in 0u16..90, body in prop::collection::vec(any::<u8>(), 0..90)) {
        let mut octets = Vec::new();
        let message_type = MessageType(message_type);
        RawHeader { version: 1, message_type, length, header: Header::default() }.encode(&mut octets);
        octets.extend(body);
        match decode(&octets) {
            Ok((header, message)) => prop_assert_eq!(decode(&message.to_octets(&header)), Ok((header, message))),
            Err(error) => prop_assert!(error.offset() < 32),
        }
    }

    #[test]
    fn bindings_come_back(value in any::<u64>()) {
        prop_assert_eq!(RoceBinding::from_value(value).to_value(), value);
    }
}
