//! Topology YAML to switch entries: desired state, difference, writes.
//!
//! The way of a file: [`topology`] parses and checks it, [`desired`] computes what each switch should hold (pure
//! functions), [`diff`] the changes from what it does hold. [`machine`] does this for all switches over
//! [`client`]s; [`chassis`] says what a Tofino's traffic manager must be told besides. A file with an error changes nothing anywhere.

#![forbid(unsafe_code)]

pub mod chassis;
pub mod client;
pub mod describe;
pub mod desired;
pub mod diff;
pub mod files;
pub mod keeper;
pub mod machine;
pub mod marking;
pub mod pipeline;
pub mod plan;
pub mod report_size;
mod text;
pub mod topology;
