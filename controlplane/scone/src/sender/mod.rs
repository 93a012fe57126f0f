//! The host that sends RDMA data: takes advice, and says what bound applies to which queue pair.
//!
//! The driver keeps one beside its RoCEv2 endpoint:
//!
//! - It names the queue pairs ([`Sender::add_qp`]) and says what each would send without advice ([`Sender::set_demand`]:
//!   the rate that DCQCN allows, 0 when there is nothing to send).
//! - It hands over datagrams to the SCONE port ([`Sender::handle_datagram`]) and RoCEv2 packets that arrive
//!   ([`Sender::handle_packet`]: acknowledgements and CNPs may carry feedback), and calls [`Sender::handle_timeout`] at
//!   the time that [`Sender::poll_timeout`] names.
//! - After each of these it takes all of [`Sender::poll_change`], and gives the endpoint the new bound
//!   ([`Sender::bound`]) of every queue pair named.
//!
//! The endpoint sends at the lower of that bound and DCQCN's rate. So advice never raises a rate, and a CNP acts at once.

mod config;
mod shares;

pub use config::{Advised, Cap, ConfigError, Discarded, SenderConfig, SenderQp, SenderStats, Subject};

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use wire::roce::{BTH_OCTETS, Bth, Opcode};
use wire::scone::{Feedback, RateAdvice, RateSignal, SconeDatagram, Unreadable, ack_code};
use wire::units::{BitPerSec, MbitPerSec, Nanos};

use crate::bound::Bound;
use shares::Address;

#[derive(Debug)]
struct Qp {
    local: IpAddr,
    peer: IpAddr,
    demand: BitPerSec,
    bound: Option<Bound>,
}

/// See the module's text.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    qps: BTreeMap<u32, Qp>,
    addresses: BTreeMap<IpAddr, Address>,
    /// When the bound of a subject changes next by itself; one entry a subject at most.
    timers: BTreeSet<(Nanos, Subject)>,
    armed: BTreeMap<Subject, Nanos>,
    changes: BTreeSet<u32>,
    stats: SenderStats,
}

impl Sender {
    /// A sender without queue pairs.
    ///
    /// # Errors
    /// [`ConfigError`] for a parameter that can't be.
    pub fn new(config: SenderConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let addresses = config.addresses.iter().map(|&address| (address, Address::default())).collect();
        Ok(Self {
            config,
            qps: BTreeMap::new(),
            addresses,
            timers: BTreeSet::new(),
            armed: BTreeMap::new(),
            changes: BTreeSet::new(),
            stats: SenderStats::default(),
        })
    }

    /// Adds a queue pair; one with the same number is replaced.
    pub fn add_qp(&mut self, qp: SenderQp, now: Nanos) {
        self.remove_qp(qp.qp, now);
        let state = Qp { local: qp.local, peer: qp.peer, demand: BitPerSec(0), bound: None };
        self.qps.insert(qp.qp, state);
    }

    /// Forgets a queue pair.
    pub fn remove_qp(&mut self, qp: u32, now: Nanos) {
        self.set_demand(qp, BitPerSec(0), now);
        self.disarm(Subject::Qp(qp));
        self.qps.remove(&qp);
    }

    //= SCONE, Sending and Processing: f089254a
    /// What the queue pair would send without advice: 0 when it has nothing to send, and DCQCN's rate when it has. The active
    /// queue pairs of an address share its bound in proportion to this. The queue pair's own share follows at once, those of
    /// the others within a step.
    pub fn set_demand(&mut self, qp: u32, demand: BitPerSec, now: Nanos) {
        let Some(state) = self.qps.get_mut(&qp) else { return };
        let before = core::mem::replace(&mut state.demand, demand);
        if before == demand {
            return;
        }
        let local = state.local;
        let Some(address) = self.addresses.get_mut(&local) else { return };
        address.change_demand(qp, before, demand);
        if address.bound.is_some() {
            address.changed.get_or_insert(now);
            self.changes.insert(qp);
            self.arm_address(local);
        }
    }

    /// Takes a datagram that came from the host `from` to the SCONE port.
    ///
    /// # Errors
    /// [`Discarded`]: it had no effect, and is counted.
    pub fn handle_datagram(&mut self, from: IpAddr, octets: &[u8], now: Nanos) -> Result<Advised, Discarded> {
        let taken = match wire::scone::decode(octets) {
            Ok(SconeDatagram::RateAdvice(advice)) => self.rate_advice(from, advice, now),
            Ok(SconeDatagram::Feedback(Feedback { signal, destination_qp })) => {
                self.signal(from, destination_qp, signal, now).inspect(|_| self.stats.dedicated += 1)
            }
            Err(error) => Err(error.into()),
        };
        taken.inspect_err(|discarded| self.stats.count(discarded))
    }

