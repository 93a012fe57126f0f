//! Which messages of an association have ended, and how: exact, and bounded whatever a sender does.

use std::collections::BTreeMap;

/// Completed messages whose lengths are remembered.
const REMEMBERED_LENGTHS: usize = 1024;
/// Runs of Message IDs remembered, of completed messages and of aborted ones. An honest sender that numbers its messages
/// one after the other makes a new run only where a message ended the other way.
const REMEMBERED_RUNS: usize = 1024;

/// What became of a Message ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It never ended here, so it is a message that hasn't come or hasn't been announced.
    Open,
    /// All octets came; with the length, if that is still known.
    Completed(Option<u64>),
    /// It was given up, or what became of it is no longer known.
    Aborted,
}

/// Message IDs, as runs of consecutive ones.
#[derive(Debug, Default)]
struct Runs {
    /// Last by first.
    runs: BTreeMap<u64, u64>,
    /// IDs up to this one have been forgotten.
    forgotten: u64,
}

impl Runs {
    fn insert(&mut self, id: u64) {
        let before = self.runs.range(..=id).next_back().map(|(&first, &last)| (first, last));
        if before.is_some_and(|(_, last)| last >= id) {
            return;
        }
        let first = before.filter(|&(_, last)| last + 1 == id).map_or(id, |(first, _)| first);
        let last = id.checked_add(1).and_then(|next| self.runs.remove(&next)).unwrap_or(id);
        self.runs.insert(first, last);
        if self.runs.len() > REMEMBERED_RUNS
            && let Some((_, last)) = self.runs.pop_first()
        {
            self.forgotten = self.forgotten.max(last);
        }
    }

    fn contain(&self, id: u64) -> bool {
        self.runs.range(..=id).next_back().is_some_and(|(_, &last)| last >= id)
    }
}

/// The messages of one association that have ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Lengths of the completed messages with the highest IDs.
    lengths: BTreeMap<u64, u64>,
    completed: Runs,
    aborted: Runs,
}

impl Ended {
    pub(super) fn complete(&mut self, id: u64, length: u64) {
        self.completed.insert(id);
        self.lengths.insert(id, length);
        if self.lengths.len() > REMEMBERED_LENGTHS {
            self.lengths.pop_first();
        }
    }

    pub(super) fn abort(&mut self, id: u64) {
        self.aborted.insert(id);
    }

    /// An ID that isn't known to have ended is never said to have completed: its octets may still have to come.
    pub(super) fn fate(&self, id: u64) -> Fate {
        if self.completed.contain(id) {
            Fate::Completed(self.lengths.get(&id).copied())
        } else if self.aborted.contain(id) || id <= self.completed.forgotten.max(self.aborted.forgotten) {
            Fate::Aborted
        } else {
            Fate::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_completed_is_said_to_have_completed() {
        let mut ended = Ended::default();
        for id in (2..=5000).rev().filter(|id| id % 2500 != 7) {
            ended.complete(id, 10 * id);
        }
        assert_eq!([1, 7, 2507, 5001].map(|id| ended.fate(id)), [Fate::Open; 4]);
        assert_eq!(ended.fate(5000), Fate::Completed(Some(50_000)));
        assert_eq!(ended.fate(2), Fate::Completed(None));
        ended.abort(7);
        assert_eq!(ended.fate(7), Fate::Aborted);
        ended.complete(7, 1);
        ended.complete(u64::MAX, 1);
        assert_eq!(ended.fate(7), Fate::Completed(None));
        assert_eq!(
            ended.completed.runs.into_iter().collect::<Vec<_>>(),
            [(2, 2506), (2508, 5000), (u64::MAX, u64::MAX)]
        );
    }

    /// Both sides of what is remembered; what fell out isn't said to have completed either.
    #[test]
    fn a_sender_that_leaves_gaps_makes_no_more_than_so_many_runs() {
        let mut ended = Ended::default();
        for id in 1..=1024 {
            ended.complete(2 * id, 1);
        }
        assert_eq!([1, 2].map(|id| ended.fate(id)), [Fate::Open, Fate::Completed(Some(1))]);
        ended.complete(2 * 1025, 1);
        assert_eq!([1, 2, 3].map(|id| ended.fate(id)), [Fate::Aborted, Fate::Aborted, Fate::Open]);
        assert_eq!(ended.fate(4), Fate::Completed(Some(1)));
        assert_eq!(ended.completed.runs.len(), 1024);
    }
}
