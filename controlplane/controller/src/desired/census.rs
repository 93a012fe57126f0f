//! How many entries the switches need. Routes are most of them, one for each address on each switch, then come the tables of
//! profiles: they are counted here without being made, so that checking a file takes no longer for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use p4runtime::P4InfoIndex;

use super::builder::{Act, Builder};
use super::{DesiredError, Parts, check_capacity, find, profiles, routes, table_needs};
use crate::pipeline::generated::tables;
use crate::topology::{Fabric, Host, Topology};

/// What every switch of a topology needs, as [`super::entries`] makes it.
#[derive(Debug)]
pub struct Census<'a> {
    topology: &'a Topology,
    fabric: Fabric<'a>,
    /// By the name of a switch: the hosts that are attached to it.
    attached: HashMap<&'a str, Vec<&'a Host>>,
}

/// Addresses of both kinds.
#[derive(Clone, Copy, Debug, Default)]
struct Addresses {
    ipv4: usize,
    ipv6: usize,
}

impl<'a> Census<'a> {
    /// Of a checked topology.
    pub fn new(topology: &'a Topology) -> Self {
        let mut attached: HashMap<&str, Vec<&Host>> = HashMap::new();
        for host in topology.hosts.values() {
            attached.entry(host.attachment.switch.as_str()).or_default().push(host);
        }
        Self { topology, fabric: Fabric::new(topology), attached }
    }