    //= SCONE, Feedback Loop: c1cad637 8210a986 64f5bdf8 6dd699cf
    /// Takes a RoCEv2 packet that came from the host `from`: `head` is its UDP payload from the BTH on, or the start of it. An
    /// acknowledgement or a CNP may carry feedback; any other packet, and one without feedback, is `None`.
    ///
    /// # Errors
    /// [`Discarded`]: it carries feedback that had no effect, and is counted.
    pub fn handle_packet(
        &mut self,
        from: IpAddr,
        head: &[u8],
        now: Nanos,
    ) -> Result<Option<Advised>, Discarded> {
        let Some(extension_type) = self.config.extension_type else { return Ok(None) };
        let Ok(bth) = Bth::decode(head) else { return Ok(None) };
        let taken = if bth.opcode == Opcode::ACKNOWLEDGE {
            let Some(rate) = ack_code::decode(bth.reserved6) else { return Ok(None) };
            let signal = RateSignal { extension_type, rate: self.of_code(rate) };
            self.signal(from, bth.destination_qp, signal, now).inspect(|_| self.stats.acks += 1)
        } else if bth.opcode == Opcode::CNP {
            let reserved = head.get(BTH_OCTETS..).and_then(|rest| rest.first_chunk());
            match reserved.map(RateSignal::in_cnp) {
                None | Some(Ok(None)) => return Ok(None),
                Some(Ok(Some(signal))) => {
                    self.signal(from, bth.destination_qp, signal, now).inspect(|_| self.stats.cnps += 1)
                }
                Some(Err(Unreadable { extension_type: other, .. })) if other != extension_type => {
                    Err(Discarded::WrongType(other))
                }
                Some(Err(Unreadable { error, .. })) => Err(error.into()),
            }
        } else {
            return Ok(None);
        };
        taken.map(Some).inspect_err(|discarded| self.stats.count(discarded))
    }

    //= SCONE, Payload Format: 0ebc2e91 2eb205f4 d87ba2ff
    fn rate_advice(&mut self, from: IpAddr, advice: RateAdvice, now: Nanos) -> Result<Advised, Discarded> {
        //= SCONE, Security Considerations: 859e04a0
        if !self.config.elements.contains(&from) {
            return Err(Discarded::NotAnElement(from));
        }
        if !self.addresses.contains_key(&advice.source) {
            return Err(Discarded::NotOurAddress(advice.source));
        }
        self.above_floor(advice.rate)?;
        let Some(address) = self.addresses.get_mut(&advice.source) else {
            return Err(Discarded::NotOurAddress(advice.source));
        };
        let from = if address.demand() == BitPerSec(0) { self.config.line_rate } else { address.demand() };
        let rates = (from, self.config.line_rate);
        Bound::advise(&mut address.bound, &self.config.approach, advice.rate.into(), rates, now);
        address.changed = None;
        self.changes.extend(address.active());
        self.arm_address(advice.source);
        self.stats.advice += 1;
        Ok(Advised { subject: Subject::Address(advice.source), rate: advice.rate })
    }

    //= SCONE, Solution 2: Per-QP On-Path Endpoint Feedback: 20babb36 f8da22f7
    fn signal(
        &mut self,
        from: IpAddr,
        number: u32,
        signal: RateSignal,
        now: Nanos,
    ) -> Result<Advised, Discarded> {
        if Some(signal.extension_type) != self.config.extension_type {
            return Err(Discarded::WrongType(signal.extension_type));
        }
        //= SCONE, Security Considerations: 940ef1bd
        let qp = self.qps.get(&number).ok_or(Discarded::UnknownQp(number))?;
        if qp.peer != from {
            return Err(Discarded::WrongPeer { qp: number, from, peer: qp.peer });
        }
        self.above_floor(signal.rate)?;
        let Some(qp) = self.qps.get_mut(&number) else { return Err(Discarded::UnknownQp(number)) };
        let from = if qp.demand == BitPerSec(0) { self.config.line_rate } else { qp.demand };
        let rates = (from, self.config.line_rate);
        Bound::advise(&mut qp.bound, &self.config.approach, signal.rate.into(), rates, now);
        let change = qp.bound.map(|bound| bound.next_change(&self.config.approach));
        self.arm(Subject::Qp(number), change);
        self.changes.insert(number);
        Ok(Advised { subject: Subject::Qp(number), rate: signal.rate })
    }

