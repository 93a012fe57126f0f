//! `crn inspect`: addresses, ports and ids of a topology.

use std::path::PathBuf;

use comfy_table::Table;
use controller::topology::{PeerNode, Rate, Size, Time, Topology};
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
    let topology = output::load(&args.topology)?;
    if args.json {
        say!("{}", serde_json::to_string_pretty(&json(&topology)).into_diagnostic()?);
        return Ok(());
    }
    let ports = topology.domain.ports;
    say!("{}", topology.name);
    say!("UDP ports: rdcc {}, crem {}, scone {}\n", ports.rdcc, ports.crem, ports.scone);
    for part in
        [dscp(&topology), switches(&topology), ports_in_use(&topology), hosts(&topology), profiles(&topology)]
    {
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
    let mut table = table(&["switch", "target", "device", "reporter", "address", "clone port", "P4Runtime"]);
    for (name, switch) in &topology.switches {
        table.add_row([
            name.clone(),
            validate::target(switch.target).to_owned(),
            switch.device_id.to_string(),
            switch.reporter_id.to_string(),
            switch.address.to_string(),
            switch.clone_port.to_string(),
            switch.p4runtime.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table
}

fn ports_in_use(topology: &Topology) -> Table {
    let mut table = table(&["port", "peer", "rate", "delay", "profile of queue 0"]);
    for (name, switch) in &topology.switches {
        for (port, peer) in &switch.ports {
            let Some(link) = topology.links.get(peer.link) else { continue };
            table.add_row([
                format!("{name}:{port}"),
                peer_name(&peer.node),
                Rate::new(link.rate_bps).to_string(),
                Time::new(link.delay_ns).to_string(),
                topology.profile_name(name, *port, 0).unwrap_or("-").to_owned(),
            ]);
        }
    }
    table
}

fn peer_name(node: &PeerNode) -> String {
    match node {
        PeerNode::Host(name) => name.clone(),
        PeerNode::Switch(name, port) => format!("{name}:{port}"),
    }
}

fn hosts(topology: &Topology) -> Table {
    let mut table = table(&["host", "address", "MAC", "port"]);
    for (name, host) in &topology.hosts {
        table.add_row([name.clone(), host.address.to_string(), mac(host.mac), host.attachment.to_string()]);
    }
    table
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

fn json(topology: &Topology) -> serde_json::Value {
    let port = |name: &str, number: &u16, peer: &controller::topology::Peer| {
        let link = topology.links.get(peer.link);
        serde_json::json!({
            "port": number,
            "peer": peer_name(&peer.node),
            "rate_bps": link.map(|link| link.rate_bps),
            "delay_ns": link.map(|link| link.delay_ns),
            "profile": topology.profile_name(name, *number, 0),
        })
    };
    let switch = |(name, switch): (&String, &controller::topology::Switch)| {
        let ports: Vec<_> = switch.ports.iter().map(|(number, peer)| port(name, number, peer)).collect();
        serde_json::json!({
            "name": name,
            "target": validate::target(switch.target),
            "device_id": switch.device_id,
            "reporter_id": switch.reporter_id,
            "address": switch.address,
            "clone_port": switch.clone_port,
            "p4runtime": switch.p4runtime,
            "ports": ports,
        })
    };
    let host = |(name, host): (&String, &controller::topology::Host)| {
        serde_json::json!({
            "name": name, "address": host.address, "mac": mac(host.mac), "port": host.attachment.to_string(),
        })
    };
    let ports = topology.domain.ports;
    serde_json::json!({
        "name": topology.name,
        "ports": { "rdcc": ports.rdcc, "crem": ports.crem, "scone": ports.scone },
        "switches": topology.switches.iter().map(switch).collect::<Vec<_>>(),
        "hosts": topology.hosts.iter().map(host).collect::<Vec<_>>(),
    })
}
