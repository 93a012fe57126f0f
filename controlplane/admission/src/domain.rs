//! What the data path of a device or route touches: counts of octets, the window and the gate. No lock, no allocation.

use crate::state::State;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// How often a path's endpoint was made anew. Feedback counts only for the current one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Generation(pub u32);

impl Generation {
    /// Whether this generation came after `other`; they wrap around.
    pub const fn is_after(self, other: Self) -> bool {
        let ahead = self.0.wrapping_sub(other.0);
        ahead != 0 && ahead < 1 << 31
    }

    pub(crate) const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// State, generation and owner of a domain in one word, so that the data path sees them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate(u64);

const OPEN: u64 = 1 << 3;
const PROBE_READY: u64 = 1 << 4;
const INCARNATION_SHIFT: u32 = 8;
/// Incarnations of a slot wrap around at this mask.
pub(crate) const INCARNATION_MASK: u32 = 0x00ff_ffff;
const GENERATION_SHIFT: u32 = 32;

impl Gate {
    pub(crate) const CLOSED: Self = Self(0);

    pub(crate) fn new(state: State, probe_ready: bool, incarnation: u32, generation: Generation) -> Self {
        let ready = if probe_ready { PROBE_READY } else { 0 };
        let owner = u64::from(incarnation & INCARNATION_MASK) << INCARNATION_SHIFT;
        Self(state as u64 | OPEN | ready | owner | u64::from(generation.0) << GENERATION_SHIFT)
    }

    /// The same gate without its owner: nothing more is admitted, what was can still be settled.
    pub(crate) fn shut(self) -> Self {
        Self(self.0 & !OPEN)
    }

    #[inline]
    pub(crate) fn is_open_for(self, incarnation: u32) -> bool {
        self.0 & OPEN != 0 && self.incarnation() == incarnation
    }

    pub(crate) fn is_open(self) -> bool {
        self.0 & OPEN != 0
    }

    #[expect(clippy::cast_possible_truncation, reason = "masked to 24 bits")]
    #[inline]
    pub(crate) fn incarnation(self) -> u32 {
        ((self.0 >> INCARNATION_SHIFT) & u64::from(INCARNATION_MASK)) as u32
    }

    #[inline]
    pub(crate) fn generation(self) -> Generation {
        Generation((self.0 >> GENERATION_SHIFT) as u32)
    }

    /// Whether new posts are refused: in quarantine, and while a probe waits for a new generation.
    //= ADMISSION, Path State Machine: 6d24a07b
    #[inline]
    pub(crate) fn blocks(self) -> bool {
        let state = self.0 & 7;
        state == State::Quarantined as u64 || (state == State::Probing as u64 && self.0 & PROBE_READY == 0)
    }

    /// Whether a completed slice proves the path.
    #[inline]
    pub(crate) fn awaits_proof(self) -> bool {
        self.0 & 7 == State::Probing as u64 && self.0 & PROBE_READY != 0
    }
}

/// The counts of a domain. In flight is what was acquired and not released; both only grow (modulo 2^64), so that an
/// exchange that finds `acquired` unchanged knows that in flight has only fallen since.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Domain {
    gate: AtomicU64,
    window: AtomicU64,
    acquired: AtomicU64,
    released: AtomicU64,
    /// Of `released`: what didn't complete with success on the current generation.
    returned: AtomicU64,
    /// Reports of congestion in this epoch.
    marks: AtomicU32,
    /// Posts that had to wait.
    deferred: AtomicU32,
    /// Lowest rate that a report of this epoch gave, in octets per second; [`NO_RATE`] without.
    advised: AtomicU64,
}

/// No report of this epoch gave a rate.
pub(crate) const NO_RATE: u64 = u64::MAX;

/// Counts of one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) released: u64,
    pub(crate) returned: u64,
}

impl Domain {
    pub(crate) fn new() -> Self {
        Self {
            gate: AtomicU64::new(Gate::CLOSED.0),
            window: AtomicU64::new(0),
            acquired: AtomicU64::new(0),
            released: AtomicU64::new(0),
            returned: AtomicU64::new(0),
            marks: AtomicU32::new(0),
            deferred: AtomicU32::new(0),
            advised: AtomicU64::new(NO_RATE),
        }
    }

    #[inline]
    pub(crate) fn gate(&self) -> Gate {
        Gate(self.gate.load(Ordering::Acquire))
    }

    /// Only under the lock of the domain's policy.
    pub(crate) fn set_gate(&self, gate: Gate) {
        self.gate.store(gate.0, Ordering::Release);
    }

    pub(crate) fn window(&self) -> u64 {
        self.window.load(Ordering::Relaxed)
    }

    /// Only under the lock of the domain's policy.
    pub(crate) fn set_window(&self, octets: u64) {
        self.window.store(octets, Ordering::Relaxed);
    }

    /// Reserves all of `octets`, if they fit into the window or nothing is in flight.
    //= ADMISSION, Caller Observability: 91dc799c 7b768986 67651ac4 3ae12ef7
    #[inline]
    pub(crate) fn try_reserve(&self, octets: u64) -> bool {
        let window = self.window.load(Ordering::Relaxed);
        // `released` first: it is at most what it is when `acquired` is read, so the difference is never too small.
        let mut released = self.released.load(Ordering::Acquire);
        let mut acquired = self.acquired.load(Ordering::Relaxed);
        loop {
            let in_flight = acquired.wrapping_sub(released);
            let fits = in_flight == 0 || in_flight.checked_add(octets).is_some_and(|sum| sum <= window);
            if !fits {
                return false;
            }
            let sum = acquired.wrapping_add(octets);
            let swapped =
                self.acquired.compare_exchange_weak(acquired, sum, Ordering::AcqRel, Ordering::Relaxed);
            if swapped.is_ok() {
                return true;
            }
            released = self.released.load(Ordering::Acquire);
            acquired = self.acquired.load(Ordering::Relaxed);
        }
    }

