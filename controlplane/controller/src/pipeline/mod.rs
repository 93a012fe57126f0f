//! The P4 program that goes into a switch.

pub mod generated;
mod pipelines;
pub mod tofino;

use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4info::TextError;
use p4runtime::{P4InfoIndex, index::IndexError};
use sha2::{Digest, Sha256};

pub use pipelines::Pipelines;

/// A compiled program: its face to the controller, and what the target runs.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// P4Info, indexed.
    pub index: P4InfoIndex,
    /// What the target runs: BMv2's JSON, or what [`tofino`] packs.
    pub device_config: Vec<u8>,
    /// Known by this to the switch: the first octets of a digest over both, so that another build of the
    /// program is another cookie.
    pub cookie: u64,
}

/// Why a program can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The P4Info isn't one.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The P4Info contradicts itself.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl Pipeline {
    /// A program from its P4Info in text format and its device configuration.
    ///
    /// # Errors
    /// The P4Info can't be read or contradicts itself.
    pub fn new(p4info: &str, device_config: &[u8]) -> Result<Self, PipelineError> {
        let index = P4InfoIndex::new(p4runtime::p4info::parse_text(p4info)?)?;
        let digest =
            Sha256::new().chain_update(p4info).chain_update([0]).chain_update(device_config).finalize();
        let first = digest.iter().take(8).fold(0, |cookie, octet| (cookie << 8) | u64::from(*octet));
        Ok(Self { index, device_config: device_config.to_vec(), cookie: first })
    }

    /// The program for softswitch and BMv2 that this crate was built with.
    ///
    /// # Errors
    /// As [`Pipeline::new`]; a fault of the build.
    pub fn v1model() -> Result<Self, PipelineError> {
        Self::new(
            include_str!("../../../../p4/bmv2/build/crn.p4info.txtpb"),
            include_bytes!("../../../../p4/bmv2/build/crn.json"),
        )
    }

    /// The P4Info.
    pub fn p4info(&self) -> &P4Info {
        self.index.info()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_program_is_usable_and_its_cookie_follows_its_content() {
        let pipeline = Pipeline::v1model().expect("usable");
        assert_ne!(pipeline.cookie, 0);
        let other = Pipeline::new(include_str!("../../../../p4/bmv2/build/crn.p4info.txtpb"), b"{}");
        assert_ne!(other.expect("usable").cookie, pipeline.cookie);
    }
}
