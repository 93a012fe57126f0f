//! Which message arriving data belongs to (RDCC, Transport Bindings).

use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

use wire::rdcc::RoceBinding;

/// Message sequence numbers have 24 bits.
const MSN_MASK: u32 = 0x00ff_ffff;
/// Arrivals kept per sender address for a `CREDIT_REQUEST` that is still on its way.
const EARLY_LIMIT: usize = 256;

/// What data of a sender arrives on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    /// Binding Kind 1: a queue pair of ours.
    QueuePair(u32),
    /// Binding Kind 2: the transport's identifier of one message.
    Opaque(u64),
    /// A pool's: nothing arrives there.
    None,
}

/// A message's identity at the data transport: RDMA messages of a queue pair, or an identifier of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carrier {
    pub(super) lane: Lane,
    first_msn: u32,
    rdma_messages: u16,
}

impl Carrier {
    pub(super) fn roce(binding: RoceBinding) -> Self {
        let RoceBinding { destination_qp, first_msn, rdma_messages } = binding;
        Self { lane: Lane::QueuePair(destination_qp), first_msn, rdma_messages }
    }

    /// The number after its last.
    pub(super) fn end(&self) -> u32 {
        self.first_msn.wrapping_add(u32::from(self.rdma_messages)) & MSN_MASK
    }

    /// Whether its numbers begin before `end`.
    pub(super) fn begins_before(&self, end: u32) -> bool {
        is_before(self.first_msn, end)
    }

    /// No data of its own.
    pub(super) const fn none() -> Self {
        Self { lane: Lane::None, first_msn: 0, rdma_messages: 0 }
    }

    /// One message, numbered 0.
    pub(super) fn opaque(value: u64) -> Self {
        Self { lane: Lane::Opaque(value), first_msn: 0, rdma_messages: 1 }
    }
}

/// The messages of one lane in the order in which they are posted.
#[derive(Debug, Default)]
struct Posted {
    entries: VecDeque<(Carrier, u32)>,
}

/// Arrivals that came before their request: unscheduled data may overtake it.
#[derive(Debug, Default)]
struct Early {
    arrivals: VecDeque<(Lane, u32, u32)>,
}

/// Lanes by the sender's address.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    lanes: BTreeMap<(IpAddr, Lane), Posted>,
    early: BTreeMap<IpAddr, Early>,
}

impl Bindings {
    /// Binds a message slot; gives the octets that came for it before.
    pub(super) fn bind(&mut self, from: IpAddr, carrier: Carrier, slot: u32) -> u64 {
        let pair = self.lanes.entry((from, carrier.lane)).or_default();
        // Almost always at the end; a request that was overtaken by a later one goes to its place.
        let ahead = |other: &Carrier| distance(carrier.first_msn, other.first_msn) < MSN_MASK / 2;
        let place = pair.entries.iter().rposition(|(other, _)| ahead(other)).map_or(0, |at| at + 1);
        pair.entries.insert(place, (carrier, slot));
        let Some(early) = self.early.get_mut(&from) else { return 0 };
        let mut octets = 0;
        early.arrivals.retain(|&(lane, msn, count)| {
            let matches = lane == carrier.lane && covers(&carrier, msn);
            octets += if matches { u64::from(count) } else { 0 };
            !matches
        });
        if early.arrivals.is_empty() {
            self.early.remove(&from);
        }
        octets
    }

    /// Forgets a message.
    pub(super) fn unbind(&mut self, from: IpAddr, lane: Lane, slot: u32) {
        if let Some(pair) = self.lanes.get_mut(&(from, lane)) {
            pair.entries.retain(|&(_, other)| other != slot);
            if pair.entries.is_empty() {
                self.lanes.remove(&(from, lane));
            }
        }
    }

    /// The message slot that `msn` on a queue pair belongs to.
    pub(super) fn find(&self, from: IpAddr, lane: Lane, msn: u32) -> Option<u32> {
        let pair = self.lanes.get(&(from, lane))?;
        pair.entries.iter().find(|(carrier, _)| covers(carrier, msn)).map(|&(_, slot)| slot)
    }

