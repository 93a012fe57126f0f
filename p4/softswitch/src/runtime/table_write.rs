//! Table entries and default actions: writing.

use p4runtime::index::Table;
use p4runtime::p4::v1::{TableAction, TableEntry, table_action, update};
use p4runtime::status::Code;

use super::convert;
use super::device::{Device, Extra, OneShot};
use super::fault::Fault;
use super::pipeline::BoundTable;
use crate::control::{
    EntryAction, EntryHandle, KeyMatch, MeterConfig, NewEntry, TableId, priority_from_p4runtime,
};

/// A table, its index, and the key of an entry in it.
pub(super) struct Located {
    pub table: TableId,
    pub key: Vec<KeyMatch>,
    pub priority: u32,
}

impl Device {
    pub(super) fn write_table_entry(&mut self, how: update::Type, entry: &TableEntry) -> Result<(), Fault> {
        let pipeline = self.pipeline.clone();
        let (table, bound) = pipeline.table(entry.table_id)?;
        self.write_entry_of(how, entry, table, bound)
            .map_err(|fault| fault.at(&format!("table `{}`", table.name)))
    }

    fn write_entry_of(
        &mut self,
        how: update::Type,
        entry: &TableEntry,
        table: &Table,
        bound: &BoundTable,
    ) -> Result<(), Fault> {
        if entry.is_const {
            return Err(Fault::invalid("is_const is the program's to say"));
        }
        if entry.is_default_action {
            return self.write_default(how, entry, table, bound);
        }
        if how == update::Type::Delete {
            if self.pipeline.is_fixed(table, bound) {
                return Err(fixed());
            }
            let (located, handle) = self.find_entry(table, bound, entry)?;
            self.switch.table_delete(located.table, handle)?;
            self.forget(located.table, handle);
            return Ok(());
        }
        check_resources(table, entry)?;
        if how == update::Type::Insert {
            self.insert(entry, table, bound)
        } else {
            self.modify(entry, table, bound)
        }
    }

    fn insert(&mut self, entry: &TableEntry, table: &Table, bound: &BoundTable) -> Result<(), Fault> {
        if self.pipeline.is_fixed(table, bound) {
            return Err(fixed());
        }
        if table.fields.is_empty() {
            return Err(Fault::invalid("it has no key: only its default action can be set"));
        }
        let located = locate(table, bound, entry)?;
        if self.switch.table_find(located.table, &located.key, located.priority)?.is_some() {
            return Err(Fault::new(Code::AlreadyExists, "there is an entry with this key and priority"));
        }
        let action = entry.action.as_ref().ok_or_else(|| Fault::invalid("a new entry needs an action"))?;
        let (action, one_shot) = self.table_action(table, bound, action)?;
        let new = NewEntry {
            key: located.key,
            priority: located.priority,
            action,
            idle_timeout_ns: idle_timeout(table, entry)?.unwrap_or(0),
        };
        let handle = match self.switch.table_insert(located.table, new) {
            Ok(handle) => handle,
            Err(error) => {
                self.discard(one_shot);
                return Err(error.into());
            }
        };
        if let Err(fault) = self.write_resources(located.table, handle, table, entry) {
            self.switch.table_delete(located.table, handle)?;
            self.discard(one_shot);
            return Err(fault);
        }
        self.remember(located.table, handle, entry, one_shot);
        Ok(())
    }

