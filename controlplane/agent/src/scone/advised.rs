//! A host whose addresses' rates are advised.

use std::collections::BTreeMap;
use std::net::IpAddr;

use scone::sender::{Advised as Taken, Cap, ConfigError, Sender, SenderConfig, SenderStats, Subject};
use wire::units::{BitPerSec, Nanos};

use super::event::{Event, Observer, Often, Repeats};
use super::run::{Shared, Snapshot, share};
use super::shaper::Shaper;
use crate::driver::Machine;
use crate::socket::{Arrived, Outbox};

/// The host's machine, with what it tells and whom it makes keep the bounds.
pub struct Advised {
    sender: Sender,
    /// The bound that was last told of, by address.
    bounds: BTreeMap<IpAddr, Option<BitPerSec>>,
    shaper: Option<Shaper>,
    observe: Observer,
    discards: Often,
    repeats: Repeats,
    shared: Shared,
    stopped: bool,
}

impl Advised {
    /// A host that no advice is in force for.
    ///
    /// # Errors
    /// [`ConfigError`] for a parameter that can't be.
    pub fn new(
        config: SenderConfig,
        shaper: Option<Shaper>,
        observe: Observer,
        shared: Shared,
    ) -> Result<Self, ConfigError> {
        let bounds = config.addresses.iter().map(|&address| (address, None)).collect();
        let sender = Sender::new(config)?;
        let (discards, repeats) = (Often::default(), Repeats::default());
        let mut host = Self { sender, bounds, shaper, observe, discards, repeats, shared, stopped: false };
        host.publish(Nanos(0));
        Ok(host)
    }

    /// Takes all limits of the interface away, and waits until it is as it was. Gives what couldn't be done; nothing where there
    /// is nothing left to do.
    pub fn restore(&mut self) -> Option<String> {
        self.shaper.take().and_then(Shaper::end)
    }

    /// What the machine counted.
    pub fn stats(&self) -> &SenderStats {
        self.sender.stats()
    }

    /// Tells of every bound that changed, and has it kept.
    fn publish(&mut self, now: Nanos) {
        let caps = self.sender.caps(now);
        for (&address, told) in &mut self.bounds {
            let cap = caps.iter().find(|cap| cap.subject == Subject::Address(address));
            let bound = cap.map(|cap| cap.bound);
            if bound == *told {
                continue;
            }
            *told = bound;
            if let Some(shaper) = &self.shaper {
                shaper.set(address, bound);
            }
            let event = match cap {
                Some(&Cap { advised, bound, expires, .. }) => Event::Cap {
                    source: address,
                    advised: advised.0,
                    bound: bound.0,
                    expired: expires <= now,
                },
                None => Event::Released { source: address },
            };
            (self.observe)(now, &event);
        }
        if let Some(reason) = self.shaper.as_ref().and_then(Shaper::failure) {
            (self.observe)(now, &Event::ShaperFailed { reason });
        }
        let stats = self.sender.stats();
        share(
            &self.shared,
            Snapshot {
                rates: caps
                    .iter()
                    .filter_map(|cap| match cap.subject {
                        Subject::Address(address) => Some((address, cap.bound.0)),
                        Subject::Qp(_) => None,
                    })
                    .collect(),
                counters: vec![
                    ("advice", stats.advice),
                    ("malformed", stats.malformed),
                    ("untrusted", stats.untrusted),
                    ("not_ours", stats.not_ours),
                    ("below_floor", stats.below_floor),
                ],
            },
        );
    }
}

impl Machine for Advised {
    fn handle_datagram(&mut self, arrived: &Arrived<'_>, now: Nanos) {
        let from = arrived.from.ip();
        let event = match self.sender.handle_datagram(from, arrived.octets, now) {
            Ok(Taken { subject: Subject::Address(source), rate }) => {
                let news = self.repeats.is_news(from, source, rate.0, now);
                news.then_some(Event::Advice { from, source, rate: rate.0 })
            }
            // No queue pair sends from here.
            Ok(Taken { subject: Subject::Qp(_), .. }) => None,
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
        self.sender.handle_timeout(now);
        self.publish(now);
    }

    fn poll_timeout(&mut self) -> Option<Nanos> {
        self.sender.poll_timeout()
    }

    fn poll_transmit(&mut self, _outbox: &mut Outbox, _now: Nanos) {}

    fn stop(&mut self, now: Nanos) {
        (self.observe)(now, &Event::Stopping);
        self.stopped = true;
    }

    fn is_finished(&self) -> bool {
        self.stopped
    }
}
