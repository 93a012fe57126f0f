//! What is done about gaps.
//!
//! - Go-back-N: everything from the gap on goes again.
//! - Selective repeat: a refusal names the first missing packet and says nothing of how many are missing. One packet goes
//!   again; if the next refusal names the packet right behind it, twice as many go, and so on. One that is lost again waits
//!   for the timer. Of answers to READs the gap is known exactly, and asked for again.
//! - The timer goes back in both: that nothing came back says nothing of what arrived.

use core::ops::Range;

use wire::units::Nanos;

use super::{Completions, Request, Requester};
use crate::config::{QpConfig, Recovery};
use crate::work::{Completion, WcStatus};

impl Requester {
    /// The deadline passed.
    pub(crate) fn timed_out(&mut self, config: &QpConfig, done: &mut Completions) {
        if self.retry(config, done) {
            self.restart_from_gap();
        }
    }

    /// The responder lacks the first packet that isn't done.
    pub(super) fn fill_gap(&mut self, config: &QpConfig, now: Nanos, done: &mut Completions) {
        // Said when the packet before it came; this one is on its way behind that.
        if self.gap.start < self.unacknowledged && self.unacknowledged < self.gap.end {
            return;
        }
        if !self.retry(config, done) {
            return;
        }
        match config.recovery {
            Recovery::GoBackN => self.restart_from_gap(),
            Recovery::SelectiveRepeat { .. } => {
                let start = self.unacknowledged;
                let burst = if self.gap.end == start && !self.gap.is_empty() {
                    2 * (self.gap.end - self.gap.start)
                } else {
                    1
                };
                // A READ that is missing was never taken: it goes whole.
                let last = self.place_of(start + burst - 1).and_then(|place| self.requests.get(place));
                let whole = last.filter(|last| last.work.operation.is_read()).map_or(0, Request::end);
                self.gap = start..whole.max(start + burst);
                self.send_again(config, self.gap.clone(), now);
            }
        }
    }

    /// The responder has everything before `until` and answers in order, so answers before that are lost which didn't come. Each
    /// is asked for again once; one that is lost again waits for the timer.
    pub(super) fn answers_lost(&mut self, config: &QpConfig, until: u64, now: Nanos, done: &mut Completions) {
        if self.failed || self.reads_posted == 0 || self.answers_until >= until {
            return;
        }
        let lost = self.missing_answers(self.answers_until.max(self.unacknowledged)..until);
        let go_back = config.recovery == Recovery::GoBackN;
        if !go_back {
            self.answers_until = until;
        }
        if lost.is_empty() || go_back && self.gap_asked || !self.retry(config, done) {
            return;
        }
        if go_back {
            self.restart_from_gap();
            // Every answer behind the gap would say so again.
            self.gap_asked = true;
        } else {
            for lost in lost {
                self.send_again(config, lost, now);
            }
        }
    }

    /// The parts of `counts` that are answers and didn't come.
    fn missing_answers(&self, counts: Range<u64>) -> Vec<Range<u64>> {
        let mut missing = Vec::new();
        let start = self.place_of(counts.start).unwrap_or(self.requests.len());
        let reads = self.requests.iter().skip(start).filter(|request| request.work.operation.is_read());
        for read in reads.take_while(|read| read.first < counts.end) {
            let (mut from, end) = (read.first.max(counts.start), read.end().min(counts.end));
            for &came in self.answered.range(from..end) {
                if from < came {
                    missing.push(from..came);
                }
                from = came + 1;
            }
            if from < end {
                missing.push(from..end);
            }
        }
        missing
    }

    /// Puts packets before those that never left. What never left isn't missing, and what went back goes in its turn.
    fn send_again(&mut self, config: &QpConfig, counts: Range<u64>, now: Nanos) {
        let counts = counts.start..counts.end.min(self.next);
        if !counts.is_empty() {
            self.again.push_back(counts);
            self.deadline = Some(now + config.retransmit_timeout);
        }
    }

    /// Everything from the first packet that isn't done goes again.
    pub(super) fn restart_from_gap(&mut self) {
        self.next = self.unacknowledged;
        self.cursor = 0;
        self.reads = 0;
        self.again.clear();
        self.gap = 0..0;
        self.gap_asked = false;
        self.answers_until = self.unacknowledged;
        self.asked = self.unacknowledged;
        // Set again with the first packet that asks: it may have to wait for the link.
        self.deadline = None;
    }

    /// Counts an attempt; false when it was one too many.
    fn retry(&mut self, config: &QpConfig, done: &mut Completions) -> bool {
        self.retries += 1;
        if config.retry_limit.is_some_and(|limit| self.retries > limit) {
            self.fail(config, WcStatus::RetryExcErr, done);
            return false;
        }
        true
    }

    /// The other half failed.
    pub(crate) fn end(&mut self, config: &QpConfig, done: &mut Completions) {
        self.fail(config, WcStatus::WrFlushErr, done);
    }

    pub(super) fn fail(&mut self, config: &QpConfig, mut status: WcStatus, done: &mut Completions) {
        self.failed = true;
        self.deadline = None;
        self.again.clear();
        self.answered.clear();
        for request in self.requests.drain(..) {
            let (wr_id, octets) = (request.work.wr_id, request.work.octets);
            done.push_back(Completion { qp: config.local_qp, wr_id, octets, status });
            status = WcStatus::WrFlushErr;
        }
    }
}
