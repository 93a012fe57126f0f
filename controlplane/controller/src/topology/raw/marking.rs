//! Alternate Marking.

use crate::topology::decode::{Int, Located};
use crate::topology::quantity::Time;
use crate::topology::shape::mapping;
use crate::topology::values::{Address, Protocol};

mapping! {
    /// Flows that are counted by Alternate Marking (RFC 9341, RFC 9343): marked where they enter the fabric, counted on
    /// every switch of their way, unmarked where they leave it. IPv6 only.
    struct Marking = "marking" {
        required {
            /// After this time the colour changes: a power of two of microseconds.
            period: Located<Time> = "1048576us";
            /// The flows, at most 1024.
            flows: Located<Vec<MarkedFlow>> = "[{ name: f1, from: h1, to: h2 }]";
        }
        optional {
            /// IPv6 address of the controller, from which it sends what it measured; default: the system's choice. Senders
            /// believe only addresses that they are told of.
            collector: Located<Address>;
        }
    }
}

mapping! {
    /// A flow that is counted. A packet of several is of the first that it matches.
    struct MarkedFlow = "a marked flow" {
        required {
            /// Its name.
            name: Located<String> = "f1";
            /// The host that it comes from.
            from: Located<String> = "h1";
            /// The host that it goes to.
            to: Located<String> = "h2";
        }
        optional {
            /// `FlowMonID` in the packets; default: its place in the list, from 1.
            flow_mon_id: Located<Int<0, 0xf_ffff>>;
            /// `tcp`, `udp`, `icmpv6` or a number; default any.
            protocol: Located<Protocol>;
            /// UDP or TCP source port; default any.
            source_port: Located<Int<0, 65535>>;
            /// UDP or TCP destination port; default any.
            destination_port: Located<Int<0, 65535>>;
            /// The destination queue pair, if all packets of the flow are of one; default: the reports are about all.
            queue_pair: Located<Int<1, 0xff_ffff>>;
        }
    }
}
