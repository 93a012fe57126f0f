//! The receiving side: the budget of one access link, and what it gives to whom.
//!
//! How credit is given (all local choices within RDCC, Credit Allocation):
//!
//! - **Order**: lower class first, then the earlier deadline, then weighted fair queueing (`Turn`). The
//!   messages of one queue pair get credit in the order in which they are posted, since the later ones can't use it.
//! - **How much**: whole Credit Units, a few at a time, up to a message's share of `G_s`: its rate's share of the link.
//! - **When**: credit is issued no faster than the link can take the data that it brings (`credit_clock`), so that an
//!   idle receiver doesn't give its whole budget to whoever asks first; and as long as `G_s` has room. Both are
//!   looked at on every arrival, so that the credit of a finished message goes to the others at once. First grants may go
//!   ahead of the clock by a part of `G_s`: messages that start together then start at once, each at its share of the
//!   link, and none runs out of credit before its second grant's turn.
//! - **At what rate**: the fair share of the link among the messages that are active, plus what capped senders leave of theirs,
//!   within the sender's cap. The sum of the rates in force stays within the link; to make room, the largest is lowered by a
//!   refreshing grant. With more messages than `R_min` fit into the link, the rest waits in turn.
//! - **Pools**: with a sender that takes them, and where configured, credit goes to all messages of an association
//!   together (`pool`).
//! - **Congestion**: `rate` holds the AIMD controller; a decrease is told to the sender at once.
//!
//! Nothing here looks at all associations or all messages: the cost of a grant depends on the messages that hold
//! credit, at most link / `R_min`.

mod allocation;
mod bindings;
mod breaker;
mod budget;
mod config;
mod control;
mod data;
mod ended;
mod message;
mod parameters;
mod pool;
mod rate;
mod requests;
mod shares;
mod totals;

pub use config::{
    ConfigError, DataArrival, Hear, OpaqueArrival, ReceiverConfig, ReceiverEvent, ReceiverStats,
};

pub use parameters::Parameters;

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use wire::rdcc::{AssociationId, Epoch, Flags, Header, Message as RdccMessage, SequenceNumber};
use wire::units::{Micros, Nanos};

use crate::Datagram;
use crate::timers::Timers;
use bindings::Bindings;
use breaker::Breaker;
use budget::Budget;
use message::{Association, Inbound, Turn};
use rate::AimdParameters;
use shares::Shares;

/// What a deadline is for; the number is a message slot or an association's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// Reclamation of an expired grant.
    Grant(u32),
    /// Release of an unscheduled reservation.
    Reservation(u32),
    /// Reclamation of a cancelled message's credit.
    Cancelled(u32),
    /// Removal of an association without traffic.
    Idle(u32),
    /// Repetition, or the settling, of a parameter update.
    Update(u32),
    /// End of the circuit breaker's window.
    Breaker,
    /// Nothing that a predecessor allowed can come any more.
    Quiet,
}

/// The receiver's machine: the budget of one access link and all associations under it.
#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    aimd: AimdParameters,
    rng: ChaCha20Rng,
    associations: Vec<Option<Association>>,
    by_id: BTreeMap<AssociationId, u32>,
    by_origin: BTreeMap<(SocketAddr, u64), u32>,
    by_address: BTreeMap<IpAddr, BTreeSet<u32>>,
    free_associations: Vec<u32>,
    /// Sum of U over the associations, at most `G_u`.
    promised_unscheduled: u64,
    breaker: Breaker,
    /// The longest J that any sender was told.
    longest_jitter: Micros,
    /// Whether credit that a predecessor gave may still be used: until then nothing is allowed to anybody.
    quiet: bool,
    messages: Vec<Option<Inbound>>,
    /// Those of them that are pools.
    pools: u64,
    free_slots: Vec<u32>,
    bindings: Bindings,
    budget: Budget,
    shares: Shares,
    ready: BTreeSet<Turn>,
    /// Those of them that never had a grant: the first one may go ahead of the credit clock.
    newcomers: BTreeSet<Turn>,
    /// When what newcomers got ahead of the credit clock is given back.
    newcomer_clock: Nanos,
    /// By class: the service that the message served last had.
    served: [u64; 8],
    /// When the link has taken all data that credit was issued for, at exactly its capacity.
    credit_clock: Nanos,
    /// When a message that is ready may get credit, if only the clock stands against it.
    clock_blocks_until: Option<Nanos>,
    timers: Timers<Timer>,
    transmits: VecDeque<Datagram>,
    events: VecDeque<ReceiverEvent>,
    stats: ReceiverStats,
}

