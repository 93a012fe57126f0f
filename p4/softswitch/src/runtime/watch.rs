//! Watched ports: a member of a group is left out while the port that it watches is down.
//!
//! P4Runtime, Action Profile Group (`watch_port`), also in one-shot groups. Reads give groups as they were written.

use p4runtime::bytes;
use p4runtime::p4::v1::{action_profile_action, action_profile_group};

use super::Runtime;
use super::device::{Device, OneShot};
use super::fault::Fault;
use crate::control::ProfileId;

/// v1model's ports have 9 bits.
const PORT_BITS: usize = 9;

impl Runtime {
    /// A port's link came up or went down; ports are up until this says otherwise, for every program to come. Packets to
    /// a port that is down still leave through it: this is for groups that watch it.
    pub fn set_port_up(&mut self, port: u16, up: bool) {
        let changed = if up { self.down.remove(&port) } else { self.down.insert(port) };
        if !changed {
            return;
        }
        for device in self.active.iter_mut().chain(&mut self.saved) {
            device.down.clone_from(&self.down);
            device.leave_out_all();
        }
    }
}

impl Device {
    fn leave_out_all(&mut self) {
        let groups: Vec<(ProfileId, u32)> = self.groups.keys().copied().collect();
        for (profile, group) in groups {
            self.leave_out(profile, group);
        }
        let one_shots: Vec<OneShot> =
            self.extras.values().filter_map(|extra| extra.one_shot.clone()).collect();
        for one_shot in one_shots {
            self.leave_out_of(&one_shot);
        }
    }

    /// Leaves out the members of a group whose ports are down.
    pub(super) fn leave_out(&mut self, profile: ProfileId, group: u32) {
        let Some(given) = self.groups.get(&(profile, group)) else { return };
        let left_out: Vec<u32> = given
            .members
            .iter()
            .filter(|member| self.is_down(watched_by_member(member)))
            .map(|member| member.member_id)
            .collect();
        // It is there: it was written.
        let _ = self.switch.group_leave_out(profile, group, &left_out);
    }

    /// As [`Device::leave_out`], for a one-shot group.
    pub(super) fn leave_out_of(&mut self, one_shot: &OneShot) {
        let left_out: Vec<u32> = one_shot
            .set
            .action_profile_actions
            .iter()
            .zip(&one_shot.members)
            .filter(|(action, _)| self.is_down(watched_by_action(action)))
            .map(|(_, &member)| member)
            .collect();
        let _ = self.switch.group_leave_out(one_shot.profile, one_shot.group, &left_out);
    }

    fn is_down(&self, port: Option<u16>) -> bool {
        port.is_some_and(|port| self.down.contains(&port))
    }
}

fn watched_by_member(member: &action_profile_group::Member) -> Option<u16> {
    use action_profile_group::member::WatchKind;
    match member.watch_kind.as_ref()? {
        WatchKind::WatchPort(port) => number(port),
        #[expect(deprecated, reason = "clients of older versions use it")]
        WatchKind::Watch(port) => u16::try_from(*port).ok(),
    }
}

fn watched_by_action(action: &p4runtime::p4::v1::ActionProfileAction) -> Option<u16> {
    use action_profile_action::WatchKind;
    match action.watch_kind.as_ref()? {
        WatchKind::WatchPort(port) => number(port),
        #[expect(deprecated, reason = "clients of older versions use it")]
        WatchKind::Watch(port) => u16::try_from(*port).ok(),
    }
}

fn number(port: &[u8]) -> Option<u16> {
    u16::try_from(bytes::decode(port, PORT_BITS).ok()?).ok()
}

/// A watched port is a port number, or none.
pub(super) fn check(port: &[u8]) -> Result<(), Fault> {
    if port.is_empty() {
        return Ok(());
    }
    bytes::check(port, PORT_BITS).map(drop).map_err(|error| Fault::invalid(format!("watch_port: {error}")))
}
