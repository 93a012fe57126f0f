//! A table's entries and how a packet finds one.

mod index;
mod key;

use crate::num::size32;
use std::collections::HashMap;

pub(crate) use index::{FastHash, Index};
pub(crate) use key::{CompiledKey, compile_key, key_matches};

use crate::control::{ControlError, CounterValue, KeyMatch, TableInfo};
use crate::meter::Meter;
use crate::program::TableShape;

/// What runs when an entry is hit; profile members and groups by their place in the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Call { action: u32, data: Box<[u64]> },
    Member(u32),
    Group(u32),
}

/// An entry.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub handle: u64,
    pub key: Box<[KeyMatch]>,
    pub priority: u32,
    pub bound: Bound,
    pub counter: CounterValue,
    pub meter: Option<Box<Meter>>,
    pub last_hit_ns: u64,
    pub idle_timeout_ns: u64,
    /// When it was last reported as idle.
    pub idle_reported_ns: u64,
    pub is_const: bool,
}

impl Entry {
    /// When it is idle, if nothing hits it before.
    pub(crate) fn idle_at_ns(&self) -> u64 {
        self.last_hit_ns.max(self.idle_reported_ns).saturating_add(self.idle_timeout_ns)
    }
}

/// A table's state.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_handle: HashMap<u64, u32, FastHash>,
    next_handle: u64,
    pub index: Index,
    /// What runs on a miss.
    pub default: Option<Bound>,
    /// How many entries have an idle timeout.
    pub idle_entries: usize,
    /// Before this none of them can be idle.
    pub next_idle_ns: u64,
}

impl Table {
    pub(crate) fn new(shape: &TableShape) -> Table {
        Table {
            entries: Vec::new(),
            free: Vec::new(),
            by_handle: HashMap::default(),
            next_handle: 1,
            index: Index::new(shape),
            default: shape
                .default
                .as_ref()
                .map(|(action, data)| Bound::Call { action: size32(*action), data: data.clone().into() }),
            idle_entries: 0,
            next_idle_ns: u64::MAX,
        }
    }

    /// An entry may become idle: it is new, or has another timeout.
    pub(crate) fn expect_idle(&mut self, entry: &Entry) {
        if entry.idle_timeout_ns != 0 {
            self.next_idle_ns =
                self.next_idle_ns.min(entry.last_hit_ns.saturating_add(entry.idle_timeout_ns));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_handle.len()
    }

    pub(crate) fn slot(&self, handle: u64) -> Option<u32> {
        self.by_handle.get(&handle).copied()
    }

    pub(crate) fn at(&self, slot: u32) -> Option<&Entry> {
        self.entries.get(slot as usize)?.as_ref()
    }

    pub(crate) fn at_mut(&mut self, slot: u32) -> Option<&mut Entry> {
        self.entries.get_mut(slot as usize)?.as_mut()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut().flatten()
    }

    /// The entry with exactly this key and priority.
    pub(crate) fn find(&self, compiled: &CompiledKey, priority: u32) -> Option<u32> {
        self.index.find(compiled, priority)
    }

    /// Inserts an entry; the handle in it is ignored.
    pub(crate) fn insert(
        &mut self,
        info: &TableInfo,
        compiled: &CompiledKey,
        mut entry: Entry,
    ) -> Result<u64, ControlError> {
        if self.len() >= info.size {
            return Err(ControlError::Full { what: info.name.clone(), size: info.size });
        }
        if self.find(compiled, entry.priority).is_some() {
            return Err(ControlError::AlreadyExists { what: "an entry with this key" });
        }
        let handle = self.next_handle;
        self.next_handle += 1;
        entry.handle = handle;
        self.idle_entries += usize::from(entry.idle_timeout_ns != 0);
        self.expect_idle(&entry);
        let priority = entry.priority;
        let slot = if let Some(slot) = self.free.pop() {
            self.entries[slot as usize] = Some(entry);
            slot
        } else {
            self.entries.push(Some(entry));
            size32(self.entries.len() - 1)
        };
        self.by_handle.insert(handle, slot);
        self.index.insert(compiled, priority, handle, slot);
        Ok(handle)
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, compiled: &CompiledKey, slot: u32) -> Option<Entry> {
        let entry = self.entries.get_mut(slot as usize)?.take()?;
        self.by_handle.remove(&entry.handle);
        self.free.push(slot);
        self.index.remove(compiled, entry.priority, slot);
        self.idle_entries -= usize::from(entry.idle_timeout_ns != 0);
        Some(entry)
    }
}
