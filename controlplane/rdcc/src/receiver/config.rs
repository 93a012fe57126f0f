//! What a receiver is told at its start, and what it tells.

use core::net::{IpAddr, SocketAddr};

use wire::rdcc::{Epoch, MessageId};
use wire::units::{MbitPerSec, Micros, Nanos, Octets};

/// Which congestion signals move the rates (RDCC, Credit Allocation, rule 2). All of them in production; leaving some out is for experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hear {
    /// `CONGESTION_REPORT`s of configured CRNs.
    pub reports: bool,
    /// Congestion Experienced marks.
    pub ecn: bool,
    /// Round-trip time above [`ReceiverConfig::delay_target`].
    pub delay: bool,
}

impl Hear {
    /// Every signal.
    pub const ALL: Self = Self { reports: true, ecn: true, delay: true };
    /// No signal.
    pub const NONE: Self = Self { reports: false, ecn: false, delay: false };
}

/// Configuration of a [`super::Receiver`]. [`ReceiverConfig::new`] derives the document's defaults
/// (RDCC, Operational Considerations) from link rate and round-trip time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Capacity of the access link.
    pub link_rate: MbitPerSec,
    /// G: octets granted or announced and not yet received, at every instant.
    pub budget: Octets,
    /// `G_u`: the part of G for unscheduled data.
    pub unscheduled_budget: Octets,
    /// U, for each association while the sum of U stays within `G_u`; later associations get 0.
    pub unscheduled_limit: Octets,
    /// J.
    pub start_jitter: Micros,
    /// `N_cu` of a sender whose line rate is this link's; one of another line rate is told its part in proportion, so
    /// that the default is twice the sender's own bandwidth-delay product.
    pub backlog_threshold: Octets,
    /// The Credit Unit; a grant is a multiple of it, or reaches the message's end.
    pub credit_unit: Octets,
    /// Octets that one Credit Unit takes on the link beside its payload. Pacing Rates count payload: their sum stays
    /// within `link_rate * credit_unit / (credit_unit + unit_overhead)`.
    pub unit_overhead: Octets,
    /// Base round-trip time of the domain.
    pub base_rtt: Nanos,
    /// Grant Lifetime.
    pub grant_lifetime: Micros,
    /// `D_max`: the maximum one-way delay of the domain, queues included.
    pub d_max: Nanos,
    /// `T_upd`.
    pub update_interval: Nanos,
    /// The report interval of the domain's CRNs: no rate is raised within it (at least `T_upd`) after a signal.
    pub report_interval: Nanos,
    /// Round-trip time above which the path counts as congested, when delay is heard.
    pub delay_target: Nanos,
    /// alpha of the AIMD controller.
    pub alpha: MbitPerSec,
    /// beta of the AIMD controller, in thousandths.
    pub beta_permille: u32,
    /// The most credit that one association may hold; `None` is 3/4 of `G_s`: with the default G that is 9/8 of the
    /// bandwidth-delay product, so one sender alone can keep the link busy and none can keep everything from the others.
    pub association_credit: Option<Octets>,
    /// The loss of unscheduled data above which nobody may send any, in millionths.
    pub loss_threshold_ppm: u32,
    /// Over what time that loss is counted.
    pub loss_interval: Nanos,
    /// Whether the domain's data transport carries Binding Values of kind 2; without it they are refused.
    pub opaque_bindings: bool,
    /// Associations admitted at most.
    pub max_associations: usize,
    /// Pending messages of one association at most.
    pub max_pending_messages: usize,
    /// After how long without traffic an association is removed. A message that holds nothing and that nothing is heard
    /// of is given up after this time at the earliest and twice of it at the latest.
    pub idle_timeout: Nanos,
    /// The signals that count.
    pub hear: Hear,
    /// Whether senders with the POOL capability get pool grants instead of a grant for each message.
    pub pool_grants: bool,
    /// Addresses from which reports are believed.
    pub crn_addresses: Vec<IpAddr>,
    /// This receiver's own addresses: a report names a flow to one of them, or isn't about its senders. Empty: any.
    pub addresses: Vec<IpAddr>,
    /// The UDP port that the data transport's packets go to; reports about other flows are not about it.
    pub data_port: u16,
    /// Epoch of this incarnation; different from the previous one's: [`super::Receiver::restarted`].
    pub epoch: Epoch,
}

