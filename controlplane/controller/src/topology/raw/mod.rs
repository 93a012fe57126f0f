//! The file's shape, as the operator writes it. Documentation of the fields here is what editors show,
//! through the JSON Schema.
//!
//! A protocol's endpoints are a section of the file: a module here for its shape (as [`rdcc`]), one under
//! [`super::check`] for what must hold, and its checked form in [`super::model`].

mod domain;
mod generate;
mod marking;
mod policies;
mod rdcc;
mod reports;
mod scone;
mod switches;
mod workloads;

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::topology::decode::{Located, Named};
use crate::topology::quantity::{Rate, Size, Time};
use crate::topology::shape::mapping;
use crate::topology::values::{Endpoint, LinkDelay, LinkLoss, Mac, Prefix, QueueSize, ReportLimit};

pub(super) use domain::{Domain, DomainPorts, Dscp};
pub(super) use generate::Generate;
pub(super) use marking::{MarkedFlow, Marking};
pub(super) use policies::{AclEntry, Policies};
pub(super) use rdcc::Rdcc;
pub(super) use reports::Reports;
pub(super) use scone::Scone;
pub(super) use switches::{PipelineFiles, Port, Queues, Switch, TargetName, Tls, Tofino};
pub(super) use workloads::Workload;

/// The ends of a cable.
pub(super) type Ends = Vec<Located<Endpoint>>;

mapping! {
    /// A fabric: its switches, hosts and links, what holds in its domain, and what is sent over it.
    struct File = "the topology" {
        required {
            /// Name of the topology; output folders are called after it.
            name: Located<String> = "my-fabric";
            /// What holds in the whole limited domain.
            domain: Domain = "{ ports: { rdcc: 52100, crem: 52101, scone: 52102 }, dscp: [...] }";
            /// What holds where nothing else is said.
            defaults: Defaults = "{ profile: data, control_profile: control }";
            /// Queue thresholds by name.
            profiles: Named<Profile> = "{ data: { ecn_threshold: 100kB, q_max: 1MB, report_interval: 10us } }";
        }
        optional {
            /// Switches by name.
            switches: Named<Switch>;
            /// Hosts by name.
            hosts: Named<Host>;
            /// Cables.
            links: Vec<Located<Link>>;
            /// A usual shape instead of, or besides, switches, hosts and links of your own.
            generate: Generate;
            /// Receiver-Driven Credit Control's parameters; what isn't given follows the document's guidance.
            rdcc: Rdcc;
            /// How senders follow rate advice; defaults filled in by them.
            scone: Scone;
            /// Flows that are counted by Alternate Marking.
            marking: Marking;
            /// What `crn sim` and `crn up` send.
            workloads: Vec<Workload>;
            /// What operators decide about sources, queue pairs and packets, on every switch.
            policies: Policies;
        }
    }
}

mapping! {
    /// What holds where nothing else is said.
    struct Defaults = "defaults" {
        required {
            /// Profile of queues that carry data.
            profile: Located<String> = "data";
            /// Profile of queues that carry control datagrams and reports.
            control_profile: Located<String> = "control";
        }
        optional {
            /// Rate, delay and loss of links that don't give their own.
            link: LinkDefaults;
            /// How switches that don't say are recognised.
            tls: Tls;
            /// Queues of BMv2 switches that don't say.
            queues: Queues;
        }
    }
}

mapping! {
    /// Rate, delay and loss of links that don't give their own.
    struct LinkDefaults = "defaults.link" {
        optional {
            /// Rate of each direction.
            rate: Rate;
            /// One-way propagation delay.
            delay: LinkDelay;
            /// The part of the packets that is lost; default 0%.
            loss: LinkLoss;
        }
    }
}

mapping! {
    /// Thresholds of a queue.
    struct Profile = "a profile" {
        required {
            /// What the queue admits.
            q_max: Located<QueueSize> = "1MB";
            /// Shortest time between two reports about one flow, in whole microseconds.
            report_interval: Located<Time> = "10us";
        }
        optional {
            /// Occupancy above which reports are sent; default: the ECN threshold.
            b_th: Located<Size>;
            /// ECN marking threshold; default: `b_th`.
            ecn_threshold: Located<Size>;
            /// Refuse packets above `q_max` even of a lossless class.
            drop_lossless: bool;
            /// What all reports of a port together may take of its link, as a part of its rate or as a rate; default 0.5%.
            report_limit: Located<ReportLimit>;
        }
    }
}

mapping! {
    /// A host.
    struct Host = "a host" {
        required {
            /// Its address.
            address: Located<Ipv4Addr> = "10.0.0.1";
        }
        optional {
            /// Its MAC; default 02:00 followed by the address.
            mac: Located<Mac>;
            /// Its IPv6 address.
            ipv6: Located<Ipv6Addr>;
            /// It is the SCONE gateway of these addresses: advises their senders when gateways elsewhere press back, and presses
            /// back for senders elsewhere.
            gateway_for: Located<Prefix>;
        }
    }
}

mapping! {
    /// A cable between two switch ports, or between a switch port and a host; or several that are used as one.
    struct Link = "a link" {
        optional {
            /// Its two ends: `switch:port` or a host's name.
            endpoints: Located<Ends>;
            /// Instead of `endpoints`, the cables of a link aggregation group, each with its two ends.
            members: Located<Vec<Located<Ends>>>;
            /// Rate of each direction; default `defaults.link.rate`.
            rate: Rate;
            /// One-way propagation delay; default `defaults.link.delay`.
            delay: LinkDelay;
            /// In `crn sim` and `crn up`, the part of the packets that it loses, independently: of each direction, or of what
            /// leaves the first of its ends and of what leaves the second; default `defaults.link.loss`.
            loss: LinkLoss;
        }
    }
}