    /// The messages of a queue pair in posting order.
    pub(super) fn order(&self, from: IpAddr, lane: Lane) -> impl Iterator<Item = u32> + '_ {
        self.lanes.get(&(from, lane)).into_iter().flat_map(|pair| pair.entries.iter().map(|&(_, slot)| slot))
    }

    /// Messages of a queue pair whose numbers a new message takes over.
    pub(super) fn superseded(&self, from: IpAddr, carrier: &Carrier) -> Vec<u32> {
        let pair = self.lanes.get(&(from, carrier.lane));
        let entries = pair.into_iter().flat_map(|pair| &pair.entries);
        entries.filter(|(other, _)| overlap(other, carrier)).map(|&(_, slot)| slot).collect()
    }

    /// Keeps an arrival whose request hasn't come; gives the octets of one that has waited longest and must go.
    pub(super) fn keep_early(&mut self, from: IpAddr, lane: Lane, msn: u32, octets: u32) -> u32 {
        let early = self.early.entry(from).or_default();
        if let Some(last) = early.arrivals.back_mut()
            && (last.0, last.1) == (lane, msn)
        {
            last.2 = last.2.saturating_add(octets);
            return 0;
        }
        let full = early.arrivals.len() >= EARLY_LIMIT;
        let gone = if full { early.arrivals.pop_front() } else { None };
        early.arrivals.push_back((lane, msn, octets));
        gone.map_or(0, |(_, _, octets)| octets)
    }

    /// Forgets what came early from an address without associations.
    pub(super) fn forget_early(&mut self, from: IpAddr) {
        self.early.remove(&from);
    }
}

/// How far `to` is ahead of `from` on the circle of 24-bit numbers.
fn distance(to: u32, from: u32) -> u32 {
    to.wrapping_sub(from) & MSN_MASK
}

/// Whether a number comes before another.
pub(super) fn is_before(number: u32, other: u32) -> bool {
    (1..=MSN_MASK / 2).contains(&distance(other, number))
}

//= RDCC, Transport Bindings: 5a627df4
fn covers(carrier: &Carrier, msn: u32) -> bool {
    distance(msn, carrier.first_msn) < u32::from(carrier.rdma_messages)
}

fn overlap(one: &Carrier, other: &Carrier) -> bool {
    covers(one, other.first_msn) || covers(other, one.first_msn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    const FROM: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

    const QP: Lane = Lane::QueuePair(7);

    fn binding(first_msn: u32, rdma_messages: u16) -> Carrier {
        Carrier::roce(RoceBinding { destination_qp: 7, first_msn, rdma_messages })
    }

    //~ RDCC, Transport Bindings: 482988db 5a627df4
    /// RDCC, Transport Bindings: a range of message sequence numbers, wrapping at 24 bits.
    #[test]
    fn a_range_covers_its_first_and_last_number_and_not_the_next() {
        let mut bindings = Bindings::default();
        bindings.bind(FROM, binding(0x00ff_fffe, 4), 1);
        bindings.bind(FROM, binding(2, 1), 2);
        let find = |msn| bindings.find(FROM, QP, msn);
        assert_eq!(find(0x00ff_fffd), None);
        assert_eq!([0x00ff_fffe, 0x00ff_ffff, 0, 1].map(find), [Some(1); 4]);
        assert_eq!(find(2), Some(2));
        assert_eq!(find(3), None);
        assert_eq!(bindings.find(FROM, Lane::QueuePair(8), 0), None);
    }

    #[test]
    fn a_late_request_takes_its_place_in_the_order() {
        let mut bindings = Bindings::default();
        bindings.bind(FROM, binding(4, 4), 2);
        bindings.bind(FROM, binding(0, 4), 1);
        bindings.bind(FROM, binding(8, 4), 3);
        assert_eq!(bindings.order(FROM, QP).collect::<Vec<_>>(), [1, 2, 3]);
        bindings.unbind(FROM, QP, 2);
        assert_eq!(bindings.order(FROM, QP).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn data_that_overtakes_its_request_is_counted_when_that_comes() {
        let mut bindings = Bindings::default();
        for (msn, octets) in [(0, 1000), (0, 24), (1, 500)] {
            assert_eq!(bindings.keep_early(FROM, QP, msn, octets), 0);
        }
        assert_eq!(bindings.bind(FROM, binding(0, 1), 1), 1024);
        assert_eq!(bindings.bind(FROM, binding(1, 1), 2), 500);
        assert_eq!(bindings.bind(FROM, binding(2, 1), 3), 0);
    }

    #[test]
    fn too_many_early_arrivals_push_out_the_oldest() {
        let mut bindings = Bindings::default();
        for msn in 0..256 {
            assert_eq!(bindings.keep_early(FROM, QP, msn, 10 + msn), 0);
        }
        assert_eq!(bindings.keep_early(FROM, QP, 256, 1), 10);
        assert_eq!(bindings.bind(FROM, binding(0, 257), 1), (1..256).map(|msn| 10 + msn).sum::<u64>() + 1);
    }

    #[test]
    fn a_new_range_supersedes_what_it_overlaps() {
        let mut bindings = Bindings::default();
        bindings.bind(FROM, binding(0, 4), 1);
        bindings.bind(FROM, binding(4, 4), 2);
        bindings.bind(FROM, binding(8, 4), 3);
        assert_eq!(bindings.superseded(FROM, &binding(3, 2)), [1, 2]);
        assert!(bindings.superseded(FROM, &binding(12, 2)).is_empty());
        assert_eq!(bindings.superseded(FROM, &binding(5, 1)), [2]);
    }
}
