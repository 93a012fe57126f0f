//! What operators decide about sources, queue pairs and packets.

use crate::topology::decode::{Int, Located};
use crate::topology::model::AclAction;
use crate::topology::quantity::Rate;
use crate::topology::shape::{choice, mapping};
use crate::topology::values::{Address, Prefix, Protocol};

mapping! {
    /// What operators decide about sources, queue pairs and packets, on every switch.
    struct Policies = "policies" {
        optional {
            /// Rates that sources are advised not to exceed.
            source_rates: Vec<SourceRate>;
            /// Rates that queue pairs are told not to exceed.
            queue_pair_rates: Vec<QueuePairRate>;
            /// Packets that are dropped or let through; the first entry that matches decides.
            acl: Vec<AclEntry>;
            /// Where `PATH_REPORT` about these sources go instead of to the source.
            report_to: Vec<ReportTo>;
            /// Send reports only toward sources that are at home on the port their packets came in by.
            source_check: bool;
        }
    }
}

mapping! {
    /// A rate that sources are advised not to exceed.
    struct SourceRate = "a source rate" {
        required {
            /// The sources.
            from: Located<Prefix> = "10.0.1.0/24";
            /// The rate.
            rate: Rate = "10Gbps";
        }
        optional {
            /// Only for this traffic class; default: all of the DSCP map, and 0.
            class: Located<Int<0, 7>>;
        }
    }
}

mapping! {
    /// A rate that a queue pair is told not to exceed.
    struct QueuePairRate = "a queue pair rate" {
        required {
            /// The host that the queue pair is on.
            to: Located<Address> = "10.0.2.1";
            /// The queue pair's number.
            qp: Located<Int<0, 0xff_ffff>> = "17";
            /// The rate.
            rate: Rate = "10Gbps";
        }
    }
}

mapping! {
    /// Packets that are dropped or let through.
    struct AclEntry = "an acl entry" {
        required {
            /// `deny` or `permit`.
            action: Located<AclActionName> = "deny";
        }
        optional {
            /// Sources; default any.
            from: Located<Prefix>;
            /// Destinations; default any.
            to: Located<Prefix>;
            /// `tcp`, `udp`, `icmp` or a number; default any.
            protocol: Located<Protocol>;
            /// UDP or TCP source port; default any.
            source_port: Located<Int<0, 65535>>;
            /// UDP or TCP destination port; default any.
            destination_port: Located<Int<0, 65535>>;
        }
    }
}

mapping! {
    /// Where `PATH_REPORT` about sources go instead of to the source.
    struct ReportTo = "a report_to entry" {
        required {
            /// The sources.
            sources: Located<Prefix> = "10.0.1.0/24";
            /// Whoever repairs for them; of the same family.
            address: Located<Address> = "10.0.1.99";
        }
    }
}

choice! {
    /// What happens to packets that match.
    enum AclActionName = "an acl action" {
        "deny" => AclAction::Deny,
        "permit" => AclAction::Permit,
    } -> AclAction
}
