//! The base transport header.

use super::{DecodeError, MASK_24, Opcode, Psn};
use crate::octets::Reader;

/// Octets of the base transport header.
pub const BTH_OCTETS: usize = 12;

/// The partition key of a fabric without partitions.
pub const DEFAULT_PARTITION_KEY: u16 = 0xffff;

/// The base transport header, with every bit of it.
///
/// Octets: opcode8; solicited1 migration1 pad2 version4; partition key16; FECN1 BECN1 reserved6; destination QP24;
/// acknowledge request1 reserved7; PSN24.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "the header has these five bits")]
pub struct Bth {
    /// What the packet is.
    pub opcode: Opcode,
    /// The receiver is asked to raise an event.
    pub solicited_event: bool,
    /// Migration state of the path; RoCE leaves it set.
    pub migration_request: bool,
    /// Octets of padding behind the payload, 0 to 3.
    pub pad_count: u8,
    /// Version of the transport header, four bits; 0 today.
    pub version: u8,
    /// The partition.
    pub partition_key: u16,
    /// Forward congestion notification. Outside the ICRC, like the seven bits after it.
    pub fecn: bool,
    /// Backward congestion notification; set in a CNP.
    pub becn: bool,
    /// The six reserved bits beside FECN and BECN.
    pub reserved6: u8,
    /// The queue pair at the receiver, 24 bits.
    pub destination_qp: u32,
    /// An acknowledgement is asked for.
    pub ack_request: bool,
    /// The seven reserved bits beside `AckReq`.
    pub reserved7: u8,
    /// The packet's number.
    pub psn: Psn,
}

impl Bth {
    /// A header with `opcode` toward `destination_qp`: default partition, no flag set, no padding.
    pub const fn new(opcode: Opcode, destination_qp: u32, psn: Psn) -> Self {
        Self {
            opcode,
            solicited_event: false,
            migration_request: true,
            pad_count: 0,
            version: 0,
            partition_key: DEFAULT_PARTITION_KEY,
            fecn: false,
            becn: false,
            reserved6: 0,
            destination_qp,
            ack_request: false,
            reserved7: 0,
            psn,
        }
    }

    /// Reads the header from the start of `octets`.
    ///
    /// # Errors
    /// [`DecodeError`] when there are fewer than twelve octets. Every value of every field is accepted.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(octets);
        let opcode = Opcode(reader.u8()?);
        let flags = reader.u8()?;
        let partition_key = reader.u16()?;
        let qp = reader.u32()?;
        let psn = reader.u32()?;
        let [congestion, ..] = qp.to_be_bytes();
        let [acknowledge, ..] = psn.to_be_bytes();
        Ok(Self {
            opcode,
            solicited_event: flags & 0x80 != 0,
            migration_request: flags & 0x40 != 0,
            pad_count: flags >> 4 & 0x3,
            version: flags & 0xf,
            partition_key,
            fecn: congestion & 0x80 != 0,
            becn: congestion & 0x40 != 0,
            reserved6: congestion & 0x3f,
            destination_qp: qp & MASK_24,
            ack_request: acknowledge & 0x80 != 0,
            reserved7: acknowledge & 0x7f,
            psn: Psn::new(psn),
        })
    }

    /// The twelve octets. Bits beyond a field's width are cut off.
    pub fn to_octets(&self) -> [u8; BTH_OCTETS] {
        let bit = |set: bool, mask: u8| if set { mask } else { 0 };
        let flags = bit(self.solicited_event, 0x80)
            | bit(self.migration_request, 0x40)
            | (self.pad_count & 0x3) << 4
            | self.version & 0xf;
        let congestion = bit(self.fecn, 0x80) | bit(self.becn, 0x40) | self.reserved6 & 0x3f;
        let acknowledge = bit(self.ack_request, 0x80) | self.reserved7 & 0x7f;
        let [key0, key1] = self.partition_key.to_be_bytes();
        let [_, qp0, qp1, qp2] = self.destination_qp.to_be_bytes();
        let [_, psn0, psn1, psn2] = self.psn.value().to_be_bytes();
        [self.opcode.0, flags, key0, key1, congestion, qp0, qp1, qp2, acknowledge, psn0, psn1, psn2]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_header_comes_back(octets in any::<[u8; BTH_OCTETS]>()) {
            prop_assert_eq!(Bth::decode(&octets).unwrap().to_octets(), octets);
        }
    }

    #[test]
    fn a_short_header_is_refused() {
        let error = Bth::decode(&[0; 11]).unwrap_err();
        assert_eq!(error, DecodeError { offset: 8, needed: 12, available: 11 });
    }
}
