//! The JSON Schema of topology files, for editors and for `crn schema`.

use schemars::generate::SchemaSettings;

use super::raw;

/// The JSON Schema (draft 2020-12), generated from the types that the reader is generated from, as text that
/// ends with a line feed. `topologies/topology.schema.json` is this text.
pub fn schema() -> String {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<raw::File>();
    schema.insert("title".to_owned(), "Topology".into());
    let mut text = format!("{:#}", schema.as_value());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checked_in_schema_is_the_generated_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../topologies/topology.schema.json");
        let generated = super::schema();
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(path, &generated).expect("writable");
        }
        let checked_in = std::fs::read_to_string(path).expect("topologies/topology.schema.json exists");
        assert_eq!(checked_in, generated, "run `UPDATE_SCHEMA=1 cargo test -p controller schema`");
    }
}
