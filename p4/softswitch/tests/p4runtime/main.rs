//! The P4Runtime device, with this project's own program: it has every kind of table, a selector, counters, a meter,
//! registers and packet I/O.

mod arbitration;
mod conformance;
mod entities;
#[cfg(feature = "grpc")]
mod grpc;
mod packets;
mod pipelines;
mod refusals;
mod support;
