//! Action profiles: members, groups, and groups given with an entry (one-shot).

use p4runtime::index::ActionProfile;
use p4runtime::p4::v1::{
    ActionProfileActionSet, ActionProfileGroup, ActionProfileMember, action_profile_action,
    action_profile_group, entity, update,
};
use p4runtime::status::Code;

use super::convert;
use super::device::{Device, OneShot};
use super::fault::Fault;
use super::pipeline::BoundProfile;
use super::watch;
use crate::control::{ControlError, GroupMember, ProfileGroup, ProfileId, ProfileMember};

/// Members and groups of one-shot entries get numbers from here on; clients can't use these.
const OWN_IDS: u32 = 0xF000_0000;

impl Device {
    fn profile(&self, id: u32) -> Result<(&ActionProfile, ProfileId), Fault> {
        let profile = self.pipeline.index.action_profiles.find_id(id)?;
        let bound = self.pipeline.profiles.get(&id).ok_or_else(|| Fault::invalid("unbound profile"))?;
        Ok((profile, bound.id))
    }

    pub(super) fn write_member(
        &mut self,
        how: update::Type,
        member: &ActionProfileMember,
    ) -> Result<(), Fault> {
        let (profile, id) = self.profile(member.action_profile_id)?;
        let at = format!("action profile `{}`", profile.name);
        check_id(member.member_id, "member").map_err(|fault| fault.at(&at))?;
        if how == update::Type::Delete {
            return Ok(self.switch.member_delete(id, member.member_id)?);
        }
        let action =
            member.action.as_ref().ok_or_else(|| Fault::invalid("a member needs an action").at(&at))?;
        let actions = &self.pipeline.profiles[&member.action_profile_id].actions;
        let call = convert::call(&self.pipeline, actions, action).map_err(|fault| fault.at(&at))?;
        let new = ProfileMember { id: member.member_id, call };
        let written = if how == update::Type::Insert {
            self.switch.member_insert(id, new)
        } else {
            self.switch.member_modify(id, new)
        };
        written.map_err(|error| Fault::from(error).at(&at))
    }

    pub(super) fn write_group(&mut self, how: update::Type, group: &ActionProfileGroup) -> Result<(), Fault> {
        let (profile, id) = self.profile(group.action_profile_id)?;
        let at = format!("action profile `{}`", profile.name);
        if !profile.with_selector {
            return Err(Fault::invalid("it has no selector, hence no groups").at(&at));
        }
        check_id(group.group_id, "group").map_err(|fault| fault.at(&at))?;
        let key = (id, group.group_id);
        if how == update::Type::Delete {
            self.switch.group_delete(id, group.group_id).map_err(|error| Fault::from(error).at(&at))?;
            self.groups.remove(&key);
            return Ok(());
        }
        let max_group_size = profile.max_group_size;
        let new = checked_group(group, max_group_size).map_err(|fault| fault.at(&at))?;
        let written = if how == update::Type::Insert {
            self.switch.group_insert(id, new)
        } else {
            let old = self.switch.group(id, group.group_id).map_err(|error| Fault::from(error).at(&at))?;
            if old.max_size != new.max_size {
                return Err(Fault::invalid("a group's max_size can't be changed").at(&at));
            }
            self.switch.group_modify(id, new)
        };
        written.map_err(|error| Fault::from(error).at(&at))?;
        self.groups.insert(key, group.clone());
        self.leave_out(id, group.group_id);
        Ok(())
    }

    /// Whether a member or group that an entry names is there.
    pub(super) fn check_reference(&self, profile: Option<u32>, id: u32, group: bool) -> Result<(), Fault> {
        let (profile, bound) = self.profile(profile.unwrap_or(0))?;
        if group && !profile.with_selector {
            return Err(Fault::invalid(format!("action profile `{}` has no groups", profile.name)));
        }
        let found = if group {
            self.switch.group(bound, id).map(drop)
        } else {
            self.switch.member(bound, id).map(drop)
        };
        let what = if group { "group" } else { "member" };
        found.map_err(|_| {
            Fault::new(Code::NotFound, format!("action profile `{}` has no {what} {id}", profile.name))
        })
    }

