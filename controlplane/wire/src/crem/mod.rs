//! The nine messages of CREM and their common header.
//!
//! One UDP datagram carries one message (CREM, Message Formats). [`decode`] takes the UDP payload and gives the
//! [`Header`] and the [`Message`]; a `REPAIR`'s symbol is borrowed from the payload, not copied. Codes and flags that
//! this crate doesn't know are kept as they came: a newtype over the field, with the known values as constants.
//!
//! What is accepted, and what of it is our reading (the document names only unknown Versions and Types):
//! - Length smaller than the size of the Type, or larger than the UDP payload: refused.
//! - Messages of fixed size with a larger Length: accepted, the octets past the known fields are ignored, so that a later
//!   revision can append fields (as for RDCC).
//! - `REPAIR`, `REPAIR_REQUEST` and `PATH_REPORT` say in their fields how long they are (k, Symbol Length, counts): a Length
//!   that disagrees is refused, because the bitmaps or the symbol would be read from the wrong place.
//! - k = 0 in `REPAIR` and in the block form of `REPAIR_REQUEST`: refused, k is 1 to 255. In `PARAM_UPDATE` it is left
//!   to the receiver, which can answer with a status.
//! - A `REPAIR` with INFO and a symbol, or without INFO and without a symbol: refused.
//! - An AF that is neither 4 nor 6, more than sixteen Hop Entries: refused.
//! - Bits of a bitmap behind position k - 1, reserved fields: ignored on receipt, zero on transmission.
//! - Flags that decide the form (RETX, INFO, RANGES) follow from the message when it is encoded; undefined ones are kept.

mod bitmap;
mod close;
mod codes;
mod decode_error;
mod header;
mod hello;
mod loss_report;
mod message;
mod param;
mod path_report;
mod repair;
mod repair_request;

pub use crate::addresses::{AF_IPV4, AF_IPV6, FlowAddresses};
pub use bitmap::Bitmap;
pub use close::Close;
pub use codes::{
    Cause, CloseReason, Flags, FlowId, FlowKind, MessageType, Method, ParamStatus, Scheme, Schemes,
};
pub use decode_error::DecodeError;
pub use header::{HEADER_OCTETS, Header, RawHeader, VERSION};
pub use hello::{Hello, HelloAck};
pub use loss_report::LossReport;
pub use message::{Message, decode};
pub use param::{ParamAck, ParamUpdate};
pub use path_report::{HopEntry, MAX_ENTRIES, MAX_PSNS, PathReport};
pub use repair::{REPAIR_FIXED_OCTETS, Repair};
pub use repair_request::{BlockRequest, PsnRange, RangeRequest, RepairRequest};