    /// How many entities a switch needs.
    ///
    /// # Errors
    /// Those of [`super::entries`].
    pub fn entities(&self, name: &str, index: &P4InfoIndex) -> Result<usize, DesiredError> {
        let builder = Builder { index };
        let Parts { before_routes, after_routes, profiles } = Parts::of(self.topology, name, builder)?;
        let (_, switch) = find(self.topology, name)?;
        let mut needed: BTreeMap<u32, usize> = BTreeMap::new();
        let mut entities = 0;
        for (entity, _) in before_routes.iter().chain(&after_routes) {
            entities += 1;
            if let Some(table) = table_needs(entity) {
                *needed.entry(table).or_default() += 1;
            }
        }
        let (members_and_groups, addresses) = self.routes(name);
        let routes = [
            (tables::ipv4_route::NAME, addresses.ipv4, IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            (tables::ipv6_route::NAME, addresses.ipv6, IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
        ];
        if members_and_groups > 0 {
            // One of each shows whether the program has them, and as we write them.
            routes::member(0, 0, builder)?;
        }
        for (table, addresses, any) in routes.into_iter().filter(|(_, addresses, _)| *addresses > 0) {
            routes::route(any, Act::Member(1), builder)?;
            *needed.entry(index.tables.find(table)?.id).or_default() += addresses;
        }
        for (table, count) in profiles::count(self.topology, name, switch, &profiles, builder)? {
            // None are asked for of a table that the program may not have.
            if count > 0 {
                *needed.entry(index.tables.find(table)?.id).or_default() += count;
                entities += count;
            }
        }
        check_capacity(name, needed, index)?;
        Ok(entities + members_and_groups + addresses.ipv4 + addresses.ipv6)
    }

    /// Members and groups of next hops, and the addresses that are reached over them.
    fn routes(&self, name: &str) -> (usize, Addresses) {
        let topology = self.topology;
        let mut members: BTreeSet<u16> = BTreeSet::new();
        let mut groups: BTreeSet<Vec<u16>> = BTreeSet::new();
        let mut addresses = Addresses::default();
        let mut over = |ports: &mut dyn Iterator<Item = u16>, reached: Addresses| {
            let ports: Vec<u16> = ports.collect();
            if ports.is_empty() {
                return;
            }
            addresses.ipv4 += reached.ipv4;
            addresses.ipv6 += reached.ipv6;
            members.extend(&ports);
            if ports.len() > 1 {
                groups.insert(ports);
            }
        };
        let toward = self.fabric.ports_toward_each(name).unwrap_or_default();
        for (other, ports) in self.fabric.names().iter().zip(toward) {
            // None lead to the switch itself.
            let Some(switch) = topology.switches.get(*other) else { continue };
            let hosts = self.attached.get(other).map_or(&[][..], Vec::as_slice);
            let ipv6 = hosts.iter().filter(|host| host.ipv6.is_some()).count();
            let reached =
                Addresses { ipv4: 1 + hosts.len(), ipv6: usize::from(switch.ipv6.is_some()) + ipv6 };
            over(&mut ports.into_iter(), reached);
        }
        for host in self.attached.get(name).into_iter().flatten() {
            let reached = Addresses { ipv4: 1, ipv6: usize::from(host.ipv6.is_some()) };
            over(&mut host.ports.iter().copied(), reached);
        }
        let ports = topology.switches.get(name).map(|switch| &switch.ports);
        members.retain(|port| ports.is_some_and(|ports| ports.contains_key(port)));
        (members.len() + groups.len(), addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desired::{entries, groups};
    use crate::pipeline::Pipeline;
    use crate::topology;

    /// Aggregated links to a host and between switches, and addresses of both kinds.
    const BUNDLES: &str = r#"
name: bundles
domain:
  ports: { rdcc: 52100, crem: 52101, scone: 52102 }
  dscp: [{ dscp: 26, role: scheduled, queue: 0 }, { dscp: 48, role: control, queue: 7 }]
defaults: { link: { rate: 100Gbps, delay: 1us }, profile: p, control_profile: c }
profiles:
  p: { ecn_threshold: 100kB, q_max: 1MB, report_interval: 10us }
  c: { ecn_threshold: 100kB, q_max: 1MB, report_interval: 10us }
switches:
  l1: { target: soft, device_id: 1, reporter_id: 1, address: 10.255.0.1, ipv6: "fd00::1:1" }
  l2: { target: soft, device_id: 2, reporter_id: 2, address: 10.255.0.2 }
  far: { target: soft, device_id: 3, reporter_id: 3, address: 10.255.0.3 }
hosts:
  a: { address: 10.0.0.1, ipv6: "fd00::1" }
  b: { address: 10.0.0.2, ipv6: "fd00::2" }
  c: { address: 10.0.0.3 }
links:
  - { members: [["l1:1", a], ["l1:2", a]] }
  - { members: [["l1:3", "l2:3"], ["l1:4", "l2:4"]] }
  - { endpoints: ["l2:1", b] }
  - { endpoints: ["l2:2", c] }
  - { endpoints: ["l2:5", "far:1"] }
"#;

    /// What is counted is what would be made, on switches of every example and of a fabric with aggregated links and IPv6.
    #[test]
    fn counted_without_being_made() {
        let pipeline = Pipeline::v1model().expect("usable");
        let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies");
        let files = std::fs::read_dir(examples).expect("there").map(|file| file.expect("read").path());
        let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        let mut topologies: Vec<Topology> =
            files.map(|path| topology::load(&path).expect("accepted")).collect();
        topologies.push(topology::parse("bundles", BUNDLES).expect("accepted"));
        let (mut switches, mut several) = (0, 0);
        for topology in &topologies {
            let census = Census::new(topology);
            // Of large ones, some of each row.
            for name in topology.switches.keys().step_by(topology.switches.len().div_ceil(12)) {
                let made = entries(topology, name, &pipeline.index).expect("fits");
                let counted = census.entities(name, &pipeline.index).expect("fits");
                assert_eq!(counted, made.entities.len(), "{name} of {}", topology.name);
                switches += 1;
                several += groups(topology, name).len();
            }
        }
        assert!(switches > 20 && several > 4, "{switches} switches, {several} groups");
    }

    /// A table that can't hold its entries is refused in the same words.
    #[test]
    fn what_does_not_fit_is_refused_alike() {
        let mut info = Pipeline::v1model().expect("usable").index.info().clone();
        let route = info.tables.iter_mut().find(|table| {
            table.preamble.as_ref().is_some_and(|known| known.name == tables::ipv4_route::NAME)
        });
        route.expect("known").size = 3;
        let index = P4InfoIndex::new(info).expect("usable");
        let topology = topology::parse("bundles", BUNDLES).expect("accepted");
        let counted = Census::new(&topology).entities("l1", &index).expect_err("refused").to_string();
        assert_eq!(counted, "switch `l1` would need 5 of table `ipv4_route`, and holds 3");
        assert_eq!(counted, entries(&topology, "l1", &index).expect_err("refused").to_string());
    }
}
