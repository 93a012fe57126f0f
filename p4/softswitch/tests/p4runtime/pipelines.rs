//! P4Runtime, `SetForwardingPipelineConfig` and `GetForwardingPipelineConfig`.

use p4runtime::bytes::encode;
use p4runtime::client::uint128;
use p4runtime::p4::v1::{
    CloneSessionEntry, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    PacketReplicationEngineEntry, ReadRequest, Replica, SetForwardingPipelineConfigRequest, TableEntry,
    entity::Entity as Kind, get_forwarding_pipeline_config_request::ResponseType,
    packet_replication_engine_entry as pre, replica, set_forwarding_pipeline_config_request::Action,
    update::Type::Insert,
};
use p4runtime::status::Code;
use softswitch::runtime::Runtime;

use crate::support::{DEVICE, arbitrate, config, device, dscp, pipeline, read, read_entries, write};

fn set(runtime: &mut Runtime, action: Action, config: Option<ForwardingPipelineConfig>) -> Result<(), Code> {
    let request = SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        election_id: Some(uint128(1)),
        action: action.into(),
        config,
        ..SetForwardingPipelineConfigRequest::default()
    };
    runtime.set_pipeline(&request).map_err(|status| Code::from(status.code))
}

fn get(runtime: &Runtime, kind: ResponseType) -> Option<ForwardingPipelineConfig> {
    let request = GetForwardingPipelineConfigRequest { device_id: DEVICE, response_type: kind.into() };
    runtime.get_pipeline(&request).unwrap().config
}

fn empty() -> Runtime {
    let mut runtime = Runtime::new(DEVICE, config());
    let stream = runtime.open_stream();
    runtime.receive(stream, &arbitrate(DEVICE, 1)).unwrap();
    runtime
}

#[test]
fn without_pipeline_there_is_nothing_to_read_or_write() {
    let runtime = empty();
    assert_eq!(get(&runtime, ResponseType::All), None);
    let request = ReadRequest { device_id: DEVICE, ..ReadRequest::default() };
    assert_eq!(Code::from(runtime.read(&request).unwrap_err().code), Code::FailedPrecondition);
    assert!(runtime.switch().is_none());
}

#[test]
fn a_response_has_what_was_asked_for() {
    let (runtime, _) = device();
    let whole = pipeline();
    assert_eq!(get(&runtime, ResponseType::All), Some(whole.clone()));
    let cookie = get(&runtime, ResponseType::CookieOnly).unwrap();
    assert_eq!(
        cookie,
        ForwardingPipelineConfig { cookie: whole.cookie, ..ForwardingPipelineConfig::default() }
    );
    let info = get(&runtime, ResponseType::P4infoAndCookie).unwrap();
    assert_eq!((info.p4info.is_some(), info.p4_device_config.len()), (true, 0));
    let program = get(&runtime, ResponseType::DeviceConfigAndCookie).unwrap();
    assert_eq!((program.p4info, program.p4_device_config), (None, whole.p4_device_config));
}

fn session() -> Kind {
    let port = Replica { port_kind: Some(replica::PortKind::Port(encode(510))), instance: 0 };
    let session = CloneSessionEntry { session_id: 1, replicas: vec![port], ..CloneSessionEntry::default() };
    Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
        r#type: Some(pre::Type::CloneSessionEntry(session)),
    })
}

#[test]
fn a_push_clears_entries_and_clone_sessions() {
    let (mut runtime, _) = device();
    write(&mut runtime, Insert, Kind::TableEntry(dscp(1, 1))).unwrap();
    write(&mut runtime, Insert, session()).unwrap();
    set(&mut runtime, Action::VerifyAndCommit, Some(pipeline())).unwrap();
    assert_eq!(read_entries(&runtime, TableEntry::default()), []);
    assert_eq!(read(&runtime, session()), []);
}

#[test]
fn a_reconciliation_keeps_them() {
    let (mut runtime, _) = device();
    write(&mut runtime, Insert, Kind::TableEntry(dscp(1, 1))).unwrap();
    write(&mut runtime, Insert, session()).unwrap();
    set(&mut runtime, Action::ReconcileAndCommit, Some(pipeline())).unwrap();
    assert_eq!(read_entries(&runtime, TableEntry::default()), [dscp(1, 1)]);
    assert_eq!(read(&runtime, session()), [session()]);
}

#[test]
fn a_verification_changes_nothing() {
    let mut runtime = empty();
    set(&mut runtime, Action::Verify, Some(pipeline())).unwrap();
    assert_eq!(get(&runtime, ResponseType::All), None);
}

#[test]
fn what_is_saved_is_seen_by_controllers_at_once_and_by_packets_at_the_commit() {
    let mut runtime = empty();
    assert_eq!(set(&mut runtime, Action::Commit, None), Err(Code::NotFound), "nothing saved");
    set(&mut runtime, Action::VerifyAndSave, Some(pipeline())).unwrap();
    assert!(get(&runtime, ResponseType::All).is_some());
    assert!(runtime.switch().is_none());
    write(&mut runtime, Insert, Kind::TableEntry(dscp(1, 1))).unwrap();
    set(&mut runtime, Action::Commit, None).unwrap();
    assert!(runtime.switch().is_some());
    assert_eq!(read_entries(&runtime, TableEntry::default()), [dscp(1, 1)], "written since the save");
    assert_eq!(set(&mut runtime, Action::Commit, None), Err(Code::NotFound), "already taken up");
}

#[test]
fn bad_programs_leave_the_old_one() {
    let (mut runtime, _) = device();
    write(&mut runtime, Insert, Kind::TableEntry(dscp(1, 1))).unwrap();
    let whole = pipeline();
    let mut renamed = whole.clone();
    renamed.p4info.as_mut().unwrap().tables[0].preamble.as_mut().unwrap().name = "elsewhere".to_owned();
    let bad = [
        None,
        Some(ForwardingPipelineConfig { p4info: None, ..whole.clone() }),
        Some(ForwardingPipelineConfig { p4_device_config: Vec::new(), ..whole.clone() }),
        Some(ForwardingPipelineConfig { p4_device_config: whole.p4_device_config[..1000].to_vec(), ..whole }),
        Some(renamed),
    ];
    for config in bad {
        assert_eq!(set(&mut runtime, Action::VerifyAndCommit, config), Err(Code::InvalidArgument));
    }
    assert_eq!(set(&mut runtime, Action::Unspecified, Some(pipeline())), Err(Code::InvalidArgument));
    assert_eq!(set(&mut runtime, Action::Commit, Some(pipeline())), Err(Code::InvalidArgument));
    assert_eq!(read_entries(&runtime, TableEntry::default()), [dscp(1, 1)]);
}
