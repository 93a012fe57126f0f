//! The controller as a machine: events of switches go in, requests to switches come out.
//!
//! Each switch goes the same way, all of them side by side:
//!
//! ```text
//! arbitrate --primary--> which program? --ours--------------------------> read --same--> ready
//!     |                       |  \--none------------------\               |            ^
//!  backup                  another's                       v            differs          |
//!                             \--> read copies -> delete -> push program -^ \--> write --/
//!                                                                                 \ some refused
//!                                                                  failed <- roll back <- read
//! ```
//!
//! What all switches should hold is computed before the first request: a topology that doesn't fit one of them
//! changes none. The machine owns no clock, socket or task; [`pump`] joins it with its clients.

mod beside;
mod counters;
mod failure;
mod pump;
mod switch;
mod together;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use p4runtime::p4::v1::PacketIn;
use wire::units::Nanos;

use crate::client::{Event, Request, RequestError, RequestId};
use crate::desired::{self, DesiredError};
use crate::pipeline::Pipelines;
use crate::topology::Topology;

pub use counters::{CounterCell, cells, lost_reports, read_request as counters_request};
pub use failure::{Failure, Remains};
pub use pump::{next_event, pump, settle};
pub use switch::State;

use switch::{Outcome, SwitchMachine};
use together::Together;

/// What a controller has to tell.
#[derive(Clone, Debug, PartialEq)]
pub enum ControllerEvent {
    /// A switch holds what it should.
    Ready {
        /// Which.
        switch: String,
        /// Whether the program had to be pushed.
        pushed: bool,
        /// How many changes were written; 0: it held everything before.
        written: usize,
    },
    /// Another controller is primary of a switch; nothing was written.
    Backup {
        /// Of which.
        switch: String,
    },
    /// A switch can't be brought to what it should hold.
    Failed {
        /// Which.
        switch: String,
        /// What was being done.
        state: State,
        /// Why it failed.
        error: RequestError,
    },
    /// Counters that were asked for with [`Controller::read_counters`].
    Counters {
        /// Of which switch.
        switch: String,
        /// Cells that aren't zero.
        cells: Vec<CounterCell>,
    },
    /// What was asked for with [`Controller::read_cells`]. None comes for a switch that fails meanwhile:
    /// [`ControllerEvent::Failed`] says so.
    Read {
        /// Of which switch.
        switch: String,
        /// What it answers.
        entities: Result<Vec<p4runtime::p4::v1::Entity>, RequestError>,
    },
    /// A packet for the controller.
    PacketIn {
        /// From which switch.
        switch: String,
        /// The packet.
        packet: PacketIn,
    },
}

/// The controller of all switches of a topology.
#[derive(Debug)]
pub struct Controller {
    pipelines: Pipelines,
    election_id: u128,
    switches: BTreeMap<String, SwitchMachine>,
    requests: VecDeque<(String, RequestId, Request)>,
    events: VecDeque<ControllerEvent>,
    next_id: u64,
    together: Together,
}

impl Controller {
    /// A controller that will bring `topology` into its switches.
    ///
    /// # Errors
    /// The topology doesn't fit a switch; nothing has been asked of any then.
    pub fn new(
        pipelines: impl Into<Pipelines>,
        topology: &Topology,
        election_id: u128,
    ) -> Result<Self, DesiredError> {
        let pipelines = pipelines.into();
        let machine = |(name, desired): (String, desired::Desired)| {
            let pipeline = Arc::clone(pipelines.of(&name));
            (name, SwitchMachine::new(desired, pipeline))
        };
        let switches = desired_of_all(topology, &pipelines)?.into_iter().map(machine).collect();
        Ok(Self {
            pipelines,
            election_id,
            switches,
            requests: VecDeque::new(),
            events: VecDeque::new(),
            next_id: 1,
            together: Together::default(),
        })
    }

