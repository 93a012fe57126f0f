//! One switch: a program's state, its ports and queues.
#![allow(unused_variables, clippy::unimplemented, clippy::unused_self, clippy::needless_pass_by_value)]

use std::sync::Arc;

use crate::{Packet, PortConfig, Program, QueueStats, SwitchConfig, SwitchStats, Value};

/// What [`Switch::dequeue`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The packet that leaves; `None` if the program dropped it in egress or sent it back to ingress.
    pub packet: Option<Packet>,
    /// The priority queue it waited in (7 is the highest of 8).
    pub queue: u8,
    /// When it was queued, ns of the caller's clock.
    pub enqueued_ns: u64,
    /// Whether it went back to ingress.
    pub recirculated: bool,
}

/// A digest's fields, as the program sent them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestSample {
    /// Number of the list in the JSON; see [`Program::digest`](crate::Program::digest).
    pub list: u32,
    /// Its fields.
    pub fields: Vec<Value>,
}

/// One switch. Times are ns of the caller's clock, which never runs backwards; the program sees microseconds of it.
#[derive(Debug)]
pub struct Switch {}

impl Switch {
    /// A switch that runs `program`, with no entries but the program's own.
    pub fn new(program: Arc<Program>, config: SwitchConfig) -> Switch {
        unimplemented!()
    }
    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        unimplemented!()
    }
    /// Configures a port. Packets already queued stay.
    pub fn set_port(&mut self, port: u16, config: PortConfig) {
        unimplemented!()
    }
    /// A packet enters on `port`: parser, ingress, what follows ingress, and into the queues.
    pub fn ingress(&mut self, port: u16, packet: Packet, now_ns: u64) {
        unimplemented!()
    }
    /// The earliest time at which [`Switch::dequeue`] does something on this port; `None` when nothing is queued.
    pub fn next_departure(&self, port: u16) -> Option<u64> {
        unimplemented!()
    }
    /// Ports with something queued, ascending.
    pub fn active_ports(&self) -> impl Iterator<Item = u16> {
        std::iter::empty()
    }
    /// Takes one packet from the port's queues through egress and the deparser. `None` when nothing may leave yet.
    pub fn dequeue(&mut self, port: u16, now_ns: u64) -> Option<Departure> {
        unimplemented!()
    }
    /// The next packet for the controller: what leaves through [`SwitchConfig::cpu_port`].
    pub fn poll_packet_in(&mut self, now_ns: u64) -> Option<Packet> {
        unimplemented!()
    }
    /// The next digest sample.
    pub fn poll_digest(&mut self) -> Option<DigestSample> {
        unimplemented!()
    }
    /// A queue's state and counters.
    pub fn queue(&self, port: u16, queue: u8) -> QueueStats {
        unimplemented!()
    }
    /// What happened so far.
    pub fn stats(&self) -> &SwitchStats {
        unimplemented!()
    }
}
