//! The links behind ports, where nothing else is them: what leaves arrives later, or never, and what comes came earlier.
//!
//! A kernel without `netem` can't give a pair of interfaces a delay; the switch can, for the frames that it sends and takes.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// Parts of a fraction.
const PARTS: u64 = 1_000_000;

/// How a port's link is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// What leaves by the port is sent so much later, in nanoseconds.
    pub delay_out: u64,
    /// What comes in by the port is taken so much later, in nanoseconds.
    pub delay_in: u64,
    /// So many of a million frames that leave are lost.
    pub loss_out: u32,
    /// So many of a million frames that come in were lost before.
    pub loss_in: u32,
}

/// A frame and when it arrives.
type Held = VecDeque<(u64, Vec<u8>)>;

/// The links of all ports, in their order.
#[derive(Debug)]
pub struct Wires {
    of_ports: Vec<Wire>,
    out: Vec<Held>,
    inward: Vec<Held>,
    losses: ChaCha8Rng,
    /// Frames that the links lost.
    pub lost: u64,
}

impl Wires {
    /// `wires` of the ports in their order; which frames are lost follows from the seed.
    pub fn new(wires: Vec<Wire>, seed: u64) -> Self {
        let held = || wires.iter().map(|_| Held::new()).collect();
        let (out, inward) = (held(), held());
        Self { of_ports: wires, out, inward, losses: ChaCha8Rng::seed_from_u64(seed), lost: 0 }
    }

    /// A frame leaves by the port at a place: gives it back if it leaves at once.
    pub fn leaves(&mut self, place: usize, octets: Vec<u8>, now: u64) -> Option<Vec<u8>> {
        let Some(&wire) = self.of_ports.get(place) else { return Some(octets) };
        if self.loses(wire.loss_out) {
            return None;
        }
        match self.out.get_mut(place) {
            Some(held) if wire.delay_out > 0 => {
                held.push_back((now.saturating_add(wire.delay_out), octets));
                None
            }
            _ => Some(octets),
        }
    }

    fn loses(&mut self, part: u32) -> bool {
        let lost = part > 0 && self.losses.next_u64() % PARTS < part.into();
        self.lost += u64::from(lost);
        lost
    }

    /// A frame came in by the port at a place: gives it back if it arrives at once.
    pub fn comes(&mut self, place: usize, octets: Vec<u8>, now: u64) -> Option<Vec<u8>> {
        let Some(&wire) = self.of_ports.get(place) else { return Some(octets) };
        if self.loses(wire.loss_in) {
            return None;
        }
        match self.inward.get_mut(place) {
            Some(held) if wire.delay_in > 0 => {
                held.push_back((now.saturating_add(wire.delay_in), octets));
                None
            }
            _ => Some(octets),
        }
    }

    /// The next frame that leaves, with the place of its port.
    pub fn next_out(&mut self, now: u64) -> Option<(usize, Vec<u8>)> {
        due(&mut self.out, now)
    }

    /// The next frame that arrives, likewise.
    pub fn next_in(&mut self, now: u64) -> Option<(usize, Vec<u8>)> {
        due(&mut self.inward, now)
    }

    /// When there is a next one.
    pub fn next_at(&self) -> Option<u64> {
        let held = self.out.iter().chain(&self.inward);
        held.filter_map(|held| held.front().map(|&(at, _)| at)).min()
    }

    /// Whether any link has to be asked about what comes in: where it isn't at once, or not all of it.
    pub fn is_between_input(&self) -> bool {
        self.of_ports.iter().any(|wire| wire.delay_in > 0 || wire.loss_in > 0)
    }
}

/// The earliest frame, if its time has come; each queue is in the order of time, since a link's delay doesn't change.
fn due(all: &mut [Held], now: u64) -> Option<(usize, Vec<u8>)> {
    let earliest = all.iter().enumerate().filter_map(|(place, held)| Some((held.front()?.0, place))).min();
    let (_, place) = earliest.filter(|&(at, _)| at <= now)?;
    let (_, octets) = all.get_mut(place)?.pop_front()?;
    Some((place, octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_when_their_delay_is_over_in_the_order_of_time() {
        let wire = |delay_out, delay_in| Wire { delay_out, delay_in, ..Wire::default() };
        let mut wires = Wires::new(vec![wire(100, 0), wire(20, 30), Wire::default()], 1);
        assert_eq!(wires.leaves(0, vec![0], 0), None);
        assert_eq!(wires.leaves(1, vec![1], 50), None);
        assert_eq!(wires.leaves(2, vec![2], 50), Some(vec![2]));
        assert_eq!(wires.comes(0, vec![3], 50), Some(vec![3]));
        assert_eq!(wires.comes(1, vec![4], 50), None);
        assert_eq!(wires.next_at(), Some(70));
        assert_eq!(wires.next_out(69), None);
        assert_eq!(wires.next_out(100), Some((1, vec![1])), "the earlier one, though its port comes later");
        assert_eq!(wires.next_out(100), Some((0, vec![0])));
        assert_eq!((wires.next_out(1000), wires.next_in(79)), (None, None));
        assert_eq!(wires.next_in(80), Some((1, vec![4])));
        assert_eq!(wires.next_at(), None);
    }

    #[test]
    fn a_link_loses_its_part_and_the_others_nothing() {
        let lossy = Wire { loss_out: 100_000, ..Wire::default() };
        let mut wires = Wires::new(vec![lossy, Wire::default()], 1);
        let arrived = (0..10_000).filter(|_| wires.leaves(0, vec![0], 0).is_some()).count() as u64;
        assert_eq!(arrived + wires.lost, 10_000);
        assert!((900..1100).contains(&wires.lost), "{}", wires.lost);
        let before = wires.lost;
        assert!((0..1000).all(|_| wires.leaves(1, vec![0], 0).is_some()));
        assert_eq!(wires.lost, before);
        // The other direction by itself.
        let mut inward = Wires::new(vec![Wire { loss_in: 100_000, ..Wire::default() }], 1);
        assert!((0..1000).all(|_| inward.leaves(0, vec![0], 0).is_some()));
        let arrived = (0..10_000).filter(|_| inward.comes(0, vec![0], 0).is_some()).count() as u64;
        assert_eq!(arrived + inward.lost, 10_000);
        assert!((900..1100).contains(&inward.lost), "{}", inward.lost);
    }
}
