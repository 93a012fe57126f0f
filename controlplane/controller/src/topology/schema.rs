//! The JSON Schema of topology files, for editors and for `crn schema`.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::raw;

/// The JSON Schema (draft 2020-12), generated from the types that the reader is generated from, as text that
/// ends with a line feed. `topologies/topology.schema.json` is this text.
pub fn schema() -> String {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<raw::File>();
    schema.insert("title".to_owned(), "Topology".into());
    let mut text = String::new();
    write_sorted(schema.as_value(), 0, &mut text);
    text.push('\n');
    text
}

/// JSON with its keys sorted: whether `serde_json` keeps their order or sorts them depends on which features
/// the other crates of a build have switched on.
fn write_sorted(value: &Value, depth: usize, text: &mut String) {
    let indent = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    };
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            let sorted: BTreeMap<&String, &Value> = entries.iter().collect();
            text.push('{');
            for (place, (key, value)) in sorted.into_iter().enumerate() {
                text.push_str(if place == 0 { "" } else { "," });
                indent(text, depth + 1);
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push_str(": ");
                write_sorted(value, depth + 1, text);
            }
            indent(text, depth);
            text.push('}');
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                text.push_str(if place == 0 { "" } else { "," });
                indent(text, depth + 1);
                write_sorted(item, depth + 1, text);
            }
            indent(text, depth);
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
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
