//! p4c's own samples: P4Info and JSON of each belong together, and what the program brings reads back.

use p4runtime::p4::v1::{
    Entity, ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest, StreamMessageRequest, TableEntry,
    Update, entity, stream_message_request, update,
};
use p4runtime::status::Code;
use softswitch::SwitchConfig;
use softswitch::runtime::Runtime;

use crate::support::repository;

#[test]
fn every_sample_binds_and_its_entries_read_back() {
    let folder = repository().join("../shared/conformance");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: {} isn't there", folder.display());
        return;
    };
    let mut programs: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    programs.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    programs.sort();
    let mut failed = Vec::new();
    for json in &programs {
        let info = std::fs::read_to_string(json.with_extension("p4info.txtpb")).unwrap();
        let info = p4runtime::p4info::parse_text(&info).unwrap();
        let config = ForwardingPipelineConfig {
            p4info: Some(info),
            p4_device_config: std::fs::read(json).unwrap(),
            cookie: None,
        };
        let name = json.file_name().unwrap().to_string_lossy().into_owned();
        match Runtime::with_pipeline(1, SwitchConfig::default(), config) {
            Ok(runtime) => check(&name, runtime, &mut failed),
            Err(status) => failed.push(format!("{name}: {}", status.message)),
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), programs.len(), failed.join("\n"));
}

fn check(name: &str, mut runtime: Runtime, failed: &mut Vec<String>) {
    let stream = runtime.open_stream();
    let ask = MasterArbitrationUpdate {
        device_id: 1,
        election_id: Some(p4runtime::client::uint128(1)),
        ..MasterArbitrationUpdate::default()
    };
    let ask = stream_message_request::Update::Arbitration(ask);
    runtime.receive(stream, &StreamMessageRequest { update: Some(ask) }).unwrap();
    for is_default_action in [false, true] {
        let filter = entity::Entity::TableEntry(TableEntry { is_default_action, ..TableEntry::default() });
        let request = ReadRequest {
            device_id: 1,
            entities: vec![Entity { entity: Some(filter) }],
            ..ReadRequest::default()
        };
        for found in runtime.read(&request).unwrap() {
            let Some(entity::Entity::TableEntry(mut entry)) = found.entity else { continue };
            if !is_default_action && entry.action.is_none() {
                failed.push(format!("{name}: an entry of table {:#x} has no action", entry.table_id));
            }
            // Its own key finds it: a key that can't be written would be refused as malformed.
            entry.is_const = false;
            let entity = Some(Entity { entity: Some(entity::Entity::TableEntry(entry)) });
            let outcomes = runtime.apply(&[Update { r#type: update::Type::Modify.into(), entity }]).unwrap();
            let code = Code::from(outcomes[0].canonical_code);
            if !matches!(code, Code::Ok | Code::PermissionDenied) {
                failed.push(format!("{name}: {code:?}: {}", outcomes[0].message));
            }
        }
    }
}
