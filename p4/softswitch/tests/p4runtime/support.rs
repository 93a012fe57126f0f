//! Messages by name, and a device that runs the program.

use std::path::PathBuf;

use p4runtime::P4InfoIndex;
use p4runtime::bytes::encode;
use p4runtime::client::uint128;
use p4runtime::index::MatchKind;
use p4runtime::p4::v1::{
    Action, Entity, FieldMatch, ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest,
    StreamMessageRequest, StreamMessageResponse, TableAction, TableEntry, Update, WriteRequest, action,
    entity, field_match, forwarding_pipeline_config::Cookie, stream_message_request, table_action, update,
};
use p4runtime::status::{self, Code};
use softswitch::SwitchConfig;
use softswitch::runtime::{Runtime, StreamId};

pub const DEVICE: u64 = 7;
pub const CPU_PORT: u16 = 509;

pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn pipeline() -> ForwardingPipelineConfig {
    let build = repository().join("p4/bmv2/build");
    let p4info = std::fs::read_to_string(build.join("crn.p4info.txtpb")).unwrap();
    ForwardingPipelineConfig {
        p4info: Some(p4runtime::p4info::parse_text(&p4info).unwrap()),
        p4_device_config: std::fs::read(build.join("crn.json")).unwrap(),
        cookie: Some(Cookie { cookie: 42 }),
    }
}

pub fn index() -> P4InfoIndex {
    P4InfoIndex::new(pipeline().p4info.unwrap()).unwrap()
}

pub fn config() -> SwitchConfig {
    SwitchConfig { cpu_port: Some(CPU_PORT), ..SwitchConfig::default() }
}

/// A device with the program and a primary of the default role, whose election id is 1.
pub fn device() -> (Runtime, StreamId) {
    let mut runtime = Runtime::with_pipeline(DEVICE, config(), pipeline()).unwrap();
    let stream = runtime.open_stream();
    runtime.receive(stream, &arbitrate(DEVICE, 1)).unwrap();
    while runtime.poll_response().is_some() {}
    (runtime, stream)
}

pub fn arbitrate(device_id: u64, election_id: u128) -> StreamMessageRequest {
    StreamMessageRequest {
        update: Some(stream_message_request::Update::Arbitration(MasterArbitrationUpdate {
            device_id,
            election_id: Some(uint128(election_id)),
            ..MasterArbitrationUpdate::default()
        })),
    }
}

pub fn responses(runtime: &mut Runtime) -> Vec<(StreamId, StreamMessageResponse)> {
    std::iter::from_fn(|| runtime.poll_response()).collect()
}

pub fn entity(kind: entity::Entity) -> Entity {
    Entity { entity: Some(kind) }
}

pub fn update(how: update::Type, kind: entity::Entity) -> Update {
    Update { r#type: how.into(), entity: Some(entity(kind)) }
}

/// One change; its code and message if it was refused.
pub fn write(runtime: &mut Runtime, how: update::Type, kind: entity::Entity) -> Result<(), (Code, String)> {
    let request = WriteRequest {
        device_id: DEVICE,
        election_id: Some(uint128(1)),
        updates: vec![update(how, kind)],
        ..WriteRequest::default()
    };
    runtime.write(&request).map_err(|status| {
        let outcome = status::outcomes(&status).pop().expect("one outcome for each update");
        (Code::from(outcome.canonical_code), outcome.message)
    })
}

pub fn read(runtime: &Runtime, kind: entity::Entity) -> Vec<entity::Entity> {
    let request = ReadRequest { device_id: DEVICE, entities: vec![entity(kind)], ..ReadRequest::default() };
    runtime.read(&request).unwrap().into_iter().filter_map(|entity| entity.entity).collect()
}

pub fn read_entries(runtime: &Runtime, filter: TableEntry) -> Vec<TableEntry> {
    read(runtime, entity::Entity::TableEntry(filter))
        .into_iter()
        .map(|found| match found {
            entity::Entity::TableEntry(entry) => entry,
            other => panic!("not a table entry: {other:?}"),
        })
        .collect()
}

/// An action with its arguments in P4Info's order.
pub fn action(name: &str, args: &[u128]) -> Action {
    let index = index();
    let found = index.actions.find(name).unwrap();
    assert_eq!(found.params.len(), args.len());
    let params = found
        .params
        .iter()
        .zip(args)
        .map(|(param, &value)| action::Param { param_id: param.id, value: encode(value) })
        .collect();
    Action { action_id: found.id, params }
}

#[expect(clippy::unnecessary_wraps, reason = "as the messages want it")]
pub fn direct(action: Action) -> Option<TableAction> {
    Some(TableAction { r#type: Some(table_action::Type::Action(action)) })
}

/// A key's component: value, and prefix length, mask or upper end where the field has one.
pub type Component = (u128, u128);

/// An entry's key, in P4Info's order.
pub fn key(table: &str, components: &[Component]) -> TableEntry {
    use field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};
    let index = index();
    let table = index.tables.find(table).unwrap();
    let components = table
        .fields
        .iter()
        .zip(components)
        .map(|(field, &(first, second))| {
            let value = encode(first);
            let kind = match field.kind {
                MatchKind::Exact => FieldMatchType::Exact(Exact { value }),
                MatchKind::Lpm => {
                    FieldMatchType::Lpm(Lpm { value, prefix_len: i32::try_from(second).unwrap() })
                }
                MatchKind::Ternary => FieldMatchType::Ternary(Ternary { value, mask: encode(second) }),
                MatchKind::Range => FieldMatchType::Range(Range { low: value, high: encode(second) }),
                MatchKind::Optional => FieldMatchType::Optional(Optional { value }),
            };
            FieldMatch { field_id: field.id, field_match_type: Some(kind) }
        })
        .collect();
    TableEntry { table_id: table.id, r#match: components, ..TableEntry::default() }
}

/// An entry of `dscp_map`.
pub fn dscp(dscp: u128, class: u128) -> TableEntry {
    TableEntry { action: direct(action("set_class", &[class, 1, 0])), ..key("dscp_map", &[(dscp, 0)]) }
}

/// An entry of `congestion_degree`.
pub fn degree(low: u128, high: u128, degree: u128, priority: i32) -> TableEntry {
    TableEntry {
        action: direct(action("set_degree", &[degree])),
        priority,
        ..key("congestion_degree", &[(1, 0), (low, high)])
    }
}
