//! The switches of a run: a process each, and the controller that gives them program and entries.

pub mod line;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use controller::client::{GrpcClient, Observer};
use controller::describe::{self, Described};
use controller::desired::{self, Desired};
use controller::diff;
use controller::machine::{Controller, CounterCell, State, cells, counters_request, settle};
use controller::pipeline::Pipeline;
use controller::plan::Program;
use controller::topology::Topology;
use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use p4runtime::client::Options;
use wire::units::Nanos;

use super::network::Network;
use super::process::within;
use super::run::{Number, Run, of_life};
use super::stop::Stop;
use super::tc::Emulated;

/// What switches are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// `crn switch`
    Soft,
    /// `simple_switch_grpc`
    Bmv2,
}

/// How long a switch may take to listen, and to take its program and entries.
const PATIENCE: Duration = Duration::from_secs(60);

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

/// A switch that was started.
#[derive(Debug)]
struct Running {
    number: Number,
    /// So often it was started.
    lives: u32,
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
    emulated: Emulated,
    switches: BTreeMap<String, Running>,
}

impl Fabric {
    /// Starts a process for each switch.
    pub fn start(
        run: &mut Run,
        network: &Network,
        topology: &Topology,
        target: Target,
        emulated: Emulated,
    ) -> Result<Self> {
        let namespace = network.switches();
        let pipeline = Arc::new(Pipeline::v1model().into_diagnostic()?);
        let id = run.id().to_owned();
        let switches = BTreeMap::new();
        let mut fabric = Self { target, run: id, namespace, pipeline, emulated, switches };
        for ((name, switch), offset) in topology.switches.iter().zip(0..) {
            let (address, thrift) = line::place(offset);
            let command = fabric.command(network, topology, name, (address, thrift))?;
            let number = run.spawn(&fabric.namespace, name, &command)?;
            let running = Running { number, lives: 1, device_id: switch.device_id, address, thrift };
            fabric.switches.insert(name.clone(), running);
        }
        Ok(fabric)
    }

    /// The line of a switch's process.
    fn command(
        &self,
        network: &Network,
        topology: &Topology,
        name: &str,
        (address, thrift): (SocketAddr, u16),
    ) -> Result<Command> {
        let (target, emulated) = (self.target, self.emulated);
        line::of_switch(network, topology, name, line::Way { target, emulated, address, thrift })
    }

    /// Starts a switch that has ended once more; it has neither program nor entries.
    pub fn restart(
        &mut self,
        run: &mut Run,
        network: &Network,
        topology: &Topology,
        name: &str,
    ) -> Result<()> {
        let switch = self.running(name)?;
        let command = self.command(network, topology, name, (switch.address, switch.thrift))?;
        let lives = switch.lives + 1;
        let number = run.spawn(&self.namespace, &of_life(name, lives), &command)?;
        if let Some(switch) = self.switches.get_mut(name) {
            (switch.number, switch.lives) = (number, lives);
        }
        Ok(())
    }

    fn running(&self, name: &str) -> Result<&Running> {
        self.switches.get(name).ok_or_else(|| miette!("there is no switch {name}"))
    }

    /// The process of a switch.
    pub fn number(&self, name: &str) -> Option<Number> {
        self.switches.get(name).map(|switch| switch.number)
    }

    /// Where the switches serve P4Runtime, in their namespace.
    pub fn addresses(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        self.switches.iter().map(|(name, switch)| (name.as_str(), switch.address))
    }

    /// Waits until all listen.
    pub fn wait(&self, run: &mut Run, stop: &Stop) -> Result<()> {
        let begin = Instant::now();
        for switch in self.switches.values() {
            let listens = || Ok(TcpStream::connect(switch.address).is_ok());
            while !within(&self.namespace, listens)? {
                let words = ("a switch ended at once", "a switch doesn't listen");
                run.wait_on(switch.number, begin, words, stop)?;
            }
        }
        Ok(())
    }

    /// Gives all their program and entries; gives how many entries that were.
    pub fn configure(&self, topology: &Topology, stop: &Stop) -> Result<usize> {
        let mut controller = Controller::new(Arc::clone(&self.pipeline), topology, 1).into_diagnostic()?;
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
        self.set_queues(topology)?;
        Ok(entries)
    }

    /// BMv2 takes rate and depth of its queues over Thrift only.
    fn set_queues(&self, topology: &Topology) -> Result<()> {
        self.switches.keys().try_for_each(|name| self.set_queues_of(topology, name))
    }

