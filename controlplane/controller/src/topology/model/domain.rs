//! What holds in the whole limited domain.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::Reports;

/// What holds in the whole limited domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// The three UDP ports.
    pub ports: DomainPorts,
    /// What each DSCP means; DSCPs that aren't listed have no role, class 0 and queue 0.
    pub dscp: Vec<DscpEntry>,
    /// Addresses that reports may come from: every switch's own (RDCC, Security Considerations).
    pub crn_addresses: BTreeSet<Ipv4Addr>,
    /// Likewise, of IPv6.
    pub crn_addresses_v6: BTreeSet<Ipv6Addr>,
    /// Traffic classes that PFC keeps from losing packets.
    pub lossless_classes: BTreeSet<u8>,
    /// Reports besides the congestion reports.
    pub reports: Reports,
}

/// The UDP ports of the three protocols. None has a default, by specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainPorts {
    /// RDCC's port.
    pub rdcc: u16,
    /// CREM's port.
    pub crem: u16,
    /// SCONE's port.
    pub scone: u16,
}

/// What a packet's DSCP says about its part in RDCC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Neither scheduled nor unscheduled: nobody is told about it.
    None,
    /// Data sent against credit; reports go to the receiver.
    Scheduled,
    /// Data sent ahead of credit; reports go to the sender.
    Unscheduled,
    /// Control datagrams and reports.
    Control,
}

impl Role {
    /// The number the P4 program knows the role by.
    pub const fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Scheduled => 1,
            Self::Unscheduled => 2,
            Self::Control => 3,
        }
    }

    /// The role's name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Scheduled => "scheduled",
            Self::Unscheduled => "unscheduled",
            Self::Control => "control",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One line of the DSCP map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DscpEntry {
    /// The codepoint, 0..=63.
    pub dscp: u8,
    /// What packets with it are.
    pub role: Role,
    /// Traffic class, 0..=7 (RDCC, Credit Allocation: lower first).
    pub class: u8,
    /// Queue, 0..=7; 7 is served first.
    pub queue: u8,
}
