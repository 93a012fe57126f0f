//! A compiled program as p4c leaves it: the JSON, and P4Info beside it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1::ForwardingPipelineConfig;

/// How p4c's P4Info files are named: by `--p4runtime-files`, in its text form, now and formerly.
const P4INFO_ENDINGS: [&str; 4] = ["p4info.txtpb", "p4info.txt", "p4info.textproto", "p4info"];

/// The program's JSON and, where there is one, its P4Info.
#[derive(Clone, Debug)]
pub struct Files {
    json: PathBuf,
    octets: Vec<u8>,
    p4info: Option<P4Info>,
}

impl Files {
    /// Reads both. Without `p4info`, `x.p4info.txtpb` (or an older ending) beside `x.json` is taken if it is there.
    pub fn read(json: &Path, p4info: Option<&Path>) -> Result<Files> {
        let octets =
            fs::read(json).into_diagnostic().wrap_err_with(|| format!("{} can't be read", json.display()))?;
        let found = p4info.map(Path::to_path_buf).or_else(|| beside(json));
        let p4info = found.as_deref().map(read_p4info).transpose()?;
        Ok(Files { json: json.to_path_buf(), octets, p4info })
    }

    /// The JSON's octets.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Where the JSON is.
    pub fn json(&self) -> &Path {
        &self.json
    }

    /// Whether there is a P4Info.
    pub fn has_p4info(&self) -> bool {
        self.p4info.is_some()
    }

    /// The message that gives a switch this program; without P4Info, controllers see none of its objects.
    pub fn pipeline(&self) -> ForwardingPipelineConfig {
        ForwardingPipelineConfig {
            p4info: Some(self.p4info.clone().unwrap_or_default()),
            p4_device_config: self.octets.clone(),
            cookie: None,
        }
    }
}

fn beside(json: &Path) -> Option<PathBuf> {
    let stem = json.file_stem().unwrap_or_else(|| OsStr::new(""));
    P4INFO_ENDINGS.iter().find_map(|ending| {
        let mut name = stem.to_os_string();
        name.push(".");
        name.push(ending);
        let path = json.with_file_name(name);
        path.is_file().then_some(path)
    })
}

fn read_p4info(path: &Path) -> Result<P4Info> {
    let text = fs::read_to_string(path)
        .into_diagnostic()
        .wrap_err_with(|| format!("{} can't be read", path.display()))?;
    p4runtime::p4info::parse_text(&text).map_err(|error| miette!("{}: {error}", path.display()))
}
