#![allow(unused_variables, clippy::unimplemented, clippy::unused_self, clippy::needless_pass_by_value)]
#[allow(clippy::wildcard_imports)]
use super::*;
use crate::Switch;

/// Parser value sets.
impl Switch {
    /// Replaces a value set's members; each has one match for each component, in order.
    ///
    /// # Errors
    /// Unknown value set, malformed or too wide matches, too many members.
    pub fn set_value_set(
        &mut self,
        set: ValueSetId,
        members: Vec<Vec<KeyMatch>>,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Reads a value set.
    ///
    /// # Errors
    /// Unknown value set.
    pub fn value_set(&self, set: ValueSetId) -> Result<&[Vec<KeyMatch>], ControlError> {
        unimplemented!()
    }
}
