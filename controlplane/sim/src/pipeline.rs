//! The compiled P4 program that the switches of a run load.

use std::sync::Arc;

use controller::pipeline::{Pipeline as V1Model, PipelineError as V1ModelError};

/// A program for the simulated switches: BMv2's JSON, and the P4Info by which the controller fills its tables.
#[derive(Clone, Debug)]
pub struct Pipeline(Arc<V1Model>);

/// Why a program can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The JSON isn't a program that softswitch runs.
    #[error(transparent)]
    Program(#[from] softswitch::LoadError),
    /// The P4Info that the program was built with can't be read.
    #[error(transparent)]
    P4Info(#[from] V1ModelError),
}

impl Pipeline {
    /// The program that this build carries, `p4/bmv2/build/crn.json`.
    ///
    /// # Errors
    /// Never, unless the build is broken.
    pub fn built_in() -> Result<Self, PipelineError> {
        Ok(Self(Arc::new(V1Model::v1model()?)))
    }

    /// Another build of the program; its tables must be those of the built-in P4Info.
    ///
    /// # Errors
    /// The JSON can't be run: what and where.
    pub fn from_json(json: &[u8]) -> Result<Self, PipelineError> {
        softswitch::Program::from_json(json)?;
        let p4info = p4runtime::p4info::to_text(V1Model::v1model()?.p4info()).map_err(V1ModelError::from)?;
        Ok(Self(Arc::new(V1Model::new(&p4info, json)?)))
    }

    pub(crate) fn v1model(&self) -> &Arc<V1Model> {
        &self.0
    }
}
