//! CREM messages as lists of fields.

use super::{Description, Field, Value};
use crate::crem::{
    Bitmap, DecodeError, Flags, Hello, HelloAck, HopEntry, LossReport, Message, PathReport, RawHeader,
    Repair, RepairRequest, Schemes, decode,
};

/// Decodes the payload of a datagram to the CREM port and lists its fields.
///
/// # Errors
/// As [`decode`].
pub fn crem(octets: &[u8]) -> Result<Description, DecodeError> {
    let (_, message) = decode(octets)?;
    Ok(crem_message(&RawHeader::decode(octets)?, &message))
}

/// Lists the fields of a message: those of the header as it came, then those of the body.
pub fn crem_message(header: &RawHeader, message: &Message<'_>) -> Description {
    let mut fields = vec![
        Field::integer("version", header.version),
        Field::code("type", header.message_type.0, header.message_type.name()),
        Field::bits("flags", header.header.flags.0.into(), flag_names(message)),
        Field::integer("length", header.length).meaning("octets"),
        Field::integer("flow_id", header.header.flow_id.0)
            .meaning(format!("{:#010x}", header.header.flow_id.0)),
    ];
    match message {
        Message::Repair(body) => repair(body, &mut fields),
        Message::Hello(body) => hello(body, &mut fields),
        Message::HelloAck(body) => hello_ack(body, &mut fields),
        Message::ParamUpdate(body) => fields.extend([
            Field::integer("config_id", body.config_id),
            Field::code("scheme", body.scheme.0, body.scheme.name()),
            Field::integer("k", body.k),
            Field::integer("m", body.m),
            Field::integer("symbol_length", body.t).meaning("octets"),
            Field::integer("effective_psn", body.effective_psn.value()),
        ]),
        Message::ParamAck(body) => fields.extend([
            Field::integer("config_id", body.config_id),
            Field::code("status", body.status.0, body.status.name()),
        ]),
        Message::RepairRequest(body) => repair_request(body, &mut fields),
        Message::LossReport(body) => loss_report(body, &mut fields),
        Message::PathReport(body) => path_report(body, &mut fields),
        Message::Close(body) => {
            fields.push(Field::code("reason", body.reason.0, body.reason.name()));
        }
    }
    Description { message: message.message_type().name().unwrap_or_default(), fields }
}

fn repair(body: &Repair<'_>, fields: &mut Vec<Field>) {
    fields.extend([
        Field::integer("config_id", body.config_id),
        Field::code("scheme", body.scheme.0, body.scheme.name()),
        Field::integer("k", body.k),
        Field::integer("repair_index", body.index),
        Field::integer("block_start_psn", body.block_start.value()),
        Field::integer("repair_session_id", body.session_id),
        Field::integer("symbol_length", body.symbol.len() as u64).meaning("octets"),
        bitmap("present_bitmap", body.present, body.k),
    ]);
    fields.extend(body.lost.map(|lost| bitmap("lost_source_bitmap", lost, body.k)));
    if !body.symbol.is_empty() {
        fields.push(octets("repair_symbol", body.symbol));
    }
}

fn hello(body: &Hello, fields: &mut Vec<Field>) {
    fields.extend([
        Field::code("flow_kind", body.flow_kind.0, body.flow_kind.name()),
        Field::integer("af", body.flow.af()),
        schemes(body.schemes),
        Field::integer("max_k", body.max_k),
        Field::integer("max_m", body.max_m),
        Field::integer("max_t", body.max_t).meaning("octets"),
        Field::integer("rdma_mtu", body.rdma_mtu).meaning("octets"),
        Field::integer("sender_nonce", body.nonce).meaning(format!("{:#018x}", body.nonce)),
        Field::address("source_address", body.flow.source()),
        Field::address("destination_address", body.flow.destination()),
        flow_label(body.flow_label, body.destination_qp()),
    ]);
}

fn hello_ack(body: &HelloAck, fields: &mut Vec<Field>) {
    fields.extend([
        Field::code("flow_kind", body.flow_kind.0, body.flow_kind.name()),
        Field::integer("af", body.af),
        schemes(body.schemes),
        Field::integer("max_k", body.max_k),
        Field::integer("max_m", body.max_m),
        Field::integer("max_t", body.max_t).meaning("octets"),
        Field::integer("rdma_mtu", body.rdma_mtu).meaning("octets"),
        Field::integer("sender_nonce", body.nonce).meaning(format!("{:#018x}", body.nonce)),
        Field::integer("max_open_blocks", body.max_open_blocks),
    ]);
}

