//! Switches, hosts and the links between them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::Ipv4Addr;

use super::super::decode::{Located, Named, Problems};
use super::super::values::{self, EndpointPort};
use super::super::{
    DEFAULT_CLONE_PORT, End, Host, Link, Peer, PeerNode, PortOptions, PortRef, Problem, Rate, Size, Span,
    Switch, Time, Trust, raw,
};

/// Nodes and links that passed.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub switches: BTreeMap<String, Switch>,
    pub hosts: BTreeMap<String, Host>,
    pub links: Vec<Link>,
    /// Where each link's ends stand.
    pub link_spans: Vec<Span>,
}

/// What an operator calls a node, for messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Switch,
    Host,
}

pub(super) fn check(file: &raw::File, problems: &mut Problems) -> Nodes {
    let empty_switches = Named::default();
    let empty_hosts = Named::default();
    let switches = file.switches.as_ref().unwrap_or(&empty_switches);
    let hosts = file.hosts.as_ref().unwrap_or(&empty_hosts);
    let kinds = names(switches, hosts, problems);
    super::unique::check(switches, hosts, problems);
    let mut nodes = Nodes::default();
    for (name, raw) in &switches.0 {
        if let Some(switch) = raw.as_ref().and_then(|raw| switch(raw, problems)) {
            nodes.switches.insert(name.value.clone(), switch);
        }
    }
    links(file, &kinds, &mut nodes, problems);
    let attachments = attachments(&nodes.links);
    for (name, raw) in &hosts.0 {
        let Some(address) = raw.as_ref().and_then(|raw| raw.address.as_ref()) else { continue };
        let mac = raw.as_ref().and_then(|raw| raw.mac.as_ref()).map(|mac| mac.value.0);
        let Some((port, link)) = attachments.get(name.value.as_str()) else { continue };
        nodes.hosts.insert(
            name.value.clone(),
            Host {
                address: address.value,
                mac: mac.unwrap_or_else(|| derived_mac(address.value)),
                attachment: (*port).clone(),
                ipv6: raw.as_ref().and_then(|raw| raw.ipv6.as_ref()).map(|ipv6| ipv6.value),
                gateway_for: raw
                    .as_ref()
                    .and_then(|raw| raw.gateway_for.as_ref())
                    .map(|prefix| prefix.value.0),
                link: *link,
            },
        );
    }
    super::gateways::check(hosts, &nodes, problems);
    nodes
}

/// 02:00 (locally administered) and the address, so that a host's MAC is the same on every run.
pub(super) fn derived_mac(address: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = address.octets();
    [0x02, 0x00, a, b, c, d]
}

fn names<'a>(
    switches: &'a Named<raw::Switch>,
    hosts: &'a Named<raw::Host>,
    problems: &mut Problems,
) -> HashMap<&'a str, Kind> {
    let mut kinds: HashMap<&str, (Kind, Span)> = HashMap::new();
    let all = switches.0.iter().map(|(name, _)| (name, Kind::Switch));
    for (name, kind) in all.chain(hosts.0.iter().map(|(name, _)| (name, Kind::Host))) {
        if !is_plain(&name.value) {
            problems.push(
                Problem::error(
                    "topology::name",
                    format!("`{}` can't be a node's name", name.value.escape_debug()),
                )
                .at(name.span, "")
                .hint(NAME_RULE),
            );
        }
        match kinds.get(name.value.as_str()) {
            Some((other, first)) if *other != kind => problems.push(
                Problem::error("topology::name", format!("`{}` is both a switch and a host", name.value))
                    .at(name.span, "again here")
                    .at(*first, "first here")
                    .hint("links name nodes, so a name can stand for one of them only"),
            ),
            // Twice among the hosts or among the switches: the decoder has said so.
            Some(_) => {}
            None => {
                kinds.insert(&name.value, (kind, name.span));
            }
        }
    }
    kinds.into_iter().map(|(name, (kind, _))| (name, kind)).collect()
}

