//! Which message arriving data belongs to (RDCC, Transport Bindings).

use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

use wire::rdcc::RoceBinding;
use wire::units::Nanos;

/// Message sequence numbers have 24 bits.
const MSN_MASK: u32 = 0x00ff_ffff;
/// Arrivals kept per sender address for a `CREDIT_REQUEST` that is still on its way.
const EARLY_LIMIT: usize = 256;
/// Ours: how long they are kept. A request that got lost is repeated after 100 ms at the latest, so this outlives ten of
/// them, and ends before a queue pair at 400 Gbit/s comes to the same numbers again (1.4 s in units of 4 KiB).
const EARLY_LIFETIME: Nanos = Nanos(1_000_000_000);
/// Ours: numbers further than this from those of a request belong to another turn of the circle. No request spans more
/// than 65,535, so a queue pair can't pass this by.
const EARLY_DISTANCE: u32 = 1 << 22;

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
    arrivals: VecDeque<Arrival>,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    lane: Lane,
    msn: u32,
    octets: u32,
    at: Nanos,
}

/// Lanes by the sender's address.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    lanes: BTreeMap<(IpAddr, Lane), Posted>,
    /// Messages that were given up, as long as their data may still come.
    given_up: BTreeMap<(IpAddr, Lane), Posted>,
    early: BTreeMap<IpAddr, Early>,
}

impl Bindings {
    /// Binds a message slot; gives the octets that came for it before.
    pub(super) fn bind(&mut self, from: IpAddr, carrier: Carrier, slot: u32, now: Nanos) -> u64 {
        let pair = self.lanes.entry((from, carrier.lane)).or_default();
        // Almost always at the end; a request that was overtaken by a later one goes to its place.
        let ahead = |other: &Carrier| distance(carrier.first_msn, other.first_msn) < MSN_MASK / 2;
        let place = pair.entries.iter().rposition(|(other, _)| ahead(other)).map_or(0, |at| at + 1);
        pair.entries.insert(place, (carrier, slot));
        let Some(early) = self.early.get_mut(&from) else { return 0 };
        let mut octets = 0;
        early.arrivals.retain(|arrival| {
            let matches = arrival.lane == carrier.lane && covers(&carrier, arrival.msn);
            let stale = now >= arrival.at + EARLY_LIFETIME
                || (arrival.lane == carrier.lane && is_far(&carrier, arrival.msn));
            octets += if matches && !stale { u64::from(arrival.octets) } else { 0 };
            !matches && !stale
        });
        if early.arrivals.is_empty() {
            self.early.remove(&from);
        }
        octets
    }

    /// Forgets a message.
    pub(super) fn unbind(&mut self, from: IpAddr, lane: Lane, slot: u32) {
        take_out(&mut self.lanes, from, lane, slot);
    }

    /// A message that is no longer served: what still comes under its numbers is nobody's, until [`Bindings::let_go`].
    pub(super) fn give_up(&mut self, from: IpAddr, carrier: Carrier, slot: u32) {
        self.unbind(from, carrier.lane, slot);
        self.given_up.entry((from, carrier.lane)).or_default().entries.push_back((carrier, slot));
    }

    /// Nothing comes any more for a message that was given up.
    pub(super) fn let_go(&mut self, from: IpAddr, lane: Lane, slot: u32) {
        take_out(&mut self.given_up, from, lane, slot);
    }

