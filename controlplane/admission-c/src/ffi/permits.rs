//! The data path.

use admission::{Generation, Verdict};
use wire::units::{Nanos, Octets};

use super::{OK, Out, adm_controller, handle};
use crate::failure::fenced;
use crate::handle::{no_permit, route};
use crate::types::{adm_handling, adm_observation, adm_reason, adm_verdict};

/// Asks to post a slice of `octets` on a route that was resolved at `generation`. Returns an `adm_verdict`; on
/// `ADM_ADMIT` `*permit` is the permit's number, to be settled once (0 of a controller that is off: settling it does nothing).
/// `reason` may be null; else it gets an `adm_reason`.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_try_acquire(
    controller: *const adm_controller,
    route_number: u64,
    generation: u32,
    octets: u64,
    permit: *mut u64,
    reason: *mut i32,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        let out = Out::new(permit, "`permit`")?;
        let verdict =
            handle.controller.try_acquire(route(route_number), Generation(generation), Octets(octets));
        let none = adm_reason::ADM_REASON_NONE as i32;
        let (verdict, number, why) = match verdict {
            Verdict::Admit(permit) if !permit.is_held() => (adm_verdict::ADM_ADMIT, 0, none),
            Verdict::Admit(permit) => match handle.permits.put(permit) {
                Ok(number) => (adm_verdict::ADM_ADMIT, number, none),
                Err(given_back) => {
                    given_back.cancel();
                    (adm_verdict::ADM_DEFER, 0, adm_reason::ADM_REASON_NO_PERMIT as i32)
                }
            },
            Verdict::Defer(reason) => (adm_verdict::ADM_DEFER, 0, reason as i32),
            Verdict::Avoid(reason) => (adm_verdict::ADM_AVOID, 0, reason as i32),
        };
        // SAFETY: the caller's promise.
        unsafe {
            out.set(number);
            Out::optional(reason).set(why);
        }
        Ok(verdict as i32)
    })
}

/// Whether the path is still the one that was resolved: 1 or 0. To ask right before the post.
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_permit_is_current(controller: *const adm_controller, permit: u64) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        if permit == 0 {
            return Ok(1);
        }
        let current = handle.permits.with(&handle.controller, permit, |permit| permit.is_current());
        current.map(i32::from).ok_or_else(no_permit)
    })
}

/// Only `posted` octets of the slice reached the hardware: the rest is given back now.
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_permit_post_partially(
    controller: *const adm_controller,
    permit: u64,
    posted: u64,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        if permit != 0 {
            let done = handle
                .permits
                .with(&handle.controller, permit, |permit| permit.post_partially(Octets(posted)));
            done.ok_or_else(no_permit)??;
        }
        Ok(OK)
    })
}

/// The slice completed with success. The number is no permit's from now on.
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_permit_succeed(controller: *const adm_controller, permit: u64) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        if let Some(permit) = unsafe { handle(controller)? }.take(permit)? {
            permit.succeed();
        }
        Ok(OK)
    })
}

/// The slice wasn't posted, or is given up. The number is no permit's from now on.
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_permit_cancel(controller: *const adm_controller, permit: u64) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        if let Some(permit) = unsafe { handle(controller)? }.take(permit)? {
            permit.cancel();
        }
        Ok(OK)
    })
}

/// The work request completed with `status` (`ibv_wc_status`). The number is no permit's from now on. `handling` and
/// `observation` may be null; an observation with reason 0 is none.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_permit_complete(
    controller: *const adm_controller,
    permit: u64,
    status: u32,
    vendor_err: u32,
    now_ns: u64,
    handling: *mut adm_handling,
    observation: *mut adm_observation,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        let settled = handle.take(permit)?.map(|permit| permit.complete(status, vendor_err, Nanos(now_ns)));
        let row = settled.map_or_else(|| admission::classify::completion(status), |settled| settled.row);
        let stale = settled.is_some_and(|settled| settled.stale);
        let seen = settled.and_then(|settled| settled.observation);
        // SAFETY: the caller's promise.
        unsafe {
            Out::optional(handling).set(adm_handling { stale: stale.into(), ..row.into() });
            Out::optional(observation).set(seen.map(Into::into).unwrap_or_default());
        }
        Ok(OK)
    })
}
