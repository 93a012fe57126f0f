//! Frames that enter, and the reports that must come out.
//!
//! [`data`] builds what hosts send: Ethernet, IP and UDP by etherparse, RoCEv2 by `wire`. [`reports`] writes the messages
//! that the switch must build octet by octet from the documents: nothing of them is shared with the crates that encode
//! for the endpoints, so an error there can't hide here. `tests/packets.rs` reads both with those crates.

pub mod data;
pub mod layers;
pub mod reports;

pub use data::{Data, Family, Mark, Roce, Signal, Sum, Where};
pub use layers::renew_ip_checksum;
pub use reports::{Advice, PathReport, Report};

/// The switch's own MAC address.
pub const ROUTER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];
/// What the switch calls itself in reports.
pub const REPORTER_ID: u32 = 77;
/// The address that reports come from.
pub const REPORTER_ADDRESS: [u8; 4] = [10, 255, 0, 1];
/// The address that reports about IPv6 come from, `fd00::ff01`.
pub const REPORTER_ADDRESS_6: u128 = 0xfd00 << 112 | 0xff01;
/// The domain's RDCC port.
pub const RDCC_PORT: u16 = 52100;
/// The domain's CREM port.
pub const CREM_PORT: u16 = 52101;
/// The domain's SCONE port.
pub const SCONE_PORT: u16 = 52102;
/// RoCEv2's UDP port.
pub const ROCE_PORT: u16 = 4791;
/// DSCP of scheduled data.
pub const SCHEDULED: u8 = 26;
/// DSCP of unscheduled data.
pub const UNSCHEDULED: u8 = 28;
/// DSCP of control datagrams and of reports.
pub const CONTROL: u8 = 48;
/// DSCP without a role.
pub const NO_ROLE: u8 = 0;

/// `10.0.0.N`.
#[must_use]
pub const fn host_address(host: u8) -> [u8; 4] {
    [10, 0, 0, host]
}

/// `fd00::N`.
#[must_use]
pub const fn host_address_6(host: u8) -> u128 {
    0xfd00 << 112 | host as u128
}

/// `02:00:00:00:00:N`.
#[must_use]
pub const fn host_mac(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, host]
}
