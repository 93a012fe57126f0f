//! Action profiles and selectors.

use super::{ActionCall, ActionId, ControlError, GroupMember, ProfileGroup, ProfileId, ProfileMember};
use crate::Switch;
use crate::num::{index, size32};
use crate::profile::{Group, Member, Profile};
use crate::value::Value;

fn not_found(what: &'static str, id: u32) -> ControlError {
    ControlError::NotFound { what, id: u64::from(id) }
}

/// Action profiles and selectors.
#[expect(clippy::needless_pass_by_value, reason = "callers give away what they make for the call")]
impl Switch {
    fn profile(&self, profile: ProfileId) -> Result<&Profile, ControlError> {
        let found = self.state.profiles.get(profile.0);
        found.ok_or(ControlError::UnknownIndex { what: "action profile", index: profile.0 })
    }

    /// Checks an action's arguments and puts them into words.
    pub(crate) fn bind_call(&self, call: &ActionCall) -> Result<(u32, Box<[u64]>), ControlError> {
        let info = self.program.actions().get(call.action.0);
        let info = info.ok_or(ControlError::UnknownIndex { what: "action", index: call.action.0 })?;
        if call.args.len() != info.params.len() {
            let (expected, got) = (info.params.len(), call.args.len());
            return Err(ControlError::WrongCount { what: "arguments", expected, got });
        }
        let mut words = Vec::new();
        for (value, p) in call.args.iter().zip(&info.params) {
            if value.bits() > p.width {
                let what = format!("{}.{}", info.name, p.name);
                return Err(ControlError::TooWide { what, width: p.width, value: value.clone() });
            }
            words.extend(value.to_limbs(p.width.div_ceil(64)));
        }
        Ok((size32(call.action.0), words.into()))
    }

    /// The inverse of [`Switch::bind_call`].
    pub(crate) fn unbind_call(&self, action: u32, data: &[u64]) -> ActionCall {
        let info = &self.program.actions()[action as usize];
        let mut rest = data;
        let mut args = Vec::new();
        for p in &info.params {
            let (words, after) = rest.split_at(p.width.div_ceil(64).min(rest.len()));
            args.push(Value::from_limbs(words));
            rest = after;
        }
        ActionCall { action: ActionId(action as usize), args }
    }

    /// An action is a profile's if one of its tables has it.
    fn check_profile_action(&self, profile: ProfileId, call: &ActionCall) -> Result<(), ControlError> {
        let mut tables = self.program.tables().iter().filter(|t| t.profile == Some(profile));
        if tables.any(|t| t.actions.contains(&call.action)) {
            return Ok(());
        }
        let action = self.program.actions().get(call.action.0).map_or("?", |a| &a.name);
        let table = self.program.profiles()[profile.0].name.clone();
        Err(ControlError::WrongAction { action: action.to_owned(), table })
    }

    /// Adds a member with the caller's number.
    ///
    /// # Errors
    /// Unknown profile, number taken, wrong action or arguments, no room.
    pub fn member_insert(&mut self, profile: ProfileId, member: ProfileMember) -> Result<(), ControlError> {
        let p = self.profile(profile)?;
        if p.members.slot(member.id).is_some() {
            return Err(ControlError::AlreadyExists { what: "a member of this number" });
        }
        let info = &self.program.profiles()[profile.0];
        if p.members.len() >= info.size {
            return Err(ControlError::Full { what: info.name.clone(), size: info.size });
        }
        self.check_profile_action(profile, &member.call)?;
        let (action, data) = self.bind_call(&member.call)?;
        let made = Member { id: member.id, action, data, uses: 0 };
        self.state.profiles[profile.0].members.insert(member.id, made);
        Ok(())
    }

    /// Gives a member another action.
    ///
    /// # Errors
    /// No such member, wrong action or arguments.
    pub fn member_modify(&mut self, profile: ProfileId, member: ProfileMember) -> Result<(), ControlError> {
        let slot =
            self.profile(profile)?.members.slot(member.id).ok_or_else(|| not_found("member", member.id))?;
        self.check_profile_action(profile, &member.call)?;
        let (action, data) = self.bind_call(&member.call)?;
        if let Some(m) = self.state.profiles[profile.0].members.at_mut(slot) {
            m.action = action;
            m.data = data;
        }
        Ok(())
    }

