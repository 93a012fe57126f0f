//! What `simple_switch` does and this switch must do too, on programs small enough to read.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test, as tests do")]
#![allow(clippy::needless_pass_by_value, reason = "programs are written as nested calls")]

mod control;
mod hostile;
mod lookups;
mod program;
mod queues;
mod quirks;
mod rare;

/// The same tests run through native code: `tests/native.rs`.
const ENGINE: softswitch::Engine = softswitch::Engine::Interpreter;
