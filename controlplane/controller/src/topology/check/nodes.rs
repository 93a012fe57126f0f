//! Switches, hosts and the links between them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::Ipv4Addr;
use std::path::Path;

use super::super::decode::{Named, Problems};
use super::super::{Host, Link, Problem, Size, Span, Switch, raw};
use super::{links, subnets, switches};

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
pub(super) enum Kind {
    Switch,
    Host,
}

/// Checks switches, hosts and links; files that they name are looked for in `folder`.
pub(super) fn check(file: &raw::File, folder: &Path, problems: &mut Problems) -> Nodes {
    let empty_switches = Named::default();
    let empty_hosts = Named::default();
    let raw_switches = file.switches.as_ref().unwrap_or(&empty_switches);
    let hosts = file.hosts.as_ref().unwrap_or(&empty_hosts);
    let kinds = names(raw_switches, hosts, problems);
    super::unique::check(raw_switches, hosts, problems);
    let mut nodes = Nodes::default();
    let defaults = switches::Defaults::of(file, folder, problems);
    for (name, raw) in &raw_switches.0 {
        if let Some(switch) = raw.as_ref().and_then(|raw| switches::switch(raw, &defaults, problems)) {
            nodes.switches.insert(name.value.clone(), switch);
        }
    }
    links::read(file, &kinds, &mut nodes, problems);
    let attachments = links::attachments(&nodes.links);
    for (name, raw) in &hosts.0 {
        let Some(address) = raw.as_ref().and_then(|raw| raw.address.as_ref()) else { continue };
        let mac = raw.as_ref().and_then(|raw| raw.mac.as_ref()).map(|mac| mac.value.0);
        let Some(ports) = attachments.get(name.value.as_str()) else { continue };
        let Some((port, link)) = ports.iter().min_by_key(|(port, _)| port.port) else { continue };
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
                ports: ports.iter().map(|(port, _)| port.port).collect::<BTreeSet<_>>().into_iter().collect(),
            },
        );
    }
    super::gateways::check(hosts, &nodes, problems);
    subnets::check(file, &nodes, problems);
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

impl Nodes {
    /// Rate of the fastest access link in bit/s.
    pub fn fastest_access(&self) -> u64 {
        let rates =
            self.hosts.values().filter_map(|host| self.links.get(host.link)).map(|link| link.rate_bps);
        rates.max().unwrap_or(0)
    }

    /// Rate of the slowest access link in bit/s.
    pub fn slowest_access(&self) -> u64 {
        let rates =
            self.hosts.values().filter_map(|host| self.links.get(host.link)).map(|link| link.rate_bps);
        rates.min().unwrap_or(0)
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