    /// Removes a member.
    ///
    /// # Errors
    /// No such member, or a group or an entry still uses it.
    pub fn member_delete(&mut self, profile: ProfileId, id: u32) -> Result<(), ControlError> {
        let p = self.profile(profile)?;
        let member =
            p.members.slot(id).and_then(|s| p.members.at(s)).ok_or_else(|| not_found("member", id))?;
        if member.uses > 0 {
            return Err(ControlError::InUse { what: "member", id: u64::from(id) });
        }
        self.state.profiles[profile.0].members.remove(id);
        Ok(())
    }

    /// Reads one member.
    ///
    /// # Errors
    /// No such member.
    pub fn member(&self, profile: ProfileId, id: u32) -> Result<ProfileMember, ControlError> {
        let p = self.profile(profile)?;
        let m = p.members.slot(id).and_then(|s| p.members.at(s)).ok_or_else(|| not_found("member", id))?;
        Ok(ProfileMember { id, call: self.unbind_call(m.action, &m.data) })
    }

    /// Reads all members, by number.
    ///
    /// # Errors
    /// Unknown profile.
    pub fn members(&self, profile: ProfileId) -> Result<Vec<ProfileMember>, ControlError> {
        let p = self.profile(profile)?;
        let mut all: Vec<ProfileMember> = p
            .members
            .iter()
            .map(|m| ProfileMember { id: m.id, call: self.unbind_call(m.action, &m.data) })
            .collect();
        all.sort_by_key(|m| m.id);
        Ok(all)
    }

    /// The numbers of all members, ascending.
    #[cfg(feature = "grpc")]
    pub(crate) fn member_ids(&self, profile: ProfileId) -> Vec<u32> {
        self.profile(profile).map_or(Vec::new(), |p| p.members.sorted_ids())
    }

    /// The numbers of all groups, ascending.
    #[cfg(feature = "grpc")]
    pub(crate) fn group_ids(&self, profile: ProfileId) -> Vec<u32> {
        self.profile(profile).map_or(Vec::new(), |p| p.groups.sorted_ids())
    }

    /// Checks a group's members; gives the buckets the hash chooses from.
    fn buckets(&self, profile: ProfileId, group: &ProfileGroup) -> Result<Vec<u32>, ControlError> {
        let p = self.profile(profile)?;
        let info = &self.program.profiles()[profile.0];
        if !info.selector {
            return Err(ControlError::Unsupported(format!("{} has no selector: no groups", info.name)));
        }
        let most = if group.max_size == 0 { info.size as u64 } else { u64::from(group.max_size) };
        if group.members.iter().map(|m| u64::from(m.weight)).sum::<u64>() > most.min(1 << 20) {
            return Err(ControlError::Full { what: format!("group {}", group.id), size: index(most) });
        }
        let mut slots: Vec<(u32, u32)> = Vec::new();
        for m in &group.members {
            let slot = p.members.slot(m.member).ok_or_else(|| not_found("member", m.member))?;
            if m.weight == 0 {
                return Err(ControlError::Invalid(format!("member {} has weight 0", m.member)));
            }
            if slots.iter().any(|(s, _)| *s == slot) {
                return Err(ControlError::AlreadyExists { what: "the same member in the group" });
            }
            slots.push((slot, m.weight));
        }
        slots.sort_unstable();
        Ok(slots.into_iter().flat_map(|(slot, weight)| std::iter::repeat_n(slot, weight as usize)).collect())
    }

    fn use_members(&mut self, profile: ProfileId, members: &[GroupMember], more: bool) {
        let members_slab = &mut self.state.profiles[profile.0].members;
        for m in members {
            if let Some(member) = members_slab.slot(m.member).and_then(|s| members_slab.at_mut(s)) {
                member.uses = if more { member.uses + 1 } else { member.uses.saturating_sub(1) };
            }
        }
    }

