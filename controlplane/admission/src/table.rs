//! Permits as numbers, for languages without ownership: a number is settled once, whoever tries again is told so.
//!
//! Lock-free and without allocation after its making: a stack of free cells, and in each cell a word that says which
//! incarnation of it is live.

use crate::controller::{Controller, Permit, Ticket};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Permits of one controller, as numbers from 1 on.
#[derive(Debug)]
pub struct PermitTable {
    cells: Box<[Cell]>,
    /// Changes of the stack (upper half), and its top cell plus one (lower half).
    top: AtomicU64,
}

#[derive(Debug)]
struct Cell {
    /// The cell below in the stack, plus one.
    below: AtomicU32,
    /// Incarnation (upper half) and one of the states below.
    word: AtomicU64,
    ticket: [AtomicU64; 3],
}

const FREE: u64 = 0;
const LIVE: u64 = 1;
/// Somebody looks at it just now.
const BUSY: u64 = 2;

const LOW: u64 = 0xffff_ffff;

impl PermitTable {
    /// Room for `capacity` permits at a time.
    pub fn new(capacity: u32) -> Self {
        let cells: Box<[Cell]> = (0..capacity)
            .map(|index| Cell {
                // Cell 0 on top, so that few permits touch few cells.
                below: AtomicU32::new(if index + 1 < capacity { index + 2 } else { 0 }),
                word: AtomicU64::new(FREE),
                ticket: [const { 0 }; 3].map(AtomicU64::new),
            })
            .collect();
        Self { cells, top: AtomicU64::new(u64::from(capacity > 0)) }
    }

    /// Keeps a permit and gives its number.
    ///
    /// # Errors
    /// The permit itself when the table is full.
    pub fn put<'c>(&self, permit: Permit<'c>) -> Result<u64, Permit<'c>> {
        let Some((index, cell)) = self.pop() else { return Err(permit) };
        cell.write(&permit.detach());
        let incarnation = cell.word.load(Ordering::Relaxed) & !LOW;
        cell.word.store(incarnation | LIVE, Ordering::Release);
        Ok(incarnation | (u64::from(index) + 1))
    }

    /// The permit of a number, which is no permit's from now on; `None` when it is none (any more).
    pub fn take<'c>(&self, controller: &'c Controller, number: u64) -> Option<Permit<'c>> {
        let (index, cell, incarnation) = self.find(number)?;
        let next = incarnation.wrapping_add(LOW + 1) | FREE;
        cell.word.compare_exchange(incarnation | LIVE, next, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let permit = controller.attach(cell.read());
        self.push(index, cell);
        Some(permit)
    }

    /// Looks at the permit of a number, which stays. Who comes at the same time with the same number is told that it is none.
    pub fn with<T>(
        &self,
        controller: &Controller,
        number: u64,
        look: impl FnOnce(&mut Permit<'_>) -> T,
    ) -> Option<T> {
        let (_, cell, incarnation) = self.find(number)?;
        cell.word
            .compare_exchange(incarnation | LIVE, incarnation | BUSY, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        let mut permit = controller.attach(cell.read());
        let answer = look(&mut permit);
        cell.write(&permit.detach());
        cell.word.store(incarnation | LIVE, Ordering::Release);
        Some(answer)
    }

    fn find(&self, number: u64) -> Option<(u32, &Cell, u64)> {
        let index = u32::try_from((number & LOW).checked_sub(1)?).ok()?;
        Some((index, self.cells.get(index as usize)?, number & !LOW))
    }

    fn pop(&self) -> Option<(u32, &Cell)> {
        let mut top = self.top.load(Ordering::Acquire);
        loop {
            let index = u32::try_from((top & LOW).checked_sub(1)?).ok()?;
            let cell = self.cells.get(index as usize)?;
            // If another took the cell meanwhile, `top` has changed and the exchange fails.
            let below = u64::from(cell.below.load(Ordering::Relaxed));
            let next = (top & !LOW).wrapping_add(LOW + 1) | below;
            match self.top.compare_exchange_weak(top, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some((index, cell)),
                Err(changed) => top = changed,
            }
        }
    }

    fn push(&self, index: u32, cell: &Cell) {
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            // The lower half is below 2^32.
            cell.below.store(u32::try_from(top & LOW).unwrap_or(0), Ordering::Relaxed);
            let next = (top & !LOW).wrapping_add(LOW + 1) | (u64::from(index) + 1);
            match self.top.compare_exchange_weak(top, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(changed) => top = changed,
            }
        }
    }
}

impl Cell {
    fn write(&self, ticket: &Ticket) {
        for (word, value) in self.ticket.iter().zip(ticket.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
    }

    fn read(&self) -> Ticket {
        Ticket::from_words([0, 1, 2].map(|index: usize| self.ticket[index].load(Ordering::Relaxed)))
    }
}

#[cfg(all(test, not(admission_loom)))]
mod tests {
    use super::*;
    use crate::config::{Config, Mode};
    use crate::controller::{Capacity, DeviceSpec, PeerId, RouteSpec};
    use wire::units::{Nanos, Octets};

    #[test]
    fn numbers_are_settled_once_and_forged_ones_are_none() {
        //~ ADMISSION, Controller and Transport Responsibilities: 45116f8d
        let config = Config { mode: Mode::Enforce, ..Config::default() };
        let controller = Controller::new(config, Capacity::default()).unwrap();
        let device = controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
        let spec = RouteSpec { device, port: 1, peer: PeerId(1) };
        let (route, generation) = controller.open_route(spec, Nanos(0)).unwrap();
        let acquire = || controller.try_acquire(route, generation, Octets(100)).permit().unwrap();
        let in_flight = || controller.route_snapshot(route).unwrap().in_flight.0;
        let table = PermitTable::new(2);
        let first = table.put(acquire()).unwrap();
        let second = table.put(acquire()).unwrap();
        assert_eq!((in_flight(), first, second), (200, 1, 2));
        table.put(acquire()).unwrap_err().cancel();
        assert_eq!(in_flight(), 200, "the table is full: the third is given back");
        for forged in [0, 3, 1 << 32 | 1, u64::MAX, LOW] {
            assert!(table.take(&controller, forged).is_none(), "{forged:#x}");
            assert!(table.with(&controller, forged, |_| ()).is_none());
        }
        let left = table.with(&controller, first, |permit| {
            permit.post_partially(Octets(40)).unwrap();
            permit.octets().0
        });
        assert_eq!((left, in_flight()), (Some(40), 140));
        table.take(&controller, first).unwrap().succeed();
        assert!(table.take(&controller, first).is_none(), "twice");
        assert_eq!(in_flight(), 100);
        let again = table.put(acquire()).unwrap();
        assert_ne!(again, first, "the cell is used again under another number");
        assert_eq!(again & LOW, first & LOW);
        assert!(table.take(&controller, first).is_none(), "the old number isn't the new permit's");
        table.take(&controller, again).unwrap().cancel();
        table.take(&controller, second).unwrap().cancel();
        assert_eq!(in_flight(), 0);
        assert!(PermitTable::new(0).put(acquire()).is_err());
    }
}
