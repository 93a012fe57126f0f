//! SCONE for RoCEv2: the Rate Advice of Solution 1, the Rate Signal of Solution 2 and its three ways back.
//!
//! - [`RateAdvice`] is the payload of a datagram to the domain's SCONE port.
//! - [`RateSignal`] is the extension behind the BTH of a data packet; [`signal_follows`] says whether one is there. A CNP
//!   that is due anyway carries the same ten octets back, [`RateSignal::in_cnp`].
//! - [`Feedback`] is the extension with a destination QP, alone in a datagram to the SCONE port.
//! - [`ack_code`] squeezes a rate into the six reserved bits of an acknowledgement.
//!
//! What the document leaves open is decided here, one constant or function each; docs/scone.md lists the decisions.

pub mod ack_code;
mod advice;
mod error;
mod signal;

pub use advice::{RateAdvice, SconeDatagram, decode};
pub use error::{DecodeError, Unreadable};
pub use signal::{FEEDBACK_OCTETS, Feedback, RATE_SIGNAL_OCTETS, RateSignal, SIGNAL_FOLLOWS, signal_follows};

/// The Version that both messages carry.
pub const VERSION: u32 = 1;
