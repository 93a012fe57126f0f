//! Runs the JSON that p4c emits for BMv2, with v1model semantics.
