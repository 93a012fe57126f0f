//! All headers of a packet together.

use core::ops::{Deref, DerefMut};

use super::{
    AETH_OCTETS, Aeth, BTH_OCTETS, Bth, CNP_RESERVED_OCTETS, DecodeError, IMM_DT_OCTETS, ImmDt, Opcode,
    RETH_OCTETS, Reth,
};
use crate::scone::{RATE_SIGNAL_OCTETS, RateSignal, SIGNAL_FOLLOWS, Unreadable, signal_follows};

/// Octets of the most headers that one packet has: BTH, Rate Signal, RETH and immediate data.
pub const MAX_HEADERS_OCTETS: usize = BTH_OCTETS + RATE_SIGNAL_OCTETS + RETH_OCTETS + IMM_DT_OCTETS;

/// The base transport header and what follows it before the payload, in wire order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The base transport header.
    pub bth: Bth,
    /// SCONE's extension, where the base header says that one follows.
    pub rate_signal: Option<RateSignal>,
    /// An extension that is no Rate Signal of version 1: it is passed over by its Length, and isn't written again.
    pub unreadable: Option<Unreadable>,
    /// Where the opcode has one.
    pub reth: Option<Reth>,
    /// Where the opcode has one.
    pub aeth: Option<Aeth>,
    /// Where the opcode has one.
    pub immediate: Option<ImmDt>,
}

/// Why the headers can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadersError {
    /// The packet ends inside them.
    #[error(transparent)]
    TooShort(#[from] DecodeError),
    /// An extension that would be shorter than its first two octets.
    #[error("octet 13: an extension of length {length}; it should be at least 2, its type and length octets")]
    ExtensionLength {
        /// The length octet.
        length: u8,
    },
}

impl Headers {
    /// A packet of which the base header is all.
    pub const fn new(bth: Bth) -> Self {
        Self { bth, rate_signal: None, unreadable: None, reth: None, aeth: None, immediate: None }
    }

    /// Reads the headers from the start of a UDP payload. Gives them and their octets.
    ///
    /// # Errors
    /// [`HeadersError`]: the packet ends inside them, or an extension has no possible length.
    pub fn decode(octets: &[u8]) -> Result<(Self, usize), HeadersError> {
        let bth = Bth::decode(octets)?;
        let mut at = BTH_OCTETS;
        let (mut rate_signal, mut unreadable) = (None, None);
        if signal_follows(&bth) {
            let length = *rest(octets, at, 2)?.get(1).unwrap_or(&0);
            if length < 2 {
                return Err(HeadersError::ExtensionLength { length });
            }
            match RateSignal::extension(rest(octets, at, length.into())?) {
                Ok(signal) => rate_signal = Some(signal),
                Err(error) => unreadable = Some(error),
            }
            at += usize::from(length);
        }
        let mut headers = Self { rate_signal, unreadable, ..Self::new(bth) };
        if bth.opcode.has_reth() {
            headers.reth = Some(Reth::decode(rest(octets, at, RETH_OCTETS)?)?);
            at += RETH_OCTETS;
        }
        if bth.opcode.has_aeth() {
            headers.aeth = Some(Aeth::decode(rest(octets, at, AETH_OCTETS)?)?);
            at += AETH_OCTETS;
        }
        if bth.opcode.has_immediate() {
            headers.immediate = Some(ImmDt::decode(rest(octets, at, IMM_DT_OCTETS)?)?);
            at += IMM_DT_OCTETS;
        }
        Ok((headers, at))
    }

    /// The octets of all headers that are there. The base header says that an extension follows just when there is a
    /// Rate Signal.
    pub fn to_octets(&self) -> HeadersOctets {
        let mut octets = HeadersOctets { octets: [0; MAX_HEADERS_OCTETS], length: 0 };
        let reserved7 = match self.rate_signal {
            Some(_) => self.bth.reserved7 | SIGNAL_FOLLOWS,
            None => self.bth.reserved7 & !SIGNAL_FOLLOWS,
        };
        octets.push(&Bth { reserved7, ..self.bth }.to_octets());
        if let Some(signal) = self.rate_signal {
            octets.push(&signal.to_octets());
        }
        if let Some(reth) = self.reth {
            octets.push(&reth.to_octets());
        }
        if let Some(aeth) = self.aeth {
            octets.push(&aeth.to_octets());
        }
        if let Some(immediate) = self.immediate {
            octets.push(&immediate.to_octets());
        }
        octets
    }
}

/// `needed` octets from `at` on are there; gives all from there.
fn rest(octets: &[u8], at: usize, needed: usize) -> Result<&[u8], DecodeError> {
    let available = octets.len();
    octets.get(at..).filter(|rest| rest.len() >= needed).ok_or(DecodeError {
        offset: at,
        needed: at + needed,
        available,
    })
}

/// The octets of a packet's headers, held in place. Derefs to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadersOctets {
    octets: [u8; MAX_HEADERS_OCTETS],
    length: usize,
}

