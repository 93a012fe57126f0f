//! Reads beside what brings a switch to its state: counters, and cells that others ask for.

use p4runtime::p4::v1::Entity;
use wire::units::Nanos;

use super::switch::{Beside, State};
use super::{Controller, ControllerEvent, cells, counters};
use crate::client::{Reply, Request, RequestError};

impl Controller {
    /// Asks a switch for its counters; [`ControllerEvent::Counters`] brings them. Nothing happens if there is
    /// no such switch or it isn't ready.
    pub fn read_counters(&mut self, switch: &str, _now: Nanos) {
        if self.state(switch) != Some(State::Ready) {
            return;
        }
        let entities = counters::read_request(&self.pipelines.of(switch).index);
        self.ask_beside(switch, Beside::Counters, entities);
    }

    /// Asks a switch for these entities; [`ControllerEvent::Read`] brings what it answers. False, and nothing happens, if there
    /// is no such switch or it doesn't run our program as far as is known.
    pub fn read_cells(&mut self, switch: &str, entities: Vec<Entity>, _now: Nanos) -> bool {
        // While it is only being looked at, its counters stand.
        let open = matches!(self.state(switch), Some(State::Ready | State::AskingProgram | State::Reading));
        if open {
            self.ask_beside(switch, Beside::Cells, entities);
        }
        open
    }

    fn ask_beside(&mut self, switch: &str, beside: Beside, entities: Vec<Entity>) {
        let id = self.fresh_id();
        if let Some(machine) = self.switches.get_mut(switch) {
            machine.beside.insert(id, beside);
            self.requests.push_back((switch.to_owned(), id, Request::Read(entities)));
        }
    }

    pub(super) fn beside_read(&mut self, switch: &str, beside: Beside, result: Result<Reply, RequestError>) {
        match result {
            result if beside == Beside::Cells => {
                let entities = match result {
                    Ok(Reply::Entities(entities)) => Ok(entities),
                    Ok(_) => Ok(Vec::new()),
                    Err(error) => Err(error),
                };
                self.events.push_back(ControllerEvent::Read { switch: switch.to_owned(), entities });
            }
            Ok(Reply::Entities(entities)) => {
                let cells = cells(&entities, &self.pipelines.of(switch).index);
                self.events.push_back(ControllerEvent::Counters { switch: switch.to_owned(), cells });
            }
            Ok(_) => {}
            Err(error) => {
                // The entries still stand, only the figures are missing.
                let state = self.state(switch).unwrap_or(State::Ready);
                self.events.push_back(ControllerEvent::Failed { switch: switch.to_owned(), state, error });
            }
        }
    }
}