    /// Whether `msn` belongs to a message that was given up.
    pub(super) fn is_given_up(&self, from: IpAddr, lane: Lane, msn: u32) -> bool {
        let pair = self.given_up.get(&(from, lane));
        pair.is_some_and(|pair| pair.entries.iter().any(|(carrier, _)| covers(carrier, msn)))
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
    pub(super) fn keep_early(&mut self, from: IpAddr, lane: Lane, msn: u32, octets: u32, now: Nanos) -> u32 {
        let early = self.early.entry(from).or_default();
        if let Some(last) = early.arrivals.back_mut()
            && (last.lane, last.msn) == (lane, msn)
        {
            last.octets = last.octets.saturating_add(octets);
            return 0;
        }
        let full = early.arrivals.len() >= EARLY_LIMIT;
        let gone = if full { early.arrivals.pop_front() } else { None };
        early.arrivals.push_back(Arrival { lane, msn, octets, at: now });
        gone.map_or(0, |arrival| arrival.octets)
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

/// Whether a number is on another turn of the circle than those of a carrier.
fn is_far(carrier: &Carrier, msn: u32) -> bool {
    matches!(carrier.lane, Lane::QueuePair(_))
        && distance(msn, carrier.first_msn).min(distance(carrier.first_msn, msn)) > EARLY_DISTANCE
}

fn take_out(lanes: &mut BTreeMap<(IpAddr, Lane), Posted>, from: IpAddr, lane: Lane, slot: u32) {
    if let Some(pair) = lanes.get_mut(&(from, lane)) {
        pair.entries.retain(|&(_, other)| other != slot);
        if pair.entries.is_empty() {
            lanes.remove(&(from, lane));
        }
    }
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
        bindings.bind(FROM, binding(0x00ff_fffe, 4), 1, Nanos(0));
        bindings.bind(FROM, binding(2, 1), 2, Nanos(0));
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
        bindings.bind(FROM, binding(4, 4), 2, Nanos(0));
        bindings.bind(FROM, binding(0, 4), 1, Nanos(0));
        bindings.bind(FROM, binding(8, 4), 3, Nanos(0));
        assert_eq!(bindings.order(FROM, QP).collect::<Vec<_>>(), [1, 2, 3]);
        bindings.unbind(FROM, QP, 2);
        assert_eq!(bindings.order(FROM, QP).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn data_that_overtakes_its_request_is_counted_when_that_comes() {
        let mut bindings = Bindings::default();
        for (msn, octets) in [(0, 1000), (0, 24), (1, 500)] {
            assert_eq!(bindings.keep_early(FROM, QP, msn, octets, Nanos(0)), 0);
        }
        assert_eq!(bindings.bind(FROM, binding(0, 1), 1, Nanos(0)), 1024);
        assert_eq!(bindings.bind(FROM, binding(1, 1), 2, Nanos(0)), 500);
        assert_eq!(bindings.bind(FROM, binding(2, 1), 3, Nanos(0)), 0);
    }

    #[test]
    fn too_many_early_arrivals_push_out_the_oldest() {
        let mut bindings = Bindings::default();
        for msn in 0..256 {
            assert_eq!(bindings.keep_early(FROM, QP, msn, 10 + msn, Nanos(0)), 0);
        }
        assert_eq!(bindings.keep_early(FROM, QP, 256, 1, Nanos(0)), 10);
        assert_eq!(
            bindings.bind(FROM, binding(0, 257), 1, Nanos(0)),
            (1..256).map(|msn| 10 + msn).sum::<u64>() + 1
        );
    }

    #[test]
    fn a_new_range_supersedes_what_it_overlaps() {
        let mut bindings = Bindings::default();
        bindings.bind(FROM, binding(0, 4), 1, Nanos(0));
        bindings.bind(FROM, binding(4, 4), 2, Nanos(0));
        bindings.bind(FROM, binding(8, 4), 3, Nanos(0));
        assert_eq!(bindings.superseded(FROM, &binding(3, 2)), [1, 2]);
        assert!(bindings.superseded(FROM, &binding(12, 2)).is_empty());
        assert_eq!(bindings.superseded(FROM, &binding(5, 1)), [2]);
    }

    /// Ours: what was in flight when its message was given up, and what waited for too long, counts for nobody.
    #[test]
    fn early_arrivals_end_with_time_and_distance() {
        let kept = |first_msn, at| {
            let mut bindings = Bindings::default();
            bindings.keep_early(FROM, QP, 100, 7, Nanos(5));
            bindings.bind(FROM, binding(first_msn, 1), 1, at);
            bindings.bind(FROM, binding(100, 1), 2, at)
        };
        assert_eq!(kept(101, Nanos(1_000_000_004)), 7);
        assert_eq!(kept(101, Nanos(1_000_000_005)), 0);
        assert_eq!([100 + (1 << 22), 101 + (1 << 22)].map(|first| kept(first, Nanos(9))), [7, 0]);
    }

    #[test]
    fn numbers_of_a_message_that_was_given_up_are_known_until_it_is_let_go() {
        let mut bindings = Bindings::default();
        bindings.bind(FROM, binding(0, 4), 1, Nanos(0));
        bindings.give_up(FROM, binding(0, 4), 1);
        assert_eq!(bindings.find(FROM, QP, 1), None);
        assert_eq!([3, 4].map(|msn| bindings.is_given_up(FROM, QP, msn)), [true, false]);
        bindings.let_go(FROM, QP, 1);
        assert!(!bindings.is_given_up(FROM, QP, 3));
    }
}
