//! P4Runtime, P4 Entity Messages: what is written is read back, and what is deleted is gone.

use p4runtime::bytes::encode;
use p4runtime::p4::v1::{
    ActionProfileAction, ActionProfileActionSet, ActionProfileGroup, ActionProfileMember, CloneSessionEntry,
    CounterData, CounterEntry, Index, MeterConfig, MeterEntry, MulticastGroupEntry, P4Data,
    PacketReplicationEngineEntry, RegisterEntry, Replica, TableAction, TableEntry, action_profile_group,
    entity, p4_data, packet_replication_engine_entry as pre, replica, table_action, update,
};
use p4runtime::status::Code;
use softswitch::runtime::Runtime;

use crate::support::{action, degree, device, direct, dscp, index, key, read, read_entries, write};

use entity::Entity as Kind;
use update::Type::{Delete, Insert, Modify};

fn table(name: &str) -> TableEntry {
    TableEntry { table_id: index().tables.find(name).unwrap().id, ..TableEntry::default() }
}

fn code<T>(result: Result<T, (Code, String)>) -> Code {
    result.map_or_else(|(code, _)| code, |_| Code::Ok)
}

#[test]
fn an_entry_lives_from_insert_to_delete() {
    let (mut runtime, _) = device();
    let entry = dscp(46, 5);
    write(&mut runtime, Insert, Kind::TableEntry(entry.clone())).unwrap();
    assert_eq!(code(write(&mut runtime, Insert, Kind::TableEntry(dscp(46, 6)))), Code::AlreadyExists);
    assert_eq!(read_entries(&runtime, table("dscp_map")), [entry], "unchanged by the refused insert");
    let changed = TableEntry { metadata: vec![1, 2], ..dscp(46, 6) };
    write(&mut runtime, Modify, Kind::TableEntry(changed.clone())).unwrap();
    assert_eq!(read_entries(&runtime, table("dscp_map")), [changed]);
    write(&mut runtime, Delete, Kind::TableEntry(key("dscp_map", &[(46, 0)]))).unwrap();
    assert_eq!(read_entries(&runtime, table("dscp_map")), []);
    for how in [Modify, Delete] {
        assert_eq!(code(write(&mut runtime, how, Kind::TableEntry(dscp(46, 6)))), Code::NotFound);
    }
}

#[test]
fn a_modify_without_action_keeps_the_action() {
    let (mut runtime, _) = device();
    write(&mut runtime, Insert, Kind::TableEntry(dscp(46, 5))).unwrap();
    let only_metadata = TableEntry { metadata: vec![9], ..key("dscp_map", &[(46, 0)]) };
    write(&mut runtime, Modify, Kind::TableEntry(only_metadata)).unwrap();
    let expected = TableEntry { metadata: vec![9], ..dscp(46, 5) };
    assert_eq!(read_entries(&runtime, table("dscp_map")), [expected]);
}

#[test]
fn reads_are_sorted_and_parts_given_are_filters() {
    let (mut runtime, _) = device();
    for dscp_value in [33, 2, 17] {
        write(&mut runtime, Insert, Kind::TableEntry(dscp(dscp_value, 1))).unwrap();
    }
    for (low, high, priority) in [(300, 400, 10), (1, 9, 20), (1, 9, 30)] {
        write(&mut runtime, Insert, Kind::TableEntry(degree(low, high, 4, priority))).unwrap();
    }
    let all = read_entries(&runtime, TableEntry::default());
    let expected = [
        dscp(2, 1),
        dscp(17, 1),
        dscp(33, 1),
        degree(1, 9, 4, 30),
        degree(1, 9, 4, 20),
        degree(300, 400, 4, 10),
    ];
    assert_eq!(all, expected, "by table, key, and the highest priority first");
    assert_eq!(read_entries(&runtime, key("dscp_map", &[(17, 0)])), [dscp(17, 1)]);
    let ninth = TableEntry { priority: 20, ..table("congestion_degree") };
    assert_eq!(read_entries(&runtime, ninth), [degree(1, 9, 4, 20)]);
    let partial =
        TableEntry { r#match: degree(1, 9, 4, 0).r#match.split_off(1), ..table("congestion_degree") };
    assert_eq!(read_entries(&runtime, partial).len(), 2, "one component of two given");
}

#[test]
fn padded_values_are_taken_and_read_back_short() {
    let (mut runtime, _) = device();
    let mut entry = dscp(46, 5);
    if let Some(table_action::Type::Action(action)) = &mut entry.action.as_mut().unwrap().r#type {
        action.params[0].value.insert(0, 0);
    }
    write(&mut runtime, Insert, Kind::TableEntry(entry)).unwrap();
    assert_eq!(read_entries(&runtime, table("dscp_map")), [dscp(46, 5)]);
}