fn switch(raw: &raw::Switch, problems: &mut Problems) -> Option<Switch> {
    if let Some(address) = &raw.p4runtime {
        let valid = address.value.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok_and(|port| port > 0)
        });
        if !valid {
            problems.push(
                Problem::error("topology::p4runtime", format!("`{}` isn't host:port", address.value))
                    .at(address.span, "")
                    .hint("write where the P4Runtime server listens, as in 127.0.0.1:9559"),
            );
        }
    }
    Some(Switch {
        target: raw.target?.0,
        device_id: raw.device_id.as_ref()?.value.0,
        reporter_id: u32::try_from(raw.reporter_id.as_ref()?.value.0).ok()?,
        address: raw.address.as_ref()?.value,
        p4runtime: raw.p4runtime.as_ref().map(|address| address.value.clone()),
        clone_port: match &raw.clone_port {
            Some(port) => u16::try_from(port.value.0).ok()?,
            None => DEFAULT_CLONE_PORT,
        },
        ipv6: raw.ipv6.as_ref().map(|ipv6| ipv6.value),
        port_options: raw.ports.as_ref().map(|ports| port_options(ports, problems)).unwrap_or_default(),
        ports: BTreeMap::new(),
    })
}

fn port_options(raw: &Named<raw::Port>, problems: &mut Problems) -> BTreeMap<u16, PortOptions> {
    let mut options = BTreeMap::new();
    for (number, raw) in &raw.0 {
        let Some(port) = number.value.parse::<u16>().ok().filter(|port| *port <= super::super::MAX_PORT)
        else {
            problems.push(
                Problem::error("topology::port", format!("`{}` isn't a port number", number.value))
                    .at(number.span, "")
                    .hint(format!("ports are 0 to {}", super::super::MAX_PORT)),
            );
            continue;
        };
        let Some(raw) = raw else { continue };
        let profile = raw.profile.as_ref().map(|profile| profile.value.clone());
        options
            .insert(port, PortOptions { profile, trust: raw.trust.map_or(Trust::Trusted, |trust| trust.0) });
    }
    options
}

/// What is already taken: ports by (switch, port), hosts by (name, none).
type Taken = HashMap<(String, Option<u16>), Span>;

fn links(file: &raw::File, kinds: &HashMap<&str, Kind>, nodes: &mut Nodes, problems: &mut Problems) {
    let mut taken = Taken::new();
    let complete = file.hosts.is_some() && file.switches.is_some();
    // Hosts that a link names, even one that is refused: those aren't unlinked besides.
    let mut mentioned: HashSet<&str> = HashSet::new();
    let mut without = Lacking::default();
    for raw in file.links.iter().flatten() {
        let Some(endpoints) = &raw.endpoints else { continue };
        mentioned.extend(endpoints.value.iter().map(|end| end.value.node.as_str()));
        let spans: Vec<Span> = endpoints.value.iter().map(|end| end.span).collect();
        let ends: Vec<Option<End>> = endpoints
            .value
            .iter()
            .map(|end| check_end(end, kinds, complete, &mut taken, nodes, problems))
            .collect();
        let (rate, delay) = (rate(file, raw), delay(file, raw));
        without.note(file, raw, endpoints.span, rate.is_none(), delay.is_none());
        let [Some(first), Some(second)] = ends.as_slice() else {
            if endpoints.value.len() != 2 && ends.iter().all(Option::is_some) {
                problems.push(
                    Problem::error("topology::endpoints", "a link has two ends")
                        .at(endpoints.span, format!("{} here", endpoints.value.len()))
                        .hint("write `endpoints: [\"s1:1\", h1]`"),
                );
            }
            continue;
        };
        if let (End::Host(one), End::Host(other)) = (first, second) {
            problems.push(
                Problem::error("topology::endpoints", format!("no switch between `{one}` and `{other}`"))
                    .at(spans[0], "a host")
                    .at(spans[1], "a host")
                    .hint("one end at least is a switch port, written \"switch:port\""),
            );
            continue;
        }
        let (Some(rate_bps), Some(delay_ns)) = (rate, delay) else { continue };
        nodes.link_spans.push(endpoints.span);
        connect(nodes, Link { ends: [first.clone(), second.clone()], rate_bps, delay_ns });
    }
    without.report(problems);
    for (name, raw) in file.hosts.iter().flat_map(|hosts| &hosts.0) {
        if raw.is_some() && file.links.is_some() && !mentioned.contains(name.value.as_str()) {
            problems.push(
                Problem::error("topology::unlinked_host", format!("host `{}` has no link", name.value))
                    .at(name.span, "hangs on nothing")
                    .hint(format!("add `- {{ endpoints: [\"switch:port\", {}] }}` to `links`", name.value)),
            );
        }
    }
}

