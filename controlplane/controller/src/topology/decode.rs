//! From the tree to the shapes of [`super::raw`], collecting every error on the way.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::node::{Key, Node, Value};
use super::quantity::{Quantity, Unit};
use super::{Problem, Span, nearest};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Located<T> {
    pub value: T,
    pub span: Span,
}

/// Collects problems.
#[derive(Debug, Default)]
pub(super) struct Problems(pub Vec<Problem>);

impl Problems {
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }
}

/// Something that a node can be read as. On an error the problem is noted and `None` returned, so that the
/// caller goes on.
pub(super) trait FromNode: Sized {
    /// `owner` is the key that the node is the value of: where "missing" errors point.
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self>;
}

impl<T: FromNode> FromNode for Located<T> {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        Some(Self { value: T::from_node(node, owner, problems)?, span: node.span })
    }
}

/// Elements that can't be read are left out; their problems are noted.
impl<T: FromNode> FromNode for Vec<T> {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::List(items) => {
                Some(items.iter().filter_map(|item| T::from_node(item, item.span, problems)).collect())
            }
            _ => expected("a list", "write `[a, b]` or one `- item` a line", node, owner, problems),
        }
    }
}

/// A mapping from names that the operator chooses, in the order of the file. A value that can't be read is
/// `None`: the name exists all the same, so that references to it aren't called unknown.
#[derive(Clone, Debug)]
pub(super) struct Named<T>(pub Vec<(Located<String>, Option<T>)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: FromNode> FromNode for Named<T> {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let entries = entries(node, owner, problems)?;
        Some(Self(
            entries
                .iter()
                .map(|(key, value)| {
                    let name = Located { value: key.text.clone(), span: key.span };
                    (name, T::from_node(value, key.span, problems))
                })
                .collect(),
        ))
    }
}

/// The entries of a mapping, its repeated keys reported and the later ones left out.
pub(super) fn entries<'a>(
    node: &'a Node,
    owner: Span,
    problems: &mut Problems,
) -> Option<Vec<&'a (Key, Node)>> {
    let Value::Map(all) = &node.value else {
        return expected(
            "a mapping",
            "write `{ key: value }` or one `key: value` a line",
            node,
            owner,
            problems,
        );
    };
    let mut kept: Vec<&(Key, Node)> = Vec::with_capacity(all.len());
    let mut seen = std::collections::HashMap::with_capacity(all.len());
    for entry in all {
        if let Some(first) = seen.insert(entry.0.text.as_str(), entry.0.span) {
            seen.insert(entry.0.text.as_str(), first);
            problems.push(
                Problem::error("topology::repeated_key", format!("`{}` is given twice", entry.0.text))
                    .at(entry.0.span, "again here")
                    .at(first, "first here")
                    .hint("keep one of the two"),
            );
        } else {
            kept.push(entry);
        }
    }
    Some(kept)
}

/// Reports a key that isn't known there; returns the one that was probably meant.
pub(super) fn unknown_key(
    key: &Key,
    what: &str,
    known: &[&'static str],
    problems: &mut Problems,
) -> Option<&'static str> {
    let meant = nearest(&key.text, known.iter().copied());
    let hint = match meant {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("keys of {what}: {}", known.join(", ")),
    };
    problems.push(
        Problem::error("topology::unknown_key", format!("{what} has no key `{}`", key.text))
            .at(key.span, "unknown key")
            .hint(hint),
    );
    meant
}

/// Reports keys that must be there and aren't.
pub(super) fn missing_keys(missing: &[(&str, &str)], what: &str, owner: Span, problems: &mut Problems) {
    for (key, example) in missing {
        problems.push(
            Problem::error("topology::missing_key", format!("{what} lacks `{key}`"))
                .at(owner, format!("`{key}` is missing here"))
                .hint(format!("add `{key}: {example}`")),
        );
    }
}

fn expected<T>(what: &str, hint: &str, node: &Node, owner: Span, problems: &mut Problems) -> Option<T> {
    let span = if node.span.len == 0 { owner } else { node.span };
    problems.push(
        Problem::error("topology::shape", format!("expected {what}, found {}", node.kind()))
            .at(span, format!("should be {what}"))
            .hint(hint.to_owned()),
    );
    None
}

/// The text of a single value.
pub(super) fn scalar<'a>(
    what: &str,
    example: &str,
    node: &'a Node,
    owner: Span,
    problems: &mut Problems,
) -> Option<&'a str> {
    match &node.value {
        Value::Scalar(text) => Some(text),
        _ => expected(what, &format!("write {what}, such as {example}"), node, owner, problems),
    }
}

/// Notes that a value isn't what it should be.
pub(super) fn bad_value<T>(
    code: &'static str,
    message: String,
    hint: String,
    span: Span,
    problems: &mut Problems,
) -> Option<T> {
    problems.push(Problem::error(code, message).at(span, "").hint(hint));
    None
}

