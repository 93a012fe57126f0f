//! `crn inspect`: addresses, ports, ids, groups, limits of reports and marked flows of a topology.

mod groups;
mod json;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use comfy_table::Table;
use controller::desired;
use controller::topology::{
    End, Fraction, Host, MarkedFlow, PeerNode, PortRef, Rate, Size, Time, Topology, Trust,
};
use miette::{IntoDiagnostic as _, Result};

use crate::output::{self, say, table};
use crate::validate;

/// Arguments of `crn inspect`.
#[derive(clap::Args)]
pub struct Args {
    /// Topology file
    #[arg(value_name = "TOPOLOGY")]
    topology: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let topology = output::load_for(&args.topology, args.json)?;
    if args.json {
        say!("{}", serde_json::to_string_pretty(&json::of(&topology)).into_diagnostic()?);
        return Ok(());
    }
    let ports = topology.domain.ports;
    say!("{}", topology.name);
    say!("UDP ports: rdcc {}, crem {}, scone {}\n", ports.rdcc, ports.crem, ports.scone);
    let parts = [
        dscp(&topology),
        switches(&topology),
        ports_in_use(&topology),
        groups::aggregated(&topology),
        groups::spread(&topology),
        hosts(&topology),
        profiles(&topology),
        marked(&topology),
    ];
    for part in parts.into_iter().filter(|part| part.row_count() > 0) {
        say!("{part}\n");
    }
    Ok(())
}

fn dscp(topology: &Topology) -> Table {
    let mut table = table(&["DSCP", "role", "class", "queue"]);
    for entry in &topology.domain.dscp {
        table.add_row([
            entry.dscp.to_string(),
            entry.role.to_string(),
            entry.class.to_string(),
            entry.queue.to_string(),
        ]);
    }
    table
}

fn switches(topology: &Topology) -> Table {
    let mut table =
        table(&["switch", "target", "device", "reporter", "addresses", "clone port", "P4Runtime"]);
    for (name, switch) in &topology.switches {
        table.add_row([
            name.clone(),
            validate::target(switch.target).to_owned(),
            switch.device_id.to_string(),
            switch.reporter_id.to_string(),
            addresses(switch.address, switch.ipv6),
            switch.clone_port.to_string(),
            switch.p4runtime.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table
}

fn ports_in_use(topology: &Topology) -> Table {
    // Most have none, and the page is narrow.
    let lossy = topology.links.iter().flat_map(|link| &link.ends).any(|end| topology.loss_ppm(end) > 0);
    let mut columns = vec!["port", "peer", "rate", "delay", "profile of queue 0", "trust", "reports at most"];
    if lossy {
        columns.push("loses");
    }
    let mut table = table(&columns);
    for (name, switch) in &topology.switches {
        for (port, peer) in &switch.ports {
            let Some(link) = topology.links.get(peer.link) else { continue };
            let limit = limit(topology, name, *port);
            let mut row = vec![
                format!("{name}:{port}"),
                peer_name(&peer.node),
                Rate::new(link.rate_bps).to_string(),
                Time::new(link.delay_ns).to_string(),
                topology.profile_name(name, *port, 0).unwrap_or("-").to_owned(),
                trust(topology, name, *port).to_owned(),
                format!("{}, {}/s", Rate::new(limit.rate_bps), limit.reports_per_second),
            ];
            if lossy {
                let end = End::Port(PortRef { switch: name.clone(), port: *port });
                row.push(Fraction::new(topology.loss_ppm(&end).into()).to_string());
            }
            table.add_row(row);
        }
    }
    table
}

/// What all reports of a port may take.
struct Limit {
    rate_bps: u64,
    /// As the switch's meter counts it.
    reports_per_second: u64,
}

fn limit(topology: &Topology, name: &str, port: u16) -> Limit {
    let switch = topology.switches.get(name);
    let link = switch.and_then(|switch| topology.links.get(switch.ports.get(&port)?.link));
    let rate_bps = topology.report_limit(name, port).of(link.map_or(0, |link| link.rate_bps));
    let reports = |switch| desired::reports_per_second(topology, switch, rate_bps);
    Limit { rate_bps, reports_per_second: switch.map_or(0, reports) }
}

fn trust(topology: &Topology, name: &str, port: u16) -> &'static str {
    let options = topology.switches.get(name).and_then(|switch| switch.port_options.get(&port));
    match options.map_or(Trust::Trusted, |options| options.trust) {
        Trust::Trusted => "trusted",
        Trust::Boundary => "boundary",
    }
}

/// Both addresses of a node.
fn addresses(ipv4: Ipv4Addr, ipv6: Option<Ipv6Addr>) -> String {
    ipv6.map_or_else(|| ipv4.to_string(), |ipv6| format!("{ipv4} {ipv6}"))
}

fn peer_name(node: &PeerNode) -> String {
    match node {
        PeerNode::Host(name) => name.clone(),
        PeerNode::Switch(name, port) => format!("{name}:{port}"),
    }
}

fn hosts(topology: &Topology) -> Table {
    let mut table = table(&["host", "addresses", "MAC", "ports"]);
    for (name, host) in &topology.hosts {
        let row =
            [name.clone(), addresses(host.address, host.ipv6), mac(host.mac), ports_of(host).join(", ")];
        table.add_row(row);
    }
    table
}

/// The switch ports that a host hangs on.
fn ports_of(host: &Host) -> Vec<String> {
    host.ports.iter().map(|port| format!("{}:{port}", host.attachment.switch)).collect()
}

/// Flows that are counted by Alternate Marking.
fn marked(topology: &Topology) -> Table {
    let mut table = table(&["marked flow", "index", "FlowMonID", "from", "to", "packets", "colour changes"]);
    let Some(marking) = &topology.marking else { return table };
    for (index, flow) in marking.flows.iter().enumerate() {
        table.add_row([
            flow.name.clone(),
            index.to_string(),
            flow.flow_mon_id.to_string(),
            flow.from.clone(),
            flow.to.clone(),
            packets(flow),
            format!("every {}", Time::new(1000 << marking.period_log2)),
        ]);
    }
    table
}

/// Which packets between its two hosts are of a flow.
fn packets(flow: &MarkedFlow) -> String {
    let parts: Vec<String> = [
        flow.protocol.map(|protocol| format!("protocol {protocol}")),
        flow.source_port.map(|port| format!("from port {port}")),
        flow.destination_port.map(|port| format!("to port {port}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { "all".to_owned() } else { parts.join(", ") }
}

fn profiles(topology: &Topology) -> Table {
    let mut table = table(&["profile", "B_th", "Q_max", "ECN threshold", "report interval", "for"]);
    for (name, profile) in &topology.profiles {
        let mut uses = Vec::new();
        if *name == topology.data_profile {
            uses.push("data");
        }
        if *name == topology.control_profile {
            uses.push("control");
        }
        table.add_row([
            name.clone(),
            Size::new(profile.b_th).to_string(),
            Size::new(profile.q_max).to_string(),
            Size::new(profile.ecn_threshold).to_string(),
            Time::new(profile.report_interval_ns).to_string(),
            uses.join(", "),
        ]);
    }
    table
}

fn mac(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}