impl ReceiverConfig {
    //= RDCC, Operational Considerations: 3ece9df8 e66dcc37 11a2ad92 68a20b80 a7df5152
    //= RDCC, Operational Considerations: 79d1cc08
    //= RDCC, Receiver Credit Budget: 4b855951
    /// The document's guidance for a link and its base round-trip time: G = 2 BDP, `G_u` = G/4, U = `G_u`/8, J = one
    /// round trip, lifetime 4 round trips and at least 100 us, `T_upd` = one round trip, alpha = 1 % of the link, beta = 0.5.
    pub fn new(link_rate: MbitPerSec, base_rtt: Nanos, credit_unit: Octets) -> Self {
        // Mbit/s times nanoseconds are bits/1000.
        let bdp = u64::from(link_rate.0).saturating_mul(base_rtt.0) / 8000;
        let budget = 2 * bdp;
        let lifetime = Nanos(base_rtt.0.saturating_mul(4)).micros().0.max(100);
        Self {
            link_rate,
            budget: Octets(budget),
            unscheduled_budget: Octets(budget / 4),
            unscheduled_limit: Octets(budget / 32),
            start_jitter: base_rtt.micros(),
            backlog_threshold: Octets(2 * bdp),
            credit_unit,
            unit_overhead: Octets(crate::DEFAULT_UNIT_OVERHEAD),
            base_rtt,
            grant_lifetime: Micros(lifetime),
            d_max: Nanos(Micros(lifetime).nanos().0.max(base_rtt.0)),
            update_interval: base_rtt,
            report_interval: Nanos(50_000),
            delay_target: Nanos(base_rtt.0.saturating_mul(2)),
            alpha: MbitPerSec((link_rate.0 / 100).max(1)),
            beta_permille: 500,
            association_credit: None,
            loss_threshold_ppm: 10_000,
            loss_interval: Nanos(1_000_000_000),
            opaque_bindings: false,
            max_associations: 4096,
            max_pending_messages: 1024,
            idle_timeout: Nanos(10_000_000_000),
            hear: Hear::ALL,
            pool_grants: false,
            crn_addresses: Vec::new(),
            addresses: Vec::new(),
            data_port: wire::roce::UDP_PORT,
            epoch: Epoch(1),
        }
    }

    /// Capacity of the link in payload: what Pacing Rates may sum up to.
    pub fn payload_capacity(&self) -> MbitPerSec {
        let unit = self.credit_unit.0.max(1);
        let rate = u128::from(self.link_rate.0) * u128::from(unit) / u128::from(unit + self.unit_overhead.0);
        MbitPerSec(u32::try_from(rate).unwrap_or(u32::MAX))
    }

    /// The most credit that one association may hold.
    pub(super) fn association_cap(&self) -> u64 {
        let scheduled = self.budget.0.saturating_sub(self.unscheduled_budget.0);
        let default = (scheduled - scheduled / 4).max(self.credit_unit.0);
        self.association_credit.map_or(default, |cap| cap.0).min(scheduled)
    }

    /// `R_min`: one Credit Unit per update interval, at least 1 Mbit/s.
    pub fn minimum_rate(&self) -> MbitPerSec {
        let rate = self.credit_unit.0.saturating_mul(8000) / self.update_interval.0.max(1);
        MbitPerSec(u32::try_from(rate).unwrap_or(u32::MAX).max(1))
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.credit_unit.0 == 0 || self.credit_unit.0 > u64::from(u32::MAX) {
            return Err(ConfigError::CreditUnit { credit_unit: self.credit_unit });
        }
        if self.unscheduled_budget > self.budget
            || self.budget.0 - self.unscheduled_budget.0 < self.credit_unit.0
        {
            return Err(ConfigError::Budget {
                budget: self.budget,
                unscheduled_budget: self.unscheduled_budget,
                credit_unit: self.credit_unit,
            });
        }
        if self.unscheduled_limit > self.unscheduled_budget {
            return Err(ConfigError::UnscheduledLimit {
                unscheduled_limit: self.unscheduled_limit,
                unscheduled_budget: self.unscheduled_budget,
            });
        }
        if self.grant_lifetime == Micros(0) {
            return Err(ConfigError::GrantLifetime);
        }
        if let Some(association_credit) = self.association_credit.filter(|&cap| cap < self.credit_unit) {
            return Err(ConfigError::AssociationCredit { association_credit, credit_unit: self.credit_unit });
        }
        if self.payload_capacity() < self.minimum_rate() {
            return Err(ConfigError::Rate { link_rate: self.link_rate, minimum_rate: self.minimum_rate() });
        }
        Ok(())
    }
}

/// A configuration that can't work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The Credit Unit is zero or doesn't fit the field.
    #[error("credit_unit is {credit_unit}; it must be from 1 to {} octets", u32::MAX)]
    CreditUnit {
        /// The configured value.
        credit_unit: Octets,
    },
    /// The scheduled part of the budget holds no Credit Unit.
    #[error(
        "budget {budget} less unscheduled_budget {unscheduled_budget} must be at least one credit unit, {credit_unit}"
    )]
    Budget {
        /// G.
        budget: Octets,
        /// `G_u`.
        unscheduled_budget: Octets,
        /// The Credit Unit.
        credit_unit: Octets,
    },
    /// No association could ever get U.
    #[error("unscheduled_limit {unscheduled_limit} must be at most unscheduled_budget, {unscheduled_budget}")]
    UnscheduledLimit {
        /// U.
        unscheduled_limit: Octets,
        /// `G_u`.
        unscheduled_budget: Octets,
    },
    /// Credit that is never usable.
    #[error("grant_lifetime is 0; it must be at least 1 us")]
    GrantLifetime,
    /// One association may not hold a single Credit Unit.
    #[error("association_credit {association_credit} must be at least one credit unit, {credit_unit}")]
    AssociationCredit {
        /// The configured value.
        association_credit: Octets,
        /// The Credit Unit.
        credit_unit: Octets,
    },
    /// A restarted receiver has the Epoch of the one that it replaces.
    #[error("epoch {} is that of the receiver that lost its state; another one is needed", epoch.0)]
    Epoch {
        /// The configured value.
        epoch: Epoch,
    },
    /// The link can't carry one Credit Unit per update interval.
    #[error("link_rate {link_rate} is below one credit unit per update interval, {minimum_rate}")]
    Rate {
        /// The link.
        link_rate: MbitPerSec,
        /// `R_min`.
        minimum_rate: MbitPerSec,
    },
}