impl FromNode for String {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        scalar("a name", "leaf1", node, owner, problems).map(str::to_owned)
    }
}

impl FromNode for bool {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        match scalar("true or false", "true", node, owner, problems)? {
            "true" => Some(true),
            "false" => Some(false),
            other => bad_value(
                "topology::value",
                format!("`{other}` is neither true nor false"),
                "write true or false".to_owned(),
                node.span,
                problems,
            ),
        }
    }
}

impl FromNode for Ipv4Addr {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let text = scalar("an IPv4 address", "10.0.0.1", node, owner, problems)?;
        let address: Option<Self> = text.parse().ok();
        match address {
            Some(address) if usable(address) => Some(address),
            Some(_) => bad_value(
                "topology::address",
                format!("`{text}` can't be a node's own address"),
                "use a unicast address, such as 10.0.0.1".to_owned(),
                node.span,
                problems,
            ),
            None => {
                let hint = if text.parse::<Ipv6Addr>().is_ok() {
                    "give an IPv4 address here, and the IPv6 address as `ipv6` beside it"
                } else if text.contains('/') {
                    "leave the prefix length out, as in 10.0.0.1"
                } else {
                    "four numbers of 0 to 255 with points between, as in 10.0.0.1"
                };
                let message = format!("`{text}` isn't an IPv4 address");
                bad_value("topology::address", message, hint.to_owned(), node.span, problems)
            }
        }
    }
}

impl FromNode for Ipv6Addr {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let text = scalar("an IPv6 address", "fd00::1", node, owner, problems)?;
        let address: Option<Self> = text.parse().ok();
        let own = |address: &Self| {
            !(address.is_unspecified() || address.is_multicast() || address.is_loopback())
                && address.to_ipv4_mapped().is_none()
        };
        match address {
            Some(address) if own(&address) => Some(address),
            Some(_) => bad_value(
                "topology::address",
                format!("`{text}` can't be a node's own address"),
                "use a unicast address, such as fd00::1".to_owned(),
                node.span,
                problems,
            ),
            None => {
                let message = format!("`{text}` isn't an IPv6 address");
                let hint = "groups of hex digits with colons, as in fd00::1".to_owned();
                bad_value("topology::address", message, hint, node.span, problems)
            }
        }
    }
}

/// Whether a node can have this address: neither multicast, broadcast, loopback nor nothing at all.
fn usable(address: Ipv4Addr) -> bool {
    !(address.is_unspecified() || address.is_broadcast() || address.is_multicast() || address.is_loopback())
}

impl<U: Unit> FromNode for Quantity<U> {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let text = scalar(U::WHAT, U::EXAMPLE, node, owner, problems)?;
        match Self::parse(text) {
            Ok(quantity) => Some(quantity),
            Err(error) => bad_value("topology::quantity", error.message, error.hint, node.span, problems),
        }
    }
}

/// An integer within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Int<const MIN: u64, const MAX: u64>(pub u64);

impl<const MIN: u64, const MAX: u64> FromNode for Int<MIN, MAX> {
    fn from_node(node: &Node, owner: Span, problems: &mut Problems) -> Option<Self> {
        let range = format!("a whole number from {MIN} to {MAX}");
        let text = scalar(&range, &MIN.to_string(), node, owner, problems)?;
        let plain = text.replace('_', "");
        // Octal to YAML 1.1, decimal to YAML 1.2.
        let octal = plain.len() > 1 && plain.starts_with('0') && plain.chars().all(|c| c.is_ascii_digit());
        if octal {
            let decimal = plain.trim_start_matches('0');
            let hint = format!("write {}", if decimal.is_empty() { "0" } else { decimal });
            let message = format!("`{text}` starts with a 0, which some take for an octal number");
            return bad_value("topology::range", message, hint, node.span, problems);
        }
        let value = match plain.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => plain.parse().ok(),
        };
        match value {
            Some(value) if (MIN..=MAX).contains(&value) => Some(Self(value)),
            _ => {
                let numeric = text.trim_start_matches('-').chars().all(|c| c.is_ascii_digit());
                let message = if numeric && !text.is_empty() {
                    format!("{text} is out of range")
                } else {
                    format!("`{text}` isn't a whole number")
                };
                bad_value("topology::range", message, format!("allowed: {MIN} to {MAX}"), node.span, problems)
            }
        }
    }
}

/// Notes that a value is none of the names it could be.
pub(super) fn bad_choice<T>(
    what: &str,
    text: &str,
    names: &[&str],
    span: Span,
    problems: &mut Problems,
) -> Option<T> {
    let list = names.join(", ");
    let hint = match nearest(text, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`? Possible: {list}"),
        None => format!("possible: {list}"),
    };
    bad_value("topology::value", format!("`{text}` isn't {what}"), hint, span, problems)
}

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("NamedOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for Int<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Int{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}
