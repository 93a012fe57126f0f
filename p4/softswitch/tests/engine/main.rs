//! What `simple_switch` does and this switch must do too, on programs small enough to read.

mod control;
mod hostile;
mod lookups;
mod program;
mod queues;
mod quirks;
