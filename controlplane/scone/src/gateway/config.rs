//! What a gateway is told about its data center and its peers, and what it counts.

use core::net::IpAddr;
use std::collections::BTreeSet;

use ipnet::IpNet;
use wire::scone::DecodeError;
use wire::units::{MbitPerSec, Nanos};

/// A prefix and who sends from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The addresses. Backpressure names the first of them.
    pub prefix: IpNet,
    /// The senders there; all count as active until [`super::Gateway::set_active`] says otherwise.
    pub senders: BTreeSet<IpAddr>,
}

/// A prefix behind another gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The addresses and senders.
    pub site: Site,
    /// The gateway that serves them: backpressure goes to it, and comes from it.
    pub gateway: IpAddr,
}

/// Parameters of a [`super::Gateway`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayConfig {
    /// Our own network elements, whose Rate Advice is taken.
    pub elements: BTreeSet<IpAddr>,
    /// The prefixes whose senders we advise.
    pub served: Vec<Site>,
    /// The prefixes behind other gateways.
    pub remote: Vec<Remote>,
    /// Our own address, by which senders and gateways know us.
    pub address: IpAddr,
    /// The domain's SCONE port: of senders and of gateways.
    pub port: u16,
    /// A rate below this, for one sender, is taken for forged; nothing below it is advised.
    pub floor: MbitPerSec,
    /// How long advice and backpressure hold.
    pub expiry: Nanos,
    /// Between two datagrams to one addressee pass at least so much.
    pub interval: Nanos,
    /// While it holds, advice is repeated after so much: a datagram may be lost, and the addressee's expiry must not lapse.
    pub repeat: Nanos,
}

impl GatewayConfig {
    /// A gateway without sites that trusts nobody: floor 10 Mbit/s, expiry 1 ms, at most a datagram every 50 us to one
    /// addressee, at least one every 400 us.
    pub const fn new(address: IpAddr, port: u16) -> Self {
        Self {
            address,
            elements: BTreeSet::new(),
            served: Vec::new(),
            remote: Vec::new(),
            port,
            floor: MbitPerSec(10),
            expiry: Nanos(1_000_000),
            interval: Nanos(50_000),
            repeat: Nanos(400_000),
        }
    }

    /// Whether the parameters can be. Every address has one gateway and one meaning: prefixes don't overlap, our own address is
    /// nobody else's, and the first address of a prefix, which stands for all its senders, is none of several.
    ///
    /// # Errors
    /// [`ConfigError`] names the first that can't.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.repeat == Nanos(0) || self.repeat < self.interval || self.repeat >= self.expiry {
            let Self { repeat, interval, expiry, .. } = *self;
            return Err(ConfigError::Repeat { repeat, interval, expiry });
        }
        if self.floor == MbitPerSec(0) {
            return Err(ConfigError::Floor);
        }
        let elements = self.elements.iter().map(|&element| ("network element", element));
        let gateways = self.remote.iter().map(|remote| ("remote gateway", remote.gateway));
        let sites: Vec<&Site> =
            self.served.iter().chain(self.remote.iter().map(|remote| &remote.site)).collect();
        let senders = sites.iter().flat_map(|site| site.senders.iter().map(|&sender| ("sender", sender)));
        for (what, address) in elements.chain(gateways).chain(senders) {
            if address == self.address {
                return Err(ConfigError::Own { address, what });
            }
            if address.is_ipv4() != self.address.is_ipv4() {
                return Err(ConfigError::Version { address, what, own: self.address });
            }
        }
        for site in &sites {
            let outside = site.senders.iter().find(|sender| !site.prefix.contains(*sender));
            if let Some(&sender) = outside {
                return Err(ConfigError::Sender { sender, prefix: site.prefix });
            }
            if site.senders.is_empty() {
                return Err(ConfigError::NoSender(site.prefix));
            }
            let network = site.prefix.network();
            if site.senders.len() > 1 && site.senders.contains(&network) {
                return Err(ConfigError::First { sender: network, prefix: site.prefix });
            }
        }
        for (place, site) in sites.iter().enumerate() {
            let before = sites.iter().take(place).map(|other| other.prefix);
            let mut overlaps =
                before.filter(|other| other.contains(&site.prefix) || site.prefix.contains(other));
            if let Some(other) = overlaps.next() {
                return Err(ConfigError::Overlap(site.prefix, other));
            }
        }
        Ok(())
    }
}

