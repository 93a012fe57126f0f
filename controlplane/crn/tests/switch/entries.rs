//! The program of this project, and entries that make it a router.

use p4runtime::P4InfoIndex;
use p4runtime::bytes::encode;
use p4runtime::client::Client;
use p4runtime::p4::v1::{
    Action, ActionProfileGroup, ActionProfileMember, Entity, FieldMatch, ForwardingPipelineConfig,
    TableAction, TableEntry, Update, action, action_profile_group, entity, field_match,
    set_forwarding_pipeline_config_request::Action as Push, table_action, update,
};

use crate::process::bmv2;

pub fn pipeline() -> ForwardingPipelineConfig {
    let p4info = std::fs::read_to_string(bmv2("build/crn.p4info.txtpb")).unwrap();
    ForwardingPipelineConfig {
        p4info: Some(p4runtime::p4info::parse_text(&p4info).unwrap()),
        p4_device_config: std::fs::read(bmv2("build/crn.json")).unwrap(),
        cookie: None,
    }
}

pub fn index() -> P4InfoIndex {
    P4InfoIndex::new(pipeline().p4info.unwrap()).unwrap()
}

pub async fn push(client: &mut Client) {
    client.set_pipeline(Push::VerifyAndCommit, Some(pipeline())).await.unwrap();
}

fn action(index: &P4InfoIndex, name: &str, args: &[u128]) -> Action {
    let found = index.actions.find(name).unwrap();
    let params = found.params.iter().zip(args);
    let params = params.map(|(param, &value)| action::Param { param_id: param.id, value: encode(value) });
    Action { action_id: found.id, params: params.collect() }
}

pub fn insert(kind: entity::Entity) -> Update {
    Update { r#type: update::Type::Insert.into(), entity: Some(Entity { entity: Some(kind) }) }
}

/// DSCP of the class `class`, queue 0.
pub fn dscp(index: &P4InfoIndex, dscp: u128, class: u128) -> Update {
    let table = index.tables.find("dscp_map").unwrap();
    let exact = field_match::Exact { value: encode(dscp) };
    let key = FieldMatch {
        field_id: table.fields[0].id,
        field_match_type: Some(field_match::FieldMatchType::Exact(exact)),
    };
    let set_class = action(index, "set_class", &[class, 0, 0]);
    insert(entity::Entity::TableEntry(TableEntry {
        table_id: table.id,
        r#match: vec![key],
        action: Some(TableAction { r#type: Some(table_action::Type::Action(set_class)) }),
        ..TableEntry::default()
    }))
}

/// 10.0.0.`host` leaves through `port`.
pub fn route(index: &P4InfoIndex, host: u8, port: u16) -> Vec<Update> {
    let profile = index.action_profiles.find("ecmp").unwrap();
    let member = ActionProfileMember {
        action_profile_id: profile.id,
        member_id: u32::from(host),
        action: Some(action(index, "forward", &[u128::from(port), 0x0200_0000_0000 + u128::from(host)])),
    };
    let to_member = table_action::Type::ActionProfileMemberId(u32::from(host));
    vec![insert(entity::Entity::ActionProfileMember(member)), to(index, host, to_member)]
}

fn to(index: &P4InfoIndex, host: u8, action: table_action::Type) -> Update {
    let table = index.tables.find("ipv4_route").unwrap();
    let lpm = field_match::Lpm { value: encode(0x0a00_0000 + u128::from(host)), prefix_len: 32 };
    let key = FieldMatch {
        field_id: table.fields[0].id,
        field_match_type: Some(field_match::FieldMatchType::Lpm(lpm)),
    };
    insert(entity::Entity::TableEntry(TableEntry {
        table_id: table.id,
        r#match: vec![key],
        action: Some(TableAction { r#type: Some(action) }),
        ..TableEntry::default()
    }))
}

/// 10.0.0.`host` leaves through any of `ports` whose link is up.
pub fn route_to_any(index: &P4InfoIndex, host: u8, ports: &[u16]) -> Vec<Update> {
    let profile = index.action_profiles.find("ecmp").unwrap();
    let members = ports.iter().map(|&port| action_profile_group::Member {
        member_id: 100 + u32::from(port),
        weight: 1,
        watch_kind: Some(action_profile_group::member::WatchKind::WatchPort(encode(u128::from(port)))),
    });
    let group = ActionProfileGroup {
        action_profile_id: profile.id,
        group_id: u32::from(host),
        members: members.collect(),
        max_size: 8,
    };
    let made = ports.iter().map(|&port| {
        insert(entity::Entity::ActionProfileMember(ActionProfileMember {
            action_profile_id: profile.id,
            member_id: 100 + u32::from(port),
            action: Some(action(index, "forward", &[u128::from(port), 0x0200_0000_0000 + u128::from(port)])),
        }))
    });
    let group = insert(entity::Entity::ActionProfileGroup(group));
    let to_group = table_action::Type::ActionProfileGroupId(u32::from(host));
    made.chain([group, to(index, host, to_group)]).collect()
}

/// A UDP packet from 10.0.0.`from` to 10.0.0.`to` for the router, 60 octets and the tag's.
pub fn packet(from: u8, to: u8, tag: Option<[u8; 4]>, mark: u8) -> Vec<u8> {
    let mut octets = vec![2, 0, 0, 0, 0, 0xfe, 2, 0, 0, 0, 0, from];
    octets.extend(tag.into_iter().flatten());
    octets.extend([8, 0]);
    let mut header = vec![0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to];
    let sum: u32 = header.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16));
    header[10] = u8::try_from(sum >> 8 & 0xff).unwrap();
    header[11] = u8::try_from(sum & 0xff).unwrap();
    octets.extend(header);
    octets.extend([0, 7, 0, 9, 0, 26, 0, 0]);
    octets.extend([mark; 18]);
    octets
}
