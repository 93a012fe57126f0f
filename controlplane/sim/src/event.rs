//! The event queue: what happens next in virtual time.
//!
//! Events at the same instant come out in the order they were put in, so that a run depends on nothing but
//! its inputs and its seed.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use wire::units::Nanos;

/// A queue of events ordered by (time, sequence).
#[derive(Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    sequence: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Nanos,
    sequence: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl<E> EventQueue<E> {
    /// Lets `event` happen at `at`, after everything already planned for that instant.
    pub fn push(&mut self, at: Nanos, event: E) {
        self.heap.push(Reverse(Entry { at, sequence: self.sequence, event }));
        self.sequence += 1;
    }

    /// Takes the next event and its time.
    pub fn pop(&mut self) -> Option<(Nanos, E)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_instant_keep_their_order() {
        let mut queue = EventQueue::default();
        queue.push(Nanos(5), "late");
        queue.push(Nanos(1), "first");
        queue.push(Nanos(1), "second");
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [(Nanos(1), "first"), (Nanos(1), "second"), (Nanos(5), "late")]);
    }
}
