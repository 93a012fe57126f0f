//! RDCC's parameters, and what a switch is reached by: from the YAML into the topology.

#![allow(clippy::expect_used, reason = "clippy knows test functions, not the helpers beside them")]

use std::fmt::Write as _;
use std::path::Path;

use controller::pipeline::Pipelines;
use controller::topology::{
    self, DeviceFiles, FrontPanel, P4RuntimeServer, RdccHear, RdccOptions, Target, Topology,
};

const TEXT: &str = "\
name: t
domain:
  ports: { rdcc: 52100, crem: 52101, scone: 52102 }
  dscp: [{ dscp: 26, role: scheduled, queue: 0 }, { dscp: 48, role: control, queue: 7 }]
defaults: { link: { rate: 100Gbps, delay: 2us }, profile: p, control_profile: p }
profiles: { p: { ecn_threshold: 100kB, q_max: 1MB, report_interval: 10us } }
generate: { shape: star, hosts: 3 }
";

fn with(more: &str) -> String {
    format!("{TEXT}{more}\n")
}

fn parse(text: &str) -> Topology {
    topology::parse("fabric/t.yaml", text).unwrap_or_else(|errors| panic!("{}", errors.render(100, false)))
}

fn refused(text: &str) -> String {
    topology::parse("fabric/t.yaml", text).expect_err("refused").render(100, false)
}

#[test]
fn what_the_file_does_not_say_is_the_endpoints_own_default() {
    assert_eq!(parse(TEXT).rdcc.options, RdccOptions::default());
}

#[test]
fn every_parameter_has_a_key_with_its_unit() {
    let topology = parse(&with(
        "rdcc: { unit_overhead: 0B, update_interval: 9us, delay_target: 20us, alpha: 2Gbps, beta: 25%, \
         association_credit: 64KiB, max_associations: 128, max_pending_messages: 16, idle_timeout: 5s, \
         loss_threshold: 0.5%, loss_interval: 100ms, opaque_bindings: true, pool_grants: true, \
         sender_backlog_threshold: 32KiB, hear: { ecn: false } }",
    ));
    assert_eq!(
        topology.rdcc.options,
        RdccOptions {
            unit_overhead: Some(0),
            update_interval_ns: Some(9_000),
            delay_target_ns: Some(20_000),
            alpha_bps: Some(2_000_000_000),
            beta_permille: Some(250),
            association_credit: Some(65_536),
            max_associations: Some(128),
            max_pending_messages: Some(16),
            idle_timeout_ns: Some(5_000_000_000),
            loss_threshold_ppm: Some(5_000),
            loss_interval_ns: Some(100_000_000),
            opaque_bindings: Some(true),
            pool_grants: Some(true),
            sender_backlog_threshold: Some(32_768),
            hear: RdccHear { ecn: Some(false), ..RdccHear::default() },
        }
    );
}

/// RDCC, Unscheduled Transmission: U may be 0.
#[test]
fn unscheduled_sending_can_be_switched_off() {
    assert_eq!(parse(&with("rdcc: { unscheduled_limit: 0B }")).rdcc.unscheduled_limit, 0);
    let none = parse(&with("rdcc: { unscheduled_budget: 0B }")).rdcc;
    assert_eq!((none.unscheduled_budget, none.unscheduled_limit), (0, 0));
    assert!(refused(&with("rdcc: { credit_unit: 0B }")).contains("out of range"));
}

#[test]
fn parameters_that_could_not_work_are_refused_on_both_sides_of_each_limit() {
    for (bad, said, good) in [
        ("update_interval: 0us", "isn't an update interval", "update_interval: 8us"),
        ("idle_timeout: 0s", "isn't an idle timeout", "idle_timeout: 1ns"),
        ("loss_interval: 0s", "isn't a loss interval", "loss_interval: 1ns"),
        ("beta: 0%", "isn't a beta", "beta: 0.1%"),
        ("beta: 100.1%", "out of range", "beta: 100%"),
        ("beta: 0.15%", "isn't a beta", "beta: 0.2%"),
        ("loss_threshold: 101%", "out of range", "loss_threshold: 100%"),
        ("association_credit: 4095B", "a single Credit Unit", "association_credit: 4096B"),
        ("max_associations: 0", "out of range", "max_associations: 1"),
    ] {
        let text = refused(&with(&format!("rdcc: {{ {bad} }}")));
        assert!(text.contains(said), "{bad}: {text}");
        assert_eq!(parse(&with(&format!("rdcc: {{ {good} }}"))).warnings, [], "{good}");
    }
    let codes = |text: &str| {
        parse(&with(text))
            .warnings
            .iter()
            .map(|warning| warning.message.clone())
            .collect::<Vec<_>>()
            .join(" ")
    };
    // 4,096 octets at 100 Gbit/s take 327.68 ns.
    assert!(codes("rdcc: { update_interval: 327ns }").contains("more than a link of 100Gbps carries"));
    assert_eq!(codes("rdcc: { update_interval: 328ns }"), "");
    assert!(codes("rdcc: { delay_target: 7us }").contains("below the base RTT"));
    assert_eq!(codes("rdcc: { delay_target: 8us }"), "");
}

