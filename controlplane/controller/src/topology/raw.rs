//! The file's shape, as the operator writes it. Documentation of the fields here is what editors show,
//! through the JSON Schema.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::decode::{Int, Located, Named};
use super::model::{AclAction, Mode, Role, Shape, Target, Trust};
use super::quantity::{Rate, Size, Time};
use super::scheme::Scheme;
use super::shape::{choice, mapping};
use super::values::{Address, Endpoint, LinkDelay, Mac, Prefix, Protocol, QueueSize};

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
            links: Vec<Link>;
            /// A usual shape instead of, or besides, switches, hosts and links of your own.
            generate: Generate;
            /// Receiver-Driven Credit Control's parameters; what isn't given follows the document's guidance.
            rdcc: Rdcc;
            /// How senders follow rate advice; defaults filled in by them.
            scone: Scone;
            /// What `crn sim` and `crn up` send.
            workloads: Vec<Workload>;
            /// What operators decide about sources, queue pairs and packets, on every switch.
            policies: Policies;
        }
    }
}

mapping! {
    /// A usual shape. Hosts are h1, h2, ... with addresses 10.0.1.1, ...; `uplink` is about links between switches.
    struct Generate = "generate" {
        required {
            /// `star`: one switch s1. `leaf-spine`: leaf1, ..., spine1, ... `fat-tree`: pods of k/2 edge and k/2
            /// aggregation switches (p1e1, p1a1, ...) under (k/2)^2 cores (c1, ...).
            shape: Located<ShapeName> = "leaf-spine";
        }
        optional {
            /// Hosts of a star.
            hosts: Located<Int<1, 250>>;
            /// Leaves of a leaf-spine.
            leaves: Located<Int<1, 500>>;
            /// Spines of a leaf-spine.
            spines: Located<Int<1, 250>>;
            /// Hosts at each leaf of a leaf-spine.
            hosts_per_leaf: Located<Int<1, 250>>;
            /// Ports of each switch of a fat-tree, an even number; k^3/4 hosts.
            k: Located<Int<2, 32>>;
            /// What the switches are; default `soft`.
            target: TargetName;
            /// Rate and delay of links between switches; default `defaults.link`.
            uplink: LinkDefaults;
            /// Where the first switch's P4Runtime server listens; each further one at the next port.
            p4runtime: Located<String>;
        }
    }
}

mapping! {
    /// What holds in the whole limited domain.
    struct Domain = "domain" {
        required {
            /// The UDP ports of the three protocols; none has a default.
            ports: DomainPorts = "{ rdcc: 52100, crem: 52101, scone: 52102 }";
            /// What DSCPs mean.
            dscp: Located<Vec<Dscp>> = "[{ dscp: 26, role: scheduled, class: 0, queue: 0 }]";
        }
        optional {
            /// Accept ports outside 49152..65535.
            allow_any_port: bool;
            /// Traffic classes that PFC keeps from losing packets.
            lossless_classes: Vec<Located<Int<0, 7>>>;
            /// Reports besides the congestion reports; what isn't given isn't sent.
            reports: Reports;
        }
    }
}

mapping! {
    /// The UDP ports of the three protocols, all different, 49152..65535 unless `allow_any_port` is set.
    struct DomainPorts = "domain.ports" {
        required {
            /// RDCC's UDP port.
            rdcc: Located<Int<1, 65535>> = "52100";
            /// CREM's UDP port.
            crem: Located<Int<1, 65535>> = "52101";
            /// SCONE's UDP port.
            scone: Located<Int<1, 65535>> = "52102";
        }
    }
}

mapping! {
    #[expect(clippy::struct_field_names, reason = "the keys are the file's")]
    /// What packets with a DSCP are.
    struct Dscp = "a dscp entry" {
        required {
            /// The codepoint.
            dscp: Located<Int<0, 63>> = "26";
            /// What packets with it are.
            role: Located<RoleName> = "scheduled";
            /// Queue; 7 is served first.
            queue: Located<Int<0, 7>> = "0";
        }
        optional {
            /// Traffic class, default 0; lower is granted first.
            class: Int<0, 7>;
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
            /// Rate and delay of links that don't give their own.
            link: LinkDefaults;
        }
    }
}

