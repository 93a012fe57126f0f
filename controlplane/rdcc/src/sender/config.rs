//! What a sender is told at its start, and what is asked of it.

use core::net::{IpAddr, SocketAddr};

use wire::rdcc::{MessageId, Reason, ServiceHint};
use wire::units::{MbitPerSec, Micros, Nanos, Octets};

//= RDCC, Port Configuration: da4a127b
/// Configuration of a [`super::Sender`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// Rate of the sender's link; carried in `ASSOC_REQUEST`, and the pace of unscheduled data.
    pub line_rate: MbitPerSec,
    /// Octets that one Credit Unit takes on the link beside its payload (headers, preamble, gap), so that permits
    /// don't outrun the link.
    pub unit_overhead: Octets,
    /// Addresses from which reports are believed (RDCC, On-Path Congestion Reporting).
    pub crn_addresses: Vec<IpAddr>,
    /// Whether reports stop unscheduled transmission. `false` only for experiments that leave reports out.
    pub hear_reports: bool,
    /// The RDCC port of the domain; peers are reached there (RDCC, Port Configuration). There is no default.
    pub rdcc_port: u16,
    /// A Backlog Threshold smaller than what receivers advertise, if one is wished
    /// (RDCC, Sender Backlog Indication and Suggested Rates).
    pub backlog_threshold: Option<Octets>,
    /// Messages that may be pending on one association.
    pub max_pending_messages: usize,
}

impl SenderConfig {
    /// A configuration that hears reports of nobody, for a link of `line_rate` and the domain's `rdcc_port`.
    pub fn new(line_rate: MbitPerSec, rdcc_port: u16) -> Self {
        Self {
            line_rate,
            unit_overhead: Octets(crate::DEFAULT_UNIT_OVERHEAD),
            crn_addresses: Vec::new(),
            hear_reports: true,
            rdcc_port,
            backlog_threshold: None,
            max_pending_messages: 4096,
        }
    }
}

/// How a message is carried by the data transport (RDCC, Transport Bindings).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Binding Kind 1. Every Credit Unit (the last may be shorter) is posted as one RDMA message, in order, on the
    /// queue pair whose number at the receiver is `destination_qp` (24 bits). A request's count of them has 16 bits: a
    /// message of more than 65,535 Credit Units (256 MiB at 4 KiB) is aborted at once, with `MESSAGE_TOO_LARGE`, and is
    /// to be divided by the application. The machine counts the message sequence numbers of the queue pair
    /// itself, from [`super::Sender::set_next_msn`] (0 unless set), so nothing else may be posted there.
    /// Unscheduled messages use a queue pair of their own.
    RoceV2 {
        /// Queue pair number at the receiver.
        destination_qp: u32,
    },
    /// Binding Kind 2: an identifier that the transport carries.
    Opaque(u64),
}

/// A message to send, as [`super::Sender::submit`] takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSpec {
    /// Length; not zero.
    pub length: Octets,
    /// Traffic Class 0 (first served) to 7.
    pub class: u8,
    /// Weight within the class, 1 to 255.
    pub weight: u8,
    /// Service Hint.
    pub hint: ServiceHint,
    /// By when it should be delivered, counted from its first request (later ones carry what is left); zero for none.
    pub deadline: Micros,
    /// Its identity at the transport.
    pub binding: Binding,
    /// Whether unscheduled mode may be used when the length allows it.
    pub allow_unscheduled: bool,
    /// The application's own name for it, given back in permits and events.
    pub tag: u64,
}

impl MessageSpec {
    /// A message of class 0 and weight 1 without wishes; unscheduled if it may be.
    pub fn new(length: Octets, binding: Binding, tag: u64) -> Self {
        Self {
            length,
            class: 0,
            weight: 1,
            hint: ServiceHint::NONE,
            deadline: Micros(0),
            binding,
            allow_unscheduled: true,
            tag,
        }
    }
}

/// Why a message or an association was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The peer's port isn't the domain's (RDCC, Port Configuration).
    #[error("peer {peer} is not on the domain's RDCC port {rdcc_port}")]
    NotTheRdccPort {
        /// The peer that was named.
        peer: SocketAddr,
        /// The configured port.
        rdcc_port: u16,
    },
    /// A message of no octets can't be credited.
    #[error("a message has at least one octet")]
    Empty,
    /// As many messages as configured are pending.
    #[error("{pending} messages are pending toward this receiver already")]
    TooManyPending {
        /// How many.
        pending: usize,
    },
    /// The receiver answered none of eight requests: send without RDCC (RDCC, Association Establishment).
    #[error("the receiver does not support RDCC: send without it")]
    NotSupported,
    /// The receiver refused the association.
    #[error("the receiver refused the association")]
    Refused,
}

