//! Packet-level tests of the P4 program: one list of cases, each run on every target that is present.
//!
//! * [`setup`] is what a controller and an operator put into a switch before a case: entries, queue rates, depths.
//! * [`entries`] are the program's tables, one function each.
//! * [`frames`] builds the frames that enter, and, from the documents, the reports that must come out.
//! * [`case`] is one case: setup, script, exact expectations. [`cases`] lists them, one file per feature.
//! * [`target`] is what runs a case. [`bmv2`] starts a real `simple_switch_grpc` in a network namespace of its own;
//!   [`soft`] runs softswitch in this process, in virtual time.
//! * [`differential`] sends random packets through both, whatever the program.
//! * [`recording`] keeps what `simple_switch_grpc` did, so that softswitch is held against it everywhere.
//!
//! Depths are known because bursts are short and queues are slow: a burst is inside the switch long before its second
//! packet may leave ([`case::PERIOD_US`]), so what each packet leaves behind follows from arithmetic alone.
#![forbid(unsafe_code)]

pub mod bmv2;
pub mod case;
pub mod cases;
pub mod differential;
pub mod entries;
pub mod frames;
pub mod program;
pub mod recording;
pub mod setup;
pub mod soft;
pub mod target;
