//! Tables.

use super::{
    ActionId, ControlError, CounterValue, EntryAction, EntryHandle, KeyMatch, NewEntry, ProfileId,
    TableEntry, TableId, TableInfo,
};
use crate::Switch;
use crate::table::{Bound, Entry, Table, compile_key, key_matches};

/// Tables: entries, default actions, direct counters and meters, idle timeouts.
#[expect(clippy::needless_pass_by_value, reason = "callers give away what they make for the call")]
impl Switch {
    pub(super) fn table_info(&self, table: TableId) -> Result<&TableInfo, ControlError> {
        let info = self.program.tables().get(table.0);
        info.ok_or(ControlError::UnknownIndex { what: "table", index: table.0 })
    }

    fn entry_slot(&self, table: TableId, handle: EntryHandle) -> Result<u32, ControlError> {
        self.table_info(table)?;
        let slot = self.state.tables[table.0].slot(handle.0);
        slot.ok_or(ControlError::NotFound { what: "entry", id: handle.0 })
    }

    fn mutable(&self, table: TableId) -> Result<&TableInfo, ControlError> {
        let info = self.table_info(table)?;
        if info.const_entries {
            Err(ControlError::Constant(format!("table {}", info.name)))
        } else {
            Ok(info)
        }
    }

    /// Checks what an entry does and finds what it names.
    fn bind(&self, info: &TableInfo, action: &EntryAction) -> Result<Bound, ControlError> {
        let place = |what: &'static str, id: u32, find: &dyn Fn(ProfileId) -> Option<u32>| {
            let profile = info.profile.ok_or_else(|| {
                ControlError::Unsupported(format!("table {} has no action profile", info.name))
            })?;
            find(profile).ok_or(ControlError::NotFound { what, id: u64::from(id) })
        };
        match action {
            EntryAction::Call(call) => {
                if info.profile.is_some() {
                    let problem = format!("table {} runs profile members, not actions", info.name);
                    return Err(ControlError::Unsupported(problem));
                }
                self.check_action(info, call.action)?;
                let (action, data) = self.bind_call(call)?;
                Ok(Bound::Call { action, data })
            }
            EntryAction::Member(id) => {
                let find = |p: ProfileId| self.state.profiles[p.0].members.slot(*id);
                Ok(Bound::Member(place("member", *id, &find)?))
            }
            EntryAction::Group(id) => {
                let find = |p: ProfileId| self.state.profiles[p.0].groups.slot(*id);
                Ok(Bound::Group(place("group", *id, &find)?))
            }
        }
    }

    fn check_action(&self, info: &TableInfo, action: ActionId) -> Result<(), ControlError> {
        if info.actions.contains(&action) {
            return Ok(());
        }
        let name = self.program.actions().get(action.0).map_or("?", |a| &a.name);
        Err(ControlError::WrongAction { action: name.to_owned(), table: info.name.clone() })
    }

    fn unbind(&self, info: &TableInfo, bound: &Bound) -> EntryAction {
        let profile = info.profile.and_then(|p| self.state.profiles.get(p.0));
        match bound {
            Bound::Call { action, data } => EntryAction::Call(self.unbind_call(*action, data)),
            Bound::Member(slot) => {
                EntryAction::Member(profile.and_then(|p| p.members.at(*slot)).map_or(0, |m| m.id))
            }
            Bound::Group(slot) => {
                EntryAction::Group(profile.and_then(|p| p.groups.at(*slot)).map_or(0, |g| g.id))
            }
        }
    }

    /// Keeps count of the entries that use a member or group.
    fn count_use(&mut self, table: TableId, bound: &Bound, more: bool) {
        let Some(profile) = self.program.tables()[table.0].profile else { return };
        let profile = &mut self.state.profiles[profile.0];
        let uses = match bound {
            Bound::Call { .. } => None,
            Bound::Member(slot) => profile.members.at_mut(*slot).map(|m| &mut m.uses),
            Bound::Group(slot) => profile.groups.at_mut(*slot).map(|g| &mut g.uses),
        };
        if let Some(uses) = uses {
            *uses = if more { *uses + 1 } else { uses.saturating_sub(1) };
        }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// Unknown table or action, a malformed or too wide key, a duplicate, a full or constant table.
    pub fn table_insert(&mut self, table: TableId, entry: NewEntry) -> Result<EntryHandle, ControlError> {
        self.mutable(table)?;
        self.insert_entry(table, entry, false)
    }

    pub(crate) fn insert_entry(
        &mut self,
        table: TableId,
        entry: NewEntry,
        is_const: bool,
    ) -> Result<EntryHandle, ControlError> {
        let program = std::sync::Arc::clone(&self.program);
        let info = self.table_info(table)?;
        let shape = &program.control.tables[table.0];
        if info.keys.is_empty() {
            return Err(ControlError::Unsupported(format!("table {} has no key: no entries", info.name)));
        }
        if entry.idle_timeout_ns != 0 && !info.idle_timeout {
            return Err(ControlError::Unsupported(format!("table {} has no idle timeouts", info.name)));
        }
        let compiled = compile_key(shape, &info.keys, &entry.key)?;
        let bound = self.bind(info, &entry.action)?;
        let made = Entry {
            handle: 0,
            key: key_matches(shape, &compiled),
            priority: if info.needs_priority { entry.priority } else { 0 },
            bound: bound.clone(),
            counter: CounterValue::default(),
            meter: None,
            last_hit_ns: self.now_ns,
            idle_timeout_ns: entry.idle_timeout_ns,
            idle_reported_ns: 0,
            is_const,
        };
        let handle = self.state.tables[table.0].insert(&program.tables()[table.0], &compiled, made)?;
        self.count_use(table, &bound, true);
        Ok(EntryHandle(handle))
    }

    /// Gives an entry another action (and idle timeout, if one is given).
    ///
    /// # Errors
    /// No such entry, or the action isn't allowed, or the table is constant.
    pub fn table_modify(
        &mut self,
        table: TableId,
        handle: EntryHandle,
        action: EntryAction,
        idle_timeout_ns: Option<u64>,
    ) -> Result<(), ControlError> {
        let info = self.mutable(table)?;
        if idle_timeout_ns.is_some_and(|t| t != 0) && !info.idle_timeout {
            return Err(ControlError::Unsupported(format!("table {} has no idle timeouts", info.name)));
        }
        let bound = self.bind(info, &action)?;
        let slot = self.entry_slot(table, handle)?;
        let now_ns = self.now_ns;
        self.count_use(table, &bound, true);
        let state = &mut self.state.tables[table.0];
        let Some(entry) = state.at_mut(slot) else { return Ok(()) };
        let old = std::mem::replace(&mut entry.bound, bound);
        entry.last_hit_ns = now_ns;
        if let Some(timeout) = idle_timeout_ns {
            let (had, has) = (entry.idle_timeout_ns != 0, timeout != 0);
            entry.idle_timeout_ns = timeout;
            state.idle_entries = state.idle_entries + usize::from(has) - usize::from(had);
            if has {
                state.next_idle_ns = state.next_idle_ns.min(now_ns.saturating_add(timeout));
            }
        }
        self.count_use(table, &old, false);
        Ok(())
    }

    fn remove_slot(&mut self, table: TableId, slot: u32) -> Result<(), ControlError> {
        let program = std::sync::Arc::clone(&self.program);
        let shape = &program.control.tables[table.0];
        let state = &mut self.state.tables[table.0];
        let Some(entry) = state.at(slot) else { return Ok(()) };
        let compiled = compile_key(shape, &program.tables()[table.0].keys, &entry.key)?;
        if let Some(gone) = state.remove(&compiled, slot) {
            self.count_use(table, &gone.bound, false);
        }
        Ok(())
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// No such entry, or the table is constant.
    pub fn table_delete(&mut self, table: TableId, handle: EntryHandle) -> Result<(), ControlError> {
        self.mutable(table)?;
        let slot = self.entry_slot(table, handle)?;
        self.remove_slot(table, slot)
    }

    /// Removes all entries.
    ///
    /// # Errors
    /// Unknown table, or the table is constant.
    pub fn table_clear(&mut self, table: TableId) -> Result<(), ControlError> {
        self.mutable(table)?;
        let state = &self.state.tables[table.0];
        let slots: Vec<u32> = state.entries().filter_map(|e| state.slot(e.handle)).collect();
        slots.into_iter().try_for_each(|slot| self.remove_slot(table, slot))
    }

    /// Finds the entry with this key (and priority, where the table has priorities).
    ///
    /// # Errors
    /// Unknown table or a malformed key.
    pub fn table_find(
        &self,
        table: TableId,
        key: &[KeyMatch],
        priority: u32,
    ) -> Result<Option<EntryHandle>, ControlError> {
        let info = self.table_info(table)?;
        let compiled = compile_key(&self.program.control.tables[table.0], &info.keys, key)?;
        let state = &self.state.tables[table.0];
        let slot = state.find(&compiled, if info.needs_priority { priority } else { 0 });
        Ok(slot.and_then(|s| state.at(s)).map(|e| EntryHandle(e.handle)))
    }

    fn read_entry(&self, info: &TableInfo, e: &Entry) -> TableEntry {
        TableEntry {
            handle: EntryHandle(e.handle),
            key: e.key.to_vec(),
            priority: e.priority,
            action: self.unbind(info, &e.bound),
            idle_timeout_ns: e.idle_timeout_ns,
            last_hit_ns: e.last_hit_ns,
            is_const: e.is_const,
        }
    }

    pub(super) fn entry(&self, table: TableId, handle: EntryHandle) -> Result<&Entry, ControlError> {
        let slot = self.entry_slot(table, handle)?;
        self.state.tables[table.0].at(slot).ok_or(ControlError::NotFound { what: "entry", id: handle.0 })
    }

    pub(super) fn entry_mut(
        &mut self,
        table: TableId,
        handle: EntryHandle,
    ) -> Result<&mut Entry, ControlError> {
        let slot = self.entry_slot(table, handle)?;
        self.state.tables[table.0].at_mut(slot).ok_or(ControlError::NotFound { what: "entry", id: handle.0 })
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// No such entry.
    pub fn table_entry(&self, table: TableId, handle: EntryHandle) -> Result<TableEntry, ControlError> {
        let info = self.table_info(table)?;
        Ok(self.read_entry(info, self.entry(table, handle)?))
    }

    /// The handles of all entries, in no order.
    ///
    /// # Errors
    /// Unknown table.
    pub fn table_handles(&self, table: TableId) -> Result<Vec<EntryHandle>, ControlError> {
        self.table_info(table)?;
        Ok(self.state.tables[table.0].entries().map(|e| EntryHandle(e.handle)).collect())
    }

    /// Reads all entries, in the order of their handles.
    ///
    /// # Errors
    /// Unknown table.
    pub fn table_entries(&self, table: TableId) -> Result<Vec<TableEntry>, ControlError> {
        let info = self.table_info(table)?;
        let mut all: Vec<TableEntry> =
            self.state.tables[table.0].entries().map(|e| self.read_entry(info, e)).collect();
        all.sort_by_key(|e| e.handle);
        Ok(all)
    }

    /// How many entries a table has.
    ///
    /// # Errors
    /// Unknown table.
    pub fn table_len(&self, table: TableId) -> Result<usize, ControlError> {
        self.table_info(table)?;
        Ok(self.state.tables[table.0].len())
    }

    /// Reads the default action; `None`: nothing happens on a miss.
    ///
    /// # Errors
    /// Unknown table.
    pub fn table_default(&self, table: TableId) -> Result<Option<EntryAction>, ControlError> {
        let info = self.table_info(table)?;
        Ok(self.state.tables[table.0].default.as_ref().map(|b| self.unbind(info, b)))
    }

    /// Sets the default action; `None` puts the program's own back.
    ///
    /// # Errors
    /// Unknown table or action, wrong arguments, or a constant default action.
    pub fn table_set_default(
        &mut self,
        table: TableId,
        action: Option<EntryAction>,
    ) -> Result<(), ControlError> {
        let info = self.table_info(table)?;
        let shape = &self.program.control.tables[table.0];
        if info.const_default && action.is_some() {
            return Err(ControlError::Constant(format!("the default action of table {}", info.name)));
        }
        let bound = match &action {
            None => Table::new(shape).default,
            Some(action) => {
                if let (EntryAction::Call(call), Some((own, _)), true) =
                    (action, &shape.default, shape.const_default_action)
                    && call.action.0 != *own
                {
                    return Err(ControlError::Constant(format!("the default action of table {}", info.name)));
                }
                Some(self.bind(info, action)?)
            }
        };
        let old = std::mem::replace(&mut self.state.tables[table.0].default, bound.clone());
        if let Some(bound) = &bound {
            self.count_use(table, bound, true);
        }
        if let Some(old) = &old {
            self.count_use(table, old, false);
        }
        Ok(())
    }
}
