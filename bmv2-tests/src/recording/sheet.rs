//! The JSON file: one entry, step and counter a line, so that a change is seen in a diff and a person can read it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{RecordingError, Sheet};

pub(super) fn save(sheet: &Sheet, path: &Path) -> Result<(), RecordingError> {
    let value = serde_json::to_value(sheet).map_err(|error| RecordingError::content(path, &error))?;
    let mut fields = Vec::new();
    // In the order of the type, which serde_json's map doesn't keep.
    for name in [
        "case",
        "rule",
        "target",
        "target_version",
        "crn_json_sha256",
        "ports",
        "entries",
        "script",
        "counters",
    ] {
        let field = match &value[name] {
            Value::Array(items) if !items.is_empty() => {
                let lines: Vec<String> = items.iter().map(|item| format!("\n    {item}")).collect();
                format!("[{}\n  ]", lines.join(","))
            }
            other => other.to_string(),
        };
        fields.push(format!("  \"{name}\": {field}"));
    }
    fs::write(path, format!("{{\n{}\n}}\n", fields.join(",\n")))
        .map_err(|source| RecordingError::File { path: path.display().to_string(), source })
}

pub(super) fn load(path: &Path) -> Result<Sheet, RecordingError> {
    let text =
        fs::read(path).map_err(|source| RecordingError::File { path: path.display().to_string(), source })?;
    serde_json::from_slice(&text).map_err(|error| RecordingError::content(path, &error))
}
