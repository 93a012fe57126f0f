//! When each flow wants to be called: one queue for all of them, in which an entry that an earlier one has overtaken is skipped.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use wire::units::Nanos;

use crate::packet::FlowKey;

/// The earliest entry of a flow, kept with the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Armed(Nanos);

impl Default for Armed {
    fn default() -> Self {
        Self(Nanos::MAX)
    }
}

/// The entries of all flows.
#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(Nanos, FlowKey)>>);

impl Timers {
    /// When the next entry is due; its flow may have been called, or be gone.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next entry that is due.
    pub(crate) fn due(&mut self, now: Nanos) -> Option<(Nanos, FlowKey)> {
        if self.next()? > now {
            return None;
        }
        self.0.pop().map(|Reverse(entry)| entry)
    }

    /// The flow wants to be called at `deadline`.
    pub(crate) fn arm(&mut self, key: FlowKey, armed: &mut Armed, deadline: Nanos) {
        if deadline < armed.0 {
            armed.0 = deadline;
            self.0.push(Reverse((deadline, key)));
        }
    }
}

impl Armed {
    /// Whether an entry of `at` is the flow's earliest one; the flow has none then.
    pub(crate) fn fires(&mut self, at: Nanos) -> bool {
        let fires = self.0 == at;
        if fires {
            *self = Self::default();
        }
        fires
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use wire::crem::FlowAddresses;

    use super::*;

    #[test]
    fn an_entry_fires_once_and_an_overtaken_one_never() {
        let addresses = FlowAddresses::V4 { source: Ipv4Addr::LOCALHOST, destination: Ipv4Addr::LOCALHOST };
        let key = FlowKey::requests(addresses, 1);
        let (mut timers, mut armed) = (Timers::default(), Armed::default());
        timers.arm(key, &mut armed, Nanos(50));
        timers.arm(key, &mut armed, Nanos(70));
        assert_eq!(timers.next(), Some(Nanos(50)), "a later deadline makes no entry");
        timers.arm(key, &mut armed, Nanos(20));
        assert_eq!(timers.due(Nanos(19)), None);
        let (at, of) = timers.due(Nanos(60)).unwrap();
        assert_eq!((at, of, armed.fires(at)), (Nanos(20), key, true));
        let (at, _) = timers.due(Nanos(60)).unwrap();
        assert_eq!((at, armed.fires(at)), (Nanos(50), false));
        assert_eq!(timers.next(), None);
    }
}