    /// What a code of an acknowledgement says. Codes are coarse and round down: the one that a rate at the floor becomes says
    /// less, and counts as the floor.
    fn of_code(&self, rate: MbitPerSec) -> MbitPerSec {
        let floor = self.config.floor;
        if Some(rate) == ack_code::decode(ack_code::encode(floor)) { rate.max(floor) } else { rate }
    }

    //= SCONE, Security Considerations: 77faaef6
    fn above_floor(&self, rate: MbitPerSec) -> Result<(), Discarded> {
        let floor = self.config.floor;
        if rate < floor { Err(Discarded::BelowFloor { rate, floor }) } else { Ok(()) }
    }

    /// The bound that advice sets to the queue pair at `now`: the lower of its own and its share of its address's. `None`
    /// where no advice is in force.
    pub fn bound(&mut self, qp: u32, now: Nanos) -> Option<BitPerSec> {
        let state = self.qps.get_mut(&qp)?;
        let own = Bound::at(&mut state.bound, &self.config.approach, now);
        let (local, demand) = (state.local, state.demand);
        let address = self.addresses.get_mut(&local);
        let shared = address.and_then(|address| {
            let bound = Bound::at(&mut address.bound, &self.config.approach, now)?;
            Some(address.share(bound, demand))
        });
        let bound = own.into_iter().chain(shared).min()?;
        Some(bound.max(self.config.floor.into()))
    }

    /// The bound that advice sets to all that `address` sends, at `now`. `None` where no advice is in force.
    pub fn address_bound(&mut self, address: IpAddr, now: Nanos) -> Option<BitPerSec> {
        let address = self.addresses.get_mut(&address)?;
        Bound::at(&mut address.bound, &self.config.approach, now)
    }

    /// All bounds in force at `now`, by address and by queue pair.
    pub fn caps(&mut self, now: Nanos) -> Vec<Cap> {
        let approach = &self.config.approach;
        let addresses =
            self.addresses.iter_mut().map(|(&address, state)| (Subject::Address(address), &mut state.bound));
        let qps = self.qps.iter_mut().map(|(&qp, state)| (Subject::Qp(qp), &mut state.bound));
        addresses
            .chain(qps)
            .filter_map(|(subject, state)| {
                let bound = Bound::at(state, approach, now)?;
                let state = (*state)?;
                Some(Cap { subject, advised: state.advised(), bound, expires: state.expires() })
            })
            .collect()
    }

    /// A queue pair whose bound may have changed; each call gives another, until there is none.
    pub fn poll_change(&mut self) -> Option<u32> {
        self.changes.pop_first()
    }

    /// When to call [`Sender::handle_timeout`] next; `None` when no bound changes by itself.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.timers.first().map(|&(at, _)| at)
    }

    /// Takes the steps of bounds that are due at `now`.
    pub fn handle_timeout(&mut self, now: Nanos) {
        while let Some(&(at, subject)) = self.timers.first() {
            if at > now {
                break;
            }
            self.disarm(subject);
            match subject {
                Subject::Address(local) => {
                    let Some(address) = self.addresses.get_mut(&local) else { continue };
                    Bound::at(&mut address.bound, &self.config.approach, now);
                    address.changed = None;
                    self.changes.extend(address.active());
                    self.arm_address(local);
                }
                Subject::Qp(number) => {
                    let Some(qp) = self.qps.get_mut(&number) else { continue };
                    Bound::at(&mut qp.bound, &self.config.approach, now);
                    let change = qp.bound.map(|bound| bound.next_change(&self.config.approach));
                    self.changes.insert(number);
                    self.arm(subject, change);
                }
            }
        }
    }

    /// Counts since the sender began.
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }

    fn arm_address(&mut self, local: IpAddr) {
        let Some(address) = self.addresses.get(&local) else { return };
        let approach = &self.config.approach;
        let step = address.bound.map(|bound| bound.next_change(approach));
        let shares = address.changed.map(|at| at + approach.step_interval);
        self.arm(Subject::Address(local), step.into_iter().chain(shares).min());
    }

    fn arm(&mut self, subject: Subject, at: Option<Nanos>) {
        self.disarm(subject);
        if let Some(at) = at {
            self.timers.insert((at, subject));
            self.armed.insert(subject, at);
        }
    }

    fn disarm(&mut self, subject: Subject) {
        if let Some(at) = self.armed.remove(&subject) {
            self.timers.remove(&(at, subject));
        }
    }
}