#[test]
fn files_of_tls_and_pipeline_are_looked_for_beside_the_topology() {
    let own = "switches: { x: { target: soft, device_id: 9, reporter_id: 9, address: 10.255.9.9, \
               tls: { ca: ca.pem, certificate: c.pem, key: k.pem, name: x.example }, \
               pipeline: { json: /p/x.json, p4info: x.txtpb } } }";
    let text = with(own).replace("defaults: {", "defaults: { tls: { ca: common.pem },");
    let topology = parse(&text);
    let tls = topology.switches["x"].tls.as_ref().expect("given");
    assert_eq!(tls.ca, Path::new("fabric/ca.pem"));
    assert_eq!(tls.identity.as_ref().expect("given").1, Path::new("fabric/k.pem"));
    assert_eq!(tls.name.as_deref(), Some("x.example"));
    assert_eq!(topology.switches["s1"].tls.as_ref().expect("the default").ca, Path::new("fabric/common.pem"));
    let files = topology.switches["x"].pipeline.as_ref().expect("given");
    assert_eq!(files.p4info, Path::new("fabric/x.txtpb"));
    assert_eq!(files.device, DeviceFiles::Json("/p/x.json".into()));
    let problems = Pipelines::load(&topology).expect_err("no such files");
    assert!(problems[0].render(100, false).contains("fabric/x.txtpb can't be read"), "{problems:?}");
    let said = refused(&text.replace(", key: k.pem", ""));
    assert!(said.contains("`certificate` and `key` belong together"), "{said}");
    let said = refused(&with(
        "switches: { x: { target: soft, device_id: 9, reporter_id: 9, address: 10.255.9.9, thrift: \"h:9090\" } }",
    ));
    assert!(said.contains("only BMv2 has a Thrift server"), "{said}");
}

#[test]
fn a_tofino_is_planned_for_only_when_it_is_left_out() {
    let topology = parse(&TEXT.replace("hosts: 3", "hosts: 3, target: tofino"));
    let problems = Pipelines::load_for(&topology, |_| true).expect_err("refused");
    assert_eq!(problems[0].code, "topology::tofino");
    assert!(problems[0].message.contains("no program for the Tofino `s1`"));
    Pipelines::load_for(&topology, |_| false).expect("not among those that are reached");
    Pipelines::load(&topology).expect("it may be validated");
}

#[test]
fn a_tofino_counts_in_its_chips_cells() {
    let text = |chip: &str| {
        with(&format!(
            "switches: {{ x: {{ target: tofino, tofino: {{ {chip} }}, device_id: 9, reporter_id: 9, \
             address: 10.255.9.9 }} }}\nlinks: [{{ endpoints: [\"s1:30\", \"x:1\"] }}]"
        ))
    };
    for (chip, cell, port) in [("", 80, 68), ("chip: tofino", 80, 68), ("chip: tofino2", 176, 6)] {
        let switch = &parse(&text(chip)).switches["x"];
        assert_eq!((switch.units().depth_octets, switch.units().time_ns), (cell, 1024), "{chip}");
        assert_eq!(switch.clone_port, port, "{chip}");
    }
    let switch = &parse(&text("server: p4studio, front_panel: { 1: 5/2 }, buffer: 16MB")).switches["x"];
    let tofino = switch.tofino.as_ref().expect("it is one");
    assert_eq!(tofino.front_panel[&1], FrontPanel { port: 5, channel: 2 });
    assert_eq!((tofino.server, tofino.buffer), (P4RuntimeServer::P4Studio, Some(16_000_000)));
    for (bad, said) in [
        ("front_panel: { 1: 0/0 }", "isn't a place on the front panel"),
        ("front_panel: { 1: 5/9 }", "isn't a place on the front panel"),
        ("front_panel: { 1: 5/1, 2: 5/1 }", "5/1 is port 1 already"),
        ("front_panel: { 511: 5/1 }", "isn't a port number"),
        ("chip: tofino3", "isn't a chip"),
        ("server: onos", "isn't a server"),
    ] {
        assert!(refused(&text(bad)).contains(said), "{bad}: {}", refused(&text(bad)));
    }
    // Where there is no chip, its switch is as if it had been softswitch.
    let run = parse(&text("chip: tofino2")).without_chips();
    assert_eq!((run.switches["x"].units().depth_octets, run.switches["x"].clone_port), (1, 510));
    assert_eq!(run.switches["x"].target, Target::Soft);
    let soft = text("chip: tofino").replace("target: tofino", "target: soft");
    assert!(refused(&soft).contains("only a Tofino has a chip"), "{}", refused(&soft));
}

/// Nine levels of ten aliases each: a thousand million nodes from ten lines.
#[test]
fn too_many_aliases_are_called_that() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let below = level - 1;
        let list = vec![format!("*a{below}"); 10].join(", ");
        writeln!(text, "a{level}: &a{level} [{list}]").expect("writes");
    }
    let said = refused(&text);
    assert!(said.contains("expands to more than is read") && !said.contains("isn't valid YAML"), "{said}");
}
