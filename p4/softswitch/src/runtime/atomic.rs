//! Writes that are made whole or not at all.
//!
//! P4Runtime, Batching and Ordering of Updates. Nothing but the updates happens to the switch between the first and the
//! last of them, so a batch that is undone leaves no trace, and no packet sees a part of it: `ROLLBACK_ON_ERROR` and
//! `DATAPLANE_ATOMIC` are the same here. The price is a copy of the switch's state for each such batch.

use std::collections::HashMap;

use p4runtime::p4::v1::{ActionProfileGroup, CloneSessionEntry, Error, MulticastGroupEntry, Update};
use p4runtime::status::Code;

use super::device::{Device, Extra};
use super::digests::Digests;
use super::fault::Fault;
use crate::control::{EntryHandle, ProfileId, TableId};
use crate::switch;

struct Checkpoint {
    switch: switch::Checkpoint,
    extras: HashMap<(TableId, EntryHandle), Extra>,
    groups: HashMap<(ProfileId, u32), ActionProfileGroup>,
    clone_sessions: HashMap<u16, CloneSessionEntry>,
    multicast_groups: HashMap<u16, MulticastGroupEntry>,
    digests: Digests,
}

impl Device {
    /// Makes all changes or none. If one is refused, its outcome says why, and the others' that they weren't made.
    pub(super) fn write_whole(&mut self, updates: &[Update]) -> Vec<Error> {
        let before = self.checkpoint();
        let failed = updates.iter().enumerate().find_map(|(at, update)| {
            let fault = self.update(update).err()?;
            Some((at, fault))
        });
        let Some((failed, fault)) = failed else { return vec![Error::default(); updates.len()] };
        self.restore(before);
        let mut outcomes: Vec<Error> = (0..updates.len())
            .map(|at| {
                let what = if at < failed { "was undone" } else { "was not tried" };
                let why = format!("{what}: update {failed} of the batch was refused");
                Fault::new(Code::Aborted, why).outcome()
            })
            .collect();
        outcomes[failed] = fault.outcome();
        outcomes
    }

    /// Everything that updates change.
    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            switch: self.switch.checkpoint(),
            extras: self.extras.clone(),
            groups: self.groups.clone(),
            clone_sessions: self.clone_sessions.clone(),
            multicast_groups: self.multicast_groups.clone(),
            digests: self.digests.clone(),
        }
    }

    fn restore(&mut self, before: Checkpoint) {
        self.switch.restore(before.switch);
        self.extras = before.extras;
        self.groups = before.groups;
        self.clone_sessions = before.clone_sessions;
        self.multicast_groups = before.multicast_groups;
        self.digests = before.digests;
    }
}
