//! CREM's codec: the document's example, every message there and back, and octets that are no messages.

use core::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use wire::crem::{
    Bitmap, BlockRequest, Cause, Close, CloseReason, DecodeError, Flags, FlowAddresses, FlowId, FlowKind,
    Header, Hello, HelloAck, HopEntry, LossReport, MAX_ENTRIES, MAX_PSNS, Message, MessageType, Method,
    ParamAck, ParamStatus, ParamUpdate, PathReport, PsnRange, RangeRequest, RawHeader, Repair, RepairRequest,
    Scheme, Schemes, decode,
};
use wire::roce::Psn;
use wire::units::Micros;

/// The example's REPAIR message (CREM, Example).
const REPAIR: [u8; 44] = [
    0x11, 0x80, 0x00, 0x2c, 0x00, 0x00, 0xbe, 0xef, 0x01, 0x01, 0x04, 0x02, 0x00, 0x10, 0x00, 0x00, 0x00,
    0x07, 0x00, 0x10, 0xf0, 0x00, 0x00, 0x00, 0xe0, 0x00, 0x00, 0x00, 0x00, 0x35, 0x4f, 0xdf, 0x6d, 0x4b,
    0x40, 0xb5, 0x7e, 0x5c, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
];

#[test]
fn the_documents_repair() {
    let header = Header { flags: Flags::RETX, flow_id: FlowId(0xbeef) };
    let message = Message::Repair(Repair {
        config_id: 1,
        scheme: Scheme::CAUCHY,
        k: 4,
        index: 2,
        block_start: Psn::new(0x1000),
        session_id: 7,
        present: Bitmap::first(4),
        lost: Some(Bitmap::first(3)),
        symbol: &REPAIR[28..],
    });
    assert_eq!(message.to_octets(&header), REPAIR);
    assert_eq!(decode(&REPAIR), Ok((header, message)));
}

//~ CREM, Message Formats: f53de362
#[test]
fn unknown_versions_and_types_are_refused() {
    for first in 0..=255u8 {
        let mut octets = vec![0; 64];
        octets[..8].copy_from_slice(&[first, 0, 0, 64, 0, 0, 0, 0]);
        let result = decode(&octets);
        match (first >> 4, first & 0xf) {
            (1, 1..=9) => assert!(!matches!(
                result,
                Err(DecodeError::UnknownVersion { .. } | DecodeError::UnknownType { .. })
            )),
            (1, message_type) => assert_eq!(result, Err(DecodeError::UnknownType { message_type })),
            (version, _) => assert_eq!(result, Err(DecodeError::UnknownVersion { version })),
        }
    }
}

/// Bitmaps or symbols of another size than the fields say.
#[test]
fn a_repair_must_be_as_long_as_its_fields_say() {
    let changed = |offset: usize, value: u8| {
        let mut octets = REPAIR;
        octets[offset] = value;
        decode(&octets).map(|_| ())
    };
    let mismatch = |length, expected| {
        Err(DecodeError::LengthMismatch { message_type: MessageType::REPAIR, length, expected })
    };
    assert_eq!(changed(10, 32), Ok(()), "32 positions still have one word");
    assert_eq!(changed(10, 33), mismatch(44, 52), "33 have two");
    assert_eq!(changed(10, 0), Err(DecodeError::ZeroK { offset: 10 }));
    assert_eq!(changed(1, 0), mismatch(44, 40), "without RETX there is one bitmap");
    assert_eq!(changed(19, 15), mismatch(44, 43), "T one too small");
    assert_eq!(changed(19, 17), mismatch(44, 45), "T one too large");
    assert_eq!(changed(3, 43), mismatch(43, 44));
    assert_eq!(changed(3, 45), Err(DecodeError::LengthBeyondDatagram { length: 45, available: 44 }));
    assert_eq!(changed(19, 0), Err(DecodeError::SymbolAndInfo { symbol_length: 0, info: false }));
    assert_eq!(changed(1, 0xa0), Err(DecodeError::SymbolAndInfo { symbol_length: 16, info: true }));
}

