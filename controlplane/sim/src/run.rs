//! One run: a topology, a scheme, a seed; and its figures.

use controller::topology::{Topology, Workload};
use wire::units::Nanos;

use crate::fabric::Fabric;
use crate::measure::{Deliveries, QueueTrace};
use crate::pipeline::Pipeline;
use crate::summary::Summary;
use controller::topology::Scheme;

/// Batches done, for a progress bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Batches that have completed.
    pub completed: u64,
    /// Batches that the workload has.
    pub batches: u64,
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The figures.
    pub summary: Summary,
    /// The queue that the figures are about, as `switch:port`.
    pub bottleneck: String,
    /// Its occupancy over time.
    pub queue: QueueTrace,
    /// What each pair's receiver got over time, in the order of the workload's pairs.
    pub deliveries: Deliveries,
    /// Start and end of each batch.
    pub batches: Vec<(Nanos, Nanos)>,
}

/// Why a run couldn't be made.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The simulator runs one workload.
    #[error("the topology has {0} workloads; a simulation runs exactly one")]
    Workloads(usize),
    /// Something refers to a node or a port that the topology doesn't have.
    #[error("{0} is not in the topology")]
    Missing(String),
    /// A role without a DSCP.
    #[error("the topology's domain.dscp has no line with role {0}; the workload needs one")]
    NoDscp(&'static str),
    /// Figures of a queue that nothing went through would say nothing.
    #[error(
        "nothing of the workload went through {0}; its `bottleneck` should be a port on the way of its messages"
    )]
    Bottleneck(String),
    /// The topology doesn't fit its switches.
    #[error("the switches can't hold this topology: {0}")]
    Topology(String),
    /// The controller couldn't configure a switch.
    #[error("{switch} could not be configured: {reason}")]
    Configuration {
        /// The switch.
        switch: String,
        /// What it said.
        reason: String,
    },
    /// RDCC's parameters don't fit each other.
    #[error("RDCC parameters of {host}: {reason}")]
    Parameters {
        /// The host that can't run with them.
        host: String,
        /// Why.
        reason: String,
    },
}

/// Runs the topology's workload under a scheme.
///
/// # Errors
/// When the topology can't be simulated; a run that merely goes badly (drops, messages that never complete) is an
/// [`Outcome`].
pub fn run(
    topology: &Topology,
    pipeline: &Pipeline,
    scheme: Scheme,
    seed: u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, RunError> {
    let workload = only_workload(topology)?;
    Fabric::new(topology, workload, pipeline, scheme, seed)?.run(progress)
}

fn only_workload(topology: &Topology) -> Result<&Workload, RunError> {
    match topology.workloads.as_slice() {
        [workload] => Ok(workload),
        other => Err(RunError::Workloads(other.len())),
    }
}
