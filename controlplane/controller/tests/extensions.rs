//! What the YAML can say beyond the plain fabric: IPv6, ports, policies, shapes, and the checks that go with them.

#![allow(clippy::expect_used, reason = "clippy knows test functions, not the helpers beside them")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv6Addr;

use controller::describe::{self, Described};
use controller::pipeline::Pipeline;
use controller::topology::{self, Origin, Topology, TopologyErrors, Trust};
use controller::{desired, diff};

const HEAD: &str = "\
name: t
domain:
  ports: { rdcc: 52100, crem: 52101, scone: 52102 }
  dscp:
    - { dscp: 26, role: scheduled, class: 3, queue: 0 }
    - { dscp: 48, role: control, class: 7, queue: 7 }
defaults: { link: { rate: 100Gbps, delay: 1us }, profile: p, control_profile: c }
profiles:
  p: { ecn_threshold: 100kB, q_max: 1MB, report_interval: 10us }
  c: { ecn_threshold: 900kB, q_max: 1MB, report_interval: 10us }
";

const NODES: &str = "\
switches:
  s1: { target: soft, device_id: 1, reporter_id: 1, address: 10.255.0.1, ipv6: \"fd00::ffff\", ports: { 2: { profile: w, trust: boundary } } }
hosts:
  a: { address: 10.0.0.1, ipv6: \"fd00::1\" }
  b: { address: 10.0.0.2 }
links:
  - { endpoints: [\"s1:1\", a] }
  - { endpoints: [\"s1:2\", b] }
";

fn text() -> String {
    HEAD.replace("  c: {", "  w: { ecn_threshold: 200kB, q_max: 2MB, report_interval: 10us }\n  c: {") + NODES
}

fn parse(text: &str) -> Topology {
    topology::parse("t.yaml", text).unwrap_or_else(|errors| panic!("{}", errors.render(100, false)))
}

fn refused(text: &str) -> TopologyErrors {
    topology::parse("t.yaml", text).expect_err("refused")
}

fn held(topology: &Topology, switch: &str) -> Vec<Described> {
    let pipeline = Pipeline::v1model().expect("usable");
    let desired = desired::entries(topology, switch, &pipeline.index).expect("fits");
    assert_eq!(desired.entities.len(), desired.origins.len());
    desired.entities.iter().map(|entity| describe::describe(&pipeline.index, entity)).collect()
}

/// Key and call of each entry of an object.
fn of(all: &[Described], object: &str) -> BTreeMap<String, String> {
    let key = |described: &Described| {
        described.key.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    };
    all.iter()
        .filter(|described| described.object == object)
        .map(|described| (key(described), described.call()))
        .collect()
}

#[test]
fn ports_have_profiles_and_trust_of_their_own() {
    let topology = parse(&text());
    assert_eq!(topology.profile_name("s1", 1, 0), Some("p"));
    assert_eq!(topology.profile_name("s1", 2, 0), Some("w"));
    assert_eq!(topology.profile_name("s1", 2, 7), Some("c"), "control queues keep theirs");
    assert_eq!(topology.switches["s1"].port_options[&2].trust, Trust::Boundary);
    let all = held(&topology, "s1");
    assert_eq!(
        of(&all, "port_trust").into_keys().collect::<Vec<_>>(),
        ["ingress_port 1"],
        "a boundary has no entry"
    );
    assert!(of(&all, "queue_profile")["egress_port 2, queue 0"].contains("q_max 2000000"));
}

#[test]
fn ipv6_addresses_are_routed_and_the_reporter_has_one() {
    let topology = parse(&text());
    let all = held(&topology, "s1");
    assert_eq!(of(&all, "ipv6_route")["dst_addr fd00::1/128"], "member 2");
    assert_eq!(of(&all, "ipv4_route").len(), 2);
    assert!(of(&all, "reporter")[""].contains("ipv6_address fd00::ffff"));
    let ipv6: Ipv6Addr = "fd00::ffff".parse().expect("an address");
    assert!(topology.domain.crn_addresses_v6.contains(&ipv6));
}

#[test]
fn policies_become_entries_in_the_order_of_the_file() {
    let text = text()
        + "policies:
  source_rates:
    - { from: 10.0.0.0/24, rate: 10Gbps }
    - { from: \"fd00::/64\", rate: 5Gbps, class: 3 }
  queue_pair_rates: [{ to: 10.0.0.2, qp: 17, rate: 1Gbps }]
  acl:
    - { action: permit, from: 10.0.0.1, protocol: udp, destination_port: 4791 }
    - { action: deny, to: 10.0.0.0/24 }
  report_to: [{ sources: 10.0.0.0/24, address: 10.0.0.2 }]
  source_check: true
";
    let topology = parse(&text);
    let all = held(&topology, "s1");
    let rates = of(&all, "source_rate_policy");
    assert_eq!(rates.len(), 4, "classes 0, 3 and 7 for the first, 3 for the second: {rates:?}");
    assert_eq!(rates["traffic_class 3, src_addr fd00::/64"], "set_source_rate(rate 5000)");
    assert_eq!(rates["traffic_class 0, src_addr ::ffff:10.0.0.0/120"], "set_source_rate(rate 10000)");
    assert_eq!(of(&all, "qp_rate_policy")["dst_addr ::ffff:10.0.0.2, dest_qp 17"], "set_qp_rate(rate 1000)");
    assert_eq!(of(&all, "acl").into_values().collect::<Vec<_>>().len(), 2);
    assert_eq!(of(&all, "csf_address").len(), 1);
    let checks = of(&all, "source_check");
    assert_eq!(checks["ingress_port 1"], "set_source_valid(valid 0)", "everybody else");
    assert_eq!(checks["ingress_port 1, src_addr fd00::1/128"], "set_source_valid(valid 1)");
    assert_eq!(checks.len(), 5);
    let place = topology.place(&Origin::Policy("acl", 1)).expect("in the file");
    assert_eq!(text.lines().nth(place.line - 1), Some("    - { action: deny, to: 10.0.0.0/24 }"));
    let pipeline = Pipeline::v1model().expect("usable");
    let desired = desired::entries(&topology, "s1", &pipeline.index).expect("fits");
    let priorities: Vec<i32> = desired
        .entities
        .iter()
        .filter_map(|entity| match entity.entity.as_ref()? {
            p4runtime::p4::v1::entity::Entity::TableEntry(entry) => {
                let acl = pipeline.index.tables.find("acl").expect("there").id;
                (entry.table_id == acl).then_some(entry.priority)
            }
            _ => None,
        })
        .collect();
    assert_eq!(priorities, [2, 1], "the first decides");
}

/// Leaving a section out takes its entries back; a default action is set back to the program's own.
#[test]
fn what_is_taken_out_of_the_file_is_taken_out_of_the_switch() {
    let with = text().replace(
        "  dscp:",
        "  reports: { path: { interval: 100us }, rate_advice: { interval: 50us, floor: 2Gbps }, rate_signal: { kind: 7 } }\n  dscp:",
    );
    let pipeline = Pipeline::v1model().expect("usable");
    let entries = |text: &str| desired::entries(&parse(text), "s1", &pipeline.index).expect("fits");
    let all = held(&parse(&with), "s1");
    assert_eq!(of(&all, "path_report")[""], "set_path_report(interval 100)");
    assert_eq!(of(&all, "rate_advice")[""], "set_rate_advice(interval 50, floor 2000)");
    assert_eq!(of(&all, "rate_signal")[""], "set_rate_signal(type 7, floor 1)");
    let lines: Vec<String> = diff::changes(&entries(&text()), &entries(&with).entities)
        .iter()
        .map(|change| {
            format!("{} {}", describe::kind(change).sign(), describe::line(&pipeline.index, change))
        })
        .collect();
    assert_eq!(
        lines,
        [
            // Without PATH_REPORTs the longest report is shorter, so more fit the limit.
            "~ report_meter index 1: rate 359195/s => 395569/s",
            "~ report_meter index 2: rate 359195/s => 395569/s",
            "- path_report: set_path_report(interval 100)",
            "- rate_advice: set_rate_advice(interval 50, floor 2000)",
            "- rate_signal: set_rate_signal(type 7, floor 1)",
        ]
    );
}

#[test]
fn policies_that_could_never_match_are_refused_with_what_would_be_right() {
    let text = text()
        + "policies:
  source_rates: [{ from: 10.0.0.7/24, rate: 10Gbps }]
  acl: [{ action: deny, from: 10.0.0.0/24, to: \"fd00::/64\" }, { action: drop }]
  report_to: [{ sources: 10.0.0.0/24, address: \"fd00::1\" }]
";
    let text = refused(&text).render(100, false);
    for said in [
        "did you mean 10.0.0.0/24?",
        "different families: nothing matches",
        "`drop` isn't an acl action",
        "sources and address are of different families",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn port_options_need_a_link_and_a_profile_that_exists() {
    let text = text()
        .replace("ports: { 2: { profile: w, trust: boundary } }", "ports: { 5: { profile: v }, x: {} }");
    let said = refused(&text).render(100, false);
    assert!(said.contains("`x` isn't a port number"), "{said}");
    let text = text.replace(", x: {}", "");
    let said = refused(&text).render(100, false);
    assert!(
        said.contains("there is no profile `v`") && said.contains("port 5 of `s1` has no link"),
        "{said}"
    );
}

#[test]
fn octet_admission_on_a_lossless_class_must_be_said() {
    let lossless = text().replace("  dscp:", "  lossless_classes: [3]\n  dscp:");
    let said = refused(&lossless).render(100, false);
    assert!(said.contains("class 3 is lossless"), "{said}");
    let meant = lossless.replace("report_interval: 10us }", "report_interval: 10us, drop_lossless: true }");
    assert_eq!(parse(&meant).domain.lossless_classes.len(), 1);
    parse(&text().replace("  dscp:", "  lossless_classes: [4]\n  dscp:"));
}

#[test]
fn thresholds_that_bmv2_never_reaches_and_reports_that_take_too_much_are_warned_of() {
    let warnings = |text: &str| parse(text).warnings.iter().map(|warning| warning.code).collect::<Vec<_>>();
    assert!(warnings(&text()).is_empty());
    let deep = text()
        .replace("target: soft", "target: bmv2")
        .replace("ecn_threshold: 100kB", "ecn_threshold: 300kB");
    assert_eq!(warnings(&deep), ["topology::bmv2_depth", "topology::bmv2_queues"]);
    let shallow = deep.replace("300kB", "266kB");
    assert_eq!(warnings(&shallow), ["topology::bmv2_queues"], "64 packets of 4,170 octets are 266,880");
    let rated = deep.replace("target: bmv2", "target: bmv2, queues: { rate: 5000pps }");
    assert_eq!(warnings(&rated), ["topology::bmv2_depth", "topology::bmv2_queues"], "nobody can set it");
    let set = rated.replace("target: bmv2", "target: bmv2, thrift: \"127.0.0.1:9090\"");
    assert!(warnings(&set).is_empty());
    let queues = parse(&set).switches["s1"].queues.expect("BMv2's");
    assert_eq!(
        (queues.depth, queues.rate_pps),
        (2_000_000 / 64 + 64, Some(5000)),
        "what the largest q_max needs"
    );
    // 158 octets (IPv6) in 10 us are 126.4 Mbit/s: 0.5 % of 25.28 Gbit/s.
    assert_eq!(warnings(&text().replace("rate: 100Gbps", "rate: 25Gbps")).len(), 2, "of both data profiles");
    assert!(warnings(&text().replace("rate: 100Gbps", "rate: 26Gbps")).is_empty());
    // 114 octets (IPv4): 18.24 Gbit/s.
    let ipv4 = text().replace(", ipv6: \"fd00::ffff\"", "");
    assert_eq!(warnings(&ipv4.replace("rate: 100Gbps", "rate: 18Gbps")).len(), 2);
    assert!(warnings(&ipv4.replace("rate: 100Gbps", "rate: 19Gbps")).is_empty());
}

#[test]
fn shapes_are_written_out_and_routed() {
    let star = parse(&(HEAD.to_owned() + "generate: { shape: star, hosts: 9 }\n"));
    assert_eq!((star.switches.len(), star.hosts.len(), star.links.len()), (1, 9, 9));
    let spines = parse(
        &(HEAD.to_owned()
            + "generate: { shape: leaf-spine, leaves: 4, spines: 2, hosts_per_leaf: 3, uplink: { rate: 400Gbps }, p4runtime: \"127.0.0.1:9559\" }\n"),
    );
    assert_eq!((spines.switches.len(), spines.hosts.len(), spines.links.len()), (6, 12, 12 + 8));
    assert_eq!(spines.switches["spine2"].p4runtime.as_deref(), Some("127.0.0.1:9564"));
    assert_eq!(spines.hosts["h12"].address.to_string(), "10.0.4.3");
    assert_eq!(spines.links.iter().filter(|link| link.rate_bps == 400_000_000_000).count(), 8);
    let routes = of(&held(&spines, "leaf1"), "ipv4_route");
    assert_eq!(routes["dst_addr 10.0.1.1/32"], "member 2");
    assert!(routes["dst_addr 10.0.4.3/32"].starts_with("group "), "both spines: {routes:?}");
    let tree = parse(&(HEAD.to_owned() + "generate: { shape: fat-tree, k: 4 }\n"));
    assert_eq!((tree.switches.len(), tree.hosts.len(), tree.links.len()), (20, 16, 48));
    assert_eq!(tree.rdcc.base_rtt_ns, 12_000, "six links from pod to pod, there and back");
}

#[test]
fn shapes_that_lack_something_say_what() {
    let said =
        refused(&(HEAD.to_owned() + "generate: { shape: leaf-spine, leaves: 4 }\n")).render(100, false);
    assert!(said.contains("lacks `spines`") && said.contains("add `hosts_per_leaf: 16`"), "{said}");
    let said = refused(&(HEAD.to_owned() + "generate: { shape: fat-tree, k: 5 }\n")).render(100, false);
    assert!(said.contains("use 4 or 6"), "{said}");
    let own = "switches: { s1: { target: soft, device_id: 9, reporter_id: 9, address: 10.255.1.1 } }\n";
    let said = refused(&(HEAD.to_owned() + "generate: { shape: star, hosts: 2 }\n" + own)).render(100, false);
    assert!(said.contains("`s1` is the name of a generated node too"), "{said}");
    let mut both = HEAD.to_owned() + "generate: { shape: star, hosts: 2 }\n";
    writeln!(both, "hosts: {{ x: {{ address: 10.9.0.1 }} }}\nlinks: [{{ endpoints: [\"s1:9\", x] }}]")
        .expect("writes");
    assert_eq!(parse(&both).hosts.len(), 3, "one of their own beside the generated ones");
}
