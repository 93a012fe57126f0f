//! Encodings of RDCC, CREM, SCONE and RoCEv2: no I/O, no time.
//!
//! - [`units`]: the quantities of the documents as types.
//! - [`rdcc`]: the ten messages of RDCC, one file each, with typed decode errors.
//! - [`describe`]: a message as a list of named fields, for `crn decode`.

pub mod describe;
mod octets;
pub mod rdcc;
pub mod units;
