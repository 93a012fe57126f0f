//! `REPAIR`, Type 1.

use super::bitmap::Bitmap;
use super::codes::{Flags, MessageType, Scheme};
use super::decode_error::DecodeError;
use super::header::HEADER_OCTETS;
use crate::octets::Reader;
use crate::roce::Psn;

/// Octets before the bitmaps, the common header included.
pub const REPAIR_FIXED_OCTETS: usize = HEADER_OCTETS + 12;

/// Where k stands.
const K_OFFSET: usize = 10;

/// A repair symbol, or with the flag INFO the description of a block (CREM, Message Formats).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repair<'a> {
    /// The configuration that the block uses.
    pub config_id: u8,
    /// How the symbol was computed.
    pub scheme: Scheme,
    /// Positions of the block, 1 to 255.
    pub k: u8,
    /// The symbol's index; for Source Copy the position of the source.
    pub index: u8,
    /// The PSN of position 0.
    pub block_start: Psn,
    /// Zero for ordinary repair symbols.
    pub session_id: u16,
    /// Which positions carry a source packet.
    pub present: Bitmap,
    /// The set L of a coded retransmission; its presence is the flag RETX.
    pub lost: Option<Bitmap>,
    /// The symbol of T octets; empty only with the flag INFO.
    pub symbol: &'a [u8],
}

impl<'a> Repair<'a> {
    /// Length of the message in octets, header included; more than 65535 has no encoding.
    #[expect(clippy::len_without_is_empty, reason = "no message is empty")]
    pub fn len(&self) -> usize {
        let bitmaps = if self.lost.is_some() { 2 } else { 1 };
        REPAIR_FIXED_OCTETS + bitmaps * Bitmap::octets(self.k) + self.symbol.len()
    }

    /// The flags that follow from the contents; LAST is the caller's.
    pub(super) const fn flags(&self, flags: Flags) -> Flags {
        flags.set(Flags::RETX, self.lost.is_some()).set(Flags::INFO, self.symbol.is_empty())
    }

    pub(super) fn decode(whole: &'a [u8], body: &mut Reader<'_>, flags: Flags) -> Result<Self, DecodeError> {
        let (config_id, scheme, k, index) = (body.u8()?, Scheme(body.u8()?), body.u8()?, body.u8()?);
        if k == 0 {
            return Err(DecodeError::ZeroK { offset: K_OFFSET });
        }
        let block_start = Psn::new(body.u32()? >> 8);
        let session_id = body.u16()?;
        let symbol_length = body.u16()?;
        let info = flags.contains(Flags::INFO);
        if info != (symbol_length == 0) {
            return Err(DecodeError::SymbolAndInfo { symbol_length, info });
        }
        let bitmaps = if flags.contains(Flags::RETX) { 2 } else { 1 };
        let symbol_at = REPAIR_FIXED_OCTETS + bitmaps * Bitmap::octets(k);
        let expected = symbol_at + usize::from(symbol_length);
        if expected != whole.len() {
            return Err(DecodeError::LengthMismatch {
                message_type: MessageType::REPAIR,
                length: u16::try_from(whole.len()).unwrap_or(u16::MAX),
                expected,
            });
        }
        let present = Bitmap::decode(body, k)?;
        let lost = if bitmaps == 2 { Some(Bitmap::decode(body, k)?) } else { None };
        let symbol = whole.get(symbol_at..).unwrap_or_default();
        Ok(Self { config_id, scheme, k, index, block_start, session_id, present, lost, symbol })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.config_id, self.scheme.0, self.k, self.index]);
        out.extend_from_slice(&(self.block_start.value() << 8).to_be_bytes());
        out.extend_from_slice(&self.session_id.to_be_bytes());
        out.extend_from_slice(&u16::try_from(self.symbol.len()).unwrap_or(u16::MAX).to_be_bytes());
        self.present.encode(self.k, out);
        if let Some(lost) = self.lost {
            lost.encode(self.k, out);
        }
        out.extend_from_slice(self.symbol);
    }
}
