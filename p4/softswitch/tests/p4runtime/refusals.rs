//! What is refused, with which code, and that the message names the place. P4Runtime, Table Entry and Bytestrings.

use p4runtime::bytes::encode;
use p4runtime::p4::v1::{Entity, ReadRequest, TableEntry, field_match, table_action, update, write_request};
use p4runtime::p4::v1::{WriteRequest, entity::Entity as Kind};
use p4runtime::status::{self, Code};

use crate::support::{
    DEVICE, action, degree, device, direct, dscp, key, read_entries, update as change, write,
};

use update::Type::{Delete, Insert, Modify};

#[track_caller]
fn refused(entry: TableEntry, code: Code, words: &[&str]) {
    let (mut runtime, _) = device();
    let (got, message) = write(&mut runtime, Insert, Kind::TableEntry(entry)).unwrap_err();
    assert_eq!(got, code, "{message}");
    for word in words {
        assert!(message.contains(word), "no `{word}` in `{message}`");
    }
    assert_eq!(read_entries(&runtime, TableEntry::default()), [], "nothing was written");
}

#[test]
fn an_over_wide_key_is_out_of_range_and_the_widest_is_not() {
    let (mut runtime, _) = device();
    write(&mut runtime, Insert, Kind::TableEntry(dscp(63, 1))).unwrap();
    refused(dscp(64, 1), Code::OutOfRange, &["dscp_map", "dscp", "7 bits", "6 bits"]);
}

#[test]
fn an_over_wide_argument_is_out_of_range() {
    refused(dscp(1, 8), Code::OutOfRange, &["dscp_map", "set_class", "traffic_class"]);
}

#[test]
fn an_empty_value_is_out_of_range() {
    let mut entry = dscp(1, 1);
    entry.r#match[0].field_match_type =
        Some(field_match::FieldMatchType::Exact(field_match::Exact { value: Vec::new() }));
    refused(entry, Code::OutOfRange, &["dscp_map", "dscp"]);
}

#[test]
fn keys_must_be_whole_and_of_their_kind() {
    let mut missing = dscp(1, 1);
    missing.r#match.clear();
    refused(missing, Code::InvalidArgument, &["dscp_map", "`dscp`", "exact"]);
    let mut twice = dscp(1, 1);
    twice.r#match.push(twice.r#match[0].clone());
    refused(twice, Code::InvalidArgument, &["dscp", "twice"]);
    let mut unknown = dscp(1, 1);
    unknown.r#match[0].field_id = 9;
    refused(unknown, Code::InvalidArgument, &["dscp_map", "id 9"]);
    let mut kind = dscp(1, 1);
    let lpm = field_match::Lpm { value: encode(1), prefix_len: 6 };
    kind.r#match[0].field_match_type = Some(field_match::FieldMatchType::Lpm(lpm));
    refused(kind, Code::InvalidArgument, &["dscp", "Exact"]);
}

#[test]
fn what_matches_everything_is_left_out() {
    let route = |value: u128, length: u128| TableEntry {
        action: direct(action("forward", &[1, 1])),
        ..key("ipv4_route", &[(value, length)])
    };
    refused(route(0, 0), Code::InvalidArgument, &["ipv4_route", "dst_addr", "prefix length 0"]);
    refused(route(0, 33), Code::InvalidArgument, &["dst_addr", "33"]);
    refused(route(0x0a00_0001, 8), Code::InvalidArgument, &["dst_addr", "behind its prefix"]);
    refused(degree(0, 0xffff_ffff, 1, 1), Code::InvalidArgument, &["excess", "leave the field out"]);
    refused(degree(2, 1, 1, 1), Code::InvalidArgument, &["excess", "empty"]);
}

#[test]
fn priorities_where_and_only_where_the_key_needs_them() {
    refused(degree(1, 2, 1, 0), Code::InvalidArgument, &["congestion_degree", "priority"]);
    refused(degree(1, 2, 1, -1), Code::InvalidArgument, &["priority"]);
    refused(TableEntry { priority: 1, ..dscp(1, 1) }, Code::InvalidArgument, &["dscp_map", "priority"]);
}

