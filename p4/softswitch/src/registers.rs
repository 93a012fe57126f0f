//! Register arrays. Cells of one word stand in pages of one list, where native code finds them too; memory appears page
//! by page as it is written. Wider cells, and arrays beyond what is worth a list of pages, are kept apart.

use crate::num::{index, size32};
use crate::paged::Paged;
use crate::program::RegisterArray;

/// Words of a page.
const PAGE: usize = 256;
const _: () = assert!(PAGE as u64 == jit::PAGE);

/// Pages that the arrays in the list may have together: 2^24 cells.
const MOST_PAGES: u32 = 1 << 16;

/// Of each array the number of its first page in the list, if it is there; and how many pages there are.
pub(crate) fn pages(arrays: &[RegisterArray]) -> (Vec<Option<u32>>, u32) {
    let mut used = 0u32;
    let place = |a: &RegisterArray| {
        let needed = u32::try_from(a.size.div_ceil(PAGE)).ok().filter(|_| a.width <= 64)?;
        let first = used;
        used = first.checked_add(needed).filter(|&all| all <= MOST_PAGES).unwrap_or(used);
        (used == first + needed).then_some(first)
    };
    let places = arrays.iter().map(place).collect();
    (places, used)
}

#[derive(Clone, Debug)]
struct Array {
    first_page: Option<u32>,
    /// Its cells otherwise, those of more than 64 bits several words side by side.
    apart: Paged<u64>,
    size: u64,
    width: usize,
    limbs: u64,
}

/// All register arrays of a switch.
#[derive(Clone, Debug)]
pub(crate) struct Registers {
    arrays: Vec<Array>,
    /// Where each page starts in the words; 0: nothing has been written to it.
    pub pages: Vec<u32>,
    /// The first page stands for those that nothing has been written to: zeros.
    pub words: Vec<u64>,
}

impl Registers {
    pub(crate) fn new(arrays: &[RegisterArray]) -> Registers {
        let (places, n) = pages(arrays);
        let array = |(a, first_page): (&RegisterArray, Option<u32>)| {
            let limbs = a.width.div_ceil(64);
            let apart = Paged::new(if first_page.is_some() { 0 } else { a.size.saturating_mul(limbs) });
            Array { first_page, apart, size: a.size as u64, width: a.width, limbs: limbs as u64 }
        };
        Registers {
            arrays: arrays.iter().zip(places).map(array).collect(),
            pages: vec![0; n as usize],
            words: vec![0; PAGE],
        }
    }

    /// Bits of an array's cells.
    pub(crate) fn width(&self, array: usize) -> usize {
        self.arrays[array].width
    }

    /// Words of an array's cells.
    pub(crate) fn limbs(&self, array: usize) -> usize {
        index(self.arrays[array].limbs)
    }

    /// Whether the array has such a cell.
    pub(crate) fn has(&self, array: usize, cell: u64) -> bool {
        cell < self.arrays[array].size
    }

    /// A cell of one word; `None` beyond the array.
    #[inline]
    pub(crate) fn get(&self, array: u32, cell: u64) -> Option<u64> {
        let a = &self.arrays[array as usize];
        if cell >= a.size {
            return None;
        }
        let Some(first) = a.first_page else { return a.apart.get(cell).copied() };
        let cell = index(cell);
        let start = self.pages[first as usize + cell / PAGE] as usize;
        Some(self.words[start + cell % PAGE])
    }

    /// Writes a cell of one word; beyond the array, nothing happens.
    #[inline]
    pub(crate) fn set(&mut self, array: u32, cell: u64, word: u64) {
        let a = &mut self.arrays[array as usize];
        if cell >= a.size {
            return;
        }
        let Some(first) = a.first_page else {
            if let Some(place) = a.apart.get_mut(cell) {
                *place = word;
            }
            return;
        };
        let cell = index(cell);
        let page = &mut self.pages[first as usize + cell / PAGE];
        if *page == 0 {
            *page = size32(self.words.len());
            self.words.resize(self.words.len() + PAGE, 0);
        }
        let start = *page as usize;
        self.words[start + cell % PAGE] = word;
    }

    /// A word of a cell, the lowest is 0; zero beyond the array and beyond the cell.
    pub(crate) fn limb(&self, array: usize, cell: u64, limb: usize) -> u64 {
        let a = &self.arrays[array];
        if cell >= a.size || limb as u64 >= a.limbs {
            return 0;
        }
        match a.first_page {
            Some(_) => self.get(size32(array), cell).unwrap_or(0),
            None => a.apart.get(cell * a.limbs + limb as u64).copied().unwrap_or(0),
        }
    }

    /// Writes a word of a cell; beyond the array and beyond the cell, nothing happens.
    pub(crate) fn set_limb(&mut self, array: usize, cell: u64, limb: usize, word: u64) {
        let a = &mut self.arrays[array];
        if cell >= a.size || limb as u64 >= a.limbs {
            return;
        }
        if a.first_page.is_some() {
            self.set(size32(array), cell, word);
        } else if let Some(place) = a.apart.get_mut(cell * a.limbs + limb as u64) {
            *place = word;
        }
    }

    /// All cells of an array become zero.
    pub(crate) fn clear(&mut self, array: usize) {
        let a = &mut self.arrays[array];
        a.apart.clear();
        let Some(first) = a.first_page else { return };
        let first = first as usize;
        for &start in &self.pages[first..first + index(a.size).div_ceil(PAGE)] {
            if start != 0 {
                self.words[start as usize..start as usize + PAGE].fill(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(size: usize, width: usize) -> RegisterArray {
        RegisterArray { size, width }
    }

    #[test]
    fn cells_are_kept_wherever_their_array_is() {
        let mut registers =
            Registers::new(&[array(300, 64), array(1 << 28, 8), array(4, 100), array(0, 1), array(300, 9)]);
        assert_eq!(registers.pages.len(), 4);
        for (a, cell) in [(0, 0), (0, 299), (1, 0), (1, (1 << 28) - 1), (4, 256)] {
            assert_eq!(registers.get(a, cell), Some(0));
            registers.set(a, cell, cell + 7);
            assert_eq!(registers.get(a, cell), Some(cell + 7), "{a} {cell}");
            assert_eq!(registers.limb(a as usize, cell, 0), cell + 7);
        }
        registers.set_limb(2, 3, 1, 5);
        assert_eq!((registers.limb(2, 3, 0), registers.limb(2, 3, 1), registers.limb(2, 3, 2)), (0, 5, 0));
        registers.clear(0);
        assert_eq!((registers.get(0, 299), registers.get(4, 256)), (Some(0), Some(263)));
        assert_eq!(registers.words[..PAGE], [0; PAGE], "the page of zeros");
    }

    #[test]
    fn beyond_an_array_there_is_nothing() {
        let mut registers = Registers::new(&[array(256, 64), array(3, 64)]);
        for (a, cell) in [(0, 256), (1, 3), (1, u64::MAX)] {
            registers.set(a, cell, 1);
            assert_eq!(registers.get(a, cell), None);
        }
        assert_eq!(registers.words.len(), PAGE);
    }
}