impl Receiver {
    /// A receiver without associations. `seed` feeds Association IDs: from a secure source in production.
    ///
    /// # Errors
    /// [`ConfigError`] for a configuration that can't work.
    pub fn new(config: ReceiverConfig, seed: [u8; 32]) -> Result<Self, ConfigError> {
        config.check()?;
        let interval = Nanos(config.update_interval.0.max(1));
        let minimum = u64::from(config.minimum_rate().0);
        Ok(Self {
            aimd: AimdParameters {
                minimum,
                alpha: u64::from(config.alpha.0),
                beta_permille: u64::from(config.beta_permille.min(1000)),
                interval,
                hold: config.report_interval.max(interval),
            },
            rng: ChaCha20Rng::from_seed(seed),
            associations: Vec::new(),
            by_id: BTreeMap::new(),
            by_origin: BTreeMap::new(),
            by_address: BTreeMap::new(),
            free_associations: Vec::new(),
            promised_unscheduled: 0,
            breaker: Breaker::new(config.loss_threshold_ppm, config.loss_interval),
            longest_jitter: config.start_jitter,
            quiet: false,
            messages: Vec::new(),
            pools: 0,
            free_slots: Vec::new(),
            bindings: Bindings::default(),
            budget: Budget::new(config.budget.0, config.unscheduled_budget.0),
            shares: Shares::new(u64::from(config.payload_capacity().0)),
            ready: BTreeSet::new(),
            newcomers: BTreeSet::new(),
            newcomer_clock: Nanos(0),
            served: [0; 8],
            credit_clock: Nanos(0),
            clock_blocks_until: None,
            timers: Timers::default(),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            stats: ReceiverStats::default(),
            config,
        })
    }

