//! P4's Simple Test Framework: packets in, packets expected out, and table entries between.
//!
//! Commands: `packet PORT HEX`, `expect PORT [HEX]` (`*` any digit, a trailing `$` exact length, no data any packet),
//! `no_packet`, `add TABLE [PRIORITY] KEY:VALUE ... ACTION(ARG:VALUE, ...)`, `remove all`, `setdefault TABLE ACTION(...)`,
//! `check_counter`, `wait`, and those of `simple_switch_CLI`: `mirroring_add`, `mirroring_add_mc`, `mirroring_delete`,
//! `mc_mgrp_create`, `mc_node_create`, `mc_node_update`, `mc_node_associate`, `counter_read`, `counter_write`,
//! `register_read`, `register_write`, `register_reset`, `meter_get_rates`, `meter_set_rates`, `meter_array_set_rates`,
//! `set_queue_depth`, `set_queue_rate`, `table_add`, `table_indirect_add`, `act_prof_create_member` and their kin (in those, as there, a low number wins).
//!
//! Packets enter one millisecond after the other. Where a queue has a rate, they wait in it while `packet` and `expect`
//! lines follow each other; before any other line everything has left.
//!
//! **In STF a high priority number wins**, although in BMv2's tables a low one does: p4c's own runner turns them round,
//! and its tests (`ternary2-bmv2.stf`) depend on it. Packets are checked per port in order; a packet that no line
//! expects is a failure on every port that the test names.

mod cli;
mod commands;
mod expect;
mod parse;
mod run;
mod script;

pub use expect::{Check, Expected, Failure, compare};
pub use run::{Options, Report, run};
pub use script::{Step, script};

/// Why a test couldn't be run (as opposed to failing).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct StfError {
    /// Line of the test, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}
