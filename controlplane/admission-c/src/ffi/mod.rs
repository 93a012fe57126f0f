//! The functions of the interface.
//!
//! Every pointer may be null and is checked. One that isn't null must point to what it says it points to, aligned; a
//! controller or task must be one that wasn't freed. All functions but `adm_controller_free`, `adm_task_free` may be called
//! from any thread at any time.

#![allow(non_camel_case_types, reason = "C names")]

mod controller;
mod domains;
mod permits;
mod signals;
mod tasks;

pub use controller::*;
pub use domains::*;
pub use permits::*;
pub use signals::*;
pub use tasks::*;

use std::sync::Mutex;

use admission::evidence::TaskEvidence;

use crate::failure::Failure;
use crate::handle::Handle;
use crate::types::adm_code;

/// A controller. Opaque.
pub struct adm_controller(Handle);

/// The evidence of a task. Opaque.
pub struct adm_task(Mutex<TaskEvidence>);

/// What a pointer from C points to.
///
/// # Safety
/// Null, or valid for reads while the answer lives.
unsafe fn get<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(name))
}

/// # Safety
/// Null, or a controller that isn't freed.
unsafe fn handle<'a>(controller: *const adm_controller) -> Result<&'a Handle, Failure> {
    // SAFETY: the caller's promise.
    unsafe { get(controller, "`controller`") }.map(|controller| &controller.0)
}

/// Where an answer goes, checked before anything is done.
struct Out<T>(*mut T);

impl<T> Out<T> {
    fn new(pointer: *mut T, name: &str) -> Result<Self, Failure> {
        if pointer.is_null() { Err(Failure::null(name)) } else { Ok(Self(pointer)) }
    }

    /// A pointer that may be null: the answer isn't wanted then.
    fn optional(pointer: *mut T) -> Self {
        Self(pointer)
    }

    /// # Safety
    /// The pointer is null or valid for writes.
    unsafe fn set(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the caller's promise.
            unsafe { self.0.write(value) }
        }
    }
}

const OK: i32 = adm_code::ADM_OK as i32;