    //= RDCC, Association Establishment: d40442a1
    /// A receiver that takes the place of one whose state was lost: data that one allowed may come for a Grant Lifetime
    /// and `2 * D_max` after its last grant, which this one can't know of, so until then it allows none. It answers all
    /// the same: it admits associations, with U = 0, and takes requests, which wait. Silence could last longer than the
    /// 255 ms of a sender's eight attempts (with the default parameters, at round trips above 21 ms), and that sender
    /// would go on without RDCC.
    ///
    /// `previous` is the Epoch of the lost one, if it is known: `config.epoch` must be another. If it isn't known, a
    /// random Epoch differs but for one case in 65,536; even then a sender's old Association ID, 32 random bits, isn't
    /// known here, and `UNKNOWN_ASSOCIATION` makes it start anew. Where no receiver ran before, [`Receiver::new`] doesn't
    /// wait. Unscheduled data that the lost one allowed comes within the same time where J is at most `2 * D_max`.
    ///
    /// # Errors
    /// [`ConfigError`] for a configuration that can't work, and [`ConfigError::Epoch`] for the previous Epoch.
    pub fn restarted(
        config: ReceiverConfig,
        previous: Option<Epoch>,
        seed: [u8; 32],
        now: Nanos,
    ) -> Result<Self, ConfigError> {
        if previous == Some(config.epoch) {
            return Err(ConfigError::Epoch { epoch: config.epoch });
        }
        let mut receiver = Self::new(config, seed)?;
        let lifetime = receiver.config.grant_lifetime.nanos();
        receiver.quiet = true;
        receiver.timers.set(Timer::Quiet, now + lifetime + receiver.config.d_max + receiver.config.d_max);
        Ok(receiver)
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Nanos) {
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Grant(slot) => self.reclaim(slot, now),
                Timer::Reservation(slot) => self.release_reservation(slot, now),
                Timer::Cancelled(slot) => self.remove(slot, now),
                Timer::Idle(index) => self.remove_if_idle(index, now),
                Timer::Update(index) => self.update_due(index, now),
                Timer::Breaker => self.evaluate_breaker(now),
                Timer::Quiet => {
                    self.quiet = false;
                    self.update_all(now);
                }
            }
        }
        self.allocate(now);
    }

    /// When [`Receiver::handle_timeout`] is to be called next.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        [self.timers.next(), self.clock_blocks_until].into_iter().flatten().min()
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Datagram> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    /// The counters.
    pub fn stats(&self) -> ReceiverStats {
        ReceiverStats {
            budget: self.config.budget.0,
            outstanding: self.budget.outstanding(),
            outstanding_peak: self.budget.peak(),
            pacing_sum: self.shares.sum(),
            invariant_violations: self.budget.violations() + self.shares.violations(),
            breaker_open: self.breaker.is_open(),
            associations: self.by_id.len() as u64,
            pending_messages: (self.messages.len() - self.free_slots.len()) as u64 - self.pools,
            ..self.stats
        }
    }

    /// Adds up all messages and compares with the running accounts: `true` when all of them agree and no rule is
    /// broken. Its cost grows with the number of messages; it is for tests and for looking into a running receiver.
    pub fn audit(&self) -> bool {
        let messages = || self.messages.iter().flatten();
        let scheduled: u64 = messages().map(|message| message.scheduled).sum();
        let unscheduled: u64 = messages().map(|message| message.unscheduled).sum();
        let counted =
            messages().filter(|message| message.live).all(|message| message.scheduled == message.granted());
        let rates: u64 = messages().map(|message| message.rate).sum();
        let weights: u64 = messages().filter(|m| m.active).map(|m| u64::from(m.weight)).sum();
        let promised: u64 = self.associations.iter().flatten().map(|a| a.unscheduled_limit).sum();
        counted
            && (scheduled, unscheduled) == self.budget.sums()
            && scheduled + unscheduled <= self.config.budget.0
            && unscheduled <= self.config.unscheduled_budget.0
            && rates == self.shares.sum()
            && rates <= self.shares.capacity()
            && weights == self.shares.weights()
            && promised == self.promised_unscheduled
            && promised <= self.config.unscheduled_budget.0
            && self.associations.iter().flatten().all(|a| self.audit_association(a))
            && scheduled == self.associations.iter().flatten().map(|a| a.scheduled).sum::<u64>()
            && self.stats().invariant_violations == 0
    }

    /// What one association has, against what it may have; a rate of 1 Mbit/s is the least a message can be paced at.
    fn audit_association(&self, association: &Association) -> bool {
        let messages = || association.messages.values().filter_map(|&slot| self.inbound(slot));
        let unscheduled: u64 = messages().map(|message| message.unscheduled).sum();
        let (rate, holders) = (association.rate, association.holders.len() as u64);
        association.scheduled <= self.config.association_cap()
            && unscheduled == association.unscheduled
            && unscheduled <= association.unscheduled_limit
            && rate == messages().map(|message| message.rate).sum::<u64>()
            && rate == association.holders.iter().map(|&(rate, _)| rate).sum::<u64>()
            && rate <= association.allowed_rate.max(holders)
    }

    fn inbound(&self, slot: u32) -> Option<&Inbound> {
        self.messages.get(slot as usize)?.as_ref()
    }

    fn inbound_mut(&mut self, slot: u32) -> Option<&mut Inbound> {
        self.messages.get_mut(slot as usize)?.as_mut()
    }

    fn association_mut(&mut self, index: u32) -> Option<&mut Association> {
        self.associations.get_mut(index as usize)?.as_mut()
    }

    /// Sends a message on an association, with its next sequence number.
    fn send(&mut self, index: u32, flags: Flags, message: &RdccMessage) {
        let epoch = self.config.epoch;
        let Some(association) = self.association_mut(index) else { return };
        let sequence_number = association.next_sequence;
        association.next_sequence = sequence_number.next();
        let header = Header { association_id: association.id, epoch, flags, sequence_number };
        let datagram = Datagram { to: association.from, octets: message.to_octets(&header) };
        self.transmits.push_back(datagram);
    }

    /// Sends a message outside any association: the Association ID is what the other side named.
    fn send_outside(&mut self, to: SocketAddr, association_id: AssociationId, message: &RdccMessage) {
        let header = Header {
            association_id,
            epoch: self.config.epoch,
            flags: Flags::NONE,
            sequence_number: SequenceNumber(0),
        };
        self.transmits.push_back(Datagram { to, octets: message.to_octets(&header) });
    }
}
