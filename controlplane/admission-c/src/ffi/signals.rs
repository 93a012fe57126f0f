//! Events, signals and reports.

use admission::classify::{Signal, completion};
use admission::feedback::{Feedback, rate_advice};
use admission::{Generation, Target};
use wire::units::{MbitPerSec, Nanos};

use super::{OK, Out, adm_controller, get, handle};
use crate::failure::{Failure, fenced};
use crate::handle::{address, device, route};
use crate::types::{adm_code, adm_handling};

/// What a completion status means, without a controller.
///
/// # Safety
/// `handling` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_classify_completion(status: u32, handling: *mut adm_handling) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        unsafe { Out::new(handling, "`handling`")?.set(completion(status).into()) };
        Ok(OK)
    })
}

/// # Safety
/// Pointers are null or valid.
unsafe fn event(
    controller: *const adm_controller,
    code: u32,
    target: Target,
    now_ns: u64,
    handling: *mut adm_handling,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let row = unsafe { handle(controller)? }.controller.async_event(code, target, Nanos(now_ns))?;
        // SAFETY: the caller's promise.
        unsafe { Out::optional(handling).set(row.into()) };
        Ok(OK)
    })
}

/// An asynchronous event (`ibv_event_type`) of a queue pair, completion queue or path of a route at `generation`. `handling`
/// may be null.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_route_event(
    controller: *const adm_controller,
    number: u64,
    generation: u32,
    code: u32,
    now_ns: u64,
    handling: *mut adm_handling,
) -> i32 {
    let target = Target::Route(route(number), Generation(generation));
    // SAFETY: the caller's promise.
    unsafe { event(controller, code, target, now_ns, handling) }
}

/// An asynchronous event of a device's port. `handling` may be null.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_port_event(
    controller: *const adm_controller,
    number: u64,
    port: u8,
    code: u32,
    now_ns: u64,
    handling: *mut adm_handling,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { event(controller, code, Target::Port(device(number), port), now_ns, handling) }
}

/// An asynchronous event of a device. `handling` may be null.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_device_event(
    controller: *const adm_controller,
    number: u64,
    code: u32,
    now_ns: u64,
    handling: *mut adm_handling,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { event(controller, code, Target::Device(device(number)), now_ns, handling) }
}

/// # Safety
/// Pointers are null or valid.
unsafe fn signal(
    controller: *const adm_controller,
    code: u8,
    target: Target,
    now_ns: u64,
    handling: *mut adm_handling,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        let signal = Signal::from_code(code).ok_or_else(|| {
            Failure::new(adm_code::ADM_ARGUMENT, format!("signal {code}: a signal must be from 0 to 13"))
        })?;
        let row = handle.controller.signal(signal, target, Nanos(now_ns))?;
        // SAFETY: the caller's promise.
        unsafe { Out::optional(handling).set(row.into()) };
        Ok(OK)
    })
}

/// A signal (docs/admission.md has their numbers) about a route at `generation`. `handling` may be null.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_route_signal(
    controller: *const adm_controller,
    number: u64,
    generation: u32,
    code: u8,
    now_ns: u64,
    handling: *mut adm_handling,
) -> i32 {
    let target = Target::Route(route(number), Generation(generation));
    // SAFETY: the caller's promise.
    unsafe { signal(controller, code, target, now_ns, handling) }
}

/// A signal about a device. `handling` may be null.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_device_signal(
    controller: *const adm_controller,
    number: u64,
    code: u8,
    now_ns: u64,
    handling: *mut adm_handling,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { signal(controller, code, Target::Device(device(number)), now_ns, handling) }
}

fn rate(mbit: u32) -> Option<MbitPerSec> {
    (mbit != 0).then_some(MbitPerSec(mbit))
}

/// A report of congestion on a route, with the rate in Mbit/s that it gave, 0 for none (`CONGESTION_REPORT`, CNP,
/// `PATH_REPORT` with cause congestion).
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_route_congestion(
    controller: *const adm_controller,
    number: u64,
    mbit: u32,
) -> i32 {
    fenced(|| {
        let feedback = Feedback::Congestion { rate: rate(mbit) };
        // SAFETY: the caller's promise.
        unsafe { handle(controller)? }.controller.route_feedback(route(number), feedback)?;
        Ok(OK)
    })
}

/// The route's receiver takes less than before, with the rate in Mbit/s that it still takes, 0 for unknown.
///
/// # Safety
/// `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_route_receiver_pressure(
    controller: *const adm_controller,
    number: u64,
    mbit: u32,
) -> i32 {
    fenced(|| {
        let feedback = Feedback::ReceiverPressure { rate: rate(mbit) };
        // SAFETY: the caller's promise.
        unsafe { handle(controller)? }.controller.route_feedback(route(number), feedback)?;
        Ok(OK)
    })
}

/// SCONE Rate Advice for the device with this address of 16 octets (IPv4 as `::ffff:a.b.c.d`). Returns 1 when a device has it,
/// 0 when none has.
///
/// # Safety
/// `octets` is null or has 16 octets; `controller` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_rate_advice(
    controller: *const adm_controller,
    octets: *const u8,
    mbit: u32,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        // SAFETY: the caller's promise: 16 octets, which need no alignment.
        let octets = unsafe { get(octets.cast::<[u8; 16]>(), "`octets`")? };
        let Some((address, feedback)) = rate_advice(address(*octets), MbitPerSec(mbit)) else { return Ok(0) };
        let Some(device) = handle.controller.device_of(address) else { return Ok(0) };
        handle.controller.device_feedback(device, feedback)?;
        Ok(1)
    })
}
