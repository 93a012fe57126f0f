//! The switches of a run: a process each, and the controller that gives them program and entries.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use controller::client::{GrpcClient, Observer};
use controller::machine::{Controller, CounterCell, State, cells, counters_request, settle};
use controller::pipeline::Pipeline;
use controller::topology::{PortRef, Switch, Topology};
use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use p4runtime::client::Options;
use wire::units::Nanos;

use super::network::Network;
use super::process::{self, MARK, within};
use super::run::{Number, Run};
use super::stop::Stop;

/// What switches are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// `crn switch`
    Soft,
    /// `simple_switch_grpc`
    Bmv2,
}

/// P4Runtime's port of the first switch, within the switches' namespace.
const FIRST_PORT: u16 = 50_051;
/// Thrift's, likewise.
const FIRST_THRIFT_PORT: u16 = 9_090;

/// How long a switch may take to listen, and to take its program and entries.
const PATIENCE: Duration = Duration::from_secs(60);

/// Headers around a full payload: Ethernet to `RoCEv2`'s ICRC, and what a frame occupies on a link besides.
const OVERHEAD_OCTETS: u64 = 14 + 20 + 8 + 12 + 16 + 4 + 24;

/// The smallest packet, L2 headers left out: what BMv2's queues, which count packets, must be able to hold by the thousands.
const SMALLEST_OCTETS: u64 = 64;

/// Payload of a full packet where no workload says one.
const USUAL_PAYLOAD: u64 = 1024;

/// Room in a queue beyond what the program admits: packets that it doesn't count, such as its own reports.
const SPARE_OCTETS: u64 = 64_000;

impl Target {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Soft => "crn switch",
            Self::Bmv2 => "simple_switch_grpc",
        }
    }

    /// What the fastest link gets unless something else is asked for: these switches are programs, and share the machine
    /// with all hosts.
    pub fn default_rate(self) -> u64 {
        match self {
            Self::Soft => 100_000_000,
            Self::Bmv2 => 20_000_000,
        }
    }
}

/// A switch that runs.
#[derive(Debug)]
struct Running {
    number: Number,
    device_id: u64,
    address: SocketAddr,
    thrift: u16,
}

/// All switches.
#[derive(Debug)]
pub struct Fabric {
    target: Target,
    run: String,
    namespace: String,
    pipeline: Arc<Pipeline>,
    switches: BTreeMap<String, Running>,
}

impl Fabric {
    /// Starts a process for each switch.
    pub fn start(run: &mut Run, network: &Network, topology: &Topology, target: Target) -> Result<Self> {
        let namespace = network.switches();
        let pipeline = Arc::new(Pipeline::v1model().into_diagnostic()?);
        let mut switches = BTreeMap::new();
        for ((name, switch), offset) in topology.switches.iter().zip(0..) {
            let address = SocketAddr::from(([127, 0, 0, 1], FIRST_PORT + offset));
            let thrift = FIRST_THRIFT_PORT + offset;
            let mut command = match target {
                Target::Soft => soft(topology, name, switch, address)?,
                Target::Bmv2 => {
                    let mut command = Command::new("simple_switch_grpc");
                    command.args(["--no-p4", "--log-console", "-L", "warn"]);
                    command.arg("--device-id").arg(switch.device_id.to_string());
                    command.arg("--thrift-port").arg(thrift.to_string());
                    command
                }
            };
            for &port in switch.ports.keys() {
                let interface = network.interface(&PortRef { switch: name.clone(), port });
                command.arg("-i").arg(format!("{port}@{interface}"));
            }
            if target == Target::Bmv2 {
                command.arg("--").arg("--grpc-server-addr").arg(address.to_string());
                command.args(["--priority-queues", "8"]);
            }
            let number = run.spawn(&namespace, name, command)?;
            let device_id = switch.device_id;
            switches.insert(name.clone(), Running { number, device_id, address, thrift });
        }
        Ok(Self { target, run: run.id().to_owned(), namespace, pipeline, switches })
    }

