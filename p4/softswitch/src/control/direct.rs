//! What belongs to single entries: counters, meters, idle timeouts.

use super::{ControlError, CounterValue, EntryHandle, MeterConfig, TableId};
use crate::Switch;
use crate::meter::Meter;

/// Direct counters and meters, idle timeouts.
impl Switch {
    /// Reads an entry's direct counter.
    ///
    /// # Errors
    /// No such entry, or the table isn't counted.
    pub fn direct_counter(&self, table: TableId, handle: EntryHandle) -> Result<CounterValue, ControlError> {
        let info = self.table_info(table)?;
        if !info.direct_counter {
            return Err(ControlError::Unsupported(format!("table {} has no direct counter", info.name)));
        }
        Ok(self.entry(table, handle)?.counter)
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
        self.direct_counter(table, handle)?;
        self.entry_mut(table, handle)?.counter = value;
        Ok(())
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
        let info = self.table_info(table)?;
        if !info.direct_meter {
            return Err(ControlError::Unsupported(format!("table {} has no direct meter", info.name)));
        }
        Ok(self.entry(table, handle)?.meter.as_ref().map(|m| m.config()))
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
        self.direct_meter(table, handle)?;
        let made = config.map(Meter::new).transpose()?;
        self.entry_mut(table, handle)?.meter = made.map(Box::new);
        Ok(())
    }

    /// Entries whose idle timeout has passed at `now_ns`; each is reported again after every further timeout without a
    /// hit (P4Runtime, Idle-timeout). Costs nothing while no entry can be idle.
    pub fn poll_idle(&mut self, now_ns: u64) -> Vec<(TableId, EntryHandle)> {
        let mut idle = Vec::new();
        for (t, table) in self.state.tables.iter_mut().enumerate() {
            if table.idle_entries == 0 || now_ns < table.next_idle_ns {
                continue;
            }
            let mut next = u64::MAX;
            for e in table.entries_mut().filter(|e| e.idle_timeout_ns != 0) {
                if now_ns >= e.idle_at_ns() {
                    e.idle_reported_ns = now_ns;
                    idle.push((TableId(t), EntryHandle(e.handle)));
                }
                next = next.min(e.idle_at_ns());
            }
            table.next_idle_ns = next;
        }
        idle
    }
}
