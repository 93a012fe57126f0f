//! What happens at a host, as it happens.

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;
use wire::units::Nanos;

use super::admission::TaskView;

/// Takes note of what happens, with the time since the agent began.
pub type Observer = Box<dyn FnMut(Nanos, &Event)>;

/// Something that happened. Rates are in Mbit/s, times in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The sockets are bound.
    Started {
        /// The host's address.
        address: IpAddr,
        /// The RDCC port.
        rdcc_port: u16,
        /// The port that data comes to.
        data_port: u16,
        /// The ports that scheduled and unscheduled data leave by.
        source_ports: [u16; 2],
    },
    /// An association is up.
    AssociationUp {
        /// The other side.
        peer: SocketAddr,
        /// U, at a sender.
        #[serde(skip_serializing_if = "Option::is_none")]
        unscheduled_limit: Option<u64>,
        /// The Credit Unit, at a sender.
        #[serde(skip_serializing_if = "Option::is_none")]
        credit_unit: Option<u64>,
    },
    /// The receiver lost its state; it is asked again.
    AssociationLost {
        /// The receiver.
        peer: SocketAddr,
    },
    /// The receiver refused, or doesn't answer.
    AssociationFailed {
        /// The receiver.
        peer: SocketAddr,
        /// Whether it refused.
        refused: bool,
    },
    /// A grant went out, or came.
    Grant {
        /// The other side.
        peer: SocketAddr,
        /// The message; 0 for the pool.
        message: u64,
        /// Grant Limit in octets.
        limit: u64,
        /// Pacing Rate.
        rate: u32,
        /// Lifetime.
        lifetime: u32,
        /// Whether it is for the pool.
        pool: bool,
    },
    /// A congestion report came.
    Report {
        /// Whose address sent it.
        from: SocketAddr,
        /// Reporter ID.
        reporter: u32,
        /// Source address and port of the flow.
        source: SocketAddr,
        /// Destination address and port of the flow.
        destination: SocketAddr,
        /// Queue Depth in octets.
        depth: u32,
        /// Queue Threshold in octets.
        threshold: u32,
        /// Congestion Degree.
        degree: u8,
        /// Suggested Rate, 0 for none.
        suggested_rate: u32,
        /// Whether it was acted on.
        heard: bool,
    },
    /// A sender told of its backlog.
    SenderStatus {
        /// The other side.
        peer: SocketAddr,
        /// Unused Credit in octets.
        unused: u64,
        /// Congestion Level.
        level: u8,
        /// Suggested Rate, 0 for none.
        suggested_rate: u32,
    },
    /// A message is done.
    MessageDone {
        /// The other side.
        peer: SocketAddr,
        /// Message ID.
        message: u64,
        /// Its length, at a receiver.
        #[serde(skip_serializing_if = "Option::is_none")]
        octets: Option<u64>,
        /// From its submission to `MSG_DONE`, at a sender.
        #[serde(skip_serializing_if = "Option::is_none")]
        took: Option<f64>,
    },
    /// A message ended without delivery.
    MessageAborted {
        /// The other side.
        peer: SocketAddr,
        /// Message ID.
        message: u64,
        /// Why.
        reason: String,
    },
    /// A sender transmitted beyond its credit.
    BeyondCredit {
        /// The sender.
        peer: SocketAddr,
        /// Message ID.
        message: u64,
        /// By how many octets.
        octets: u64,
    },
    /// All messages of a batch have ended.
    BatchDone {
        /// Its number, from 1.
        batch: u32,
        /// How long it took.
        took: f64,
    },
    /// The admission's device or route went from one state to another.
    PathState {
        /// The route's receiver; none for the device.
        #[serde(skip_serializing_if = "Option::is_none")]
        peer: Option<IpAddr>,
        /// From this state.
        from: &'static str,
        /// To this one.
        to: &'static str,
        /// Why.
        because: &'static str,
    },
    /// A message is over whose task saw something: the answer to its queries.
    TaskState(TaskView),
    /// The agent was asked to end.
    Stopping,
}
