//! The C interface of `admission`, also for C++ and for Python's ctypes.
//!
//! Controllers and tasks are opaque handles; devices, routes and permits are numbers, so that an old or forged one is
//! refused instead of followed. No panic leaves a function: it returns `ADM_PANIC`. The header `include/crn_admission.h` is
//! generated from this crate.
//!
//! Without the feature `enabled` only [`adm_built`] is left. A C program that is to be without the controller defines
//! `CRN_ADMISSION_REMOVED` before the header, and needs no library.

#[cfg(feature = "enabled")]
mod failure;
#[cfg(feature = "enabled")]
mod handle;
#[cfg(feature = "enabled")]
pub mod types;

/// The functions. The one place with `unsafe`: pointers from C are followed here and nowhere else.
#[cfg(feature = "enabled")]
#[allow(unsafe_code, reason = "pointers from C; each function says what it needs of them")]
pub mod ffi;

/// 1 when this library has the controller, 0 when it was built without it.
#[allow(unsafe_code, reason = "a C name")]
#[unsafe(no_mangle)]
pub extern "C" fn adm_built() -> i32 {
    i32::from(admission::BUILT)
}