    /// Waits until all listen.
    pub fn wait(&self, run: &mut Run, stop: &Stop) -> Result<()> {
        let begin = Instant::now();
        for switch in self.switches.values() {
            let listens = || Ok(TcpStream::connect(switch.address).is_ok());
            while !within(&self.namespace, listens)? {
                if run.status(switch.number).is_some() {
                    return Err(miette!("a switch ended at once: {}", run.last_words(switch.number)));
                }
                if begin.elapsed() > PATIENCE {
                    return Err(miette!("a switch doesn't listen: {}", run.last_words(switch.number)));
                }
                stop.check()?;
                thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }

    /// Gives all their program and entries; gives how many entries that were.
    pub fn configure(&self, topology: &Topology, stop: &Stop) -> Result<usize> {
        let mut controller = Controller::new(Arc::clone(&self.pipeline), topology, 1).into_diagnostic()?;
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().into_diagnostic();
        let start = Instant::now();
        let now = || Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        within(&self.namespace, || {
            runtime()?.block_on(async {
                let client = |(name, switch): (&String, &Running)| {
                    let options =
                        Options { device_id: switch.device_id, timeout: PATIENCE, ..Options::default() };
                    (name.clone(), GrpcClient::spawn(switch.address.to_string(), options))
                };
                let mut clients = self.switches.iter().map(client).collect();
                controller.start(now());
                tokio::select! {
                    () = settle(&mut controller, &mut clients, now) => {}
                    () = stop.requested() => {}
                }
            });
            Ok(())
        })?;
        stop.check()?;
        let mut entries = 0;
        for name in self.switches.keys() {
            if let Some(failure) = controller.failure(name) {
                return Err(miette!("switch {name}: {}; {}", failure.error, failure.remains));
            }
            if controller.state(name) != Some(State::Ready) {
                return Err(miette!("switch {name} wasn't configured"));
            }
            entries += controller.desired(name).map_or(0, |desired| desired.entities.len());
        }
        if self.target == Target::Bmv2 {
            self.set_queues(topology)?;
        }
        Ok(entries)
    }

    /// BMv2 takes rate and depth of its queues over Thrift only.
    fn set_queues(&self, topology: &Topology) -> Result<()> {
        for (name, switch) in &self.switches {
            let Some(found) = topology.switches.get(name) else { continue };
            let port = |&port: &u16| {
                let at = PortRef { switch: name.clone(), port };
                let depth = capacity(topology, &at).div_ceil(SMALLEST_OCTETS);
                let rate = (rate(topology, &at) / 8 / (payload(topology) + OVERHEAD_OCTETS)).max(1);
                format!("set_queue_depth {depth} {port}\nset_queue_rate {rate} {port}\n")
            };
            let lines: String = found.ports.keys().map(port).collect();
            within(&self.namespace, || set_queues(&self.run, switch.thrift, &lines))
                .wrap_err_with(|| format!("switch {name}: rate and depth of its queues"))?;
        }
        Ok(())
    }

    /// The processes that have ended, which they shouldn't.
    pub fn ended(&self, run: &mut Run) -> Option<String> {
        let mut ended = self.switches.values().filter(|switch| run.status(switch.number).is_some());
        let number = ended.next()?.number;
        Some(run.last_words(number))
    }

    /// The switches' counters.
    pub fn counters(&self) -> Result<BTreeMap<String, Vec<CounterCell>>> {
        within(&self.namespace, || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().into_diagnostic()?;
            runtime.block_on(async {
                let mut all = BTreeMap::new();
                for (name, switch) in &self.switches {
                    let address = switch.address.to_string();
                    let observer =
                        Observer::connect(&address.as_str().into(), switch.device_id, PATIENCE).await;
                    let held = observer.into_diagnostic()?.read(counters_request(&self.pipeline.index)).await;
                    all.insert(name.clone(), cells(&held.into_diagnostic()?, &self.pipeline.index));
                }
                Ok(all)
            })
        })
    }
}

/// `crn switch` for a switch: each port is a link of its rate.
fn soft(topology: &Topology, name: &str, switch: &Switch, address: SocketAddr) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().into_diagnostic()?);
    command.args(["switch", "--no-p4", "--priority-queues", "8"]);
    command.arg("--device-id").arg(switch.device_id.to_string());
    command.arg("--grpc-server-addr").arg(address.to_string());
    for &port in switch.ports.keys() {
        let at = PortRef { switch: name.to_owned(), port };
        command.arg("--queue-rate").arg(format!("{port}={}bps", rate(topology, &at)));
        command.arg("--queue-depth").arg(format!("{port}={}B", capacity(topology, &at)));
    }
    Ok(command)
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

/// Gives lines to BMv2's own command line.
fn set_queues(run: &str, thrift: u16, lines: &str) -> Result<()> {
    let program = process::find("simple_switch_CLI").unwrap_or_else(|| "simple_switch_CLI".into());
    let mut child = Command::new(program)
        .args(["--thrift-port", &thrift.to_string()])
        .env(MARK, run)
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
