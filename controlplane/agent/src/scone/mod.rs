//! The agents of SCONE: a host that takes rate advice, and a gateway between data centers.
//!
//! [`Advised`] keeps the machine of the crate `scone` for a host's addresses, tells what bounds are in force, and, with a
//! [`Shaper`], makes the kernel keep them. [`GatewayAgent`] passes advice and backpressure on. [`run`] binds the socket of
//! either and drives it.
//!
//! | module | what it is |
//! |---|---|
//! | [`advised`] | bounds of a host's addresses |
//! | [`gateway`] | the gateway |
//! | [`shaper`] | rate limits of an interface, by `tc` |
//! | [`event`] | what happens, as it happens |

pub mod advised;
pub mod event;
pub mod gateway;
mod run;
pub mod shaper;

pub use advised::Advised;
pub use event::{Event, Observer};
pub use gateway::GatewayAgent;
pub use run::{RunError, Shared, Snapshot, run};
pub use shaper::{Shaper, ShaperError};

use crate::socket::Outbox;

/// The one socket of an agent, at the SCONE port.
const SOCKET: usize = 0;

/// Puts a machine's datagram into the outbox. One for the other IP version is refused by the system, and counted.
fn push(outbox: &mut Outbox, datagram: &scone::Datagram, dscp: u8) {
    let tos = crate::socket::tos(dscp);
    outbox.push(SOCKET, datagram.to, tos, |octets| octets.extend_from_slice(&datagram.octets));
}