fn repair_request(body: &RepairRequest, fields: &mut Vec<Field>) {
    match body {
        RepairRequest::Block(body) => fields.extend([
            Field::integer("config_id", body.config_id),
            Field::code("scheme", body.scheme.0, body.scheme.name()),
            Field::integer("k", body.k),
            Field::integer("repairs_held", body.repairs_held),
            Field::integer("block_start_psn", body.block_start.value()),
            Field::integer("suggested_m", body.suggested),
            Field::integer("request_id", body.request_id),
            bitmap("lost_source_bitmap", body.lost, body.k),
        ]),
        RepairRequest::Ranges(body) => {
            let ranges = body.ranges.iter().map(|range| {
                vec![Field::integer("start_psn", range.start.value()), Field::integer("count", range.count)]
            });
            fields.extend([
                Field::integer("request_id", body.request_id),
                Field::integer("range_count", body.ranges.len() as u64),
                groups("ranges", ranges.collect()),
            ]);
        }
    }
}

fn loss_report(body: &LossReport, fields: &mut Vec<Field>) {
    fields.extend([
        Field::integer("interval", body.interval.0).meaning("us"),
        Field::integer("expected", body.expected),
        Field::integer("received", body.received),
        Field::integer("restored", body.restored),
        Field::integer("incomplete_blocks", body.incomplete_blocks),
        Field::integer("ce_marked", body.ce_marked),
        Field::integer("repairs_received", body.repairs_received),
        Field::integer("repairs_ce_marked", body.repairs_ce_marked),
    ]);
}

fn path_report(body: &PathReport, fields: &mut Vec<Field>) {
    fields.extend([
        Field::code("method", body.method.0, body.method.name()),
        Field::integer("entry_count", body.entries.len() as u64),
        Field::integer("af", body.flow.af()),
        Field::address("source_address", body.flow.source()),
        Field::address("destination_address", body.flow.destination()),
        flow_label(body.flow_label, body.destination_qp()),
        groups("hop_entries", body.entries.iter().map(hop_entry).collect()),
    ]);
}

fn hop_entry(entry: &HopEntry) -> Vec<Field> {
    let delay_change = Value::Signed(entry.delay_change.into());
    let psns = entry.psns.iter().map(|psn| psn.value().into()).collect();
    vec![
        Field::integer("node_id", entry.node_id),
        Field::integer("marking_period_number", entry.period),
        Field::integer("lost_count", entry.lost),
        Field { name: "queue_delay_change", value: delay_change, meaning: Some("us".to_owned()) },
        Field::code("cause", entry.cause.0, entry.cause.name()),
        Field::integer("psn_count", entry.psns.len() as u64),
        Field { name: "dropped_psns", value: Value::Integers(psns), meaning: None },
    ]
}

fn groups(name: &'static str, groups: Vec<Vec<Field>>) -> Field {
    Field { name, value: Value::Groups(groups), meaning: None }
}

fn octets(name: &'static str, octets: &[u8]) -> Field {
    Field { name, value: Value::Octets(octets.to_vec()), meaning: None }
}

fn bitmap(name: &'static str, bitmap: Bitmap, k: u8) -> Field {
    let positions: Vec<_> = bitmap.iter().map(|position| position.to_string()).collect();
    let meaning = if bitmap.len() == usize::from(k) {
        "all positions".to_owned()
    } else if positions.is_empty() {
        "no position".to_owned()
    } else {
        format!("positions {}", positions.join(" "))
    };
    octets(name, &bitmap.to_octets(k)).meaning(meaning)
}

fn schemes(value: Schemes) -> Field {
    Field::bits("supported_schemes", value.0.into(), &[(1, "Source Copy"), (2, "Cauchy"), (4, "XOR")])
}

fn flow_label(label: u32, destination_qp: u32) -> Field {
    Field::integer("flow_label", label).meaning(format!("destination QP {destination_qp:#08x}"))
}

const REPAIR_FLAGS: &[(u32, &str)] =
    &[(Flags::RETX.0 as u32, "RETX"), (Flags::LAST.0 as u32, "LAST"), (Flags::INFO.0 as u32, "INFO")];
const REQUEST_FLAGS: &[(u32, &str)] =
    &[(Flags::RANGES.0 as u32, "RANGES"), (Flags::FALLBACK.0 as u32, "FALLBACK")];
const PATH_REPORT_FLAGS: &[(u32, &str)] = &[(Flags::TRUNCATED.0 as u32, "Truncated")];

/// The flags that the Type of `message` defines.
fn flag_names(message: &Message<'_>) -> &'static [(u32, &'static str)] {
    match message {
        Message::Repair(_) => REPAIR_FLAGS,
        Message::RepairRequest(_) => REQUEST_FLAGS,
        Message::PathReport(_) => PATH_REPORT_FLAGS,
        _ => &[],
    }
}
