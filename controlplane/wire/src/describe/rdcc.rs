//! RDCC messages as lists of fields.

use super::{Description, Field};
use crate::rdcc::{
    AssocAccept, AssocRequest, Capabilities, CongestionReport, CreditRequest, DecodeError, Flags, Message,
    RawHeader, Reason, SenderStatus, ServiceHint, decode,
};
use crate::units::{MbitPerSec, Micros, Octets, Octets32};

/// Decodes the payload of a datagram to the RDCC port and lists its fields.
///
/// # Errors
/// As [`decode`].
pub fn rdcc(octets: &[u8]) -> Result<Description, DecodeError> {
    let (_, message) = decode(octets)?;
    Ok(rdcc_message(&RawHeader::decode(octets)?, &message))
}

/// Lists the fields of a message: those of the header as it came, then those of the body.
pub fn rdcc_message(header: &RawHeader, message: &Message) -> Description {
    let mut fields = vec![
        Field::integer("version", header.version),
        Field::code("type", header.message_type.0, header.message_type.name()),
        Field::integer("length", header.length).meaning("octets"),
        Field::integer("association_id", header.header.association_id.0)
            .meaning(format!("{:#010x}", header.header.association_id.0)),
        Field::integer("epoch", header.header.epoch.0),
        Field::bits("flags", header.header.flags.0.into(), flag_names(message)),
        Field::integer("sequence_number", header.header.sequence_number.0),
    ];
    match message {
        Message::AssocRequest(body) => assoc_request(body, &mut fields),
        Message::AssocAccept(body) => assoc_accept(body, &mut fields),
        Message::CreditRequest(body) => credit_request(body, &mut fields),
        Message::CreditGrant(body) => fields.extend([
            Field::integer("message_id", body.message_id.0),
            octets("grant_limit", body.grant_limit),
            rate("pacing_rate", body.pacing_rate),
            micros("lifetime", body.lifetime),
        ]),
        Message::SenderStatus(body) => sender_status(body, &mut fields),
        Message::CongestionReport(body) => congestion_report(body, &mut fields),
        Message::MsgDone(body) => fields.extend([
            Field::integer("message_id", body.message_id.0),
            octets("octets_received", body.octets_received),
        ]),
        Message::Cancel(body) => {
            fields.extend([Field::integer("message_id", body.message_id.0), reason(body.reason)]);
        }
        Message::CreditReturn(body) => fields
            .extend([Field::integer("message_id", body.message_id.0), octets("new_limit", body.new_limit)]),
        Message::Error(body) => {
            fields.extend([reason(body.reason), Field::integer("message_id", body.message_id.0)]);
        }
    }
    Description { message: message.message_type().name().unwrap_or_default(), fields }
}

fn assoc_request(body: &AssocRequest, fields: &mut Vec<Field>) {
    fields.extend([
        Field::integer("sender_nonce", body.sender_nonce).meaning(format!("{:#018x}", body.sender_nonce)),
        capabilities(body.capabilities),
        rate("line_rate", body.line_rate),
    ]);
}

fn assoc_accept(body: &AssocAccept, fields: &mut Vec<Field>) {
    fields.extend([
        Field::integer("sender_nonce", body.sender_nonce).meaning(format!("{:#018x}", body.sender_nonce)),
        capabilities(body.capabilities),
        octets32("unscheduled_limit", body.unscheduled_limit),
        micros("start_jitter", body.start_jitter),
        octets32("backlog_threshold", body.backlog_threshold),
        micros("grant_lifetime", body.grant_lifetime),
        octets32("credit_unit", body.credit_unit),
    ]);
}

