//! The link's capacity and the Pacing Rates in force (RDCC, Credit Allocation, rule 1).

use std::collections::BTreeSet;

/// Who holds which rate. Rates are payload rates in Mbit/s.
#[derive(Debug)]
pub(super) struct Shares {
    capacity: u64,
    /// Messages with a rate in force, the largest last.
    holders: BTreeSet<(u64, u32)>,
    sum: u64,
    /// Sum of the weights of the active messages.
    weights: u64,
    /// What capped holders leave of their fair shares, and the sum of their weights.
    slack: u64,
    slack_weights: u64,
    violations: u64,
}

/// What a holder has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub(super) rate: u64,
    pub(super) slack: u64,
}

impl Shares {
    pub(super) fn new(capacity: u64) -> Self {
        Self {
            capacity,
            holders: BTreeSet::new(),
            sum: 0,
            weights: 0,
            slack: 0,
            slack_weights: 0,
            violations: 0,
        }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(super) fn sum(&self) -> u64 {
        self.sum
    }

    pub(super) fn weights(&self) -> u64 {
        self.weights
    }

    pub(super) fn violations(&self) -> u64 {
        self.violations
    }

    /// A message of this weight became active, or stopped being so.
    pub(super) fn set_active(&mut self, weight: u32, active: bool) {
        if active {
            self.weights += u64::from(weight);
        } else {
            self.weights = self.weights.saturating_sub(u64::from(weight));
        }
    }

    /// Capacity divided by weight among the active messages.
    pub(super) fn fair(&self, weight: u32) -> u64 {
        let weight = u64::from(weight);
        self.capacity * weight / self.weights.max(weight)
    }

    /// The part of what capped holders leave that goes to a message of this weight.
    pub(super) fn extra(&self, weight: u32) -> u64 {
        let weight = u64::from(weight);
        self.slack * weight / self.weights.saturating_sub(self.slack_weights).max(weight)
    }

    /// What is free beside the rate `held` already.
    pub(super) fn room(&self, held: u64) -> u64 {
        self.capacity.saturating_sub(self.sum.saturating_sub(held))
    }

    /// The holder of the largest rate other than `slot`.
    pub(super) fn largest_beside(&self, slot: u32) -> Option<(u64, u32)> {
        self.holders.iter().rev().find(|&&(_, other)| other != slot).copied()
    }

    /// Changes what a message holds; a rate of 0 ends it.
    pub(super) fn change(&mut self, slot: u32, weight: u32, before: Held, after: Held) {
        if before.rate > 0 {
            self.holders.remove(&(before.rate, slot));
        }
        if after.rate > 0 {
            self.holders.insert((after.rate, slot));
        }
        self.sum = self.sum.saturating_sub(before.rate) + after.rate;
        self.slack = self.slack.saturating_sub(before.slack) + after.slack;
        if before.slack > 0 {
            self.slack_weights = self.slack_weights.saturating_sub(u64::from(weight));
        }
        if after.slack > 0 {
            self.slack_weights += u64::from(weight);
        }
        if self.sum > self.capacity {
            self.violations += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(rate: u64, slack: u64) -> Held {
        Held { rate, slack }
    }

    //~ RDCC, Credit Allocation: 3b6e70aa
    /// RDCC, Credit Allocation, rule 1.
    #[test]
    fn the_capacity_may_be_reached_and_passing_it_is_counted() {
        let mut shares = Shares::new(100);
        shares.change(1, 1, Held::default(), held(60, 0));
        shares.change(2, 1, Held::default(), held(40, 0));
        assert_eq!((shares.room(0), shares.violations()), (0, 0));
        assert_eq!(shares.largest_beside(1), Some((40, 2)));
        assert_eq!(shares.largest_beside(2), Some((60, 1)));
        shares.change(2, 1, held(40, 0), held(41, 0));
        assert_eq!(shares.violations(), 1);
    }

    #[test]
    fn what_a_capped_holder_leaves_goes_to_the_others() {
        let mut shares = Shares::new(100);
        for _ in 0..4 {
            shares.set_active(1, true);
        }
        assert_eq!((shares.fair(1), shares.extra(1)), (25, 0));
        shares.change(1, 1, Held::default(), held(10, 15));
        assert_eq!(shares.extra(1), 5);
        shares.change(1, 1, held(10, 15), Held::default());
        assert_eq!(shares.extra(1), 0);
    }
}
