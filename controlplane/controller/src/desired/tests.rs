use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::Ipv4Addr;

use p4runtime::bytes::decode;
use p4runtime::p4::v1::{Action, ActionProfileGroup, TableEntry, field_match, table_action};

use super::*;
use crate::pipeline::Pipeline;
use crate::pipeline::generated::{constants, tables};
use crate::topology;

fn of(topology: &Topology, switch: &str) -> Desired {
    let pipeline = Pipeline::v1model().expect("usable");
    entries(topology, switch, &pipeline.index).expect("fits")
}

fn example(name: &str) -> Topology {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies").join(name);
    topology::load(&path).expect("accepted")
}

fn table(desired: &Desired, id: u32) -> Vec<&TableEntry> {
    let mut entries = Vec::new();
    for entity in &desired.entities {
        match entity.entity.as_ref() {
            Some(entity::Entity::TableEntry(entry)) if entry.table_id == id => entries.push(entry),
            _ => {}
        }
    }
    entries
}

fn number(octets: &[u8]) -> u64 {
    u64::try_from(decode(octets, 0).expect("a number")).expect("64 bits")
}

fn key(entry: &TableEntry) -> Vec<u64> {
    let value =
        |field: &p4runtime::p4::v1::FieldMatch| match field.field_match_type.as_ref().expect("a match") {
            field_match::FieldMatchType::Exact(exact) => number(&exact.value),
            field_match::FieldMatchType::Lpm(lpm) => number(&lpm.value),
            field_match::FieldMatchType::Range(range) => number(&range.low),
            other => panic!("{other:?}"),
        };
    entry.r#match.iter().map(value).collect()
}

