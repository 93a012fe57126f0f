//! Alternate Marking.

use std::net::Ipv6Addr;

/// Flows that are counted by Alternate Marking (RFC 9341).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marking {
    /// The colour changes every `2^period_log2` microseconds.
    pub period_log2: u8,
    /// The address that the controller's reports come from, of IPv6; none: the system's choice.
    pub collector: Option<Ipv6Addr>,
    /// The flows; a flow's place here is the first part of its counters' index on every switch.
    pub flows: Vec<MarkedFlow>,
}

/// A flow that is counted. `None` is any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedFlow {
    /// Its name.
    pub name: String,
    /// The host that it comes from, which has an IPv6 address.
    pub from: String,
    /// The host that it goes to, which has one too and hangs on another switch.
    pub to: String,
    /// `FlowMonID` in its packets (RFC 9343), 20 bits, no other flow's.
    pub flow_mon_id: u32,
    /// IP protocol.
    pub protocol: Option<u8>,
    /// UDP or TCP source port.
    pub source_port: Option<u16>,
    /// UDP or TCP destination port.
    pub destination_port: Option<u16>,
    /// The destination queue pair, where the flow is of one only.
    pub queue_pair: Option<u32>,
}