#[test]
fn a_default_action_is_modified_read_and_put_back() {
    let (mut runtime, _) = device();
    let wanted = TableEntry { is_default_action: true, ..table("reporter") };
    let first = read_entries(&runtime, wanted.clone());
    assert_eq!(first[0].action, direct(action("NoAction", &[])));
    let set = TableEntry {
        action: direct(action("set_reporter", &[9, 0x0a00_0001, 1 << 127, 50001, 50002, 50003])),
        ..wanted.clone()
    };
    write(&mut runtime, Modify, Kind::TableEntry(set.clone())).unwrap();
    assert_eq!(read_entries(&runtime, wanted.clone()), [set]);
    write(&mut runtime, Modify, Kind::TableEntry(wanted.clone())).unwrap();
    assert_eq!(read_entries(&runtime, wanted.clone()), first, "without action: the program's own");
    assert_eq!(code(write(&mut runtime, Insert, Kind::TableEntry(wanted.clone()))), Code::InvalidArgument);
    assert_eq!(code(write(&mut runtime, Delete, Kind::TableEntry(wanted))), Code::InvalidArgument);
}

fn member(id: u32, port: u128) -> ActionProfileMember {
    ActionProfileMember {
        action_profile_id: index().action_profiles.find("ecmp").unwrap().id,
        member_id: id,
        action: Some(action("forward", &[port, 0x0200_0000_0001])),
    }
}

fn group(id: u32, members: &[u32]) -> ActionProfileGroup {
    let member =
        |&member_id: &u32| action_profile_group::Member { member_id, weight: 1, ..Default::default() };
    ActionProfileGroup {
        action_profile_id: index().action_profiles.find("ecmp").unwrap().id,
        group_id: id,
        members: members.iter().map(member).collect(),
        max_size: 0,
    }
}

