//! What comes back: acknowledgements, refusals, and the answers to RDMA READs.

use wire::roce::{NakCode, Psn, Syndrome};
use wire::units::Nanos;

use super::{Completions, Requester, low_32};
use crate::config::QpConfig;
use crate::work::{Completion, WcStatus};

/// A packet of an answer that was taken in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub wr_id: u64,
    pub msn: u32,
    pub offset: u32,
    pub first: bool,
    pub last: bool,
}

/// What became of a packet of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answered {
    Taken(Answer),
    Duplicate,
    OutOfOrder,
    Invalid,
    Ignored,
}

impl Requester {
    /// The responder has everything up to and with `psn`.
    pub(crate) fn acknowledged(&mut self, config: &QpConfig, psn: Psn, now: Nanos, done: &mut Completions) {
        if let Some(end) = self.count_of(config, psn.plus(1)) {
            self.has_until(config, end, now, done);
            self.answers_lost(config, end, now, done);
        }
    }

    /// The responder refuses the packet `psn`, and has everything before.
    pub(crate) fn refused(
        &mut self,
        config: &QpConfig,
        psn: Psn,
        code: NakCode,
        now: Nanos,
        done: &mut Completions,
    ) {
        let Some(count) = self.count_of(config, psn) else { return };
        self.has_until(config, count, now, done);
        match code {
            NakCode::PSN_SEQUENCE_ERROR if self.unacknowledged == count => self.fill_gap(config, now, done),
            // An answer before it is missing: that comes first, and what follows goes again with it or by the timer.
            NakCode::PSN_SEQUENCE_ERROR => self.answers_lost(config, count, now, done),
            NakCode::REMOTE_ACCESS_ERROR => self.fail(config, WcStatus::RemAccessErr, done),
            NakCode::REMOTE_OPERATIONAL_ERROR => self.fail(config, WcStatus::RemOpErr, done),
            _ => self.fail(config, WcStatus::RemInvReqErr, done),
        }
    }

    /// The receiver isn't ready for the packet `psn`, and has everything before.
    pub(crate) fn not_ready(
        &mut self,
        config: &QpConfig,
        psn: Psn,
        timer: u8,
        now: Nanos,
        done: &mut Completions,
    ) {
        let Some(count) = self.count_of(config, psn) else { return };
        self.has_until(config, count, now, done);
        if self.unacknowledged != count || self.failed {
            return;
        }
        self.rnr_retries += 1;
        if config.rnr_retry_limit.is_some_and(|limit| self.rnr_retries > limit) {
            self.fail(config, WcStatus::RnrRetryExcErr, done);
            return;
        }
        self.restart_from_gap();
        self.ready_at = now + Syndrome::rnr_wait(timer).nanos();
    }

    /// A packet of an answer, with `octets` of payload.
    pub(crate) fn answer(
        &mut self,
        config: &QpConfig,
        psn: Psn,
        octets: u32,
        now: Nanos,
        done: &mut Completions,
    ) -> Answered {
        if self.failed {
            return Answered::Ignored;
        }
        let ahead = u64::from(psn.ahead_of(Self::psn(config, self.unacknowledged)));
        let count = self.unacknowledged + ahead;
        if count >= self.high {
            return if ahead >= BEHIND { Answered::Duplicate } else { Answered::Invalid };
        }
        let Some(request) = self.place_of(count).and_then(|place| self.requests.get(place)).copied() else {
            return Answered::Invalid;
        };
        let offset = request.offset(config, count);
        let expected = request.work.octets.saturating_sub(offset).min(config.mtu.into());
        if !request.work.operation.is_read() || octets != expected {
            return Answered::Invalid;
        }
        // It answers a request, so the responder has all that was sent before.
        self.has_until(config, request.first, now, done);
        let answer = Answer {
            wr_id: request.work.wr_id,
            msn: request.msn,
            offset,
            first: count == request.first,
            last: count + 1 == request.end(),
        };
        if count == self.unacknowledged {
            self.answered.insert(count);
            self.gap_asked = false;
            self.answers_until = self.answers_until.max(count + 1);
            self.settle(config, now, done);
            return Answered::Taken(answer);
        }
        self.answers_lost(config, count, now, done);
        if self.failed || low_32(count - self.unacknowledged) > config.reorder_packets() {
            return Answered::OutOfOrder;
        }
        self.answers_until = self.answers_until.max(count + 1);
        if self.answered.insert(count) { Answered::Taken(answer) } else { Answered::Duplicate }
    }

    /// The count of a packet that a responder may speak of: sent, and not done. `None` for one that is old, or that was never
    /// sent: both say nothing.
    fn count_of(&self, config: &QpConfig, psn: Psn) -> Option<u64> {
        let ahead = u64::from(psn.ahead_of(Self::psn(config, self.unacknowledged)));
        (!self.failed && ahead <= self.high - self.unacknowledged).then_some(self.unacknowledged + ahead)
    }

    /// The responder has everything before `end`.
    fn has_until(&mut self, config: &QpConfig, end: u64, now: Nanos, done: &mut Completions) {
        self.acknowledged = self.acknowledged.max(end);
        self.settle(config, now, done);
    }

    /// Moves over everything that is done, and completes what is done wholly.
    fn settle(&mut self, config: &QpConfig, now: Nanos, done: &mut Completions) {
        let before = self.unacknowledged;
        while let Some(request) = self.requests.front() {
            let end = request.end();
            if request.work.operation.is_read() {
                while self.unacknowledged < end && self.answered.remove(&self.unacknowledged) {
                    self.unacknowledged += 1;
                }
            } else {
                self.unacknowledged = self.unacknowledged.max(self.acknowledged.min(end));
            }
            if self.unacknowledged < end {
                break;
            }
            self.complete_front(config, done);
        }
        if self.unacknowledged == before {
            return;
        }
        self.retries = 0;
        self.rnr_retries = 0;
        self.ready_at = Nanos(0);
        while let Some(again) = self.again.front_mut() {
            again.start = again.start.max(self.unacknowledged);
            if !again.is_empty() {
                break;
            }
            self.again.pop_front();
        }
        if self.next < self.unacknowledged {
            // It had gone back for packets that did arrive.
            self.next = self.unacknowledged;
            self.cursor = 0;
            self.reads = 0;
        }
        // The timer runs only while an answer is due.
        self.deadline = (self.asked > self.unacknowledged).then_some(now + config.retransmit_timeout);
    }

    fn complete_front(&mut self, config: &QpConfig, done: &mut Completions) {
        let Some(request) = self.requests.pop_front() else { return };
        if request.work.operation.is_read() {
            self.reads_posted -= 1;
            if self.cursor > 0 {
                self.reads = self.reads.saturating_sub(1);
            }
        }
        self.cursor = self.cursor.saturating_sub(1);
        done.push_back(Completion {
            qp: config.local_qp,
            wr_id: request.work.wr_id,
            octets: request.work.octets,
            status: WcStatus::Success,
        });
    }
}

/// The half space of packet numbers: what lies further ahead is really behind.
const BEHIND: u64 = 1 << 23;
