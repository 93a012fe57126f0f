//! What all messages of one association may have together: Pacing Rates and credit.

use wire::units::Nanos;

use super::Receiver;
use super::allocation::whole_units;

/// Ours: a rate is lowered to make room for others only if it is more than 1/16 above its share.
pub(super) const WORTH_LOWERING: u64 = 16;

impl Receiver {
    //= RDCC, Credit Allocation: 972521b8
    //= RDCC, Sender Backlog Indication and Suggested Rates: ad62ef6d
    /// The most that the active messages of a sender may have together: line rate, the sender's own suggestion (rule 3),
    /// and the AIMD controller (rule 2). It falls only with a signal or a suggestion, and both lower the rates at once.
    pub(super) fn sender_total(&mut self, index: u32, now: Nanos) -> u64 {
        let aimd = self.aimd;
        let capacity = self.shares.capacity();
        // RDCC, Sender Backlog Indication: a suggestion holds for four default Grant Lifetimes.
        let holds = Nanos(self.config.grant_lifetime.nanos().0.saturating_mul(4));
        let Some(association) = self.association_mut(index) else { return 0 };
        let suggested =
            association.suggestion.filter(|&(_, at)| now <= at + holds).map_or(u64::MAX, |(rate, _)| rate);
        let maximum = association.line_rate.min(suggested);
        let cap = association.aimd.cap(maximum.min(capacity), &aimd, now).unwrap_or(u64::MAX);
        association.allowed_rate = maximum.min(cap).min(capacity);
        association.allowed_rate
    }

    /// What the other messages of its sender leave of that to a message.
    pub(super) fn room_beside_siblings(&mut self, slot: u32, now: Nanos) -> u64 {
        let Some((index, own)) = self.inbound(slot).map(|message| (message.association, message.rate)) else {
            return 0;
        };
        let total = self.sender_total(index, now);
        let others = self.association_mut(index).map_or(0, |association| association.rate - own);
        total.saturating_sub(others)
    }

    /// Lowers the other messages of its sender to their shares, the largest first, until a message may have `wanted`; as
    /// far as that takes, at least `least`.
    pub(super) fn lower_siblings(&mut self, slot: u32, wanted: u64, least: u64, now: Nanos) {
        loop {
            let room = self.room_beside_siblings(slot, now);
            let index = self.inbound(slot).map(|message| message.association);
            let largest = index.and_then(|index| self.association_mut(index)).and_then(|association| {
                association.holders.iter().rev().find(|&&(_, other)| other != slot).copied()
            });
            let Some((rate, other)) = largest.filter(|_| room < wanted) else { return };
            let share = self.target(other, now);
            let tolerated = if room < least { 0 } else { share.rate / WORTH_LOWERING };
            if share.rate + tolerated >= rate {
                return;
            }
            self.refresh(other, share, now);
        }
    }

    //= RDCC, Security Considerations: fe355f68
    /// What of `fresh` the cap on the credit of one association leaves. If it leaves nothing, the message waits for the
    /// association to use some.
    pub(super) fn within_cap(&mut self, slot: u32, revived: u64, fresh: u64) -> Option<u64> {
        let (cap, unit) = (self.config.association_cap(), self.config.credit_unit.0);
        let index = self.inbound(slot)?.association;
        let association = self.association_mut(index)?;
        let room = cap.saturating_sub(association.scheduled);
        let fresh =
            if revived + fresh <= room { fresh } else { whole_units(room.saturating_sub(revived), unit) };
        if revived > room || revived + fresh == 0 {
            self.wait_for_siblings(slot);
            return None;
        }
        Some(fresh)
    }

    /// A message leaves the line until another one of its association changes.
    pub(super) fn wait_for_siblings(&mut self, slot: u32) {
        if let Some(index) = self.inbound(slot).map(|message| message.association)
            && let Some(association) = self.association_mut(index)
        {
            association.capped.insert(slot);
        }
        self.unready(slot);
    }

    /// Messages that waited for their association to use credit stand in line again.
    pub(super) fn uncap(&mut self, index: u32, now: Nanos) {
        let cap = self.config.association_cap();
        let Some(association) = self.association_mut(index) else { return };
        if association.capped.is_empty() || association.scheduled >= cap {
            return;
        }
        for slot in core::mem::take(&mut association.capped) {
            self.settle(slot, now);
        }
    }
}