fn route(action: table_action::Type) -> TableEntry {
    TableEntry {
        action: Some(TableAction { r#type: Some(action) }),
        ..key("ipv4_route", &[(0x0a00_0000, 8)])
    }
}

#[test]
fn members_groups_and_the_entries_that_use_them() {
    let (mut runtime, _) = device();
    let to_group = route(table_action::Type::ActionProfileGroupId(3));
    assert_eq!(code(write(&mut runtime, Insert, Kind::TableEntry(to_group.clone()))), Code::NotFound);
    assert_eq!(code(write(&mut runtime, Insert, Kind::ActionProfileGroup(group(3, &[1])))), Code::NotFound);
    for id in [2, 1] {
        write(&mut runtime, Insert, Kind::ActionProfileMember(member(id, u128::from(id)))).unwrap();
    }
    write(&mut runtime, Insert, Kind::ActionProfileGroup(group(3, &[1, 2]))).unwrap();
    write(&mut runtime, Insert, Kind::TableEntry(to_group.clone())).unwrap();
    assert_eq!(read_entries(&runtime, table("ipv4_route")), std::slice::from_ref(&to_group));
    let members = read(&runtime, Kind::ActionProfileMember(ActionProfileMember::default()));
    assert_eq!(members, [Kind::ActionProfileMember(member(1, 1)), Kind::ActionProfileMember(member(2, 2))]);
    let groups = read(&runtime, Kind::ActionProfileGroup(ActionProfileGroup::default()));
    assert_eq!(groups, [Kind::ActionProfileGroup(group(3, &[1, 2]))]);
    // What is used can't go.
    assert_eq!(
        code(write(&mut runtime, Delete, Kind::ActionProfileMember(member(1, 1)))),
        Code::FailedPrecondition
    );
    assert_eq!(
        code(write(&mut runtime, Delete, Kind::ActionProfileGroup(group(3, &[])))),
        Code::FailedPrecondition
    );
    write(&mut runtime, Modify, Kind::ActionProfileGroup(group(3, &[2]))).unwrap();
    write(&mut runtime, Delete, Kind::ActionProfileMember(member(1, 1))).unwrap();
    write(&mut runtime, Delete, Kind::TableEntry(to_group)).unwrap();
    write(&mut runtime, Delete, Kind::ActionProfileGroup(group(3, &[]))).unwrap();
}

fn one_shot(ports: &[u128]) -> TableEntry {
    let action = |&port: &u128| ActionProfileAction {
        action: Some(action("forward", &[port, 1])),
        weight: 2,
        ..ActionProfileAction::default()
    };
    route(table_action::Type::ActionProfileActionSet(ActionProfileActionSet {
        action_profile_actions: ports.iter().map(action).collect(),
    }))
}

#[test]
fn a_one_shot_group_comes_and_goes_with_its_entry() {
    let (mut runtime, _) = device();
    write(&mut runtime, Insert, Kind::TableEntry(one_shot(&[1, 2]))).unwrap();
    assert_eq!(read_entries(&runtime, table("ipv4_route")), [one_shot(&[1, 2])]);
    assert_eq!(read(&runtime, Kind::ActionProfileGroup(ActionProfileGroup::default())), [], "it has no ids");
    write(&mut runtime, Modify, Kind::TableEntry(one_shot(&[3]))).unwrap();
    assert_eq!(read_entries(&runtime, table("ipv4_route")), [one_shot(&[3])]);
    write(&mut runtime, Delete, Kind::TableEntry(one_shot(&[]))).unwrap();
    let profile = runtime.switch().unwrap().program().profile("ecmp").unwrap();
    assert_eq!(runtime.switch().unwrap().members(profile).unwrap(), [], "nothing is left behind");
}

#[test]
fn counters_are_set_read_one_by_one_and_as_arrays() {
    let (mut runtime, _) = device();
    let id = index().counters.find("drops").unwrap().id;
    let cell = |index: Option<i64>, packet_count: i64| CounterEntry {
        counter_id: id,
        index: index.map(|index| Index { index }),
        data: Some(CounterData { byte_count: packet_count * 100, packet_count }),
    };
    write(&mut runtime, Modify, Kind::CounterEntry(cell(Some(5), 3))).unwrap();
    assert_eq!(read(&runtime, Kind::CounterEntry(cell(Some(5), 0))), [Kind::CounterEntry(cell(Some(5), 3))]);
    write(&mut runtime, Modify, Kind::CounterEntry(cell(None, 1))).unwrap();
    let all = read(&runtime, Kind::CounterEntry(cell(None, 0)));
    assert_eq!(all.len(), index().counters.find("drops").unwrap().size);
    assert_eq!(all[5], Kind::CounterEntry(cell(Some(5), 1)));
    assert_eq!(
        code(write(&mut runtime, Insert, Kind::CounterEntry(cell(Some(5), 3)))),
        Code::InvalidArgument
    );
    assert_eq!(
        code(write(&mut runtime, Modify, Kind::CounterEntry(cell(Some(-1), 3)))),
        Code::InvalidArgument
    );
    assert_eq!(
        code(write(&mut runtime, Modify, Kind::CounterEntry(cell(Some(1 << 40), 3)))),
        Code::OutOfRange
    );
}

#[test]
fn a_meter_is_configured_and_put_back() {
    let (mut runtime, _) = device();
    let id = index().meters.find("report_meter").unwrap().id;
    let meter = |config: Option<MeterConfig>| {
        Kind::MeterEntry(MeterEntry {
            meter_id: id,
            index: Some(Index { index: 1 }),
            config,
            counter_data: None,
        })
    };
    let config = Some(MeterConfig { cir: 1000, cburst: 10, pir: 2000, pburst: 20, eburst: 0 });
    write(&mut runtime, Modify, meter(config)).unwrap();
    assert_eq!(read(&runtime, meter(None)), [meter(config)]);
    write(&mut runtime, Modify, meter(None)).unwrap();
    assert_eq!(read(&runtime, meter(None)), [meter(None)]);
}

#[test]
fn registers_are_read_and_written() {
    let (mut runtime, _) = device();
    let index = index();
    let register = index.registers.iter().next().unwrap();
    let cell = |value: u128| {
        Kind::RegisterEntry(RegisterEntry {
            register_id: register.id,
            index: Some(Index { index: 2 }),
            data: Some(P4Data { data: Some(p4_data::Data::Bitstring(encode(value))) }),
        })
    };
    write(&mut runtime, Modify, cell(0x1234)).unwrap();
    assert_eq!(read(&runtime, cell(0)), [cell(0x1234)]);
    assert_eq!(code(write(&mut runtime, Modify, cell(u128::MAX))), Code::OutOfRange);
}

fn session(id: u32, port: u128) -> Kind {
    replication(pre::Type::CloneSessionEntry(CloneSessionEntry {
        session_id: id,
        replicas: vec![copy(port)],
        packet_length_bytes: 128,
        ..CloneSessionEntry::default()
    }))
}

fn multicast(id: u32, ports: &[u128]) -> Kind {
    replication(pre::Type::MulticastGroupEntry(MulticastGroupEntry {
        multicast_group_id: id,
        replicas: ports.iter().map(|&port| copy(port)).collect(),
        metadata: vec![7],
    }))
}

fn copy(port: u128) -> Replica {
    Replica { port_kind: Some(replica::PortKind::Port(encode(port))), instance: 1 }
}

fn replication(kind: pre::Type) -> Kind {
    Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) })
}

