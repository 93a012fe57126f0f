#![allow(unused_variables, clippy::unimplemented, clippy::unused_self, clippy::needless_pass_by_value)]
#[allow(clippy::wildcard_imports)]
use super::*;
use crate::Switch;

/// The packet replication engine: clone sessions and multicast groups.
impl Switch {
    /// Makes or replaces a clone session.
    ///
    /// # Errors
    /// A session number above 32767, or a port that isn't there.
    pub fn set_clone_session(&mut self, session: u16, config: CloneSession) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Removes a clone session.
    ///
    /// # Errors
    /// No such session.
    pub fn delete_clone_session(&mut self, session: u16) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Reads a clone session.
    pub fn clone_session(&self, session: u16) -> Option<&CloneSession> {
        unimplemented!()
    }
    /// All clone sessions, by number.
    pub fn clone_sessions(&self) -> impl Iterator<Item = (u16, &CloneSession)> {
        std::iter::empty()
    }
    /// Makes or replaces a multicast group.
    ///
    /// # Errors
    /// Group 0 (which means no multicast), or a port that isn't there.
    pub fn set_multicast_group(&mut self, group: u16, replicas: Vec<Replica>) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Removes a multicast group.
    ///
    /// # Errors
    /// No such group.
    pub fn delete_multicast_group(&mut self, group: u16) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Reads a multicast group.
    pub fn multicast_group(&self, group: u16) -> Option<&[Replica]> {
        unimplemented!()
    }
    /// All multicast groups, by number.
    pub fn multicast_groups(&self) -> impl Iterator<Item = (u16, &[Replica])> {
        std::iter::empty()
    }
    /// Puts every table, profile, counter, meter, register, value set, clone session and multicast group back to what
    /// the program starts with, and empties the queues. Ports keep their configuration.
    pub fn reset(&mut self) {
        unimplemented!()
    }
}
