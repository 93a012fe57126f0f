//! Rate Advice (SCONE, Payload Format), and which of the datagrams to the SCONE port is which.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{DecodeError, FEEDBACK_OCTETS, Feedback, VERSION};
use crate::octets::Reader;
use crate::units::MbitPerSec;

const IPV4_OCTETS: usize = 16;
const IPV6_OCTETS: usize = 28;

//= SCONE, Payload Format: d0a59170 475df380
/// The advised rate of everything that a source address sends (SCONE, Payload Format): 16 octets, or 28 with an IPv6
/// address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RateAdvice {
    /// The advised rate, shared by all active QPs of the source.
    pub rate: MbitPerSec,
    /// Whose rate it is: the path identifier.
    pub source: IpAddr,
}

/// A datagram to the SCONE port. The document gives it no type field: its length tells them apart (ours).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SconeDatagram {
    /// From a network element, or from another gateway.
    RateAdvice(RateAdvice),
    /// From the receiver of a QP's data.
    Feedback(Feedback),
}

impl RateAdvice {
    /// Reads the whole payload of a datagram. Reserved is ignored.
    ///
    /// # Errors
    /// [`DecodeError`]: neither 16 nor 28 octets, or another version.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let available = octets.len();
        let mut reader = Reader::new(octets);
        let version = reader.u32()?;
        if version != VERSION {
            return Err(DecodeError::UnknownVersion { offset: 0, version });
        }
        let rate = MbitPerSec(reader.u32()?);
        let source = match available {
            0..=IPV4_OCTETS => Ipv4Addr::from(reader.u32()?).into(),
            _ => Ipv6Addr::from(reader.array::<16>()?).into(),
        };
        reader.skip::<4>()?;
        match available {
            IPV4_OCTETS | IPV6_OCTETS => Ok(Self { rate, source }),
            _ => Err(DecodeError::DatagramLength { offset: IPV6_OCTETS, available }),
        }
    }

    /// The payload of a datagram that says this.
    pub fn to_octets(&self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(IPV6_OCTETS);
        octets.extend_from_slice(&VERSION.to_be_bytes());
        octets.extend_from_slice(&self.rate.0.to_be_bytes());
        match self.source {
            IpAddr::V4(source) => octets.extend_from_slice(&source.octets()),
            IpAddr::V6(source) => octets.extend_from_slice(&source.octets()),
        }
        octets.extend_from_slice(&[0; 4]);
        octets
    }
}

/// Reads a datagram to the SCONE port.
///
/// # Errors
/// [`DecodeError`]: of no message's length, another version, or an extension whose Length is wrong.
pub fn decode(octets: &[u8]) -> Result<SconeDatagram, DecodeError> {
    match octets.len() {
        FEEDBACK_OCTETS => Feedback::decode(octets).map(SconeDatagram::Feedback),
        IPV4_OCTETS | IPV6_OCTETS => RateAdvice::decode(octets).map(SconeDatagram::RateAdvice),
        available => {
            let lengths = [FEEDBACK_OCTETS, IPV4_OCTETS, IPV6_OCTETS];
            let offset = lengths.into_iter().rev().find(|&length| length < available).unwrap_or(available);
            Err(DecodeError::DatagramLength { offset, available })
        }
    }
}
