//! The compiled P4 program that the switches of a run load.

use std::sync::Arc;

use controller::pipeline::{Pipeline as V1Model, PipelineError as V1ModelError, Pipelines};
use controller::topology::{Problem, Topology};

/// The programs of the simulated switches: BMv2's JSON, and the P4Info by which the controller fills its tables.
#[derive(Clone, Debug)]
pub struct Pipeline(Pipelines);

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
        Ok(Self::from(V1Model::v1model()?))
    }

    /// The program that this build carries, and those that switches of the topology name with `pipeline`.
    ///
    /// # Errors
    /// Files that can't be read, and programs that softswitch doesn't run, each at its switch.
    pub fn of_topology(topology: &Topology) -> Result<Self, Vec<Problem>> {
        let pipelines = Pipelines::load(topology)?;
        pipelines.check(topology, |pipeline| {
            softswitch::Program::from_json(&pipeline.device_config)
                .map(drop)
                .map_err(|error| error.to_string())
        })?;
        Ok(Self(pipelines))
    }

    /// Another build of the program for all switches, whatever their topology says; its tables must be those of the built-in P4Info.
    ///
    /// # Errors
    /// The JSON can't be run: what and where.
    pub fn from_json(json: &[u8]) -> Result<Self, PipelineError> {
        softswitch::Program::from_json(json)?;
        let p4info = p4runtime::p4info::to_text(V1Model::v1model()?.p4info()).map_err(V1ModelError::from)?;
        Ok(Self::from(V1Model::new(&p4info, json)?))
    }

    pub(crate) fn of_switches(&self) -> &Pipelines {
        &self.0
    }
}

/// All switches run the same.
impl From<V1Model> for Pipeline {
    fn from(pipeline: V1Model) -> Self {
        Self(Arc::new(pipeline).into())
    }
}
