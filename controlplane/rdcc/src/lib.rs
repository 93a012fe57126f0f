//! Receiver-Driven Credit Control: sender and receiver state machines.