#[test]
fn requests_and_path_reports_must_be_as_long_as_their_fields_say() {
    let block = Message::RepairRequest(RepairRequest::Block(block_request(40)));
    let ranges = vec![PsnRange { start: Psn::new(9), count: 3 }; 2];
    let ranges = Message::RepairRequest(RepairRequest::Ranges(RangeRequest { request_id: 1, ranges }));
    let report = Message::PathReport(path_report(vec![hop(vec![Psn::new(1)])]));
    for (message, counts_at) in [(block, 10), (ranges, 11), (report, 9)] {
        let octets = message.to_octets(&Header::default());
        let mut longer = octets.clone();
        longer.push(0);
        longer[3] += 1;
        assert!(matches!(decode(&longer), Err(DecodeError::LengthMismatch { .. })), "{message:?}");
        let mut fewer = octets.clone();
        fewer[counts_at] = 1;
        let result = decode(&fewer);
        assert_eq!(result.is_err(), counts_at != 9, "{message:?}: {result:?}");
        let mut more = octets;
        more[counts_at] = if counts_at == 10 { 65 } else { 15 };
        assert!(decode(&more).is_err(), "{message:?}");
    }
}

#[test]
fn k_of_a_block_request_is_not_zero() {
    let mut octets =
        Message::RepairRequest(RepairRequest::Block(block_request(1))).to_octets(&Header::default());
    octets[10] = 0;
    assert_eq!(decode(&octets), Err(DecodeError::ZeroK { offset: 10 }));
}

#[test]
fn a_path_report_has_at_most_sixteen_entries() {
    for count in [MAX_ENTRIES, MAX_ENTRIES + 1] {
        let message = Message::PathReport(path_report(vec![hop(Vec::new()); count]));
        let mut octets = message.to_octets(&Header::default());
        let (_, decoded) = decode(&octets).unwrap();
        let Message::PathReport(decoded) = decoded else { panic!("{decoded:?}") };
        assert_eq!(decoded.entries.len(), MAX_ENTRIES);
        octets[9] = 17;
        assert_eq!(decode(&octets), Err(DecodeError::TooManyEntries { count: 17 }));
    }
}

//~ CREM, Path Reports: 399a6ac8
#[test]
fn a_path_report_is_cut_to_fit_and_says_so() {
    let psns = |count| (0..count).map(Psn::new).collect();
    let whole = path_report(vec![hop(psns(200)), hop(psns(10)), hop(Vec::new())]);
    let mut exact = whole.clone();
    assert!(!exact.truncate(whole.len()));
    assert_eq!(exact, whole);
    let mut cut = whole.clone();
    assert!(cut.truncate(whole.len() - 1));
    assert_eq!(cut.len(), whole.len() - 4);
    let kept: Vec<_> = cut.entries.iter().map(|entry| (entry.psns.len(), entry.lost)).collect();
    assert_eq!(kept, [(199, 7), (10, 7), (0, 7)], "the longest list is cut, counts stay");
    let mut tiny = whole;
    assert!(tiny.truncate(0));
    assert!(tiny.entries.iter().all(|entry| entry.psns.is_empty()));
}

#[test]
fn address_families_other_than_4_and_6_are_refused() {
    let hello = Message::Hello(hello(FlowAddresses::V4 {
        source: Ipv4Addr::LOCALHOST,
        destination: Ipv4Addr::LOCALHOST,
    }));
    let report = Message::PathReport(path_report(Vec::new()));
    for (message, offset) in [(hello, 9), (report, 10)] {
        let mut octets = message.to_octets(&Header::default());
        octets[offset] = 5;
        assert_eq!(decode(&octets), Err(DecodeError::UnknownAddressFamily { offset, af: 5 }));
        octets[offset] = 6;
        assert!(decode(&octets).is_err(), "the addresses of the other family don't fit");
    }
}

//~ CREM, Message Formats: 20a2093a
#[test]
fn hello_ack_is_never_larger_than_hello() {
    let v4 = FlowAddresses::V4 { source: Ipv4Addr::LOCALHOST, destination: Ipv4Addr::LOCALHOST };
    let v6 = FlowAddresses::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::LOCALHOST };
    let ack = MessageType::HELLO_ACK.minimum_length().unwrap();
    assert!(ack <= hello(v4).len() && ack <= hello(v6).len());
}

#[test]
fn an_error_says_what_where_and_what_would_be_right() {
    let mut octets = REPAIR;
    octets[10] = 0;
    assert_eq!(decode(&octets).unwrap_err().to_string(), "octet 10: k is 0; it should be 1 to 255");
    octets[10] = 33;
    assert_eq!(
        decode(&octets).unwrap_err().to_string(),
        "octet 2: length 44 does not match the fields of REPAIR; they come to 52"
    );
}

fn block_request(k: u8) -> BlockRequest {
    BlockRequest {
        config_id: 1,
        scheme: Scheme::CAUCHY,
        k,
        repairs_held: 0,
        block_start: Psn::new(0),
        suggested: 1,
        request_id: 1,
        lost: Bitmap::first(1),
    }
}

