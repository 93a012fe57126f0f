//! Source symbols by PSN, in a ring of fixed size.

use wire::roce::Psn;

use crate::packet::write_symbol;

const EMPTY: u32 = u32::MAX;

/// The last symbols of a flow. A new one takes the place of the one `window` PSNs before it.
#[derive(Debug)]
pub(crate) struct Ring {
    symbols: Vec<u8>,
    /// Which PSN stands in each slot.
    psns: Vec<u32>,
    symbol_octets: usize,
}

impl Ring {
    /// A ring for `window` PSNs, rounded up to a power of two and at most 2^22, so that sequence numbers stay comparable.
    pub(crate) fn new(window: usize, symbol_octets: u16) -> Self {
        let slots = window.clamp(1, 1 << 22).next_power_of_two();
        let symbol_octets = usize::from(symbol_octets);
        Self { symbols: vec![0; slots * symbol_octets], psns: vec![EMPTY; slots], symbol_octets }
    }

    /// PSNs that the ring spans.
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^22")]
    pub(crate) const fn window(&self) -> u32 {
        self.psns.len() as u32
    }

    /// Octets of a slot.
    pub(crate) const fn symbol_octets(&self) -> usize {
        self.symbol_octets
    }

    pub(crate) const fn slot(&self, psn: Psn) -> usize {
        psn.value() as usize & (self.psns.len() - 1)
    }

    fn place(&self, slot: usize) -> core::ops::Range<usize> {
        slot * self.symbol_octets..(slot + 1) * self.symbol_octets
    }

    /// Stores the symbol of `payload`; false when it is too long, and then the slot is empty.
    pub(crate) fn put(&mut self, psn: Psn, payload: &[u8]) -> bool {
        let slot = self.slot(psn);
        let place = self.place(slot);
        let fits = self.symbols.get_mut(place).is_some_and(|symbol| write_symbol(payload, symbol));
        self.psns[slot] = if fits { psn.value() } else { EMPTY };
        fits
    }

    /// Stores a symbol that was decoded.
    pub(crate) fn put_symbol(&mut self, psn: Psn, symbol: &[u8]) {
        let slot = self.slot(psn);
        let place = self.place(slot);
        if let Some(place) = self.symbols.get_mut(place) {
            let (start, rest) = place.split_at_mut(symbol.len().min(self.symbol_octets));
            start.copy_from_slice(&symbol[..start.len()]);
            rest.fill(0);
            self.psns[slot] = psn.value();
        }
    }

    /// The first `octets` octets of the symbol of `psn`.
    pub(crate) fn get(&self, psn: Psn, octets: usize) -> Option<&[u8]> {
        let slot = self.slot(psn);
        let start = self.place(slot).start;
        (self.psns[slot] == psn.value())
            .then(|| self.symbols.get(start..start + octets.min(self.symbol_octets)))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_stay_until_the_ring_comes_round() {
        let mut ring = Ring::new(5, 32);
        assert_eq!(ring.window(), 8);
        let first = Psn::new(0x00ff_fffe);
        for n in 0..8 {
            assert!(ring.put(first.plus(n), &[n.to_le_bytes()[0] + 1; 20]));
        }
        assert_eq!(ring.get(first, 8), Some(&[0, 20, 1, 1, 1, 1, 1, 1][..]));
        assert_eq!(ring.get(first.plus(7), 4), Some(&[0, 20, 8, 8][..]));
        assert_eq!(ring.get(first.plus(8), 4), None);
        assert!(ring.put(first.plus(8), &[9; 16]));
        assert_eq!(ring.get(first, 8), None, "overwritten");
        assert!(!ring.put(first.plus(9), &[1; 31]), "longer than T - 2");
        assert_eq!(ring.get(first.plus(9), 8), None);
        ring.put_symbol(first.plus(9), &[5; 4]);
        assert_eq!(ring.get(first.plus(9), 6), Some(&[5, 5, 5, 5, 0, 0][..]));
    }
}