mapping! {
    /// Rate and delay of links that don't give their own.
    struct LinkDefaults = "defaults.link" {
        optional {
            /// Rate of each direction.
            rate: Rate;
            /// One-way propagation delay.
            delay: LinkDelay;
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
        }
    }
}

mapping! {
    /// A switch.
    struct Switch = "a switch" {
        required {
            /// What it is.
            target: TargetName = "soft";
            /// P4Runtime device id.
            device_id: Located<Int<1, { u64::MAX }>> = "1";
            /// Reporter ID in its reports.
            reporter_id: Located<Int<1, 0xffff_ffff>> = "1";
            /// Source address of its reports.
            address: Located<Ipv4Addr> = "10.255.0.1";
        }
        optional {
            /// Where its P4Runtime server listens, as host:port.
            p4runtime: Located<String>;
            /// Port without an interface to which reports are cloned; default 510.
            clone_port: Located<Int<0, 510>>;
            /// Source address of its reports about IPv6 packets; without it nothing is reported about those.
            ipv6: Located<Ipv6Addr>;
            /// Ports that differ from the rest, by number.
            ports: Named<Port>;
        }
    }
}

mapping! {
    /// A port that differs from the rest.
    struct Port = "a port" {
        optional {
            /// Profile of its data queues; default `defaults.profile`.
            profile: Located<String>;
            /// `trusted` (the default): inside the domain. `boundary`: DSCPs lose their roles there, and control
            /// datagrams don't come in.
            trust: TrustName;
        }
    }
}

mapping! {
    /// Reports besides the congestion reports; what isn't given isn't sent.
    struct Reports = "domain.reports" {
        optional {
            /// `PATH_REPORT` about packets that the switch drops.
            path: PathReports;
            /// Rate Advice to sources.
            rate_advice: RateAdvice;
            /// Lower the Rate Signal that packets carry.
            rate_signal: RateSignal;
        }
    }
}

mapping! {
    /// `PATH_REPORT` about packets that the switch drops.
    struct PathReports = "domain.reports.path" {
        required {
            /// Shortest time between two about one flow, in whole microseconds; 0us: every drop.
            interval: Located<Time> = "100us";
        }
    }
}

mapping! {
    /// Rate Advice to sources.
    struct RateAdvice = "domain.reports.rate_advice" {
        required {
            /// Shortest time between two to one source, in whole microseconds.
            interval: Located<Time> = "100us";
        }
        optional {
            /// Lowest rate that congestion may advise; a policy may go below it. Default 1Mbps.
            floor: Rate;
        }
    }
}

mapping! {
    /// Lower the Rate Signal that packets carry.
    struct RateSignal = "domain.reports.rate_signal" {
        required {
            /// The type octet that says so in the packet.
            kind: Located<Int<0, 255>> = "1";
        }
        optional {
            /// Lowest rate that congestion may signal; default 1Mbps.
            floor: Rate;
        }
    }
}

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
    /// A cable between two switch ports, or between a switch port and a host.
    struct Link = "a link" {
        required {
            /// Its two ends: `switch:port` or a host's name.
            endpoints: Located<Vec<Located<Endpoint>>> = "[\"s1:1\", h1]";
        }
        optional {
            /// Rate of each direction; default `defaults.link.rate`.
            rate: Rate;
            /// One-way propagation delay; default `defaults.link.delay`.
            delay: LinkDelay;
        }
    }
}

mapping! {
    /// Receiver-Driven Credit Control's parameters; what isn't given follows the document's guidance.
    struct Rdcc = "rdcc" {
        optional {
            /// Base round-trip time; default: twice the delay of the longest path between two hosts.
            base_rtt: Located<Time>;
            /// G, what all senders together may have in flight to one receiver; default: 2 BDP.
            budget: Located<Size>;
            /// `G_u`, the part of G for unscheduled messages; default: G / 4.
            unscheduled_budget: Located<Size>;
            /// U, what one sender may send unscheduled; default: `G_u` / senders of a receiver, at most one BDP.
            unscheduled_limit: Located<Size>;
            /// J, the longest random delay before unscheduled sending; default: the base round-trip time.
            start_jitter: Located<Time>;
            /// Credit Unit, the payload of a full packet; default: the workloads' payload, else 4096B.
            credit_unit: Located<Size>;
            /// Grant Lifetime; default: 4 base round-trip times, at least 100us.
            grant_lifetime: Located<Time>;
            /// `N_cu`, unused credit above which a sender sends its status; default: 2 BDP.
            backlog_threshold: Located<Size>;
            /// `D_max`, the longest one-way delay; default: half the base round-trip time and the queues' drain time.
            max_delay: Located<Time>;
        }
    }
}