#[test]
fn clone_sessions_and_multicast_groups() {
    let (mut runtime, _) = device();
    let all_sessions = || replication(pre::Type::CloneSessionEntry(CloneSessionEntry::default()));
    let all_groups = || replication(pre::Type::MulticastGroupEntry(MulticastGroupEntry::default()));
    let check = |runtime: &mut Runtime, all: &dyn Fn() -> Kind, first: Kind, second: Kind| {
        assert_eq!(code(write(runtime, Modify, first.clone())), Code::NotFound);
        write(runtime, Insert, first.clone()).unwrap();
        assert_eq!(code(write(runtime, Insert, first)), Code::AlreadyExists);
        write(runtime, Modify, second.clone()).unwrap();
        assert_eq!(read(runtime, all()), std::slice::from_ref(&second));
        write(runtime, Delete, second.clone()).unwrap();
        assert_eq!(code(write(runtime, Delete, second)), Code::NotFound);
        assert_eq!(read(runtime, all()), []);
    };
    check(&mut runtime, &all_sessions, session(1, 510), session(1, 509));
    check(&mut runtime, &all_groups, multicast(4, &[1, 2]), multicast(4, &[2]));
    for wrong in
        [session(0, 1), session(32768, 1), session(1, 512), multicast(0, &[1]), multicast(1, &[1, 1])]
    {
        assert_eq!(code(write(&mut runtime, Insert, wrong)), Code::InvalidArgument);
    }
}