#[test]
fn actions_must_suit_the_table() {
    let with = |action| TableEntry { action, ..key("dscp_map", &[(1, 0)]) };
    refused(with(None), Code::InvalidArgument, &["dscp_map", "action"]);
    refused(with(direct(action("set_degree", &[1]))), Code::InvalidArgument, &["set_degree"]);
    refused(with(direct(action("NoAction", &[]))), Code::PermissionDenied, &["default"]);
    let mut short = action("set_class", &[1, 1, 0]);
    short.params.pop();
    refused(with(direct(short)), Code::InvalidArgument, &["set_class", "queue", "missing"]);
    let through_profile =
        Some(p4runtime::p4::v1::TableAction { r#type: Some(table_action::Type::ActionProfileMemberId(1)) });
    refused(with(through_profile), Code::InvalidArgument, &["dscp_map", "no action profile"]);
}

#[test]
fn a_constant_default_action_stays() {
    let (mut runtime, _) = device();
    let default = TableEntry { is_default_action: true, r#match: Vec::new(), ..dscp(0, 1) };
    let (code, message) = write(&mut runtime, Modify, Kind::TableEntry(default)).unwrap_err();
    assert_eq!(code, Code::PermissionDenied, "{message}");
}

#[test]
fn a_keyless_table_takes_no_entries() {
    let entry = TableEntry {
        action: direct(action("set_reporter", &[9, 1, 1, 50001, 50002, 50003])),
        ..key("reporter", &[])
    };
    refused(entry, Code::InvalidArgument, &["reporter", "no key"]);
}

#[test]
fn one_failure_leaves_the_rest_of_the_batch() {
    let (mut runtime, _) = device();
    let request = WriteRequest {
        device_id: DEVICE,
        election_id: Some(p4runtime::client::uint128(1)),
        updates: vec![
            change(Insert, Kind::TableEntry(dscp(1, 1))),
            change(Insert, Kind::TableEntry(dscp(64, 1))),
            change(Insert, Kind::TableEntry(dscp(2, 1))),
        ],
        ..WriteRequest::default()
    };
    let failed = runtime.write(&request).unwrap_err();
    let codes: Vec<Code> =
        status::outcomes(&failed).iter().map(|outcome| Code::from(outcome.canonical_code)).collect();
    assert_eq!(codes, [Code::Ok, Code::OutOfRange, Code::Ok]);
    assert_eq!(read_entries(&runtime, TableEntry::default()).len(), 2);
}

/// P4Runtime, Batching and Ordering of Updates: with the other atomicities, all is made or nothing.
#[test]
fn an_atomic_batch_is_made_whole_or_leaves_no_trace() {
    use write_request::Atomicity::{DataplaneAtomic, RollbackOnError};
    for atomicity in [RollbackOnError, DataplaneAtomic] {
        let (mut runtime, _) = device();
        write(&mut runtime, Insert, Kind::TableEntry(dscp(7, 1))).unwrap();
        let before = read_entries(&runtime, TableEntry::default());
        let batch = |last: u128| WriteRequest {
            device_id: DEVICE,
            election_id: Some(p4runtime::client::uint128(1)),
            updates: vec![
                change(Insert, Kind::TableEntry(dscp(1, 1))),
                change(Modify, Kind::TableEntry(dscp(7, 2))),
                change(Delete, Kind::TableEntry(dscp(7, 2))),
                change(Insert, Kind::TableEntry(dscp(last, 1))),
                change(Insert, Kind::TableEntry(dscp(3, 1))),
            ],
            atomicity: atomicity.into(),
            ..WriteRequest::default()
        };
        let failed = runtime.write(&batch(64)).unwrap_err();
        let codes: Vec<Code> =
            status::outcomes(&failed).iter().map(|outcome| Code::from(outcome.canonical_code)).collect();
        let undone = Code::Aborted;
        assert_eq!(codes, [undone, undone, undone, Code::OutOfRange, undone]);
        assert_eq!(read_entries(&runtime, TableEntry::default()), before);
        runtime.write(&batch(2)).unwrap();
        let after = [dscp(1, 1), dscp(2, 1), dscp(3, 1)];
        assert_eq!(read_entries(&runtime, TableEntry::default()), after);
    }
    let (mut runtime, _) = device();
    let unknown = WriteRequest {
        device_id: DEVICE,
        election_id: Some(p4runtime::client::uint128(1)),
        atomicity: 9,
        ..WriteRequest::default()
    };
    assert_eq!(Code::from(runtime.write(&unknown).unwrap_err().code), Code::InvalidArgument);
}

#[test]
fn a_failed_read_gives_what_the_others_found() {
    let (mut runtime, _) = device();
    write(&mut runtime, Insert, Kind::TableEntry(dscp(1, 1))).unwrap();
    let wrong = TableEntry { table_id: 0x0200_ffff, ..TableEntry::default() };
    let entities = [Kind::TableEntry(wrong), Kind::TableEntry(TableEntry::default())]
        .map(|kind| Entity { entity: Some(kind) })
        .to_vec();
    let request = ReadRequest { device_id: DEVICE, entities, ..ReadRequest::default() };
    let (found, failed) = runtime.read_each(&request);
    assert_eq!(found.len(), 1);
    let outcomes = status::outcomes(&failed.unwrap());
    assert_eq!(outcomes[0].canonical_code, Code::InvalidArgument as i32);
    assert_eq!(outcomes[1].canonical_code, 0);
}