impl HeadersOctets {
    /// A CNP: a base header and sixteen reserved octets, zero.
    pub fn cnp(bth: &Bth) -> Self {
        let mut octets = Headers::new(Bth { opcode: Opcode::CNP, ..*bth }).to_octets();
        octets.push(&[0; CNP_RESERVED_OCTETS]);
        octets
    }

    fn push(&mut self, field: &[u8]) {
        let end = self.length + field.len();
        if let Some(place) = self.octets.get_mut(self.length..end) {
            place.copy_from_slice(field);
            self.length = end;
        }
    }
}

impl Deref for HeadersOctets {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.octets.get(..self.length).unwrap_or(&self.octets)
    }
}

impl DerefMut for HeadersOctets {
    fn deref_mut(&mut self) -> &mut [u8] {
        let length = self.length.min(MAX_HEADERS_OCTETS);
        let (headers, _) = self.octets.split_at_mut(length);
        headers
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn headers_that_decode_come_back(octets in prop::collection::vec(any::<u8>(), 0..60), opcode in 0u8..0x15) {
            let mut octets = octets;
            if let Some(first) = octets.first_mut() {
                *first = opcode;
            }
            if let Ok((headers, length)) = Headers::decode(&octets) {
                prop_assert!(length <= octets.len());
                let again = headers.to_octets();
                prop_assert_eq!(Headers::decode(&again), Ok((headers.stripped(), again.len())));
                if !signal_follows(&headers.bth) || headers.rate_signal.is_some() {
                    prop_assert_eq!(&again[..], &octets[..length]);
                }
            }
        }

        #[test]
        fn a_rate_signal_stands_behind_the_base_header(opcode in 0u8..0x15, rate in any::<u32>()) {
            let signal = RateSignal { extension_type: 3, rate: crate::units::MbitPerSec(rate) };
            let mut octets = Bth::new(Opcode(opcode), 1, super::super::Psn::new(2)).to_octets().to_vec();
            octets.extend([7; RETH_OCTETS + IMM_DT_OCTETS]);
            let (plain, length) = Headers::decode(&octets).unwrap();
            let with = Headers { rate_signal: Some(signal), ..plain }.to_octets();
            prop_assert_eq!(with.len(), length + RATE_SIGNAL_OCTETS);
            prop_assert_eq!(&with[BTH_OCTETS..BTH_OCTETS + RATE_SIGNAL_OCTETS], signal.to_octets());
            prop_assert_eq!(&with[BTH_OCTETS + RATE_SIGNAL_OCTETS..], &octets[BTH_OCTETS..length]);
            let (back, _) = Headers::decode(&with).unwrap();
            prop_assert_eq!(back.rate_signal, Some(signal));
        }
    }

    impl Headers {
        /// Without the mark of an extension that was passed over.
        fn stripped(mut self) -> Self {
            if self.rate_signal.is_none() {
                self.unreadable = None;
                self.bth.reserved7 &= !SIGNAL_FOLLOWS;
            }
            self
        }
    }

    #[test]
    fn what_is_missing_is_said_with_its_place() {
        let write = Bth::new(Opcode::WRITE_ONLY_IMMEDIATE, 1, super::super::Psn::new(0));
        let octets =
            Headers { reth: Some(Reth::default()), immediate: Some(ImmDt(5)), ..Headers::new(write) }
                .to_octets();
        assert_eq!(octets.len(), 32);
        let error = Headers::decode(&octets[..31]).unwrap_err();
        assert_eq!(error, DecodeError { offset: 28, needed: 32, available: 31 }.into());
        let extended = Bth { reserved7: SIGNAL_FOLLOWS, ..write }.to_octets();
        let error = Headers::decode(&[&extended[..], &[9, 1]].concat()).unwrap_err();
        assert_eq!(error, HeadersError::ExtensionLength { length: 1 });
        let error = Headers::decode(&[&extended[..], &[9, 10, 0]].concat()).unwrap_err();
        assert_eq!(error, DecodeError { offset: 12, needed: 22, available: 15 }.into());
        // Of an extension that isn't ours, only the length matters.
        let other = [&extended[..], &[9, 4, 0, 0], &[0; 20]].concat();
        let (headers, length) = Headers::decode(&other).unwrap();
        assert_eq!((headers.rate_signal, length), (None, 12 + 4 + 20));
        let unreadable = headers.unreadable.unwrap();
        assert_eq!((unreadable.extension_type, unreadable.length), (9, 4));
        let text = "extension of type 0x09: octet 1: length 4; it should be 10, the octets of the extension";
        assert_eq!(unreadable.to_string(), text);
    }

    #[test]
    fn a_cnp_has_sixteen_octets_behind_its_header() {
        let cnp = HeadersOctets::cnp(&Bth::new(Opcode::WRITE_ONLY, 7, super::super::Psn::new(0)));
        assert_eq!((cnp.len(), cnp[0], &cnp[BTH_OCTETS..]), (28, 0x81, &[0; 16][..]));
    }
}
