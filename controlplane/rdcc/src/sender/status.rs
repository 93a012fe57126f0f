//! RDCC, Sender Backlog Indication and Suggested Rates.

use wire::rdcc::{Capabilities, Flags, Message as RdccMessage, SenderStatus, ServiceHint};
use wire::units::{MbitPerSec, Micros, Nanos, Octets};

use super::{Key, Sender, Timer};

/// Shares that a receiver gets by the most urgent hint of its pending messages: our choice, the document asks only
/// that latency-sensitive ones may be larger.
const fn share(hint: ServiceHint) -> u64 {
    match hint {
        ServiceHint::LATENCY_SENSITIVE => 4,
        ServiceHint::THROUGHPUT_ORIENTED => 1,
        _ => 2,
    }
}

/// Ours: how often `SENDER_STATUS` is repeated while no round trip was measured ...
const STATUS_INTERVAL: Nanos = Micros(100).nanos();
/// ... and how often at most, whatever the clock measures.
const LEAST_STATUS_INTERVAL: Nanos = Micros(1).nanos();

impl Sender {
    /// Notes how much usable credit a message holds, and tells receivers when all of it passes the Backlog Threshold.
    pub(super) fn set_unused(&mut self, key: Key, unused: u64, now: Nanos) {
        self.account_unused(key, unused);
        self.check_backlog(now);
    }

    pub(super) fn account_unused(&mut self, key: Key, unused: u64) {
        let association = &mut self.associations[key.0 as usize];
        let Some(message) = association.messages.get_mut(&key.1) else { return };
        let before = core::mem::replace(&mut message.unused, unused);
        self.account(key.0, before, unused);
    }

    /// Unused credit of an association goes from `before` to `unused` in one of its parts.
    pub(super) fn account(&mut self, index: u32, before: u64, unused: u64) {
        let association = &mut self.associations[index as usize];
        let (before, unused) = (u128::from(before), u128::from(unused));
        association.unused = association.unused - before + unused;
        self.unused = self.unused - before + unused;
        if association.unused > 0 {
            self.holding.insert(index);
        } else {
            self.holding.remove(&index);
        }
    }

    //= RDCC, Sender Backlog Indication and Suggested Rates: 9c867116
    /// The smallest `N_cu` that our receivers advertise, or the configured value if smaller.
    fn threshold(&self) -> u64 {
        let advertised = self.thresholds.keys().next().copied();
        let configured = self.config.backlog_threshold.map(|octets| octets.0);
        advertised.into_iter().chain(configured).min().unwrap_or(u64::MAX)
    }

    /// A receiver advertises another `N_cu`, or is none any more.
    pub(super) fn count_threshold(&mut self, index: u32, threshold: Option<u64>) {
        let before = core::mem::replace(&mut self.association(index).counted_threshold, threshold);
        if let Some(before) = before
            && let Some(count) = self.thresholds.get_mut(&before)
        {
            *count -= 1;
            if *count == 0 {
                self.thresholds.remove(&before);
            }
        }
        if let Some(threshold) = threshold {
            *self.thresholds.entry(threshold).or_default() += 1;
        }
    }

    //= RDCC, Sender Backlog Indication and Suggested Rates: 941a9ff4 86d48763
    pub(super) fn check_backlog(&mut self, now: Nanos) {
        let over = self.unused > u128::from(self.threshold());
        if over == self.congested {
            return;
        }
        self.congested = over;
        if over {
            self.tell_receivers(now);
        } else {
            self.timers.clear(Timer::Status);
            self.tell_end();
        }
    }

    pub(super) fn repeat_status(&mut self, now: Nanos) {
        if self.congested {
            self.tell_receivers(now);
        }
    }