    /// Reserves `octets` whatever is in flight: for a controller that only observes.
    pub(crate) fn reserve_anyway(&self, octets: u64) -> bool {
        let window = self.window.load(Ordering::Relaxed);
        let released = self.released.load(Ordering::Acquire);
        let in_flight = self.acquired.fetch_add(octets, Ordering::AcqRel).wrapping_sub(released);
        in_flight == 0 || in_flight.checked_add(octets).is_some_and(|sum| sum <= window)
    }

    /// Gives back what completed with success on the current generation.
    #[inline]
    pub(crate) fn complete(&self, octets: u64) {
        self.released.fetch_add(octets, Ordering::Release);
    }

    /// Gives back what didn't.
    #[inline]
    pub(crate) fn give_back(&self, octets: u64) {
        self.returned.fetch_add(octets, Ordering::Relaxed);
        self.released.fetch_add(octets, Ordering::Release);
    }

    pub(crate) fn in_flight(&self) -> u64 {
        let released = self.released.load(Ordering::Acquire);
        self.acquired.load(Ordering::Relaxed).wrapping_sub(released)
    }

    pub(crate) fn totals(&self) -> Totals {
        let released = self.released.load(Ordering::Acquire);
        Totals { released, returned: self.returned.load(Ordering::Relaxed) }
    }

    pub(crate) fn count_deferred(&self) {
        self.deferred.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn deferred(&self) -> u32 {
        self.deferred.load(Ordering::Relaxed)
    }

    /// A report of congestion, with the rate it gave.
    pub(crate) fn mark(&self, octets_per_second: u64) {
        self.advised.fetch_min(octets_per_second, Ordering::Relaxed);
        self.marks.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn is_marked(&self) -> bool {
        self.marks.load(Ordering::Relaxed) > 0
    }

    /// The reports since the last call, and the lowest rate they gave.
    pub(crate) fn take_marks(&self) -> (u32, u64) {
        (self.marks.swap(0, Ordering::Relaxed), self.advised.swap(NO_RATE, Ordering::Relaxed))
    }
}

#[cfg(all(test, not(admission_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_gate_holds_its_parts() {
        for state in State::ALL {
            for ready in [false, true] {
                let gate = Gate::new(state, ready, 0xffff_ffff, Generation(0x8000_0001));
                assert_eq!(gate.generation(), Generation(0x8000_0001));
                assert!(gate.is_open_for(INCARNATION_MASK));
                assert!(!gate.shut().is_open_for(INCARNATION_MASK));
                assert_eq!(gate.shut().generation(), gate.generation());
                let blocks = state == State::Quarantined || (state == State::Probing && !ready);
                assert_eq!(gate.blocks(), blocks, "{state} {ready}");
                assert_eq!(gate.awaits_proof(), state == State::Probing && ready);
            }
        }
        assert!(!Gate::CLOSED.is_open_for(0));
    }

    #[test]
    fn generations_wrap_around() {
        assert!(Generation(0).is_after(Generation(u32::MAX)));
        assert!(!Generation(u32::MAX).is_after(Generation(0)));
        assert!(!Generation(7).is_after(Generation(7)));
        assert_eq!(Generation(u32::MAX).next(), Generation(0));
    }

    #[test]
    fn a_window_admits_to_its_edge_and_an_empty_domain_admits_one_slice_of_any_size() {
        //~ ADMISSION, Caller Observability: 91dc799c 7b768986 67651ac4 3ae12ef7
        let domain = Domain::new();
        domain.set_window(100);
        assert!(domain.try_reserve(99));
        assert!(!domain.try_reserve(2), "one octet above the window");
        assert!(domain.try_reserve(1), "to its edge");
        domain.give_back(100);
        assert!(domain.try_reserve(101), "nothing is in flight: a slice larger than the window");
        assert_eq!(domain.in_flight(), 101, "all of it is reserved");
        assert!(!domain.try_reserve(1), "until it has drained");
        domain.complete(2);
        assert!(domain.try_reserve(1));
    }

    #[test]
    fn counts_wrap_around_without_a_false_empty_or_full() {
        let domain = Domain::new();
        domain.set_window(100);
        assert!(domain.try_reserve(u64::MAX), "an empty domain");
        assert!(!domain.try_reserve(u64::MAX), "the sum would overflow");
        domain.complete(u64::MAX);
        assert_eq!(domain.in_flight(), 0);
        for _ in 0..3 {
            assert!(domain.try_reserve(60));
            assert!(!domain.try_reserve(41));
            domain.give_back(60);
        }
        assert_eq!(domain.totals(), Totals { released: u64::MAX.wrapping_add(180), returned: 180 });
    }

    #[test]
    fn marks_keep_the_lowest_rate_of_the_epoch() {
        let domain = Domain::new();
        assert_eq!(domain.take_marks(), (0, NO_RATE));
        domain.mark(NO_RATE);
        domain.mark(50);
        domain.mark(70);
        assert_eq!(domain.take_marks(), (3, 50));
        assert_eq!(domain.take_marks(), (0, NO_RATE));
    }
}
