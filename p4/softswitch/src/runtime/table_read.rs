//! Table entries and default actions: reading.

use p4runtime::index::Table;
use p4runtime::p4::v1::{
    DirectCounterEntry, DirectMeterEntry, FieldMatch, TableAction, TableEntry, entity, table_action,
    table_entry, update,
};

use super::arrays;
use super::convert;
use super::device::{Device, modify_only};
use super::fault::Fault;
use super::pipeline::BoundTable;
use crate::control::{self, EntryAction, EntryHandle, KeyMatch, priority_to_p4runtime};

impl Device {
    /// Gives every entry that a request stands for, by table id, key and priority (the highest first).
    pub(super) fn read_table_entries(
        &self,
        filter: &TableEntry,
        out: &mut impl FnMut(TableEntry),
    ) -> Result<(), Fault> {
        self.each_entry(filter, &mut |_, _, _, message| {
            out(message);
            Ok(())
        })
    }

    /// As [`Device::read_table_entries`], with the table and handle of each; the default action has no handle.
    fn each_entry(
        &self,
        filter: &TableEntry,
        out: &mut impl FnMut(&Table, &BoundTable, Option<EntryHandle>, TableEntry) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if filter.table_id != 0 {
            self.pipeline.table(filter.table_id)?;
        } else if !filter.r#match.is_empty() {
            return Err(Fault::invalid("a key without table id"));
        }
        for table in &self.pipeline.index.tables {
            if filter.table_id != 0 && filter.table_id != table.id {
                continue;
            }
            let (_, bound) = self.pipeline.table(table.id)?;
            let at = |fault: Fault| fault.at(&format!("table `{}`", table.name));
            if filter.is_default_action {
                let entry = self.default_entry(table, bound).map_err(at)?;
                out(table, bound, None, entry)?;
                continue;
            }
            let wanted = wanted_components(table, filter).map_err(at)?;
            let mut found: Vec<control::TableEntry> = self.switch.table_entries(bound.id)?;
            found.sort_by(|a, b| compare(&a.key, &b.key).then(a.priority.cmp(&b.priority)));
            for entry in found {
                let message = self.entry_message(table, bound, &entry, filter)?;
                if matches(&message, filter, &wanted) {
                    out(table, bound, Some(entry.handle), message)?;
                }
            }
        }
        Ok(())
    }

    fn default_entry(&self, table: &Table, bound: &BoundTable) -> Result<TableEntry, Fault> {
        let action = match self.switch.table_default(bound.id)? {
            Some(action) => self.action_message(bound, &action),
            // Nothing happens on a miss; P4Info says how the program calls that.
            None => table.initial_default_action.as_ref().map(|action| {
                table_action::Type::Action(p4runtime::p4::v1::Action {
                    action_id: action.action_id,
                    params: Vec::new(),
                })
            }),
        };
        Ok(TableEntry {
            table_id: table.id,
            action: action.map(|kind| TableAction { r#type: Some(kind) }),
            is_default_action: true,
            ..TableEntry::default()
        })
    }

    fn action_message(&self, bound: &BoundTable, action: &EntryAction) -> Option<table_action::Type> {
        match action {
            EntryAction::Call(call) => {
                convert::call_message(&self.pipeline, &bound.actions, call).map(table_action::Type::Action)
            }
            EntryAction::Member(member) => Some(table_action::Type::ActionProfileMemberId(*member)),
            EntryAction::Group(group) => Some(table_action::Type::ActionProfileGroupId(*group)),
        }
    }

    /// An entry's message, with the direct resources that the request has.
    #[expect(deprecated, reason = "controller_metadata is given back to clients that still use it")]
    pub(super) fn entry_message(
        &self,
        table: &Table,
        bound: &BoundTable,
        entry: &control::TableEntry,
        filter: &TableEntry,
    ) -> Result<TableEntry, Fault> {
        let extra = self.extras.get(&(bound.id, entry.handle));
        let action = match extra.and_then(|extra| extra.one_shot.as_ref()) {
            Some(one_shot) => Some(table_action::Type::ActionProfileActionSet(one_shot.set.clone())),
            None => self.action_message(bound, &entry.action),
        };
        let mut message = TableEntry {
            table_id: table.id,
            r#match: convert::key_message(table, bound, &entry.key),
            action: action.map(|kind| TableAction { r#type: Some(kind) }),
            priority: if table.needs_priority() { priority_to_p4runtime(entry.priority) } else { 0 },
            controller_metadata: extra.map_or(0, |extra| extra.controller_metadata),
            metadata: extra.map(|extra| extra.metadata.clone()).unwrap_or_default(),
            idle_timeout_ns: i64::try_from(entry.idle_timeout_ns).unwrap_or(i64::MAX),
            is_const: entry.is_const && self.pipeline.is_fixed(table, bound),
            ..TableEntry::default()
        };
        if filter.counter_data.is_some() && table.direct_counter.is_some() {
            message.counter_data =
                Some(arrays::counter_data(self.switch.direct_counter(bound.id, entry.handle)?));
        }
        if filter.meter_config.is_some() && table.direct_meter.is_some() {
            let config = self.switch.direct_meter(bound.id, entry.handle)?;
            message.meter_config = config.map(arrays::meter_message);
        }
        if filter.time_since_last_hit.is_some() && table.idle_timeout {
            let elapsed = self.now_ns.saturating_sub(entry.last_hit_ns);
            let elapsed_ns = i64::try_from(elapsed).unwrap_or(i64::MAX);
            message.time_since_last_hit = Some(table_entry::IdleTimeout { elapsed_ns });
        }
        Ok(message)
    }

    /// The key of an entry that has been idle, for a notification.
    pub(super) fn idle_message(&self, table: control::TableId, handle: EntryHandle) -> Option<TableEntry> {
        let (table, bound) = self.pipeline.table_of(table)?;
        let entry = self.switch.table_entry(bound.id, handle).ok()?;
        let mut message = self.entry_message(table, bound, &entry, &TableEntry::default()).ok()?;
        message.action = None;
        Some(message)
    }

    pub(super) fn read_direct_counters(
        &self,
        filter: &DirectCounterEntry,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        let entry = filter.table_entry.clone().unwrap_or_default();
        if entry.table_id != 0 {
            let (table, _) = self.pipeline.table(entry.table_id)?;
            table.direct_counter.ok_or_else(|| no_resource(table, "counter"))?;
        }
        self.each_entry(&entry, &mut |table, bound, handle, message| {
            if let (Some(_), Some(handle)) = (table.direct_counter, handle) {
                let data = Some(arrays::counter_data(self.switch.direct_counter(bound.id, handle)?));
                out.push(entity::Entity::DirectCounterEntry(DirectCounterEntry {
                    table_entry: Some(key_only(message)),
                    data,
                }));
            }
            Ok(())
        })
    }

    pub(super) fn read_direct_meters(
        &self,
        filter: &DirectMeterEntry,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        let entry = filter.table_entry.clone().unwrap_or_default();
        if entry.table_id != 0 {
            let (table, _) = self.pipeline.table(entry.table_id)?;
            table.direct_meter.ok_or_else(|| no_resource(table, "meter"))?;
        }
        self.each_entry(&entry, &mut |table, bound, handle, message| {
            if let (Some(_), Some(handle)) = (table.direct_meter, handle) {
                let config = self.switch.direct_meter(bound.id, handle)?.map(arrays::meter_message);
                out.push(entity::Entity::DirectMeterEntry(DirectMeterEntry {
                    table_entry: Some(key_only(message)),
                    config,
                    counter_data: None,
                }));
            }
            Ok(())
        })
    }

    pub(super) fn write_direct_counter(
        &mut self,
        how: update::Type,
        entry: &DirectCounterEntry,
    ) -> Result<(), Fault> {
        modify_only(how, "a direct counter")?;
        let pipeline = self.pipeline.clone();
        let key =
            entry.table_entry.as_ref().ok_or_else(|| Fault::invalid("a direct counter without entry"))?;
        let (table, bound) = pipeline.table(key.table_id)?;
        table.direct_counter.ok_or_else(|| no_resource(table, "counter"))?;
        let at = |fault: Fault| fault.at(&format!("table `{}`", table.name));
        let (located, handle) = self.find_entry(table, bound, key).map_err(at)?;
        // Without data nothing changes.
        if let Some(data) = entry.data.as_ref() {
            self.switch.set_direct_counter(located.table, handle, arrays::counter_value(data)?)?;
        }
        Ok(())
    }

    pub(super) fn write_direct_meter(
        &mut self,
        how: update::Type,
        entry: &DirectMeterEntry,
    ) -> Result<(), Fault> {
        modify_only(how, "a direct meter")?;
        if entry.counter_data.is_some() {
            return Err(Fault::unimplemented("meters don't count by colour"));
        }
        let pipeline = self.pipeline.clone();
        let key = entry.table_entry.as_ref().ok_or_else(|| Fault::invalid("a direct meter without entry"))?;
        let (table, bound) = pipeline.table(key.table_id)?;
        table.direct_meter.ok_or_else(|| no_resource(table, "meter"))?;
        let at = |fault: Fault| fault.at(&format!("table `{}`", table.name));
        let (located, handle) = self.find_entry(table, bound, key).map_err(at)?;
        let config = entry.config.as_ref().map(arrays::meter_config).transpose()?;
        self.switch.set_direct_meter(located.table, handle, config)?;
        Ok(())
    }
}

fn no_resource(table: &Table, what: &str) -> Fault {
    Fault::invalid(format!("table `{}`: its entries have no {what}", table.name))
}

pub(super) fn key_only(entry: TableEntry) -> TableEntry {
    TableEntry {
        table_id: entry.table_id,
        r#match: entry.r#match,
        priority: entry.priority,
        is_default_action: entry.is_default_action,
        ..TableEntry::default()
    }
}

/// The components that a request gives, in canonical form: only entries that have them are wanted.
pub(super) fn wanted_components(table: &Table, filter: &TableEntry) -> Result<Vec<FieldMatch>, Fault> {
    filter
        .r#match
        .iter()
        .map(|given| {
            let (_, field) = convert::place(table, given.field_id)?;
            let component = convert::component(field, given)
                .map_err(|fault| fault.at(&format!("field `{}`", field.name)))?;
            convert::component_message(field, &component)
                .ok_or_else(|| Fault::invalid(format!("field `{}` matches everything", field.name)))
        })
        .collect()
}

#[expect(deprecated, reason = "controller_metadata filters for clients that still use it")]
pub(super) fn matches(entry: &TableEntry, filter: &TableEntry, wanted: &[FieldMatch]) -> bool {
    wanted.iter().all(|component| entry.r#match.contains(component))
        && (filter.priority == 0 || filter.priority == entry.priority)
        && (filter.action.is_none() || filter.action == entry.action)
        && (filter.metadata.is_empty() || filter.metadata == entry.metadata)
        && (filter.controller_metadata == 0 || filter.controller_metadata == entry.controller_metadata)
}

/// Orders keys by their components' values, first component first.
pub(super) fn compare(a: &[KeyMatch], b: &[KeyMatch]) -> std::cmp::Ordering {
    fn rank(component: &KeyMatch) -> [(usize, &[u8]); 2] {
        const NOTHING: (usize, &[u8]) = (0, &[]);
        match component {
            KeyMatch::Exact(value) | KeyMatch::Optional(Some(value)) => [convert::order(value), NOTHING],
            KeyMatch::Lpm { value, prefix_len } => [convert::order(value), (*prefix_len, &[])],
            KeyMatch::Ternary { value, mask } => [convert::order(value), convert::order(mask)],
            KeyMatch::Range { low, high } => [convert::order(low), convert::order(high)],
            KeyMatch::Optional(None) | KeyMatch::Any => [NOTHING, NOTHING],
        }
    }
    a.iter().map(rank).cmp(b.iter().map(rank))
}
