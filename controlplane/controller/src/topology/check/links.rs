//! Cables between nodes, and link aggregation groups of them.

use std::collections::{HashMap, HashSet};

use super::super::decode::{self, Located, Problems};
use super::super::values::{self, EndpointPort};
use super::super::{End, Link, Peer, PeerNode, PortRef, Problem, Rate, Span, Time, raw};
use super::nodes::{Kind, Nodes};

/// What is already taken, and by which group: ports by (switch, port), hosts by (name, none).
type Taken = HashMap<(String, Option<u16>), (Span, Option<usize>)>;

/// A link of the file, or a member of one.
struct Cable<'a> {
    raw: &'a raw::Link,
    ends: &'a Located<raw::Ends>,
    /// The link aggregation group that it is a member of.
    lag: Option<usize>,
}

fn cables<'a>(file: &'a raw::File, problems: &mut Problems) -> Vec<Cable<'a>> {
    let mut cables = Vec::new();
    let mut groups = 0;
    for Located { value: raw, span } in file.links.iter().flatten() {
        match (&raw.endpoints, &raw.members) {
            (Some(ends), None) => cables.push(Cable { raw, ends, lag: None }),
            (None, Some(members)) => {
                if members.value.len() < 2 {
                    problems.push(
                        Problem::error("topology::lag", "a group has two members or more")
                            .at(members.span, format!("{} here", members.value.len()))
                            .hint("add the others, or write the one as `endpoints`"),
                    );
                }
                let lag = Some(groups);
                cables.extend(members.value.iter().map(|ends| Cable { raw, ends, lag }));
                groups += 1;
            }
            (Some(ends), Some(members)) => problems.push(
                Problem::error("topology::endpoints", "a link has `endpoints` or `members`, not both")
                    .at(members.span, "a group of links")
                    .at(ends.span, "a single link")
                    .hint("keep one of the two"),
            ),
            (None, None) if raw.refused.contains(&"endpoints") || raw.refused.contains(&"members") => {}
            (None, None) => {
                decode::missing_keys(&[("endpoints", "[\"s1:1\", h1]")], "a link", *span, problems);
            }
        }
    }
    cables
}

/// Reads the links into `nodes`.
pub(super) fn read(
    file: &raw::File,
    kinds: &HashMap<&str, Kind>,
    nodes: &mut Nodes,
    problems: &mut Problems,
) {
    let mut taken = Taken::new();
    let complete = file.hosts.is_some() && file.switches.is_some();
    // Hosts that a link names, even one that is refused: those aren't unlinked besides.
    let mut mentioned: HashSet<&str> = HashSet::new();
    let mut without = Lacking::default();
    let mut groups = Groups::default();
    for Cable { raw, ends: endpoints, lag } in cables(file, problems) {
        mentioned.extend(endpoints.value.iter().map(|end| end.value.node.as_str()));
        let spans: Vec<Span> = endpoints.value.iter().map(|end| end.span).collect();
        let ends: Vec<Option<End>> = endpoints
            .value
            .iter()
            .map(|end| check_end(end, lag, kinds, complete, &mut taken, nodes, problems))
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
        if let (End::Port(one), End::Port(other)) = (first, second)
            && one.switch == other.switch
        {
            problems.push(
                Problem::error(
                    "topology::endpoints",
                    format!("both ends of this link are on `{}`", one.switch),
                )
                .at(spans[1], "the same switch")
                .at(spans[0], "as here")
                .hint("a link joins two nodes: name another switch, or a host"),
            );
            continue;
        }
        if let Some(lag) = lag {
            groups.join(lag, [first, second], endpoints.span, problems);
        }
        let (Some(rate_bps), Some(delay_ns)) = (rate, delay) else { continue };
        nodes.link_spans.push(endpoints.span);
        let (ends, loss_ppm) = ([first.clone(), second.clone()], loss(file, raw));
        connect(nodes, Link { ends, rate_bps, delay_ns, loss_ppm, lag });
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

/// The two nodes that the members of each group join.
#[derive(Default)]
struct Groups(HashMap<usize, ([String; 2], Span)>);

impl Groups {
    fn join(&mut self, lag: usize, ends: [&End; 2], span: Span, problems: &mut Problems) {
        let mut nodes = ends.map(|end| match end {
            End::Port(port) => port.switch.clone(),
            End::Host(name) => name.clone(),
        });
        nodes.sort();
        let (first, at) = self.0.entry(lag).or_insert_with(|| (nodes.clone(), span));
        if *first != nodes {
            let [one, other] = first;
            problems.push(
                Problem::error("topology::lag", "the members of a group join different nodes")
                    .at(span, format!("{} and {}", nodes[0], nodes[1]))
                    .at(*at, format!("{one} and {other}"))
                    .hint(format!("every member has one end at `{one}` and one at `{other}`")),
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

fn loss(file: &raw::File, raw: &raw::Link) -> [u32; 2] {
    let default = file.defaults.as_ref().and_then(|defaults| defaults.link.as_ref()?.loss);
    let parts =
        raw.loss.or(default).map(|loss| loss.0.map(|part| u32::try_from(part.get()).unwrap_or(u32::MAX)));
    parts.unwrap_or_default()
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
    lag: Option<usize>,
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
    let before = taken.get(&(node.clone(), port));
    // A host hangs on all members of one group.
    let same_group = |(_, other): &&(Span, Option<usize>)| port.is_none() && lag.is_some() && *other == lag;
    if before.is_some_and(|first| same_group(&first)) {
        return Some(named);
    }
    if let Some((first, _)) = before {
        let what = port.map_or_else(|| format!("host `{node}`"), |port| format!("port {port} of `{node}`"));
        let hint = if port.is_some() {
            free_port(node, taken).map_or_else(String::new, |free| format!("\"{node}:{free}\" is free"))
        } else {
            "a host has one link, or several as `members` of one".to_owned()
        };
        problems.push(
            Problem::error("topology::port_used_twice", format!("{what} is linked twice"))
                .at(end.span, "again here")
                .at(*first, "first here")
                .hint(hint),
        );
        return None;
    }
    taken.insert((node.clone(), port), (end.span, lag));
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

/// The switch ports that each host hangs on, and their links.
pub(super) fn attachments(links: &[Link]) -> HashMap<&str, Vec<(&PortRef, usize)>> {
    let mut attachments: HashMap<&str, Vec<_>> = HashMap::new();
    for (index, link) in links.iter().enumerate() {
        if let [End::Host(name), End::Port(port)] | [End::Port(port), End::Host(name)] = &link.ends {
            attachments.entry(name.as_str()).or_default().push((port, index));
        }
    }
    attachments
}