    fn modify(&mut self, entry: &TableEntry, table: &Table, bound: &BoundTable) -> Result<(), Fault> {
        let (located, handle) = self.find_entry(table, bound, entry)?;
        let old = self.switch.table_entry(located.table, handle)?;
        let is_fixed = self.pipeline.is_fixed(table, bound);
        if is_fixed && entry.action.is_some() {
            return Err(fixed());
        }
        let timeout = idle_timeout(table, entry)?;
        self.write_resources(located.table, handle, table, entry)?;
        if is_fixed {
            return Ok(());
        }
        let Some(action) = entry.action.as_ref() else {
            // Without action the entry keeps the one it has.
            self.switch.table_modify(located.table, handle, old.action, timeout)?;
            let kept = self.extras.remove(&(located.table, handle)).and_then(|extra| extra.one_shot);
            self.remember(located.table, handle, entry, kept);
            return Ok(());
        };
        let (action, one_shot) = self.table_action(table, bound, action)?;
        if let Err(error) = self.switch.table_modify(located.table, handle, action, timeout) {
            self.discard(one_shot);
            return Err(error.into());
        }
        self.forget(located.table, handle);
        self.remember(located.table, handle, entry, one_shot);
        Ok(())
    }

    fn write_default(
        &mut self,
        how: update::Type,
        entry: &TableEntry,
        table: &Table,
        bound: &BoundTable,
    ) -> Result<(), Fault> {
        if how != update::Type::Modify {
            return Err(Fault::invalid("the default action is always there: it can only be modified"));
        }
        if !entry.r#match.is_empty() || entry.priority != 0 {
            return Err(Fault::invalid("a default action has neither key nor priority"));
        }
        if entry.idle_timeout_ns != 0 {
            return Err(Fault::invalid("a default action doesn't age"));
        }
        if entry.counter_data.is_some() || entry.meter_config.is_some() {
            return Err(Fault::unimplemented("default actions are neither counted nor metered"));
        }
        if table.const_default_action.is_some() {
            return Err(Fault::new(Code::PermissionDenied, "its default action is fixed by the program"));
        }
        let action = match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
            None => None,
            Some(table_action::Type::Action(action)) => {
                if table.action(action.action_id).is_some_and(|allowed| !allowed.as_default) {
                    return Err(Fault::new(Code::PermissionDenied, "this action is for entries only"));
                }
                Some(EntryAction::Call(convert::call(&self.pipeline, &bound.actions, action)?))
            }
            Some(table_action::Type::ActionProfileMemberId(member)) => Some(EntryAction::Member(*member)),
            Some(table_action::Type::ActionProfileGroupId(group)) => Some(EntryAction::Group(*group)),
            Some(table_action::Type::ActionProfileActionSet(_)) => {
                return Err(Fault::unimplemented("a one-shot group as default action"));
            }
        };
        self.switch.table_set_default(bound.id, action)?;
        Ok(())
    }

    /// Finds the entry that a message's key names.
    pub(super) fn find_entry(
        &self,
        table: &Table,
        bound: &BoundTable,
        entry: &TableEntry,
    ) -> Result<(Located, EntryHandle), Fault> {
        let located = locate(table, bound, entry)?;
        let handle = self
            .switch
            .table_find(located.table, &located.key, located.priority)?
            .ok_or_else(|| Fault::new(Code::NotFound, "there is no entry with this key and priority"))?;
        Ok((located, handle))
    }

    /// The switch's form of an entry's action; one-shot groups are made on the way.
    fn table_action(
        &mut self,
        table: &Table,
        bound: &BoundTable,
        action: &TableAction,
    ) -> Result<(EntryAction, Option<OneShot>), Fault> {
        let kind = action.r#type.as_ref().ok_or_else(|| Fault::invalid("the action is empty"))?;
        let profile = table.implementation;
        match kind {
            table_action::Type::Action(action) => {
                if profile.is_some() {
                    return Err(Fault::invalid(
                        "its entries go through an action profile: name a member or group",
                    ));
                }
                if table.action(action.action_id).is_some_and(|allowed| !allowed.in_entries) {
                    return Err(Fault::new(
                        Code::PermissionDenied,
                        "this action is for the default action only",
                    ));
                }
                Ok((EntryAction::Call(convert::call(&self.pipeline, &bound.actions, action)?), None))
            }
            _ if profile.is_none() => Err(Fault::invalid("it has no action profile: give an action itself")),
            table_action::Type::ActionProfileMemberId(member) => {
                self.check_reference(profile, *member, false)?;
                Ok((EntryAction::Member(*member), None))
            }
            table_action::Type::ActionProfileGroupId(group) => {
                self.check_reference(profile, *group, true)?;
                Ok((EntryAction::Group(*group), None))
            }
            table_action::Type::ActionProfileActionSet(set) => {
                let one_shot = self.make_one_shot(profile.unwrap_or(0), set)?;
                Ok((EntryAction::Group(one_shot.group), Some(one_shot)))
            }
        }
    }

    fn write_resources(
        &mut self,
        id: TableId,
        handle: EntryHandle,
        table: &Table,
        entry: &TableEntry,
    ) -> Result<(), Fault> {
        // The meter first: it is the one that can be refused.
        if table.direct_meter.is_some()
            && let Some(config) = entry.meter_config.as_ref()
        {
            let config: MeterConfig = super::arrays::meter_config(config)?;
            self.switch.set_direct_meter(id, handle, Some(config))?;
        }
        if table.direct_counter.is_some()
            && let Some(data) = entry.counter_data.as_ref()
        {
            self.switch.set_direct_counter(id, handle, super::arrays::counter_value(data)?)?;
        }
        Ok(())
    }

    #[expect(deprecated, reason = "controller_metadata is given back to clients that still use it")]
    fn remember(&mut self, id: TableId, handle: EntryHandle, entry: &TableEntry, one_shot: Option<OneShot>) {
        let extra = Extra {
            metadata: entry.metadata.clone(),
            controller_metadata: entry.controller_metadata,
            one_shot,
        };
        if !extra.is_empty() {
            self.extras.insert((id, handle), extra);
        }
    }

    fn forget(&mut self, id: TableId, handle: EntryHandle) {
        let extra = self.extras.remove(&(id, handle));
        self.discard(extra.and_then(|extra| extra.one_shot));
    }
}

