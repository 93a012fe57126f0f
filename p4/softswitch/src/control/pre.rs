//! The packet replication engine.

use std::sync::Arc;

use super::{CloneSession, ControlError, Replica};
use crate::Switch;
use crate::state::State;

/// Highest clone session: `simple_switch` has 15 bits for it.
const MAX_SESSION: u16 = 32_767;

/// The packet replication engine: clone sessions and multicast groups.
impl Switch {
    /// Makes or replaces a clone session.
    ///
    /// # Errors
    /// A session number above 32767; a class of service that has no queue, or that the program has no field for.
    pub fn set_clone_session(&mut self, session: u16, config: CloneSession) -> Result<(), ControlError> {
        if session > MAX_SESSION {
            return Err(ControlError::Invalid(format!(
                "clone session {session}: the highest is {MAX_SESSION}"
            )));
        }
        let (class, queues) = (config.class_of_service, self.config.priority_queues.clamp(1, 8));
        if class >= queues {
            return Err(ControlError::Invalid(format!(
                "class of service {class}: ports have {queues} queues, 0 is the lowest"
            )));
        }
        if class != 0 && self.program.standard.priority.is_none() {
            return Err(ControlError::Invalid(format!(
                "class of service {class}: the program's standard metadata has no priority"
            )));
        }
        self.sessions.insert(session, Arc::new(config));
        Ok(())
    }

    /// Removes a clone session.
    ///
    /// # Errors
    /// No such session.
    pub fn delete_clone_session(&mut self, session: u16) -> Result<(), ControlError> {
        let gone = self.sessions.remove(&session);
        gone.map(|_| ()).ok_or(ControlError::NotFound { what: "clone session", id: u64::from(session) })
    }

    /// Reads a clone session.
    pub fn clone_session(&self, session: u16) -> Option<&CloneSession> {
        self.sessions.get(&session).map(Arc::as_ref)
    }

    /// All clone sessions, by number.
    pub fn clone_sessions(&self) -> impl Iterator<Item = (u16, &CloneSession)> {
        self.sessions.iter().map(|(&id, s)| (id, s.as_ref()))
    }

    /// Makes or replaces a multicast group.
    ///
    /// # Errors
    /// Group 0, which means no multicast.
    pub fn set_multicast_group(&mut self, group: u16, replicas: Vec<Replica>) -> Result<(), ControlError> {
        if group == 0 {
            return Err(ControlError::Invalid("multicast group 0 means no multicast".to_owned()));
        }
        self.groups.insert(group, replicas);
        Ok(())
    }

    /// Removes a multicast group.
    ///
    /// # Errors
    /// No such group.
    pub fn delete_multicast_group(&mut self, group: u16) -> Result<(), ControlError> {
        let gone = self.groups.remove(&group);
        gone.map(|_| ()).ok_or(ControlError::NotFound { what: "multicast group", id: u64::from(group) })
    }

    /// Reads a multicast group.
    pub fn multicast_group(&self, group: u16) -> Option<&[Replica]> {
        self.groups.get(&group).map(Vec::as_slice)
    }

    /// All multicast groups, by number.
    pub fn multicast_groups(&self) -> impl Iterator<Item = (u16, &[Replica])> {
        self.groups.iter().map(|(&id, g)| (id, g.as_slice()))
    }

    /// Puts every table, profile, counter, meter, register, value set, clone session and multicast group back to what
    /// the program starts with, empties the queues and starts all statistics again. Ports keep their configuration.
    pub fn reset(&mut self) {
        let native = self.state.native;
        self.state = State::new(&self.program, self.config.seed, u64::from(self.config.drop_port));
        self.state.native = native;
        self.sessions.clear();
        self.groups.clear();
        self.clear_queues();
        self.install_const_entries();
    }
}
