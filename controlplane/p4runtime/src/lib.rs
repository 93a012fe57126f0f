//! The P4Runtime API (version 1.4) and a client.
//!
//! * [`p4`] and [`google`] are the messages and gRPC stubs, generated at build time from our own `.proto` text
//!   under `proto/` (names, numbers and types are the interface's; no `protoc` is needed).
//! * [`p4info`] reads and writes P4Info in protobuf's text format (`*.p4info.txtpb`, as p4c writes it).
//! * [`index`] finds tables, actions, fields and externs of a P4Info by name or id, with their widths.
//! * [`bytes`] encodes values as P4Runtime wants them: big-endian, shortest form, width checked.
//! * [`status`] carries one error per update of a batch through gRPC's status details.
//! * [`stratum`] is what Stratum, a server of P4Runtime on Tofino, wants beside that: a program's files, the chassis.
//! * [`client`] is an asynchronous client: arbitration, pipeline, writes, reads, packets, digests.

#![forbid(unsafe_code)]

pub mod bytes;
pub mod client;
pub mod index;
pub mod p4info;
pub mod status;
pub mod stratum;

pub use index::P4InfoIndex;
pub use prost_types::Any;

#[expect(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unused_qualifications,
    reason = "generated; the .proto files carry what there is to say"
)]
mod api {
    include!(concat!(env!("OUT_DIR"), "/api.rs"));
}

pub use api::{google, p4};

/// The P4Runtime API version that these messages follow, as `Capabilities` reports it.
pub const API_VERSION: &str = "1.4.1";
