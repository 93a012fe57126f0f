//! Usual shapes, so that a thousand nodes fit on a page: `generate` becomes switches, hosts and links as if they had
//! been written out, all standing where `generate` stands.

use std::net::Ipv4Addr;

use super::super::decode::{Int, Located, Named, Problems};
use super::super::values::{Endpoint, EndpointPort};
use super::super::{Problem, Shape, Span, raw};

/// The file with its generated nodes; `None` if there is nothing to generate.
pub(super) fn expand(file: &raw::File, problems: &mut Problems) -> Option<raw::File> {
    let raw = file.generate.as_ref()?;
    let shape = raw.shape.as_ref()?;
    foreign_keys(raw, shape.value.0, shape.span, problems);
    let mut made = Made { raw, span: shape.span, switches: Vec::new(), hosts: Vec::new(), links: Vec::new() };
    match shape.value.0 {
        Shape::Star => {
            let hosts = made.wanted("hosts", raw.hosts.as_ref(), "8", problems)?;
            made.star(hosts);
        }
        Shape::LeafSpine => {
            let leaves = made.wanted("leaves", raw.leaves.as_ref(), "4", problems);
            let spines = made.wanted("spines", raw.spines.as_ref(), "2", problems);
            let hosts = made.wanted("hosts_per_leaf", raw.hosts_per_leaf.as_ref(), "16", problems);
            made.leaf_spine(leaves?, spines?, hosts?);
        }
        Shape::FatTree => {
            let k = made.wanted("k", raw.k.as_ref(), "4", problems)?;
            if k % 2 == 1 {
                let span = raw.k.as_ref().map_or(shape.span, |k| k.span);
                problems.push(
                    Problem::error("topology::generate", format!("a fat-tree of odd k ({k}) doesn't exist"))
                        .at(span, "")
                        .hint(format!("use {} or {}", k - 1, k + 1)),
                );
                return None;
            }
            made.fat_tree(k);
        }
    }
    ports_end(raw, made.switches.len() as u64, problems);
    let mut file = file.clone();
    let given = |name: &str| {
        let switch = file.switches.iter().flat_map(|all| &all.0).find(|(known, _)| known.value == name);
        let host = file.hosts.iter().flat_map(|all| &all.0).find(|(known, _)| known.value == name);
        switch.map(|(known, _)| known.span).or(host.map(|(known, _)| known.span))
    };
    let names = made.switches.iter().map(|(name, _)| name).chain(made.hosts.iter().map(|(name, _)| name));
    for name in names {
        if let Some(span) = given(&name.value) {
            problems.push(
                Problem::error(
                    "topology::name",
                    format!("`{}` is the name of a generated node too", name.value),
                )
                .at(span, "")
                .at(shape.span, "generated here")
                .hint("give this one another name"),
            );
        }
    }
    file.switches.get_or_insert_with(Named::default).0.extend(made.switches);
    file.hosts.get_or_insert_with(Named::default).0.extend(made.hosts);
    file.links.get_or_insert_with(Vec::new).extend(made.links);
    Some(file)
}

/// Reports sizes that belong to another shape: they would change nothing.
fn foreign_keys(raw: &raw::Generate, shape: Shape, at: Span, problems: &mut Problems) {
    let (name, own): (_, &[&str]) = match shape {
        Shape::Star => ("star", &["hosts"]),
        Shape::LeafSpine => ("leaf-spine", &["leaves", "spines", "hosts_per_leaf"]),
        Shape::FatTree => ("fat-tree", &["k"]),
    };
    let given = [
        ("hosts", raw.hosts.as_ref().map(|size| size.span)),
        ("leaves", raw.leaves.as_ref().map(|size| size.span)),
        ("spines", raw.spines.as_ref().map(|size| size.span)),
        ("hosts_per_leaf", raw.hosts_per_leaf.as_ref().map(|size| size.span)),
        ("k", raw.k.as_ref().map(|size| size.span)),
    ];
    for (key, span) in given {
        let Some(span) = span.filter(|_| !own.contains(&key)) else { continue };
        problems.push(
            Problem::error("topology::generate", format!("a {name} has no `{key}`"))
                .at(span, "changes nothing")
                .at(at, "the shape")
                .hint(format!("sizes of a {name}: {}", own.join(", "))),
        );
    }
}

/// Reports once where the switches' servers would need ports that don't exist, and takes the address for none then.
fn ports_end(raw: &raw::Generate, switches: u64, problems: &mut Problems) {
    for given in [&raw.p4runtime, &raw.thrift].into_iter().flatten() {
        let first = given.value.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        if let Some(first) = first
            && u64::from(first) + switches > u64::from(u16::MAX) + 1
        {
            let last = u64::from(first) + switches - 1;
            let message = format!("{switches} switches from port {first} on would end at port {last}");
            problems.push(
                Problem::error("topology::generate", message)
                    .at(given.span, "the first switch's")
                    .hint(format!("the first is {} at most", u64::from(u16::MAX) + 1 - switches)),
            );
        }
    }
}

struct Made<'a> {
    raw: &'a raw::Generate,
    span: Span,
    switches: Vec<(Located<String>, Option<raw::Switch>)>,
    hosts: Vec<(Located<String>, Option<raw::Host>)>,
    links: Vec<Located<raw::Link>>,
}

