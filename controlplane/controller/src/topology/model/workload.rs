//! What is sent.

use super::super::Scheme;
use super::PortRef;

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Against credit.
    Scheduled,
    /// Ahead of credit, up to U.
    Unscheduled,
}

/// One message of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageShape {
    /// Length in octets.
    pub size: u64,
    /// How it is sent.
    pub mode: Mode,
}

/// Traffic: in each batch every sender sends each of the messages to its receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// (sender, receiver) by host name: all senders to the one receiver, pairwise, or the one sender to all receivers.
    pub pairs: Vec<(String, String)>,
    /// How many batches.
    pub batches: u32,
    /// Pause between the end of a batch and the start of the next, in nanoseconds.
    pub gap_ns: u64,
    /// RDMA payload of a full packet in octets.
    pub payload: u64,
    /// The messages of each sender in each batch.
    pub messages: Vec<MessageShape>,
    /// The switch port whose queue the figures are about.
    pub bottleneck: PortRef,
    /// In a simulation: how many of a million packets the bottleneck's link loses.
    pub loss_ppm: u32,
    /// What a simulation compares, in this order.
    pub schemes: Vec<Scheme>,
}