fn rate(file: &raw::File, raw: &raw::Link) -> Option<u64> {
    let default = file.defaults.as_ref().and_then(|defaults| defaults.link.as_ref()?.rate);
    raw.rate.or(default).map(Rate::get)
}

fn delay(file: &raw::File, raw: &raw::Link) -> Option<u64> {
    let default = file.defaults.as_ref().and_then(|defaults| defaults.link.as_ref()?.delay);
    raw.delay.or(default).map(|delay| Time::get(delay.0))
}

/// Links that neither have a rate or delay nor a default for it; reported once, since one line cures all.
#[derive(Default)]
struct Lacking {
    rate: Vec<Span>,
    delay: Vec<Span>,
}

impl Lacking {
    fn note(&mut self, file: &raw::File, raw: &raw::Link, span: Span, no_rate: bool, no_delay: bool) {
        for (lacks, key, spans) in [(no_rate, "rate", &mut self.rate), (no_delay, "delay", &mut self.delay)] {
            // What was given and refused has been reported, here or under `defaults`.
            let refused = raw.refused.contains(&key)
                || file.defaults.as_ref().is_some_and(|defaults| {
                    defaults.refused.contains(&"link")
                        || defaults.link.as_ref().is_some_and(|link| link.refused.contains(&key))
                });
            if lacks && !refused {
                spans.push(span);
            }
        }
    }

    fn report(self, problems: &mut Problems) {
        for (key, example, spans) in [("rate", "100Gbps", self.rate), ("delay", "2us", self.delay)] {
            let Some(first) = spans.first() else { continue };
            let message = match spans.len() {
                1 => format!("a link has no {key}, and there is no default"),
                count => format!("{count} links have no {key}, and there is no default"),
            };
            problems.push(
                Problem::error("topology::missing_key", message)
                    .at(*first, format!("no {key} here"))
                    .hint(format!("add `{key}: {example}` to `link` under `defaults`, or to each link")),
            );
        }
    }
}

