//! What happens at an agent of SCONE, as it happens.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use serde::Serialize;
use wire::units::Nanos;

/// Takes note of what happens, with the time since the agent began.
pub type Observer = Box<dyn FnMut(Nanos, &Event) + Send>;

/// Something that happened. Rates are in Mbit/s; bounds, which move in steps, in bit/s.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The socket is bound.
    Started {
        /// Its address.
        address: IpAddr,
        /// Its port.
        port: u16,
    },
    /// Rate Advice was taken: of another rate than the last, or the first in a second.
    Advice {
        /// Who sent it.
        from: IpAddr,
        /// Whose rate it is.
        source: IpAddr,
        /// The advised rate.
        rate: u32,
    },
    /// The bound of an address changed.
    Cap {
        /// The address.
        source: IpAddr,
        /// The rate that was advised last.
        advised: u64,
        /// The bound.
        bound: u64,
        /// The advice has expired, and the bound rises.
        expired: bool,
    },
    /// No bound is in force any more.
    Released {
        /// The address.
        source: IpAddr,
    },
    /// Datagrams were discarded: the last one's reason, and how many came since the last of these events.
    Discarded {
        /// Who sent the last one.
        from: IpAddr,
        /// What was wrong with it.
        reason: String,
        /// How many.
        count: u64,
    },
    /// A gateway took a rate for a prefix that it serves: another than the last, or the first in a second.
    Backpressure {
        /// Who sent it.
        from: IpAddr,
        /// The prefix.
        prefix: String,
        /// The rate of all its senders together.
        rate: u32,
    },
    /// A gateway's advice to one of its senders is another than before; `None`: nothing is in force any more.
    Advised {
        /// The sender.
        sender: IpAddr,
        /// The rate.
        rate: Option<u32>,
    },
    /// The system refused to send datagrams: the last one's addressee and the reason, and how many since the last of these
    /// events.
    Refused {
        /// Where the last one should have gone.
        to: SocketAddr,
        /// Why it couldn't.
        reason: &'static str,
        /// How many.
        count: u64,
    },
    /// `tc` refused.
    ShaperFailed {
        /// What it said.
        reason: String,
    },
    /// The agent was asked to end.
    Stopping,
}

const TELL_INTERVAL: Nanos = Nanos(1_000_000_000);

/// What is told of once a second at most, with how often it happened: anybody can make it happen.
#[derive(Debug, Default)]
pub(super) struct Often {
    count: u64,
    told: Option<Nanos>,
}

impl Often {
    /// Counts; gives how many when it is time to tell.
    pub fn count(&mut self, more: u64, now: Nanos) -> Option<u64> {
        self.count += more;
        if self.count == 0 || self.told.is_some_and(|told| now.saturating_sub(told) < TELL_INTERVAL) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.count))
    }

    /// Counts a discarded datagram; gives the event when it is time for one.
    pub fn discarded(&mut self, from: IpAddr, reason: &dyn std::fmt::Display, now: Nanos) -> Option<Event> {
        let count = self.count(1, now)?;
        Some(Event::Discarded { from, reason: reason.to_string(), count })
    }
}

/// Rates that are taken again and again: told of when they change, and else once a second.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// By who said it and of whom; only those that are trusted get here.
    told: BTreeMap<(IpAddr, IpAddr), (u32, Nanos)>,
}

impl Repeats {
    /// Whether it is time to tell.
    pub fn is_news(&mut self, from: IpAddr, of: IpAddr, rate: u32, now: Nanos) -> bool {
        let before = self.told.get(&(from, of));
        let known = before.is_some_and(|&(told, at)| told == rate && now.saturating_sub(at) < TELL_INTERVAL);
        if !known {
            self.told.insert((from, of), (rate, now));
        }
        !known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discards_are_told_of_once_a_second() {
        let mut discards = Often::default();
        let from = IpAddr::from([10, 0, 0, 1]);
        let mut told = |now| discards.discarded(from, &"no", Nanos(now));
        let event = |count| Some(Event::Discarded { from, reason: "no".to_owned(), count });
        assert_eq!(told(0), event(1));
        assert_eq!((told(1), told(999_999_999)), (None, None));
        assert_eq!(told(1_000_000_000), event(3));
        assert_eq!(discards.count(0, Nanos(5_000_000_000)), None, "nothing happened");
    }

    #[test]
    fn a_rate_is_told_of_when_it_changes_and_once_a_second() {
        let mut repeats = Repeats::default();
        let [switch, other, us] = [1, 2, 9].map(|host| IpAddr::from([10, 0, 0, host]));
        let mut news = |from, rate, now| repeats.is_news(from, us, rate, Nanos(now));
        assert!(news(switch, 400, 0));
        assert!(!news(switch, 400, 1) && !news(switch, 400, 999_999_999));
        assert!(news(other, 400, 999_999_999), "somebody else says so");
        assert!(news(switch, 300, 999_999_999) && !news(switch, 300, 1_999_999_998));
        assert!(news(switch, 300, 1_999_999_999));
    }
}