/// The key and priority of an entry, checked.
pub(super) fn locate(table: &Table, bound: &BoundTable, entry: &TableEntry) -> Result<Located, Fault> {
    if table.needs_priority() && entry.priority <= 0 {
        return Err(Fault::invalid(
            "its key has a ternary, range or optional field: a priority above 0 is wanted",
        ));
    }
    if !table.needs_priority() && entry.priority != 0 {
        return Err(Fault::invalid(
            "its key has no ternary, range or optional field: the priority must be 0",
        ));
    }
    let key = convert::key(table, bound, &entry.r#match)?;
    let priority = if table.needs_priority() { priority_from_p4runtime(entry.priority) } else { 0 };
    Ok(Located { table: bound.id, key, priority })
}

fn idle_timeout(table: &Table, entry: &TableEntry) -> Result<Option<u64>, Fault> {
    match u64::try_from(entry.idle_timeout_ns) {
        Ok(0) if table.idle_timeout => Ok(Some(0)),
        Ok(0) => Ok(None),
        Ok(timeout) if table.idle_timeout => Ok(Some(timeout)),
        Ok(_) => Err(Fault::invalid("its entries have no idle timeout (the program doesn't ask for it)")),
        Err(_) => Err(Fault::invalid("a negative idle timeout")),
    }
}

fn fixed() -> Fault {
    Fault::new(Code::PermissionDenied, "its entries are fixed by the program")
}

fn check_resources(table: &Table, entry: &TableEntry) -> Result<(), Fault> {
    if entry.meter_counter_data.is_some() {
        return Err(Fault::unimplemented("meters don't count by colour"));
    }
    if entry.counter_data.is_some() && table.direct_counter.is_none() {
        return Err(Fault::invalid("its entries have no counter"));
    }
    if entry.meter_config.is_some() && table.direct_meter.is_none() {
        return Err(Fault::invalid("its entries have no meter"));
    }
    Ok(())
}
