//! The P4Runtime device, with this project's own program: it has every kind of table, a selector, counters, a meter,
//! registers and packet I/O.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "clippy knows helpers of tests not as tests")]

mod arbitration;
mod entities;
#[cfg(feature = "grpc")]
mod garbage;
#[cfg(feature = "grpc")]
mod grpc;
mod kinds;
#[cfg(feature = "grpc")]
mod large;
mod packets;
mod pipelines;
mod refusals;
mod support;
mod watch;
