//! Kinds of entity that the project's own program has none of; `program/kinds.p4` has one of each.

use std::path::PathBuf;

use p4runtime::P4InfoIndex;
use p4runtime::bytes::encode;
use p4runtime::p4::v1::{
    Action, CounterData, DigestEntry, DigestListAck, DirectCounterEntry, DirectMeterEntry, FieldMatch,
    ForwardingPipelineConfig, MeterConfig, P4Data, P4StructLike, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, TableEntry, ValueSetEntry, ValueSetMember, action, digest_entry,
    entity::Entity as Kind, field_match, p4_data,
    set_forwarding_pipeline_config_request::Action as SetAction, stream_message_request,
    stream_message_response::Update, table_entry::IdleTimeout, update::Type,
};
use p4runtime::status::Code;
use softswitch::Packet;
use softswitch::runtime::{Runtime, StreamId};

use crate::support::{DEVICE, arbitrate, config, direct, read, read_entries, responses, write};

const SOURCE_MAC: u128 = 0x0200_0000_0002;
const CPU_PORT: u16 = crate::support::CPU_PORT;

fn pipeline() -> ForwardingPipelineConfig {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/p4runtime/program");
    let info = std::fs::read_to_string(folder.join("kinds.p4info.txtpb")).unwrap();
    ForwardingPipelineConfig {
        p4info: Some(p4runtime::p4info::parse_text(&info).unwrap()),
        p4_device_config: std::fs::read(folder.join("kinds.json")).unwrap(),
        cookie: None,
    }
}

fn index() -> P4InfoIndex {
    P4InfoIndex::new(pipeline().p4info.unwrap()).unwrap()
}

fn device() -> (Runtime, StreamId) {
    let mut runtime = Runtime::with_pipeline(DEVICE, config(), pipeline()).unwrap();
    let stream = runtime.open_stream();
    runtime.receive(stream, &arbitrate(DEVICE, 1)).unwrap();
    responses(&mut runtime);
    (runtime, stream)
}

fn exact(field_id: u32, value: u128) -> FieldMatch {
    let exact = field_match::Exact { value: encode(value) };
    FieldMatch { field_id, field_match_type: Some(field_match::FieldMatchType::Exact(exact)) }
}

fn call(name: &str, args: &[u128]) -> Action {
    let params = (1..).zip(args).map(|(param_id, &value)| action::Param { param_id, value: encode(value) });
    Action { action_id: index().actions.find(name).unwrap().id, params: params.collect() }
}

fn key() -> TableEntry {
    TableEntry {
        table_id: index().tables.find("source").unwrap().id,
        r#match: vec![exact(1, SOURCE_MAC)],
        ..TableEntry::default()
    }
}

fn entry() -> TableEntry {
    TableEntry { action: direct(call("to_port", &[3])), ..key() }
}

/// A frame from `SOURCE_MAC` through the whole switch.
fn forward(runtime: &mut Runtime, ether_type: u16, now_ns: u64) {
    let mut octets = vec![0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2];
    octets.extend(ether_type.to_be_bytes());
    octets.extend([0xde, 0xad]);
    octets.resize(64, 0);
    let switch = runtime.switch_mut().unwrap();
    switch.ingress(1, Packet::new(octets), now_ns);
    while let Some(port) = { switch.active_ports().next() } {
        if port == CPU_PORT {
            // Left for `advance`, which takes what goes to the controller.
            break;
        }
        switch.dequeue(port, now_ns).unwrap();
    }
    runtime.advance(now_ns);
}

#[test]
fn a_direct_counter_counts_its_entry_and_comes_with_it_when_asked_for() {
    let (mut runtime, _) = device();
    write(&mut runtime, Type::Insert, Kind::TableEntry(entry())).unwrap();
    forward(&mut runtime, 0x88b5, 0);
    let direct_counter = |table_entry: TableEntry, packet_count: i64, byte_count: i64| {
        let data = Some(CounterData { byte_count, packet_count });
        Kind::DirectCounterEntry(DirectCounterEntry { table_entry: Some(table_entry), data })
    };
    let all = || direct_counter(TableEntry::default(), 0, 0);
    assert_eq!(read(&runtime, all()), [direct_counter(key(), 1, 64)]);
    assert_eq!(read_entries(&runtime, key())[0].counter_data, None, "not asked for");
    let asked = TableEntry { counter_data: Some(CounterData::default()), ..key() };
    assert_eq!(
        read_entries(&runtime, asked)[0].counter_data,
        Some(CounterData { byte_count: 64, packet_count: 1 })
    );
    write(&mut runtime, Type::Modify, direct_counter(key(), 7, 700)).unwrap();
    assert_eq!(read(&runtime, all()), [direct_counter(key(), 7, 700)]);
    let (code, _) = write(&mut runtime, Type::Insert, direct_counter(key(), 7, 700)).unwrap_err();
    assert_eq!(code, Code::InvalidArgument);
}

