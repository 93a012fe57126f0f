//! Evidence of tasks. A task may be used by several threads; queries touch nothing but what was recorded.

use std::sync::{Mutex, PoisonError};

use admission::Generation;
use admission::classify::Scope;
use admission::evidence::TaskEvidence;
use wire::units::Nanos;

use super::{OK, Out, adm_controller, adm_task, get, handle};
use crate::failure::{Failure, fenced};
use crate::handle::route;
use crate::types::{adm_code, adm_detail, adm_observation, reason};

/// Makes the evidence of a task. `records`: 0 when the controller is off or the transport isn't RDMA; every query answers
/// unknown then.
///
/// # Safety
/// `task` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_task_new(records: i32, task: *mut *mut adm_task) -> i32 {
    fenced(|| {
        let out = Out::new(task, "`task`")?;
        let made = adm_task(Mutex::new(TaskEvidence::new(records != 0)));
        // SAFETY: the caller's promise.
        unsafe { out.set(Box::into_raw(Box::new(made))) };
        Ok(OK)
    })
}

/// Frees a task; null is allowed.
///
/// # Safety
/// Null, or a task that isn't freed and that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_task_free(task: *mut adm_task) {
    if !task.is_null() {
        // SAFETY: the caller's promise: made by `adm_task_new`, not freed yet.
        drop(unsafe { Box::from_raw(task) });
    }
}

/// # Safety
/// `task` is null or valid.
unsafe fn with(task: *const adm_task, body: impl FnOnce(&mut TaskEvidence) -> Result<(), Failure>) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let task = unsafe { get(task, "`task`")? };
        body(&mut task.0.lock().unwrap_or_else(PoisonError::into_inner))?;
        Ok(OK)
    })
}

/// A new attempt of the task.
///
/// # Safety
/// `task` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_task_begin_attempt(task: *const adm_task, attempt: u32) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        with(task, |evidence| {
            evidence.begin_attempt(attempt);
            Ok(())
        })
    }
}

/// The task saw something: an observation of `adm_permit_complete` or `adm_observe`, with `attempt` filled in. One with
/// reason 0 is none, and does nothing.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_task_record(task: *const adm_task, seen: *const adm_observation) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        with(task, |evidence| {
            let seen = get(seen, "`seen`")?;
            if seen.reason == 0 {
                return Ok(());
            }
            let observation = seen.to_observation().ok_or_else(|| {
                let text = format!(
                    "reason {} must be from 0 to 11 and scope {} from 0 to 6",
                    seen.reason, seen.scope
                );
                Failure::new(adm_code::ADM_ARGUMENT, text)
            })?;
            evidence.record(observation);
            Ok(())
        })
    }
}

/// A slice of the task completed on a route at `generation`.
///
/// # Safety
/// `task` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_task_success(
    task: *const adm_task,
    number: u64,
    generation: u32,
    attempt: u32,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        with(task, |evidence| {
            evidence.success(route(number), Generation(generation), attempt);
            Ok(())
        })
    }
}

/// The whole task completed.
///
/// # Safety
/// `task` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_task_finished(task: *const adm_task) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        with(task, |evidence| {
            evidence.finished();
            Ok(())
        })
    }
}

/// The minimal query: an `adm_task_state`.
///
/// # Safety
/// `task` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_task_query(task: *const adm_task) -> i32 {
    let mut state = 0;
    // SAFETY: the caller's promise.
    let code = unsafe {
        with(task, |evidence| {
            state = evidence.state() as i32;
            Ok(())
        })
    };
    if code == OK { state } else { code }
}

/// The detailed query.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_task_detail(task: *const adm_task, detail: *mut adm_detail) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        with(task, |evidence| {
            let out = Out::new(detail, "`detail`")?;
            let answer = evidence.detail();
            out.set(adm_detail {
                state: answer.state as u32,
                resolved: answer.resolved.into(),
                observation: answer.observation.map(Into::into).unwrap_or_default(),
            });
            Ok(())
        })
    }
}

/// What is known of a route now, for a task that it holds up for `why` (an `adm_evidence_reason`). An observation with reason
/// 0 when the controller is off.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adm_observe(
    controller: *const adm_controller,
    number: u64,
    why: u32,
    now_ns: u64,
    seen: *mut adm_observation,
) -> i32 {
    fenced(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(controller)? };
        let out = Out::new(seen, "`seen`")?;
        let reason = reason(why).ok_or_else(|| {
            Failure::new(adm_code::ADM_ARGUMENT, format!("reason {why} must be from 1 to 11"))
        })?;
        handle.controller.route_snapshot(route(number))?;
        let observed = handle.controller.observe(route(number), reason, Scope::Route, Nanos(now_ns));
        // SAFETY: the caller's promise.
        unsafe { out.set(observed.map(Into::into).unwrap_or_default()) };
        Ok(OK)
    })
}
