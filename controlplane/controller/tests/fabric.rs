//! Link aggregation, subnets, the aggregate limit of reports and Alternate Marking: what the YAML says becomes entries.

#![allow(clippy::expect_used, reason = "clippy knows test functions, not the helpers beside them")]

use std::collections::BTreeMap;

use controller::describe::{self, Described};
use controller::pipeline::Pipeline;
use controller::topology::{self, Fabric, Origin, ReportLimit, Topology};
use controller::{desired, diff};

const TEXT: &str = "\
name: t
domain:
  ports: { rdcc: 52100, crem: 52101, scone: 52102 }
  dscp:
    - { dscp: 26, role: scheduled, queue: 0 }
    - { dscp: 48, role: control, class: 7, queue: 7 }
defaults: { link: { rate: 100Gbps, delay: 1us }, profile: p, control_profile: c }
profiles:
  p: { ecn_threshold: 100kB, q_max: 1MB, report_interval: 10us }
  w: { ecn_threshold: 200kB, q_max: 1MB, report_interval: 10us }
  c: { ecn_threshold: 900kB, q_max: 1MB, report_interval: 10us }
switches:
  l1: { target: soft, device_id: 1, reporter_id: 1, address: 10.255.0.1, subnets: [10.0.1.0/24, \"fd01::/64\"] }
  l2: { target: soft, device_id: 2, reporter_id: 2, address: 10.255.0.2, subnets: [10.0.2.0/24] }
  sp: { target: soft, device_id: 3, reporter_id: 3, address: 10.255.0.3 }
hosts:
  a: { address: 10.0.1.1, ipv6: \"fd01::1\" }
  b: { address: 10.0.2.1, ipv6: \"fd02::1\" }
links:
  - { members: [[\"l1:1\", a], [\"l1:2\", a]] }
  - { endpoints: [\"l2:1\", b] }
  - { members: [[\"l1:3\", \"sp:1\"], [\"sp:2\", \"l1:4\"]], rate: 400Gbps }
  - { endpoints: [\"l2:3\", \"sp:3\"] }
";

const MARKING: &str = "\
marking:
  period: 1048576us
  flows:
    - { name: bulk, from: a, to: b, flow_mon_id: 7, protocol: udp, destination_port: 4791 }
    - { name: back, from: b, to: a }
";

fn parse(text: &str) -> Topology {
    topology::parse("t.yaml", text).unwrap_or_else(|errors| panic!("{}", errors.render(100, false)))
}

fn refused(text: &str) -> String {
    topology::parse("t.yaml", text).expect_err("refused").render(100, false)
}

fn changed(from: &str, to: &str) -> String {
    let text = TEXT.replacen(from, to, 1);
    assert_ne!(text, TEXT, "{from}");
    text
}

fn held(topology: &Topology, switch: &str) -> Vec<Described> {
    let pipeline = Pipeline::v1model().expect("usable");
    let desired = desired::entries(topology, switch, &pipeline.index).expect("fits");
    desired.entities.iter().map(|entity| describe::describe(&pipeline.index, entity)).collect()
}

/// Key and call of each entry of an object.
fn of(topology: &Topology, switch: &str, object: &str) -> BTreeMap<String, String> {
    let key = |described: &Described| {
        described.key.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    };
    held(topology, switch)
        .iter()
        .filter(|described| described.object == object)
        .map(|described| (key(described), described.call()))
        .collect()
}

#[test]
fn members_of_a_group_have_profile_and_meter_each_and_routes_go_over_all_of_them() {
    let topology = parse(TEXT);
    assert_eq!(topology.links.len(), 6, "as many as there are cables");
    assert_eq!(topology.links.iter().filter_map(|link| link.lag).collect::<Vec<_>>(), [0, 0, 1, 1]);
    let host = &topology.hosts["a"];
    assert_eq!((host.attachment.to_string(), host.ports.as_slice()), ("l1:1".to_owned(), &[1, 2][..]));
    let meters = of(&topology, "l1", "report_meter");
    assert_eq!(meters.len(), 4);
    assert!(
        meters["index 1"].contains("rate 548245"),
        "0.5 % of 100 Gbit/s in reports of 114 octets: {meters:?}"
    );
    assert!(meters["index 3"].contains("rate 2192982"), "the group's own rate: {meters:?}");
    assert_eq!(of(&topology, "l1", "queue_profile").len(), 4 * 2, "queues 0 and 7 of each");
    let routes = of(&topology, "l1", "ipv4_route");
    assert_eq!(routes["dst_addr 10.0.1.1/32"], "group 1", "{routes:?}");
    assert_eq!(routes["dst_addr 10.0.2.1/32"], "group 2", "{routes:?}");
    let groups = of(&topology, "l1", "ecmp");
    assert!(groups["group 1"].contains("members 2 3"), "{groups:?}");
    assert!(groups["group 2"].contains("members 4 5"), "{groups:?}");
    assert_eq!(topology.rdcc.base_rtt_ns, 8_000, "a group is no detour");
}

#[test]
fn groups_whose_members_do_not_belong_together_are_refused() {
    let said = refused(&changed("[\"l1:2\", a]", "[\"l2:2\", a]"));
    assert!(
        said.contains("members of a group join different nodes") && said.contains("one at `l1`"),
        "{said}"
    );
    let said = refused(&changed(", [\"l1:2\", a]]", "]"));
    assert!(said.contains("a group has two members or more"), "{said}");
    let said = refused(&changed(
        "- { members: [[\"l1:1\", a], [\"l1:2\", a]] }",
        "- { members: [[\"l1:1\", a], [\"l1:1\", a]] }",
    ));
    assert!(said.contains("port 1 of `l1` is linked twice"), "{said}");
    let said = refused(&(TEXT.to_owned() + "  - { endpoints: [\"l2:9\", a] }\n"));
    assert!(said.contains("host `a` is linked twice") && said.contains("as `members` of one"), "{said}");
    let said = refused(&(TEXT.to_owned() + "  - { endpoints: [\"l2:9\", b], members: [] }\n"));
    assert!(said.contains("has `endpoints` or `members`, not both"), "{said}");
    let said = refused(&(TEXT.to_owned() + "  - { rate: 1Gbps }\n"));
    assert!(said.contains("a link lacks `endpoints`"), "{said}");
}

#[test]
fn members_of_a_group_have_the_same_options() {
    let options =
        |ports: &str| changed("address: 10.255.0.1,", &format!("address: 10.255.0.1, ports: {ports},"));
    let said = refused(&options("{ 3: { profile: w } }"));
    assert!(said.contains("ports 3 and 4 of `l1` are of one group and differ"), "{said}");
    let said = refused(&options("{ 3: { report_limit: 1% }, 4: { report_limit: 2% } }"));
    assert!(said.contains("ports 3 and 4"), "{said}");
    parse(&options("{ 3: { profile: w }, 4: { profile: w } }"));
}

#[test]
fn the_aggregate_limit_is_the_ports_own_else_the_profiles_else_half_a_per_cent() {
    let rate = |text: &str, port: u16| {
        let topology = parse(text);
        let meters = of(&topology, "l2", "report_meter");
        meters[&format!("index {port}")].clone()
    };
    assert!(rate(TEXT, 1).contains("rate 548245"), "{}", rate(TEXT, 1));
    let profile = changed(
        "q_max: 1MB, report_interval: 10us }",
        "q_max: 1MB, report_interval: 10us, report_limit: 1% }",
    );
    assert!(rate(&profile, 1).contains("rate 1096491"), "{}", rate(&profile, 1));
    let own = profile
        .replace("address: 10.255.0.2,", "address: 10.255.0.2, ports: { 1: { report_limit: 91200kbps } },");
    assert!(rate(&own, 1).contains("rate 100000"), "{}", rate(&own, 1));
    assert!(rate(&own, 3).contains("rate 1096491"), "{}", rate(&own, 3));
    assert_eq!(parse(&own).report_limit("l2", 1), ReportLimit::Rate(91_200_000));
    let said = refused(&profile.replace("report_limit: 1%", "report_limit: 0%"));
    assert!(said.contains("lets no report out"), "{said}");
    let said = refused(&profile.replace("report_limit: 1%", "report_limit: 5"));
    assert!(said.contains("`5` has no unit"), "{said}");
    let warnings = |limit: &str| {
        let topology = parse(&profile.replace("report_limit: 1%", &format!("report_limit: {limit}")));
        topology.warnings.iter().map(|warning| warning.code).collect::<Vec<_>>()
    };
    assert_eq!(warnings("0.5%"), Vec::<&str>::new());
    assert_eq!(warnings("0.6%"), ["topology::report_budget"]);
    assert_eq!(warnings("500Mbps"), Vec::<&str>::new());
    assert_eq!(warnings("501Mbps"), ["topology::report_budget"]);
}

/// The meter counts packets, so its rate follows from the longest report that the switch may send: what it lets through is
/// never more than the limit, whatever kind it is of.
#[test]
fn the_aggregate_limit_holds_for_the_longest_kind_of_report() {
    let path = "  reports: { path: { interval: 100us } }\n  dscp:";
    let advice = "  reports: { rate_advice: { interval: 100us } }\n  dscp:";
    let ipv6 = "address: 10.255.0.2, ipv6: \"fd00::2\",";
    for (reports, address, octets) in [
        ("  dscp:", "address: 10.255.0.2,", 114),
        (advice, "address: 10.255.0.2,", 114),
        (path, "address: 10.255.0.2,", 130),
        ("  dscp:", ipv6, 158),
        (path, ipv6, 174),
    ] {
        let text = TEXT.replacen("  dscp:", reports, 1).replacen("address: 10.255.0.2,", address, 1);
        let meters = of(&parse(&text), "l2", "report_meter");
        let rate = 500_000_000 / (octets * 8);
        assert!(meters["index 1"].contains(&format!("rate {rate}/s")), "{octets}: {meters:?}");
    }
}

#[test]
fn hosts_lie_in_the_subnets_of_their_switch() {
    parse(TEXT);
    for (from, to, wanted) in [
        ("a: { address: 10.0.1.1", "a: { address: 10.0.3.1", "an address of 10.0.1.0/24"),
        ("ipv6: \"fd01::1\"", "ipv6: \"fd03::1\"", "an address of fd01::/64"),
        ("a: { address: 10.0.1.1", "a: { address: 10.0.1.0", "the first or the last address of 10.0.1.0/24"),
        ("a: { address: 10.0.1.1", "a: { address: 10.0.1.255", "the first or the last"),
        ("subnets: [10.0.2.0/24]", "subnets: [10.0.0.0/16]", "hold the same addresses"),
    ] {
        let said = refused(&changed(from, to));
        assert!(said.contains(wanted), "{to}: {said}");
    }
}

#[test]
fn a_policy_about_nobody_is_warned_of_unless_there_is_a_boundary() {
    let policies = "policies: { source_rates: [{ from: 10.0.9.0/24, rate: 1Gbps }], acl: [{ action: deny, to: 10.0.1.0/24 }] }\n";
    let text = TEXT.to_owned() + policies;
    let codes = |text: &str| parse(text).warnings.iter().map(|warning| warning.code).collect::<Vec<_>>();
    assert_eq!(codes(&text), ["topology::policy_about_nobody"]);
    let boundary =
        text.replace("address: 10.255.0.2,", "address: 10.255.0.2, ports: { 1: { trust: boundary } },");
    assert_eq!(codes(&boundary), Vec::<&str>::new());
    assert_eq!(codes(&text.replace("10.0.9.0/24", "0.0.0.0/0")), Vec::<&str>::new());
}

#[test]
fn marked_flows_are_known_all_along_their_way_marked_at_its_start_and_unmarked_at_its_end() {
    let text = TEXT.to_owned() + MARKING;
    let topology = parse(&text);
    let marking = topology.marking.as_ref().expect("there");
    assert_eq!(marking.period_log2, 20);
    assert_eq!(marking.flows.iter().map(|flow| flow.flow_mon_id).collect::<Vec<_>>(), [7, 2]);
    let marked = |switch: &str| {
        let flows = of(&topology, switch, "marking_flow");
        flows
            .into_iter()
            .filter(|(key, _)| key.contains("flow_mon_id"))
            .map(|(_, call)| call)
            .collect::<Vec<_>>()
    };
    for switch in ["l1", "sp", "l2"] {
        let mut calls = marked(switch);
        calls.sort();
        assert_eq!(calls, ["set_marking(flow 0)", "set_marking(flow 1)"], "{switch}");
    }
    let unmarked = |switch: &str| {
        let flows = of(&topology, switch, "marking_flow");
        flows.into_iter().filter(|(key, _)| key.contains("src_addr")).collect::<Vec<_>>()
    };
    let [(key, call)] = &unmarked("l1")[..] else { panic!("{:?}", unmarked("l1")) };
    for part in ["fd01::1", "fd02::1", "17", "4791"] {
        assert!(key.contains(part), "{part}: {key}");
    }
    assert_eq!(call, "set_marking(flow 0)");
    assert_eq!(unmarked("sp"), []);
    let edges = of(&topology, "l1", "marking_edge");
    assert_eq!(edges.len(), 4, "both ports of the host's group, in and out: {edges:?}");
    assert_eq!(
        edges
            .values()
            .filter(|call| **call == "set_edge(operation 1, flow_mon_id 7, period_log2 20)")
            .count(),
        2
    );
    assert_eq!(
        edges
            .values()
            .filter(|call| **call == "set_edge(operation 2, flow_mon_id 2, period_log2 20)")
            .count(),
        2
    );
    assert!(of(&topology, "sp", "marking_edge").is_empty());
    let place = topology.place(&Origin::MarkedFlow(1)).expect("in the file");
    assert_eq!(text.lines().nth(place.line - 1), Some("    - { name: back, from: b, to: a }"));
    // Left out again, the entries go: the tables are ours.
    let pipeline = Pipeline::v1model().expect("usable");
    let before = desired::entries(&topology, "sp", &pipeline.index).expect("fits");
    let after = desired::entries(&parse(TEXT), "sp", &pipeline.index).expect("fits");
    assert_eq!(diff::changes(&after, &before.entities).len(), 2);
}

/// Marks from outside are taken off where they enter the domain; a switch does so for the flows that it knows.
#[test]
fn a_switch_at_the_boundary_knows_all_marks() {
    let aside = TEXT
        .replace("hosts:\n", "  l3: { target: soft, device_id: 4, reporter_id: 4, address: 10.255.0.4 }\nhosts:\n  c: { address: 10.0.3.1 }\n")
        + "  - { endpoints: [\"l3:1\", c] }\n  - { endpoints: [\"l3:2\", \"sp:4\"] }\n"
        + MARKING;
    assert!(of(&parse(&aside), "l3", "marking_flow").is_empty(), "on no flow's way");
    let boundary =
        aside.replace("address: 10.255.0.4 }", "address: 10.255.0.4, ports: { 1: { trust: boundary } } }");
    let flows = of(&parse(&boundary), "l3", "marking_flow");
    assert_eq!(flows.len(), 2, "{flows:?}");
    assert!(flows.keys().all(|key| key.contains("flow_mon_id") && !key.contains("src_addr")), "{flows:?}");
    assert!(of(&parse(&boundary), "l3", "marking_edge").is_empty());
}

/// The switches can mark so fast; reading all their counters four times a period takes the controller longer.
#[test]
fn periods_that_nobody_can_collect_are_warned_of() {
    let text = TEXT.to_owned() + MARKING;
    let codes = |period: &str| {
        let parsed = parse(&text.replace("period: 1048576us", period));
        parsed.warnings.iter().map(|warning| warning.code).filter(|code| *code == "topology::marking").count()
    };
    assert_eq!((codes("period: 131072us"), codes("period: 65536us")), (0, 1));
}

#[test]
fn marking_that_could_not_work_is_refused() {
    let text = TEXT.to_owned() + MARKING;
    for (from, to, wanted) in [
        ("period: 1048576us", "period: 1s", "near it: 524288us or 1048576us"),
        ("from: a, to: b", "from: x, to: b", "there is no host `x`"),
        ("from: b, to: a", "from: b, to: b", "hang on the same switch"),
        (
            "a: { address: 10.0.1.1, ipv6: \"fd01::1\" }",
            "a: { address: 10.0.1.1 }",
            "`a` has no IPv6 address",
        ),
        ("name: back", "name: bulk", "two marked flows have the name bulk"),
        ("flow_mon_id: 7", "flow_mon_id: 2", "two marked flows have the flow_mon_id 2"),
        ("flow_mon_id: 7", "flow_mon_id: 1048576", "out of range"),
        ("  - { endpoints: [\"l2:3\", \"sp:3\"] }\n", "", "there is no path from `a` to `b`"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let said = refused(&changed);
        assert!(said.contains(wanted), "{to}: {said}");
    }
}

/// One search from a switch finds the ports that a search from each destination finds: equal paths of a fat-tree and of
/// leaves and spines, aggregated links, a switch that nothing leads to.
#[test]
fn ports_toward_each_are_those_of_every_search_by_itself() {
    let shape = |text: &str| {
        let end = TEXT.find("switches:").expect("the nodes");
        parse(&format!("{}generate: {text}\n", &TEXT[..end]))
    };
    let lonely = changed(
        "hosts:",
        "  far: { target: soft, device_id: 9, reporter_id: 9, address: 10.255.0.9 }\nhosts:",
    );
    let topologies = [
        parse(TEXT),
        parse(&lonely),
        shape("{ shape: fat-tree, k: 6 }"),
        shape("{ shape: leaf-spine, leaves: 5, spines: 3, hosts_per_leaf: 2 }"),
    ];
    for topology in topologies {
        let fabric = Fabric::new(&topology);
        for from in fabric.names() {
            let found = fabric.ports_toward_each(from).expect("a switch of the fabric");
            for (to, ports) in fabric.names().iter().zip(found) {
                let distances = fabric.distances(to).expect("a switch of the fabric");
                let wanted = fabric.next_ports(from, &distances);
                assert_eq!(ports.into_iter().collect::<Vec<u16>>(), wanted, "{from} to {to}");
            }
        }
        assert_eq!(fabric.ports_toward_each("nobody"), None);
    }
}

/// What leaves each end of a link is lost by itself; members of a group lose alike; what isn't said, the default says.
#[test]
fn each_direction_of_a_link_has_its_loss() {
    let loss = |from: &str, to: &str, links: usize| {
        let topology = parse(&changed(from, to));
        topology.links[..links].iter().map(|link| link.loss_ppm).collect::<Vec<_>>()
    };
    let a = "[[\"l1:1\", a], [\"l1:2\", a]]";
    let with = |loss: &str| format!("{a}, loss: {loss}");
    assert_eq!(loss(a, &with("[0.1%, 5ppm]"), 3), [[1000, 5], [1000, 5], [0, 0]]);
    assert_eq!(loss(a, &with("2%"), 2), [[20_000; 2]; 2]);
    assert_eq!(loss(a, &with("[0%, 99.9999%]"), 1), [[0, 999_999]]);
    assert_eq!(loss("delay: 1us }", "delay: 1us, loss: [1%, 0%] }", 1), [[10_000, 0]]);
    for (wrong, right) in [
        ("100%", "at most 999999ppm"),
        ("[0%, 100%]", "at most 999999ppm"),
        ("1", "a fraction needs one of ppm, %"),
        ("[1%]", "a link has two directions, and 1 parts are given"),
        ("[1%, 1%, 1%]", "write one part for both, as in 0.1%, or two, as in [0.1%, 0%]"),
        ("-1%", "can't be negative"),
        ("{ out: 1% }", "expected a fraction, found a mapping"),
    ] {
        let said = refused(&changed(a, &with(wrong)));
        assert!(said.contains(right), "{wrong}: {said}");
    }
}
