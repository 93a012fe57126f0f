//! Any message: the nine Types as one enumeration, and the checks common to them.

use super::codes::{Flags, MessageType};
use super::decode_error::DecodeError;
use super::header::{HEADER_OCTETS, Header, RawHeader, VERSION};
use super::{Close, Hello, HelloAck, LossReport, ParamAck, ParamUpdate, PathReport, Repair, RepairRequest};
use crate::octets::Reader;

/// The body of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message<'a> {
    /// Type 1.
    Repair(Repair<'a>),
    /// Type 2.
    Hello(Hello),
    /// Type 3.
    HelloAck(HelloAck),
    /// Type 4.
    ParamUpdate(ParamUpdate),
    /// Type 5.
    ParamAck(ParamAck),
    /// Type 6.
    RepairRequest(RepairRequest),
    /// Type 7.
    LossReport(LossReport),
    /// Type 8.
    PathReport(PathReport),
    /// Type 9.
    Close(Close),
}

impl Message<'_> {
    /// The Type of this message.
    pub const fn message_type(&self) -> MessageType {
        match self {
            Self::Repair(_) => MessageType::REPAIR,
            Self::Hello(_) => MessageType::HELLO,
            Self::HelloAck(_) => MessageType::HELLO_ACK,
            Self::ParamUpdate(_) => MessageType::PARAM_UPDATE,
            Self::ParamAck(_) => MessageType::PARAM_ACK,
            Self::RepairRequest(_) => MessageType::REPAIR_REQUEST,
            Self::LossReport(_) => MessageType::LOSS_REPORT,
            Self::PathReport(_) => MessageType::PATH_REPORT,
            Self::Close(_) => MessageType::CLOSE,
        }
    }

    /// The Length of this message: octets with the header. A symbol or a list of ranges that makes it larger than 65535
    /// has no encoding.
    #[expect(clippy::len_without_is_empty, reason = "no message is empty")]
    pub fn len(&self) -> usize {
        match self {
            Self::Repair(repair) => repair.len(),
            Self::Hello(hello) => hello.len().into(),
            Self::HelloAck(_) => 32,
            Self::ParamUpdate(_) => 20,
            Self::ParamAck(_) | Self::Close(_) => 12,
            Self::RepairRequest(request) => request.len(),
            Self::LossReport(_) => 40,
            Self::PathReport(report) => report.len(),
        }
    }

    /// The flags as they go out: those that decide the form follow from the message.
    const fn flags(&self, flags: Flags) -> Flags {
        match self {
            Self::Repair(repair) => repair.flags(flags),
            Self::RepairRequest(request) => request.flags(flags),
            _ => flags,
        }
    }

    /// Appends the whole message, `header` first, to `out`.
    pub fn encode(&self, header: &Header, out: &mut Vec<u8>) {
        out.reserve(self.len());
        RawHeader {
            version: VERSION,
            message_type: self.message_type(),
            length: u16::try_from(self.len()).unwrap_or(u16::MAX),
            header: Header { flags: self.flags(header.flags), ..*header },
        }
        .encode(out);
        match self {
            Self::Repair(body) => body.encode(out),
            Self::Hello(body) => body.encode(out),
            Self::HelloAck(body) => body.encode(out),
            Self::ParamUpdate(body) => body.encode(out),
            Self::ParamAck(body) => body.encode(out),
            Self::RepairRequest(body) => body.encode(out),
            Self::LossReport(body) => body.encode(out),
            Self::PathReport(body) => body.encode(out),
            Self::Close(body) => body.encode(out),
        }
    }

    /// The whole message in a buffer of its own.
    pub fn to_octets(&self, header: &Header) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(header, &mut out);
        out
    }
}

//= CREM, Message Formats: f53de362
/// Decodes the payload of a UDP datagram that came to the CREM port.
///
/// # Errors
/// [`DecodeError`] for every datagram that is to be discarded; the module's page says what is tolerated.
pub fn decode(octets: &[u8]) -> Result<(Header, Message<'_>), DecodeError> {
    let raw = RawHeader::decode(octets)?;
    if raw.version != VERSION {
        return Err(DecodeError::UnknownVersion { version: raw.version });
    }
    let unknown_type = DecodeError::UnknownType { message_type: raw.message_type.0 };
    let minimum = raw.message_type.minimum_length().ok_or(unknown_type)?;
    let RawHeader { message_type, length, header, .. } = raw;
    if length < minimum {
        return Err(DecodeError::LengthTooSmall { message_type, length, minimum });
    }
    let Some(whole) = octets.get(..usize::from(length)) else {
        return Err(DecodeError::LengthBeyondDatagram { length, available: octets.len() });
    };
    let mut reader = Reader::new(whole);
    reader.skip::<HEADER_OCTETS>()?;
    let body = &mut reader;
    let message = match message_type {
        MessageType::REPAIR => Message::Repair(Repair::decode(whole, body, header.flags)?),
        MessageType::HELLO => Message::Hello(Hello::decode(body)?),
        MessageType::HELLO_ACK => Message::HelloAck(HelloAck::decode(body)?),
        MessageType::PARAM_UPDATE => Message::ParamUpdate(ParamUpdate::decode(body)?),
        MessageType::PARAM_ACK => Message::ParamAck(ParamAck::decode(body)?),
        MessageType::REPAIR_REQUEST => {
            Message::RepairRequest(RepairRequest::decode(body, length, header.flags)?)
        }
        MessageType::LOSS_REPORT => Message::LossReport(LossReport::decode(body)?),
        MessageType::PATH_REPORT => Message::PathReport(PathReport::decode(body, length)?),
        MessageType::CLOSE => Message::Close(Close::decode(body)?),
        _ => return Err(unknown_type),
    };
    Ok((header, message))
}
