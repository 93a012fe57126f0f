//! One program running: its switch, and what the API wants remembered beside the switch.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use p4runtime::p4::v1::{
    ActionProfileActionSet, ActionProfileGroup, CloneSessionEntry, Entity, Error, MulticastGroupEntry,
    Update, entity, packet_replication_engine_entry, update,
};

use super::digests::Digests;
use super::fault::Fault;
use super::pipeline::Pipeline;
use crate::Switch;
use crate::control::{EntryHandle, ProfileId, TableId};

/// A group that came with a table entry.
#[derive(Clone, Debug)]
pub(super) struct OneShot {
    /// As it was given, to be given back.
    pub set: ActionProfileActionSet,
    pub profile: ProfileId,
    pub group: u32,
    pub members: Vec<u32>,
}

/// What an entry has beside the switch's own.
#[derive(Clone, Debug, Default)]
pub(super) struct Extra {
    pub metadata: Vec<u8>,
    pub controller_metadata: u64,
    pub one_shot: Option<OneShot>,
}

impl Extra {
    pub fn is_empty(&self) -> bool {
        self.metadata.is_empty() && self.controller_metadata == 0 && self.one_shot.is_none()
    }
}

/// A program running.
#[derive(Debug)]
pub(super) struct Device {
    pub pipeline: Arc<Pipeline>,
    pub switch: Switch,
    /// Only entries that have something are in here.
    pub extras: HashMap<(TableId, EntryHandle), Extra>,
    /// Groups as they were given: with watched ports and in the client's order.
    pub groups: HashMap<(ProfileId, u32), ActionProfileGroup>,
    /// Clone sessions and multicast groups as they were given: with the client's form of port numbers.
    pub clone_sessions: HashMap<u16, CloneSessionEntry>,
    pub multicast_groups: HashMap<u16, MulticastGroupEntry>,
    pub digests: Digests,
    /// Ports whose link is down.
    pub down: BTreeSet<u16>,
    pub now_ns: u64,
}

impl Device {
    pub fn new(pipeline: Arc<Pipeline>, switch: Switch, now_ns: u64) -> Device {
        Device {
            pipeline,
            switch,
            extras: HashMap::new(),
            groups: HashMap::new(),
            clone_sessions: HashMap::new(),
            multicast_groups: HashMap::new(),
            digests: Digests::default(),
            down: BTreeSet::new(),
            now_ns,
        }
    }

    /// Makes changes in order; a failed one doesn't stop the others. One outcome for each.
    pub fn write(&mut self, updates: &[Update]) -> Vec<Error> {
        updates
            .iter()
            .map(|update| self.update(update).err().map(Fault::outcome).unwrap_or_default())
            .collect()
    }

    pub(super) fn update(&mut self, update: &Update) -> Result<(), Fault> {
        use entity::Entity as Kind;
        let how = update::Type::try_from(update.r#type).unwrap_or_default();
        if how == update::Type::Unspecified {
            return Err(Fault::invalid(format!("update type {} is not known", update.r#type)));
        }
        let kind = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
        match kind.ok_or_else(|| Fault::invalid("the update has no entity"))? {
            Kind::TableEntry(entry) => self.write_table_entry(how, entry),
            Kind::ActionProfileMember(member) => self.write_member(how, member),
            Kind::ActionProfileGroup(group) => self.write_group(how, group),
            Kind::MeterEntry(entry) => self.write_meter(how, entry),
            Kind::DirectMeterEntry(entry) => self.write_direct_meter(how, entry),
            Kind::CounterEntry(entry) => self.write_counter(how, entry),
            Kind::DirectCounterEntry(entry) => self.write_direct_counter(how, entry),
            Kind::RegisterEntry(entry) => self.write_register(how, entry),
            Kind::ValueSetEntry(entry) => self.write_value_set(how, entry),
            Kind::DigestEntry(entry) => self.write_digest(how, entry),
            Kind::PacketReplicationEngineEntry(entry) => match entry.r#type.as_ref() {
                Some(packet_replication_engine_entry::Type::CloneSessionEntry(entry)) => {
                    self.write_clone_session(how, entry)
                }
                Some(packet_replication_engine_entry::Type::MulticastGroupEntry(entry)) => {
                    self.write_multicast_group(how, entry)
                }
                None => Err(Fault::invalid("a replication entry that is neither a group nor a session")),
            },
            Kind::ExternEntry(_) => Err(Fault::unimplemented("v1model has no other externs")),
        }
    }

    /// Reads what one entity of a request stands for.
    pub fn read(&self, request: &Entity) -> Result<Vec<Entity>, Fault> {
        use entity::Entity as Kind;
        let mut out = Vec::new();
        match request.entity.as_ref().ok_or_else(|| Fault::invalid("the request has no entity"))? {
            Kind::TableEntry(filter) => {
                self.read_table_entries(filter, &mut |entry| out.push(Kind::TableEntry(entry)))?;
            }
            Kind::ActionProfileMember(filter) => self.read_members(filter, &mut out)?,
            Kind::ActionProfileGroup(filter) => self.read_groups(filter, &mut out)?,
            Kind::MeterEntry(filter) => self.read_meters(filter, &mut out)?,
            Kind::DirectMeterEntry(filter) => self.read_direct_meters(filter, &mut out)?,
            Kind::CounterEntry(filter) => self.read_counters(filter, &mut out)?,
            Kind::DirectCounterEntry(filter) => self.read_direct_counters(filter, &mut out)?,
            Kind::RegisterEntry(filter) => self.read_registers(filter, &mut out)?,
            Kind::ValueSetEntry(filter) => self.read_value_sets(filter, &mut out)?,
            Kind::DigestEntry(filter) => self.read_digests(filter, &mut out)?,
            Kind::PacketReplicationEngineEntry(filter) => self.read_replication(filter, &mut out)?,
            // No extern instances: a wildcard finds none.
            Kind::ExternEntry(filter) if filter.extern_id == 0 => {}
            Kind::ExternEntry(_) => return Err(Fault::unimplemented("v1model has no other externs")),
        }
        Ok(out.into_iter().map(|entity| Entity { entity: Some(entity) }).collect())
    }
}

/// What only can be changed, never made or removed.
pub(super) fn modify_only(how: update::Type, what: &str) -> Result<(), Fault> {
    if how == update::Type::Modify {
        return Ok(());
    }
    Err(Fault::invalid(format!("{what} can only be modified, neither inserted nor deleted")))
}
