//! softswitch in this process, in virtual time, set up through its P4Runtime layer.

use std::collections::BTreeMap;
use std::sync::Arc;

use p4runtime::index::Object as _;
use p4runtime::p4::v1::{CounterEntry, Entity, ReadRequest, entity};
use softswitch::runtime::Runtime;
use softswitch::{Engine, Packet, PortConfig, QueueRate, SwitchConfig};

use crate::case::{Await, Case, Step};
use crate::program::{CPU_PORT, Program};
use crate::setup::{Entry, Port, updates};
use crate::target::{Count, Observed, Presence, Seen, Target, TargetError, counted};

const DEVICE: u64 = 1;
/// When scripts begin. Not 0: the P4 program takes a time of 0 for "never".
const BEGIN_NS: u64 = 1_000_000_000;

/// softswitch.
#[derive(Clone, Debug, Default)]
pub struct Soft {
    /// The program to run; this work tree's if none is given.
    pub program: Option<Arc<Program>>,
    /// What runs it. Times are virtual, so that this changes nothing.
    pub engine: Engine,
}

impl Target for Soft {
    fn name(&self) -> &'static str {
        match self.engine {
            Engine::Native => "softswitch, native",
            Engine::Automatic | Engine::Interpreter => "softswitch",
        }
    }

    fn presence(&self) -> Presence {
        Presence::Present { version: "of this work tree, in virtual time".to_owned() }
    }

    fn run(&self, case: &Case) -> Result<Observed, TargetError> {
        let program = match &self.program {
            Some(program) => Arc::clone(program),
            None => Arc::new(Program::load()?),
        };
        let mut play = Play::new(case, &program, self.engine)?;
        for step in &case.script {
            match step {
                Step::Send { port, frames } => play.send(*port, frames)?,
                Step::Await(wanted) => play.wait_for(*wanted)?,
                Step::Write(entries) => play.write(entries, &program)?,
            }
        }
        // What still waits here is too much: it shows as a difference.
        while play.step()? {}
        play.observed.counters = play.counters(&program)?;
        Ok(play.observed)
    }
}

/// A script that is being played.
struct Play {
    runtime: Runtime,
    ports: Vec<u16>,
    now_ns: u64,
    observed: Observed,
}

impl Play {
    fn new(case: &Case, program: &Program, engine: Engine) -> Result<Play, TargetError> {
        let config =
            SwitchConfig { priority_queues: 8, cpu_port: Some(CPU_PORT), engine, ..SwitchConfig::default() };
        let mut runtime = Runtime::with_pipeline(DEVICE, config, program.pipeline())
            .map_err(|status| TargetError::switch("pipeline", &status.message))?;
        for port in &case.setup.ports {
            runtime.set_port(port.port, port_config(port));
        }
        let ports = case.setup.ports.iter().map(|port| port.port).chain([CPU_PORT]).collect();
        let mut play = Play { runtime, ports, now_ns: BEGIN_NS, observed: Observed::default() };
        play.write(&case.setup.entries, program)?;
        Ok(play)
    }

    fn write(&mut self, entries: &[Entry], program: &Program) -> Result<(), TargetError> {
        let updates = updates(entries, program)?;
        let outcomes =
            self.runtime.apply(&updates).map_err(|status| TargetError::switch("entries", &status.message))?;
        match outcomes.iter().enumerate().find(|(_, outcome)| outcome.canonical_code != 0) {
            None => Ok(()),
            Some((place, outcome)) => Err(TargetError::switch(&format!("entry {place}"), &outcome.message)),
        }
    }

    fn send(&mut self, port: u16, frames: &[Vec<u8>]) -> Result<(), TargetError> {
        for frame in frames {
            // No two frames enter within the same microsecond: the program tells them apart by its clock.
            self.now_ns += 1000;
            let (now_ns, at_us) = (self.now_ns, self.at_us());
            self.switch()?.ingress(port, Packet::new(frame.clone()), now_ns);
            self.observed.sent_us.push(at_us);
        }
        Ok(())
    }

    fn wait_for(&mut self, wanted: Await) -> Result<(), TargetError> {
        loop {
            let got = self.observed.frames.get(&wanted.port).map_or(0, Vec::len);
            if got >= wanted.frames {
                return Ok(());
            }
            if !self.step()? {
                return Err(TargetError::Missing {
                    port: wanted.port,
                    wanted: wanted.frames,
                    got,
                    observed: Box::new(std::mem::take(&mut self.observed)),
                    log: String::new(),
                });
            }
        }
    }

    /// The next departure of any port, the clone port included; false: nothing waits anywhere.
    fn step(&mut self) -> Result<bool, TargetError> {
        let now_ns = self.now_ns;
        let switch = self.switch()?;
        let next = switch
            .active_ports()
            .filter_map(|port| switch.next_departure(port).map(|at_ns| (at_ns.max(now_ns), port)))
            .min();
        let Some((at_ns, port)) = next else { return Ok(false) };
        self.now_ns = at_ns;
        let departure = self.switch()?.dequeue(port, at_ns);
        if let Some(packet) = departure.and_then(|departure| departure.packet)
            && self.ports.contains(&port)
        {
            let seen = Seen { octets: packet.to_octets(), at_us: self.at_us() };
            self.observed.frames.entry(port).or_default().push(seen);
        }
        Ok(true)
    }

    fn counters(&self, program: &Program) -> Result<BTreeMap<(String, u64), Count>, TargetError> {
        let mut cells = BTreeMap::new();
        for counter in &program.index.counters {
            let all = CounterEntry { counter_id: counter.id(), index: None, data: None };
            let entities = vec![Entity { entity: Some(entity::Entity::CounterEntry(all)) }];
            let request = ReadRequest { device_id: DEVICE, entities, ..ReadRequest::default() };
            let read = self
                .runtime
                .read(&request)
                .map_err(|status| TargetError::switch("counters", &status.message))?;
            cells.extend(read.iter().filter_map(|entity| counted(entity, counter.alias())));
        }
        Ok(cells)
    }

    fn switch(&mut self) -> Result<&mut softswitch::Switch, TargetError> {
        self.runtime.switch_mut().ok_or_else(|| TargetError::Switch("no pipeline".to_owned()))
    }

    fn at_us(&self) -> u64 {
        (self.now_ns - BEGIN_NS) / 1000
    }
}

fn port_config(port: &Port) -> PortConfig {
    let rate = port.rate_pps.map_or(QueueRate::Unlimited, QueueRate::PacketsPerSecond);
    PortConfig { rate, queue_packets: port.depth_packets, queue_octets: None }
}
