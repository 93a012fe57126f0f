//! What happens at an agent of SCONE, as it happens.

use std::net::IpAddr;

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
    /// Rate Advice was taken.
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
    /// A gateway took a rate for a prefix that it serves.
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
    /// `tc` refused.
    ShaperFailed {
        /// What it said.
        reason: String,
    },
    /// The agent was asked to end.
    Stopping,
}

/// Discarded datagrams, told of once a second at most: anybody can send them.
#[derive(Debug, Default)]
pub(super) struct Discards {
    count: u64,
    told: Option<Nanos>,
}

const TELL_INTERVAL: Nanos = Nanos(1_000_000_000);

impl Discards {
    /// Counts one; gives the event when it is time for one.
    pub fn count(&mut self, from: IpAddr, reason: &dyn std::fmt::Display, now: Nanos) -> Option<Event> {
        self.count += 1;
        if self.told.is_some_and(|told| now.saturating_sub(told) < TELL_INTERVAL) {
            return None;
        }
        self.told = Some(now);
        let count = std::mem::take(&mut self.count);
        Some(Event::Discarded { from, reason: reason.to_string(), count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discards_are_told_of_once_a_second() {
        let mut discards = Discards::default();
        let from = IpAddr::from([10, 0, 0, 1]);
        let mut told = |now| discards.count(from, &"no", Nanos(now));
        let event = |count| Some(Event::Discarded { from, reason: "no".to_owned(), count });
        assert_eq!(told(0), event(1));
        assert_eq!((told(1), told(999_999_999)), (None, None));
        assert_eq!(told(1_000_000_000), event(3));
    }
}
