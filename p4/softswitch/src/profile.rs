//! Action profiles: members, and groups that a hash chooses from.

use crate::num::size32;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::control::GroupMember;
use crate::table::FastHash;

#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub id: u32,
    pub action: u32,
    pub data: Box<[u64]>,
    /// Entries and groups that use it.
    pub uses: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub id: u32,
    pub members: Vec<GroupMember>,
    /// Members' slots in the order of their making, each as often as its weight.
    pub buckets: Vec<u32>,
    pub max_size: u32,
    /// Entries that use it.
    pub uses: usize,
}

/// A slab whose lowest free place is taken first, as BMv2's handles are.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    items: Vec<Option<T>>,
    free: BinaryHeap<Reverse<u32>>,
    pub ids: HashMap<u32, u32, FastHash>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { items: Vec::new(), free: BinaryHeap::new(), ids: HashMap::default() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, id: u32, item: T) -> u32 {
        let slot = if let Some(Reverse(slot)) = self.free.pop() {
            self.items[slot as usize] = Some(item);
            slot
        } else {
            self.items.push(Some(item));
            size32(self.items.len() - 1)
        };
        self.ids.insert(id, slot);
        slot
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<T> {
        let slot = self.ids.remove(&id)?;
        self.free.push(Reverse(slot));
        self.items.get_mut(slot as usize)?.take()
    }

    pub(crate) fn slot(&self, id: u32) -> Option<u32> {
        self.ids.get(&id).copied()
    }

    pub(crate) fn at(&self, slot: u32) -> Option<&T> {
        self.items.get(slot as usize)?.as_ref()
    }

    pub(crate) fn at_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.items.get_mut(slot as usize)?.as_mut()
    }

    #[cfg(feature = "grpc")]
    pub(crate) fn sorted_ids(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.ids.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().flatten()
    }
}

/// A profile's state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    pub members: Slab<Member>,
    pub groups: Slab<Group>,
}
