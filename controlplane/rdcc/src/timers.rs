//! A queue of deadlines that costs nothing when a deadline moves further away.

use std::collections::{BTreeMap, BTreeSet};

use wire::units::Nanos;

/// Deadlines by key. A deadline that moves later keeps its old place: when that comes, [`Timers::pop_due`] puts it to
/// its new one. Refreshing a grant for every packet therefore doesn't touch the tree.
#[derive(Debug)]
pub(crate) struct Timers<K> {
    queue: BTreeSet<(Nanos, K)>,
    /// Per key: where it stands in `queue`, and when it really is due.
    deadlines: BTreeMap<K, (Nanos, Nanos)>,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self { queue: BTreeSet::new(), deadlines: BTreeMap::new() }
    }
}

impl<K: Ord + Copy> Timers<K> {
    /// Sets or moves the deadline of `key`.
    pub(crate) fn set(&mut self, key: K, at: Nanos) {
        match self.deadlines.get_mut(&key) {
            Some((queued, due)) if at >= *queued => *due = at,
            Some((queued, due)) => {
                self.queue.remove(&(*queued, key));
                (*queued, *due) = (at, at);
                self.queue.insert((at, key));
            }
            None => {
                self.deadlines.insert(key, (at, at));
                self.queue.insert((at, key));
            }
        }
    }

    /// Removes the deadline of `key`.
    pub(crate) fn clear(&mut self, key: K) {
        if let Some((queued, _)) = self.deadlines.remove(&key) {
            self.queue.remove(&(queued, key));
        }
    }

    /// A time not after the earliest deadline; `None` when there is none.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.queue.first().map(|&(at, _)| at)
    }

    /// Takes out one key whose deadline has come.
    pub(crate) fn pop_due(&mut self, now: Nanos) -> Option<K> {
        while let Some(&(queued, key)) = self.queue.first() {
            if queued > now {
                return None;
            }
            self.queue.pop_first();
            match self.deadlines.get_mut(&key) {
                Some((place, due)) if *due > now => {
                    *place = *due;
                    self.queue.insert((*due, key));
                }
                _ => {
                    self.deadlines.remove(&key);
                    return Some(key);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_due_at_its_time_and_not_before() {
        let mut timers = Timers::default();
        timers.set(1, Nanos(10));
        assert_eq!(timers.pop_due(Nanos(9)), None);
        assert_eq!(timers.pop_due(Nanos(10)), Some(1));
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn a_deadline_moves_both_ways_and_can_be_cleared() {
        let mut timers = Timers::default();
        timers.set(1, Nanos(10));
        timers.set(1, Nanos(20));
        timers.set(2, Nanos(30));
        timers.set(2, Nanos(15));
        assert_eq!(timers.pop_due(Nanos(14)), None);
        assert_eq!(timers.pop_due(Nanos(19)), Some(2));
        assert_eq!(timers.pop_due(Nanos(19)), None);
        assert_eq!(timers.pop_due(Nanos(20)), Some(1));
        timers.set(3, Nanos(1));
        timers.clear(3);
        assert_eq!(timers.pop_due(Nanos(99)), None);
    }
}
