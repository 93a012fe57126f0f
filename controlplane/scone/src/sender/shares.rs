//! One address's bound, shared by its active queue pairs in proportion to demand.

use std::collections::BTreeSet;

use wire::units::{BitPerSec, Nanos};

use crate::bound::Bound;

/// One of our addresses.
#[derive(Debug, Default)]
pub(super) struct Address {
    pub bound: Option<Bound>,
    /// Since when demands differ from those that all shares were last given for.
    pub changed: Option<Nanos>,
    demand: u128,
    active: BTreeSet<u32>,
}

impl Address {
    pub fn change_demand(&mut self, qp: u32, before: BitPerSec, after: BitPerSec) {
        self.demand = self.demand - u128::from(before.0) + u128::from(after.0);
        if after == BitPerSec(0) {
            self.active.remove(&qp);
        } else {
            self.active.insert(qp);
        }
    }

    /// What the active queue pairs would send together.
    pub fn demand(&self) -> BitPerSec {
        BitPerSec(u64::try_from(self.demand).unwrap_or(u64::MAX))
    }

    pub fn active(&self) -> impl Iterator<Item = u32> {
        self.active.iter().copied()
    }

    /// The share of `bound` for one that would send `demand`. One with nothing to send has no share to respect yet: its first
    /// message sets its demand before it sends.
    pub fn share(&self, bound: BitPerSec, demand: BitPerSec) -> BitPerSec {
        if demand == BitPerSec(0) || self.demand == 0 {
            return bound;
        }
        let share = u128::from(bound.0) * u128::from(demand.0) / self.demand;
        BitPerSec(u64::try_from(share).unwrap_or(bound.0))
    }
}
