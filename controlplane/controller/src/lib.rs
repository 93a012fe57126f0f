//! Topology YAML to switch entries: desired state, difference, writes.
//!
//! The way of a file: [`topology`] parses and checks it, pure functions compute the entries each switch
//! should hold, the difference to what it holds becomes one batch of writes. A file with an error changes
//! nothing anywhere.

pub mod topology;
