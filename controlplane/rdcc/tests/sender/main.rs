//! The sender's rules: RDCC, Association Establishment to Sender Message State Machine.

#![allow(clippy::unwrap_used, reason = "tests")]

mod association;
mod backlog;
mod credit;
mod ends;
#[path = "../peers/mod.rs"]
mod peers;
mod timing;
mod unscheduled;
