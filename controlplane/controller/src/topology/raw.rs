//! The file's shape, as the operator writes it. Documentation of the fields here is what editors show,
//! through the JSON Schema.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::decode::{FromNode, Int, Located, Named, Problems, bad_value, choice, mapping, scalar};
use super::model::{Mode, Role, Target};
use super::node::Node;
use super::quantity::{Rate, Size, Time};
use super::{Problem, Span, nearest};

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
            /// Switches by name.
            switches: Named<Switch> = "{ s1: { target: soft, device_id: 1, reporter_id: 1, address: 10.255.0.1 } }";
            /// Hosts by name.
            hosts: Named<Host> = "{ h1: { address: 10.0.0.1 } }";
            /// Cables.
            links: Vec<Link> = "[{ endpoints: [\"s1:1\", h1] }]";
        }
        optional {
            /// Receiver-Driven Credit Control's parameters; what isn't given follows the document's guidance.
            rdcc: Rdcc;
            /// What `crn sim` and `crn up` send.
            workloads: Vec<Workload>;
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
            /// G_u, the part of G for unscheduled messages; default: G / 4.
            unscheduled_budget: Located<Size>;
            /// U, what one sender may send unscheduled; default: G_u / senders of a receiver, at most one BDP.
            unscheduled_limit: Located<Size>;
            /// J, the longest random delay before unscheduled sending; default: the base round-trip time.
            start_jitter: Located<Time>;
            /// Credit Unit, the payload of a full packet; default: the workloads' payload, else 4096B.
            credit_unit: Located<Size>;
            /// Grant Lifetime; default: 4 base round-trip times, at least 100us.
            grant_lifetime: Located<Time>;
            /// N_cu, unused credit above which a sender sends its status; default: 2 BDP.
            backlog_threshold: Located<Size>;
            /// D_max, the longest one-way delay; default: half the base round-trip time and the queues' drain time.
            max_delay: Located<Time>;
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
            /// One host that all send to, or as many as there are senders, pairwise.
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

/// Narrows a quantity's range where a place allows less than the unit does.
macro_rules! narrower {
    ($(#[$meta:meta])* $name:ident of $base:ty, at most $max:expr) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name(pub $base);

        impl FromNode for $name {
            fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
                let value = <$base>::from_node(node, owner, problems)?;
                if value.get() <= $max {
                    return Some(Self(value));
                }
                let message = format!("{value} is out of range");
                let hint = format!("at most {}", <$base>::new($max));
                bad_value("topology::quantity", message, hint, node.span, problems)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$base>::json_schema(generator)
            }
        }
    };
}

narrower! {
    /// What a queue admits: `v1model` counts its depth in 19 bits of packets of at least 64 octets.
    QueueSize of Size, at most 32 << 20
}

narrower! {
    /// A cable's delay; a second is beyond any cable.
    LinkDelay of Time, at most 1_000_000_000
}

/// A MAC address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mac(pub [u8; 6]);

impl FromNode for Mac {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let text = scalar("a MAC address", "02:00:0a:00:00:01", node, owner, problems)?;
        let octets: Option<Vec<u8>> = text
            .split(':')
            .map(|part| if part.len() == 2 { u8::from_str_radix(part, 16).ok() } else { None })
            .collect();
        match octets.and_then(|octets| <[u8; 6]>::try_from(octets).ok()) {
            Some(mac) if mac != [0; 6] && mac[0] & 1 == 0 => Some(Self(mac)),
            Some(_) => bad_value(
                "topology::mac",
                format!("`{text}` can't be a host's own MAC"),
                "use a unicast MAC: its first octet is even".to_owned(),
                node.span,
                problems,
            ),
            None => bad_value(
                "topology::mac",
                format!("`{text}` isn't a MAC address"),
                "six octets in hex with colons, as in 02:00:0a:00:00:01".to_owned(),
                node.span,
                problems,
            ),
        }
    }
}

impl JsonSchema for Mac {
    fn schema_name() -> Cow<'static, str> {
        "Mac".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$" })
    }
}

/// `switch:port`, or a host's name.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub node: String,
    pub port: EndpointPort,
}

/// The port of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndpointPort {
    /// None is named.
    None,
    /// This one.
    Number(u16),
    /// Something that isn't a port number, which has been reported.
    Refused,
}

impl FromNode for Endpoint {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let text = scalar("an endpoint", "\"s1:1\"", node, owner, problems)?;
        let Some((name, port)) = text.split_once(':') else {
            return Some(Self { node: text.to_owned(), port: EndpointPort::None });
        };
        let port = match port.parse::<u16>() {
            Ok(number) if number <= super::MAX_PORT => EndpointPort::Number(number),
            _ => {
                let message = format!("`{port}` isn't a port number");
                let hint = format!("ports are 0 to {}, as in \"{name}:1\"", super::MAX_PORT);
                problems.push(Problem::error("topology::port", message).at(node.span, "").hint(hint));
                EndpointPort::Refused
            }
        };
        Some(Self { node: name.to_owned(), port })
    }
}

impl JsonSchema for Endpoint {
    fn schema_name() -> Cow<'static, str> {
        "Endpoint".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["s1:1", "h1"] })
    }
}

/// Reports a reference to something that doesn't exist.
pub(super) fn unknown<'a>(
    code: &'static str,
    what: &str,
    name: &Located<String>,
    names: impl Iterator<Item = &'a str>,
    problems: &mut Problems,
) {
    let mut list: Vec<&str> = names.collect();
    let hint = if let Some(name) = nearest(&name.value, list.iter().copied()) {
        format!("did you mean `{name}`?")
    } else if list.is_empty() {
        format!("there is no {what} at all")
    } else {
        let more = list.len() > 8;
        list.truncate(8);
        format!("there are: {}{}", list.join(", "), if more { ", ..." } else { "" })
    };
    problems.push(
        Problem::error(code, format!("there is no {what} `{}`", name.value))
            .at(name.span, format!("no such {what}"))
            .hint(hint),
    );
}