    /// Likewise, of one switch; where it isn't BMv2, nothing has to be done.
    pub fn set_queues_of(&self, topology: &Topology, name: &str) -> Result<()> {
        let found = topology.switches.get(name).zip(self.switches.get(name));
        let Some((found, switch)) = found.filter(|_| self.target == Target::Bmv2) else { return Ok(()) };
        let lines = line::queues(topology, name, found);
        within(&self.namespace, || line::set_queues(&self.run, switch.thrift, &lines))
            .wrap_err_with(|| format!("switch {name}: rate and depth of its queues"))
    }

    /// Waits until a switch that was started once more holds what it should: the controller that stays gives it that.
    /// Gives how many entries that are.
    pub fn wait_for(&self, run: &mut Run, topology: &Topology, name: &str, stop: &Stop) -> Result<usize> {
        let switch = self.running(name)?;
        let desired = desired::entries(topology, name, &self.pipeline.index).into_diagnostic()?;
        let begin = Instant::now();
        loop {
            if self.holds(switch, &desired).unwrap_or(false) {
                break;
            }
            if run.status(switch.number).is_some() {
                return Err(miette!("it ended at once: {}", run.last_words(switch.number)));
            }
            if begin.elapsed() > PATIENCE {
                return Err(miette!("nobody has given {name} its program and entries within a minute"));
            }
            stop.check()?;
            thread::sleep(Duration::from_millis(100));
        }
        self.set_queues_of(topology, name)?;
        Ok(desired.entities.len())
    }

    fn holds(&self, switch: &Running, desired: &Desired) -> Result<bool> {
        self.ask(switch, async |mut observer| {
            if Program::of(observer.cookie().await.into_diagnostic()?, &self.pipeline) != Program::Ours {
                return Ok(false);
            }
            let held = observer.read(diff::read_request(&self.pipeline.index)).await.into_diagnostic()?;
            Ok(diff::changes(desired, &held).is_empty())
        })
    }

    /// What a switch holds, a line an entry, and how many changes it would take to what it should hold.
    pub fn tables(&self, topology: &Topology, name: &str) -> Result<(Vec<String>, usize)> {
        let switch = self.running(name)?;
        let desired = desired::entries(topology, name, &self.pipeline.index).into_diagnostic()?;
        self.ask(switch, async |mut observer| {
            let held = observer.read(diff::read_request(&self.pipeline.index)).await.into_diagnostic()?;
            // A meter that nobody set is no entry.
            let is_set = |described: &Described| described.call() != "unset";
            let line = |described: Described| {
                let key: Vec<_> =
                    described.key.iter().map(|(name, value)| format!("{name} {value}")).collect();
                format!("{} {}: {}", described.object, key.join(", "), described.call())
            };
            let described = held.iter().map(|entity| describe::describe(&self.pipeline.index, entity));
            Ok((described.filter(is_set).map(line).collect(), diff::changes(&desired, &held).len()))
        })
    }

    /// Has something asked of a switch.
    fn ask<T: Send>(
        &self,
        switch: &Running,
        work: impl AsyncFnOnce(Observer) -> Result<T> + Send,
    ) -> Result<T> {
        within(&self.namespace, || {
            runtime()?.block_on(async {
                let address = switch.address.to_string();
                let observer = Observer::connect(&address.as_str().into(), switch.device_id, PATIENCE).await;
                work(observer.into_diagnostic()?).await
            })
        })
    }

    /// The switches whose processes have ended, and what they said last.
    pub fn ended(&self, run: &mut Run) -> Vec<(Number, String)> {
        run.ended(self.switches.values().map(|switch| switch.number))
    }

    /// The counters of the switches that run.
    pub fn counters(&self, run: &mut Run) -> Result<BTreeMap<String, Vec<CounterCell>>> {
        let mut all = BTreeMap::new();
        for (name, switch) in &self.switches {
            if run.status(switch.number).is_none() {
                all.insert(name.clone(), self.counters_of(name)?);
            }
        }
        Ok(all)
    }

    /// A switch's counters.
    pub fn counters_of(&self, name: &str) -> Result<Vec<CounterCell>> {
        let switch = self.running(name)?;
        self.ask(switch, async |mut observer| {
            let held = observer.read(counters_request(&self.pipeline.index)).await.into_diagnostic()?;
            Ok(cells(&held, &self.pipeline.index))
        })
    }
}

/// For a conversation with switches, on the thread that is in their namespace.
fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().into_diagnostic()
}
