//! The Rate Signal extension (SCONE, Rate Signal Bearer), alone and with a destination QP.

use super::{DecodeError, Unreadable, VERSION};
use crate::octets::Reader;
use crate::roce::{Bth, CNP_RESERVED_OCTETS, MASK_24};
use crate::units::MbitPerSec;

/// Octets of the extension in a data packet and in a CNP, and the Length there. Ours: Length counts the whole extension.
pub const RATE_SIGNAL_OCTETS: usize = 10;
/// Octets of the extension with a destination QP, and the Length there.
pub const FEEDBACK_OCTETS: usize = 14;

/// The bit of the BTH's seven reserved bits that says that an extension follows. Ours: the document gives no mark.
pub const SIGNAL_FOLLOWS: u8 = 0x01;

/// Whether an extension follows this BTH.
pub const fn signal_follows(bth: &Bth) -> bool {
    bth.reserved7 & SIGNAL_FOLLOWS != 0
}

//= SCONE, Rate Signal Bearer: 70564ad7
/// The extension: between the BTH and whatever else follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RateSignal {
    /// `RATE_SIGNAL`: its value isn't registered yet, the domain configures it.
    pub extension_type: u8,
    /// The advised rate; 0 is no advice.
    pub rate: MbitPerSec,
}

/// The extension with the optional Destination QP ID: a dedicated feedback packet, without a BTH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Feedback {
    /// The extension.
    pub signal: RateSignal,
    /// The QP at the addressee to which the rate applies, 24 bits.
    pub destination_qp: u32,
}

impl RateSignal {
    /// Reads the extension from the start of `octets`. Any type is accepted: which is the domain's, the caller knows.
    ///
    /// # Errors
    /// [`DecodeError`]: fewer than ten octets, another Length, or another version.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        Self::read(&mut Reader::new(octets), RATE_SIGNAL_OCTETS)
    }

    /// The same of an extension that stands in a packet: `octets` begin with its type and length.
    pub(crate) fn extension(octets: &[u8]) -> Result<Self, Unreadable> {
        let octet = |place: usize| octets.get(place).copied().unwrap_or_default();
        Self::decode(octets).map_err(|error| Unreadable { extension_type: octet(0), length: octet(1), error })
    }

    fn read(reader: &mut Reader<'_>, octets: usize) -> Result<Self, DecodeError> {
        let extension_type = reader.u8()?;
        let length = reader.u8()?;
        if usize::from(length) != octets {
            return Err(DecodeError::ExtensionLength { length, expected: length_octet(octets) });
        }
        let rate = MbitPerSec(reader.u32()?);
        let version = reader.u32()?;
        if version != VERSION {
            return Err(DecodeError::UnknownVersion { offset: 6, version });
        }
        Ok(Self { extension_type, rate })
    }

    /// The ten octets.
    pub fn to_octets(&self) -> [u8; RATE_SIGNAL_OCTETS] {
        self.with_length(RATE_SIGNAL_OCTETS)
    }

    fn with_length(self, octets: usize) -> [u8; RATE_SIGNAL_OCTETS] {
        let [r0, r1, r2, r3] = self.rate.0.to_be_bytes();
        let [v0, v1, v2, v3] = VERSION.to_be_bytes();
        [self.extension_type, length_octet(octets), r0, r1, r2, r3, v0, v1, v2, v3]
    }

    /// The extension at the start of a CNP's reserved octets; `None` in a CNP without advice. A zero where the type should
    /// stand is one: reserved octets are zero.
    ///
    /// # Errors
    /// [`Unreadable`]: what stands there has another Length, or another version.
    pub fn in_cnp(reserved: &[u8; CNP_RESERVED_OCTETS]) -> Result<Option<Self>, Unreadable> {
        let [extension_type, ..] = *reserved;
        if extension_type == 0 { Ok(None) } else { Self::extension(reserved).map(Some) }
    }

    /// The reserved octets of a CNP that carries this.
    pub fn to_cnp(&self) -> [u8; CNP_RESERVED_OCTETS] {
        let mut reserved = [0; CNP_RESERVED_OCTETS];
        if let Some(start) = reserved.first_chunk_mut() {
            *start = self.to_octets();
        }
        reserved
    }
}

impl Feedback {
    /// Reads the whole payload of a datagram. The reserved octet is ignored.
    ///
    /// # Errors
    /// [`DecodeError`]: another length, another Length, or another version.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(octets);
        let signal = RateSignal::read(&mut reader, FEEDBACK_OCTETS)?;
        let destination_qp = reader.u32()? & MASK_24;
        if octets.len() > FEEDBACK_OCTETS {
            return Err(DecodeError::DatagramLength { offset: FEEDBACK_OCTETS, available: octets.len() });
        }
        Ok(Self { signal, destination_qp })
    }

    /// The fourteen octets. Bits beyond the QP's 24 are cut off.
    pub fn to_octets(&self) -> [u8; FEEDBACK_OCTETS] {
        let mut octets = [0; FEEDBACK_OCTETS];
        let (signal, qp) = octets.split_at_mut(RATE_SIGNAL_OCTETS);
        signal.copy_from_slice(&self.signal.with_length(FEEDBACK_OCTETS));
        qp.copy_from_slice(&(self.destination_qp & MASK_24).to_be_bytes());
        octets
    }
}

/// 10 or 14.
#[expect(clippy::cast_possible_truncation, reason = "10 or 14")]
const fn length_octet(octets: usize) -> u8 {
    octets as u8
}
