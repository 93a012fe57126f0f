//! The controller and the switches' P4Runtime side, requests and answers travelling in virtual time.

use std::collections::BTreeMap;

use controller::client::in_process::Programs;
use controller::client::{InProcessClient, SwitchClient as _};
use controller::machine::{Controller, ControllerEvent, CounterCell, pump};
use controller::pipeline::generated::constants::{
    DROP_CONGESTION, KIND_CONGESTION_TO_RECEIVER, KIND_CONGESTION_TO_SENDER, KIND_RATE_ADVICE,
};
use controller::pipeline::generated::counters::{drops, reports_sent, reports_suppressed};
use controller::topology::Topology;
use softswitch::runtime::Runtime;
use softswitch::{PortConfig, Switch, SwitchConfig};
use wire::units::Nanos;

use crate::pipeline::Pipeline;
use crate::run::RunError;
use crate::summary::Reports;

/// One way between the controller and a switch, over a management network.
const CONTROL_DELAY: Nanos = Nanos(50_000);

/// The only controller there is needs no higher id.
const ELECTION_ID: u128 = 1;

/// The controller and all switches.
#[derive(Debug)]
pub struct Control {
    controller: Controller,
    clients: BTreeMap<String, InProcessClient>,
    /// In the order of the topology's switches.
    runtimes: Vec<Runtime>,
}

/// What the switches counted.
#[derive(Debug, Default)]
pub struct Counters {
    cells: BTreeMap<String, Vec<CounterCell>>,
}

impl Control {
    /// Switches without a program, and a controller that knows what they should hold.
    pub fn new(topology: &Topology, pipeline: &Pipeline) -> Result<Self, RunError> {
        let controller = Controller::new(pipeline.of_switches().clone(), topology, ELECTION_ID)
            .map_err(|error| RunError::Topology(error.to_string()))?;
        let programs = Programs::default();
        let mut clients = BTreeMap::new();
        let mut runtimes = Vec::new();
        for (name, switch) in &topology.switches {
            clients.insert(
                name.clone(),
                InProcessClient::new(switch.device_id, CONTROL_DELAY, programs.clone()),
            );
            runtimes.push(Runtime::new(switch.device_id, SwitchConfig::default()));
        }
        Ok(Self { controller, clients, runtimes })
    }

    /// Configures a port of a switch.
    pub fn set_port(&mut self, switch: usize, port: u16, config: PortConfig) {
        self.runtimes[switch].set_port(port, config);
    }

    /// A switch's data path; `None` before it was configured.
    pub fn switch(&mut self, switch: usize) -> Option<&mut Switch> {
        self.runtimes[switch].switch_mut()
    }

    /// Brings program and entries into all switches; `now` moves on to when all have them.
    pub fn configure_all(&mut self, now: &mut Nanos) -> Result<(), RunError> {
        self.controller.start(*now);
        self.settle(now, |_| {})?;
        if self.controller.all_ready() {
            Ok(())
        } else {
            Err(RunError::Topology("a switch stayed without entries".into()))
        }
    }

    /// Reads the switches' counters over P4Runtime.
    pub fn counters(&mut self, now: &mut Nanos) -> Result<Counters, RunError> {
        for name in self.clients.keys() {
            self.controller.read_counters(name, *now);
        }
        let mut counters = Counters::default();
        self.settle(now, |event| {
            if let ControllerEvent::Counters { switch, cells } = event {
                counters.cells.insert(switch, cells);
            }
        })?;
        Ok(counters)
    }

    /// Lets requests and answers travel until none is under way.
    fn settle(&mut self, now: &mut Nanos, mut hear: impl FnMut(ControllerEvent)) -> Result<(), RunError> {
        loop {
            pump(&mut self.controller, &mut self.clients, *now);
            while let Some(event) = self.controller.poll_event() {
                if let ControllerEvent::Failed { switch, error, .. } = event {
                    return Err(RunError::Configuration { switch, reason: error.to_string() });
                }
                hear(event);
            }
            let due = self.clients.values().flat_map(|client| [client.next_service(), client.poll_timeout()]);
            let Some(next) = due.flatten().min() else { return Ok(()) };
            *now = next.max(*now);
            for (client, runtime) in self.clients.values_mut().zip(&mut self.runtimes) {
                client.serve(runtime, *now);
            }
        }
    }
}

impl Counters {
    /// Reports that all switches sent and held back.
    pub fn reports(&self) -> Reports {
        let sum = |counter: &str, kind: Option<u8>| -> u64 {
            let cells = self.cells.values().flatten();
            cells
                .filter(|c| c.counter == counter && kind.is_none_or(|k| k == c.kind))
                .map(|c| c.packets)
                .sum()
        };
        Reports {
            congestion_to_receiver: sum(reports_sent::NAME, Some(KIND_CONGESTION_TO_RECEIVER)),
            congestion_to_sender: sum(reports_sent::NAME, Some(KIND_CONGESTION_TO_SENDER)),
            rate_advice: sum(reports_sent::NAME, Some(KIND_RATE_ADVICE)),
            suppressed: sum(reports_suppressed::NAME, None),
            ..Reports::default()
        }
    }

    /// Packets that a queue's admission refused.
    pub fn refused(&self, switch: &str, port: u16, queue: u8) -> u64 {
        let cells = self.cells.get(switch).into_iter().flatten();
        cells
            .filter(|c| {
                c.counter == drops::NAME && c.kind == DROP_CONGESTION && c.port == port && c.queue == queue
            })
            .map(|c| c.packets)
            .sum()
    }
}