    /// Makes the members and the group of a one-shot entry.
    pub(super) fn make_one_shot(
        &mut self,
        profile: u32,
        set: &ActionProfileActionSet,
    ) -> Result<OneShot, Fault> {
        let (info, id) = self.profile(profile)?;
        if !info.with_selector {
            return Err(Fault::invalid(format!("action profile `{}` has no selector", info.name)));
        }
        let limit = info.max_group_size;
        let pipeline = self.pipeline.clone();
        let actions = &pipeline.profiles[&profile].actions;
        let mut calls = Vec::with_capacity(set.action_profile_actions.len());
        let mut total = 0usize;
        for given in &set.action_profile_actions {
            let action =
                given.action.as_ref().ok_or_else(|| Fault::invalid("a one-shot group without action"))?;
            let weight = weight(given.weight)?;
            if let Some(action_profile_action::WatchKind::WatchPort(port)) = &given.watch_kind {
                watch::check(port)?;
            }
            total = total.saturating_add(weight as usize);
            calls.push((convert::call(&pipeline, actions, action)?, weight));
        }
        if let Some(limit) = limit.filter(|&limit| total > limit) {
            return Err(Fault::invalid(format!("a group of {total} where {limit} are allowed")));
        }
        let mut one_shot = OneShot { set: set.clone(), profile: id, group: 0, members: Vec::new() };
        match self.build_one_shot(&mut one_shot, calls) {
            Ok(()) => {
                self.leave_out_of(&one_shot);
                Ok(one_shot)
            }
            Err(error) => {
                self.discard(Some(one_shot));
                Err(error.into())
            }
        }
    }

    fn build_one_shot(
        &mut self,
        one_shot: &mut OneShot,
        calls: Vec<(crate::control::ActionCall, u32)>,
    ) -> Result<(), ControlError> {
        let id = one_shot.profile;
        let mut members = Vec::with_capacity(calls.len());
        let mut next = OWN_IDS;
        for (call, weight) in calls {
            while self.switch.member(id, next).is_ok() {
                next += 1;
            }
            self.switch.member_insert(id, ProfileMember { id: next, call })?;
            one_shot.members.push(next);
            members.push(GroupMember { member: next, weight });
        }
        let mut group = OWN_IDS;
        while self.switch.group(id, group).is_ok() {
            group += 1;
        }
        self.switch.group_insert(id, ProfileGroup { id: group, members, max_size: 0 })?;
        one_shot.group = group;
        Ok(())
    }

    /// Removes what [`Device::make_one_shot`] made, once nothing uses it.
    pub(super) fn discard(&mut self, one_shot: Option<OneShot>) {
        let Some(one_shot) = one_shot else { return };
        // None of these can fail: they were made by us and the entry that used them is gone.
        if one_shot.group != 0 {
            let _ = self.switch.group_delete(one_shot.profile, one_shot.group);
        }
        for member in one_shot.members {
            let _ = self.switch.member_delete(one_shot.profile, member);
        }
    }

    /// The profiles that a read is about: the one with this id, all for 0.
    fn profiles_read(&self, id: u32) -> Result<impl Iterator<Item = (u32, &BoundProfile)>, Fault> {
        if id != 0 {
            self.profile(id)?;
        }
        let profiles = self.pipeline.index.action_profiles.iter().map(|profile| profile.id);
        let wanted = profiles.filter(move |&profile| id == 0 || id == profile);
        Ok(wanted.map(|profile| (profile, &self.pipeline.profiles[&profile])))
    }

    /// Profiles and numbers of what they hold, in the order in which a read gives it; `None` for a profile that isn't there.
    #[cfg(feature = "grpc")]
    pub(super) fn numbers(
        &self,
        profile: u32,
        of: fn(&Device, ProfileId) -> Vec<u32>,
    ) -> Option<impl Iterator<Item = (u32, u32)>> {
        let profiles = self.profiles_read(profile).ok()?;
        let all = profiles.flat_map(move |(profile, bound)| {
            of(self, bound.id).into_iter().filter(|&id| id < OWN_IDS).map(move |id| (profile, id))
        });
        Some(all)
    }

