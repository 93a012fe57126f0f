//! Encodings of RDCC, CREM, SCONE and RoCEv2: no I/O, no time.
//!
//! - [`units`]: the quantities of the documents as types.
//! - [`rdcc`]: the ten messages of RDCC, one file each, with typed decode errors.
//! - [`crem`]: the nine messages of CREM, likewise; symbols are borrowed, not copied.
//! - [`roce`]: the headers of RoCEv2 and its ICRC.
//! - [`scone`]: Rate Advice, the Rate Signal and its ways back.
//! - [`frame`]: Ethernet, IPv4 and UDP around them, with payloads that are only counted.
//! - [`describe`]: a message as a list of named fields, for `crn decode`.

mod addresses;
mod code;
pub mod crem;
pub mod describe;
pub mod frame;
mod octets;
pub mod rdcc;
pub mod roce;
pub mod scone;
pub mod units;
