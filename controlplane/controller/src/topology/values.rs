//! Values that more than their type is asked of: narrower ranges, MACs, endpoints; and references.

use std::borrow::Cow;
use std::net::IpAddr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::decode::{FromNode, Located, Problems, bad_value, scalar};
use super::node::{Node, Value};
use super::quantity::{Fraction, Rate, Size, Time};
use super::{Problem, Span, nearest};

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

narrower! {
    /// What a cable loses in one direction; one that loses everything is none.
    LossyPart of Fraction, at most 999_999
}

/// What a cable loses, of what leaves its first end and of what leaves the second.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkLoss(pub [Fraction; 2]);

impl FromNode for LinkLoss {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let Value::List(items) = &node.value else {
            let LossyPart(both) = LossyPart::from_node(node, owner, problems)?;
            return Some(Self([both; 2]));
        };
        let [first, second] = items.as_slice() else {
            return bad_value(
                "topology::loss",
                format!("a link has two directions, and {} parts are given", items.len()),
                "write one part for both, as in 0.1%, or two, as in [0.1%, 0%]: of what leaves the first of its \
                 `endpoints`, and the second"
                    .to_owned(),
                node.span,
                problems,
            );
        };
        let parts = [first, second].map(|item| LossyPart::from_node(item, item.span, problems));
        let [Some(LossyPart(first)), Some(LossyPart(second))] = parts else { return None };
        Some(Self([first, second]))
    }
}

impl JsonSchema for LinkLoss {
    fn schema_name() -> Cow<'static, str> {
        "LinkLoss".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let part = generator.subschema_for::<Fraction>();
        let both = json_schema!({ "type": "array", "items": part.clone(), "minItems": 2, "maxItems": 2 });
        json_schema!({ "anyOf": [part, both], "examples": ["0.1%", ["0.1%", "0%"]] })
    }
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

/// What reports may take of a link: a part of it, or a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportLimit(pub super::ReportLimit);

impl FromNode for ReportLimit {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let text = scalar("a limit", "2% or 500Mbps", node, owner, problems)?.trim();
        if !(text.ends_with('%') || text.ends_with("ppm")) {
            let rate = Rate::from_node(node, owner, problems)?;
            return Some(Self(super::ReportLimit::Rate(rate.get())));
        }
        let part = Fraction::from_node(node, owner, problems)?;
        match u32::try_from(part.get()) {
            Ok(millionths) if millionths > 0 => Some(Self(super::ReportLimit::Share(millionths))),
            _ => bad_value(
                "topology::report_limit",
                "a limit of nothing lets no report out".to_owned(),
                "to send none at all, give the traffic a role of `none`; else write 0.5% or 500Mbps"
                    .to_owned(),
                node.span,
                problems,
            ),
        }
    }
}

impl JsonSchema for ReportLimit {
    fn schema_name() -> Cow<'static, str> {
        "ReportLimit".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (part, rate) = (generator.subschema_for::<Fraction>(), generator.subschema_for::<Rate>());
        json_schema!({ "anyOf": [part, rate], "examples": ["2%", "500Mbps"] })
    }
}

/// A place on a switch's front panel: port and lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrontPanel(pub super::FrontPanel);

impl FromNode for FrontPanel {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let text = scalar("a place on the front panel", "5/0", node, owner, problems)?;
        let parts = text.split_once('/');
        match parts.and_then(|(port, channel)| Some((port.parse().ok()?, channel.parse().ok()?))) {
            Some((port @ 1.., channel @ 0..=8)) => Some(Self(super::FrontPanel { port, channel })),
            _ => bad_value(
                "topology::front_panel",
                format!("`{text}` isn't a place on the front panel"),
                "port and lane: 5/0 for all of port 5, 5/1 to 5/8 for one of its lanes".to_owned(),
                node.span,
                problems,
            ),
        }
    }
}

impl JsonSchema for FrontPanel {
    fn schema_name() -> Cow<'static, str> {
        "FrontPanel".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[1-9][0-9]*/[0-8]$" })
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

/// An address of either family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address(pub IpAddr);

impl FromNode for Address {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let text = scalar("an address", "10.0.0.1", node, owner, problems)?;
        match text.parse() {
            Ok(address) => Some(Self(address)),
            Err(_) => bad_value(
                "topology::address",
                format!("`{text}` isn't an address"),
                "write 10.0.0.1 or fd00::1".to_owned(),
                node.span,
                problems,
            ),
        }
    }
}

impl JsonSchema for Address {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["10.0.0.1", "fd00::1"] })
    }
}

/// Addresses that begin alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix(pub super::Prefix);

impl FromNode for Prefix {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let text = scalar("a prefix", "10.0.1.0/24", node, owner, problems)?;
        match super::Prefix::parse(text) {
            Ok(prefix) => Some(Self(prefix)),
            Err(hint) => {
                bad_value("topology::prefix", format!("`{text}` isn't a prefix"), hint, node.span, problems)
            }
        }
    }
}

impl JsonSchema for Prefix {
    fn schema_name() -> Cow<'static, str> {
        "Prefix".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["10.0.1.0/24", "fd00::/64", "10.0.0.1"] })
    }
}

/// An IP protocol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protocol(pub u8);

/// Protocols that have a name here.
const PROTOCOLS: [(&str, u8); 4] = [("tcp", 6), ("udp", 17), ("icmp", 1), ("icmpv6", 58)];

impl FromNode for Protocol {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let text = scalar("a protocol", "udp", node, owner, problems)?;
        let named = PROTOCOLS.iter().find(|(name, _)| *name == text).map(|(_, number)| *number);
        match named.or_else(|| text.parse().ok()) {
            Some(number) => Some(Self(number)),
            None => bad_value(
                "topology::value",
                format!("`{text}` isn't a protocol"),
                "possible: tcp, udp, icmp, icmpv6, or a number from 0 to 255".to_owned(),
                node.span,
                problems,
            ),
        }
    }
}

impl JsonSchema for Protocol {
    fn schema_name() -> Cow<'static, str> {
        "Protocol".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string", "enum": ["tcp", "udp", "icmp", "icmpv6"] },
            { "type": "integer", "minimum": 0, "maximum": 255 },
        ] })
    }
}
