//! A gateway between data centers (SCONE, Deployment across Intelligent Computing Data Centers).
//!
//! ```text
//!            Rate Advice             backpressure               Rate Advice
//!  sender <-------------- gateway A <------------- gateway B <------------- switch at B,
//!  at A                      ^                                             for senders at A
//!                            | Rate Advice
//!                        switch at A, for senders at A
//! ```
//!
//! The same machine is A to B and B to A. Near the source it passes its own elements' advice on. Backpressure is ours in
//! its form: Rate Advice whose Source IP is the first address of a prefix, its Rate that of all the prefix's senders together.
//! The gateway that serves the prefix divides it among the active senders; none of them gets less than the floor, so that
//! with a rate below the floor times their number they get more than it together.
//!
//! Datagrams to the SCONE port go in by [`Gateway::handle_datagram`]; [`Gateway::poll_transmit`] is called after that, and
//! at the time that [`Gateway::poll_timeout`] names.

mod config;

pub use config::{ConfigError, Discarded, GatewayConfig, GatewayStats, Remote, Site, Taken};

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};

use wire::scone::{RateAdvice, SconeDatagram};
use wire::units::{MbitPerSec, Nanos};

use crate::Datagram;

/// To whom a datagram goes: a sender that we serve, or the gateway of a remote prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Addressee {
    Sender(IpAddr),
    Prefix(usize),
}

/// A rate with its end.
#[derive(Clone, Copy, Debug)]
struct Limit {
    rate: MbitPerSec,
    expires: Nanos,
}

/// See the module's text.
#[derive(Debug)]
pub struct Gateway {
    config: GatewayConfig,
    /// Senders that are not active.
    idle: BTreeSet<IpAddr>,
    /// What elements advise, by sender, here or elsewhere.
    senders: BTreeMap<IpAddr, Limit>,
    /// What a gateway or element allows a served prefix, by its place in the configuration and by who said so.
    prefixes: BTreeMap<(usize, IpAddr), Limit>,
    due: BTreeSet<(Nanos, Addressee)>,
    /// When the next datagram goes to an addressee, and when the last went.
    armed: BTreeMap<Addressee, Nanos>,
    sent: BTreeMap<Addressee, Nanos>,
    stats: GatewayStats,
}

