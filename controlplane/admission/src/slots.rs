//! Slots for devices and routes, made in chunks when needed and never moved or freed, so that the data path reaches
//! them without a lock.

use std::collections::VecDeque;
use std::sync::OnceLock;

use crate::sync::{Mutex, lock};

#[cfg(not(admission_loom))]
const CHUNK: usize = 64;
// loom tracks every atomic of every slot.
#[cfg(admission_loom)]
const CHUNK: usize = 1;

#[derive(Debug)]
pub(crate) struct Slots<T> {
    chunks: Box<[OnceLock<Box<[T]>>]>,
    capacity: u32,
    make: fn() -> T,
    use_: Mutex<Use>,
}

#[derive(Debug, Default)]
struct Use {
    /// Slots ever used: those below this are in `free` or in use.
    ever: u32,
    /// The one that was freed first is used first again, so that its old handles have the most time to be forgotten.
    free: VecDeque<u32>,
}

impl<T> Slots<T> {
    pub(crate) fn new(capacity: u32, make: fn() -> T) -> Self {
        let chunks = (capacity as usize).div_ceil(CHUNK);
        Self {
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
            capacity,
            make,
            use_: Mutex::new(Use::default()),
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        let index = index as usize;
        self.chunks.get(index / CHUNK)?.get()?.get(index % CHUNK)
    }

    pub(crate) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// A slot that nobody uses, or `None` when all are in use.
    pub(crate) fn take(&self) -> Option<(u32, &T)> {
        let mut used = lock(&self.use_);
        let index = match used.free.pop_front() {
            Some(index) => index,
            None if used.ever < self.capacity => {
                used.ever += 1;
                used.ever - 1
            }
            None => return None,
        };
        drop(used);
        self.chunks.get(index as usize / CHUNK)?.get_or_init(|| (0..CHUNK).map(|_| (self.make)()).collect());
        Some((index, self.get(index)?))
    }

    /// The slot may be used anew.
    pub(crate) fn free(&self, index: u32) {
        lock(&self.use_).free.push_back(index);
    }

    /// Holds the lock, for the proof that the data path doesn't need it.
    #[cfg(all(test, not(admission_loom)))]
    pub(crate) fn hold(&self) -> impl Drop + '_ {
        lock(&self.use_)
    }

    /// Every slot that was ever used.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let ever = lock(&self.use_).ever;
        (0..ever).filter_map(|index| Some((index, self.get(index)?)))
    }
}
