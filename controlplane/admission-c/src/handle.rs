//! What an opaque handle of a controller holds.

use std::net::{IpAddr, Ipv6Addr};

use admission::table::PermitTable;
use admission::{Controller, DeviceId, Permit, RouteId};

use crate::failure::Failure;
use crate::types::adm_code;

/// A controller and the permits that C holds of it.
#[derive(Debug)]
pub struct Handle {
    pub(crate) controller: Controller,
    pub(crate) permits: PermitTable,
}

impl Handle {
    /// The permit of a number, settled by the caller; none for number 0, which a controller that is off gives.
    pub(crate) fn take(&self, number: u64) -> Result<Option<Permit<'_>>, Failure> {
        if number == 0 {
            return Ok(None);
        }
        self.permits.take(&self.controller, number).map(Some).ok_or_else(no_permit)
    }
}

pub(crate) fn no_permit() -> Failure {
    Failure::new(
        adm_code::ADM_HANDLE,
        "there is no such permit; it must be one that adm_try_acquire gave and that isn't settled yet",
    )
}

/// Numbers of devices and routes are one above the raw handle, so that 0 is none.
pub(crate) fn device(number: u64) -> DeviceId {
    DeviceId::from_raw(number.wrapping_sub(1))
}

pub(crate) fn route(number: u64) -> RouteId {
    RouteId::from_raw(number.wrapping_sub(1))
}

pub(crate) fn device_number(id: DeviceId) -> u64 {
    id.to_raw() + 1
}

pub(crate) fn route_number(id: RouteId) -> u64 {
    id.to_raw() + 1
}

/// An address of 16 octets; IPv4 as `::ffff:a.b.c.d`.
pub(crate) fn address(octets: [u8; 16]) -> IpAddr {
    IpAddr::V6(Ipv6Addr::from(octets)).to_canonical()
}
