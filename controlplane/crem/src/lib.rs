//! CREM: erasure codes, the sender function and the receiver function of the repair channel.
//!
//! - [`code`]: the FEC schemes, with kernels chosen at run time.

pub mod code;