fn params(entry: &TableEntry) -> Vec<u64> {
    match entry.action.as_ref().expect("an action").r#type.as_ref().expect("a kind") {
        table_action::Type::Action(Action { params, .. }) => {
            params.iter().map(|param| number(&param.value)).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// Port that a route leads to through its member; several for a group.
fn routes(desired: &Desired) -> BTreeMap<Ipv4Addr, BTreeSet<u64>> {
    let mut members = BTreeMap::new();
    let mut groups: BTreeMap<u32, &ActionProfileGroup> = BTreeMap::new();
    for entity in &desired.entities {
        match entity.entity.as_ref().expect("an entity") {
            entity::Entity::ActionProfileMember(member) => {
                let action = member.action.as_ref().expect("an action");
                members.insert(member.member_id, number(&action.params[0].value));
            }
            entity::Entity::ActionProfileGroup(group) => {
                groups.insert(group.group_id, group);
            }
            _ => {}
        }
    }
    let ports = |entry: &TableEntry| match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
        Some(table_action::Type::ActionProfileMemberId(id)) => BTreeSet::from([members[id]]),
        Some(table_action::Type::ActionProfileGroupId(id)) => {
            groups[id].members.iter().map(|member| members[&member.member_id]).collect()
        }
        other => panic!("{other:?}"),
    };
    let address = |entry: &TableEntry| Ipv4Addr::from(u32::try_from(key(entry)[0]).expect("32 bits"));
    table(desired, tables::ipv4_route::ID).into_iter().map(|entry| (address(entry), ports(entry))).collect()
}

#[test]
fn incast_gets_what_the_file_says() {
    let desired = of(&example("incast-8to1.yaml"), "s1");
    let dscp: BTreeMap<_, _> = table(&desired, tables::dscp_map::ID)
        .into_iter()
        .map(|entry| (key(entry)[0], params(entry)))
        .collect();
    assert_eq!(
        dscp,
        BTreeMap::from([
            (26, vec![0, u64::from(constants::ROLE_SCHEDULED), 0]),
            (28, vec![0, u64::from(constants::ROLE_UNSCHEDULED), 0]),
            (48, vec![7, u64::from(constants::ROLE_CONTROL), 7]),
        ])
    );
    let trusted: Vec<u64> =
        table(&desired, tables::port_trust::ID).into_iter().map(|entry| key(entry)[0]).collect();
    assert_eq!(trusted, (1..=9).collect::<Vec<_>>());
    let routes = routes(&desired);
    assert_eq!(routes.len(), 9, "the switch itself is no destination of its own");
    assert_eq!(routes[&Ipv4Addr::new(10, 0, 0, 9)], BTreeSet::from([9]));
    let queues = table(&desired, tables::queue_profile::ID);
    assert_eq!(queues.len(), 18, "queues 0 and 7 of nine ports");
    let data: Vec<_> =
        queues.iter().filter(|entry| key(entry) == [9, 0]).map(|entry| params(entry)).collect();
    assert_eq!(data, [[0, 100_000, 1_000_000, 100_000, 10]]);
    let control: Vec<_> =
        queues.iter().filter(|entry| key(entry) == [9, 7]).map(|entry| params(entry)).collect();
    assert_eq!(control, [[1, 900_000, 1_000_000, 900_000, 10]]);
    assert_eq!(table(&desired, tables::congestion_degree::ID).len(), 255, "one profile; none for control");
    let shares = table(&desired, tables::fair_share::ID);
    let eight: Vec<_> =
        shares.iter().filter(|entry| key(entry) == [0, 8]).map(|entry| params(entry)).collect();
    assert_eq!(eight, [[12_500]], "100 Gbit/s over eight flows");
    assert!(shares.iter().all(|entry| entry.priority > 0), "ranges need a priority");
    let reporter = params(table(&desired, tables::reporter::ID)[0]);
    assert_eq!(reporter, [1, u64::from(u32::from(Ipv4Addr::new(10, 255, 0, 1))), 0, 52100, 52101, 52102]);
}

#[test]
fn both_switches_of_the_uplink_route_to_all_hosts_and_to_each_other() {
    let topology = example("uplink.yaml");
    let leaf1 = routes(&of(&topology, "leaf1"));
    assert_eq!(leaf1.len(), 33);
    assert_eq!(leaf1[&Ipv4Addr::new(10, 0, 1, 5)], BTreeSet::from([5]));
    assert_eq!(leaf1[&Ipv4Addr::new(10, 0, 2, 5)], BTreeSet::from([17]));
    assert_eq!(leaf1[&Ipv4Addr::new(10, 255, 0, 2)], BTreeSet::from([17]), "reports' sources are routed");
    let leaf2 = routes(&of(&topology, "leaf2"));
    assert_eq!(leaf2[&Ipv4Addr::new(10, 255, 0, 1)], BTreeSet::from([17]));
    assert_eq!(leaf2[&Ipv4Addr::new(10, 0, 2, 5)], BTreeSet::from([5]));
}

/// Two leaves, two spines, and a detour that is longer than both.
const SPINES: &str = r#"
name: spines
domain:
  ports: { rdcc: 52100, crem: 52101, scone: 52102 }
  dscp:
    - { dscp: 26, role: scheduled, queue: 0 }
    - { dscp: 48, role: control, queue: 7 }
defaults: { link: { rate: 100Gbps, delay: 1us }, profile: p, control_profile: c }
profiles:
  p: { ecn_threshold: 100kB, q_max: 1MB, report_interval: 10us }
  c: { ecn_threshold: 100kB, q_max: 1MB, report_interval: 10us }
switches:
  l1: { target: soft, device_id: 1, reporter_id: 1, address: 10.255.0.1 }
  l2: { target: soft, device_id: 2, reporter_id: 2, address: 10.255.0.2 }
  s1: { target: soft, device_id: 3, reporter_id: 3, address: 10.255.0.3 }
  s2: { target: soft, device_id: 4, reporter_id: 4, address: 10.255.0.4 }
  d1: { target: soft, device_id: 5, reporter_id: 5, address: 10.255.0.5 }
  d2: { target: soft, device_id: 6, reporter_id: 6, address: 10.255.0.6 }
hosts:
  a: { address: 10.0.0.1 }
  b: { address: 10.0.0.2 }
links:
  - { endpoints: ["l1:1", a] }
  - { endpoints: ["l2:1", b], rate: 25Gbps }
  - { endpoints: ["l1:11", "s1:1"] }
  - { endpoints: ["l1:12", "s2:1"] }
  - { endpoints: ["s1:2", "l2:11"] }
  - { endpoints: ["s2:2", "l2:12"] }
  - { endpoints: ["l1:13", "d1:1"] }
  - { endpoints: ["d1:2", "d2:1"] }
  - { endpoints: ["d2:2", "l2:13"] }
"#;

#[test]
fn equal_paths_share_a_group_and_longer_ones_stay_out() {
    let topology = topology::parse("spines", SPINES).expect("accepted");
    let leaf = routes(&of(&topology, "l1"));
    assert_eq!(leaf[&Ipv4Addr::new(10, 0, 0, 2)], BTreeSet::from([11, 12]));
    assert_eq!(leaf[&Ipv4Addr::new(10, 255, 0, 2)], BTreeSet::from([11, 12]));
    assert_eq!(leaf[&Ipv4Addr::new(10, 255, 0, 6)], BTreeSet::from([13]));
    let groups = of(&topology, "l1").entities;
    let groups = groups
        .iter()
        .filter(|entity| matches!(entity.entity.as_ref(), Some(entity::Entity::ActionProfileGroup(_))));
    assert_eq!(groups.count(), 1, "equal sets of ports share a group");
    assert_eq!(topology.rdcc.base_rtt_ns, 8000, "host, leaf, spine, leaf, host: four links of 1 us");
}

/// The service rate is the link's, so that links of two rates have two profiles and two sets of shares.
#[test]
fn profile_numbers_follow_thresholds_and_link_rate() {
    let topology = topology::parse("spines", SPINES).expect("accepted");
    let desired = of(&topology, "l2");
    let reported: Vec<_> = desired.profiles.iter().filter(|profile| profile.reported).collect();
    assert_eq!(
        reported.iter().map(|profile| (profile.number, profile.rate_bps)).collect::<Vec<_>>(),
        [(0, 25_000_000_000), (1, 100_000_000_000)]
    );
    let shares = table(&desired, tables::fair_share::ID);
    let two_flows: Vec<_> = shares
        .iter()
        .filter(|entry| key(entry)[1] == 2)
        .map(|entry| (key(entry)[0], params(entry)[0]))
        .collect();
    assert_eq!(two_flows, [(0, 12_500), (1, 50_000)]);
    let numbers: BTreeMap<_, _> = table(&desired, tables::queue_profile::ID)
        .into_iter()
        .map(|entry| (key(entry), params(entry)[0]))
        .collect();
    assert_eq!((numbers[&vec![1, 0]], numbers[&vec![11, 0]], numbers[&vec![12, 0]]), (0, 1, 1));
    assert_eq!(table(&desired, tables::congestion_degree::ID).len(), 2 * 255);
}

#[test]
fn more_profiles_than_fit_are_refused_before_anything_is_written() {
    let mut text = SPINES.replace("  - { endpoints: [\"l2:1\", b], rate: 25Gbps }\n", "");
    for extra in 0..9 {
        let (host, port) = (format!("x{extra}"), 100 + extra);
        text = text.replace("links:\n", &format!("  {host}: {{ address: 10.0.1.{} }}\nlinks:\n", extra + 1));
        writeln!(text, "  - {{ endpoints: [\"l2:{port}\", {host}], rate: {}Gbps }}", extra + 1)
            .expect("writes");
    }
    text.push_str("  - { endpoints: [\"l2:1\", b] }\n");
    let topology = topology::parse("many", &text).expect("accepted");
    let pipeline = Pipeline::v1model().expect("usable");
    let error = entries(&topology, "l2", &pipeline.index).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "switch `l2` would need 10 of the combinations of thresholds and link rate that reports are sent about, \
         and holds 8"
    );
    assert!(matches!(entries(&topology, "l9", &pipeline.index), Err(DesiredError::NoSwitch(_))));
}