fn hop(psns: Vec<Psn>) -> HopEntry {
    HopEntry { node_id: 1, period: 2, lost: 7, delay_change: -3, cause: Cause::CONGESTION, psns }
}

fn path_report(entries: Vec<HopEntry>) -> PathReport {
    let flow = FlowAddresses::V4 { source: Ipv4Addr::LOCALHOST, destination: Ipv4Addr::LOCALHOST };
    PathReport { method: Method::NODE_LOCAL, flow, flow_label: 0x12, entries }
}

fn hello(flow: FlowAddresses) -> Hello {
    Hello {
        flow_kind: FlowKind::ROCEV2,
        schemes: Schemes(6),
        max_k: 32,
        max_m: 8,
        max_t: 4160,
        rdma_mtu: 4096,
        nonce: 1,
        flow,
        flow_label: 0x12,
    }
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

fn bitmaps(k: u8) -> impl Strategy<Value = Bitmap> {
    prop::collection::vec(0..k, 0..8).prop_map(Bitmap::from_iter)
}

fn psns() -> impl Strategy<Value = Psn> {
    any::<u32>().prop_map(Psn::new)
}

/// A message that owns its symbol.
#[derive(Clone, Debug)]
struct Owned {
    message: Message<'static>,
    symbol: Vec<u8>,
}

impl Owned {
    fn message(&self) -> Message<'_> {
        match &self.message {
            Message::Repair(repair) => Message::Repair(Repair { symbol: &self.symbol, ..*repair }),
            other => other.clone(),
        }
    }
}

fn repairs() -> impl Strategy<Value = Owned> {
    (1..=255u8).prop_flat_map(|k| {
        let fields = any::<([u8; 3], u16)>();
        let symbol = prop::collection::vec(any::<u8>(), 0..50);
        (fields, psns(), bitmaps(k), prop::option::of(bitmaps(k)), symbol).prop_map(
            move |((octets, session_id), block_start, present, lost, symbol)| Owned {
                message: Message::Repair(Repair {
                    config_id: octets[0],
                    scheme: Scheme(octets[1]),
                    k,
                    index: octets[2],
                    block_start,
                    session_id,
                    present,
                    lost,
                    symbol: &[],
                }),
                symbol,
            },
        )
    })
}

fn requests() -> impl Strategy<Value = RepairRequest> {
    let block = (1..=255u8).prop_flat_map(|k| {
        (any::<([u8; 4], u16)>(), psns(), bitmaps(k)).prop_map(
            move |((octets, request_id), block_start, lost)| {
                RepairRequest::Block(BlockRequest {
                    config_id: octets[0],
                    scheme: Scheme(octets[1]),
                    k,
                    repairs_held: octets[2],
                    block_start,
                    suggested: octets[3],
                    request_id,
                    lost,
                })
            },
        )
    });
    let range = (psns(), any::<u8>()).prop_map(|(start, count)| PsnRange { start, count });
    let ranges = (any::<u16>(), prop::collection::vec(range, 0..40))
        .prop_map(|(request_id, ranges)| RepairRequest::Ranges(RangeRequest { request_id, ranges }));
    prop_oneof![block, ranges]
}

fn path_reports() -> impl Strategy<Value = PathReport> {
    let entry = (any::<([u32; 3], i32, u8)>(), prop::collection::vec(psns(), 0..20)).prop_map(
        |((w, delay_change, cause), psns)| HopEntry {
            node_id: w[0],
            period: w[1],
            lost: w[2],
            delay_change,
            cause: Cause(cause),
            psns,
        },
    );
    (any::<(u8, u32)>(), addresses(), prop::collection::vec(entry, 0..=MAX_ENTRIES)).prop_map(
        |((method, flow_label), flow, entries)| PathReport {
            method: Method(method),
            flow,
            flow_label,
            entries,
        },
    )
}

