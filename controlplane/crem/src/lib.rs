//! CREM: erasure codes, the sender function and the receiver function of the repair channel.
//!
//! RDMA packets cross a path that loses some of them. A sender function ([`csf::Csf`]) watches them leave, unchanged, and sends
//! repair symbols beside them; a receiver function ([`crf::Crf`]) watches them arrive, restores what is missing, and asks for more symbols
//! where those don't suffice.
//!
//! - [`code`]: the FEC schemes, with kernels chosen at run time.
//! - [`packet`]: RoCEv2 packets as both functions see them.
//! - [`csf`]: the sender function.
//! - [`crf`]: the receiver function.
//! - [`smallest_m`]: the recommended redundancy.
//!
//! The functions are pure: no clock, socket, thread or randomness of their own. The caller gives the time
//! ([`wire::units::Nanos`], from an origin of its choice) and a seed, shows what passes, and sends what is put into its
//! [`Transmit`]. Once a flow is set up and its blocks have come round, nothing is allocated for a packet that arrives.

pub mod code;
pub mod crf;
pub mod csf;
pub mod packet;

mod configuration;
mod policy;
mod ring;
mod rtt;
mod sink;
mod timers;

pub use packet::{FlowKey, IpFields, Packet};
pub use policy::smallest_m;
pub use sink::{Deliver, Transmit};
