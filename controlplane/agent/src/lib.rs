//! Sockets and timers around the endpoint machines: what makes a host of the limited domain out of them.
//!
//! The endpoint crates are pure; this crate gives them the time, the sockets and the randomness that they lack.
//!
//! | module | what it is |
//! |---|---|
//! | [`driver`] | the loop: `machine(event, now) -> transmissions and the next deadline`, on one thread |
//! | [`socket`] | UDP sockets that take and give many datagrams a system call, with DSCP and ECN |
//! | [`timer`] | deadlines finer than a millisecond |
//! | [`clock`] | the machines' time: nanoseconds since the agent began |
//! | [`entropy`] | seeds for the machines' randomness |
//! | [`link`] | network interfaces: `AF_PACKET` sockets that take and give many frames a system call |
//! | [`crem`] | CREM's gateway between two interfaces |
//! | [`rdcc`] | the agent of RDCC: sender, receiver or both, over software `RoCEv2` or an opaque transport |
//! | [`sealed`] | `RoCEv2` packets with their ICRC, as UDP sockets carry them |
//! | [`scone`] | the agents of SCONE: a host that takes rate advice, and a gateway between data centers |
//!
//! An agent of another protocol is a module like these: a type that implements [`driver::Machine`].
//!
//! Memory doesn't grow with load: datagrams are read into buffers made at the start, nothing is read while the sockets
//! refuse what is to be sent, and the machines bound their own state. What comes meanwhile waits in the kernel, which
//! drops what doesn't fit its buffers.

pub mod clock;
pub mod crem;
pub mod driver;
pub mod entropy;
pub mod link;
pub mod rdcc;
pub mod scone;
pub mod sealed;
pub mod socket;
pub mod timer;
