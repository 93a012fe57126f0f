//! The atomics and locks of this crate: those of `core` and `std`, or loom's, which try every order.

#[cfg(admission_loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicU64, Ordering},
};
#[cfg(not(admission_loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

/// Locks, also after a panic elsewhere: what the locks of this crate guard is whole after every statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
