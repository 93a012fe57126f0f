//! `crn up --plan`: the lines that a run would start, for whoever makes the network in another way, as Mininet does.

use std::path::Path;
use std::process::Command;

use miette::{IntoDiagnostic as _, Result};
use serde_json::{Map, Value, json};

use super::fabric::line;
use super::hosts::{Orders, roles};
use super::live::Wanted;
use super::network::Network;
use super::tc::{Emulated, Means};
use super::{Target, steward};

/// Where the receiver of a host keeps its Epoch, beside its output.
const EPOCH: &str = ".epoch";

/// What would be started, as JSON. Interfaces are called `SWITCH-ethPORT`; all switches serve P4Runtime on one loopback.
/// Paths without a folder are of the folder that somebody starts the lines in.
pub fn json(wanted: &Wanted<'_>) -> Result<Value> {
    let Wanted { args, topology, scale, .. } = wanted;
    let network = Network::new("plan", topology);
    let file = args.topology.canonicalize().into_diagnostic()?;
    // Whoever makes the links gives them no delay: the switches can, where they are ours.
    let emulated = Emulated(args.target == Target::Soft);
    let mut switches = Map::new();
    let mut places = Vec::new();
    for ((name, switch), number) in topology.switches.iter().zip(0..) {
        let (address, thrift) = line::place(number);
        places.push((name.as_str(), address));
        let way = line::Way { target: args.target, emulated, address, thrift };
        let queues = (args.target == Target::Bmv2).then(|| line::queues(topology, name, switch));
        let value = json!({
            "line": words(&line::of_switch(&network, topology, name, way)?), "p4runtime": address.to_string(),
            "thrift": thrift, "queues": queues,
        });
        switches.insert(name.clone(), value);
    }
    let orders =
        Orders { network: &network, topology, file: &file, batches: args.batches, in_step: args.compare };
    let mut hosts = Map::new();
    for (name, host) in &topology.hosts {
        let shape = topology.links.get(host.link).and_then(|link| Means::Tbf.of_host(link, 0));
        hosts.insert(name.clone(), json!({ "shape": shape, "agent": Value::Null }));
    }
    for (name, role) in roles(topology) {
        let epoch = format!("{name}{EPOCH}");
        let (command, batches) = orders.command(&name, role, Path::new(&epoch))?;
        if let Some(host) = hosts.get_mut(&name) {
            host["agent"] = json!({ "line": words(&command), "role": role.agent(), "batches": batches });
        }
    }
    let controller = steward::command(&file, scale.factor, places.into_iter())?;
    let mut notes = vec![scale.said(topology)];
    notes.push(Means::links(emulated.0, topology).to_owned());
    Ok(json!({
        "scale": scale.factor, "notes": notes, "switches": switches, "hosts": hosts, "controller": words(&controller),
    }))
}

fn words(command: &Command) -> Vec<String> {
    let all = std::iter::once(command.get_program()).chain(command.get_args());
    all.map(|word| word.to_string_lossy().into_owned()).collect()
}
