//! Parameters of associations that change while they are up (RDCC, Association Establishment).
//!
//! An update is sent until it is acknowledged. An acknowledgment doesn't say of which update it is, and a request that
//! was sent under the old parameters may be overtaken by it: both settle `2 * D_max` later (our decision), and only
//! then does the next update of that association start.

use wire::rdcc::{AssocAccept, Capabilities, Flags, Message as RdccMessage};
use wire::units::{Micros, Nanos, Octets};

use super::{Receiver, Timer};

/// Ours, as for `ASSOC_REQUEST`: the first repetition comes after 1 ms, each later one after twice the time before ...
const FIRST_BACKOFF: Nanos = Nanos(1_000_000);
/// ... up to this.
const LONGEST_BACKOFF: Nanos = Nanos(128_000_000);

/// What an association was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) unscheduled_limit: u64,
    pub(super) start_jitter: Micros,
    pub(super) backlog_threshold: Octets,
}

/// An update under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update {
    attempts: u32,
    acknowledged: bool,
}

/// The parameters that a running receiver may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// U, for each association while the sum stays within `G_u`.
    pub unscheduled_limit: Octets,
    /// J.
    pub start_jitter: Micros,
    /// `N_cu`, as [`super::ReceiverConfig::backlog_threshold`].
    pub backlog_threshold: Octets,
}

impl Receiver {
    /// Changes the parameters of all associations, present and future. Until a sender has acknowledged, it is accounted
    /// for with the larger of the old and the new U.
    pub fn set_parameters(&mut self, parameters: Parameters, now: Nanos) {
        self.config.unscheduled_limit = parameters.unscheduled_limit;
        self.config.start_jitter = parameters.start_jitter;
        self.config.backlog_threshold = parameters.backlog_threshold;
        // Reservations last as long as the longest delay that any sender may still apply.
        self.longest_jitter = self.longest_jitter.max(parameters.start_jitter);
        self.update_all(now);
    }

    /// The parameters that new associations get.
    pub fn parameters(&self) -> Parameters {
        Parameters {
            unscheduled_limit: self.config.unscheduled_limit,
            start_jitter: self.config.start_jitter,
            backlog_threshold: self.config.backlog_threshold,
        }
    }

    /// Tells every association what it should know and doesn't.
    pub(super) fn update_all(&mut self, now: Nanos) {
        for index in 0..u32::try_from(self.associations.len()).unwrap_or(u32::MAX) {
            self.update_parameters(index, now);
        }
    }

    //= RDCC, Unscheduled Transmission: 95d6b5a9
    /// U for an association that is accounted for with `held`: the configured one if the sum of all stays within `G_u`,
    /// else what it has; 0 while the circuit breaker is open, and while a predecessor's data may still come.
    pub(super) fn wished_limit(&self, held: u64) -> u64 {
        let wished = self.config.unscheduled_limit.0.min(u64::from(u32::MAX));
        let others = self.promised_unscheduled - held;
        match wished {
            _ if self.quiet || self.breaker.is_open() => 0,
            _ if wished <= self.config.unscheduled_budget.0.saturating_sub(others) => wished,
            _ => held.min(wished),
        }
    }

    //= RDCC, Operational Considerations: dab358a0
    /// What an association that is accounted for with `held` should know.
    pub(super) fn wished(&self, held: u64, (line, link): (u32, u32)) -> Told {
        // The guidance is for the sender's own bandwidth-delay product.
        let threshold =
            u128::from(self.config.backlog_threshold.0) * u128::from(line) / u128::from(link.max(1));
        Told {
            unscheduled_limit: self.wished_limit(held),
            start_jitter: self.config.start_jitter,
            backlog_threshold: Octets(u64::try_from(threshold).unwrap_or(u64::MAX).max(1)),
        }
    }

    //= RDCC, Association Establishment: 71262ccb 2632e266
    fn update_parameters(&mut self, index: u32, now: Nanos) {
        let Some(association) = self.association_mut(index).filter(|a| a.update.is_none()) else { return };
        let (before, held, rate) =
            (association.told, association.unscheduled_limit, association.relative_rate);
        let told = self.wished(held, rate);
        if told == before {
            return;
        }
        let Some(association) = self.association_mut(index) else { return };
        association.told = told;
        association.largest_limit = association.largest_limit.max(told.unscheduled_limit);
        association.update = Some(Update { attempts: 0, acknowledged: false });
        self.account_limit(index, held.max(told.unscheduled_limit));
        self.send_update(index, now);
    }

    fn account_limit(&mut self, index: u32, limit: u64) {
        let Some(association) = self.association_mut(index) else { return };
        let before = core::mem::replace(&mut association.unscheduled_limit, limit);
        self.promised_unscheduled = self.promised_unscheduled - before + limit;
    }

    fn send_update(&mut self, index: u32, now: Nanos) {
        let Some(update) = self.association_mut(index).and_then(|a| a.update.as_mut()) else { return };
        let backoff = Nanos(FIRST_BACKOFF.0 << update.attempts.min(10)).min(LONGEST_BACKOFF);
        update.attempts = update.attempts.saturating_add(1);
        self.timers.set(Timer::Update(index), now + backoff);
        self.stats.parameter_updates += 1;
        self.send_accept(index, Flags::PARAMETER_UPDATE);
    }

    /// `ASSOC_REQUEST` with the Update Acknowledgment flag came.
    pub(super) fn update_acknowledged(&mut self, index: u32, now: Nanos) {
        let settles = now + self.config.d_max + self.config.d_max;
        let Some(update) = self.association_mut(index).and_then(|a| a.update.as_mut()) else { return };
        if !core::mem::replace(&mut update.acknowledged, true) {
            self.timers.clear(Timer::Update(index));
            self.timers.set(Timer::Update(index), settles);
        }
    }

    //= RDCC, Association Establishment: 968dae47
    pub(super) fn update_due(&mut self, index: u32, now: Nanos) {
        let again = now + self.config.d_max;
        let Some(association) = self.association_mut(index) else { return };
        match association.update {
            None => {}
            Some(Update { acknowledged: false, .. }) => self.send_update(index, now),
            Some(Update { acknowledged: true, .. }) => {
                let (limit, announced) = (association.told.unscheduled_limit, association.unscheduled);
                if announced > limit {
                    // Octets under the old U are still to come; nobody else is promised their place.
                    self.account_limit(index, announced);
                    self.timers.set(Timer::Update(index), again);
                    return;
                }
                association.update = None;
                self.account_limit(index, limit);
                // What others hold less may be what another one waits for; and this one may be out of date again.
                self.update_all(now);
            }
        }
    }

    //= RDCC, Association Establishment: 8aafff24
    /// `ASSOC_ACCEPT` with the newest parameters.
    pub(super) fn send_accept(&mut self, index: u32, flags: Flags) {
        let (lifetime, unit) = (self.config.grant_lifetime, self.config.credit_unit.saturating_32());
        let capabilities = Capabilities::STATUS.with(Capabilities::CRN);
        let pools = self.config.pool_grants;
        let capabilities = if pools { capabilities.with(Capabilities::POOL) } else { capabilities };
        let Some(association) = self.association_mut(index) else { return };
        let told = association.told;
        let accept = AssocAccept {
            sender_nonce: association.nonce,
            capabilities,
            unscheduled_limit: Octets(told.unscheduled_limit).saturating_32(),
            start_jitter: told.start_jitter,
            backlog_threshold: told.backlog_threshold.saturating_32(),
            grant_lifetime: lifetime,
            credit_unit: unit,
        };
        self.send(index, flags, &RdccMessage::AssocAccept(accept));
    }
}
