//! Runs the JSON that p4c emits for BMv2, with v1model semantics: packet for packet what `simple_switch` does.
//!
//! [`Program`] is the compiled program, shared by any number of [`Switch`]es. A switch owns no clock, socket or thread:
//! the caller hands it packets and the time, and asks it for departures. Packets go through an interpreter, and through
//! native code once a thread of its own has made it; see [`Engine`]. [`control`] is what a controller may read and
//! write; [`runtime`] gives it P4Runtime's shape, [`server`] serves that over gRPC, [`stratum`] with the limits that Stratum has on a
//! Tofino; [`stf`] runs P4's packet tests.
#![forbid(unsafe_code)]

mod bigint;
mod bits;
mod builder;
mod compile;
pub mod config;
pub mod control;
mod exec;
mod expr;
mod flight;
mod hash;
mod json;
mod layout;
mod load_error;
mod meter;
mod native;
mod num;
mod ops;
mod packet;
mod paged;
mod profile;
mod program;
mod registers;
pub mod runtime;
#[cfg(feature = "grpc")]
pub mod server;
mod state;
pub mod stf;
#[cfg(feature = "grpc")]
pub mod stratum;
mod switch;
mod table;
mod tm;
mod value;

pub use config::{Engine, PortConfig, QueueRate, QueueStats, SwitchConfig, SwitchStats};
pub use packet::Packet;
pub use program::{DigestInfo, LoadError, Program};
pub use switch::{Departure, DigestSample, Switch, Taken};
pub use value::Value;
