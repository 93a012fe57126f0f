//! `crn schema`: the JSON Schema of topology files, generated from the types that read them.

/// Prints the schema.
pub fn run() {
    print!("{}", controller::topology::schema());
}