/// A configuration that can't be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Repeats must come before the expiry, and no faster than datagrams may.
    #[error(
        "repeat of {repeat}; it should be above 0, at least the interval, {interval}, and below the expiry, {expiry}"
    )]
    Repeat {
        /// The repeat given.
        repeat: Nanos,
        /// The interval given.
        interval: Nanos,
        /// The expiry given.
        expiry: Nanos,
    },
    /// A floor of zero would let advice stop everything.
    #[error("floor of 0 Mbit/s; it should be at least 1 Mbit/s")]
    Floor,
    /// A sender that isn't in its prefix.
    #[error("sender {sender}; it should be in its prefix, {prefix}")]
    Sender {
        /// The sender.
        sender: IpAddr,
        /// The prefix.
        prefix: IpNet,
    },
    /// A prefix without senders.
    #[error("prefix {0} has no sender; it should have at least one, among whom its rate is divided")]
    NoSender(IpNet),
    /// Prefixes with an address in common.
    #[error("prefixes {0} and {1} overlap; every address should have one gateway")]
    Overlap(IpNet, IpNet),
    /// A sender whose address stands for all senders of its prefix.
    #[error("sender {sender} has the first address of {prefix}, which backpressure means all its senders by")]
    First {
        /// The sender.
        sender: IpAddr,
        /// Its prefix.
        prefix: IpNet,
    },
    /// Our own address in another part: what we send would come back to us.
    #[error("{what} {address} is this gateway itself; it should be another host")]
    Own {
        /// The address.
        address: IpAddr,
        /// As what it is given.
        what: &'static str,
    },
    /// Of the other IP version than our own address: nothing can go there or come from there.
    #[error("{what} {address}; it should be of the IP version of this gateway's own address, {own}")]
    Version {
        /// The address.
        address: IpAddr,
        /// As what it is given.
        what: &'static str,
        /// Our own.
        own: IpAddr,
    },
}

/// What was taken from a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A network element's advice for one of our senders: passed on to it.
    NearSource {
        /// The sender.
        sender: IpAddr,
        /// The advised rate.
        rate: MbitPerSec,
    },
    /// A rate for a whole prefix of ours, from a remote gateway or from a network element of ours: divided among its senders.
    Prefix {
        /// The prefix.
        prefix: IpNet,
        /// The rate of all its senders together.
        rate: MbitPerSec,
    },
    /// A network element's advice for a sender elsewhere: becomes backpressure to its gateway.
    Remote {
        /// The sender.
        sender: IpAddr,
        /// The advised rate.
        rate: MbitPerSec,
    },
}

/// Why a datagram was discarded. It had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Discarded {
    /// The octets are no message.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// Feedback of a queue pair, which is for the host that sends.
    #[error("feedback for queue pair {0:#x}; a gateway takes Rate Advice only")]
    Feedback(u32),
    /// From this gateway itself: forged, or sent to its own address.
    #[error("Rate Advice from {0}, which is this gateway's own address")]
    Own(IpAddr),
    /// From neither a network element nor a remote gateway.
    #[error("Rate Advice from {0}, which is neither a network element of ours nor a remote gateway")]
    Untrusted(IpAddr),
    /// For an address in no prefix, or, from a remote gateway, not for the first address of a prefix served here.
    #[error("Rate Advice for {source_address} from {from}; it should be for {expected}")]
    NotOurs {
        /// The address that it names.
        source_address: IpAddr,
        /// Who sent it.
        from: IpAddr,
        /// What would be right.
        expected: &'static str,
    },
    /// A rate that no honest element advises.
    #[error("a rate of {rate}; it should be at least the floor, {least}")]
    BelowFloor {
        /// The rate.
        rate: MbitPerSec,
        /// The least that is taken.
        least: MbitPerSec,
    },
}

/// Counts since the gateway began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatewayStats {
    /// Datagrams taken.
    pub taken: u64,
    /// Datagrams discarded, for whatever reason.
    pub discarded: u64,
    /// Rate Advice given out for senders. Whether the system sent it, the driver knows.
    pub advised: u64,
    /// Backpressure given out for gateways.
    pub backpressure: u64,
}
