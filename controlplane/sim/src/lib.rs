//! A fabric in virtual time: the compiled P4 program on every switch, the real controller over the real P4Runtime
//! messages, the real endpoint machines on every host, and links between them.
//!
//! A run depends on its topology, scheme and seed only: no clock is read, and events of one instant keep their order.
//! [`run`] gives the figures of one scheme; [`report`] makes tables, pictures and pages of several.
//!
//! | module | what it is |
//! |---|---|
//! | `fabric` | switches, links and hosts, and the loop that moves frames between them |
//! | `host` | one host: its NIC, its RoCEv2 endpoint, and what its scheme puts beside it: RDCC's machines, SCONE's |
//! | `workload` | batches of messages and what became of them |
//! | `control` | the controller, its requests travelling in virtual time |

mod control;
mod event;
mod fabric;
mod host;
mod link;
mod losses;
mod measure;
mod parameters;
mod pipeline;
pub mod report;
mod run;
mod summary;
mod workload;

pub use controller::topology::Scheme;
pub use link::{FRAME_OVERHEAD, Link};
pub use measure::{Deliveries, QueueTrace, episode_gap, episodes, percentile};
pub use pipeline::{Pipeline, PipelineError};
pub use run::{Outcome, Progress, RunError, run};
pub use summary::{
    Bottleneck, Crem, Heard, Messages, PathLoss, Quantiles, Rdcc, Reaction, Reports, Slowdown, Steady,
    Summary, Tail,
};
pub use workload::ideals;
