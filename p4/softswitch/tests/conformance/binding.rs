//! P4Info and JSON of a sample belong together, and what the program brings reads back.

use std::path::Path;

use p4runtime::google::rpc::Status;
use p4runtime::p4::v1::{
    Entity, ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest, StreamMessageRequest, TableEntry,
    Update, entity, stream_message_request, update,
};
use p4runtime::status::Code;
use softswitch::SwitchConfig;
use softswitch::runtime::Runtime;

/// Binds a program to the P4Info beside it, and writes every entry that it brings back as it was read.
pub fn check(json: &Path) -> Result<(), String> {
    let said = |status: Status| status.message;
    let info = std::fs::read_to_string(json.with_extension("p4info.txtpb")).map_err(|e| e.to_string())?;
    let config = ForwardingPipelineConfig {
        p4info: Some(p4runtime::p4info::parse_text(&info).map_err(|e| e.to_string())?),
        p4_device_config: std::fs::read(json).map_err(|e| e.to_string())?,
        cookie: None,
    };
    let mut runtime = Runtime::with_pipeline(1, SwitchConfig::default(), config).map_err(said)?;
    let stream = runtime.open_stream();
    let ask = MasterArbitrationUpdate {
        device_id: 1,
        election_id: Some(p4runtime::client::uint128(1)),
        ..MasterArbitrationUpdate::default()
    };
    let ask = stream_message_request::Update::Arbitration(ask);
    runtime.receive(stream, &StreamMessageRequest { update: Some(ask) }).map_err(said)?;
    for is_default_action in [false, true] {
        let filter = entity::Entity::TableEntry(TableEntry { is_default_action, ..TableEntry::default() });
        let request = ReadRequest {
            device_id: 1,
            entities: vec![Entity { entity: Some(filter) }],
            ..ReadRequest::default()
        };
        for found in runtime.read(&request).map_err(said)? {
            let Some(entity::Entity::TableEntry(mut entry)) = found.entity else { continue };
            if !is_default_action && entry.action.is_none() {
                return Err(format!("an entry of table {:#x} has no action", entry.table_id));
            }
            // Its own key finds it: a key that can't be written would be refused as malformed.
            entry.is_const = false;
            let entity = Some(Entity { entity: Some(entity::Entity::TableEntry(entry)) });
            let update = Update { r#type: update::Type::Modify.into(), entity };
            let outcomes = runtime.apply(&[update]).map_err(said)?;
            let code = Code::from(outcomes[0].canonical_code);
            if !matches!(code, Code::Ok | Code::PermissionDenied) {
                return Err(format!("{code:?}: {}", outcomes[0].message));
            }
        }
    }
    Ok(())
}
