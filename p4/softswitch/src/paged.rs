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
    #[inline]
    pub(crate) fn get(&self, index: u64) -> Option<&T> {
        let index = usize::try_from(index).ok().filter(|&i| i < self.size)?;
        match self.pages.get(index / PAGE) {
            Some(Some(page)) => page.get(index % PAGE),
            _ => Some(&self.zero),
        }
    }

    /// A cell to write; `None` beyond the array.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: u64) -> Option<&mut T> {
        let index = usize::try_from(index).ok().filter(|&i| i < self.size)?;
        let page = index / PAGE;
        if !matches!(self.pages.get(page), Some(Some(_))) {
            self.make(page);
        }
        self.pages.get_mut(page)?.as_mut()?.get_mut(index % PAGE)
    }

    #[cold]
    fn make(&mut self, page: usize) {
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        self.pages[page] = Some(vec![T::default(); PAGE].into());
    }

    pub(crate) fn clear(&mut self) {
        self.pages = Vec::new();
    }
}