/// Every message, with every value that fits into each field.
fn messages() -> impl Strategy<Value = Owned> {
    let words = || any::<([u32; 8], u64, [u16; 4], [u8; 4])>();
    let others = prop_oneof![
        (words(), addresses()).prop_map(|((w, d, h, b), flow)| Message::Hello(Hello {
            flow_kind: FlowKind(b[0]),
            schemes: Schemes(h[0]),
            max_k: b[1],
            max_m: b[2],
            max_t: h[1],
            rdma_mtu: h[2],
            nonce: d,
            flow,
            flow_label: w[0],
        })),
        words().prop_map(|(_, d, h, b)| Message::HelloAck(HelloAck {
            flow_kind: FlowKind(b[0]),
            af: b[3],
            schemes: Schemes(h[0]),
            max_k: b[1],
            max_m: b[2],
            max_t: h[1],
            rdma_mtu: h[2],
            nonce: d,
            max_open_blocks: h[3],
        })),
        words().prop_map(|(w, _, h, b)| Message::ParamUpdate(ParamUpdate {
            config_id: b[0],
            scheme: Scheme(b[1]),
            k: b[2],
            m: b[3],
            t: h[0],
            effective_psn: Psn::new(w[0]),
        })),
        words()
            .prop_map(|(.., b)| Message::ParamAck(ParamAck { config_id: b[0], status: ParamStatus(b[1]) })),
        requests().prop_map(Message::RepairRequest),
        words().prop_map(|(w, ..)| Message::LossReport(LossReport {
            interval: Micros(w[0]),
            expected: w[1],
            received: w[2],
            restored: w[3],
            incomplete_blocks: w[4],
            ce_marked: w[5],
            repairs_received: w[6],
            repairs_ce_marked: w[7],
        })),
        path_reports().prop_map(Message::PathReport),
        words().prop_map(|(.., b)| Message::Close(Close { reason: CloseReason(b[0]) })),
    ];
    prop_oneof![1 => repairs(), 3 => others.prop_map(|message| Owned { message, symbol: Vec::new() })]
}

proptest! {
    /// Also: unknown codes and undefined flags survive, since every value of every field is drawn.
    #[test]
    fn every_message_comes_back(
        (flags, flow) in any::<(u8, u32)>(), owned in messages(), behind in any::<Vec<u8>>()
    ) {
        let message = owned.message();
        let mut octets = message.to_octets(&Header { flags: Flags(flags), flow_id: FlowId(flow) });
        prop_assert_eq!(octets.len(), message.len());
        let (header, decoded) = decode(&octets).unwrap();
        prop_assert_eq!(&decoded, &message);
        prop_assert_eq!(header.flow_id, FlowId(flow));
        // Only flags that decide the form may differ from what was asked for.
        prop_assert_eq!((header.flags.0 ^ flags) & !0xb0, 0);
        prop_assert_eq!(decoded.to_octets(&header), octets.clone());
        let described = wire::describe::crem(&octets).unwrap();
        prop_assert_eq!(Some(described.message), message.message_type().name());
        prop_assert!(described.to_string().starts_with(described.message));
        let whole = octets.clone();
        octets.extend(behind);
        prop_assert_eq!(decode(&octets), decode(&whole), "octets behind Length are ignored");
    }

    #[test]
    fn every_message_cut_short_is_refused(owned in messages(), at in any::<prop::sample::Index>()) {
        let octets = owned.message().to_octets(&Header::default());
        prop_assert!(decode(&octets[..at.index(octets.len())]).is_err());
    }

    #[test]
    fn no_octets_panic(octets in any::<Vec<u8>>()) {
        let _ = wire::describe::crem(&octets);
    }

    /// Octets that get past the checks of the header.
    #[test]
    fn no_body_panics(
        message_type in 0u8..11, flags in any::<u8>(), length in 0u16..120,
        body in prop::collection::vec(prop_oneof![Just(0u8), 0..5u8, any::<u8>()], 0..120)
    ) {
        let mut octets = Vec::new();
        let header = Header { flags: Flags(flags), flow_id: FlowId(0) };
        RawHeader { version: 1, message_type: MessageType(message_type), length, header }.encode(&mut octets);
        octets.extend(body);
        match decode(&octets) {
            Ok((header, message)) => {
                let again = message.to_octets(&header);
                prop_assert_eq!(decode(&again), Ok((header, message)));
            }
            Err(error) => prop_assert!(error.offset() < 130),
        }
    }

    #[test]
    fn lists_longer_than_their_counts_are_cut(psns in 0..400u32, entries in 0..20usize) {
        let report = path_report(vec![hop((0..psns).map(Psn::new).collect()); entries]);
        let octets = Message::PathReport(report.clone()).to_octets(&Header::default());
        let Ok((_, Message::PathReport(decoded))) = decode(&octets) else { panic!("{octets:?}") };
        prop_assert_eq!(decoded.entries.len(), entries.min(MAX_ENTRIES));
        prop_assert!(decoded.entries.iter().all(|entry| entry.psns.len() == (psns as usize).min(MAX_PSNS)));
        prop_assert_eq!(octets.len(), report.len());
    }
}
