//! A gateway on a socket.

use std::collections::BTreeMap;
use std::net::IpAddr;

use scone::gateway::{ConfigError, Gateway, GatewayConfig, GatewayStats, Taken};
use wire::units::{MbitPerSec, Nanos};

use super::event::{Event, Observer, Often, Repeats};
use super::run::{Shared, Snapshot, share};
use crate::driver::Machine;
use crate::socket::{Arrived, Outbox};

/// The gateway's machine, with what it tells.
pub struct GatewayAgent {
    gateway: Gateway,
    /// What was last told of, by sender.
    told: BTreeMap<IpAddr, MbitPerSec>,
    dscp: u8,
    observe: Observer,
    discards: Often,
    repeats: Repeats,
    /// Datagrams that the system took, and those that it refused.
    sent: u64,
    refused: u64,
    refusals: Often,
    shared: Shared,
    stopped: bool,
}

impl GatewayAgent {
    /// A gateway that knows of no congestion; its datagrams carry `dscp`.
    ///
    /// # Errors
    /// [`ConfigError`] for a parameter that can't be.
    pub fn new(
        config: GatewayConfig,
        dscp: u8,
        observe: Observer,
        shared: Shared,
    ) -> Result<Self, ConfigError> {
        let gateway = Gateway::new(config)?;
        let mut agent = Self {
            gateway,
            told: BTreeMap::new(),
            dscp,
            observe,
            discards: Often::default(),
            repeats: Repeats::default(),
            sent: 0,
            refused: 0,
            refusals: Often::default(),
            shared,
            stopped: false,
        };
        agent.publish(Nanos(0));
        Ok(agent)
    }

    /// What the machine counted.
    pub fn stats(&self) -> &GatewayStats {
        self.gateway.stats()
    }

    /// Tells of every sender whose advice changed.
    fn publish(&mut self, now: Nanos) {
        let advised: BTreeMap<_, _> = self.gateway.advised(now).into_iter().collect();
        for (&sender, &rate) in &advised {
            if self.told.get(&sender) != Some(&rate) {
                (self.observe)(now, &Event::Advised { sender, rate: Some(rate.0) });
            }
        }
        for &sender in self.told.keys().filter(|sender| !advised.contains_key(*sender)) {
            (self.observe)(now, &Event::Advised { sender, rate: None });
        }
        self.told = advised;
        self.share();
    }

    fn share(&self) {
        let stats = self.gateway.stats();
        share(
            &self.shared,
            Snapshot {
                rates: self
                    .told
                    .iter()
                    .map(|(&sender, rate)| (sender, u64::from(rate.0) * 1_000_000))
                    .collect(),
                counters: vec![
                    ("taken", stats.taken),
                    ("discarded", stats.discarded),
                    ("advised", stats.advised),
                    ("backpressure", stats.backpressure),
                    ("sent", self.sent),
                    ("refused", self.refused),
                ],
            },
        );
    }

    /// Takes note of what became of datagrams that went into the outbox.
    fn account(&mut self, outbox: &Outbox, now: Nanos) {
        if (self.sent, self.refused) == (outbox.sent(), outbox.refused()) {
            return;
        }
        let refused = outbox.refused() - self.refused;
        (self.sent, self.refused) = (outbox.sent(), outbox.refused());
        if let Some((to, reason)) = outbox.last_refusal()
            && let Some(count) = self.refusals.count(refused, now)
        {
            (self.observe)(now, &Event::Refused { to, reason, count });
        }
        self.share();
    }
}

impl Machine for GatewayAgent {
    fn handle_datagram(&mut self, arrived: &Arrived<'_>, now: Nanos) {
        let from = arrived.from.ip();
        let repeats = &mut self.repeats;
        let event = match self.gateway.handle_datagram(from, arrived.octets, now) {
            Ok(Taken::NearSource { sender, rate } | Taken::Remote { sender, rate }) => {
                let news = repeats.is_news(from, sender, rate.0, now);
                news.then_some(Event::Advice { from, source: sender, rate: rate.0 })
            }
            Ok(Taken::Prefix { prefix, rate }) => {
                let news = repeats.is_news(from, prefix.network(), rate.0, now);
                news.then(|| Event::Backpressure { from, prefix: prefix.to_string(), rate: rate.0 })
            }
            Err(discarded) => self.discards.discarded(from, &discarded, now),
        };
        if let Some(event) = event {
            (self.observe)(now, &event);
        }
        self.publish(now);
    }

    fn handle_truncated(&mut self, arrived: &Arrived<'_>, now: Nanos) {
        // Longer than any message: discarded and counted as such.
        self.handle_datagram(arrived, now);
    }

    fn handle_timeout(&mut self, now: Nanos) {
        self.publish(now);
    }

    fn poll_timeout(&mut self) -> Option<Nanos> {
        self.gateway.poll_timeout()
    }

    fn poll_transmit(&mut self, outbox: &mut Outbox, now: Nanos) {
        self.account(outbox, now);
        while !outbox.is_full()
            && let Some(datagram) = self.gateway.poll_transmit(now)
        {
            super::push(outbox, &datagram, self.dscp);
        }
    }

    fn stop(&mut self, now: Nanos) {
        (self.observe)(now, &Event::Stopping);
        self.stopped = true;
    }

    fn is_finished(&self) -> bool {
        self.stopped
    }
}
