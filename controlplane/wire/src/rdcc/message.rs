//! Any message: the ten Types as one enumeration, and the checks common to them.

use super::codes::MessageType;
use super::decode_error::DecodeError;
use super::header::{HEADER_OCTETS, Header, RawHeader, VERSION};
use super::{
    AssocAccept, AssocRequest, Cancel, CongestionReport, CreditGrant, CreditRequest, CreditReturn,
    ErrorMessage, MsgDone, SenderStatus,
};
use crate::octets::Reader;

/// The body of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Type 0x01.
    AssocRequest(AssocRequest),
    /// Type 0x02.
    AssocAccept(AssocAccept),
    /// Type 0x03.
    CreditRequest(CreditRequest),
    /// Type 0x04.
    CreditGrant(CreditGrant),
    /// Type 0x05.
    SenderStatus(SenderStatus),
    /// Type 0x06.
    CongestionReport(CongestionReport),
    /// Type 0x07.
    MsgDone(MsgDone),
    /// Type 0x08.
    Cancel(Cancel),
    /// Type 0x09.
    CreditReturn(CreditReturn),
    /// Type 0x0A.
    Error(ErrorMessage),
}

impl Message {
    /// The Type of this message.
    pub const fn message_type(&self) -> MessageType {
        match self {
            Self::AssocRequest(_) => MessageType::ASSOC_REQUEST,
            Self::AssocAccept(_) => MessageType::ASSOC_ACCEPT,
            Self::CreditRequest(_) => MessageType::CREDIT_REQUEST,
            Self::CreditGrant(_) => MessageType::CREDIT_GRANT,
            Self::SenderStatus(_) => MessageType::SENDER_STATUS,
            Self::CongestionReport(_) => MessageType::CONGESTION_REPORT,
            Self::MsgDone(_) => MessageType::MSG_DONE,
            Self::Cancel(_) => MessageType::CANCEL,
            Self::CreditReturn(_) => MessageType::CREDIT_RETURN,
            Self::Error(_) => MessageType::ERROR,
        }
    }

    /// The Length of this message: octets with the header.
    #[expect(clippy::len_without_is_empty, reason = "no message is empty")]
    pub const fn len(&self) -> u16 {
        match self {
            Self::AssocRequest(_) | Self::AssocAccept(_) => 48,
            Self::CreditRequest(_) => 56,
            Self::CreditGrant(_) => 40,
            Self::SenderStatus(_) | Self::MsgDone(_) | Self::CreditReturn(_) => 32,
            Self::CongestionReport(report) => report.message_length(),
            Self::Cancel(_) | Self::Error(_) => 28,
        }
    }

    /// Appends the whole message, `header` first, to `out`.
    pub fn encode(&self, header: &Header, out: &mut Vec<u8>) {
        out.reserve(usize::from(self.len()));
        let message_type = self.message_type();
        RawHeader { version: VERSION, message_type, length: self.len(), header: *header }.encode(out);
        match self {
            Self::AssocRequest(body) => body.encode(out),
            Self::AssocAccept(body) => body.encode(out),
            Self::CreditRequest(body) => body.encode(out),
            Self::CreditGrant(body) => body.encode(out),
            Self::SenderStatus(body) => body.encode(out),
            Self::CongestionReport(body) => body.encode(out),
            Self::MsgDone(body) => body.encode(out),
            Self::Cancel(body) => body.encode(out),
            Self::CreditReturn(body) => body.encode(out),
            Self::Error(body) => body.encode(out),
        }
    }

    /// The whole message in a buffer of its own.
    pub fn to_octets(&self, header: &Header) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(header, &mut out);
        out
    }
}

/// Decodes the payload of a UDP datagram that came to the RDCC port.
///
/// # Errors
/// [`DecodeError`] for every datagram that RDCC, Error Handling and Recovery has discarded; see the module's page for
/// what is tolerated. A `CONGESTION_REPORT` with an AF that doesn't exist or doesn't fit its Length is refused too.
pub fn decode(octets: &[u8]) -> Result<(Header, Message), DecodeError> {
    let raw = RawHeader::decode(octets)?;
    if raw.version != VERSION {
        return Err(DecodeError::UnknownVersion { version: raw.version });
    }
    let unknown_type = DecodeError::UnknownType {
        message_type: raw.message_type.0,
        association_id: raw.header.association_id,
    };
    let minimum = raw.message_type.minimum_length().ok_or(unknown_type)?;
    if raw.length < minimum {
        return Err(DecodeError::LengthTooSmall {
            message_type: raw.message_type,
            length: raw.length,
            minimum,
        });
    }
    let Some(whole) = octets.get(..usize::from(raw.length)) else {
        return Err(DecodeError::LengthBeyondDatagram { length: raw.length, available: octets.len() });
    };
    let mut reader = Reader::new(whole);
    reader.skip::<HEADER_OCTETS>()?;
    let body = &mut reader;
    let message = match raw.message_type {
        MessageType::ASSOC_REQUEST => Message::AssocRequest(AssocRequest::decode(body)?),
        MessageType::ASSOC_ACCEPT => Message::AssocAccept(AssocAccept::decode(body)?),
        MessageType::CREDIT_REQUEST => Message::CreditRequest(CreditRequest::decode(body)?),
        MessageType::CREDIT_GRANT => Message::CreditGrant(CreditGrant::decode(body)?),
        MessageType::SENDER_STATUS => Message::SenderStatus(SenderStatus::decode(body)?),
        MessageType::CONGESTION_REPORT => {
            Message::CongestionReport(CongestionReport::decode(body, raw.length)?)
        }
        MessageType::MSG_DONE => Message::MsgDone(MsgDone::decode(body)?),
        MessageType::CANCEL => Message::Cancel(Cancel::decode(body)?),
        MessageType::CREDIT_RETURN => Message::CreditReturn(CreditReturn::decode(body)?),
        MessageType::ERROR => Message::Error(ErrorMessage::decode(body)?),
        _ => return Err(unknown_type),
    };
    Ok((raw.header, message))
}