/// Data that arrived, in order and without repetition, as the transport counts it per queue pair
/// (RDCC, Transport Bindings).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataArrival {
    /// The sender's address.
    pub from: IpAddr,
    /// Queue pair at this receiver.
    pub qp: u32,
    /// Message sequence number of the RDMA message that the octets belong to, 24 bits, the first on a queue pair being 0 unless the sender says otherwise.
    pub msn: u32,
    /// Payload octets, new ones only.
    pub octets: u32,
    /// Whether the packet carried Congestion Experienced.
    pub ce: bool,
    /// The packet's UDP source port, by which reports name its flow.
    pub source_port: u16,
}

/// Data that arrived on a transport that carries the Binding Values of kind 2 (RDCC, Transport Bindings), each octet
/// once, in whatever order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpaqueArrival {
    /// The sender's address.
    pub from: IpAddr,
    /// The identifier that the message's request named.
    pub binding_value: u64,
    /// Payload octets, new ones only.
    pub octets: u32,
    /// Whether the packet carried Congestion Experienced.
    pub ce: bool,
    /// The packet's UDP source port, by which reports name its flow.
    pub source_port: u16,
}

/// What happened at a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// A new association.
    AssociationUp {
        /// Where its requests come from.
        from: SocketAddr,
    },
    /// All octets of a message are there.
    MessageCompleted {
        /// The sender.
        from: SocketAddr,
        /// The message.
        message: MessageId,
        /// Its length.
        octets: Octets,
        /// When the last octets came.
        at: Nanos,
    },
    /// The sender gave a message up.
    MessageCancelled {
        /// The sender.
        from: SocketAddr,
        /// The message.
        message: MessageId,
    },
    /// A sender transmitted beyond its credit (RDCC, Error Handling and Recovery).
    BeyondCredit {
        /// The sender.
        from: SocketAddr,
        /// The message.
        message: MessageId,
        /// By how many octets.
        octets: u64,
    },
}

//= RDCC, Operational Considerations: a04cab46
/// Counters of a receiver (RDCC, Operational Considerations).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// G.
    pub budget: u64,
    /// Octets granted or announced and not yet received.
    pub outstanding: u64,
    /// The largest value `outstanding` ever had.
    pub outstanding_peak: u64,
    /// Sum of the Pacing Rates in force, Mbit/s.
    pub pacing_sum: u64,
    /// Times that a rule of the budget was found broken: G, `G_u`, or the sum of Pacing Rates. Always 0.
    pub invariant_violations: u64,
    /// Octets of credit granted.
    pub credit_granted: u64,
    /// Octets of credit reclaimed from expired grants.
    pub credit_reclaimed: u64,
    /// Octets of credit returned by senders.
    pub credit_returned: u64,
    /// Octets announced as unscheduled.
    pub unscheduled_octets: u64,
    /// Octets of unscheduled reservations that ran out before their data came.
    pub unscheduled_expired: u64,
    /// Times that the circuit breaker for unscheduled data opened.
    pub breaker_openings: u64,
    /// Whether it is open now.
    pub breaker_open: bool,
    /// Parameter updates sent, repetitions included.
    pub parameter_updates: u64,
    /// `CREDIT_GRANT`s sent, refreshes included.
    pub grants: u64,
    /// Grants that only refreshed lifetime and rate.
    pub refreshes: u64,
    /// Grants for pools, refreshes included.
    pub pool_grants: u64,
    /// Reports to the receiver (direction 1) that were heard.
    pub reports_heard: u64,
    /// Reports ignored: unknown source, other direction, or a flow that isn't one of our senders'.
    pub reports_ignored: u64,
    /// Octets that carried Congestion Experienced.
    pub ce_octets: u64,
    /// Multiplicative decreases.
    pub decreases: u64,
    /// Associations at present.
    pub associations: u64,
    /// Messages announced and not complete.
    pub pending_messages: u64,
    /// Messages completed.
    pub messages_completed: u64,
    /// Octets that belong to no announced message.
    pub unmatched_octets: u64,
    /// Octets beyond credit.
    pub excess_octets: u64,
    /// Datagrams ignored: undecodable, stale, or not for a receiver.
    pub datagrams_ignored: u64,
}
