#![allow(unused_variables, clippy::unimplemented, clippy::unused_self, clippy::needless_pass_by_value)]
#[allow(clippy::wildcard_imports)]
use super::*;
use crate::Switch;

/// Tables: entries, default actions, direct counters and meters, idle timeouts.
impl Switch {
    /// Adds an entry.
    ///
    /// # Errors
    /// Unknown table or action, a malformed or too wide key, a duplicate, a full or constant table.
    pub fn table_insert(&mut self, table: TableId, entry: NewEntry) -> Result<EntryHandle, ControlError> {
        unimplemented!()
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
        unimplemented!()
    }
    /// Removes an entry.
    ///
    /// # Errors
    /// No such entry, or the table is constant.
    pub fn table_delete(&mut self, table: TableId, handle: EntryHandle) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Removes all entries (not those the program put there).
    ///
    /// # Errors
    /// Unknown table, or the table is constant.
    pub fn table_clear(&mut self, table: TableId) -> Result<(), ControlError> {
        unimplemented!()
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
        unimplemented!()
    }
    /// Reads an entry.
    ///
    /// # Errors
    /// No such entry.
    pub fn table_entry(&self, table: TableId, handle: EntryHandle) -> Result<TableEntry, ControlError> {
        unimplemented!()
    }
    /// Reads all entries, in the order of their handles.
    ///
    /// # Errors
    /// Unknown table.
    pub fn table_entries(&self, table: TableId) -> Result<Vec<TableEntry>, ControlError> {
        unimplemented!()
    }
    /// How many entries a table has.
    ///
    /// # Errors
    /// Unknown table.
    pub fn table_len(&self, table: TableId) -> Result<usize, ControlError> {
        unimplemented!()
    }
    /// Reads the default action; `None`: nothing happens on a miss.
    ///
    /// # Errors
    /// Unknown table.
    pub fn table_default(&self, table: TableId) -> Result<Option<EntryAction>, ControlError> {
        unimplemented!()
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
        unimplemented!()
    }
    /// Reads an entry's direct counter.
    ///
    /// # Errors
    /// No such entry, or the table isn't counted.
    pub fn direct_counter(&self, table: TableId, handle: EntryHandle) -> Result<CounterValue, ControlError> {
        unimplemented!()
    }
    /// Sets an entry's direct counter.
    ///
    /// # Errors
    /// No such entry, or the table isn't counted.
    pub fn set_direct_counter(
        &mut self,
        table: TableId,
        handle: EntryHandle,
        value: CounterValue,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Reads an entry's direct meter; `None`: not configured, every packet is green.
    ///
    /// # Errors
    /// No such entry, or the table isn't metered.
    pub fn direct_meter(
        &self,
        table: TableId,
        handle: EntryHandle,
    ) -> Result<Option<MeterConfig>, ControlError> {
        unimplemented!()
    }
    /// Configures an entry's direct meter; `None` switches it off.
    ///
    /// # Errors
    /// No such entry, the table isn't metered, or the peak rate is below the committed rate.
    pub fn set_direct_meter(
        &mut self,
        table: TableId,
        handle: EntryHandle,
        config: Option<MeterConfig>,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Entries whose idle timeout has passed at `now_ns`; each is reported once until it is hit again.
    pub fn poll_idle(&mut self, now_ns: u64) -> Vec<(TableId, EntryHandle)> {
        unimplemented!()
    }
}
