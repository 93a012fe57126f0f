//! P4Runtime, Action Profile Group: a member is left out while the port it watches is down.

use std::collections::BTreeSet;

use p4runtime::bytes::encode;
use p4runtime::p4::v1::{
    ActionProfileAction, ActionProfileActionSet, ActionProfileGroup, ActionProfileMember, TableAction,
    TableEntry, action_profile_action, action_profile_group, entity::Entity as Kind, table_action,
    update::Type,
};
use softswitch::Packet;
use softswitch::runtime::Runtime;

use crate::support::{action, device, dscp, index, key, read, write};

/// An IPv4 UDP packet to 10.0.0.9 of the flow `flow`.
fn packet(flow: u8) -> Packet {
    let mut octets = vec![2, 0, 0, 0, 0, 0xfe, 2, 0, 0, 0, 0, 1, 8, 0];
    let mut header = vec![0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 9];
    let sum: u32 = header.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16));
    header[10] = u8::try_from(sum >> 8 & 0xff).unwrap();
    header[11] = u8::try_from(sum & 0xff).unwrap();
    octets.extend(header);
    octets.extend([0, flow, 0, 9, 0, 26, 0, 0]);
    octets.extend([0; 18]);
    Packet::new(octets)
}

/// Ports that a hundred flows leave through.
fn ports(runtime: &mut Runtime) -> BTreeSet<u16> {
    let switch = runtime.switch_mut().unwrap();
    let mut ports = BTreeSet::new();
    for flow in 0..100 {
        switch.ingress(3, packet(flow), 1000);
        loop {
            let active = switch.active_ports().next();
            let Some(port) = active else { break };
            switch.dequeue(port, 1000).unwrap();
            ports.insert(port);
        }
    }
    ports
}

fn route(to: table_action::Type) -> Kind {
    let action = Some(TableAction { r#type: Some(to) });
    Kind::TableEntry(TableEntry { action, ..key("ipv4_route", &[(0x0a00_0000, 8)]) })
}

fn ports_follow_links(runtime: &mut Runtime) {
    let both = BTreeSet::from([1, 2]);
    assert_eq!(ports(runtime), both);
    runtime.set_port_up(1, false);
    assert_eq!(ports(runtime), BTreeSet::from([2]));
    runtime.set_port_up(1, true);
    runtime.set_port_up(2, false);
    assert_eq!(ports(runtime), BTreeSet::from([1]));
    runtime.set_port_up(2, true);
    assert_eq!(ports(runtime), both);
}

#[test]
fn a_group_follows_the_links_of_its_ports() {
    let (mut runtime, _) = device();
    write(&mut runtime, Type::Insert, Kind::TableEntry(dscp(0, 0))).unwrap();
    let profile = index().action_profiles.find("ecmp").unwrap().id;
    let mut members = Vec::new();
    for port in [1u32, 2] {
        let member = ActionProfileMember {
            action_profile_id: profile,
            member_id: port,
            action: Some(action("forward", &[u128::from(port), 7])),
        };
        write(&mut runtime, Type::Insert, Kind::ActionProfileMember(member)).unwrap();
        let watch = action_profile_group::member::WatchKind::WatchPort(encode(u128::from(port)));
        members.push(action_profile_group::Member { member_id: port, weight: 1, watch_kind: Some(watch) });
    }
    let group = ActionProfileGroup { action_profile_id: profile, group_id: 5, members, max_size: 4 };
    let given = group.clone();
    let group = Kind::ActionProfileGroup(group);
    write(&mut runtime, Type::Insert, group.clone()).unwrap();
    write(&mut runtime, Type::Insert, route(table_action::Type::ActionProfileGroupId(5))).unwrap();
    ports_follow_links(&mut runtime);
    // Without a port that is up, a group is as one without members.
    runtime.set_port_up(1, false);
    runtime.set_port_up(2, false);
    let all_down = ports(&mut runtime);
    let empty = ActionProfileGroup { members: Vec::new(), ..given };
    write(&mut runtime, Type::Modify, Kind::ActionProfileGroup(empty)).unwrap();
    assert_eq!(ports(&mut runtime), all_down);
    runtime.set_port_up(1, true);
    runtime.set_port_up(2, true);
    assert_eq!(ports(&mut runtime), all_down);
    write(&mut runtime, Type::Modify, group.clone()).unwrap();
    // What is down when a group is written counts as well, and reads give what was written.
    runtime.set_port_up(2, false);
    write(&mut runtime, Type::Modify, group.clone()).unwrap();
    assert_eq!(ports(&mut runtime), BTreeSet::from([1]));
    assert_eq!(read(&runtime, Kind::ActionProfileGroup(ActionProfileGroup::default())), [group]);
}

#[test]
fn a_one_shot_group_follows_the_links_of_its_ports() {
    let (mut runtime, _) = device();
    write(&mut runtime, Type::Insert, Kind::TableEntry(dscp(0, 0))).unwrap();
    let actions = [1u128, 2].map(|port| ActionProfileAction {
        action: Some(action("forward", &[port, 7])),
        weight: 1,
        watch_kind: Some(action_profile_action::WatchKind::WatchPort(encode(port))),
    });
    let set = ActionProfileActionSet { action_profile_actions: actions.to_vec() };
    write(&mut runtime, Type::Insert, route(table_action::Type::ActionProfileActionSet(set))).unwrap();
    ports_follow_links(&mut runtime);
}
