//! What a controller can change, kept aside so that changes can be undone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Switch;
use crate::control::{CloneSession, Replica};
use crate::state::State;

/// A switch's state at one time, its queues left out.
pub(crate) struct Checkpoint {
    state: State,
    sessions: BTreeMap<u16, Arc<CloneSession>>,
    groups: BTreeMap<u16, Vec<Replica>>,
}

impl Switch {
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { state: self.state.clone(), sessions: self.sessions.clone(), groups: self.groups.clone() }
    }

    /// Undoes everything since; no packet may have passed in between.
    pub(crate) fn restore(&mut self, before: Checkpoint) {
        self.state = before.state;
        self.sessions = before.sessions;
        self.groups = before.groups;
    }
}
