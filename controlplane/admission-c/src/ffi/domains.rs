//! Devices and routes. Their numbers are never 0.

use admission::{DeviceSpec, PeerId, RouteSpec};
use wire::units::Nanos;

use super::{OK, Out, adm_controller, handle};
use crate::failure::{Failure, fenced};
use crate::handle::{address, device, device_number, route, route_number};
use crate::types::adm_snapshot;

/// Opens a device with `count` addresses of 16 octets each (IPv4 as `::ffff:a.b.c.d`), by which Rate Advice names it.
///
/// # Safety
/// `addresses` is null or has `count` times 16 octets; the other pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_device_open(
    controller: *const adm_controller,
    addresses: *const u8,
    count: usize,
    now_ns: u64,
    opened: *mut u64,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        let out = Out::new(opened, "`opened`")?;
        if addresses.is_null() && count > 0 {
            return Err(Failure::null("`addresses`"));
        }
        let addresses = (0..count)
            .map(|index| {
                // SAFETY: `addresses` has `count` times 16 octets, of any alignment.
                address(unsafe { addresses.cast::<[u8; 16]>().add(index).read_unaligned() })
            })
            .collect();
        let id = handle.controller.open_device(DeviceSpec { addresses }, Nanos(now_ns))?;
        // SAFETY: the caller's promise.
        unsafe { out.set(device_number(id)) };
        Ok(OK)
    })
}

/// Closes a device.
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_device_close(controller: *const adm_controller, number: u64) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        unsafe { handle(controller)? }.controller.close_device(device(number))?;
        Ok(OK)
    })
}

/// The device was opened anew.
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_device_renew(controller: *const adm_controller, number: u64) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        unsafe { handle(controller)? }.controller.renew_device(device(number))?;
        Ok(OK)
    })
}

/// Isolates a device by decision of its owner.
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_device_isolate(
    controller: *const adm_controller,
    number: u64,
    now_ns: u64,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        unsafe { handle(controller)? }.controller.isolate_device(device(number), Nanos(now_ns))?;
        Ok(OK)
    })
}

/// The completion poller of the device ran.
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_device_polled(controller: *const adm_controller, number: u64) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        unsafe { handle(controller)? }.controller.polled(device(number));
        Ok(OK)
    })
}

/// The completion poller of the device was seen to stall in this epoch.
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_device_poller_stalled(controller: *const adm_controller, number: u64) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        unsafe { handle(controller)? }.controller.poller_stalled(device(number))?;
        Ok(OK)
    })
}

/// A device at this moment.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_device_snapshot(
    controller: *const adm_controller,
    number: u64,
    snapshot: *mut adm_snapshot,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        let out = Out::new(snapshot, "`snapshot`")?;
        let taken = handle.controller.device_snapshot(device(number))?;
        // SAFETY: the caller's promise.
        unsafe { out.set(taken.into()) };
        Ok(OK)
    })
}

/// Opens a route from a device's port (1 to 63) to a NIC of `peer`, any number that the transport chooses.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_route_open(
    controller: *const adm_controller,
    from: u64,
    port: u8,
    peer: u64,
    now_ns: u64,
    opened: *mut u64,
    generation: *mut u32,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        let (out, out_generation) = (Out::new(opened, "`opened`")?, Out::new(generation, "`generation`")?);
        let spec = RouteSpec { device: device(from), port, peer: PeerId(peer) };
        let (id, first) = handle.controller.open_route(spec, Nanos(now_ns))?;
        // SAFETY: the caller's promise.
        unsafe {
            out.set(route_number(id));
            out_generation.set(first.0);
        }
        Ok(OK)
    })
}

/// Closes a route.
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_route_close(controller: *const adm_controller, number: u64) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        unsafe { handle(controller)? }.controller.close_route(route(number))?;
        Ok(OK)
    })
}

/// The route's endpoint was made anew.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_route_renew(
    controller: *const adm_controller,
    number: u64,
    generation: *mut u32,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        let out = Out::new(generation, "`generation`")?;
        let renewed = handle.controller.renew_route(route(number))?;
        // SAFETY: the caller's promise.
        unsafe { out.set(renewed.0) };
        Ok(OK)
    })
}

/// The route starts at port `port` of device `to` from now on.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_route_hand_over(
    controller: *const adm_controller,
    number: u64,
    to: u64,
    port: u8,
    now_ns: u64,
    generation: *mut u32,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        let out = Out::new(generation, "`generation`")?;
        let renewed = handle.controller.hand_over(route(number), device(to), port, Nanos(now_ns))?;
        // SAFETY: the caller's promise.
        unsafe { out.set(renewed.0) };
        Ok(OK)
    })
}

/// A route at this moment.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_route_snapshot(
    controller: *const adm_controller,
    number: u64,
    snapshot: *mut adm_snapshot,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        let out = Out::new(snapshot, "`snapshot`")?;
        let taken = handle.controller.route_snapshot(route(number))?;
        // SAFETY: the caller's promise.
        unsafe { out.set(taken.into()) };
        Ok(OK)
    })
}