fn check_end(
    end: &Located<values::Endpoint>,
    kinds: &HashMap<&str, Kind>,
    complete: bool,
    taken: &mut Taken,
    nodes: &Nodes,
    problems: &mut Problems,
) -> Option<End> {
    let node = &end.value.node;
    let port = match end.value.port {
        EndpointPort::None => None,
        EndpointPort::Number(port) => Some(port),
        EndpointPort::Refused => return None,
    };
    let Some(kind) = kinds.get(node.as_str()) else {
        // Without all the names none can be called unknown.
        if !complete {
            return None;
        }
        let name = Located { value: node.clone(), span: end.span };
        let mut names: Vec<&str> = kinds.keys().copied().collect();
        names.sort_unstable();
        values::unknown("topology::unknown_node", "node", &name, names.into_iter(), problems);
        return None;
    };
    let named = match (kind, port) {
        (Kind::Switch, Some(port)) => End::Port(PortRef { switch: node.clone(), port }),
        (Kind::Host, None) => End::Host(node.clone()),
        (Kind::Switch, None) => {
            problems.push(
                Problem::error("topology::endpoints", format!("which port of switch `{node}`?"))
                    .at(end.span, "a switch without a port")
                    .hint(format!("write \"{node}:1\"; ports are 0 to {}", super::super::MAX_PORT)),
            );
            return None;
        }
        (Kind::Host, Some(_)) => {
            problems.push(
                Problem::error("topology::endpoints", format!("host `{node}` has no ports"))
                    .at(end.span, "")
                    .hint(format!("write `{node}`: a host has one link")),
            );
            return None;
        }
    };
    if let Some(first) = taken.get(&(node.clone(), port)) {
        let what = port.map_or_else(|| format!("host `{node}`"), |port| format!("port {port} of `{node}`"));
        let hint = if port.is_some() {
            free_port(node, taken).map_or_else(String::new, |free| format!("\"{node}:{free}\" is free"))
        } else {
            "a host has one link".to_owned()
        };
        problems.push(
            Problem::error("topology::port_used_twice", format!("{what} is linked twice"))
                .at(end.span, "again here")
                .at(*first, "first here")
                .hint(hint),
        );
        return None;
    }
    taken.insert((node.clone(), port), end.span);
    let clone_port = nodes.switches.get(node).map(|switch| switch.clone_port);
    if port.is_some() && port == clone_port {
        problems.push(
            Problem::error(
                "topology::clone_port",
                format!("`{}` is the port that reports are cloned to", named_port(node, port)),
            )
            .at(end.span, "can't carry a link")
            .hint(format!("use another port, or set `clone_port` of `{node}` to one without a link")),
        );
        return None;
    }
    Some(named)
}

fn named_port(node: &str, port: Option<u16>) -> String {
    port.map_or_else(|| node.to_owned(), |port| format!("{node}:{port}"))
}

fn free_port(switch: &str, taken: &Taken) -> Option<u16> {
    (1..super::super::MAX_PORT).find(|port| !taken.contains_key(&(switch.to_owned(), Some(*port))))
}

fn connect(nodes: &mut Nodes, link: Link) {
    let index = nodes.links.len();
    for (near, far) in [(&link.ends[0], &link.ends[1]), (&link.ends[1], &link.ends[0])] {
        let End::Port(PortRef { switch, port }) = near else { continue };
        let node = match far {
            End::Host(name) => PeerNode::Host(name.clone()),
            End::Port(other) => PeerNode::Switch(other.switch.clone(), other.port),
        };
        if let Some(switch) = nodes.switches.get_mut(switch) {
            switch.ports.insert(*port, Peer { node, link: index });
        }
    }
    nodes.links.push(link);
}

/// The switch port that each host hangs on, and its link.
fn attachments(links: &[Link]) -> HashMap<&str, (&PortRef, usize)> {
    let mut attachments = HashMap::new();
    for (index, link) in links.iter().enumerate() {
        if let [End::Host(name), End::Port(port)] | [End::Port(port), End::Host(name)] = &link.ends {
            attachments.insert(name.as_str(), (port, index));
        }
    }
    attachments
}

impl Nodes {
    /// Rate of the fastest access link in bit/s.
    pub fn fastest_access(&self) -> u64 {
        let rates =
            self.hosts.values().filter_map(|host| self.links.get(host.link)).map(|link| link.rate_bps);
        rates.max().unwrap_or(0)
    }

    /// Rate of the slowest link in bit/s.
    pub fn slowest(&self) -> u64 {
        self.links.iter().map(|link| link.rate_bps).min().unwrap_or(0)
    }
}

/// Octets that a rate carries in a time: the bandwidth-delay product.
pub(super) fn product(rate_bps: u64, time_ns: u64) -> u64 {
    let octets = u128::from(rate_bps) * u128::from(time_ns) / 8_000_000_000;
    u64::try_from(octets).unwrap_or(u64::MAX).min(Size::new(u64::from(u32::MAX)).get())
}

/// What [`is_plain`] demands.
pub(super) const NAME_RULE: &str =
    "a name is 1 to 64 letters, digits, `-`, `_` and `.`, and starts with no `.`";

/// Whether a name can stand in a link, a file's name and an address of a page without being taken for anything else.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=64).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('.')
}
