//! The ten messages of RDCC and their common header.
//!
//! One UDP datagram carries one message (RDCC, Message Formats). [`decode`] takes the UDP payload and gives the
//! [`Header`] and the [`Message`]; [`Message::encode`] appends the octets of both to a buffer. Codes and flags
//! that this crate doesn't know are kept as they came: a newtype over the field, with the known values as constants.
//!
//! What is accepted, per RDCC, Error Handling and Recovery, and what of it is our reading:
//! - Length smaller than the size of the Type, or larger than the UDP payload: refused.
//! - Length larger than the size of the Type and within the payload: accepted, the octets past the known fields are
//!   ignored. A later revision can append fields, and the document names only the two cases above for discarding.
//! - `CONGESTION_REPORT` gives Length 48 to AF 4 and Length 72 to AF 6. A report whose Length is that of the other
//!   family contradicts itself and is refused; any other larger Length is accepted as above.
//! - Octets of the payload behind Length: ignored, and neither shown nor re-encoded.
//! - Reserved fields: ignored on receipt, zero on transmission. Undefined flags: ignored by everybody, but kept.
//!
//! Rules about values (a Pacing Rate of zero, a Message ID of zero) belong to the endpoint machines, which must also
//! decide what to do; the codec reports what stands there.

mod assoc_accept;
mod assoc_request;
mod cancel;
mod codes;
mod congestion_report;
mod credit_grant;
mod credit_request;
mod credit_return;
mod decode_error;
mod error;
mod header;
mod message;
mod msg_done;
mod sender_status;

pub use crate::addresses::{AF_IPV4, AF_IPV6, FlowAddresses};
pub use assoc_accept::AssocAccept;
pub use assoc_request::AssocRequest;
pub use cancel::Cancel;
pub use codes::{
    AssociationId, BindingKind, Capabilities, Direction, Epoch, Flags, MessageId, MessageType, Reason,
    SequenceNumber, ServiceHint, TrafficClass, Weight,
};
pub use congestion_report::CongestionReport;
pub use credit_grant::CreditGrant;
pub use credit_request::{CreditRequest, RoceBinding};
pub use credit_return::CreditReturn;
pub use decode_error::DecodeError;
pub use error::ErrorMessage;
pub use header::{HEADER_OCTETS, Header, RawHeader, VERSION};
pub use message::{Message, decode};
pub use msg_done::MsgDone;
pub use sender_status::SenderStatus;