#[test]
fn a_direct_meter_is_configured_with_its_entry_or_by_itself() {
    let (mut runtime, _) = device();
    let config = |cir: i64| Some(MeterConfig { cir, cburst: 1, pir: 100, pburst: 2, eburst: 0 });
    let metered = TableEntry { meter_config: config(10), ..entry() };
    write(&mut runtime, Type::Insert, Kind::TableEntry(metered.clone())).unwrap();
    let asked = TableEntry { meter_config: Some(MeterConfig::default()), ..key() };
    assert_eq!(read_entries(&runtime, asked.clone()), [metered]);
    let meter = |config: Option<MeterConfig>| {
        Kind::DirectMeterEntry(DirectMeterEntry { table_entry: Some(key()), config, counter_data: None })
    };
    write(&mut runtime, Type::Modify, meter(config(20))).unwrap();
    assert_eq!(read(&runtime, meter(None)), [meter(config(20))]);
    write(&mut runtime, Type::Modify, meter(None)).unwrap();
    assert_eq!(read_entries(&runtime, asked)[0].meter_config, None);
    let (code, message) = write(&mut runtime, Type::Modify, meter(config(200))).unwrap_err();
    assert_eq!(code, Code::InvalidArgument, "a peak below the committed rate: {message}");
}

#[test]
fn an_idle_entry_is_reported_with_its_key() {
    let (mut runtime, stream) = device();
    let aging = TableEntry { idle_timeout_ns: 1000, metadata: vec![5], ..entry() };
    write(&mut runtime, Type::Insert, Kind::TableEntry(aging.clone())).unwrap();
    forward(&mut runtime, 0x88b5, 500);
    runtime.advance(1499);
    assert!(responses(&mut runtime).is_empty(), "not idle yet");
    let asked = TableEntry { time_since_last_hit: Some(IdleTimeout::default()), ..key() };
    assert_eq!(read_entries(&runtime, asked)[0].time_since_last_hit, Some(IdleTimeout { elapsed_ns: 999 }));
    runtime.advance(1500);
    let answers = responses(&mut runtime);
    let Some(Update::IdleTimeoutNotification(notification)) = &answers[0].1.update else {
        panic!("no notification: {answers:?}");
    };
    assert_eq!(answers[0].0, stream);
    assert_eq!(notification.table_entry, [TableEntry { action: None, ..aging }]);
}

#[test]
fn a_miss_is_learnt_through_a_digest_and_the_packet_itself() {
    let (mut runtime, stream) = device();
    let digest_id = index().digests.find("learnt_t").unwrap().id;
    let config = digest_entry::Config { max_timeout_ns: 0, max_list_size: 1, ack_timeout_ns: 1_000_000 };
    let learning = Kind::DigestEntry(DigestEntry { digest_id, config: Some(config) });
    write(&mut runtime, Type::Insert, learning.clone()).unwrap();
    assert_eq!(read(&runtime, Kind::DigestEntry(DigestEntry::default())), [learning]);
    forward(&mut runtime, 0x88b5, 10);
    let answers = responses(&mut runtime);
    let packets: Vec<_> = answers
        .iter()
        .filter_map(|(_, message)| match &message.update {
            Some(Update::Packet(packet)) => Some(packet),
            _ => None,
        })
        .collect();
    assert_eq!(packets.len(), 1, "{answers:?}");
    assert_eq!((packets[0].metadata[0].value.as_slice(), packets[0].payload.len()), (&[1][..], 64));
    let lists: Vec<_> = answers
        .iter()
        .filter_map(|(_, message)| match &message.update {
            Some(Update::Digest(list)) => Some(list),
            _ => None,
        })
        .collect();
    let bits = |value: u128| P4Data { data: Some(p4_data::Data::Bitstring(encode(value))) };
    let members = vec![bits(SOURCE_MAC), bits(1)];
    let expected = P4Data { data: Some(p4_data::Data::Struct(P4StructLike { members })) };
    assert_eq!((lists.len(), lists[0].digest_id, &lists[0].data), (1, digest_id, &vec![expected]));

    let digests = |runtime: &mut Runtime| {
        let answers = responses(runtime);
        answers.iter().filter(|(_, message)| matches!(message.update, Some(Update::Digest(_)))).count()
    };
    forward(&mut runtime, 0x88b5, 20);
    assert_eq!(digests(&mut runtime), 0, "not acknowledged: not sent again");
    let ack = DigestListAck { digest_id, list_id: lists[0].list_id };
    let ack = stream_message_request::Update::DigestAck(ack);
    runtime.receive(stream, &StreamMessageRequest { update: Some(ack) }).unwrap();
    forward(&mut runtime, 0x88b5, 30);
    assert_eq!(digests(&mut runtime), 1, "acknowledged: sent again");
}