/// Permission to post `octets` octets of a message now: one Credit Unit, or the message's tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendPermit {
    /// The receiver.
    pub peer: SocketAddr,
    /// The message.
    pub message: MessageId,
    /// The application's name for it.
    pub tag: u64,
    /// First octet.
    pub offset: u64,
    /// How many octets; one Credit Unit except at the message's end.
    pub octets: u32,
    /// Octets of the whole message.
    pub length: u64,
    /// The binding as submitted.
    pub binding: Binding,
    /// With [`Binding::RoceV2`]: the message sequence number the receiver was told to expect for this post.
    pub msn: u32,
    /// Whether credit covers it; otherwise it is unscheduled and marked with that DSCP.
    pub scheduled: bool,
    /// Traffic Class, for the DSCP of scheduled data.
    pub class: u8,
    /// Whether it ends the message.
    pub last: bool,
}

/// What happened at a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// An association is up, for the first time or after the receiver lost its state.
    AssociationUp {
        /// The receiver.
        peer: SocketAddr,
        /// U of this association: messages up to this length may go unscheduled.
        unscheduled_limit: Octets,
        /// The Credit Unit.
        credit_unit: Octets,
    },
    /// The receiver lost its state and is asked again. Before it answers, a transport whose own state went with it can be
    /// set up anew, and told with [`super::Sender::set_next_msn`]: messages are numbered again when the association is up.
    AssociationLost {
        /// The receiver.
        peer: SocketAddr,
    },
    /// The receiver refused; its pending messages are aborted.
    AssociationRefused {
        /// The receiver.
        peer: SocketAddr,
    },
    /// Eight requests went unanswered. For each pending message a [`SenderEvent::WithoutRdcc`] follows.
    AssociationUnanswered {
        /// The receiver.
        peer: SocketAddr,
    },
    /// The message is the application's again: send it without RDCC.
    WithoutRdcc {
        /// The receiver.
        peer: SocketAddr,
        /// The message.
        message: MessageId,
        /// The application's name for it.
        tag: u64,
    },
    /// The receiver has all octets.
    MessageDone {
        /// The receiver.
        peer: SocketAddr,
        /// The message.
        message: MessageId,
        /// The application's name for it.
        tag: u64,
        /// When `MSG_DONE` came.
        at: Nanos,
    },
    /// The message ended without delivery.
    MessageAborted {
        /// The receiver.
        peer: SocketAddr,
        /// The message.
        message: MessageId,
        /// The application's name for it.
        tag: u64,
        /// Why.
        reason: Reason,
    },
    /// The receiver lost its state: the message starts again at offset 0 (its octets will be permitted anew).
    MessageRestarted {
        /// The receiver.
        peer: SocketAddr,
        /// The message.
        message: MessageId,
        /// The application's name for it.
        tag: u64,
    },
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Octets permitted under credit.
    pub scheduled_octets: u64,
    /// Octets permitted without credit.
    pub unscheduled_octets: u64,
    /// Grants that were acted on.
    pub grants: u64,
    /// Octets of credit received. Counters of credit end at the largest value, whatever receivers grant.
    pub credit_received: u64,
    /// Octets of credit that ran out unused.
    pub credit_expired: u64,
    /// Octets of credit given back with `CREDIT_RETURN`.
    pub credit_returned: u64,
    /// `CREDIT_REQUEST`s sent, repetitions included.
    pub requests: u64,
    /// Reports to the sender (direction 2) from a configured CRN.
    pub reports_heard: u64,
    /// Reports ignored: not from a configured CRN, or of the other direction.
    pub reports_ignored: u64,
    /// Messages whose remainder was converted to scheduled mode by a report or a pause.
    pub conversions: u64,
    /// `SENDER_STATUS` sent.
    pub status_sent: u64,
    /// Datagrams ignored: undecodable, stale, of another association, epoch or direction.
    pub datagrams_ignored: u64,
    /// Messages done.
    pub messages_done: u64,
    /// Messages aborted.
    pub messages_aborted: u64,
    /// Octets that would have gone without credit; always 0.
    pub invariant_violations: u64,
}
