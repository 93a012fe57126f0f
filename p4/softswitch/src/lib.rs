//! Runs the JSON that p4c emits for BMv2, with v1model semantics: packet for packet what `simple_switch` does.
//!
//! [`Program`] is the compiled program, shared by any number of [`Switch`]es. A switch owns no clock, socket or thread:
//! the caller hands it packets and the time, and asks it for departures. [`control`] is what a controller may read and
//! write; [`stf`] runs P4's packet tests.
#![forbid(unsafe_code)]

pub mod config;
pub mod control;
mod packet;
mod program;
pub mod stf;
mod switch;
mod value;

pub use config::{PortConfig, QueueRate, QueueStats, SwitchConfig, SwitchStats};
pub use packet::Packet;
pub use program::{DigestInfo, LoadError, Program};
pub use switch::{Departure, DigestSample, Switch};
pub use value::Value;
