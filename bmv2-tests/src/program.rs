//! The compiled P4 program under test.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use p4runtime::P4InfoIndex;
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1::ForwardingPipelineConfig;
use p4runtime::p4::v1::forwarding_pipeline_config::Cookie;
use sha2::{Digest as _, Sha256};

use crate::target::TargetError;

pub use generated::constants::{CPU_PORT, REPORT_CLONE_PORT, REPORT_CLONE_SESSION};

/// The controller's constants, without the controller.
#[path = "../../controlplane/controller/src/pipeline/generated.rs"]
mod generated;

/// BMv2's JSON, P4Info, and their digest.
#[derive(Clone, Debug)]
pub struct Program {
    /// The JSON as p4c wrote it.
    pub json: Vec<u8>,
    /// P4Info, indexed.
    pub index: P4InfoIndex,
    /// P4Info as a message.
    pub info: P4Info,
    /// SHA-256 of the JSON, lower-case hexadecimal.
    pub sha256: String,
}

impl Program {
    /// Reads `p4/bmv2/build` of this work tree.
    ///
    /// # Errors
    /// A file that isn't there or isn't what its name says.
    pub fn load() -> Result<Program, TargetError> {
        Program::load_from(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../p4/bmv2/build"))
    }

    /// Reads `crn.json` and `crn.p4info.txtpb` in a folder.
    ///
    /// # Errors
    /// As [`Program::load`].
    pub fn load_from(folder: &Path) -> Result<Program, TargetError> {
        Program::load_files(&folder.join("crn.json"), &folder.join("crn.p4info.txtpb"))
    }

    /// Reads a program's two files.
    ///
    /// # Errors
    /// As [`Program::load`].
    pub fn load_files(json: &Path, info: &Path) -> Result<Program, TargetError> {
        let json = read(json)?;
        let path = info;
        let text = String::from_utf8(read(path)?).map_err(|error| TargetError::program(path, &error))?;
        let info =
            p4runtime::p4info::parse_text(&text).map_err(|error| TargetError::program(path, &error))?;
        let index = P4InfoIndex::new(info.clone()).map_err(|error| TargetError::program(path, &error))?;
        Ok(Program { sha256: sha256(&json), json, index, info })
    }

    /// The program as a switch takes it.
    #[must_use]
    pub fn pipeline(&self) -> ForwardingPipelineConfig {
        ForwardingPipelineConfig {
            p4info: Some(self.info.clone()),
            p4_device_config: self.json.clone(),
            cookie: Some(Cookie { cookie: 1 }),
        }
    }
}

fn sha256(octets: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for octet in Sha256::digest(octets) {
        let _ = write!(text, "{octet:02x}");
    }
    text
}

fn read(path: &Path) -> Result<Vec<u8>, TargetError> {
    fs::read(path).map_err(|error| TargetError::program(path, &error))
}
