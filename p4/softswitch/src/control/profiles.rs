#![allow(unused_variables, clippy::unimplemented, clippy::unused_self, clippy::needless_pass_by_value)]
#[allow(clippy::wildcard_imports)]
use super::*;
use crate::Switch;

/// Action profiles and selectors.
impl Switch {
    /// Adds a member with the caller's number.
    ///
    /// # Errors
    /// Unknown profile, number taken, wrong action or arguments, no room.
    pub fn member_insert(&mut self, profile: ProfileId, member: ProfileMember) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Gives a member another action.
    ///
    /// # Errors
    /// No such member, wrong action or arguments.
    pub fn member_modify(&mut self, profile: ProfileId, member: ProfileMember) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Removes a member.
    ///
    /// # Errors
    /// No such member, or a group or an entry still uses it.
    pub fn member_delete(&mut self, profile: ProfileId, id: u32) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Reads one member.
    ///
    /// # Errors
    /// No such member.
    pub fn member(&self, profile: ProfileId, id: u32) -> Result<ProfileMember, ControlError> {
        unimplemented!()
    }
    /// Reads all members, by number.
    ///
    /// # Errors
    /// Unknown profile.
    pub fn members(&self, profile: ProfileId) -> Result<Vec<ProfileMember>, ControlError> {
        unimplemented!()
    }
    /// Adds a group. The packet's hash chooses among its members in the order in which the members were made, as in
    /// BMv2; a member of weight n counts n times.
    ///
    /// # Errors
    /// Unknown or selector-less profile, number taken, unknown member, weight 0, too many members.
    pub fn group_insert(&mut self, profile: ProfileId, group: ProfileGroup) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Replaces a group's members.
    ///
    /// # Errors
    /// No such group, unknown member, weight 0, too many members.
    pub fn group_modify(&mut self, profile: ProfileId, group: ProfileGroup) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Removes a group.
    ///
    /// # Errors
    /// No such group, or an entry still uses it.
    pub fn group_delete(&mut self, profile: ProfileId, id: u32) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Reads one group.
    ///
    /// # Errors
    /// No such group.
    pub fn group(&self, profile: ProfileId, id: u32) -> Result<ProfileGroup, ControlError> {
        unimplemented!()
    }
    /// Reads all groups, by number.
    ///
    /// # Errors
    /// Unknown profile.
    pub fn groups(&self, profile: ProfileId) -> Result<Vec<ProfileGroup>, ControlError> {
        unimplemented!()
    }
}
