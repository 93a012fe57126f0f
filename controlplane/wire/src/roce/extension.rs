//! The extension headers: RETH, AETH and immediate data.

use super::{DecodeError, MASK_24};
use crate::octets::Reader;
use crate::units::Micros;

/// Octets of [`Reth`].
pub const RETH_OCTETS: usize = 16;
/// Octets of [`Aeth`].
pub const AETH_OCTETS: usize = 4;
/// Octets of [`ImmDt`].
pub const IMM_DT_OCTETS: usize = 4;
/// Reserved octets behind the base header of a CNP, before the ICRC.
pub const CNP_RESERVED_OCTETS: usize = 16;

/// RDMA extended transport header: where a WRITE goes, where a READ comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reth {
    /// Address in the responder's memory.
    pub virtual_address: u64,
    /// Key of that memory.
    pub remote_key: u32,
    /// Octets of the whole message.
    pub dma_length: u32,
}

impl Reth {
    /// Reads the header from the start of `octets`.
    ///
    /// # Errors
    /// [`DecodeError`] when there are fewer than sixteen octets.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(octets);
        Ok(Self { virtual_address: reader.u64()?, remote_key: reader.u32()?, dma_length: reader.u32()? })
    }

    /// The sixteen octets.
    pub fn to_octets(&self) -> [u8; RETH_OCTETS] {
        let [a0, a1, a2, a3, a4, a5, a6, a7] = self.virtual_address.to_be_bytes();
        let [k0, k1, k2, k3] = self.remote_key.to_be_bytes();
        let [l0, l1, l2, l3] = self.dma_length.to_be_bytes();
        [a0, a1, a2, a3, a4, a5, a6, a7, k0, k1, k2, k3, l0, l1, l2, l3]
    }
}

/// ACK extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Aeth {
    /// What is acknowledged, or refused.
    pub syndrome: Syndrome,
    /// The responder's count of completed messages, 24 bits.
    pub msn: u32,
}

impl Aeth {
    /// Reads the header from the start of `octets`.
    ///
    /// # Errors
    /// [`DecodeError`] when there are fewer than four octets.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let word = Reader::new(octets).u32()?;
        let [syndrome, ..] = word.to_be_bytes();
        Ok(Self { syndrome: Syndrome::from_octet(syndrome), msn: word & MASK_24 })
    }

    /// The four octets. Bits beyond a field's width are cut off.
    pub fn to_octets(&self) -> [u8; AETH_OCTETS] {
        let [_, m0, m1, m2] = self.msn.to_be_bytes();
        [self.syndrome.to_octet(), m0, m1, m2]
    }
}

/// The syndrome octet of an AETH: three bits of kind, five of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syndrome {
    /// A positive acknowledgement.
    Ack {
        /// End-to-end credit, as a code; [`Syndrome::NO_CREDIT_LIMIT`] where credits aren't used.
        credit: u8,
    },
    /// The receiver isn't ready.
    RnrNak {
        /// The time to wait, as a code.
        timer: u8,
    },
    /// A negative acknowledgement.
    Nak(NakCode),
    /// A kind that isn't defined, as the octet stands.
    Reserved(u8),
}

impl Syndrome {
    /// How long a receiver that isn't ready asks to wait, by its code.
    pub fn rnr_wait(timer: u8) -> Micros {
        Micros(RNR_WAITS.get(usize::from(timer & 0x1f)).copied().unwrap_or_default() * 10)
    }

    /// The credit code of a responder that doesn't limit by credits.
    pub const NO_CREDIT_LIMIT: u8 = 0x1f;

    /// The meaning of the octet.
    pub const fn from_octet(octet: u8) -> Self {
        let value = octet & 0x1f;
        match octet >> 5 {
            0b000 => Self::Ack { credit: value },
            0b001 => Self::RnrNak { timer: value },
            0b011 => Self::Nak(NakCode(value)),
            _ => Self::Reserved(octet),
        }
    }

    /// The octet. Bits beyond the value's five are cut off.
    pub const fn to_octet(self) -> u8 {
        match self {
            Self::Ack { credit } => credit & 0x1f,
            Self::RnrNak { timer } => 0b0010_0000 | timer & 0x1f,
            Self::Nak(NakCode(code)) => 0b0110_0000 | code & 0x1f,
            Self::Reserved(octet) => octet,
        }
    }
}

/// The times of RNR timers, in units of 10 us.
const RNR_WAITS: [u32; 32] = [
    65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
    3072, 4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 49_152,
];

/// Why a responder refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NakCode(pub u8);

impl NakCode {
    /// A packet is missing before this one.
    pub const PSN_SEQUENCE_ERROR: Self = Self(0);
    /// The request makes no sense here.
    pub const INVALID_REQUEST: Self = Self(1);
    /// The memory may not be accessed so.
    pub const REMOTE_ACCESS_ERROR: Self = Self(2);
    /// The responder failed.
    pub const REMOTE_OPERATIONAL_ERROR: Self = Self(3);
    /// The request belongs to a kind of service that isn't offered.
    pub const INVALID_RD_REQUEST: Self = Self(4);
}

/// Immediate data: 32 bits that the receiver's completion carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ImmDt(pub u32);

impl ImmDt {
    /// Reads the header from the start of `octets`.
    ///
    /// # Errors
    /// [`DecodeError`] when there are fewer than four octets.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self(Reader::new(octets).u32()?))
    }

    /// The four octets.
    pub const fn to_octets(self) -> [u8; IMM_DT_OCTETS] {
        self.0.to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_extension_comes_back(octets in any::<[u8; RETH_OCTETS]>()) {
            let [a, b, c, d, ..] = octets;
            prop_assert_eq!(Reth::decode(&octets).unwrap().to_octets(), octets);
            prop_assert_eq!(Aeth::decode(&octets).unwrap().to_octets(), [a, b, c, d]);
            prop_assert_eq!(ImmDt::decode(&octets).unwrap().to_octets(), [a, b, c, d]);
        }
    }

    #[test]
    fn rnr_timers_are_those_of_the_specification() {
        let expected = [(0, 655_360), (1, 10), (5, 60), (12, 640), (31, 491_520), (33, 10)];
        for (timer, micros) in expected {
            assert_eq!(Syndrome::rnr_wait(timer), Micros(micros), "{timer}");
        }
    }

    #[test]
    fn syndromes() {
        assert_eq!(Syndrome::from_octet(0x1f), Syndrome::Ack { credit: Syndrome::NO_CREDIT_LIMIT });
        assert_eq!(Syndrome::from_octet(0x60), Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR));
        assert_eq!(Syndrome::from_octet(0x21), Syndrome::RnrNak { timer: 1 });
        assert_eq!(Syndrome::from_octet(0x80), Syndrome::Reserved(0x80));
    }
}
