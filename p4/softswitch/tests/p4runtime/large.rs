//! Reads of more than fits into one turn: they come in parts, and say the same as reads in one go.

use p4runtime::bytes::encode;
use p4runtime::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterEntry, DirectCounterEntry, Entity,
    MulticastGroupEntry, PacketReplicationEngineEntry, RegisterEntry, Replica, TableAction, TableEntry,
    action_profile_group, entity::Entity as Kind, packet_replication_engine_entry as pre, replica,
    table_action, update::Type,
};

use crate::grpc::{ready, serve};
use crate::support::{action, entity, index, key, read, update};

/// Members of `ecmp`, which has room for them.
const MEMBERS: u32 = 1100;

fn replicas() -> Vec<Replica> {
    let port_kind = Some(replica::PortKind::Port(encode(1)));
    vec![Replica { port_kind, instance: 1 }]
}

fn replication(kind: pre::Type) -> Kind {
    Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) })
}

#[tokio::test]
async fn reads_in_parts_are_whole_and_in_order() {
    let served = serve().await;
    let mut client = ready(&served).await;
    let index = index();
    let profile = index.action_profiles.find("ecmp").unwrap().id;
    let register = index.registers.find("flow_counts").unwrap().id;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for n in 1..=1500u32 {
        let member = ActionProfileMember {
            action_profile_id: profile,
            member_id: n,
            action: Some(action("forward", &[2, u128::from(n)])),
        };
        if n <= MEMBERS {
            first.push(update(Type::Insert, Kind::ActionProfileMember(member)));
        }
        let member = Some(table_action::Type::ActionProfileMemberId(1 + n % MEMBERS));
        let route = TableEntry {
            action: Some(TableAction { r#type: member }),
            ..key("ipv4_route", &[(u128::from(n) << 8, 24)])
        };
        second.push(update(Type::Insert, Kind::TableEntry(route)));
        if n <= 8 {
            let member = action_profile_group::Member {
                member_id: n,
                weight: 1,
                ..action_profile_group::Member::default()
            };
            let group = ActionProfileGroup {
                action_profile_id: profile,
                group_id: n,
                members: vec![member],
                max_size: 4,
            };
            second.push(update(Type::Insert, Kind::ActionProfileGroup(group)));
        }
        let session =
            CloneSessionEntry { session_id: n, replicas: replicas(), ..CloneSessionEntry::default() };
        first.push(update(Type::Insert, replication(pre::Type::CloneSessionEntry(session))));
        let group = MulticastGroupEntry {
            multicast_group_id: n,
            replicas: replicas(),
            ..MulticastGroupEntry::default()
        };
        first.push(update(Type::Insert, replication(pre::Type::MulticastGroupEntry(group))));
    }
    client.write(first).await.unwrap();
    client.write(second).await.unwrap();
    let all = [
        Kind::TableEntry(TableEntry::default()),
        Kind::ActionProfileMember(ActionProfileMember::default()),
        Kind::ActionProfileGroup(ActionProfileGroup::default()),
        replication(pre::Type::CloneSessionEntry(CloneSessionEntry::default())),
        replication(pre::Type::MulticastGroupEntry(MulticastGroupEntry::default())),
        Kind::CounterEntry(CounterEntry::default()),
        Kind::RegisterEntry(RegisterEntry { register_id: register, ..RegisterEntry::default() }),
        Kind::DirectCounterEntry(DirectCounterEntry::default()),
    ];
    for wanted in all {
        let in_parts: Vec<Entity> = client.read(vec![entity(wanted.clone())]).await.unwrap();
        let at_once: Vec<Entity> = {
            let runtime = served.runtime.lock().unwrap();
            read(&runtime, wanted.clone()).into_iter().map(entity).collect()
        };
        assert!(in_parts == at_once, "{wanted:?}: {} and {}", in_parts.len(), at_once.len());
    }
}