mapping! {
    /// How senders follow rate advice (SCONE, Sender-Side Rate Coordination, which the document leaves open).
    struct Scone = "scone" {
        optional {
            /// Time between two steps of a bound, toward the advised rate and after the advice expired; default 50us.
            step_interval: Located<Time>;
            /// How much of the gap to the advised rate a step closes, in percent; default 50.
            step: Int<1, 100>;
            /// How long advice holds; default 1ms.
            expiry: Located<Time>;
            /// By how much of itself an expired bound rises a step, in percent; default 10.
            release: Int<1, 100>;
        }
    }
}

mapping! {
    /// Traffic: in each batch every sender sends each of the messages to its receiver.
    struct Workload = "a workload" {
        required {
            /// Its name.
            name: Located<String> = "incast";
            /// Hosts that send.
            senders: Located<Vec<Located<String>>> = "[h1, h2]";
            /// One host that all send to, or as many as there are senders, pairwise; or several hosts that one sender sends to.
            receivers: Located<Vec<Located<String>>> = "[h3]";
            /// The messages of each sender in each batch.
            messages: Located<Vec<Message>> = "[{ size: 1MiB, mode: scheduled }]";
            /// The switch port whose queue the figures are about.
            bottleneck: Located<Endpoint> = "\"s1:1\"";
        }
        optional {
            /// How many batches; default 1.
            batches: Int<1, 1_000_000>;
            /// Pause between batches; default 0ns.
            gap: Time;
            /// RDMA payload of a full packet; default 4096B.
            payload: Located<Size>;
            /// What a simulation compares; default [none, rdcc, rdcc+crn].
            schemes: Located<Vec<Located<SchemeName>>>;
        }
    }
}

mapping! {
    /// One message of a batch.
    struct Message = "a message" {
        required {
            /// Its length.
            size: Located<Size> = "1MiB";
            /// Against credit, or ahead of it.
            mode: Located<ModeName> = "scheduled";
        }
    }
}

choice! {
    /// A role's name.
    enum RoleName = "a role" {
        "scheduled" => Role::Scheduled,
        "unscheduled" => Role::Unscheduled,
        "control" => Role::Control,
        "none" => Role::None,
    } -> Role
}

choice! {
    /// What endpoints do about congestion.
    enum SchemeName = "a scheme" {
        "none" => Scheme::None,
        "rdcc" => Scheme::Rdcc,
        "rdcc+crn" => Scheme::RdccCrn,
        "dcqcn" => Scheme::Dcqcn,
        "dcqcn+advice" => Scheme::DcqcnAdvice,
        "dcqcn+signal" => Scheme::DcqcnSignal,
        "admission" => Scheme::Admission,
    } -> Scheme
}

choice! {
    /// A usual shape.
    enum ShapeName = "a shape" {
        "star" => Shape::Star,
        "leaf-spine" => Shape::LeafSpine,
        "fat-tree" => Shape::FatTree,
    } -> Shape
}

choice! {
    /// How far a port is believed.
    enum TrustName = "a trust" {
        "trusted" => Trust::Trusted,
        "boundary" => Trust::Boundary,
    } -> Trust
}

choice! {
    /// What happens to packets that match.
    enum AclActionName = "an acl action" {
        "deny" => AclAction::Deny,
        "permit" => AclAction::Permit,
    } -> AclAction
}

choice! {
    /// A target's name.
    enum TargetName = "a target" {
        "soft" => Target::Soft,
        "bmv2" => Target::Bmv2,
        "tofino" => Target::Tofino,
    } -> Target
}

choice! {
    /// A mode's name.
    enum ModeName = "a mode" {
        "scheduled" => Mode::Scheduled,
        "unscheduled" => Mode::Unscheduled,
    } -> Mode
}