fn credit_request(body: &CreditRequest, fields: &mut Vec<Field>) {
    let as_treated = |raw: u8, treated: u8| (raw != treated).then(|| format!("treated as {treated}"));
    let binding_value = Field::integer("binding_value", body.binding_value);
    fields.extend([
        Field::integer("message_id", body.message_id.0),
        octets("message_length", body.message_length),
        octets("unscheduled_sent", body.unscheduled_sent),
        Field {
            meaning: as_treated(body.class.0, body.class.value()),
            ..Field::integer("class", body.class.0)
        },
        Field {
            meaning: as_treated(body.weight.0, body.weight.value()),
            ..Field::integer("weight", body.weight.0)
        },
        service_hint(body.service_hint),
        Field::code("binding_kind", body.binding_kind.0, body.binding_kind.name()),
        micros("deadline", body.deadline),
        match body.roce_binding() {
            Some(binding) => binding_value.meaning(format!(
                "destination QP {:#08x}, first MSN {}, {} RDMA messages",
                binding.destination_qp, binding.first_msn, binding.rdma_messages
            )),
            None => binding_value.meaning(format!("{:#018x}", body.binding_value)),
        },
    ]);
}

fn sender_status(body: &SenderStatus, fields: &mut Vec<Field>) {
    fields.extend([
        octets("unused_credit", body.unused_credit),
        Field::integer("congestion_level", body.congestion_level),
        service_hint(body.service_hint),
        rate("suggested_rate", body.suggested_rate),
    ]);
}

fn congestion_report(body: &CongestionReport, fields: &mut Vec<Field>) {
    let family = if body.flow.source().is_ipv4() { "IPv4" } else { "IPv6" };
    fields.extend([
        Field::integer("reporter_id", body.reporter_id),
        octets32("queue_depth", body.queue_depth),
        octets32("queue_threshold", body.queue_threshold),
        Field::integer("congestion_degree", body.congestion_degree),
        Field::code("direction", body.direction.0, body.direction.name()),
        Field::integer("af", body.flow.af()).meaning(family),
        Field::integer("protocol", body.protocol),
        Field::integer("source_port", body.source_port),
        Field::integer("destination_port", body.destination_port),
        rate("suggested_rate", body.suggested_rate),
        Field::address("source_address", body.flow.source()),
        Field::address("destination_address", body.flow.destination()),
    ]);
}

fn octets(name: &'static str, value: Octets) -> Field {
    Field::integer(name, value.0).meaning("octets")
}

fn octets32(name: &'static str, value: Octets32) -> Field {
    octets(name, value.into())
}

fn rate(name: &'static str, value: MbitPerSec) -> Field {
    Field::integer(name, value.0).meaning("Mbit/s")
}

fn micros(name: &'static str, value: Micros) -> Field {
    Field::integer(name, value.0).meaning("us")
}

fn reason(value: Reason) -> Field {
    Field::code("reason", value.0, value.name())
}

fn service_hint(value: ServiceHint) -> Field {
    Field::code("service_hint", value.0, value.name())
}

fn capabilities(value: Capabilities) -> Field {
    let known =
        [(Capabilities::POOL.0, "POOL"), (Capabilities::STATUS.0, "STATUS"), (Capabilities::CRN.0, "CRN")];
    Field::bits("capabilities", value.0, &known)
}

const ASSOC_REQUEST_FLAGS: &[(u32, &str)] =
    &[(Flags::UPDATE_ACKNOWLEDGMENT.0 as u32, "Update Acknowledgment")];
const ASSOC_ACCEPT_FLAGS: &[(u32, &str)] = &[(Flags::PARAMETER_UPDATE.0 as u32, "Parameter Update")];
const CREDIT_GRANT_FLAGS: &[(u32, &str)] =
    &[(Flags::POOL.0 as u32, "POOL"), (Flags::FINAL.0 as u32, "FINAL")];

/// The flags that the Type of `message` defines.
fn flag_names(message: &Message) -> &'static [(u32, &'static str)] {
    match message {
        Message::AssocRequest(_) => ASSOC_REQUEST_FLAGS,
        Message::AssocAccept(_) => ASSOC_ACCEPT_FLAGS,
        Message::CreditGrant(_) => CREDIT_GRANT_FLAGS,
        _ => &[],
    }
}