    #[cfg(feature = "grpc")]
    pub(super) fn member_numbers(&self, profile: ProfileId) -> Vec<u32> {
        self.switch.member_ids(profile)
    }

    #[cfg(feature = "grpc")]
    pub(super) fn group_numbers(&self, profile: ProfileId) -> Vec<u32> {
        self.switch.group_ids(profile)
    }

    pub(super) fn read_members(
        &self,
        filter: &ActionProfileMember,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        for (profile, bound) in self.profiles_read(filter.action_profile_id)? {
            let members = match filter.member_id {
                0 => self.switch.members(bound.id)?,
                one => self.switch.member(bound.id, one).into_iter().collect(),
            };
            for member in members {
                if member.id < OWN_IDS {
                    out.push(entity::Entity::ActionProfileMember(ActionProfileMember {
                        action_profile_id: profile,
                        member_id: member.id,
                        action: convert::call_message(&self.pipeline, &bound.actions, &member.call),
                    }));
                }
            }
        }
        Ok(())
    }

    pub(super) fn read_groups(
        &self,
        filter: &ActionProfileGroup,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        for (profile, bound) in self.profiles_read(filter.action_profile_id)? {
            let groups = match filter.group_id {
                0 => self.switch.groups(bound.id)?,
                one => self.switch.group(bound.id, one).into_iter().collect(),
            };
            for group in groups {
                if group.id < OWN_IDS {
                    let given = self.groups.get(&(bound.id, group.id)).cloned();
                    out.push(entity::Entity::ActionProfileGroup(
                        given.unwrap_or_else(|| group_message(profile, &group)),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// A group as the switch takes it.
fn checked_group(group: &ActionProfileGroup, max_group_size: Option<usize>) -> Result<ProfileGroup, Fault> {
    let max_size = u32::try_from(group.max_size).map_err(|_| Fault::invalid("a negative max_size"))?;
    match max_group_size {
        Some(limit) if max_size == 0 || max_size as usize > limit => {
            return Err(Fault::invalid(format!("max_size {max_size} isn't in 1..={limit}")));
        }
        _ => {}
    }
    let mut members = Vec::with_capacity(group.members.len());
    for member in &group.members {
        if members.iter().any(|other: &GroupMember| other.member == member.member_id) {
            return Err(Fault::invalid(format!(
                "member {} is given twice: use its weight",
                member.member_id
            )));
        }
        check_watch(member)?;
        members.push(GroupMember { member: member.member_id, weight: weight(member.weight)? });
    }
    Ok(ProfileGroup { id: group.group_id, members, max_size })
}

/// A group that no client wrote.
fn group_message(profile: u32, group: &ProfileGroup) -> ActionProfileGroup {
    let members = group
        .members
        .iter()
        .map(|member| action_profile_group::Member {
            member_id: member.member,
            weight: i32::try_from(member.weight).unwrap_or(i32::MAX),
            ..action_profile_group::Member::default()
        })
        .collect();
    ActionProfileGroup {
        action_profile_id: profile,
        group_id: group.id,
        members,
        max_size: i32::try_from(group.max_size).unwrap_or(i32::MAX),
    }
}

fn check_id(id: u32, what: &str) -> Result<(), Fault> {
    if id == 0 {
        return Err(Fault::invalid(format!("{what} 0 stands for all of them")));
    }
    if id >= OWN_IDS {
        return Err(Fault::invalid(format!("{what} numbers end at {:#x}", OWN_IDS - 1)));
    }
    Ok(())
}

fn weight(weight: i32) -> Result<u32, Fault> {
    u32::try_from(weight)
        .ok()
        .filter(|&weight| weight > 0)
        .ok_or_else(|| Fault::invalid(format!("weight {weight} isn't above 0")))
}

/// A watched port must be a port.
fn check_watch(member: &action_profile_group::Member) -> Result<(), Fault> {
    use action_profile_group::member::WatchKind;
    match member.watch_kind.as_ref() {
        Some(WatchKind::WatchPort(port)) => watch::check(port),
        _ => Ok(()),
    }
}