impl Made<'_> {
    fn wanted<const MIN: u64, const MAX: u64>(
        &self,
        key: &'static str,
        given: Option<&Located<Int<MIN, MAX>>>,
        example: &str,
        problems: &mut Problems,
    ) -> Option<u32> {
        if let Some(given) = given {
            return u32::try_from(given.value.0).ok();
        }
        // One that was given and refused has been reported.
        if !self.raw.refused.contains(&key) {
            problems.push(
                Problem::error("topology::missing_key", format!("this shape lacks `{key}`"))
                    .at(self.span, format!("`{key}` is missing here"))
                    .hint(format!("add `{key}: {example}`")),
            );
        }
        None
    }

    fn located<T>(&self, value: T) -> Located<T> {
        Located { value, span: self.span }
    }

    /// Switches are numbered in the order in which they are made: address 10.255.0.n, device and reporter id n.
    fn switch(&mut self, name: String) {
        let number = self.switches.len() as u64 + 1;
        let [.., high, low] = number.to_be_bytes();
        let listens = |first: &Option<Located<String>>| {
            let first = first.as_ref()?;
            let numbered = || {
                let (host, port) = first.value.rsplit_once(':')?;
                let port = u16::try_from(u64::from(port.parse::<u16>().ok()?) + number - 1).ok()?;
                Some(self.located(format!("{host}:{port}")))
            };
            // What doesn't look like an address is reported once, with the first switch; ports that end, by `ports_end`.
            numbered().or_else(|| Some(first.clone()).filter(|_| number == 1))
        };
        let switch = raw::Switch {
            target: Some(self.raw.target.unwrap_or(raw::TargetName(super::super::Target::Soft))),
            device_id: Some(self.located(Int(number))),
            reporter_id: Some(self.located(Int(number))),
            address: Some(self.located(Ipv4Addr::new(10, 255, high, low))),
            p4runtime: listens(&self.raw.p4runtime),
            thrift: listens(&self.raw.thrift),
            ..raw::Switch::default()
        };
        self.switches.push((self.located(name), Some(switch)));
    }

    /// The hosts of a group (a leaf, an edge) have addresses 10.x.y.n, x.y being the group's number from 1.
    fn host(&mut self, group: u32, place: u32, switch: &str) {
        let name = format!("h{}", self.hosts.len() + 1);
        let [_, _, high, low] = group.to_be_bytes();
        let [.., last] = place.to_be_bytes();
        let address = Some(self.located(Ipv4Addr::new(10, high, low, last)));
        self.hosts.push((self.located(name.clone()), Some(raw::Host { address, ..raw::Host::default() })));
        self.link((switch, Some(place)), (&name, None), false);
    }

    fn link(&mut self, one: (&str, Option<u32>), other: (&str, Option<u32>), uplink: bool) {
        let end = |(node, port): (&str, Option<u32>)| {
            let number = |port| u16::try_from(port).map_or(EndpointPort::Refused, EndpointPort::Number);
            let port = port.map_or(EndpointPort::None, number);
            self.located(Endpoint { node: node.to_owned(), port })
        };
        let options = self.raw.uplink.as_ref().filter(|_| uplink);
        let link = raw::Link {
            endpoints: Some(self.located(vec![end(one), end(other)])),
            rate: options.and_then(|options| options.rate),
            delay: options.and_then(|options| options.delay),
            loss: options.and_then(|options| options.loss),
            ..raw::Link::default()
        };
        self.links.push(self.located(link));
    }

    fn star(&mut self, hosts: u32) {
        self.switch("s1".to_owned());
        for place in 1..=hosts {
            self.host(1, place, "s1");
        }
    }

    fn leaf_spine(&mut self, leaves: u32, spines: u32, hosts: u32) {
        for leaf in 1..=leaves {
            self.switch(format!("leaf{leaf}"));
        }
        for spine in 1..=spines {
            self.switch(format!("spine{spine}"));
        }
        for leaf in 1..=leaves {
            for place in 1..=hosts {
                self.host(leaf, place, &format!("leaf{leaf}"));
            }
            for spine in 1..=spines {
                let (near, far) = (format!("leaf{leaf}"), format!("spine{spine}"));
                self.link((&near, Some(hosts + spine)), (&far, Some(leaf)), true);
            }
        }
    }

    fn fat_tree(&mut self, k: u32) {
        let half = k / 2;
        for pod in 1..=k {
            for place in 1..=half {
                self.switch(format!("p{pod}e{place}"));
            }
            for place in 1..=half {
                self.switch(format!("p{pod}a{place}"));
            }
        }
        for core in 1..=half * half {
            self.switch(format!("c{core}"));
        }
        for pod in 1..=k {
            for edge in 1..=half {
                let name = format!("p{pod}e{edge}");
                for place in 1..=half {
                    self.host((pod - 1) * half + edge, place, &name);
                }
                for aggregation in 1..=half {
                    let above = format!("p{pod}a{aggregation}");
                    self.link((&name, Some(half + aggregation)), (&above, Some(edge)), true);
                }
            }
            for aggregation in 1..=half {
                let name = format!("p{pod}a{aggregation}");
                for place in 1..=half {
                    let core = format!("c{}", (aggregation - 1) * half + place);
                    self.link((&name, Some(half + place)), (&core, Some(pod)), true);
                }
            }
        }
    }
}
