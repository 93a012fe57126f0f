//! P4Runtime, Packet I/O: a controller's packet leaves through the port its metadata names.

use p4runtime::bytes::encode;
use p4runtime::p4::v1::{
    PacketMetadata, PacketOut, StreamMessageRequest, stream_message_request, stream_message_response,
};
use p4runtime::status::Code;

use crate::support::{device, index, responses};

fn packet_out(metadata: &[(&str, u128)]) -> StreamMessageRequest {
    let index = index();
    let header = index.controller_headers.find("packet_out").unwrap();
    let metadata = metadata
        .iter()
        .map(|&(name, value)| PacketMetadata {
            metadata_id: header.field(name).unwrap().id,
            value: encode(value),
        })
        .collect();
    // An Ethernet frame of an unknown type, 64 octets.
    let mut payload = vec![0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x88, 0xb5];
    payload.resize(64, 0xaa);
    let packet = PacketOut { payload, metadata };
    StreamMessageRequest { update: Some(stream_message_request::Update::Packet(packet)) }
}

#[test]
fn a_packet_out_leaves_through_its_port_without_the_header() {
    let (mut runtime, stream) = device();
    // Padding may be left out.
    runtime.receive(stream, &packet_out(&[("egress_port", 3)])).unwrap();
    assert!(responses(&mut runtime).is_empty(), "not refused");
    let switch = runtime.switch_mut().unwrap();
    assert_eq!(switch.active_ports().collect::<Vec<_>>(), [3]);
    let at = switch.next_departure(3).unwrap();
    let left = switch.dequeue(3, at).unwrap().packet.unwrap().to_octets();
    assert_eq!((left.len(), &left[12..15]), (64, &[0x88, 0xb5, 0xaa][..]));
}

#[test]
fn a_packet_out_with_wrong_metadata_is_refused_on_the_stream() {
    let (mut runtime, stream) = device();
    for (metadata, code) in [
        (&[("pad", 0)][..], Code::InvalidArgument),
        (&[("egress_port", 512)], Code::OutOfRange),
        (&[("egress_port", 1), ("egress_port", 1)], Code::InvalidArgument),
    ] {
        runtime.receive(stream, &packet_out(metadata)).unwrap();
        let answers = responses(&mut runtime);
        let Some(stream_message_response::Update::Error(error)) = &answers[0].1.update else {
            panic!("not an error: {answers:?}");
        };
        assert_eq!(Code::from(error.canonical_code), code, "{}", error.message);
        assert!(error.details.is_some(), "the packet that was refused");
    }
}