    //= RDCC, Sender Backlog Indication and Suggested Rates: 20ac3191 25f01307
    fn tell_receivers(&mut self, now: Nanos) {
        let threshold = u128::from(self.threshold());
        // 0 at the threshold, 255 at twice the threshold and above; never 0 while the condition holds.
        let excess = self.unused.saturating_sub(threshold).saturating_mul(255) / threshold.max(1);
        let level = u8::try_from(excess.clamp(1, 255)).unwrap_or(255);
        let told: Vec<u32> = self.holding.iter().copied().collect();
        let total: u64 = told.iter().map(|&index| share(self.dominant_hint(index))).sum();
        let mut repeat = Nanos(u64::MAX);
        for index in told {
            let hint = self.dominant_hint(index);
            let rate = self.share_of_link(index, total);
            let association = self.association(index);
            repeat = repeat.min(association.rtt.smoothed().unwrap_or(STATUS_INTERVAL));
            if association.parameters.capabilities.contains(Capabilities::STATUS) {
                self.told.insert(index);
                self.kept.remove(&index);
                self.send_status(index, level, hint, rate);
            }
        }
        self.timers.set(Timer::Status, now + repeat.max(LEAST_STATUS_INTERVAL));
    }

    //= RDCC, Sender Backlog Indication and Suggested Rates: 86d48763 ca41111e
    /// One final status with Congestion Level zero to everybody who was told of congestion. Ours: as long as several of
    /// them have messages to come it still suggests their shares, or all would take the whole link again at once and
    /// be told again a round trip later, with shares that swing between the two.
    fn tell_end(&mut self) {
        let told: Vec<u32> = core::mem::take(&mut self.told).into_iter().collect();
        let waiting: Vec<u32> = told.iter().copied().filter(|&index| self.has_messages(index)).collect();
        let several = waiting.len() > 1;
        let total: u64 = waiting.iter().map(|&index| share(self.dominant_hint(index))).sum();
        for index in told {
            let keeps = several && waiting.contains(&index);
            let rate = if keeps { self.share_of_link(index, total) } else { MbitPerSec(0) };
            if keeps {
                self.kept.insert(index);
            }
            if self.association(index).is_up() {
                self.send_status(index, 0, self.dominant_hint(index), rate);
            }
        }
    }

    /// An association has no messages any more: if only one is left of those that keep to a share, it needs none.
    pub(super) fn release_shares(&mut self, index: u32) {
        if !self.kept.remove(&index) || self.congested || self.kept.len() > 1 {
            return;
        }
        for index in core::mem::take(&mut self.kept) {
            if self.association(index).is_up() {
                self.send_status(index, 0, self.dominant_hint(index), MbitPerSec(0));
            }
        }
    }

    fn has_messages(&self, index: u32) -> bool {
        !self.associations[index as usize].messages.is_empty()
    }

    /// The part of the link that a receiver gets; Pacing Rates count payload, so suggestions do too.
    fn share_of_link(&self, index: u32, total: u64) -> MbitPerSec {
        let unit = self.associations[index as usize].parameters.credit_unit;
        let payload = u64::from(self.config.line_rate.0) * unit / (unit + self.config.unit_overhead.0).max(1);
        let rate = payload * share(self.dominant_hint(index)) / total.max(1);
        MbitPerSec(u32::try_from(rate).unwrap_or(u32::MAX).max(1))
    }

    fn send_status(&mut self, index: u32, congestion_level: u8, service_hint: ServiceHint, rate: MbitPerSec) {
        let status = SenderStatus {
            unused_credit: Octets(u64::try_from(self.association(index).unused).unwrap_or(u64::MAX)),
            congestion_level,
            service_hint,
            suggested_rate: rate,
        };
        self.stats.status_sent += 1;
        self.send(index, Flags::NONE, &RdccMessage::SenderStatus(status));
    }

    /// The hint with the largest share among the pending messages.
    fn dominant_hint(&self, index: u32) -> ServiceHint {
        let messages = self.associations[index as usize].messages.values();
        messages.map(|message| message.spec.hint).max_by_key(|&hint| share(hint)).unwrap_or_default()
    }
}
