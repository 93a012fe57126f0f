//! Controllers: configuration, making, epochs, notices.

use std::ffi::c_char;

use admission::state::State;
use admission::table::PermitTable;
use admission::{Capacity, Config, Controller, Notice, Subject, What};
use wire::units::Nanos;

use super::{OK, Out, adm_controller, get, handle};
use crate::failure::{Failure, fenced, last};
use crate::handle::{Handle, device_number, route_number};
use crate::types::{adm_capacity, adm_code, adm_config, adm_notice};

/// The text of this thread's last failure, up to `size` octets with the closing zero. Returns its length without that zero.
///
/// # Safety
/// `buffer` is null or has `size` octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_last_error(buffer: *mut c_char, size: usize) -> usize {
    let text = last();
    if !buffer.is_null() && size > 0 {
        let length = text.len().min(size - 1);
        // SAFETY: `buffer` has `size` octets, and `length` is below that.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), buffer, length);
            buffer.add(length).write(0);
        }
    }
    text.len()
}

/// Fills `config` with the defaults: off.
///
/// # Safety
/// `config` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_config_default(config: *mut adm_config) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        unsafe { Out::new(config, "`config`")?.set(Config::default().into()) };
        Ok(OK)
    })
}

/// Fills `config` from the environment of the process (`MC_ADAPTIVE_CC_*`, `MC_ADAPTIVE_CONGESTION_CONTROL_*`). On a failure
/// it holds the defaults: off.
///
/// # Safety
/// `config` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_config_from_environment(config: *mut adm_config) -> i32 {
    fenced(|| {
        let out = Out::new(config, "`config`")?;
        let read = admission::from_environment(std::env::vars_os());
        // SAFETY: the caller's promise.
        unsafe { out.set(read.clone().unwrap_or_default().into()) };
        read?;
        Ok(OK)
    })
}

/// Makes a controller; `capacity` may be null for the defaults. On a failure `*controller` is null.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_controller_new(
    config: *const adm_config,
    capacity: *const adm_capacity,
    controller: *mut *mut adm_controller,
) -> i32 {
    fenced(|| {
        let out = Out::new(controller, "`controller`")?;
        // SAFETY: the caller's promise, checked not null.
        unsafe { controller.write(std::ptr::null_mut()) };
        // SAFETY: the caller's promise.
        let config = unsafe { get(config, "`config`")? };
        let config = config.to_config().ok_or_else(|| {
            Failure::new(adm_code::ADM_CONFIG, format!("mode {} must be 0, 1 or 2", config.mode))
        })?;
        let defaults = Capacity::default();
        // SAFETY: the caller's promise.
        let capacity = unsafe { capacity.as_ref() }.copied().unwrap_or(adm_capacity {
            devices: defaults.devices,
            routes: defaults.routes,
            permits: 65_536,
        });
        let (devices, routes) = (capacity.devices, capacity.routes);
        let made = Handle {
            controller: Controller::new(config, Capacity { devices, routes })?,
            permits: PermitTable::new(capacity.permits),
        };
        // SAFETY: the caller's promise.
        unsafe { out.set(Box::into_raw(Box::new(adm_controller(made)))) };
        Ok(OK)
    })
}

/// Frees a controller; null is allowed. No other call may use it any more.
///
/// # Safety
/// Null, or a controller that isn't freed and that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_controller_free(controller: *mut adm_controller) {
    if !controller.is_null() {
        fenced(|| {
            // SAFETY: the caller's promise: made by `adm_controller_new`, not freed yet.
            drop(unsafe { Box::from_raw(controller) });
            Ok(OK)
        });
    }
}

/// The end of a control epoch at `now_ns`, which counts from any origin.
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_tick(controller: *const adm_controller, now_ns: u64) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        unsafe { handle(controller)? }.controller.tick(Nanos(now_ns));
        Ok(OK)
    })
}

/// The next notice. Returns 1 when there was one, 0 when there is none.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_poll_notice(controller: *const adm_controller, notice: *mut adm_notice) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        let out = Out::new(notice, "`notice`")?;
        let Some(told) = handle.controller.poll_notice() else { return Ok(0) };
        // SAFETY: the caller's promise.
        unsafe { out.set(flat(told)) };
        Ok(1)
    })
}

fn flat(notice: Notice) -> adm_notice {
    let blank = adm_notice { at_ns: notice.at.0, ..adm_notice::default() };
    let change =
        |kind, from: State, to: State| adm_notice { kind, from: from as u32, to: to as u32, ..blank };
    match notice.what {
        What::Changed { subject: Subject::Route(id), from, to, .. } => {
            adm_notice { route: route_number(id), ..change(1, from, to) }
        }
        What::Changed { subject: Subject::Device(id), from, to, .. } => {
            adm_notice { device: device_number(id), ..change(2, from, to) }
        }
        What::NoUsableRoute { device, port } => {
            adm_notice { kind: 3, device: device_number(device), port: port.into(), ..blank }
        }
        What::PeerUnreachable { peer } => adm_notice { kind: 4, peer: peer.0, ..blank },
    }
}