    /// Leaves only these switches; nothing will be asked of the others.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.switches.retain(|name, _| keep(name));
    }

    /// Begins with all switches that nothing has been asked of yet, or that have failed.
    pub fn start(&mut self, now: Nanos) {
        let names: Vec<String> = self.switches.keys().cloned().collect();
        for name in names {
            self.start_one(&name, now);
        }
    }

    /// As [`Controller::start`], with one switch.
    pub fn start_one(&mut self, switch: &str, _now: Nanos) {
        if matches!(self.state(switch), Some(State::Idle | State::Failed)) {
            if let Some(machine) = self.switches.get_mut(switch) {
                machine.failure = None;
            }
            let request = Request::Arbitrate { election_id: self.election_id };
            self.advance(switch, State::Arbitrating, request);
        }
    }

    /// Asks a switch that is ready whether it still runs our program and holds what it should; what differs is
    /// written again. [`ControllerEvent::Ready`] says what came of it.
    pub fn check(&mut self, switch: &str, _now: Nanos) {
        if self.state(switch) == Some(State::Ready) {
            self.advance(switch, State::AskingProgram, Request::GetCookie);
        }
    }

    /// What a switch should hold; `None` if there is no such switch.
    pub fn desired(&self, switch: &str) -> Option<&desired::Desired> {
        self.switches.get(switch).map(|machine| &machine.desired)
    }

    /// Why a switch has failed; `None` unless it has.
    pub fn failure(&self, switch: &str) -> Option<&Failure> {
        let machine = self.switches.get(switch)?;
        machine.failure.as_ref().filter(|_| machine.state == State::Failed)
    }

    /// What attempts since a switch was last ready have left in it; `None` if that is nothing.
    pub fn left(&self, switch: &str) -> Option<&Remains> {
        let machine = self.switches.get(switch)?;
        machine.earlier.as_ref().filter(|remains| remains.pushed() || remains.is_incomplete())
    }

    /// Ends what is under way with every switch, for `reason`: those that aren't settled fail with what they hold then.
    pub fn interrupt(&mut self, reason: &str, now: Nanos) {
        let under_way = |machine: &SwitchMachine| {
            !matches!(machine.state, State::Idle | State::Ready | State::Backup | State::Failed)
        };
        let names: Vec<String> = self
            .switches
            .iter()
            .filter(|(_, machine)| under_way(machine))
            .map(|(name, _)| name.clone())
            .collect();
        for name in names {
            self.handle_event(&name, Event::Closed(reason.to_owned()), now);
        }
    }

    /// Takes another topology for the same switches; those that are ready are compared with it at once.
    ///
    /// # Errors
    /// It doesn't fit a switch; the old one stays in force everywhere then.
    pub fn set_topology(&mut self, topology: &Topology, now: Nanos) -> Result<(), DesiredError> {
        self.set_topology_and_pipelines(topology, self.pipelines.clone(), now)
    }

    /// As [`Controller::set_topology`], with other programs too.
    ///
    /// # Errors
    /// As [`Controller::set_topology`].
    pub fn set_topology_and_pipelines(
        &mut self,
        topology: &Topology,
        pipelines: Pipelines,
        _now: Nanos,
    ) -> Result<(), DesiredError> {
        let all = desired_of_all(topology, &pipelines)?;
        self.pipelines = pipelines;
        self.switches.retain(|name, _| all.contains_key(name));
        for (name, desired) in all {
            let pipeline = Arc::clone(self.pipelines.of(&name));
            match self.switches.get_mut(&name) {
                Some(machine) => {
                    let same = machine.pipeline.cookie == pipeline.cookie;
                    (machine.desired, machine.pipeline) = (desired, pipeline);
                    match machine.state {
                        State::Ready if same => self.read(&name),
                        State::Ready => self.advance(&name, State::AskingProgram, Request::GetCookie),
                        // What is under way is of the old file: look again when it has ended.
                        State::PushingProgram | State::Reading | State::Writing => machine.stale = true,
                        _ => {}
                    }
                }
                None => {
                    self.switches.insert(name.clone(), SwitchMachine::new(desired, pipeline));
                }
            }
        }
        Ok(())
    }

    /// Takes what a switch said.
    pub fn handle_event(&mut self, switch: &str, event: Event, _now: Nanos) {
        let Some(machine) = self.switches.get_mut(switch) else { return };
        match event {
            Event::Reply { id, result } => {
                if let Some(beside) = machine.beside.remove(&id) {
                    self.beside_read(switch, beside, result);
                } else if machine.awaiting == Some(id) {
                    machine.awaiting = None;
                    self.replied(switch, result);
                }
            }
            Event::Primary(true) if machine.state == State::Backup => {
                self.advance(switch, State::AskingProgram, Request::GetCookie);
            }
            Event::Primary(false)
                if !matches!(
                    machine.state,
                    State::Idle | State::Arbitrating | State::Backup | State::Failed
                ) =>
            {
                let lost = RequestError::Unreachable("another controller has become primary".to_owned());
                machine.remember(machine.halfway(&lost));
                machine.failure = None;
                machine.abandon(State::Backup);
                self.events.push_back(ControllerEvent::Backup { switch: switch.to_owned() });
            }
            Event::Vacant { election_id } if machine.state == State::Backup => {
                let election_id = crate::client::claim(election_id, self.election_id);
                self.advance(switch, State::Arbitrating, Request::Arbitrate { election_id });
            }
            Event::Primary(_) | Event::Vacant { .. } | Event::Digest(_) => {}
            Event::PacketIn(packet) => {
                self.events.push_back(ControllerEvent::PacketIn { switch: switch.to_owned(), packet });
            }
            // Of what has failed already there is nothing more to tell.
            Event::Closed(_) if matches!(machine.state, State::Idle | State::Failed) => {}
            Event::Closed(reason) => self.fail(switch, RequestError::Unreachable(reason)),
        }
    }

    /// The next request, and the switch it is for.
    pub fn poll_request(&mut self) -> Option<(String, RequestId, Request)> {
        self.requests.pop_front()
    }

    /// The next thing to tell.
    pub fn poll_event(&mut self) -> Option<ControllerEvent> {
        self.events.pop_front()
    }

    /// The program that a switch should run.
    pub fn pipeline(&self, switch: &str) -> &Arc<crate::pipeline::Pipeline> {
        self.pipelines.of(switch)
    }

    /// How far a switch is; `None` if there is no such switch.
    pub fn state(&self, switch: &str) -> Option<State> {
        self.switches.get(switch).map(|machine| machine.state)
    }

    /// Whether all switches hold what they should.
    pub fn all_ready(&self) -> bool {
        self.switches.values().all(|machine| machine.state == State::Ready)
    }

    /// Whether every switch is ready, backup or failed: nothing more happens by itself.
    pub fn settled(&self) -> bool {
        let done = |state| matches!(state, State::Ready | State::Backup | State::Failed);
        self.switches.values().all(|machine| done(machine.state))
    }

    fn replied(&mut self, switch: &str, result: Result<crate::client::Reply, RequestError>) {
        let Some(machine) = self.switches.get_mut(switch) else { return };
        let outcome = match result {
            Ok(reply) => machine.next(reply),
            Err(error) => machine.after(error),
        };
        match outcome {
            Outcome::Ask(state, request) => self.go_on(switch, state, request),
            Outcome::Read => self.read(switch),
            Outcome::Ready => {
                machine.state = State::Ready;
                let earlier = machine.earlier.take();
                let pushed = machine.pushed || earlier.as_ref().is_some_and(Remains::pushed);
                let written = machine.written;
                machine.abandon(State::Ready);
                self.events.push_back(ControllerEvent::Ready { switch: switch.to_owned(), pushed, written });
            }
            Outcome::Backup => {
                machine.abandon(State::Backup);
                self.events.push_back(ControllerEvent::Backup { switch: switch.to_owned() });
            }
            Outcome::Failed(failure) => self.failed(switch, failure),
            Outcome::Unexpected => {
                self.fail(switch, RequestError::Unreachable("an answer to another question".to_owned()));
            }
        }
        self.release();
    }

    fn fail(&mut self, switch: &str, error: RequestError) {
        let Some(machine) = self.switches.get_mut(switch) else { return };
        let (state, remains) = (machine.state, machine.halfway(&error));
        let failure = if let Outcome::Failed(failure) = machine.after(error.clone()) {
            failure
        } else {
            Failure { state, error, refused: Vec::new(), remains }
        };
        self.failed(switch, failure);
        self.release();
    }

    fn failed(&mut self, switch: &str, mut failure: Failure) {
        let Some(machine) = self.switches.get_mut(switch) else { return };
        failure.remains = machine.remember(failure.remains);
        machine.abandon(State::Failed);
        let (state, error) = (failure.state, failure.error.clone());
        machine.failure = Some(failure);
        self.events.push_back(ControllerEvent::Failed { switch: switch.to_owned(), state, error });
    }

    fn read(&mut self, switch: &str) {
        let request = Request::Read(crate::diff::read_request(&self.pipelines.of(switch).index));
        self.advance(switch, State::Reading, request);
    }

    fn advance(&mut self, switch: &str, state: State, request: Request) {
        let id = self.fresh_id();
        if let Some(machine) = self.switches.get_mut(switch) {
            machine.state = state;
            machine.awaiting = Some(id);
            self.requests.push_back((switch.to_owned(), id, request));
        }
    }

    fn fresh_id(&mut self) -> RequestId {
        let id = RequestId(self.next_id);
        self.next_id += 1;
        id
    }
}

/// All or none: what every switch should hold, before any is asked anything.
fn desired_of_all(
    topology: &Topology,
    pipelines: &Pipelines,
) -> Result<BTreeMap<String, desired::Desired>, DesiredError> {
    let of = |name: &String| Ok((name.clone(), desired::entries(topology, name, &pipelines.of(name).index)?));
    topology.switches.keys().map(of).collect()
}
