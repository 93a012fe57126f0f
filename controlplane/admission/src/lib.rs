//! Byte-window admission in front of RDMA posts, with classification of failures.
//!
//! A transport asks `Controller::try_acquire` before it posts a work request. The answer is a `Permit` for the whole
//! slice, reserved in the domain of the local device and in that of the route to the remote NIC; or that the slice waits; or
//! that the path is to be avoided. Completions, asynchronous events, the control plane's signals and this project's reports
//! of congestion move windows and states of the two domains.
//!
//! | module | what |
//! |---|---|
//! | `controller` | domains, permits, verdicts; what moves them |
//! | `state` | states and transitions of a path, as data |
//! | `classify` | the document's matrices, as data |
//! | `evidence` | what a task saw, for its caller to ask |
//! | `feedback` | this project's reports as congestion feedback |
//! | `reports` | the datagrams that carry them, read |
//! | `config`, `environment` | parameters, and where they come from |
//!
//! Pure: no clock, thread, socket or environment of its own; time is an argument where it matters, and the data path needs
//! none. Without the feature `enabled` only empty shells with the data path's names are left, which admit everything.
//!
//! ```
//! # #[cfg(feature = "enabled")] {
//! use admission::{Capacity, Config, Controller, DeviceSpec, Mode, PeerId, RouteSpec, Verdict};
//! use wire::units::{Nanos, Octets};
//!
//! let config = Config { mode: Mode::Enforce, ..Config::default() };
//! let controller = Controller::new(config, Capacity::default())?;
//! let device = controller.open_device(DeviceSpec::default(), Nanos(0))?;
//! let (route, generation) =
//!     controller.open_route(RouteSpec { device, port: 1, peer: PeerId(7) }, Nanos(0))?;
//! match controller.try_acquire(route, generation, Octets(1 << 20)) {
//!     Verdict::Admit(permit) => {
//!         // Post; later, with the completion:
//!         permit.succeed();
//!     }
//!     Verdict::Defer(_) => { /* leave it in its queue */ }
//!     Verdict::Avoid(_) => { /* take another rail */ }
//! }
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "enabled")]
pub mod classify;
#[cfg(feature = "enabled")]
pub mod config;
#[cfg(feature = "enabled")]
pub mod controller;
#[cfg(feature = "enabled")]
mod domain;
#[cfg(feature = "enabled")]
pub mod environment;
#[cfg(feature = "enabled")]
pub mod evidence;
#[cfg(feature = "enabled")]
pub mod feedback;
#[cfg(feature = "enabled")]
mod ids;
#[cfg(feature = "enabled")]
mod policy;
#[cfg(not(feature = "enabled"))]
mod removed;
#[cfg(feature = "enabled")]
pub mod reports;
#[cfg(feature = "enabled")]
mod slots;
#[cfg(feature = "enabled")]
pub mod state;
#[cfg(feature = "enabled")]
mod sync;
#[cfg(feature = "enabled")]
pub mod table;

#[cfg(all(test, admission_loom))]
mod loom;

#[cfg(feature = "enabled")]
pub use config::{Config, ConfigError, Mode};
#[cfg(feature = "enabled")]
pub use controller::{
    AvoidReason, Capacity, Controller, DeferReason, DeviceSpec, MAX_SLICE, Notice, OpenError, PeerId, Permit,
    PostError, RouteSpec, Settled, Snapshot, Subject, Target, TargetError, Ticket, Verdict, What,
};
#[cfg(feature = "enabled")]
pub use domain::Generation;
#[cfg(feature = "enabled")]
pub use environment::{EnvironmentError, from_environment};
#[cfg(feature = "enabled")]
pub use ids::{DeviceId, RouteId};
#[cfg(not(feature = "enabled"))]
pub use removed::*;

/// Whether this build has the controller (feature `enabled`).
pub const BUILT: bool = cfg!(feature = "enabled");
