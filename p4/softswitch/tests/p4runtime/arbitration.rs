//! P4Runtime, Client Arbitration: what a device does with its clients' ranks.

use p4runtime::client::uint128;
use p4runtime::p4::v1::{
    PacketOut, StreamMessageRequest, WriteRequest, entity, stream_message_request, stream_message_response,
    update,
};
use p4runtime::status::Code;
use softswitch::runtime::Runtime;

use crate::support::{DEVICE, arbitrate, config, device, dscp, pipeline, responses, update};

fn request(election_id: Option<u128>) -> WriteRequest {
    WriteRequest {
        device_id: DEVICE,
        election_id: election_id.map(uint128),
        updates: vec![update(update::Type::Insert, entity::Entity::TableEntry(dscp(8, 1)))],
        ..WriteRequest::default()
    }
}

#[test]
fn only_the_primary_writes() {
    let mut runtime = Runtime::with_pipeline(DEVICE, config(), pipeline()).unwrap();
    let before = runtime.write(&request(Some(1))).unwrap_err();
    assert_eq!(Code::from(before.code), Code::PermissionDenied, "no stream yet: {}", before.message);
    let (a, b) = (runtime.open_stream(), runtime.open_stream());
    runtime.receive(a, &arbitrate(DEVICE, 1)).unwrap();
    runtime.receive(b, &arbitrate(DEVICE, 1 << 64)).unwrap();
    let lower = runtime.write(&request(Some(1))).unwrap_err();
    assert_eq!(Code::from(lower.code), Code::PermissionDenied);
    assert_eq!(Code::from(runtime.write(&request(None)).unwrap_err().code), Code::PermissionDenied);
    runtime.write(&request(Some(1 << 64))).unwrap();
    runtime.close_stream(b);
    let gone = runtime.write(&request(Some(1 << 64))).unwrap_err();
    assert_eq!(Code::from(gone.code), Code::PermissionDenied, "a primary without stream is none");
}

#[test]
fn a_wrong_device_id_is_answered_with_both_ids() {
    let (mut runtime, _) = device();
    let status = runtime.write(&WriteRequest { device_id: 99, ..request(Some(1)) }).unwrap_err();
    assert_eq!(Code::from(status.code), Code::NotFound);
    assert!(status.message.contains("99") && status.message.contains('7'), "{}", status.message);
}

#[test]
fn a_backups_packet_is_refused_on_its_stream() {
    let (mut runtime, _) = device();
    let backup = runtime.open_stream();
    runtime.receive(backup, &arbitrate(DEVICE, 0)).unwrap();
    responses(&mut runtime);
    let packet = stream_message_request::Update::Packet(PacketOut::default());
    runtime.receive(backup, &StreamMessageRequest { update: Some(packet) }).unwrap();
    let answers = responses(&mut runtime);
    let Some(stream_message_response::Update::Error(error)) = &answers[0].1.update else {
        panic!("not an error: {answers:?}");
    };
    assert_eq!((answers[0].0, Code::from(error.canonical_code)), (backup, Code::PermissionDenied));
}
