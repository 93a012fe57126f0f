//! softswitch's side: in this process, in virtual time.

use p4runtime::p4::v1::Update;
use softswitch::runtime::Runtime;
use softswitch::{Engine, Packet, PortConfig, QueueRate, SwitchConfig};

use super::draw::SHORTEST;
use super::plan::Plan;
use super::{Outputs, Round};
use crate::program::CPU_PORT;
use crate::target::TargetError;

/// When the first round begins. Not 0: programs take a time of 0 for "never".
const BEGIN_NS: u64 = 1_000_000_000;
/// Between two rounds.
const PAUSE_NS: u64 = 1_000_000;

/// A switch that runs a plan's program.
pub struct Soft {
    runtime: Runtime,
    ports: Vec<u16>,
    now_ns: u64,
}

impl Soft {
    /// Loads the program and writes the entries; says which of them were taken.
    ///
    /// # Errors
    /// The program is refused.
    pub fn new(plan: &Plan, updates: &[Update], engine: Engine) -> Result<(Soft, Vec<bool>), TargetError> {
        let config =
            SwitchConfig { priority_queues: 8, cpu_port: Some(CPU_PORT), engine, ..SwitchConfig::default() };
        let mut runtime = Runtime::with_pipeline(1, config, plan.program.pipeline())
            .map_err(|status| TargetError::switch("pipeline", &status.message))?;
        let outcomes =
            runtime.apply(updates).map_err(|status| TargetError::switch("entries", &status.message))?;
        for port in &plan.ports {
            let rate = port.rate_pps.map_or(QueueRate::Unlimited, QueueRate::PacketsPerSecond);
            let config = PortConfig { rate, queue_packets: port.depth_packets, queue_octets: None };
            runtime.set_port(port.port, config);
        }
        let ports = plan.ports.iter().map(|port| port.port).collect();
        let taken = outcomes.iter().map(|outcome| outcome.canonical_code == 0).collect();
        Ok((Soft { runtime, ports, now_ns: BEGIN_NS }, taken))
    }

    /// Sends a round and gives all that comes of it.
    ///
    /// # Errors
    /// There is no program.
    pub fn round(&mut self, round: &Round) -> Result<Outputs, TargetError> {
        self.now_ns += PAUSE_NS;
        let switch =
            self.runtime.switch_mut().ok_or_else(|| TargetError::Switch("no pipeline".to_owned()))?;
        let mut outputs = Outputs::new();
        for frame in &round.frames {
            switch.ingress(round.port, Packet::new(frame.clone()), self.now_ns);
        }
        loop {
            let now_ns = self.now_ns;
            let due = |port: u16| switch.next_departure(port).map(|at_ns| (at_ns.max(now_ns), port));
            let Some((at_ns, port)) = switch.active_ports().filter_map(due).min() else { return Ok(outputs) };
            self.now_ns = at_ns;
            if let Some(packet) = switch.dequeue(port, at_ns).and_then(|departure| departure.packet)
                && self.ports.contains(&port)
                && packet.len() >= SHORTEST
            {
                outputs.entry(port).or_default().push(packet.to_octets());
            }
        }
    }
}
