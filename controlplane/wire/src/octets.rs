//! Reading big-endian fields in the order of a figure, with the offset at hand for errors.

/// The octets ended where a field should have stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Where the missing field would have started.
    pub offset: usize,
    /// How many octets it needs from there.
    pub needed: usize,
    /// How many octets there are in all.
    pub available: usize,
}

/// A cursor over octets; every read advances it by the width of the field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    octets: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(octets: &'a [u8]) -> Self {
        Self { octets, offset: 0 }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Ended> {
        match self.octets.get(self.offset..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(field) => {
                self.offset += N;
                Ok(*field)
            }
            None => Err(Ended { offset: self.offset, needed: N, available: self.octets.len() }),
        }
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Ended> {
        self.array().map(|[octet]: [u8; 1]| octet)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Ended> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Ended> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Ended> {
        self.array().map(u64::from_be_bytes)
    }

    /// Passes over a reserved field: the documents say that it is ignored on receipt.
    pub(crate) fn skip<const N: usize>(&mut self) -> Result<(), Ended> {
        self.array::<N>().map(|_| ())
    }
}