#[test]
fn a_value_set_decides_what_the_parser_sees() {
    let (mut runtime, _) = device();
    write(&mut runtime, Type::Insert, Kind::TableEntry(entry())).unwrap();
    forward(&mut runtime, 0x88b5, 0);
    let transmitted = |runtime: &Runtime| runtime.switch().unwrap().stats().transmitted;
    let before = transmitted(&runtime);
    let set = |values: &[u128]| {
        let members = values.iter().map(|&value| ValueSetMember { r#match: vec![exact(1, value)] }).collect();
        let value_set_id = index().value_sets.find("tagged_types").unwrap().id;
        Kind::ValueSetEntry(ValueSetEntry { value_set_id, members })
    };
    write(&mut runtime, Type::Modify, set(&[0x88b5])).unwrap();
    assert_eq!(read(&runtime, set(&[])), [set(&[0x88b5])]);
    // Now the tag 0xdead is seen, and the program's own second entry denies it.
    forward(&mut runtime, 0x88b5, 1);
    assert_eq!(transmitted(&runtime), before);
    for (values, code) in
        [(&[1u128, 2, 3, 4, 5][..], Code::ResourceExhausted), (&[0x1_0000], Code::OutOfRange)]
    {
        assert_eq!(write(&mut runtime, Type::Modify, set(values)).unwrap_err().0, code);
    }
}

#[test]
fn entries_that_the_program_brings_read_back_and_stay() {
    let (mut runtime, _) = device();
    let table_id = index().tables.find("filter").unwrap().id;
    let all = || TableEntry { table_id, ..TableEntry::default() };
    let found = read_entries(&runtime, all());
    assert_eq!(found.len(), 2);
    let optional = found.iter().find(|entry| entry.r#match.iter().any(|field| field.field_id == 2)).unwrap();
    assert_eq!(
        optional.r#match[0].field_match_type,
        Some(field_match::FieldMatchType::Optional(field_match::Optional { value: vec![0xde, 0xad] })),
        "optional as in P4Info, though the JSON says ternary"
    );
    let other = found.iter().find(|entry| *entry != optional).unwrap();
    assert!(other.priority > optional.priority, "the first one wins: in P4Runtime its number is higher");
    assert!(optional.is_const);
    // As simple_switch does, which can't tell these from constant ones.
    let key = TableEntry { is_const: false, ..optional.clone() };
    for how in [Type::Insert, Type::Modify, Type::Delete] {
        assert_eq!(
            write(&mut runtime, how, Kind::TableEntry(key.clone())).unwrap_err().0,
            Code::PermissionDenied
        );
    }
    assert_eq!(read_entries(&runtime, all()), found);
}

#[test]
fn a_reconciliation_leaves_the_programs_entries_to_the_program() {
    let (mut runtime, _) = device();
    let metered = TableEntry {
        meter_config: Some(MeterConfig { cir: 1, pir: 2, ..MeterConfig::default() }),
        ..entry()
    };
    write(&mut runtime, Type::Insert, Kind::TableEntry(metered.clone())).unwrap();
    let asked = || TableEntry { meter_config: Some(MeterConfig::default()), ..TableEntry::default() };
    let before = read_entries(&runtime, asked());
    let request = SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        election_id: Some(p4runtime::client::uint128(1)),
        action: SetAction::ReconcileAndCommit.into(),
        config: Some(pipeline()),
        ..SetForwardingPipelineConfigRequest::default()
    };
    runtime.set_pipeline(&request).unwrap();
    assert_eq!(read_entries(&runtime, asked()), before);
}