impl Gateway {
    /// A gateway that knows of no congestion.
    ///
    /// # Errors
    /// [`ConfigError`] for a parameter that can't be.
    pub fn new(config: GatewayConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            idle: BTreeSet::new(),
            senders: BTreeMap::new(),
            prefixes: BTreeMap::new(),
            due: BTreeSet::new(),
            armed: BTreeMap::new(),
            sent: BTreeMap::new(),
            stats: GatewayStats::default(),
        })
    }

    /// Says whether a sender, here or elsewhere, has anything to send. A prefix's rate is divided among its active senders;
    /// when none is active, among all.
    pub fn set_active(&mut self, sender: IpAddr, active: bool) {
        let known = self.sites().any(|site| site.senders.contains(&sender));
        if active || !known {
            self.idle.remove(&sender);
        } else {
            self.idle.insert(sender);
        }
    }

    //= SCONE, Deployment across Intelligent Computing Data Centers: 98b0b66d c527b556
    /// Takes a datagram that came from the host `from` to the SCONE port.
    ///
    /// # Errors
    /// [`Discarded`]: it had no effect, and is counted.
    pub fn handle_datagram(&mut self, from: IpAddr, octets: &[u8], now: Nanos) -> Result<Taken, Discarded> {
        let taken = self.taken(from, octets, now);
        match taken {
            Ok(_) => self.stats.taken += 1,
            Err(_) => self.stats.discarded += 1,
        }
        taken
    }

    fn taken(&mut self, from: IpAddr, octets: &[u8], now: Nanos) -> Result<Taken, Discarded> {
        let RateAdvice { rate, source } = match wire::scone::decode(octets)? {
            SconeDatagram::RateAdvice(advice) => advice,
            SconeDatagram::Feedback(feedback) => return Err(Discarded::Feedback(feedback.destination_qp)),
        };
        if from == self.config.address {
            return Err(Discarded::Own(from));
        }
        let element = self.config.elements.contains(&from);
        let gateway = self.config.remote.iter().any(|remote| remote.gateway == from);
        if !element && !gateway {
            return Err(Discarded::Untrusted(from));
        }
        let limit = Limit { rate, expires: now + self.config.expiry };
        let whole = self.config.served.iter().enumerate().find(|(_, site)| site.prefix.network() == source);
        if let Some((index, site)) = whole {
            let prefix = site.prefix;
            // A peer may know of fewer senders than there are: each of ours gets the floor at least.
            at_least(rate, self.config.floor)?;
            self.prefixes.insert((index, from), limit);
            for sender in self.served(index) {
                self.arm_soon(Addressee::Sender(sender), now);
            }
            return Ok(Taken::Prefix { prefix, rate });
        }
        let not_ours = |expected| Discarded::NotOurs { source_address: source, from, expected };
        if !element {
            return Err(not_ours("the first address of a prefix that is served here"));
        }
        let here = self.config.served.iter().any(|site| site.senders.contains(&source));
        let remote = self.config.remote.iter().position(|remote| remote.site.senders.contains(&source));
        let (addressee, taken) = match remote {
            _ if here => (Addressee::Sender(source), Taken::NearSource { sender: source, rate }),
            Some(index) => (Addressee::Prefix(index), Taken::Remote { sender: source, rate }),
            None => {
                return Err(not_ours("a sender of a prefix that is served here or behind a remote gateway"));
            }
        };
        at_least(rate, self.config.floor)?;
        self.senders.insert(source, limit);
        self.arm_soon(addressee, now);
        Ok(taken)
    }

    //= SCONE, UDP Encapsulation: 9e755c4f 8be0094c 4d207520 c504e26a
    /// The next datagram that is due at `now`. The driver sends it from the SCONE port, too.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Datagram> {
        while let Some(&(at, addressee)) = self.due.first() {
            if at > now {
                return None;
            }
            self.due.pop_first();
            self.armed.remove(&addressee);
            let datagram = match addressee {
                Addressee::Sender(sender) => self.advice_for(sender, now).map(|rate| (sender, sender, rate)),
                Addressee::Prefix(index) => self.backpressure(index, now),
            };
            let Some((to, source, rate)) = datagram else { continue };
            match addressee {
                Addressee::Sender(_) => self.stats.advised += 1,
                Addressee::Prefix(_) => self.stats.backpressure += 1,
            }
            self.sent.insert(addressee, now);
            self.arm(addressee, now + self.config.repeat);
            let octets = RateAdvice { rate, source }.to_octets();
            return Some(Datagram { to: SocketAddr::new(to, self.config.port), octets });
        }
        None
    }

    /// When [`Gateway::poll_transmit`] has something next.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.due.first().map(|&(at, _)| at)
    }

    /// What a sender that we serve is advised at `now`: the lowest of what elements say of it and its part of what its prefix
    /// is allowed. `None` where nothing is in force.
    pub fn advice_for(&mut self, sender: IpAddr, now: Nanos) -> Option<MbitPerSec> {
        self.expire(now);
        let own = self.senders.get(&sender).map(|limit| limit.rate);
        let parts = self.prefixes.iter().filter_map(|(&(index, _), limit)| {
            let active = self.active(index);
            let shares = active.contains(&sender).then(|| u32::try_from(active.len()).unwrap_or(u32::MAX))?;
            Some(MbitPerSec(limit.rate.0 / shares.max(1)))
        });
        let rate = own.into_iter().chain(parts).min()?;
        Some(rate.max(self.config.floor))
    }

    /// To the gateway of a remote prefix: the sum of what its active senders are advised. One that no element has named yet
    /// counts like the lowest of the others: the switch divides by sources, but tells them one at a time.
    fn backpressure(&mut self, index: usize, now: Nanos) -> Option<(IpAddr, IpAddr, MbitPerSec)> {
        self.expire(now);
        let remote = self.config.remote.get(index)?;
        let advised = |sender: &IpAddr| self.senders.get(sender).map(|limit| limit.rate.0);
        let lowest = remote.site.senders.iter().filter_map(advised).min()?;
        let sum = self
            .active_of(&remote.site)
            .iter()
            .map(|sender| advised(sender).unwrap_or(lowest))
            .fold(0, u32::saturating_add);
        Some((remote.gateway, remote.site.prefix.network(), MbitPerSec(sum)))
    }

    /// Rates in force at `now`: of the senders that we serve.
    pub fn advised(&mut self, now: Nanos) -> Vec<(IpAddr, MbitPerSec)> {
        let senders: BTreeSet<IpAddr> =
            self.config.served.iter().flat_map(|site| site.senders.iter().copied()).collect();
        senders.into_iter().filter_map(|sender| Some((sender, self.advice_for(sender, now)?))).collect()
    }

    /// Counts since the gateway began.
    pub const fn stats(&self) -> &GatewayStats {
        &self.stats
    }

    fn sites(&self) -> impl Iterator<Item = &Site> {
        self.config.served.iter().chain(self.config.remote.iter().map(|remote| &remote.site))
    }

    /// The senders of a served prefix.
    fn served(&self, index: usize) -> Vec<IpAddr> {
        self.config.served.get(index).map(|site| site.senders.iter().copied().collect()).unwrap_or_default()
    }

    fn active(&self, index: usize) -> Vec<IpAddr> {
        self.config.served.get(index).map(|site| self.active_of(site)).unwrap_or_default()
    }

    fn active_of(&self, site: &Site) -> Vec<IpAddr> {
        let active: Vec<IpAddr> =
            site.senders.iter().copied().filter(|sender| !self.idle.contains(sender)).collect();
        if active.is_empty() { site.senders.iter().copied().collect() } else { active }
    }

    fn expire(&mut self, now: Nanos) {
        self.senders.retain(|_, limit| limit.expires > now);
        self.prefixes.retain(|_, limit| limit.expires > now);
    }

    /// News for the addressee: now, or as soon as the interval allows.
    fn arm_soon(&mut self, addressee: Addressee, now: Nanos) {
        let earliest = self.sent.get(&addressee).map_or(now, |&last| (last + self.config.interval).max(now));
        if self.armed.get(&addressee).is_none_or(|&at| at > earliest) {
            self.arm(addressee, earliest);
        }
    }

    fn arm(&mut self, addressee: Addressee, at: Nanos) {
        if let Some(before) = self.armed.insert(addressee, at) {
            self.due.remove(&(before, addressee));
        }
        self.due.insert((at, addressee));
    }
}

fn at_least(rate: MbitPerSec, least: MbitPerSec) -> Result<(), Discarded> {
    if rate < least { Err(Discarded::BelowFloor { rate, least }) } else { Ok(()) }
}
