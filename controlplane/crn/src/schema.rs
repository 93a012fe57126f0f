//! `crn schema`: the JSON Schema of topology files, generated from the types that read them.

use crate::output::say_as_is;

/// Prints the schema.
pub fn run() {
    say_as_is!("{}", controller::topology::schema());
}
