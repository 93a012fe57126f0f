//! Source and destination of a flow, as the messages about flows carry them.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::octets::{Ended, Reader};

/// AF of a message about IPv4 packets.
pub const AF_IPV4: u8 = 4;

/// AF of a message about IPv6 packets.
pub const AF_IPV6: u8 = 6;

/// Source and destination of a packet or flow, both of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowAddresses {
    /// AF 4.
    V4 {
        /// Source address of the packet.
        source: Ipv4Addr,
        /// Destination address of the packet.
        destination: Ipv4Addr,
    },
    /// AF 6.
    V6 {
        /// Source address of the packet.
        source: Ipv6Addr,
        /// Destination address of the packet.
        destination: Ipv6Addr,
    },
}

impl FlowAddresses {
    /// The pair, if both are of one family.
    pub const fn new(source: IpAddr, destination: IpAddr) -> Option<Self> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Self::V4 { source, destination }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Self::V6 { source, destination }),
            _ => None,
        }
    }

    /// The AF octet.
    pub const fn af(&self) -> u8 {
        match self {
            Self::V4 { .. } => AF_IPV4,
            Self::V6 { .. } => AF_IPV6,
        }
    }

    /// Octets of both addresses on the wire: 8 or 32.
    pub const fn octets(&self) -> usize {
        match self {
            Self::V4 { .. } => 8,
            Self::V6 { .. } => 32,
        }
    }

    /// Source address of the packet.
    pub const fn source(&self) -> IpAddr {
        match self {
            Self::V4 { source, .. } => IpAddr::V4(*source),
            Self::V6 { source, .. } => IpAddr::V6(*source),
        }
    }

    /// Destination address of the packet.
    pub const fn destination(&self) -> IpAddr {
        match self {
            Self::V4 { destination, .. } => IpAddr::V4(*destination),
            Self::V6 { destination, .. } => IpAddr::V6(*destination),
        }
    }

    /// Reads two addresses of the family `af`; `None` when there is no such family.
    pub(crate) fn decode(body: &mut Reader<'_>, af: u8) -> Result<Option<Self>, Ended> {
        Ok(match af {
            AF_IPV4 => {
                let source = Ipv4Addr::from(body.array()?);
                Some(Self::V4 { source, destination: Ipv4Addr::from(body.array()?) })
            }
            AF_IPV6 => {
                let source = Ipv6Addr::from(body.array::<16>()?);
                Some(Self::V6 { source, destination: Ipv6Addr::from(body.array::<16>()?) })
            }
            _ => None,
        })
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::V4 { source, destination } => {
                out.extend_from_slice(&source.octets());
                out.extend_from_slice(&destination.octets());
            }
            Self::V6 { source, destination } => {
                out.extend_from_slice(&source.octets());
                out.extend_from_slice(&destination.octets());
            }
        }
    }
}
