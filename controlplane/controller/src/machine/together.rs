//! All switches or none. Nothing is changed anywhere before every switch has been read and can be written to; and if one
//! fails after that, the others are taken back to what they held.

use std::collections::BTreeMap;

use super::switch::Outcome;
use super::{Controller, Failure, Remains, State};
use crate::client::{Request, RequestError};

/// What waits for whom.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// Whether switches wait for each other.
    on: bool,
    /// The first change of each switch that waits.
    held: BTreeMap<String, (State, Request)>,
}

impl Controller {
    /// Makes all switches wait for each other before the first of them is changed. To be called before
    /// [`Controller::start`]; after it has settled, [`Controller::take_back`] undoes what was made if not all are ready.
    pub fn all_or_nothing(&mut self) {
        self.together.on = true;
        for machine in self.switches.values_mut() {
            machine.keep = true;
        }
    }

    /// Goes on to a request, or waits for the other switches with it.
    pub(super) fn go_on(&mut self, switch: &str, state: State, request: Request) {
        let changes = matches!(state, State::DeletingCopies | State::PushingProgram | State::Writing);
        if self.together.on && changes {
            self.hold(switch, state, request);
        } else {
            self.advance(switch, state, request);
        }
    }

    pub(super) fn hold(&mut self, switch: &str, state: State, request: Request) {
        if let Some(machine) = self.switches.get_mut(switch) {
            machine.state = State::Waiting;
            self.together.held.insert(switch.to_owned(), (state, request));
        }
    }

    /// Lets the switches go on when all of them can, and ends them when one can't.
    pub(super) fn release(&mut self) {
        if self.together.held.is_empty() || !self.all_have_arrived() {
            return;
        }
        let failed =
            self.switches.values().any(|machine| matches!(machine.state, State::Backup | State::Failed));
        // From here on nobody waits: who comes again after a broken connection completes what was begun.
        self.together.on = failed;
        for (switch, (state, request)) in std::mem::take(&mut self.together.held) {
            // Its connection may have broken while it waited.
            if self.state(&switch) != Some(State::Waiting) {
                continue;
            }
            if failed {
                let (error, remains) = (RequestError::NotAll, Remains::Untouched);
                self.failed(&switch, Failure { state: State::Waiting, error, refused: Vec::new(), remains });
            } else {
                self.advance(&switch, state, request);
            }
        }
    }

    fn all_have_arrived(&self) -> bool {
        let done = |state| matches!(state, State::Waiting | State::Ready | State::Backup | State::Failed);
        self.switches.values().all(|machine| done(machine.state))
    }

    /// Takes back what was written to the switches that are ready, if others aren't; gives whether anything is to be
    /// taken back. They end as failed, with what they hold then.
    pub fn take_back(&mut self) -> bool {
        if self.all_ready() {
            return false;
        }
        let ready: Vec<String> = self
            .switches
            .iter()
            .filter(|(_, machine)| machine.state == State::Ready && machine.undo.is_some())
            .map(|(name, _)| name.clone())
            .collect();
        for switch in &ready {
            let Some(machine) = self.switches.get_mut(switch) else { continue };
            if let Some(Outcome::Ask(state, request)) = machine.take_back(RequestError::NotAll) {
                self.advance(switch, state, request);
            }
        }
        !ready.is_empty()
    }
}