    /// Adds a group. The packet's hash chooses among its members in the order in which the members were made, as in
    /// BMv2; a member of weight n counts n times.
    ///
    /// # Errors
    /// Unknown or selector-less profile, number taken, unknown member, weight 0, too many members.
    pub fn group_insert(&mut self, profile: ProfileId, group: ProfileGroup) -> Result<(), ControlError> {
        let buckets = self.buckets(profile, &group)?;
        if self.profile(profile)?.groups.slot(group.id).is_some() {
            return Err(ControlError::AlreadyExists { what: "a group of this number" });
        }
        self.use_members(profile, &group.members, true);
        let made = Group { id: group.id, members: group.members, buckets, max_size: group.max_size, uses: 0 };
        self.state.profiles[profile.0].groups.insert(group.id, made);
        Ok(())
    }

    /// Replaces a group's members.
    ///
    /// # Errors
    /// No such group, unknown member, weight 0, too many members.
    pub fn group_modify(&mut self, profile: ProfileId, group: ProfileGroup) -> Result<(), ControlError> {
        let slot =
            self.profile(profile)?.groups.slot(group.id).ok_or_else(|| not_found("group", group.id))?;
        let buckets = self.buckets(profile, &group)?;
        let old =
            self.state.profiles[profile.0].groups.at(slot).map(|g| g.members.clone()).unwrap_or_default();
        self.use_members(profile, &group.members, true);
        self.use_members(profile, &old, false);
        if let Some(g) = self.state.profiles[profile.0].groups.at_mut(slot) {
            g.members = group.members;
            g.buckets = buckets;
            g.max_size = group.max_size;
        }
        Ok(())
    }

    /// Leaves members out of what the hash chooses from; they stay members. Members not named are chosen again.
    ///
    /// # Errors
    /// No such group.
    pub fn group_leave_out(
        &mut self,
        profile: ProfileId,
        id: u32,
        left_out: &[u32],
    ) -> Result<(), ControlError> {
        let group = self.group(profile, id)?;
        let mut buckets = self.buckets(profile, &group)?;
        let state = &mut self.state.profiles[profile.0];
        let slots: Vec<u32> = left_out.iter().filter_map(|&member| state.members.slot(member)).collect();
        buckets.retain(|slot| !slots.contains(slot));
        if let Some(found) = state.groups.slot(id).and_then(|slot| state.groups.at_mut(slot)) {
            found.buckets = buckets;
        }
        Ok(())
    }

    /// Removes a group.
    ///
    /// # Errors
    /// No such group, or an entry still uses it.
    pub fn group_delete(&mut self, profile: ProfileId, id: u32) -> Result<(), ControlError> {
        let p = self.profile(profile)?;
        let group = p.groups.slot(id).and_then(|s| p.groups.at(s)).ok_or_else(|| not_found("group", id))?;
        if group.uses > 0 {
            return Err(ControlError::InUse { what: "group", id: u64::from(id) });
        }
        let members = group.members.clone();
        self.use_members(profile, &members, false);
        self.state.profiles[profile.0].groups.remove(id);
        Ok(())
    }

    /// Reads one group.
    ///
    /// # Errors
    /// No such group.
    pub fn group(&self, profile: ProfileId, id: u32) -> Result<ProfileGroup, ControlError> {
        let p = self.profile(profile)?;
        let g = p.groups.slot(id).and_then(|s| p.groups.at(s)).ok_or_else(|| not_found("group", id))?;
        Ok(ProfileGroup { id, members: g.members.clone(), max_size: g.max_size })
    }

    /// Reads all groups, by number.
    ///
    /// # Errors
    /// Unknown profile.
    pub fn groups(&self, profile: ProfileId) -> Result<Vec<ProfileGroup>, ControlError> {
        let p = self.profile(profile)?;
        let read = |g: &Group| ProfileGroup { id: g.id, members: g.members.clone(), max_size: g.max_size };
        let mut all: Vec<ProfileGroup> = p.groups.iter().map(read).collect();
        all.sort_by_key(|g| g.id);
        Ok(all)
    }
}
