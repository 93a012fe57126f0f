//! RDCC, Receiver Credit Budget: the account of everything granted or announced and not yet received.

/// The account. Every change goes through it, and every change is checked: a rule that doesn't hold is counted.
#[derive(Debug)]
pub(super) struct Budget {
    total: u64,
    scheduled_limit: u64,
    unscheduled_limit: u64,
    scheduled: u64,
    unscheduled: u64,
    peak: u64,
    violations: u64,
}

impl Budget {
    /// G and `G_u`; `G_s` is the rest.
    pub(super) fn new(total: u64, unscheduled_limit: u64) -> Self {
        Self {
            total,
            scheduled_limit: total.saturating_sub(unscheduled_limit),
            unscheduled_limit,
            scheduled: 0,
            unscheduled: 0,
            peak: 0,
            violations: 0,
        }
    }

    /// Octets of `G_s` that may still be granted.
    pub(super) fn free_scheduled(&self) -> u64 {
        self.scheduled_limit.saturating_sub(self.scheduled)
    }

    /// Octets of `G_u` that may still be announced.
    pub(super) fn free_unscheduled(&self) -> u64 {
        self.unscheduled_limit.saturating_sub(self.unscheduled)
    }

    /// `G_s`.
    pub(super) fn scheduled_limit(&self) -> u64 {
        self.scheduled_limit
    }

    /// A message's part of `G_s` goes from `before` to `after`.
    pub(super) fn move_scheduled(&mut self, before: u64, after: u64) {
        let (sum, fits) = moved(self.scheduled, before, after);
        self.scheduled = sum;
        self.check(fits);
    }

    /// A message's part of `G_u` goes from `before` to `after`.
    pub(super) fn move_unscheduled(&mut self, before: u64, after: u64) {
        let (sum, fits) = moved(self.unscheduled, before, after);
        self.unscheduled = sum;
        self.check(fits);
    }

    //= RDCC, Receiver Credit Budget: 784c0926
    fn check(&mut self, fits: bool) {
        let outstanding = self.outstanding();
        self.peak = self.peak.max(outstanding);
        let holds = fits
            && outstanding <= self.total
            && self.scheduled <= self.scheduled_limit
            && self.unscheduled <= self.unscheduled_limit;
        self.violations += u64::from(!holds);
    }

    /// Sum over all associations of granted and unscheduled octets.
    pub(super) fn outstanding(&self) -> u64 {
        self.scheduled + self.unscheduled
    }

    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    pub(super) fn violations(&self) -> u64 {
        self.violations
    }

    /// The two sums, for the audit that adds the messages up again.
    pub(super) fn sums(&self) -> (u64, u64) {
        (self.scheduled, self.unscheduled)
    }
}

/// The new sum, and whether the old one held what is taken out of it.
fn moved(sum: u64, before: u64, after: u64) -> (u64, bool) {
    ((sum.saturating_sub(before)).saturating_add(after), sum >= before)
}

#[cfg(test)]
mod tests {
    use super::*;

    //~ RDCC, Receiver Credit Budget: 784c0926
    /// RDCC, Receiver Credit Budget: the sum may reach G and not pass it.
    #[test]
    fn reaching_a_limit_is_no_violation_and_passing_it_is() {
        let mut budget = Budget::new(100, 25);
        budget.move_scheduled(0, 75);
        budget.move_unscheduled(0, 25);
        assert_eq!((budget.violations(), budget.outstanding()), (0, 100));
        budget.move_scheduled(75, 76);
        assert_eq!(budget.violations(), 1);
        let mut budget = Budget::new(100, 25);
        budget.move_unscheduled(0, 26);
        assert_eq!(budget.violations(), 1);
    }
}