#[test]
fn reports_about_a_port_may_take_half_a_percent_of_its_rate() {
    let desired = of(&example("incast-8to1.yaml"), "s1");
    let configs: Vec<_> = desired
        .entities
        .iter()
        .filter_map(|entity| match entity.entity.as_ref()? {
            entity::Entity::MeterEntry(entry) => entry.config,
            _ => None,
        })
        .collect();
    assert_eq!(configs.len(), 9);
    assert_eq!((configs[0].cir, configs[0].cburst), (548_245, 64), "500 Mbit/s of 114-octet reports");
    assert_eq!(
        (configs[0].pir, configs[0].pburst),
        (configs[0].cir, configs[0].cburst),
        "green or red, never yellow"
    );
}

/// RDCC, On-Path Congestion Reporting, in cells: for every depth the table's degree is the formula's for the cells that
/// threshold and limit are rounded down to, and reports start exactly where the cells hold more octets than `B_th`.
#[test]
fn a_tofinos_degrees_are_the_formulas_in_cells() {
    let panel = "target: tofino, tofino: { chip: tofino2 },";
    let topology =
        topology::parse("spines", &SPINES.replace("l2: { target: soft,", &format!("l2: {{ {panel}")))
            .expect("accepted");
    let desired = of(&topology, "l2");
    assert!(desired.meters_are_rounded);
    let queue: Vec<_> = table(&desired, tables::queue_profile::ID)
        .into_iter()
        .filter(|entry| key(entry) == [1, 0])
        .map(params)
        .collect();
    let (cell, b_th, q_max) = (176, 100_000 / 176, 1_000_000 / 176);
    assert_eq!(queue, [[0, b_th, q_max, b_th, 10]], "10 us are 9.8 units of 1,024 ns, rounded up");
    let ranges: Vec<(u64, u64, u64)> = table(&desired, tables::congestion_degree::ID)
        .into_iter()
        .filter(|entry| key(entry)[0] == 0)
        .map(|entry| {
            let Some(field_match::FieldMatchType::Range(range)) = &entry.r#match[1].field_match_type else {
                panic!("a range")
            };
            (number(&range.low), number(&range.high), params(entry)[0])
        })
        .collect();
    for depth in (b_th..q_max + 3).chain([(1 << 19) - 1]) {
        let excess = depth - b_th;
        let hits: Vec<u64> = ranges
            .iter()
            .filter(|(low, high, _)| (*low..=*high).contains(&excess))
            .map(|hit| hit.2)
            .collect();
        let formula = (255 * excess / (q_max - b_th)).min(255);
        assert_eq!(hits, if formula == 0 { vec![] } else { vec![formula] }, "{depth} cells");
        assert_eq!(excess > 0, depth * cell > 100_000);
    }
}

#[test]
fn thresholds_within_a_cell_are_refused() {
    let close = SPINES
        .replace("l2: { target: soft,", "l2: { target: tofino,")
        .replace("p: { ecn_threshold: 100kB, q_max: 1MB,", "p: { ecn_threshold: 100000B, q_max: 100079B,");
    let topology = topology::parse("spines", &close).expect("accepted");
    let pipeline = Pipeline::v1model().expect("usable");
    let error = entries(&topology, "l2", &pipeline.index).expect_err("refused");
    assert_eq!(error.to_string(), "profile `p`: `b_th` and `q_max` are less than a cell of 80 octets apart");
    entries(&topology, "l1", &pipeline.index).expect("octets are told apart");
}
