//! The lines that switches are started with, and those that BMv2 takes its queues by.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use controller::topology::{End, PortRef, Switch, Topology};
use miette::{IntoDiagnostic as _, Result, miette};

use super::Target;
use crate::up::network::Network;
use crate::up::process::{self, MARK};
use crate::up::tc::Emulated;

/// P4Runtime's port of the first switch, within the switches' namespace.
const FIRST_PORT: u16 = 50_051;
/// Thrift's, likewise.
const FIRST_THRIFT_PORT: u16 = 9_090;

/// Headers around a full payload: Ethernet to `RoCEv2`'s ICRC, and what a frame occupies on a link besides.
const OVERHEAD_OCTETS: u64 = 14 + 20 + 8 + 12 + 16 + 4 + 24;

/// The smallest packet, L2 headers left out: what BMv2's queues, which count packets, must be able to hold by the thousands.
const SMALLEST_OCTETS: u64 = 64;

/// Payload of a full packet where no workload says one.
const USUAL_PAYLOAD: u64 = 1024;

/// Room in a queue beyond what the program admits: packets that it doesn't count, such as its own reports.
const SPARE_OCTETS: u64 = 64_000;

/// How and where a switch runs.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// What it is.
    pub target: Target,
    /// Whether it is its links as well.
    pub emulated: Emulated,
    /// Where it serves P4Runtime.
    pub address: SocketAddr,
    /// Where BMv2 serves Thrift.
    pub thrift: u16,
}

/// Where the switch of a number serves P4Runtime, and Thrift.
pub fn place(number: u16) -> (SocketAddr, u16) {
    (SocketAddr::from(([127, 0, 0, 1], FIRST_PORT + number)), FIRST_THRIFT_PORT + number)
}

/// The line of a switch's process.
pub fn of_switch(network: &Network, topology: &Topology, name: &str, way: Way) -> Result<Command> {
    let Way { target, emulated, address, thrift } = way;
    let switch = topology.switches.get(name).ok_or_else(|| miette!("there is no switch {name}"))?;
    let mut command = match target {
        Target::Soft => soft(topology, name, switch, address, emulated)?,
        Target::Bmv2 => {
            let mut command = Command::new("simple_switch_grpc");
            command.args(["--no-p4", "--log-console", "-L", "warn"]);
            command.arg("--device-id").arg(switch.device_id.to_string());
            command.arg("--thrift-port").arg(thrift.to_string());
            command
        }
    };
    for &port in switch.ports.keys() {
        let interface = network.interface(&PortRef { switch: name.to_owned(), port });
        command.arg("-i").arg(format!("{port}@{interface}"));
    }
    if target == Target::Bmv2 {
        command.arg("--").arg("--grpc-server-addr").arg(address.to_string());
        command.args(["--priority-queues", "8"]);
    }
    Ok(command)
}

/// `crn switch` for a switch: each port is a link of its rate.
fn soft(
    topology: &Topology,
    name: &str,
    switch: &Switch,
    address: SocketAddr,
    emulated: Emulated,
) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().into_diagnostic()?);
    command.args(["switch", "--no-p4", "--priority-queues", "8"]);
    command.arg("--device-id").arg(switch.device_id.to_string());
    command.arg("--grpc-server-addr").arg(address.to_string());
    for &port in switch.ports.keys() {
        let at = PortRef { switch: name.to_owned(), port };
        command.arg("--queue-rate").arg(format!("{port}={}bps", rate(topology, &at)));
        command.arg("--queue-depth").arg(format!("{port}={}B", capacity(topology, &at)));
        if emulated.0 {
            emulate(&mut command, topology, &at);
        }
    }
    Ok(command)
}

/// Has the switch be the link as well: what leaves by a port arrives later, or never, and so does what a host sends.
fn emulate(command: &mut Command, topology: &Topology, at: &PortRef) {
    let Some(link) = topology.link_at(at) else { return };
    let (port, delay) = (at.port, link.delay_ns);
    let mut say = |flag: &str, value: u64, unit: &str| {
        if value > 0 {
            command.arg(flag).arg(format!("{port}={value}{unit}"));
        }
    };
    say("--delay-out", delay, "ns");
    say("--loss-out", topology.loss_ppm(&End::Port(at.clone())).into(), "ppm");
    // Between switches each does it to what it sends; a host can't.
    if let Some(host) = link.ends.iter().find(|end| matches!(end, End::Host(_))) {
        say("--delay-in", delay, "ns");
        say("--loss-in", topology.loss_ppm(host).into(), "ppm");
    }
}

/// Rate of the link at a port, bit/s.
fn rate(topology: &Topology, port: &PortRef) -> u64 {
    topology.link_at(port).map_or(0, |link| link.rate_bps)
}

/// What a queue of a port must be able to hold, in octets: the program itself drops what exceeds `Q_max`.
fn capacity(topology: &Topology, port: &PortRef) -> u64 {
    let profiles =
        topology.queues().into_iter().filter_map(|queue| topology.profile(&port.switch, port.port, queue));
    profiles.map(|profile| profile.q_max).max().unwrap_or_default() + SPARE_OCTETS
}

/// Payload of a full packet.
fn payload(topology: &Topology) -> u64 {
    topology.workloads.iter().map(|workload| workload.payload).max().unwrap_or(USUAL_PAYLOAD)
}

/// Rate and depth of a switch's queues, in the words of BMv2's own command line.
pub fn queues(topology: &Topology, name: &str, switch: &Switch) -> String {
    let port = |&port: &u16| {
        let at = PortRef { switch: name.to_owned(), port };
        let depth = capacity(topology, &at).div_ceil(SMALLEST_OCTETS);
        let rate = (rate(topology, &at) / 8 / (payload(topology) + OVERHEAD_OCTETS)).max(1);
        format!("set_queue_depth {depth} {port}\nset_queue_rate {rate} {port}\n")
    };
    switch.ports.keys().map(port).collect()
}

/// Gives lines to BMv2's own command line.
pub fn set_queues(run: &str, thrift: u16, lines: &str) -> Result<()> {
    let program = process::find("simple_switch_CLI").unwrap_or_else(|| "simple_switch_CLI".into());
    let mut child = Command::new(program)
        .args(["--thrift-port", &thrift.to_string()])
        .env(MARK, run)
        // Ctrl-C is for us, and what was begun is done to its end.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .into_diagnostic()?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends early says why.
        let _ = std::io::Write::write_all(&mut stdin, lines.as_bytes());
    }
    let output = child.wait_with_output().into_diagnostic()?;
    let said = String::from_utf8_lossy(&output.stdout);
    // It ends with 0 whatever happens.
    let refused = said.lines().find(|line| line.contains("Error") || line.contains("Invalid"));
    match refused {
        None if output.status.success() => Ok(()),
        Some(line) => Err(miette!("simple_switch_CLI: {line}")),
        None => Err(miette!("simple_switch_CLI: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
