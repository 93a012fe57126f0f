//! `crn switch` as a process: on real interfaces (as root), over TLS, with files, and what it refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod entries;
mod files;
mod load;
mod process;
mod refusals;
mod tls;
mod veth;
mod wires;
