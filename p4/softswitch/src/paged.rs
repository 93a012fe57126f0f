//! Arrays of cells whose memory appears page by page as it is written.

const PAGE: usize = 256;

/// `size` cells of `T`, all `T::default()` until written.
#[derive(Clone, Debug)]
pub(crate) struct Paged<T> {
    pages: Vec<Option<Box<[T]>>>,
    size: usize,
    zero: T,
}

impl<T: Clone + Default> Paged<T> {
    pub(crate) fn new(size: usize) -> Paged<T> {
        Paged { pages: Vec::new(), size, zero: T::default() }
    }

    /// A cell; `None` beyond the array.
    pub(crate) fn get(&self, index: u64) -> Option<&T> {
        let index = usize::try_from(index).ok().filter(|&i| i < self.size)?;
        match self.pages.get(index / PAGE) {
            Some(Some(page)) => page.get(index % PAGE),
            _ => Some(&self.zero),
        }
    }

    /// A cell to write; `None` beyond the array.
    pub(crate) fn get_mut(&mut self, index: u64) -> Option<&mut T> {
        let index = usize::try_from(index).ok().filter(|&i| i < self.size)?;
        let page = index / PAGE;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        let cells = self.pages[page].get_or_insert_with(|| vec![T::default(); PAGE].into());
        cells.get_mut(index % PAGE)
    }

    pub(crate) fn clear(&mut self) {
        self.pages = Vec::new();
    }
}
