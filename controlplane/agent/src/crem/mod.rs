//! CREM's gateway: stands between two network interfaces and protects the `RoCEv2` packets that cross the one outside.
//!
//! | module | what it is |
//! |---|---|
//! | [`shim`] | the gateway as a machine: frames in, frames out |
//! | [`frame`] | Ethernet frames, taken apart and made |
//! | [`summary`] | the figures |
//!
//! [`run()`] opens the interfaces and moves frames until it is told to stop. Nothing is read while a side takes no more, so memory
//! stays what it is.

pub mod frame;
mod run;
pub mod shim;
pub mod summary;

pub use run::{RunError, Shared, Stop, run};
pub use shim::{Shim, ShimConfig, Side};
pub use summary::Summary;
