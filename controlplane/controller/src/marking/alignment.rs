//! Which colour is closed.
//!
//! The switch that marks changes the colour by its own clock, which nobody knows. Its counters tell: while one colour's
//! grows, that is the colour that is put on; when the other's begins to, the first is closed (RFC 9341, Section 3.2). A flow that pauses
//! is closed when a period has passed since its colour was first seen: by then another has begun.

use wire::units::Nanos;

use super::counter::growth;

/// A colour, 0 or 1.
pub(super) type Colour = usize;

/// A period that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Closed {
    pub colour: Colour,
    /// Its number: ours, counted from the collector's clock; the low bit is the colour.
    pub number: u32,
    /// When that was noticed.
    pub at: Nanos,
}

#[derive(Debug)]
pub(super) struct Alignment {
    period: Nanos,
    last: Option<[u64; 2]>,
    /// The colour that is put on now, and since when it has been seen.
    current: Option<(Colour, Nanos)>,
    /// No packet came between the last two readings, nor is a colour known to be put on.
    idle: bool,
    /// The last number that was given, and for when.
    numbered: Option<(u32, Nanos)>,
}

impl Alignment {
    pub fn new(period: Nanos) -> Self {
        Self { period, last: None, current: None, idle: false, numbered: None }
    }

    /// Whether no packet came between the last two readings, nor is a colour known to be put on.
    pub fn is_idle(&self) -> bool {
        self.idle
    }

    #[cfg(test)]
    fn current(&self) -> Option<Colour> {
        self.current.map(|(colour, _)| colour)
    }

    /// Takes the arrivals at the switch that marks; says which colour that closes.
    pub fn see(&mut self, arrived: [u64; 2], now: Nanos) -> Option<Closed> {
        self.idle = false;
        let last = self.last.replace(arrived)?;
        let (Some(zero), Some(one)) = (growth(last[0], arrived[0]), growth(last[1], arrived[1])) else {
            // The switch has started anew.
            self.current = None;
            return None;
        };
        let grew = [zero > 0, one > 0];
        match self.current {
            None => {
                self.idle = grew == [false, false];
                self.current = match grew {
                    [true, false] => Some((0, now)),
                    [false, true] => Some((1, now)),
                    // Both since the last reading: the next one tells which it is.
                    _ => None,
                };
                None
            }
            Some((colour, _)) if grew[1 - colour] => {
                self.current = Some((1 - colour, now));
                Some(self.close(colour, now, now))
            }
            Some((colour, since)) if now >= since + self.period => {
                self.current = None;
                Some(self.close(colour, now, since + self.period))
            }
            Some(_) => None,
        }
    }

    /// Numbers a period that ended at `end`: as many further than the last one as fit between, by the colour's parity.
    fn close(&mut self, colour: Colour, now: Nanos, end: Nanos) -> Closed {
        let parity = |number: u32| usize::from(number & 1 == 1) == colour;
        let number = match self.numbered {
            None => {
                let number = low(end.0 / self.period.0);
                if parity(number) { number } else { number.wrapping_add(1) }
            }
            Some((last, before)) => {
                // In halves of a period: the nearest count of the right parity, and at least one.
                let halves = end.saturating_sub(before).0.saturating_mul(2) / self.period.0;
                let first = if parity(last.wrapping_add(1)) { 1 } else { 2 };
                let more = (halves.saturating_sub(2 * first) + 2) / 4;
                last.wrapping_add(low(first + 2 * more))
            }
        };
        self.numbered = Some((number, end));
        Closed { colour, number, at: now }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "period numbers are 32 bits and wrap")]
const fn low(number: u64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Nanos = Nanos(1000);

    fn run(readings: &[(u64, [u64; 2])]) -> Vec<(Colour, u32)> {
        let mut alignment = Alignment::new(PERIOD);
        let seen = readings.iter().filter_map(|&(at, arrived)| alignment.see(arrived, Nanos(at)));
        seen.map(|closed| (closed.colour, closed.number)).collect()
    }

    #[test]
    fn a_colour_closes_when_the_other_begins() {
        let closed = run(&[
            (100, [5, 0]),
            (350, [9, 0]),
            (600, [12, 3]),
            (850, [12, 8]),
            (1100, [12, 11]),
            (1350, [12, 15]),
            (1600, [14, 17]),
        ]);
        assert_eq!(closed, [(0, 0), (1, 1)]);
    }

    /// Whatever the marking switch's clock says, and however the readings fall, numbers go on by one.
    #[test]
    fn numbers_follow_each_other_at_any_offset_of_the_clocks() {
        for offset in (0..2000).step_by(37) {
            let mut alignment = Alignment::new(PERIOD);
            let mut arrived = [0; 2];
            let mut numbers = Vec::new();
            for step in 0..2000u64 {
                let now = 5_000 + step * 10;
                arrived[usize::from(((now + offset) / PERIOD.0) & 1 == 1)] += 1;
                // Every 250, give or take 40.
                if step % 25 == (step / 25) * 7 % 5 {
                    numbers.extend(alignment.see(arrived, Nanos(now)).map(|closed| closed.number));
                }
            }
            assert!(numbers.len() >= 17, "offset {offset}: {numbers:?}");
            assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "offset {offset}: {numbers:?}");
        }
    }

    #[test]
    fn a_flow_that_pauses_is_closed_after_a_period_and_numbers_skip_what_was_idle() {
        let closed = run(&[
            (0, [0, 0]),
            (250, [4, 0]),
            (500, [4, 0]),
            (1000, [4, 0]),
            (1250, [4, 0]),
            (4250, [4, 0]),
            // Four periods later, the same colour again.
            (4500, [6, 0]),
            (5500, [6, 0]),
            (8600, [6, 1]),
            (9600, [6, 1]),
        ]);
        assert_eq!(closed.iter().map(|(colour, _)| *colour).collect::<Vec<_>>(), [0, 0, 1]);
        let numbers: Vec<u32> = closed.iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers[1] - numbers[0], 4);
        assert!([3, 5].contains(&(numbers[2] - numbers[1])), "{numbers:?}");
    }

    #[test]
    fn a_restart_forgets_the_colour() {
        let mut alignment = Alignment::new(PERIOD);
        for (at, arrived) in [(0, [100, 90]), (250, [105, 90]), (500, [3, 0])] {
            assert_eq!(alignment.see(arrived, Nanos(at)), None);
        }
        assert_eq!(alignment.current(), None);
        assert_eq!(alignment.see([9, 0], Nanos(750)), None);
        assert_eq!(alignment.current(), Some(0));
    }

    #[test]
    fn both_colours_at_once_tell_nothing_yet() {
        let mut alignment = Alignment::new(PERIOD);
        assert_eq!(alignment.see([0, 0], Nanos(0)), None);
        assert_eq!(alignment.see([3, 3], Nanos(250)), None);
        assert_eq!((alignment.current(), alignment.is_idle()), (None, false));
        assert_eq!(alignment.see([3, 5], Nanos(500)), None);
        assert_eq!(alignment.current(), Some(1));
    }
}
