//! The `crn` command.

fn main() {}
