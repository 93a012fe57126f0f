//! Which message arriving data belongs to (RDCC, Transport Bindings, Binding Kind 1).

use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

use wire::rdcc::RoceBinding;

/// Message sequence numbers have 24 bits.
const MSN_MASK: u32 = 0x00ff_ffff;
/// Arrivals kept per sender address for a `CREDIT_REQUEST` that is still on its way.
const EARLY_LIMIT: usize = 256;

/// The messages of one queue pair in the order in which they are posted.
#[derive(Debug, Default)]
struct QueuePair {
    entries: VecDeque<(RoceBinding, u32)>,
}

/// Arrivals that came before their request: unscheduled data may overtake it.
#[derive(Debug, Default)]
struct Early {
    arrivals: VecDeque<(u32, u32, u32)>,
}

/// Queue pairs by the sender's address and number.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    queue_pairs: BTreeMap<(IpAddr, u32), QueuePair>,
    early: BTreeMap<IpAddr, Early>,
}

impl Bindings {
    /// Binds a message slot; gives the octets that came for it before.
    pub(super) fn bind(&mut self, from: IpAddr, binding: RoceBinding, slot: u32) -> u64 {
        let pair = self.queue_pairs.entry((from, binding.destination_qp)).or_default();
        // Almost always at the end; a request that was overtaken by a later one goes to its place.
        let ahead = |other: &RoceBinding| distance(binding.first_msn, other.first_msn) < MSN_MASK / 2;
        let place = pair.entries.iter().rposition(|(other, _)| ahead(other)).map_or(0, |at| at + 1);
        pair.entries.insert(place, (binding, slot));
        let Some(early) = self.early.get_mut(&from) else { return 0 };
        let mut octets = 0;
        early.arrivals.retain(|&(qp, msn, count)| {
            let matches = qp == binding.destination_qp && covers(&binding, msn);
            octets += if matches { u64::from(count) } else { 0 };
            !matches
        });
        if early.arrivals.is_empty() {
            self.early.remove(&from);
        }
        octets
    }

    /// Forgets a message.
    pub(super) fn unbind(&mut self, from: IpAddr, qp: u32, slot: u32) {
        if let Some(pair) = self.queue_pairs.get_mut(&(from, qp)) {
            pair.entries.retain(|&(_, other)| other != slot);
            if pair.entries.is_empty() {
                self.queue_pairs.remove(&(from, qp));
            }
        }
    }

    /// The message slot that `msn` on a queue pair belongs to.
    pub(super) fn find(&self, from: IpAddr, qp: u32, msn: u32) -> Option<u32> {
        let pair = self.queue_pairs.get(&(from, qp))?;
        pair.entries.iter().find(|(binding, _)| covers(binding, msn)).map(|&(_, slot)| slot)
    }

    /// The messages of a queue pair in posting order.
    pub(super) fn order(&self, from: IpAddr, qp: u32) -> impl Iterator<Item = u32> + '_ {
        self.queue_pairs
            .get(&(from, qp))
            .into_iter()
            .flat_map(|pair| pair.entries.iter().map(|&(_, slot)| slot))
    }

    /// Messages of a queue pair whose numbers a new message takes over.
    pub(super) fn superseded(&self, from: IpAddr, binding: &RoceBinding) -> Vec<u32> {
        let pair = self.queue_pairs.get(&(from, binding.destination_qp));
        let entries = pair.into_iter().flat_map(|pair| &pair.entries);
        entries.filter(|(other, _)| overlap(other, binding)).map(|&(_, slot)| slot).collect()
    }

    /// Keeps an arrival whose request hasn't come; gives the octets of one that has waited longest and must go.
    pub(super) fn keep_early(&mut self, from: IpAddr, qp: u32, msn: u32, octets: u32) -> u32 {
        let early = self.early.entry(from).or_default();
        if let Some(last) = early.arrivals.back_mut()
            && (last.0, last.1) == (qp, msn)
        {
            last.2 = last.2.saturating_add(octets);
            return 0;
        }
        let full = early.arrivals.len() >= EARLY_LIMIT;
        let gone = if full { early.arrivals.pop_front() } else { None };
        early.arrivals.push_back((qp, msn, octets));
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

fn covers(binding: &RoceBinding, msn: u32) -> bool {
    distance(msn, binding.first_msn) < u32::from(binding.rdma_messages)
}

fn overlap(one: &RoceBinding, other: &RoceBinding) -> bool {
    covers(one, other.first_msn) || covers(other, one.first_msn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    const FROM: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

    fn binding(first_msn: u32, rdma_messages: u16) -> RoceBinding {
        RoceBinding { destination_qp: 7, first_msn, rdma_messages }
    }

    /// RDCC, Transport Bindings: a range of message sequence numbers, wrapping at 24 bits.
    #[test]
    fn a_range_covers_its_first_and_last_number_and_not_the_next() {
        let mut bindings = Bindings::default();
        bindings.bind(FROM, binding(0x00ff_fffe, 4), 1);
        bindings.bind(FROM, binding(2, 1), 2);
        let find = |msn| bindings.find(FROM, 7, msn);
        assert_eq!(find(0x00ff_fffd), None);
        assert_eq!([0x00ff_fffe, 0x00ff_ffff, 0, 1].map(find), [Some(1); 4]);
        assert_eq!(find(2), Some(2));
        assert_eq!(find(3), None);
        assert_eq!(bindings.find(FROM, 8, 0), None);
    }

    #[test]
    fn a_late_request_takes_its_place_in_the_order() {
        let mut bindings = Bindings::default();
        bindings.bind(FROM, binding(4, 4), 2);
        bindings.bind(FROM, binding(0, 4), 1);
        bindings.bind(FROM, binding(8, 4), 3);
        assert_eq!(bindings.order(FROM, 7).collect::<Vec<_>>(), [1, 2, 3]);
        bindings.unbind(FROM, 7, 2);
        assert_eq!(bindings.order(FROM, 7).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn data_that_overtakes_its_request_is_counted_when_that_comes() {
        let mut bindings = Bindings::default();
        for (msn, octets) in [(0, 1000), (0, 24), (1, 500)] {
            assert_eq!(bindings.keep_early(FROM, 7, msn, octets), 0);
        }
        assert_eq!(bindings.bind(FROM, binding(0, 1), 1), 1024);
        assert_eq!(bindings.bind(FROM, binding(1, 1), 2), 500);
        assert_eq!(bindings.bind(FROM, binding(2, 1), 3), 0);
    }

    #[test]
    fn too_many_early_arrivals_push_out_the_oldest() {
        let mut bindings = Bindings::default();
        for msn in 0..256 {
            assert_eq!(bindings.keep_early(FROM, 7, msn, 10 + msn), 0);
        }
        assert_eq!(bindings.keep_early(FROM, 7, 256, 1), 10);
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
